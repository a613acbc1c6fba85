"""``geko guard``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.main import anchor
from geko.cli.runs import finish


def guard(
    deployed: Annotated[
        Path,
        typer.Argument(
            help="The deployed library: a built one (folder with TensileLibrary*.dat), or logic that is built."
        ),
    ],
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            help="Start of the id, or label, of the run whose winners were deployed.  [default: the last]",
            show_default=False,
        ),
    ] = None,
    devices: o.Devices = None,
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of both libraries.", min=4)] = 6,
    compare_duration: Annotated[
        float, typer.Option("--compare-duration", help="Seconds a shape is timed per library and round.")
    ] = 0.1,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Ratio up to which two times count as the same.")
    ] = 1.03,
    workdir: o.Workdir = None,
    hipblaslt: o.Hipblaslt = None,
    custom_lib_src: o.CustomSrc = None,
    custom_lib_dir: o.CustomDir = None,
    simulate: o.Simulate = False,
    arch: o.Arch = None,
    sim_seed: o.SimSeed = 0,
    sim_noise: o.SimNoise = 0.01,
    sim_library: o.SimLibrary = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
    verbose: o.Verbose = 1,
) -> None:
    """Show that shapes that were not tuned are unchanged after deployment, and that tuned ones use their kernels.

    The library before (the stock one, or --custom-lib-dir) and the deployed one run over all shapes of the run, in
    alternating rounds. Exit status 1 when a shape that was not tuned got slower, or a tuned one doesn't use its kernel.
    """
    from geko.runs.guard import guard as run_guard
    from geko.runs.options import RunOptions, SimulateOptions

    simulation = (
        SimulateOptions(arch=arch or "gfx942", seed=sim_seed, noise=sim_noise, library=sim_library)
        if simulate
        else None
    )
    options = RunOptions(
        devices=o.devices_of(devices, simulate), rounds=rounds, compare_duration=compare_duration, workdir=workdir,
        hipblaslt=hipblaslt, custom_lib_src=custom_lib_src, custom_lib_dir=custom_lib_dir, simulate=simulation,
        all_devices=devices is not None,
    )  # fmt: skip
    finish(run_guard(db, run, deployed, options, threshold=threshold, anchor=anchor(), verbose=verbose), form)
