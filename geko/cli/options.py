"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from geko.warehouse import Warehouse


class Form(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


Db = Annotated[
    Path | None,
    typer.Option("--db", help="Warehouse file.  [default: $GEKO_DB, else ./geko.duckdb]", show_default=False),
]
Format = Annotated[Form, typer.Option("--format", help="How rows are printed.")]
Verbose = Annotated[
    int,
    typer.Option("-v", "--verbose", min=0, max=2, help="0 warnings, 1 progress and information, 2 debug."),
]
Devices = Annotated[
    str | None,
    typer.Option(
        "-d",
        "--devices",
        help="GPUs: `0,1,3`, ranges `0-7`, or `all`. Required unless --simulate.",
        show_default=False,
    ),
]
Hipblaslt = Annotated[
    Path | None,
    typer.Option(
        "--hipblaslt",
        help="hipBLASLt checkout.  [default: $GEKO_HIPBLASLT_PATH, else found above bin/geko]",
        show_default=False,
    ),
]
Workdir = Annotated[
    Path | None,
    typer.Option(
        "--workdir",
        help="Folder for the files of the run.  [default: ./geko_<timestamp>]",
        show_default=False,
    ),
]
WorkloadLog = Annotated[
    list[Path] | None,
    typer.Option(
        "--workload-log",
        help="Log of what an application multiplied (any workload format of `geko ingest`); "
        "give it several times for the logs of several ranks.",
        show_default=False,
        rich_help_panel="Workload (exactly one)",
    ),
]
ListFile = Annotated[
    Path | None,
    typer.Option(
        "--list",
        help="YAML with sizes: a generator file with Sizes, or tuples [M, N, batch, K, B, B, S, T, N].",
        show_default=False,
        rich_help_panel="Workload (exactly one)",
    ),
]
Inline = Annotated[
    str | None,
    typer.Option(
        "--inline",
        help="One GEMM: M N batch K DataType DestDataType ComputeDataType transA transB [MX], "
        "as in `--inline 1024 1024 1 1024 B B S N T`.",
        show_default=False,
        rich_help_panel="Workload (exactly one)",
        metavar="WORDS…",
    ),
]
WorkloadName = Annotated[
    str | None,
    typer.Option(
        "--workload",
        help="Name of a workload that is in the warehouse already.",
        show_default=False,
        rich_help_panel="Workload (exactly one)",
    ),
]
KeepThr = Annotated[
    float | None,
    typer.Option(
        "--keep-thr",
        help="Leave GEMMs alone that take less than this PERCENTAGE of the workload's time (0 to 100; "
        "0.1 is a thousandth).  [default: 0.1 for search, else 0]",
        show_default=False,
    ),
]
BenchFreq = Annotated[
    bool, typer.Option("--bench-freq", help="Record clock frequencies (HIPBLASLT_BENCH_FREQ).")
]
CustomSrc = Annotated[
    Path | None,
    typer.Option(
        "--custom-lib-src", help="Logic folder to build and use as the reference.", show_default=False
    ),
]
CustomDir = Annotated[
    Path | None,
    typer.Option("--custom-lib-dir", help="Built library to use as the reference.", show_default=False),
]
Attempts = Annotated[int, typer.Option("--max-attempts", help="How often a job is tried.")]
JobTimeout = Annotated[
    float, typer.Option("--job-timeout", help="Seconds a process may take beyond its estimate.")
]
StallTimeout = Annotated[
    float,
    typer.Option(
        "--stall-timeout",
        help="Seconds without output after which a process counts as hung; 0: never. Left as it is, tuning jobs get 900.",
    ),
]
AbortAfter = Annotated[
    int, typer.Option("--abort-after", help="Stop after so many failures in a row; 0: never.")
]
Simulate = Annotated[
    bool,
    typer.Option(
        "--simulate",
        help="Run on stand-in programs, without GPU and hipBLASLt; all times are simulated.",
        rich_help_panel="Simulation",
    ),
]
Arch = Annotated[
    str | None,
    typer.Option(
        "--arch",
        help="GPU that --simulate imitates, and whose block scaling the word MX of --inline means.  [default: gfx942]",
        show_default=False,
        rich_help_panel="Simulation",
    ),
]
SimSeed = Annotated[
    int, typer.Option("--sim-seed", help="Seed of the model's noise.", rich_help_panel="Simulation")
]
SimNoise = Annotated[
    float,
    typer.Option(
        "--sim-noise", help="Relative noise of a simulated time, 0 to 0.1.", rich_help_panel="Simulation"
    ),
]
SimLibrary = Annotated[
    Path | None,
    typer.Option(
        "--sim-library",
        help="Logic folder whose solutions the stand-ins offer.  [default: the example library]",
        show_default=False,
        rich_help_panel="Simulation",
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, help="Seconds to wait for a warehouse that another process holds and doesn't share."
    ),
]


def existing(db: Path | None) -> Warehouse:
    """Open a warehouse that is there; reading makes none.

    Raises:
        MissingFileError: there is no such file.
    """
    from geko.errors import MissingFileError
    from geko.warehouse import Warehouse
    from geko.warehouse.warehouse import default_path

    path = db or default_path()
    if not path.exists():
        raise MissingFileError(
            "there is no such warehouse; `geko ingest`, `geko bench` and `geko search` make one, and --db FILE or "
            "$GEKO_DB name another",
            path=path.absolute(),
        )
    return Warehouse.open(path)


def source_of(
    log: list[Path] | None, list_file: Path | None, inline: str | None, workload: str | None
) -> Any:
    """The one source of problems that was named.

    Raises:
        UsageError: none or several, or a file that isn't there.
    """
    from geko.errors import InputError, MissingFileError, UsageError
    from geko.fsio import require_file
    from geko.runs.options import Source

    given = [
        name
        for name, value in (
            ("--workload-log", log), ("--list", list_file), ("--inline", inline), ("--workload", workload),
        )
        if value
    ]  # fmt: skip
    if len(given) != 1:
        what = f"not {' and '.join(given)}" if given else "none was given"
        raise UsageError(f"exactly one of --workload-log, --list, --inline, --workload is needed; {what}")
    for path in [*(log or []), *([list_file] if list_file else [])]:
        try:
            require_file(path)
        except MissingFileError:
            raise UsageError(f"{given[0]}: file not found: {path}") from None
        except InputError as error:
            raise UsageError(f"{given[0]}: {error}") from None
    if log:
        return Source("log", paths=tuple(log))
    if list_file:
        return Source("list", paths=(list_file,))
    if inline:
        return Source("inline", words=tuple(inline.split()))
    return Source("workload", name=workload)


def devices_of(text: str | None, simulate: bool) -> tuple[int, ...] | None:
    """Device ordinals; None for all.

    Raises:
        UsageError: none were given for a run on GPUs, or the list makes no sense.
    """
    from geko.devices import is_all, parse_devices
    from geko.errors import UsageError

    if text is None:
        if simulate:
            return None
        raise UsageError("--devices is required: which GPUs may be used, such as -d 0,1 or -d 0-7 or -d all")
    if is_all(text):
        return None
    try:
        return tuple(parse_devices(text))
    except UsageError as error:
        raise UsageError(f"--devices: {error}") from None
