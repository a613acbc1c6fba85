"""Entries over DepthU: which depths an instruction can be unrolled to, and which fit the chip."""

from __future__ import annotations

import polars as pl

from geko.config_generator.constants import DATA_BYTES

_BYTE_PAIRS = frozenset({"F8", "F8N", "F8B8", "B8F8", "B8"})


def with_threads(frame: pl.DataFrame, data_type: str, wavefront: int) -> pl.DataFrame:
    """Add ``loaders``: threads that tensilelite gives the global loads of an entry (its SubGroup product).

    Differs from ``threads`` where an instruction has several blocks or 4 rows.
    """
    col = pl.col
    rows = pl.min_horizontal(col("wg0") // col("im"), col("ib"))
    columns = col("ib") // rows
    along = pl.min_horizontal((col("wg0") // col("im")) // rows, col("waves"))
    across = col("waves") // along
    per = 1 if data_type in ("D", "Z") else 4
    narrow = (along * col("im") * rows // per) * (across * col("in") * columns)
    usual = (along * (wavefront // col("in"))) * (across * col("in"))
    return frame.with_columns(
        (pl.when(col("im") == 4).then(narrow).otherwise(usual) * col("lsu")).alias("loaders")
    )


def over_depths(frame: pl.DataFrame, depths: list[int]) -> pl.DataFrame:
    """Each entry once per depth, depths innermost; the depth is column ``DepthU``."""
    return frame.join(pl.DataFrame({"DepthU": depths}, schema={"DepthU": pl.Int64}), how="cross")


def subtile_entries(
    frame: pl.DataFrame, depths: list[int], data_type: str, wavefront: int, mx_block: int | None
) -> pl.DataFrame:
    """Entries of subtile kernels over the depths that divide, and whose scales a workgroup loads in one go.

    Args:
        frame: entries.
        depths: candidates.
        data_type: Tensile type.
        wavefront: lanes of a wave.
        mx_block: elements a scale, None without block scaling.
    """
    if frame.is_empty():
        return frame
    col = pl.col
    steps = 1 if data_type in _BYTE_PAIRS else 2
    frame = over_depths(with_threads(frame, data_type, wavefront), depths)
    frame = frame.filter(col("DepthU") % (steps * col("ik") * col("lsu")) == 0)
    if mx_block:
        scales = col("DepthU") // mx_block
        loaded = col("loaders") * 16
        frame = frame.filter((loaded >= scales * col("mt0")) & (loaded >= scales * col("mt1")))
    return frame.drop("loaders")


def element_bytes(data_type: str) -> float:
    """Bytes of an element of A or B in LDS; half a byte for F4."""
    return 0.5 if data_type == "F4" else float(DATA_BYTES[data_type])
