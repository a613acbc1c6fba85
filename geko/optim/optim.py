"""``configure``, ``run`` and ``analyze`` under the names and with the arguments of the original's API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geko.domain.gemm import GemmConfig, merge_gemm_configs
from geko.errors import InputError, MissingFileError, UsageError
from geko.frames import to_frame
from geko.log import logger
from geko.runs.tune_options import TuneOptions

if TYPE_CHECKING:
    from geko.config_generator.config_generator import Report

#: Columns that the original keeps to its full results.
_RAW_ONLY = ("valid", "winner", "class")


def configure(
    hipblaslt_path: str | Path | None,
    gemm_configs: GemmConfig | Iterable[GemmConfig],
    output_dir: str | Path,
    arch: str = "gfx950",
    backend: str = "ductile",
    search_space: str | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    *,
    rules: Literal["default", "original"] = "default",
) -> Report:
    """Write a tuning config per size of the GEMMs; needs no GPU.

    Args:
        hipblaslt_path: checkout whose spelling of parameters is used; None for the newest.
        gemm_configs: GEMM types with their sizes.
        output_dir: folder of the configs; others in it stay as they are.
        arch: architecture to tune for.
        backend: ``ductile`` (genetic algorithm) or ``tensile`` (every combination).
        search_space: ``generic``, ``heuristic`` or ``subtile``; None for that of the backend.
        config_overrides: further keys of the generator (docs/tuning-configs.md), such as ``{"MI_FILTER": 1}``.
        rules: ``original`` writes them as the first generator did.

    Returns:
        What was written, and what became of each size.

    Raises:
        InputError: unknown keys, wrong values, or not a single size that can be tuned.
    """
    from geko.config_generator.config_generator import run as generate
    from geko.config_generator.load_input_config import requests_for

    configs = [gemm_configs] if isinstance(gemm_configs, GemmConfig) else list(gemm_configs)
    overrides: dict[str, Any] = {"backend": backend, **dict(config_overrides or {})}
    if search_space is not None:
        overrides["search_space"] = search_space
    merged = merge_gemm_configs(configs)
    for config in merged:
        logger.info("%s with %d sizes", config.gemm_type, len(config.sizes))
    requests = requests_for(merged, arch=arch, overrides=overrides, rules=rules)
    return generate(requests, output_dir, write_shell_scripts=False, hipblaslt_path=hipblaslt_path)


def run(
    hipblaslt_path: str | Path,
    tuning_dir: str | Path,
    devices: Sequence[int] | None = None,
    client_build_dir: str | Path = "build_tmp",
    n_slots: int = 4,
    retry: bool = True,
    stall_timeout: float = 900.0,
    abort_after_consecutive_failures: int = 8,
    *,
    db: str | Path | None = None,
    verbose: int = 1,
) -> Any:
    """Run the tuning configs of a folder on all devices; what is done already is not done again.

    Args:
        hipblaslt_path: built hipBLASLt checkout.
        tuning_dir: folder of the configs; results go into ``build_<config>`` in it.
        devices: device ordinals; None for all that are found.
        client_build_dir: where the tensilelite client is built and kept.
        n_slots: configs at a time on each device.
        retry: try configs again that failed in an earlier call.
        stall_timeout: seconds without output after which a job counts as hung; 0 turns it off.
        abort_after_consecutive_failures: failures in a row after which no more are started; 0 turns it off.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        verbose: 0 shows no progress.

    Returns:
        A frame with a row per config: its state, outcome, and the best rate (GFLOP/s).

    Raises:
        MissingFileError: no such folder, or no built checkout.
        RunFailedError: too many failures in a row.
    """
    from geko.runs.api_runs import run_folder

    if n_slots < 1:
        raise UsageError(f"n_slots must be at least 1, not {n_slots}")
    options = TuneOptions(
        devices=None if devices is None else tuple(devices), all_devices=True, hipblaslt=Path(hipblaslt_path),
        slots=n_slots, retry=retry, client_build_dir=Path(client_build_dir), stall_timeout=stall_timeout,
        abort_after=abort_after_consecutive_failures,
    )  # fmt: skip
    result = run_folder(db, Path(tuning_dir), options, verbose=verbose)
    if result is None:
        import pyarrow as pa

        return to_frame(pa.table({"config": pa.array([], pa.string()), "state": pa.array([], pa.string())}))
    return to_frame(result.table)


def analyze(
    hipblaslt_path: str | Path,
    lib_dir: str | Path,
    output_dir: str | Path,
    benchmark_dir: str | Path | None = None,
    custom_lib_dir: str | Path | None = None,
    devices: Sequence[int] | None = None,
    error_thr: float = 0.03,
    up_thr: float = 1.03,
    duration: float = 0.1,
    beta: bool = False,
    log_summary: str | Path | None = None,
    verify: bool = True,
    bench_freq: bool = False,
    device: int | None = None,
    ref_custom_lib_dir: str | Path | None = None,
    *,
    raw: bool = False,
    rounds: int = 6,
    db: str | Path | None = None,
    verbose: int = 1,
) -> Any:
    """Build libraries, compare them with the stock library on all their sizes, and keep what is faster and right.

    Args:
        hipblaslt_path: built hipBLASLt checkout.
        lib_dir: library logic; a tuning folder with ``build_*/3_LibraryLogic`` is merged first.
        output_dir: ``raw_results.csv``, ``final_results.csv``, ``dashboard_data.csv`` and ``metrics.json`` go there.
        benchmark_dir: where inputs for hipblaslt-bench are written as well; None for none.
        custom_lib_dir: where the library is built; None for ``tensile`` beside ``output_dir``.
        devices: device ordinals; None for all that are found.
        error_thr: largest norm error of a right result.
        up_thr: ratio reference/tuned time from which a kernel is kept.
        duration: seconds a shape is timed per library and round.
        beta: multiply with beta 1 instead of 0.
        log_summary: ``summary.csv`` of a baseline: weighs the shapes with their calls.
        verify: check the results.
        bench_freq: record clocks.
        device: one device, instead of ``devices``.
        ref_custom_lib_dir: built library to compare with, instead of the stock one.
        raw: return every shape that was compared, with ``valid``, ``winner`` and ``class``.
        rounds: rounds of the comparison.
        db: the warehouse; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        verbose: 0 shows no progress.

    Returns:
        A frame of the kept shapes (empty when there are none), with the file of each in column ``lib``; with ``raw`` of all.

    Raises:
        MissingFileError: no such folder.
        InputError: library logic that can't be used.
        RunFailedError: no shape could be timed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from geko.runs.api_runs import compare_logic

    source, out = Path(lib_dir), Path(output_dir)
    if not source.is_dir():
        raise MissingFileError("no such folder of library logic", path=source)
    source = _merged_first(source, out)
    if benchmark_dir is not None:
        from geko.library.model import load_collection

        load_collection(source).create_bench_input(benchmark_dir, verify=verify, duration=duration, beta=beta)
    chosen = (device,) if device is not None else None if devices is None else tuple(devices)
    options = TuneOptions(
        devices=chosen, all_devices=True, hipblaslt=Path(hipblaslt_path), up_thr=up_thr, err_thr=error_thr,
        compare_duration=duration, rounds=rounds, rule="point", verify=verify, bench_freq=bench_freq, workdir=out,
        custom_lib_dir=None if ref_custom_lib_dir is None else Path(ref_custom_lib_dir),
    )  # fmt: skip
    weights = None if log_summary is None else _weights(Path(log_summary))
    build_dir = Path(custom_lib_dir) if custom_lib_dir is not None else out.absolute().parent / "tensile"
    _, rows = compare_logic(db, source, build_dir, options, beta=beta, weights=weights, verbose=verbose)
    if raw:
        return to_frame(rows)
    kept = rows.filter(pc.equal(rows["class"], pa.scalar("kept")))
    if not kept.num_rows:
        logger.info("No kernels improve over the base library")
    return to_frame(kept.drop_columns([name for name in _RAW_ONLY if name in kept.column_names]))


def _merged_first(lib_dir: Path, out: Path) -> Path:
    """The folder itself, or that of the merged logic of a tuning folder."""
    if any(path.name != "MatchTable.yaml" and _is_logic(path) for path in lib_dir.glob("*.yaml")):
        return lib_dir
    if not any(lib_dir.glob("**/3_LibraryLogic/*.yaml")):
        raise InputError(
            "No valid libraries found: neither library logic nor build_*/3_LibraryLogic", path=lib_dir
        )
    from geko.library.combine import merge_solutions

    merged = out.absolute().parent / "libs"
    written = set(merge_solutions(lib_dir, epilogues=True).dump(merged))
    for path in sorted(set(merged.glob("*.yaml")) - written):
        logger.warning("%s is not of this tuning and is compared as well", path)
    return merged


def _is_logic(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as handle:
        head = handle.read(4096)
    return (
        "MinimumRequiredVersion" in head
        and "BenchmarkProblems" not in head
        and "GlobalParameters" not in head
    )


def _weights(summary: Path) -> dict[tuple[Any, ...], int]:
    """Calls of each GEMM by a ``summary.csv``."""
    import polars as pl

    from geko.runs.api_runs import weight_key

    if not summary.is_file():
        raise MissingFileError("no such summary", path=summary)
    frame = pl.read_csv(summary)
    if "call_count" not in frame.columns:
        raise InputError("the summary has no column call_count", path=summary)
    found: dict[tuple[Any, ...], int] = {}
    try:
        for row in frame.iter_rows(named=True):
            key = weight_key(row)
            found[key] = found.get(key, 0) + int(row["call_count"])
    except KeyError as error:
        raise InputError(f"the summary has no column {error.args[0]}", path=summary) from None
    return found
