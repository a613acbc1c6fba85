"""Workload logs in Python: read, turn into hipblaslt-bench rows, write.

from geko.bench import log
rows = log.parse("hipblaslt-log-mask64.yaml")
(bench_rows,) = log.update(rows, duration=0.5)
log.dump(bench_rows, "bench.yaml")
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.constants import GEMM_LOG_FIELDS, LOG_FIELDS
from geko.domain.dtypes import add_c, default_scale_type
from geko.errors import InputError, MissingFileError, UsageError
from geko.frames import from_frame, to_frame
from geko.fsio import write_text_atomic
from geko.log import logger

if TYPE_CHECKING:
    import polars as pl

    from geko.ingest.calls import CallTables

_DEFAULTS = {"call_count": 1, "function": "matmul", "scaleA": 0, "scaleB": 0, "batch_count": 1}
# Arguments of hipblaslt-bench whose names differ from the log's.
_BENCH_NAMES = {"swizzleA": "swizzle_a", "swizzleB": "swizzle_b"}


# Texts that need no quotes in YAML, less the words that YAML reads as something else.
_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null"))


class _TypeUsageError(UsageError, TypeError):
    """An argument of the wrong type."""


def parse(path: str | Path, as_df: bool = False, fmt: str | None = None) -> Any:
    """Read a workload log.

    Equal rows are one, their ``call_count`` summed, in the order of first appearance. Every field is kept,
    unknown ones after the known ones. A row that lacks an optional field lacks it alone: the others keep
    theirs.

    Args:
        path: hipBLASLt profile log, YAML or CSV.
        as_df: return a frame (polars, or pandas under ``GEKO_FRAMES=pandas``) with nulls where a row lacks a
            field.
        fmt: ``"yaml"`` or ``"csv"``; None goes by the suffix ``.csv``.

    Returns:
        A list of rows without their missing fields, or a frame. Where the log does not say, ``scaleA`` and
        ``scaleB`` are 0, ``call_count`` and ``batch_count`` 1, ``function`` matmul, ``d_type`` that of C and
        ``scale_type`` that of the compute type.

    Raises:
        MissingFileError: no such file.
        InputError: an unknown format, no rows, a required field that is missing, or a wrong value.
    """
    frame = _parsed(Path(path), fmt)
    if as_df:
        return to_frame(frame.to_arrow())
    return [{name: value for name, value in row.items() if value is not None} for row in frame.to_dicts()]


def _parsed(path: Path, fmt: str | None) -> pl.DataFrame:
    import polars as pl

    if not path.is_file():
        raise MissingFileError("there is no such file", path=path)
    kind = fmt or ("csv" if path.suffix.lower() == ".csv" else "yaml")
    if kind == "yaml":
        from geko.ingest.flow_log import read_groups
    elif kind == "csv":
        from geko.ingest.hipblaslt_csv import read_groups
    else:
        raise InputError("the format of a log is yaml or csv", value=fmt)
    groups, into, _ = read_groups(path)
    _tell_rejects(path, into)
    frames = [_typed(group.columns, group.lines, path) for group in groups]
    if not frames:
        raise InputError("no workload row in this log", path=path)
    frame = pl.concat(frames, how="diagonal").sort("_line", maintain_order=True)
    frame = _completed(frame, path)
    fields = [name for name in frame.columns if not name.startswith("_") and name != "call_count"]
    calls = (pl.col("call_count") * pl.col("_n")).sum().alias("call_count")
    lines = pl.col("_n").sum().alias("_n")
    n_lines = int(frame["_n"].sum())
    frame = frame.group_by(fields, maintain_order=True).agg(calls, lines)
    if len(frame) < n_lines:
        logger.warning("%s: %d equal rows were merged, their call counts summed", path, n_lines - len(frame))
    known = [name for name in LOG_FIELDS if name in frame.columns]
    return frame.select(*known, *(name for name in fields if name not in LOG_FIELDS))


def _typed(columns: Mapping[str, Any], lines: Any, path: Path) -> pl.DataFrame:
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc

    from geko.ingest.fields import read_field

    data: dict[str, Any] = {}
    for name, texts in columns.items():
        column = read_field(name, texts)
        if column.reason is not None:
            bad = pc.indices_nonzero(pc.is_valid(column.reason))[0].as_py()
            raise InputError(
                column.reason[bad].as_py(),
                path=path,
                line=lines.first_line[bad].as_py(),
                value=lines.texts()[bad],
            )
        data[name] = column.value
    data |= {"_n": lines.n_lines, "_line": lines.first_line}
    frame = pl.from_arrow(pa.table(data))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _completed(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Required fields checked, optional ones filled in."""
    import polars as pl

    defaults = [
        (
            pl.col(name).fill_null(value) if name in frame.columns else pl.lit(value, dtype=_dtype(value))
        ).alias(name)
        for name, value in _DEFAULTS.items()
    ]
    frame = frame.with_columns(defaults)
    if "c_type" in frame.columns:
        d_type = pl.coalesce("d_type", "c_type") if "d_type" in frame.columns else pl.col("c_type")
        frame = frame.with_columns(d_type=d_type)
    absent = [name for name in GEMM_LOG_FIELDS if name not in frame.columns]
    if absent:
        raise InputError(
            f"Log must have all fields: {GEMM_LOG_FIELDS}; missing: {', '.join(absent)}", path=path
        )
    holes = [name for name in GEMM_LOG_FIELDS if frame[name].null_count()]
    if holes:
        line = frame.filter(pl.col(holes[0]).is_null())["_line"][0]
        raise InputError(f"Log has missing values in fields: {', '.join(holes)}", path=path, line=line)
    computes = frame["compute_type"].unique().to_list()
    scale = pl.col("compute_type").replace_strict(computes, [default_scale_type(c) for c in computes])
    frame = frame.with_columns(
        scale_type=pl.coalesce("scale_type", scale) if "scale_type" in frame.columns else scale,
        compute_type=pl.col("compute_type").replace_strict(computes, [add_c(c) for c in computes]),
    )
    return frame


def _dtype(value: object) -> Any:
    import polars as pl

    return pl.Int64 if isinstance(value, int) else pl.String


def _tell_rejects(path: Path, into: CallTables) -> None:
    if not into.rejects:
        return
    line, _, reason, _ = min(into.rejects)
    count = sum(n for _, n, _, _ in into.rejects)
    logger.warning("%s: %d lines were not read; the first is line %d: %s", path, count, line, reason)


def update(
    data: Any,
    latency: Sequence[float] | None = None,
    duration: float = 0.5,
    iters: int = 100,
    cold_iters: int = 20,
    rotating: int = 512,
    beta: float | None = None,
    flush: bool | None = None,
    aux: bool = False,
    print_kernel_info: bool = True,
) -> tuple[Any, ...]:
    """Turn workload rows into hipblaslt-bench rows.

    Args:
        data: rows (copied), a frame, or the path of a log, which is parsed.
        latency: µs per call of each row, in their order. Where it is a positive number, a phase of
            ``duration`` takes ``ceil(duration / latency)`` iterations, cold and timed alike.
        duration: seconds of each phase; 0 for none.
        iters: timed iterations of rows without latency.
        cold_iters: warm-up iterations of rows without latency.
        rotating: MiB of rotating buffers.
        beta: replaces the log's, if given.
        flush: replaces the log's, if given.
        aux: keep ``aux_type``.
        print_kernel_info: let the client print solution and kernel names.

    Returns:
        ``(rows,)``, or ``(rows, path)`` for a path: the rows are also written to ``<path>_upd.yaml``, without
        the suffix of the log.

    Raises:
        TypeError: ``data`` or ``latency`` is of another type.
        ValueError: as many latencies as rows are needed.
    """
    source: Path | None = None
    if isinstance(data, (str, Path)):
        source = Path(data)
        rows: list[dict[str, Any]] = parse(source)
    elif isinstance(data, list):
        rows = [dict(copy.deepcopy(row)) for row in data]
    elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__"):
        rows = [_without_nulls(row) for row in from_frame(data).to_pylist()]
    else:
        raise _TypeUsageError(f"data must be rows, a frame or a path, not {type(data).__name__}")
    times = _latencies(latency, len(rows))
    updated = []
    for row, us in zip(rows, times, strict=True):
        timed = us is not None and duration > 0
        count = math.ceil(duration * 1e6 / us) if timed and us else None
        updated.append(_bench_row(row, count or iters, count or cold_iters, rotating, aux, print_kernel_info))
        if beta is not None:
            updated[-1]["beta"] = float(beta)
        if flush is not None:
            updated[-1]["flush"] = bool(flush)
    if source is None:
        return (updated,)
    target = source.with_name(f"{source.stem}_upd.yaml")
    dump(updated, target)
    return updated, str(target)


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _latencies(latency: Any, count: int) -> list[float | None]:
    if latency is None:
        return [None] * count
    if isinstance(latency, (str, bytes, Mapping)) or not hasattr(latency, "__len__"):
        raise _TypeUsageError(f"latency must be a sequence of µs, not {type(latency).__name__}")
    if len(latency) != count:
        raise UsageError(f"latency has {len(latency)} values for {count} rows")
    times = [None if value is None else float(value) for value in latency]
    return [us if us is not None and math.isfinite(us) and us > 0 else None for us in times]


def _bench_row(
    row: Mapping[str, Any], iters: int, cold_iters: int, rotating: int, aux: bool, print_kernel_info: bool
) -> dict[str, Any]:
    compute = add_c(str(row["compute_type"]))
    dropped = {"solution_index", "algo_method"} | (set() if aux else {"aux_type"})
    bench = {_BENCH_NAMES.get(name, name): value for name, value in row.items() if name not in dropped}
    filled = {"function": "matmul", "initialization": "trig_float", "scaleA": 0, "scaleB": 0}
    for name, value in filled.items():
        bench.setdefault(name, value)
    bench.setdefault("scale_type", default_scale_type(compute))
    return bench | {
        "compute_type": compute,
        "rotating": rotating,
        "use_gpu_timer": True,
        "print_kernel_info": print_kernel_info,
        "iters": iters,
        "cold_iters": cold_iters,
    }


def summarize(
    hipblaslt_path: str | Path | None,
    log_file: str | Path,
    output_dir: str | Path,
    keep_thr: float = 0.0,
    devices: Sequence[int] = (0,),
    bench_freq: bool = False,
    custom_lib_dir: str | Path | None = None,
    device: int | None = None,
    *,
    db: str | Path | None = None,
    verbose: int = 1,
) -> tuple[Any, Any]:
    """Time a workload with the stock library, and leave out the GEMMs that don't matter.

    Args:
        hipblaslt_path: built hipBLASLt checkout; not needed with ``keep_thr`` 0.
        log_file: workload log.
        output_dir: ``summary.csv`` and ``gemms.csv`` go there, with a threshold also the baseline as input for
            hipblaslt-bench and its output.
        keep_thr: percentage of the workload's time below which a GEMM is left out. With 0 nothing is timed and all are kept.
        devices: device ordinals.
        bench_freq: record clocks.
        custom_lib_dir: built library to time instead of the stock one.
        device: one device, instead of ``devices``.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        verbose: 0 shows no progress.

    Returns:
        Frames: the summary, most expensive first (without a threshold the GEMMs with their calls, in the order of the log),
        and the distinct GEMMs that are kept.

    Raises:
        MissingFileError: no such log, or no built checkout.
        UsageError: a threshold that is no percentage.
        RunFailedError: no GEMM could be timed.
    """
    from geko.runs.summary_run import summary_of

    chosen = (device,) if device is not None else tuple(devices)
    root = None if hipblaslt_path is None else Path(hipblaslt_path)
    custom = None if custom_lib_dir is None else Path(custom_lib_dir)
    summary, gemms = summary_of(
        db, Path(log_file), Path(output_dir), keep_thr, root, chosen, bench_freq, custom, verbose
    )
    return to_frame(summary), to_frame(gemms)


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read rows for hipblaslt-bench, as `dump` writes them.

    Args:
        path: a YAML list of mappings.

    Raises:
        MissingFileError: there is no such file.
        InputError: it is no list of mappings.
    """
    import yaml

    try:
        rows = yaml.load(
            Path(path).read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
    except FileNotFoundError as error:
        raise MissingFileError("there is no such file", path=path) from error
    except yaml.YAMLError as error:
        raise InputError(f"no YAML: {error}", path=path) from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            "must be a non-empty YAML list of rows, such as `- {function: matmul, M: 128, …}`", path=path
        )
    return rows


def dump(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows as a YAML list of flow mappings, one a line, as hipblaslt-bench and `parse` read them."""
    write_text_atomic(path, "".join(f"- {{{_flow(row)}}}\n" for row in rows) or "[]\n")


def _flow(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_scalar(value)}" for name, value in row.items())


def _scalar(value: Any) -> str:
    """A value as YAML reads it back; plain where that is unambiguous."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        text = repr(value)
        # YAML 1.1 wants a point in the mantissa of an exponent form.
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False) if "\n" in text else "'" + text.replace("'", "''") + "'"
