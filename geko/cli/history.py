"""``geko envs``, ``geko diff``, ``geko verify-applied``: across environments, libraries and runs, and after deployment."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render


class DiffForm(StrEnum):
    """How a diff is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


def envs(db: o.Db = None, form: o.Format = o.Form.table) -> None:
    """The environments in which something was timed: GPU, ROCm, hipBLASLt, and how much. `geko diff` compares two."""
    from geko.cli.main import start
    from geko.diff import environments

    start(1)
    with o.existing(db) as warehouse:
        render(environments(warehouse), form)


def diff(
    a: Annotated[str, typer.Argument(help="Before: start of the id of an environment, library or run.")],
    b: Annotated[str, typer.Argument(help="After: the same.")],
    workload: Annotated[
        str | None,
        typer.Option("--workload", help="Only its shapes, weighted with its calls.", show_default=False),
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Ratio from which a shape counts as changed.")
    ] = 1.03,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Shapes shown in a table; 0: all.")] = 50,
    db: o.Db = None,
    form: Annotated[
        DiffForm, typer.Option("--format", help="How it is printed; JSON and CSV hold every shape.")
    ] = DiffForm.table,
) -> None:
    """What changed from A to B: per shape the ratio of times with its interval, the kernel, and the weighted totals."""
    from geko.cli.main import start
    from geko.diff import diff as compare
    from geko.export.markdown import diff_markdown

    start(1)
    with o.existing(db) as warehouse:
        result = compare(warehouse, a, b, workload=workload, threshold=threshold)
    if form is DiffForm.markdown:
        typer.echo(diff_markdown(result, limit=limit or None))
    elif form is DiffForm.table:
        typer.echo(
            f"A: {result.a.label}\nB: {result.b.label}\n{result.a.times} times; ratio = time in A / time in B: "
            "above 1, B is faster\n"
        )
        for rows in (
            result.fields,
            result.totals,
            result.shapes.slice(0, limit or None).drop(["problem_id", "solution_a", "solution_b", "times"]),
        ):
            render(rows, form)
            typer.echo("")
    else:
        render(result.shapes, form)


def verify_applied(
    logs: Annotated[
        list[Path], typer.Argument(help="Logs of the application, best of mask 128; or bench output.")
    ],
    run: Annotated[
        str | None,
        typer.Option(
            "--run", help="The run that was deployed.  [default: the last finished]", show_default=False
        ),
    ] = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Was what was deployed really used? Exit status 1 if a winner was called with another kernel, or none was called."""
    from geko.cli.main import start
    from geko.cli.runs import show
    from geko.export import resolve_run
    from geko.export.applied import verify_applied as verify

    start(1)
    with o.existing(db) as warehouse:
        found = verify(warehouse, resolve_run(warehouse, run), logs)
    show(found.rows, [found.summary], form)
    raise typer.Exit(found.exit_code)
