"""``geko ingest``, ``geko export``, ``geko sql``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render


class What(StrEnum):
    """What can be exported."""

    library_logic = "library-logic"
    csv = "csv"
    workdir = "workdir"


def ingest(
    files: Annotated[list[Path], typer.Argument(help="Files of any mixture of formats.", show_default=False)],
    kind: Annotated[str, typer.Option("--kind", help="Format; auto looks at the content.")] = "auto",
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            help="Workload that the calls become part of.  [default: each file its own]",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
    verbose: o.Verbose = 1,
) -> None:
    """Read logs, lists, libraries and results of other tools into the warehouse. A file is known by its content."""
    from geko.cli.main import start
    from geko.ingest.dispatch import ingest as read
    from geko.warehouse import Warehouse

    start(verbose)
    with Warehouse.open(db) as warehouse:
        reports = read(warehouse, files, kind=kind, workload=workload)
    rows = [
        {
            "file": str(report.path), "state": report.state, "format": report.kind or "", "rows": report.n_rows,
            "rejects": report.n_rejects, "workload": report.workload or "", "message": report.message,
        }
        for report in reports
    ]  # fmt: skip
    render(rows, form)
    if any(report.state == "refused" for report in reports):
        raise typer.Exit(1)


def export(
    what: Annotated[What, typer.Argument(help="What to write.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")],
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            help="Start of a run's id, or its label.  [default: the last finished]",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    verbose: o.Verbose = 1,
) -> None:
    """Write what a run found: kept solutions as Tensile logic, its tables, or everything."""
    from geko.cli.main import start
    from geko.export import export_run, resolve_run

    start(verbose)
    with o.existing(db) as warehouse:
        paths = export_run(warehouse, what.value, resolve_run(warehouse, run), out)
    typer.echo("\n".join(str(path) for path in paths) or "nothing to export: no shape was kept")


def sql(
    query: Annotated[
        str | None,
        typer.Argument(help="One SELECT or EXPLAIN; without it, standard input.", show_default=False),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Allow any statement; only while no run owns the file.")
    ] = False,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Ask the warehouse. Reads only, also while a run is going on; Ctrl-C ends the query."""
    from geko.cli.main import start

    start(1)
    with o.existing(db) as warehouse:
        if query is None and sys.stdin.isatty():
            from geko.cli.prompt import prompt

            prompt(warehouse, form)
            return
        render(warehouse.sql(query if query is not None else sys.stdin.read(), write=write), form)
