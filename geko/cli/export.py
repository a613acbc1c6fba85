"""``geko export …``: one command per artifact."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render

if TYPE_CHECKING:
    from geko.export.deploy import Deployed

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    help="Write what a run found: library logic, tables, a working directory, or files that libraries read at run time.",
    epilog="Examples:\n\n\b\n"
    "  geko export library-logic --out final_libs\n"
    "  geko export csv --out tables --run 1f3a\n"
    "  geko export override --out tuning.txt && export HIPBLASLT_TUNING_OVERRIDE_FILE=$PWD/tuning.txt\n"
    "  geko export tunableop --out tunableop_results0.csv --validators written_by_torch.csv",
)  # fmt: skip

Run = Annotated[
    str | None,
    typer.Option(
        "--run", help="Start of a run's id, or its label.  [default: the last finished]", show_default=False
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to.")]
OutFile = Annotated[Path, typer.Option("--out", help="File to write, or a folder for it.")]
Simulated = Annotated[
    bool, typer.Option("--allow-simulated", help="Write simulated winners too; file name and content say so.")
]


class Rows(StrEnum):
    """Rows of hipBLASLt's tuning file."""

    legacy = "legacy"
    versioned = "versioned"


@app.command("library-logic")
def library_logic(out: Out, run: Run = None, db: o.Db = None, verbose: o.Verbose = 1) -> None:
    """The kept solutions as Tensile library logic, one file per logic file they came from."""
    _export("library-logic", out, run, db, verbose)


@app.command("csv")
def csv(out: Out, run: Run = None, db: o.Db = None, verbose: o.Verbose = 1) -> None:
    """All result tables as CSV, and metrics.json."""
    _export("csv", out, run, db, verbose)


@app.command("parquet")
def parquet(out: Out, run: Run = None, db: o.Db = None, verbose: o.Verbose = 1) -> None:
    """All result tables and every timed candidate as Parquet."""
    _export("parquet", out, run, db, verbose)


@app.command("configs")
def configs(out: Out, run: Run = None, db: o.Db = None, verbose: o.Verbose = 1) -> None:
    """The tuning configs of a run, as they were run."""
    _export("configs", out, run, db, verbose)


@app.command("workdir")
def workdir(out: Out, run: Run = None, db: o.Db = None, verbose: o.Verbose = 1) -> None:
    """The whole working directory of a run, as it is at its end."""
    _export("workdir", out, run, db, verbose)


@app.command("override")
def override(
    out: OutFile,
    run: Run = None,
    rows: Annotated[
        Rows,
        typer.Option(
            "--rows",
            help="legacy: keyed on sizes and types, read by every release; versioned: the whole key, releases of 2026 on.",
        ),
    ] = Rows.legacy,
    allow_simulated: Simulated = False,
    db: o.Db = None,
    verbose: o.Verbose = 1,
) -> None:
    """hipBLASLt's tuning file for HIPBLASLT_TUNING_OVERRIDE_FILE: winners without a rebuild, for the measured build only."""
    from geko.cli.main import start
    from geko.export import resolve_run
    from geko.export.deploy import export_override

    start(verbose)
    with o.existing(db) as warehouse:
        run_id = resolve_run(warehouse, run)
        _show(export_override(warehouse, run_id, out, rows=rows.value, allow_simulated=allow_simulated))


@app.command("tunableop")
def tunableop(
    out: OutFile,
    run: Run = None,
    validators: Annotated[
        Path | None,
        typer.Option(
            "--validators", help="TunableOp table that the target PyTorch wrote.", show_default=False
        ),
    ] = None,
    validator: Annotated[
        list[str] | None,
        typer.Option(
            "--validator", help="NAME=VALUE, such as PT_VERSION=2.9.1; several times.", show_default=False
        ),
    ] = None,
    allow_simulated: Simulated = False,
    db: o.Db = None,
    verbose: o.Verbose = 1,
) -> None:
    """A PyTorch TunableOp table (PYTORCH_TUNABLEOP_FILENAME), with the validators that PyTorch checks."""
    from geko.cli.main import start
    from geko.export import resolve_run
    from geko.export.deploy import export_tunableop, read_validators, validators_of

    start(verbose)
    given = (read_validators(validators) if validators else {}) | validators_of(validator or [])
    with o.existing(db) as warehouse:
        run_id = resolve_run(warehouse, run)
        _show(export_tunableop(warehouse, run_id, out, validators=given, allow_simulated=allow_simulated))


def _export(what: str, out: Path, run: str | None, db: Path | None, verbose: int) -> None:
    from geko.cli.main import start
    from geko.export import export_run, resolve_run

    start(verbose)
    with o.existing(db) as warehouse:
        paths = export_run(warehouse, what, resolve_run(warehouse, run), out)
    typer.echo("\n".join(str(path) for path in paths) or "nothing to export: no shape was kept")


def _show(deployed: Deployed) -> None:
    if deployed.refused:
        typer.echo(f"{len(deployed.refused)} winner(s) can't be applied this way:")
        render(deployed.refused, o.Form.table)
    if deployed.path is None:
        typer.echo("nothing was written")
        raise typer.Exit(1)
    for line in deployed.assumed:
        typer.echo(f"assumed, as no log tells it: {line}")
    if deployed.assumed:
        typer.echo("An application that sets one of these otherwise gets no match.")
    typer.echo(f"{deployed.n_written} winner(s) written to {deployed.path}")
