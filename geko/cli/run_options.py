"""The options of runs, each once; their defaults are those of `geko.runs.options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from geko.cli import options as o
from geko.cli.common import parameter, with_parameters
from geko.runs.options import RunOptions, SimulateOptions, Source


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks of a run.

    Attributes:
        source: where its problems come from.
        options: its options.
        wait: seconds to wait for a warehouse that another process holds.
    """

    source: Source
    options: RunOptions
    wait: float


def _seconds(name: str, text: str) -> Any:
    return Annotated[float, typer.Option(name, help=text)]


#: Parameter → (its annotation, the kinds of run that have it; none named: all), in the order of the help page.
#: A parameter called like a field of RunOptions becomes that field.
_OPTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "workload_log": (o.WorkloadLog, ()),
    "list_file": (o.ListFile, ()),
    "inline": (o.Inline, ()),
    "workload": (o.WorkloadName, ()),
    "devices": (o.Devices, ()),
    "benchmark_duration": (
        _seconds("--benchmark-duration", "Seconds of the cold and of the timed phase of each GEMM."),
        ("bench",),
    ),
    "keep_thr": (o.KeepThr, ()),
    "up_thr": (
        Annotated[float, typer.Option("--up-thr", help="Keep kernels from this ratio old/new time on.")],
        ("search",),
    ),
    "err_thr": (
        Annotated[float, typer.Option("--err-thr", help="Largest norm error of a right result.")],
        ("search",),
    ),
    "duration": (_seconds("--duration", "Seconds a solution is timed in the search."), ("search",)),
    "compare_duration": (
        _seconds("--compare-duration", "Seconds a shape is timed per library and round of the comparison."),
        ("search",),
    ),
    "rounds": (
        Annotated[
            int | None,
            typer.Option(
                "--rounds",
                help="Rounds of the comparison of both libraries.  [default: 2, with --rule point 6]",
                show_default=False,
            ),
        ],
        ("search",),
    ),
    "rule": (
        Annotated[
            str,
            typer.Option(
                "--rule",
                help="What keeps a kernel: `interval` (candidates are confirmed in alternating rounds until their "
                "interval decides) or `point` (the ratio of two medians).",
            ),
        ],
        ("search",),
    ),
    "confirm_candidates": (
        Annotated[
            int,
            typer.Option("--confirm-candidates", help="Fastest solutions of each shape that are confirmed."),
        ],
        ("search",),
    ),
    "confirm_budget": (
        _seconds("--confirm-budget", "Device seconds that the confirmation of a shape may take."),
        ("search",),
    ),
    "confirm_run_budget": (
        _seconds("--confirm-run-budget", "Device seconds that the confirmation of the whole run may take."),
        ("search",),
    ),
    "max_workspace": (
        Annotated[
            int | None,
            typer.Option(
                "--max-workspace",
                help="Bytes of workspace that the application offers; solutions that need more don't count.  "
                "[default: that of hipblaslt-bench, 128 MiB]",
                show_default=False,
            ),
        ],
        (),
    ),
    "no_verify": (
        Annotated[bool, typer.Option("--no-verify", help="Don't check the results of the new kernels.")],
        ("search",),
    ),
    "bench_freq": (o.BenchFreq, ()),
    "workdir": (o.Workdir, ()),
    "hipblaslt": (o.Hipblaslt, ()),
    "custom_lib_src": (o.CustomSrc, ()),
    "custom_lib_dir": (o.CustomDir, ()),
    "max_attempts": (o.Attempts, ()),
    "job_timeout": (o.JobTimeout, ()),
    "stall_timeout": (o.StallTimeout, ()),
    "abort_after": (o.AbortAfter, ()),
    "simulate": (o.Simulate, ()),
    "arch": (o.Arch, ()),
    "sim_seed": (o.SimSeed, ()),
    "sim_noise": (o.SimNoise, ()),
    "sim_library": (o.SimLibrary, ()),
    "wait": (o.Wait, ()),
}
_RUN: dict[str, Any] = {field.name: field.default for field in fields(RunOptions)}
_SIMULATION: dict[str, Any] = {f"sim_{field.name}": field.default for field in fields(SimulateOptions)}
_DEFAULTS: dict[str, Any] = {
    **_RUN,
    **_SIMULATION,
    "simulate": False,
    "no_verify": not _RUN["verify"],
    "wait": 0.0,
}


def run_command(kind: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Make a command of a function ``(asked, db, form, verbose)``: it takes all options that this kind of run has.

    Args:
        kind: ``"search"``, ``"bench"``, ...
    """

    def wrap(function: Callable[..., None]) -> Callable[..., Any]:
        def command(*, db: Path | None, form: o.Form, verbose: int, **values: Any) -> None:
            function(asked_of(values), db, form, verbose)

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        own = [
            parameter(name, annotation, _DEFAULTS.get(name))
            for name, (annotation, kinds) in _OPTIONS.items()
            if not kinds or kind in kinds
        ]
        common = [parameter("db", o.Db, None), parameter("form", o.Format, o.Form.table)]
        return with_parameters(command, [*own, *common, parameter("verbose", o.Verbose, 1)])

    return wrap


def asked_of(values: dict[str, Any]) -> Asked:
    """Source and options of a run, by the values of its parameters.

    Raises:
        UsageError: a value out of range, no devices, no source or several.
    """
    source = o.source_of(values["workload_log"], values["list_file"], values["inline"], values["workload"])
    arch = values["arch"]
    simulation = None
    if values["simulate"]:
        simulation = SimulateOptions(
            arch=arch or _SIMULATION["sim_arch"],
            seed=values["sim_seed"],
            noise=values["sim_noise"],
            library=values["sim_library"],
        )
    chosen = {name: value for name, value in values.items() if name in _RUN}
    chosen |= {
        "devices": o.devices_of(values["devices"], values["simulate"]),
        "all_devices": values["devices"] is not None,
        "simulate": simulation,
        "extra": {} if arch is None else {"arch": arch},
    }
    if "no_verify" in values:
        chosen["verify"] = not values["no_verify"]
    return Asked(source, RunOptions(**chosen), values["wait"])
