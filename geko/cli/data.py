"""``geko ingest``, ``geko sql``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render


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
) -> None:
    """Read logs, lists, libraries and results of other tools into the warehouse. A file is known by its content."""
    from geko.ingest.dispatch import ingest as read
    from geko.warehouse import Warehouse

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

    with o.existing(db) as warehouse:
        if query is None and sys.stdin.isatty():
            from geko.cli.prompt import prompt

            prompt(warehouse, form)
            return
        render(warehouse.sql(query if query is not None else sys.stdin.read(), write=write), form)
