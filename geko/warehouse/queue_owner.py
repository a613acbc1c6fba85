"""The queue's operations inside the owner: many requests become one statement each.

What is decided stands in the statements of ``sql/queries/queue``; this module hands rows from one to the
next. It keeps only what it can read again (devices, the next ready jobs) and forgets that at every other
write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.identity import content_id
from geko.errors import UsageError, WarehouseError
from geko.log import logger
from geko.warehouse import deal
from geko.warehouse.engine import Connection, unregister
from geko.warehouse.resources import statement_text

# Those that finish a job in queue/judge.
FINAL_OUTCOMES = frozenset({"ok", "verify_failed", "unsupported", "no_solution", "build_failed"})
HARDWARE_OUTCOMES = frozenset({"hang", "memory_fault", "crash", "timeout"})
OPERATIONS = frozenset({"claim", "complete", "exchange", "heartbeat", "release", "end_runner"})
_RESULT_FIELDS: dict[str, pa.DataType] = {
    "job_id": pa.string(),
    "attempt": pa.int32(),
    "token": pa.string(),
    "runner": pa.string(),
    "device_id": pa.string(),
    "outcome": pa.string(),
    "message": pa.string(),
    "command": pa.string(),
    "exit_code": pa.int32(),
    "started_at": pa.timestamp("us", "UTC"),
}
_LEASE_FIELDS = ("job_ids", "tokens", "runners", "device_ids", "lease_until")


@dataclass(slots=True)
class _Verdict:
    """A row of queue/judge, and what is done with the result."""

    r: int
    job_id: str | None
    run_id: str | None
    problem_id: str | None
    library_id: str | None
    protocol_id: str | None
    environment_id: str | None
    accepted: bool
    new_state: str
    retry_ms: int | None
    stored: bool = True
    answer: str = "accepted"


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Numbers of the queue.

    Attributes:
        lease_s: seconds a lease lasts without a heartbeat.
        backoff_s: seconds before the second attempt; doubled each time up to ``max_backoff_s``.
        quarantine_after: hardware-looking failures in a row after which a device gets no more work.
        expire_every_s: seconds between looks for expired leases.
        seen_every_s: seconds between updates of a runner's ``last_seen``.
    """

    lease_s: float = 60.0
    backoff_s: float = 1.0
    max_backoff_s: float = 60.0
    quarantine_after: int = 5
    expire_every_s: float = 1.0
    seen_every_s: float = 5.0


def lease_token(claim_token: str, at: int) -> str:
    """Token of the lease on the ``at``-th job of a claim; made so that a claim can be asked for again."""
    return content_id("lease", f"{claim_token}:{at}")


class StaleLeaseError(WarehouseError):
    """A result was taken for the usual case and isn't; it is to be tried again."""


class QueueOwner:
    """Executes queue operations on the writing connection, inside its transaction."""

    def __init__(
        self, con: Connection, clock: Callable[[], datetime], policy: QueuePolicy | None = None
    ) -> None:
        self._con = con
        self._clock = clock
        self.policy = policy or QueuePolicy()
        self._devices: dict[str, tuple[str, bool]] | None = None
        self._dealer = deal.Dealer(self._rows)
        # What results need of the jobs on lease, by token: saves reading it again.
        self._leased: dict[str, tuple[Any, ...]] = {}
        self._expired_at: datetime | None = None
        self._seen: dict[str, datetime] = {}

    def forget(self) -> None:
        """Something else was written, or a transaction was undone."""
        self._devices = None
        self._dealer.forget()
        self._leased.clear()
        self._seen.clear()

    def _rows(
        self, name: str, inputs: Mapping[str, pa.Table] | None = None, **params: Any
    ) -> list[tuple[Any, ...]]:
        con = self._con
        for view, table in (inputs or {}).items():
            con.register(view, table)
        try:
            return con.execute(statement_text(name), params or None).fetchall()
        finally:
            unregister(con, inputs or ())

    # Leases
    # ---------------------------------------------------------------------------------------------------

    def expiry_is_due(self) -> bool:
        """Whether it is time to look for expired leases."""
        last = self._expired_at
        now = self._clock()
        return last is None or now < last or now - last >= timedelta(seconds=self.policy.expire_every_s)

    def expire(self) -> None:
        """Take back leases whose time is over."""
        now = self._clock()
        self._expired_at = now
        tokens = [row[0] for row in self._rows("queue/expired_leases", now=now)]
        if tokens:
            logger.info(
                "%d lease(s) expired: the runner is gone or stuck; the jobs go back to the queue", len(tokens)
            )
            self._give_back(tokens, "lost", "no sign of life from the runner", now)

    def _give_back(self, tokens: Sequence[str], outcome: str, message: str, now: datetime) -> None:
        what: dict[str, Any] = {"tokens": list(tokens), "outcome": outcome, "now": now}
        self._rows("queue/add_returned", message=message, **what)
        self._rows("queue/return_leases", counts=outcome == "lost", **what)
        self._dealer.forget()

    def single(self, op: str, payload: Mapping[str, Any]) -> Any:
        """Operations that need no coalescing."""
        now = self._clock()
        if op == "heartbeat":
            return self._heartbeat(payload, now)
        if op == "release":
            self._give_back(payload["tokens"], "released", "given back", now)
            return None
        if op == "end_runner":
            self._rows("queue/end_runner", runner=payload["runner"], now=now)
            self._seen.pop(payload["runner"], None)
            return None
        raise UsageError(f"unknown operation {op!r}")

    def _heartbeat(self, payload: Mapping[str, Any], now: datetime) -> list[str]:
        self._note_runners([payload], now)
        tokens = list(payload["tokens"])
        if not tokens:
            return []
        until = now + timedelta(seconds=payload.get("lease_s") or self.policy.lease_s)
        self._rows("queue/heartbeat", tokens=tokens, lease_until=until)
        valid = {row[2] for row in self._rows("queue/leased_tokens", tokens=tokens)}
        return [token for token in tokens if token in valid]

    def _note_runners(self, payloads: Iterable[Mapping[str, Any]], now: datetime) -> None:
        every = timedelta(seconds=self.policy.seen_every_s)
        due = {
            payload["runner"]: payload
            for payload in payloads
            if payload["runner"] not in self._seen or now - self._seen[payload["runner"]] >= every
        }
        if not due:
            return
        seen = pa.table(
            {
                "runner": pa.array(list(due), pa.string()),
                "pid": pa.array([item.get("pid") for item in due.values()], pa.int32()),
                "host": pa.array([item.get("host") for item in due.values()], pa.string()),
                "device_id": pa.array([item.get("device_id") for item in due.values()], pa.string()),
                "ordinal": pa.array([item.get("ordinal") for item in due.values()], pa.int32()),
            }
        )
        self._rows("queue/seen_runners", {"seen": seen}, now=now)
        self._seen.update(dict.fromkeys(due, now))

    # Claims
    # ---------------------------------------------------------------------------------------------------

    def claim(self, payloads: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Deal out jobs to several requests at once.

        Args:
            payloads: ``runner``, ``device_id``, ``token``, and optionally ``kinds``, ``limit``,
                ``max_cost_s`` (of
                all jobs of the claim together; the first is always given), ``lease_s``, ``again`` (the
                answer got lost).

        Returns:
            For each request its claims.
        """
        now = self._clock()
        if self._devices is None:
            self._devices = {row[0]: (row[1], row[2]) for row in self._rows("queue/devices")}
        self._note_runners(payloads, now)
        self._dealer.start()
        dealt: list[list[dict[str, Any]]] = []
        leases: dict[str, list[Any]] = {name: [] for name in _LEASE_FIELDS}
        for payload in payloads:
            environment, quarantined = self._devices.get(payload["device_id"], (None, False))
            if environment is None:
                raise UsageError(
                    f"device {payload['device_id']} is not in table device: store it before claiming for it"
                )
            items = self._existing(payload) if payload.get("again") else []
            if not items and not quarantined:
                chosen = self._dealer.deal(environment, payload, now)
                items = [
                    self._lease(payload, at, row, environment, leases, now) for at, row in enumerate(chosen)
                ]
            dealt.append(items)
        if leases["job_ids"]:
            n_leased = self._rows("queue/claim", None, now=now, **leases)[0][0]
            if n_leased != len(leases["job_ids"]):
                raise WarehouseError("jobs changed while they were dealt out; claim again")
        return dealt

    def _lease(
        self,
        payload: Mapping[str, Any],
        at: int,
        row: tuple[Any, ...],
        environment: str,
        leases: dict[str, list[Any]],
        now: datetime,
    ) -> dict[str, Any]:
        token = lease_token(payload["token"], at)
        self._leased[token] = (row[deal.JOB_ID], *row[deal.REFERENCES], environment)
        leases["job_ids"].append(row[deal.JOB_ID])
        leases["tokens"].append(token)
        leases["runners"].append(payload["runner"])
        leases["device_ids"].append(payload["device_id"])
        leases["lease_until"].append(now + timedelta(seconds=payload.get("lease_s") or self.policy.lease_s))
        return {
            "job_id": row[deal.JOB_ID],
            "attempt": row[deal.ATTEMPTS] + 1,
            "token": token,
            "kind": row[deal.KIND],
            "batch_key": row[deal.BATCH_KEY],
            "timeout_s": row[deal.TIMEOUT_S],
            "spec": row[deal.SPEC],
        }

    def _existing(self, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
        tokens = [lease_token(payload["token"], at) for at in range(payload.get("limit") or 1)]
        names = ("job_id", "attempt", "token", "kind", "batch_key", "timeout_s", "spec")
        return [
            dict(zip(names, row, strict=True)) for row in self._rows("queue/leased_tokens", tokens=tokens)
        ]

    # Results
    # --------------------------------------------------------------------------------------------------

    def complete(self, payloads: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        """Store the results of several requests at once.

        Args:
            payloads: ``results`` (dicts with the fields of JobResult) and optionally the tables ``measured``
                and
                ``validated`` whose column ``r`` is the position in ``results`` and ``ordinal`` that among
                its rows.

        Returns:
            For each request ``"accepted"`` or ``"late"`` per result.
        """
        now = self._clock()
        results = [item for payload in payloads for item in payload["results"]]
        if not results:
            return [[] for _ in payloads]
        verdicts = self._finish(results, now) or self._judge(results, now)
        self._store_attempts(results, verdicts, now)
        for view, name in (("measured", "queue/add_measurements"), ("validated", "queue/add_validations")):
            rows = _with_job_columns(payloads, view, results, verdicts)
            if rows is not None and rows.num_rows:
                self._rows(name, {view: rows}, now=now)
        self._quarantine(results, now)
        answers = iter(verdict.answer for verdict in verdicts)
        return [[next(answers) for _ in payload["results"]] for payload in payloads]

    def _finish(self, results: Sequence[Mapping[str, Any]], now: datetime) -> list[_Verdict]:
        """Accept results that all finish a job whose lease is known here; nothing if they don't."""
        tokens = [item["token"] for item in results]
        usual = all(item["outcome"] in FINAL_OUTCOMES and item["token"] in self._leased for item in results)
        if not usual or len(set(tokens)) < len(tokens):
            return []
        n_finished = self._rows(
            "queue/finish",
            job_ids=[item["job_id"] for item in results],
            attempts=[item["attempt"] for item in results],
            tokens=tokens,
            outcomes=[item["outcome"] for item in results],
            now=now,
        )[0][0]
        if n_finished != len(results):
            # The transaction is undone and each request judged by itself.
            self.forget()
            raise StaleLeaseError("a lease is no longer what it was")
        verdicts = []
        for r, token in enumerate(tokens):
            job_id, run_id, problem_id, library_id, protocol_id, environment_id = self._leased.pop(token)
            job = (job_id, run_id, problem_id, library_id, protocol_id, environment_id)
            verdicts.append(_Verdict(r, *job, accepted=True, new_state="done", retry_ms=None))
        return verdicts

    def _judge(self, results: Sequence[Mapping[str, Any]], now: datetime) -> list[_Verdict]:
        suspects = sorted({item["job_id"] for item in results if item["outcome"] in HARDWARE_OUTCOMES})
        failures = self._rows("queue/hardware_failures", job_ids=suspects) if suspects else []
        devices: dict[str, set[str]] = {}
        for job_id, device_id in failures:
            devices.setdefault(job_id, set()).add(device_id)
        judged = self._rows(
            "queue/judge",
            r=list(range(len(results))),
            job_ids=[item["job_id"] for item in results],
            attempts=[item["attempt"] for item in results],
            tokens=[item["token"] for item in results],
            outcomes=[item["outcome"] for item in results],
            elsewhere=[bool(devices.get(item["job_id"], set()) - {item["device_id"]}) for item in results],
            backoff_s=self.policy.backoff_s,
            max_backoff_s=self.policy.max_backoff_s,
        )
        verdicts = sorted((_Verdict(*row) for row in judged), key=lambda verdict: verdict.r)
        stale = [results[verdict.r]["token"] for verdict in verdicts if not verdict.accepted]
        known: dict[tuple[Any, ...], bool] = {}
        if stale:
            known = {row[:4]: row[4] for row in self._rows("queue/known_attempts", tokens=stale)}
        seen: dict[tuple[str, int, str], str] = {}
        for verdict in verdicts:
            item = results[verdict.r]
            key = (item["job_id"], item["attempt"], item["token"])
            if key in seen:
                verdict.answer, verdict.accepted, verdict.stored = seen[key], False, False
            elif (late := known.get((*key, item["outcome"]))) is not None:
                verdict.answer, verdict.stored = ("late" if late else "accepted"), False
            else:
                verdict.answer = "accepted" if verdict.accepted else "late"
                verdict.stored = verdict.job_id is not None
                if not verdict.stored:
                    logger.warning(
                        "dropped: a result for job %s, which is not in the warehouse", item["job_id"]
                    )
            seen[key] = verdict.answer
        self._apply_verdicts(results, verdicts, now)
        return verdicts

    def _apply_verdicts(
        self, results: Sequence[Mapping[str, Any]], verdicts: Sequence[_Verdict], now: datetime
    ) -> None:
        accepted = [verdict for verdict in verdicts if verdict.accepted]
        if accepted:
            self._rows(
                "queue/complete",
                job_ids=[verdict.job_id for verdict in accepted],
                new_states=[verdict.new_state for verdict in accepted],
                outcomes=[results[verdict.r]["outcome"] for verdict in accepted],
                retry_ms=[verdict.retry_ms for verdict in accepted],
                now=now,
            )
            if any(verdict.new_state == "pending" for verdict in accepted):
                self._dealer.forget()

    def _store_attempts(
        self, results: Sequence[Mapping[str, Any]], verdicts: Sequence[_Verdict], now: datetime
    ) -> None:
        stored = [verdict for verdict in verdicts if verdict.stored]
        if not stored:
            return
        items = [results[verdict.r] for verdict in stored]
        columns = {
            name: pa.array([item.get(name) for item in items], kind) for name, kind in _RESULT_FIELDS.items()
        }
        columns["output_id"] = pa.array(self._store_outputs(items), pa.string())
        columns["late"] = pa.array([not verdict.accepted for verdict in stored])
        self._rows("queue/add_attempts", {"attempted": pa.table(columns)}, now=now)

    def _store_outputs(self, results: Sequence[Mapping[str, Any]]) -> list[str | None]:
        ids: list[str | None] = []
        found: dict[str, tuple[str, int, str]] = {}
        for item in results:
            text = item.get("output")
            if text is None:
                ids.append(None)
                continue
            data = text.encode()
            sha256 = hashlib.sha256(data).hexdigest()
            output_id = content_id("output", sha256)
            ids.append(output_id)
            found[output_id] = (sha256, len(data), text)
        if found:
            columns = list(zip(*found.values(), strict=True))
            names = ("sha256", "n_bytes", "texts")
            self._rows(
                "queue/add_outputs",
                None,
                output_ids=list(found),
                **{name: list(column) for name, column in zip(names, columns, strict=True)},
            )
        return ids

    def _quarantine(self, results: Sequence[Mapping[str, Any]], now: datetime) -> None:
        suspects = {
            item["device_id"]
            for item in results
            if item["outcome"] in HARDWARE_OUTCOMES and item["device_id"]
        }
        if not suspects:
            return
        n = self.policy.quarantine_after
        failing = self._rows("queue/failing_devices", device_ids=sorted(suspects), n=n)
        for device_id, outcome, name in failing:
            reason = f"{n} failures in a row, the last: {outcome}"
            logger.warning(
                "device %s gets no more work: %s (`geko jobs retry --run RUN` lifts it)", name, reason
            )
            self._rows("queue/quarantine", device_ids=[device_id], now=now, reason=reason)
            tokens = [row[0] for row in self._rows("queue/device_leases", device_ids=[device_id])]
            if tokens:
                self._give_back(tokens, "released", "its device was quarantined", now)
            self._devices = None
            # Its failures say nothing about jobs that failed nowhere else.
            self._rows("queue/forgive", device_ids=[device_id], now=now)
            self._dealer.forget()


def _with_job_columns(
    payloads: Sequence[Mapping[str, Any]],
    view: str,
    results: Sequence[Mapping[str, Any]],
    verdicts: Sequence[_Verdict],
) -> pa.Table | None:
    """The rows of all requests, with the columns that follow from their results and jobs."""
    parts, base = [], 0
    for payload in payloads:
        part = payload.get(view)
        if part is not None and part.num_rows:
            position = part.schema.get_field_index("r")
            if base:
                shifted = pc.add(part.column(position), pa.scalar(base, pa.int32()))
                part = part.set_column(position, "r", shifted)
            parts.append(part)
        base += len(payload["results"])
    if not parts:
        return None
    table = parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="permissive")
    optional = {
        "problem_id": pa.string(),
        "library_id": pa.string(),
        "measured_at": pa.timestamp("us", "UTC"),
    }
    if view == "validated":
        optional["extra"] = pa.string()
    for name, kind in optional.items():
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    text = pa.string()
    of_result = {
        "job_id": pa.array([verdict.job_id for verdict in verdicts], text),
        "run_id": pa.array([verdict.run_id for verdict in verdicts], text),
        "job_problem_id": pa.array([verdict.problem_id for verdict in verdicts], text),
        "job_library_id": pa.array([verdict.library_id for verdict in verdicts], text),
        "protocol_id": pa.array([verdict.protocol_id for verdict in verdicts], text),
        "environment_id": pa.array([verdict.environment_id for verdict in verdicts], text),
        "late": pa.array([not verdict.accepted for verdict in verdicts], pa.bool_()),
        "attempt": pa.array([item["attempt"] for item in results], pa.int32()),
        "device_id": pa.array([item["device_id"] for item in results], text),
        "token": pa.array([item["token"] for item in results], text),
    }
    if not all(verdict.stored for verdict in verdicts):
        stored = pa.array([verdict.stored for verdict in verdicts]).take(table["r"].combine_chunks())
        table = table.filter(stored)
    owned = [name for name in table.column_names if name in of_result]
    if owned:
        table = table.drop_columns(owned)
    rows = table["r"].combine_chunks()
    for name, values in of_result.items():
        table = table.append_column(name, values.take(rows))
    return table.drop_columns("r").combine_chunks()
