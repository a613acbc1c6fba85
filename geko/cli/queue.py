"""``geko status``, ``geko runs``, ``geko jobs``, ``geko runner``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from geko.cli import options as o
from geko.cli.render import render

jobs_app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="List, retry and cancel jobs."
)

_Run = Annotated[
    str | None, typer.Option("--run", help="Start of a run's id, or its label.", show_default=False)
]
_Ids = Annotated[list[str] | None, typer.Argument(help="Ids of jobs (or their starts).", show_default=False)]


class JobState(StrEnum):
    """State of a job."""

    pending = "pending"
    leased = "leased"
    done = "done"
    failed = "failed"
    dead = "dead"
    cancelled = "cancelled"


class Part(StrEnum):
    """What a status consists of."""

    progress = "progress"
    devices = "devices"
    verdicts = "verdicts"
    worth = "worth"
    contributions = "contributions"
    shapes = "shapes"


_PARTS = {
    Part.progress: "status/progress",
    Part.devices: "status/devices",
    Part.verdicts: "status/verdicts",
    Part.worth: "status/worth",
    Part.contributions: "status/contributions",
    Part.shapes: "status/shapes",
}


def status(
    part: Annotated[
        Part | None,
        typer.Argument(
            help="One of these; shapes: every shape with its class and why.  "
            "[default: all but shapes as tables, progress as JSON or CSV]",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """What runs now (stage, done, failed, time left), on which devices, how shapes were judged so far or last, and what
    that is worth."""
    with o.existing(db) as warehouse:
        everything = [name for name in Part if name is not Part.shapes]
        asked = [part] if part else everything if form is o.Form.table else [Part.progress]
        for at, name in enumerate(asked):
            now = {"now": warehouse.now()} if name in (Part.progress, Part.devices) else {}
            rows = warehouse.query(_PARTS[name], **now)
            # Before the first verdict there is nothing to say about them.
            if rows.num_rows or at == 0:
                typer.echo("\n" * bool(at), nl=False)
                render(rows, form)
            if name is Part.progress:
                _say_how_to_resume(rows.to_pylist())


def _say_how_to_resume(rows: list[dict[str, Any]]) -> None:
    stopped = {row["run"]: row["kind"] for row in rows if row["state"] == "interrupted"}
    for run, kind in stopped.items():
        typer.echo(
            f"run {run} was interrupted: the same `geko {kind}` command goes on where it stopped", err=True
        )


def runs(db: o.Db = None, form: o.Format = o.Form.table) -> None:
    """The runs of the warehouse, the newest first."""
    with o.existing(db) as warehouse:
        render(warehouse.query("status/runs"), form)


@jobs_app.command("list")
def jobs_list(
    run: _Run = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="baseline, screen, compare, verify, ...", show_default=False),
    ] = None,
    state: Annotated[
        JobState | None, typer.Option("--state", help="Only jobs in this state.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many rows.")] = 1000,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Jobs with their state, attempts and last message; those that run or failed come first."""
    from geko.export import resolve_run

    with o.existing(db) as warehouse:
        run_id = resolve_run(warehouse, run) if run else None
        render(warehouse.query("status/jobs", run_id=run_id, kind=kind, state=state, n=limit), form)


@jobs_app.command("retry")
def jobs_retry(
    ids: _Ids = None,
    run: _Run = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            "--outcome", help="Also finished jobs with this outcome, such as no_solution.", show_default=False
        ),
    ] = None,
    db: o.Db = None,
) -> None:
    """Put failed, dead and cancelled jobs back into the queue, with three more attempts each. Devices that were taken out
    after failures in a row get work again."""
    from geko.errors import UsageError
    from geko.export import resolve_run
    from geko.warehouse import queue

    if not ids and not run:
        raise UsageError("which jobs? give ids, or --run RUN for all of it that failed or were cancelled")
    with o.existing(db) as warehouse:
        chosen = queue.find_jobs(warehouse, ids) if ids else None
        run_id = resolve_run(warehouse, run) if run else None
        n = queue.retry(warehouse, run_id=run_id, job_ids=chosen, outcomes=tuple(outcome or ()))
    typer.echo(f"{n} job(s) put back; run the same search or bench command again to work on them")


@jobs_app.command("cancel")
def jobs_cancel(ids: _Ids = None, run: _Run = None, db: o.Db = None) -> None:
    """Cancel jobs that wait or run. What a running one still delivers is stored as late and counts nowhere."""
    from geko.errors import UsageError
    from geko.export import resolve_run
    from geko.warehouse import queue

    if not ids and not run:
        raise UsageError("which jobs? give ids, or --run RUN for all that wait")
    with o.existing(db) as warehouse:
        run_id = resolve_run(warehouse, run) if run else None
        chosen = queue.find_jobs(warehouse, ids) if ids else None
        n = queue.cancel(warehouse, run_id=run_id, job_ids=chosen)
    typer.echo(f"{n} job(s) cancelled")


def runner(
    devices: Annotated[str, typer.Option("-d", "--devices", help="GPUs: `2,3`, `0-7` or `all`.")],
    hipblaslt: o.Hipblaslt = None,
    workdir: Annotated[
        Path | None, typer.Option("--workdir", help="Folder for the runners' logs.", show_default=False)
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            help="End after so many seconds without open jobs.  [default: never]",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    verbose: o.Verbose = 1,
) -> None:
    """Work on the jobs of a run that another shell started, with further GPUs of this machine."""
    from geko.devices import ALL
    from geko.runners.join import join
    from geko.warehouse.warehouse import default_path

    chosen = o.devices_of(devices, simulate=False) or ALL
    join(db or default_path(), chosen, hipblaslt=hipblaslt, workdir=workdir, idle_s=idle, verbose=verbose)
