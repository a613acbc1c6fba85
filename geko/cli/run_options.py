"""The options of runs, each once; their defaults are those of `geko.runs.options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from geko.cli import options as o
from geko.cli.common import parameter, with_parameters
from geko.errors import UsageError
from geko.runs.options import RunOptions, SimulateOptions, Source
from geko.runs.tune_options import TuneOptions


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks of a run.

    Attributes:
        source: where its problems come from.
        options: its options.
        wait: seconds to wait for a warehouse that another process holds.
        dry_run: only show what would be done.
        run: start of the id of an earlier run.
    """

    source: Source
    options: RunOptions
    wait: float
    dry_run: bool = False
    run: str | None = None


def _seconds(name: str, text: str) -> Any:
    return Annotated[float, typer.Option(name, help=text)]


#: Parameter → (its annotation, the kinds of run that have it; none named: all), in the order of the help page.
#: A parameter called like a field of RunOptions becomes that field.
_OPTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "run": (
        Annotated[
            str | None,
            typer.Option(
                "--run",
                help="Start of the id of the run that wrote the configs, in place of --workdir.",
                show_default=False,
            ),
        ],
        ("optimize",),
    ),
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
        ("search", "tune", "optimize"),
    ),
    "err_thr": (
        Annotated[float, typer.Option("--err-thr", help="Largest norm error of a right result.")],
        ("search", "tune", "optimize"),
    ),
    "duration": (_seconds("--duration", "Seconds a solution is timed in the search."), ("search",)),
    "compare_duration": (
        _seconds("--compare-duration", "Seconds a shape is timed per library and round of the comparison."),
        ("search", "tune", "optimize"),
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
        ("search", "tune", "optimize"),
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
        ("search", "tune", "optimize"),
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
        ("search", "tune", "optimize"),
    ),
    "confirm_run_budget": (
        _seconds("--confirm-run-budget", "Device seconds that the confirmation of the whole run may take."),
        ("search", "tune", "optimize"),
    ),
    "plan": (
        Annotated[
            bool,
            typer.Option(
                "--plan",
                help="Time nothing: say what could be won at most, how many jobs it would take, and how long.",
            ),
        ],
        ("search",),
    ),
    "backend": (
        Annotated[
            str | None,
            typer.Option(
                "--backend",
                help="`ductile` (genetic algorithm) or `tensile` (every combination).  [default: ductile]",
                show_default=False,
            ),
        ],
        ("tune", "configure"),
    ),
    "search_space": (
        Annotated[
            str | None,
            typer.Option(
                "--search-space",
                help="`generic`, `heuristic`, or `subtile` (gfx950).  [default: generic for ductile, heuristic for tensile]",
                show_default=False,
            ),
        ],
        ("tune", "configure"),
    ),
    "set_": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--set",
                metavar="KEY=VALUE",
                help="A key of the generator, such as MI_FILTER=1; wins over the file's. May be given several times.",
                show_default=False,
            ),
        ],
        ("tune", "configure"),
    ),
    "rules": (
        Annotated[
            str,
            typer.Option(
                "--rules", help="`default`, or `original`: configs as the original's generator writes them."
            ),
        ],
        ("tune", "configure"),
    ),
    "era": (
        Annotated[
            str | None,
            typer.Option(
                "--era",
                help="Spelling of Stream-K: A or B (a number), C (a strategy).  [default: as the checkout has it]",
                show_default=False,
            ),
        ],
        ("tune", "configure"),
    ),
    "dry_run": (
        Annotated[
            bool, typer.Option("--dry-run", help="Show what would be written, with the effective settings.")
        ],
        ("configure",),
    ),
    "scripts": (
        Annotated[
            bool, typer.Option("--scripts/--no-scripts", help="Write a shell script beside each config.")
        ],
        ("tune", "configure"),
    ),
    "slots": (
        Annotated[int, typer.Option("-n", "--n-slots", help="Tuning jobs at a time on each device.")],
        ("tune", "optimize"),
    ),
    "no_retry": (
        Annotated[
            bool,
            typer.Option(
                "--no-retry", help="Leave configs alone that failed when the run was started before."
            ),
        ],
        ("tune", "optimize"),
    ),
    "client_build_dir": (
        Annotated[
            Path | None,
            typer.Option(
                "--client-build-dir",
                help="Where the tensilelite client is built and kept.",
                show_default=False,
            ),
        ],
        ("tune", "optimize"),
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
        ("search", "tune", "optimize"),
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
#: Kinds of run that take new kernels' options, and what they don't have of the others.
_TUNING = ("tune", "configure", "optimize")
_WITHOUT: dict[str, frozenset[str]] = {
    "tune": frozenset({"max_workspace"}),
    "configure": frozenset({"max_workspace"}),
    "optimize": frozenset({"workload_log", "list_file", "inline", "workload", "keep_thr", "max_workspace"}),
}
_RUN: dict[str, Any] = {
    field.name: field.default for kind in (TuneOptions, RunOptions) for field in fields(kind)
}
_SIMULATION: dict[str, Any] = {f"sim_{field.name}": field.default for field in fields(SimulateOptions)}
_DEFAULTS: dict[str, Any] = {
    **_RUN,
    **_SIMULATION,
    "simulate": False,
    "no_verify": not _RUN["verify"],
    "no_retry": not _RUN["retry"],
    "set_": None,
    "dry_run": False,
    "plan": False,
    "wait": 0.0,
}


def run_command(kind: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Make a command of a function ``(asked, db, form, verbose)``: it takes all options that this kind of run has.

    Args:
        kind: ``"search"``, ``"bench"``, ...
    """

    def wrap(function: Callable[..., None]) -> Callable[..., Any]:
        def command(*, db: Path | None, form: o.Form, verbose: int, **values: Any) -> None:
            function(asked_of(values, kind), db, form, verbose)

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        own = [
            parameter(name, annotation, _DEFAULTS.get(name))
            for name, (annotation, kinds) in _OPTIONS.items()
            if (not kinds or kind in kinds) and name not in _WITHOUT.get(kind, ())
        ]
        common = [parameter("db", o.Db, None), parameter("form", o.Format, o.Form.table)]
        return with_parameters(command, [*own, *common, parameter("verbose", o.Verbose, 1)])

    return wrap


def asked_of(values: dict[str, Any], kind: str = "search") -> Asked:
    """Source and options of a run, by the values of its parameters.

    Args:
        values: parameter → value.
        kind: kind of run.

    Raises:
        UsageError: a value out of range, no devices, no source or several.
    """
    source = Source("workload")
    if "workload_log" in values:
        source = o.source_of(
            values["workload_log"], values["list_file"], values["inline"], values["workload"]
        )
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
    # Configs need no GPU unless a threshold on the time is asked for.
    no_gpu = kind == "configure" and values["devices"] is None and not values["simulate"]
    chosen |= {
        "devices": () if no_gpu else o.devices_of(values["devices"], values["simulate"]),
        "all_devices": values["devices"] is not None,
        "simulate": simulation,
        "extra": {} if arch is None else {"arch": arch},
    }
    if "no_verify" in values:
        chosen["verify"] = not values["no_verify"]
    if kind not in _TUNING:
        chosen.pop("arch", None)
        return Asked(source, RunOptions(**chosen), values["wait"], values.get("plan", False))
    if "no_retry" in values:
        chosen["retry"] = not values["no_retry"]
    chosen["settings"] = _settings(values)
    return Asked(
        source, TuneOptions(**chosen), values["wait"], values.get("dry_run", False), values.get("run")
    )


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    """Keys of the generator that ``--set`` gives, with those that have options of their own checked."""
    from geko.config_generator.schema import check_key, parse_assignments

    for name, key in (("backend", "backend"), ("search_space", "search_space")):
        if values.get(name) is not None:
            check_key(key, values[name], source=f"--{name.replace('_', '-')}")
    if values.get("rules") not in (None, "default", "original"):
        raise UsageError(f"--rules is default or original, not {values['rules']}")
    return parse_assignments(values.get("set_") or [])
