"""``geko db``: look after the warehouse file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render

db_app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Look after the warehouse file."
)


@db_app.command()
def migrate(db: o.Db = None) -> None:
    """Bring the file's schema up to this version (opening it does so too)."""
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        typer.echo(f"{warehouse.path} is up to date")


@db_app.command()
def check(db: o.Db = None, form: o.Format = o.Form.table) -> None:
    """Look for doubled ids, dangling references, stuck leases, ids that don't fit their rows. Exit 1 if there are any."""

    with o.existing(db) as warehouse:
        findings = warehouse.check()
    render([asdict(finding) for finding in findings], form)
    if any(finding.n for finding in findings):
        raise typer.Exit(1)


@db_app.command()
def snapshot(out: Annotated[Path, typer.Argument(help="New file.")], db: o.Db = None) -> None:
    """Copy the warehouse as it is now, for the duckdb shell and BI tools; a run isn't disturbed."""

    with o.existing(db) as warehouse:
        typer.echo(str(warehouse.snapshot(out)))


@db_app.command("import")
def import_(
    other: Annotated[Path, typer.Argument(help="Another warehouse file.")],
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Add everything that another warehouse knows (other machines, other ROCm versions); again adds nothing."""
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        added = warehouse.import_(other)
    render([{"table": table, "new rows": n} for table, n in added.items()], form)


@db_app.command()
def prune(
    outputs: Annotated[
        bool, typer.Option("--outputs/--no-outputs", help="Texts of programs whose attempts all succeeded.")
    ] = True,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Attempts that were given back or lost.")
    ] = False,
    days: Annotated[float, typer.Option("--older-than", help="Only what is older than so many days.")] = 30.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; otherwise it is only counted.")] = False,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Drop what can be done without; measurements are never dropped."""
    from datetime import timedelta

    from geko.warehouse.maintenance import PruneOptions

    with o.existing(db) as warehouse:
        before = warehouse.now() - timedelta(days=days)
        counts = warehouse.prune(PruneOptions(outputs, attempts, before, dry_run=not yes))
    render(
        [{"what": what, "rows" if yes else "rows (not dropped yet)": n} for what, n in counts.items()], form
    )
