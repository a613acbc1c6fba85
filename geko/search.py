"""The dense search under the names and with the arguments of the original's API.

configs = search.configure(summary, duration=0.04)
winners = search.run(hipblaslt, configs, "workdir/search", devices=[0, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geko.errors import InputError
from geko.frames import from_frame, to_frame

#: Above this time, µs, warm-ups are steady enough to skip a solution early.
_LONG_US = 20.0


def configure(
    df: Any,
    duration: float = 0.04,
    iters: int = 100,
    cold_iters: int = 20,
    rotating: int = 512,
    beta: bool = False,
    flush: bool = False,
) -> list[dict[str, Any]]:
    """Rows that let hipblaslt-bench time every solution of the library for each GEMM.

    Args:
        df: GEMMs, as a frame, Arrow table or rows: transposes, types and sizes, and ``us`` where a time is known.
        duration: seconds each solution is timed.
        iters, cold_iters: iterations where no time is known.
        rotating: MiB of rotating buffers.
        beta: multiply with beta 1 instead of 0.
        flush: flush caches between iterations.

    Returns:
        A row per distinct GEMM, in the order of first appearance. A solution whose warm-up is slower than the best so far
        divided by ``skip_slow_solution_ratio`` is skipped: 0.6 for long GEMMs, 0.3 for short ones.

    Raises:
        InputError: there are no GEMMs.
    """
    from geko.bench import log
    from geko.constants import GEMM_LOG_FIELDS

    table = df if isinstance(df, list) else from_frame(df).to_pylist()
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for item in table:
        row = {
            {"m": "M", "n": "N", "k": "K"}.get(name, name): value
            for name, value in item.items()
            if value is not None
        }
        row.setdefault("batch_count", 1)
        row.setdefault("d_type", row.get("c_type"))
        gemm = {name: row[name] for name in GEMM_LOG_FIELDS if name in row}
        found.setdefault(tuple(gemm.values()), gemm | {"us": row.get("us")})
    if not found:
        raise InputError("No GEMM operations found in input DataFrame")
    gemms = list(found.values())
    times = [gemm.pop("us") for gemm in gemms]
    (rows,) = log.update(
        gemms, times, duration, iters, cold_iters, rotating, beta=1.0 if beta else 0.0, flush=flush
    )
    for row, us in zip(rows, times, strict=True):
        is_long = us > _LONG_US if us else row["M"] > 2048 and row["N"] > 2048 and row["K"] > 1024
        row |= {
            "algo_method": 0,
            "requested_solution_num": -1,
            "skip_slow_solution_ratio": 0.6 if is_long else 0.3,
        }
    return list(rows)


def run(
    hipblaslt_path: str | Path,
    configs: Sequence[Mapping[str, Any]],
    output_dir: str | Path,
    devices: Sequence[int] | None = None,
    bench_freq: bool = False,
    max_chunk_size: int = 25,
    custom_lib_dir: str | Path | None = None,
    *,
    db: str | Path | None = None,
    verbose: int = 1,
) -> Any:
    """Time every solution for each row and return the fastest; what was timed before is not timed again.

    Args:
        hipblaslt_path: built hipBLASLt checkout.
        configs: rows of `configure`.
        output_dir: ``winners.csv`` and the inputs and outputs of hipblaslt-bench go there.
        devices: device ordinals; None for all that are found.
        bench_freq: record clocks.
        max_chunk_size: without effect, but must be positive: rows are handed out one by one.
        custom_lib_dir: built library to search instead of the stock one.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        verbose: 0 shows no progress.

    Returns:
        A frame with the fastest solution of each GEMM that has one, under hipblaslt-bench's column names.

    Raises:
        UsageError: a chunk size that is not positive.
        MissingFileError: no built checkout.
        RunFailedError: no GEMM gave a result.
    """
    import pyarrow as pa

    from geko.errors import UsageError
    from geko.runs.options import RunOptions
    from geko.runs.rows_run import run_rows

    if max_chunk_size <= 0:
        raise UsageError(f"max_chunk_size must be > 0, got {max_chunk_size}")
    if not configs:
        return to_frame(pa.table({}))
    options = RunOptions(
        devices=None if devices is None else tuple(devices), all_devices=True, hipblaslt=Path(hipblaslt_path),
        bench_freq=bench_freq, custom_lib_dir=None if custom_lib_dir is None else Path(custom_lib_dir),
        workdir=Path(output_dir).absolute(),
    )  # fmt: skip
    result, _ = run_rows(db, list(configs), options, origin="search", dense=True, verbose=verbose)
    return to_frame(result.table.drop_columns(["is_stock_choice"]))
