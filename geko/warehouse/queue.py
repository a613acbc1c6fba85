"""The queue as runners and the pipeline see it; the same for the owner of the file and its clients."""

from __future__ import annotations

import functools
import os
import socket
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal

import pyarrow as pa

from geko.errors import UsageError
from geko.warehouse.steps import Statement
from geko.warehouse.warehouse import Warehouse

_JOB_COLUMNS = ("job_id", "kind", "batch_key", "protocol_id", "environment_id", "timeout_s", "spec")
_JOB_DEFAULTS: dict[str, tuple[Any, pa.DataType]] = {
    "priority": (0.0, pa.float64()),
    "cost_s": (0.0, pa.float64()),
    "problem_id": (None, pa.string()),
    "library_id": (None, pa.string()),
    "max_attempts": (3, pa.int32()),
    "alone": (False, pa.bool_()),
}
# Fields of a result that travel as text; its tables travel as Arrow.
_SENT = (
    "job_id", "attempt", "token", "runner", "device_id", "outcome", "message", "command", "exit_code", "started_at",
    "output",
)  # fmt: skip

Answer = Literal["accepted", "late"]


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """What became of the jobs that were asked for.

    Attributes:
        n_new: were added.
        n_reused: were known and are not done; n_done: are done, so that their results are reused.
    """

    n_new: int
    n_reused: int
    n_done: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A job on lease.

    Attributes:
        job_id, attempt, token: what its result has to present.
        kind: ``baseline``, ``screen``, ``compare``, ``verify``, ...
        batch_key: jobs with the same one may share a process.
        timeout_s: seconds from the start of its process.
        spec: JSON text of what to do.
    """

    job_id: str
    attempt: int
    token: str
    kind: str
    batch_key: str
    timeout_s: float
    spec: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of an attempt.

    Attributes:
        job_id, attempt, token: from the claim.
        runner, device_id: who ran it where.
        outcome: as the CHECK of ``job_attempt.outcome`` lists them; ``released`` gives the job back.
        message, command, exit_code: for people.
        started_at: UTC; output: all that the program printed, kept once by content.
        measurements, validations: rows with columns of these tables, less those that follow from the job.
        files: what a tuning job left, ``path`` and ``content``; see `store_files`.
    """

    job_id: str
    attempt: int
    token: str
    runner: str
    device_id: str | None
    outcome: str
    message: str | None = None
    command: str | None = None
    exit_code: int | None = None
    started_at: datetime | None = None
    output: str | None = None
    measurements: pa.Table | None = None
    validations: pa.Table | None = None
    files: pa.Table | None = None


def enqueue(wh: Warehouse, run_id: str, jobs: pa.Table) -> EnqueueResult:
    """Ask for jobs on behalf of a run; the same work is the same job.

    Jobs known from before keep their state; unless they run or are done they take the new spec, cost and
    priority.

    Args:
        wh: the warehouse.
        run_id: the run.
        jobs: ``job_id`` (see macro ``job_key``), ``kind``, ``batch_key``, ``protocol_id``,
            ``environment_id``, ``timeout_s``,
            ``spec`` (JSON text), and optionally ``priority``, ``cost_s``, ``problem_id``, ``library_id``,
            ``max_attempts`` (3), ``alone``.

    Raises:
        UsageError: if a column is missing.
    """
    if not jobs.num_rows:
        return EnqueueResult(0, 0, 0)
    now = wh.now()
    wanted = {"wanted": normalised(jobs)}
    counts, *_ = wh.apply(
        Statement("queue/enqueue_count", inputs=wanted),
        Statement("queue/refresh_specs", inputs=wanted),
        Statement("queue/refresh_jobs", inputs=wanted),
        Statement("queue/add_specs", inputs=wanted),
        Statement("queue/add_jobs", {"run_id": run_id, "now": now}, wanted),
        Statement("queue/add_run_jobs", {"run_id": run_id}, wanted),
        repeatable=True,
    )
    return EnqueueResult(**counts.to_pylist()[0])


def normalised(jobs: pa.Table) -> pa.Table:
    """Jobs with all columns that the queue's statements read.

    Raises:
        UsageError: if a column is missing that has no default.
    """
    missing = [name for name in _JOB_COLUMNS if name not in jobs.column_names]
    if missing:
        raise UsageError(f"jobs without {', '.join(missing)}")
    for name, (value, kind) in _JOB_DEFAULTS.items():
        if name not in jobs.column_names:
            jobs = jobs.append_column(name, pa.array([value] * jobs.num_rows, kind))
    return jobs.append_column("seq", pa.array(range(jobs.num_rows), pa.int64()))


def claim(
    wh: Warehouse,
    runner: str,
    device_id: str,
    kinds: Sequence[str] | None = None,
    limit: int = 1,
    max_cost_s: float | None = None,
    *,
    lease_s: float | None = None,
    ordinal: int | None = None,
) -> list[Claim]:
    """Lease the jobs that are to run next on a device.

    Highest priority first, longest first among equals; all jobs of one claim have the batch key of the
    first. A job suspected of killing its process comes alone. A quarantined device gets nothing.

    Args:
        wh: the warehouse.
        runner: name of the caller.
        device_id: a row of table ``device``; only jobs of its environment are given.
        kinds: only these kinds; None for any.
        limit: most jobs to lease.
        max_cost_s: stop adding jobs when their estimated seconds together would exceed it; the first is
            always given.
        lease_s: seconds until the lease expires without a heartbeat; None for the owner's default (60).
        ordinal: the device's number on its host, for table ``runner``.
    """
    payload = _claim_fields(runner, device_id, kinds, limit, max_cost_s, lease_s, ordinal)
    return [Claim(**item) for item in wh.queue_operation("claim", payload)]


def complete(wh: Warehouse, results: Iterable[JobResult]) -> list[Answer]:
    """Store results; they are committed when this returns.

    A result whose lease was lost is kept as evidence that never wins ("late"). The same result sent again
    changes nothing and is answered as before.

    Raises:
        WarehouseError: if a row doesn't fit its table.
    """
    answers: list[Answer] = wh.queue_operation("complete", _results_payload(list(results)))
    return answers


def store_files(wh: Warehouse, results: Iterable[JobResult]) -> None:
    """Store the files of results, before the results themselves: they count once their attempt does."""
    parts = [
        result.files.append_column(
            "job_id", pa.array([result.job_id] * result.files.num_rows, pa.string())
        ).append_column("attempt", pa.array([result.attempt] * result.files.num_rows, pa.int32()))
        for result in results
        if result.files is not None and result.files.num_rows
    ]
    if parts:
        left = {"left_files": pa.concat_tables(parts)}
        wh.apply(
            Statement("runners/forget_tuning_outputs", inputs=left),
            Statement("runners/add_tuning_outputs", inputs=left),
            repeatable=True,
        )


def complete_and_claim(
    wh: Warehouse,
    results: Iterable[JobResult],
    runner: str,
    device_id: str,
    kinds: Sequence[str] | None = None,
    limit: int = 1,
    max_cost_s: float | None = None,
    *,
    lease_s: float | None = None,
    ordinal: int | None = None,
) -> tuple[list[Answer], list[Claim]]:
    """`complete` and then `claim` in one transaction and one message: half the waiting of a busy runner.

    Raises:
        WarehouseError: if a row doesn't fit its table; nothing is claimed then.
    """
    payload = _claim_fields(runner, device_id, kinds, limit, max_cost_s, lease_s, ordinal)
    payload |= _results_payload(list(results))
    found = wh.queue_operation("exchange", payload)
    return found["answers"], [Claim(**item) for item in found["claims"]]


def _claim_fields(
    runner: str,
    device_id: str,
    kinds: Sequence[str] | None,
    limit: int,
    max_cost_s: float | None,
    lease_s: float | None,
    ordinal: int | None,
) -> dict[str, Any]:
    return {
        "runner": runner,
        "device_id": device_id,
        "kinds": None if kinds is None else list(kinds),
        "limit": limit,
        "max_cost_s": max_cost_s,
        "lease_s": lease_s,
        "token": str(uuid.uuid4()),
        "pid": os.getpid(),
        "host": _host(),
        "ordinal": ordinal,
    }


@functools.cache
def _host() -> str:
    return socket.gethostname()


def _results_payload(results: Sequence[JobResult]) -> dict[str, Any]:
    payload: dict[str, Any] = {"results": [_result_fields(result) for result in results]}
    for view, name in (("measured", "measurements"), ("validated", "validations")):
        parts = [
            _typed(rows)
            for result in results
            if (rows := getattr(result, name)) is not None and rows.num_rows
        ]
        if parts:
            payload[f"n_{view}"] = [
                0 if rows is None else rows.num_rows for rows in map(attrgetter(name), results)
            ]
            payload[view] = (
                parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="permissive")
            )
    return payload


def heartbeat(
    wh: Warehouse,
    runner: str,
    tokens: Sequence[str],
    *,
    device_id: str | None = None,
    lease_s: float | None = None,
) -> list[str]:
    """Say that a runner is alive.

    Returns:
        The tokens that are still valid; work under any other may stop.
    """
    payload = {
        "runner": runner,
        "tokens": list(tokens),
        "device_id": device_id,
        "lease_s": lease_s,
        "pid": os.getpid(),
    }
    valid: list[str] = wh.queue_operation("heartbeat", payload)
    return valid


def release(wh: Warehouse, runner: str, tokens: Sequence[str]) -> None:
    """Give leased jobs back untouched; no attempt is counted."""
    if tokens:
        wh.queue_operation("release", {"runner": runner, "tokens": list(tokens)})


def end_runner(wh: Warehouse, runner: str) -> None:
    """Say goodbye: the runner's row gets its end."""
    wh.queue_operation("end_runner", {"runner": runner})


def progress(wh: Warehouse, run_id: str) -> pa.Table:
    """Jobs of a run: ``kind, state, outcome, n_jobs, cost_left_s`` (seconds), ``not_before``."""
    return wh.query("queue/progress", run_id=run_id)


def failures_in_a_row(wh: Warehouse, run_id: str, since: datetime | None = None) -> tuple[int, str | None]:
    """How many of the newest attempts of a run failed with no success among them, and one of their outcomes.

    Args:
        wh: the warehouse.
        run_id: the run.
        since: only attempts that ended after this, such as the start of this invocation.
    """
    start = since or datetime(1970, 1, 1, tzinfo=UTC)
    row = wh.query("queue/failures_in_a_row", run_id=run_id, since=start).to_pylist()[0]
    return row["n_failures"], row["outcome"]


def cancel(wh: Warehouse, *, run_id: str | None = None, job_ids: Sequence[str] | None = None) -> int:
    """Cancel pending and leased jobs of a run, or those named; returns how many."""
    return _change(wh, "queue/cancel", run_id, job_ids, now=wh.now())


def find_jobs(wh: Warehouse, prefixes: Sequence[str]) -> list[str]:
    """Ids of jobs by their starts, as people copy them from a list.

    Raises:
        UsageError: no job, or several, have an id that starts so.
    """
    asked = sorted({text.lower() for text in prefixes})
    rows = wh.query("status/job_ids", prefixes=asked).to_pylist()
    for row in rows:
        if row["n"] != 1:
            raise UsageError(
                f"{row['n']} jobs have an id that starts with {row['prefix']!r}; `geko jobs list` shows them"
            )
    return [row["job_id"] for row in rows]


def retry(
    wh: Warehouse,
    *,
    run_id: str | None = None,
    job_ids: Sequence[str] | None = None,
    outcomes: Sequence[str] = (),
    attempts: int = 3,
) -> int:
    """Queue failed, dead and cancelled jobs again; returns how many. Quarantined devices get work again, too.

    Args:
        wh: the warehouse.
        run_id: those of a run.
        job_ids: those named.
        outcomes: done jobs with these outcomes as well, such as ``["unsupported"]``.
        attempts: how many more attempts each gets.
    """
    lift_quarantine(wh)
    return _change(wh, "queue/retry", run_id, job_ids, now=wh.now(), outcomes=list(outcomes), more=attempts)


@dataclass(frozen=True, slots=True)
class Usable:
    """Whether somebody could work for a run.

    Attributes:
        n_usable: its devices that get work, and others of the environment with a live runner.
        taken_out: a text for each of its devices that was quarantined.
    """

    n_usable: int
    taken_out: tuple[str, ...]


def usable_devices(wh: Warehouse, device_ids: Sequence[str]) -> Usable:
    """Look at the devices of a run."""
    row = wh.query("queue/usable_devices", device_ids=list(device_ids), now=wh.now()).to_pylist()[0]
    pairs = zip(row["ordinals"] or [], row["reasons"] or [], strict=True)
    return Usable(row["n_usable"], tuple(f"device {ordinal} was taken out: {why}" for ordinal, why in pairs))


def lift_quarantine(wh: Warehouse, device_ids: Sequence[str] | None = None) -> None:
    """Let quarantined devices work again: those named, or all."""
    params = {"device_ids": None if device_ids is None else list(device_ids)}
    wh.apply(Statement("queue/lift_quarantine", params), repeatable=True)


def list_jobs(wh: Warehouse, run_id: str | None = None, state: str | None = None, n: int = 1000) -> pa.Table:
    """Jobs with their state and last message, those that run or failed first."""
    return wh.query("queue/list_jobs", run_id=run_id, state=state, n=n)


def _change(
    wh: Warehouse, name: str, run_id: str | None, job_ids: Sequence[str] | None, **params: Any
) -> int:
    if run_id is None and job_ids is None:
        raise UsageError("name a run or jobs")
    params |= {"run_id": run_id, "job_ids": None if job_ids is None else list(job_ids)}
    (count,) = wh.apply(Statement(name, params), repeatable=True)
    return int(count.column(0)[0].as_py())


def _result_fields(result: JobResult) -> dict[str, Any]:
    return {name: value for name in _SENT if (value := getattr(result, name)) is not None}


def _typed(rows: pa.Table) -> pa.Table:
    """Rows without columns of no type."""
    schema = rows.schema
    if pa.null() not in schema.types:
        return rows
    return rows.select([field.name for field in schema if not pa.types.is_null(field.type)])
