"""Why a macro tile is chosen or not: a table for people, and the per-size logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from geko.config_generator import spaces
from geko.config_generator.instructions import smallest
from geko.config_generator.load_input_config import Request
from geko.config_generator.mi_designer import (
    MI_COLUMNS,
    Design,
    TileQuery,
    candidate_checks,
    candidates,
    design,
    split_checks,
)
from geko.config_generator.sizes import Size
from geko.errors import InputError
from geko.fsio import write_text_atomic


def explain(query: TileQuery, found: Design | None = None) -> pl.DataFrame:
    """Every candidate of a GEMM with its verdict.

    Args:
        query: the GEMM.
        found: how its tiles were chosen, where filters had to be loosened; worked out when left out.

    Returns:
        Frame with :data:`MI_COLUMNS`, ``mt0``, ``mt1``, ``chosen``, ``rank`` (0 the best, else null),
        ``gsu``, ``lsu``, ``gran`` of the best record, ``predicted`` (predicted time relative to the fastest
        chosen tile, null under the original's rules), and ``reason`` (empty when chosen).

    Raises:
        InputError: the data type can't be tuned on this family.
    """
    frame = candidates(
        query.family,
        query.data_type,
        subtile=query.subtile,
        mfma=query.mfma,
        max_tile=query.max_tile,
        rules=query.rules,
    )
    small = smallest(query.family, query.data_type, query.mfma, query.rules)
    alone = frame.with_columns(pl.lit(1, pl.Int64).alias("lsu"))
    reason = pl.lit("another tile has a clearly better granularity or fewer rounds over the CUs")
    if query.rules != "original":
        reason = pl.lit(
            "slower than another by its granularity or rounds over the CUs, and by its predicted time"
        )
    # The first rule that hits is named: applied from the last to the first, the first one stays on top.
    for name, why, refused in reversed(candidate_checks(query, small) + split_checks(query)):
        reason = pl.when(refused).then(pl.lit(f"{name}: {why}")).otherwise(reason)
    alone = alone.with_columns(reason.alias("reason")).drop("lsu")
    entries = (found or design(query)).entries
    if "predicted" not in entries.columns:
        entries = entries.with_columns(pl.lit(None, pl.Float64).alias("predicted"))
    entries = entries.with_columns(pl.col("predicted") / pl.col("predicted").min())
    best = (
        entries.with_row_index("rank")
        .group_by("idx", maintain_order=True)
        .agg(pl.col("rank", "gsu", "lsu", "gran", "predicted").first())
    )
    joined = alone.join(best, on="idx", how="left", maintain_order="left")
    joined = joined.with_columns(
        pl.col("rank").is_not_null().alias("chosen"),
        pl.when(pl.col("rank").is_not_null()).then(pl.lit("")).otherwise("reason").alias("reason"),
    )
    columns = [*MI_COLUMNS, "mt0", "mt1", "chosen", "rank", "gsu", "lsu", "gran", "predicted", "reason"]
    return joined.select(columns).sort("rank", nulls_last=True, maintain_order=True)


def write_mi_logs(requests: Sequence[Request], folder: str | Path) -> list[tuple[str, Size, int]]:
    """Write ``<folder>/<name>/<name>_M<M>_N<N>_B<B>_K<K>.log`` for every size: its macro tiles, best first.

    Returns:
        (GEMM name, size, entries) a size; 0 entries where none is left.
    """
    found = []
    for request in requests:
        name = request.gemm.name
        for size in request.sizes:
            try:
                entries = spaces.size_space(request, size).group.entries()
            except InputError as error:
                entries = []
                lines = [f"# {error}"]
            else:
                lines = [f"# {entry}" for entry in entries]
            m, n, batch, k = size
            path = Path(folder) / name / f"{name}_M{m}_N{n}_B{batch}_K{k}.log"
            write_text_atomic(path, "\n".join([f"Size - ({m}, {n}, {batch}, {k})", *lines]) + "\n")
            found.append((name, size, len(entries)))
    return found
