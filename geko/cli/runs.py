"""``geko search`` and ``geko bench``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geko.cli import options as o
from geko.cli.render import render

if TYPE_CHECKING:
    from geko.pipeline import RunResult
    from geko.runs.options import SimulateOptions


def _finish(result: RunResult, form: o.Form) -> None:
    render(result.table, form)
    # Programs that read the rows get nothing else on standard output.
    out = sys.stdout if form is o.Form.table else sys.stderr
    out.write("".join(f"{line}\n" for line in ["", *result.lines]))
    raise typer.Exit(result.exit_code)


def _waiting(call: Callable[[], RunResult], wait: float) -> RunResult:
    """Run it, again and again for ``wait`` seconds while another process holds the warehouse."""
    from geko.errors import WarehouseBusyError
    from geko.log import logger

    end = time.monotonic() + wait
    while True:
        try:
            return call()
        except WarehouseBusyError as error:
            left = end - time.monotonic()
            if left <= 0:
                raise
            logger.info("waiting %.0f s more: %s", left, error)
            time.sleep(min(1.0, left))


def _simulation(
    on: bool, arch: str | None, seed: int, noise: float, library: Path | None
) -> SimulateOptions | None:
    from geko.runs.options import SimulateOptions

    return SimulateOptions(arch=arch or "gfx942", seed=seed, noise=noise, library=library) if on else None


def _extra(arch: str | None) -> dict[str, Any]:
    return {} if arch is None else {"arch": arch}


def search(
    workload_log: o.WorkloadLog = None,
    list_file: o.ListFile = None,
    inline: o.Inline = None,
    workload: o.WorkloadName = None,
    devices: o.Devices = None,
    keep_thr: o.KeepThr = None,
    up_thr: Annotated[
        float, typer.Option("--up-thr", help="Keep kernels from this ratio old/new time on.")
    ] = 1.03,
    err_thr: Annotated[float, typer.Option("--err-thr", help="Largest norm error of a right result.")] = 0.03,
    duration: Annotated[
        float, typer.Option("--duration", help="Seconds a solution is timed in the search.")
    ] = 0.04,
    compare_duration: Annotated[
        float,
        typer.Option(
            "--compare-duration", help="Seconds a shape is timed per library and round of the comparison."
        ),
    ] = 0.1,
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of the comparison.")] = 6,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Don't check the results of the new kernels.")
    ] = False,
    bench_freq: o.BenchFreq = False,
    workdir: o.Workdir = None,
    hipblaslt: o.Hipblaslt = None,
    custom_lib_src: o.CustomSrc = None,
    custom_lib_dir: o.CustomDir = None,
    max_attempts: o.Attempts = 3,
    job_timeout: o.JobTimeout = 600.0,
    stall_timeout: o.StallTimeout = 300.0,
    abort_after: o.AbortAfter = 8,
    simulate: o.Simulate = False,
    arch: o.Arch = None,
    sim_seed: o.SimSeed = 0,
    sim_noise: o.SimNoise = 0.01,
    sim_library: o.SimLibrary = None,
    wait: o.Wait = 0.0,
    db: o.Db = None,
    form: o.Format = o.Form.table,
    verbose: o.Verbose = 1,
) -> None:
    """Find faster existing kernels for a workload, prove it, and export the library of them."""
    from geko.cli.main import start
    from geko.pipeline import run_search
    from geko.runs.options import RunOptions

    anchor = start(verbose)
    source = o.source_of(workload_log, list_file, inline, workload)
    chosen = RunOptions(
        devices=o.devices_of(devices, simulate), keep_thr=keep_thr, up_thr=up_thr, err_thr=err_thr, duration=duration,
        compare_duration=compare_duration, rounds=rounds, verify=not no_verify, bench_freq=bench_freq, workdir=workdir,
        hipblaslt=hipblaslt, custom_lib_src=custom_lib_src, custom_lib_dir=custom_lib_dir, max_attempts=max_attempts,
        job_timeout=job_timeout, stall_timeout=stall_timeout, abort_after=abort_after, all_devices=devices is not None,
        simulate=_simulation(simulate, arch, sim_seed, sim_noise, sim_library), extra=_extra(arch),
    )  # fmt: skip
    _finish(_waiting(lambda: run_search(db, source, chosen, anchor=anchor, verbose=verbose), wait), form)


def bench(
    workload_log: o.WorkloadLog = None,
    list_file: o.ListFile = None,
    inline: o.Inline = None,
    workload: o.WorkloadName = None,
    devices: o.Devices = None,
    benchmark_duration: Annotated[
        float,
        typer.Option("--benchmark-duration", help="Seconds of the cold and of the timed phase of each GEMM."),
    ] = 0.5,
    keep_thr: o.KeepThr = None,
    bench_freq: o.BenchFreq = False,
    workdir: o.Workdir = None,
    hipblaslt: o.Hipblaslt = None,
    custom_lib_src: o.CustomSrc = None,
    custom_lib_dir: o.CustomDir = None,
    max_attempts: o.Attempts = 3,
    job_timeout: o.JobTimeout = 600.0,
    stall_timeout: o.StallTimeout = 300.0,
    abort_after: o.AbortAfter = 8,
    simulate: o.Simulate = False,
    arch: o.Arch = None,
    sim_seed: o.SimSeed = 0,
    sim_noise: o.SimNoise = 0.01,
    sim_library: o.SimLibrary = None,
    wait: o.Wait = 0.0,
    db: o.Db = None,
    form: o.Format = o.Form.table,
    verbose: o.Verbose = 1,
) -> None:
    """Time the library's own choice for every GEMM of a workload."""
    from geko.cli.main import start
    from geko.pipeline import run_bench
    from geko.runs.options import RunOptions

    anchor = start(verbose)
    source = o.source_of(workload_log, list_file, inline, workload)
    chosen = RunOptions(
        devices=o.devices_of(devices, simulate), benchmark_duration=benchmark_duration, keep_thr=keep_thr,
        bench_freq=bench_freq, workdir=workdir, hipblaslt=hipblaslt, custom_lib_src=custom_lib_src,
        custom_lib_dir=custom_lib_dir, max_attempts=max_attempts, job_timeout=job_timeout,
        stall_timeout=stall_timeout, abort_after=abort_after,
        all_devices=devices is not None, extra=_extra(arch),
        simulate=_simulation(simulate, arch, sim_seed, sim_noise, sim_library),
    )  # fmt: skip
    _finish(_waiting(lambda: run_bench(db, source, chosen, anchor=anchor, verbose=verbose), wait), form)
