"""Running hipblaslt-bench, and comparing libraries, under the names and with the arguments of the original's API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geko.errors import InputError, MissingFileError
from geko.frames import to_frame


def run(
    hipblaslt_path: str | Path,
    bench_file: str | Path,
    output_file: str | Path,
    custom_lib_dir: str | Path | None = None,
    devices: Sequence[int] | None = None,
    cache: bool = False,
    bench_freq: bool = False,
    min_chunk_size: int = 1,
    silent: bool = False,
    device: int | None = None,
    *,
    db: str | Path | None = None,
) -> Any:
    """Run hipblaslt-bench on a file of rows, on several devices if there are.

    Args:
        hipblaslt_path: built hipBLASLt checkout.
        bench_file: rows as hipblaslt-bench reads them (YAML), which run exactly as they stand.
        output_file: what the program printed goes there.
        custom_lib_dir: built library to run instead of the stock one.
        devices: device ordinals; the first alone if not given.
        cache: take what was timed before in the same way; False times again.
        bench_freq: record clocks.
        min_chunk_size: without effect: rows are handed out one by one, so no chunk waits for another.
        silent: show no progress.
        device: one device, instead of ``devices``.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.

    Returns:
        A frame with a row per row of the file that gave a result, in their order, with hipblaslt-bench's columns; rows that
        check carry ``norm_error``, ``atol``, ``rtol``.

    Raises:
        MissingFileError: no such file, or no built checkout.
        InputError: the file holds no rows.
        RunFailedError: not one row gave a result.
    """
    from geko.bench.log import read_rows
    from geko.fsio import write_text_atomic
    from geko.runs.options import RunOptions
    from geko.runs.rows_run import run_rows

    source, out = Path(bench_file), Path(output_file)
    if not source.is_file():
        raise MissingFileError("Benchmark file does not exist", path=source)
    options = RunOptions(
        devices=(device,) if device is not None else tuple(devices or (0,)), hipblaslt=Path(hipblaslt_path),
        custom_lib_dir=None if custom_lib_dir is None else Path(custom_lib_dir), bench_freq=bench_freq,
        workdir=out.absolute().parent,
    )  # fmt: skip
    result, made = run_rows(
        db, read_rows(source), options, origin=str(source), again=not cache, verbose=0 if silent else 1
    )
    write_text_atomic(out, made.output)
    return to_frame(result.table)


def compare(
    hipblaslt_path: str | Path,
    lib_dir: str | Path,
    custom_lib_dir: str | Path = "build",
    benchmark_dir: str | Path = "benchmarks",
    verify: bool = True,
    cache: bool = False,
    duration: float = 0.5,
    beta: bool = False,
    devices: Sequence[int] | None = None,
    bench_freq: bool = False,
    ref_custom_lib_dir: str | Path | None = None,
    device: int | None = None,
    *,
    rounds: int = 6,
    db: str | Path | None = None,
    verbose: int = 1,
) -> Any:
    """Build library logic and compare it with the stock library on all its sizes, round by round.

    Args:
        hipblaslt_path: built hipBLASLt checkout.
        lib_dir: library logic.
        custom_lib_dir: where it is built.
        benchmark_dir: inputs for hipblaslt-bench and the result tables go there.
        verify: check the results of the tuned library.
        cache: without effect: what was timed in the same way before is taken in any case. Another ``db`` times again.
        duration: seconds a shape is timed per library, over all rounds.
        beta: multiply with beta 1 instead of 0.
        devices: device ordinals; the first alone if not given.
        bench_freq: record clocks.
        ref_custom_lib_dir: built library to compare with, instead of the stock one.
        device: one device, instead of ``devices``.
        rounds: rounds of the comparison.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        verbose: 0 shows no progress.

    Returns:
        A frame with a row per size: what differs by library ends in ``_reference`` and ``_tuned``; ``ratio`` is reference /
        tuned time with its interval, ``error_tuned`` the norm error, ``lib`` the logic file.

    Raises:
        MissingFileError: no such folder.
        InputError: no valid library in it.
        RunFailedError: no size could be timed.
    """
    from geko.optim.optim import analyze

    folder = Path(lib_dir)
    if folder.is_dir() and not any(folder.glob("*.yaml")):
        raise InputError("No valid libraries found", path=folder)
    return analyze(
        hipblaslt_path, folder, benchmark_dir, benchmark_dir=benchmark_dir, custom_lib_dir=custom_lib_dir,
        devices=[device] if device is not None else list(devices or (0,)), duration=duration / rounds, beta=beta,
        verify=verify, bench_freq=bench_freq, ref_custom_lib_dir=ref_custom_lib_dir, raw=True, rounds=rounds, db=db,
        verbose=verbose,
    )  # fmt: skip
