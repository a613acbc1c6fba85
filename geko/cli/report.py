"""``geko report``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o


class ReportForm(StrEnum):
    """What a report is written as."""

    html = "html"
    markdown = "markdown"


def report(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File to write.  [default: report.html; Markdown goes to standard output]",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            help="Start of a run's id, or its label.  [default: the last finished]",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        ReportForm, typer.Option("--format", help="A page with charts, or text for a pull request.")
    ] = ReportForm.html,
    db: o.Db = None,
    verbose: o.Verbose = 1,
) -> None:
    """What a run found, on one page without network: speed-ups with intervals, verdicts, roofline, noise, environment."""
    from geko.cli.main import start
    from geko.export import resolve_run
    from geko.report import report_text, write_report

    start(verbose)
    with o.existing(db) as warehouse:
        run_id = resolve_run(warehouse, run)
        if out is None and form is ReportForm.markdown:
            typer.echo(report_text(warehouse, run_id, form=form.value))
            return
        path = write_report(warehouse, run_id, out or Path("report.html"), form=form.value)
    typer.echo(f"report of run {run_id[:8]}: {path}")
