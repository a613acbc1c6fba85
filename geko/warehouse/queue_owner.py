"""The queue's operations inside the owner: many requests become one statement each.

What is decided stands in the statements of ``sql/queries/queue``; this module hands rows from one to the
next. It keeps only what it can read again (devices, the next ready jobs) and forgets that at every other
write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from geko.errors import UsageError, WarehouseError
from geko.log import logger
from geko.warehouse import deal
from geko.warehouse.engine import Connection, unregister
from geko.warehouse.evidence import Evidence, Verdict
from geko.warehouse.feed import FedStatements
from geko.warehouse.policy import QueuePolicy
from geko.warehouse.presence import Presence
from geko.warehouse.resources import statement_text

# Those that finish a job in queue/judge.
FINAL_OUTCOMES = frozenset({"ok", "verify_failed", "unsupported", "no_solution", "build_failed"})
HARDWARE_OUTCOMES = frozenset({"hang", "memory_fault", "crash", "timeout"})
OPERATIONS = frozenset({"claim", "complete", "exchange", "heartbeat", "release", "end_runner"})
_MOST_PLACES = 512
_TIME = pa.timestamp("us", "UTC")
# Columns of the input of queue/claim: the row as it was read, and as it is to be.
_CHANGED = pa.schema(
    [
        ("nr", pa.int64()),
        ("before", pa.string()),
        ("state", pa.string()),
        ("new_state", pa.string()),
        ("new_attempts", pa.int32()),
        ("new_token", pa.string()),
        ("runner", pa.string()),
        ("device_id", pa.string()),
        ("lease_until", _TIME),
        ("outcome", pa.string()),
        ("now", _TIME),
    ]
)


def lease_token(claim_token: str, at: int) -> str:
    """Token of the lease on the ``at``-th job of a claim; made so that a claim can be asked for again."""
    # The last digits are left for the ids of measurements.
    return f"{at:08x}{claim_token[8:]}"


class StaleLeaseError(WarehouseError):
    """A result was taken for the usual case and isn't; it is to be tried again."""


class QueueOwner:
    """Executes queue operations on the writing connection, inside its transaction."""

    def __init__(
        self, con: Connection, clock: Callable[[], datetime], policy: QueuePolicy | None = None
    ) -> None:
        # queue/claim finds its rows by their places as long as there are not more than this.
        con.execute(f"SET dynamic_or_filter_threshold = {_MOST_PLACES}")
        self._con = con
        self._clock = clock
        self.policy = policy or QueuePolicy.from_environment()
        self._presence = Presence(self._rows, timedelta(seconds=self.policy.seen_every_s))
        self._devices: dict[str, tuple[str, bool]] | None = None
        self._dealer = deal.Dealer(self._rows)
        self._fed = FedStatements(con)
        self._evidence = Evidence(self._fed, self._rows)
        # Jobs that change hands in this transaction: rows of _CHANGED.
        self._changed: list[tuple[Any, ...]] = []
        self._n_finished = 0
        # What results need of the jobs on lease, by token: saves reading it again.
        self._leased: dict[str, tuple[Any, ...]] = {}
        self._expired_at: datetime | None = None

    def forget(self) -> None:
        """Something else was written: what was read may have changed."""
        self._devices = None
        self._dealer.forget()
        self._leased.clear()

    def undone(self) -> None:
        """The transaction was undone."""
        self.forget()
        self._presence.forget()
        self._changed.clear()
        self._n_finished = 0
        self._fed.forget()
        self._evidence.forget()

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

    def look_soon(self) -> None:
        """Make `expire` due: a runner's connection has ended."""
        self._expired_at = None

    def expire(self) -> None:
        """Take back leases whose time is over or whose runner is gone; note runs that are gone."""
        now = self._clock()
        self._expired_at = now
        tokens = [row[0] for row in self._rows("queue/expired_leases", now=now)]
        if tokens:
            logger.info(
                "%d lease(s) expired: the runner is gone or stuck; the jobs go back to the queue", len(tokens)
            )
            self._give_back(tokens, "lost", "no sign of life from the runner", now)
        lost = self._presence.lost_leases(now)
        if lost:
            self._give_back(lost, "lost", "the runner's process is gone", now)
        self._presence.interrupt_runs(now)

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
            self._presence.end(payload["runner"], now)
            return None
        raise UsageError(f"unknown operation {op!r}")

    def _heartbeat(self, payload: Mapping[str, Any], now: datetime) -> list[str]:
        self._presence.note([payload], now)
        tokens = list(payload["tokens"])
        if not tokens:
            return []
        until = now + timedelta(seconds=payload.get("lease_s") or self.policy.lease_s)
        self._rows("queue/heartbeat", tokens=tokens, lease_until=until)
        valid = {row[2] for row in self._rows("queue/leased_tokens", tokens=tokens)}
        return [token for token in tokens if token in valid]

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
            For each request its claims; they hold once `settle` was called.
        """
        now = self._clock()
        if self._devices is None:
            self._devices = {row[0]: (row[1], row[2]) for row in self._rows("queue/devices")}
        self._presence.note(payloads, now)
        self._dealer.start()
        dealt: list[list[dict[str, Any]]] = []
        for payload in payloads:
            environment, quarantined = self._devices.get(payload["device_id"], (None, False))
            if environment is None:
                raise UsageError(
                    f"device {payload['device_id']} is not in table device: store it before claiming for it"
                )
            items = self._existing(payload) if payload.get("again") else []
            if not items and not quarantined:
                chosen = self._dealer.deal(environment, payload, now)
                items = [self._lease(payload, at, row, environment, now) for at, row in enumerate(chosen)]
            dealt.append(items)
        return dealt

    def settle(self) -> None:
        """Write which jobs changed hands.

        Raises:
            StaleLeaseError: if a result or a claim doesn't fit the table; the transaction is to be undone.
        """
        if not self._changed:
            return
        columns = zip(*self._changed, strict=True)
        changed = pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, _CHANGED, strict=True)],
            schema=_CHANGED,
        )
        n_finished, self._n_finished = self._n_finished, 0
        self._changed.clear()
        n_changed = self._fed.run("queue/claim", {"changed": changed})[0][0]
        if n_changed != changed.num_rows:
            if n_finished:
                raise StaleLeaseError("a lease is no longer what it was")
            raise WarehouseError("jobs changed while they were dealt out; claim again")

    def _lease(
        self,
        payload: Mapping[str, Any],
        at: int,
        row: tuple[Any, ...],
        environment: str,
        now: datetime,
    ) -> dict[str, Any]:
        token = lease_token(payload["token"], at)
        job_id, nr, attempts = row[deal.JOB_ID], row[deal.NR], row[deal.ATTEMPTS]
        self._leased[token] = (nr, attempts + 1, job_id, *row[deal.REFERENCES], environment)
        until = now + timedelta(seconds=payload.get("lease_s") or self.policy.lease_s)
        before = (nr, f"{job_id} pending {attempts}", "pending")
        after = ("leased", attempts + 1, token, payload["runner"], payload["device_id"], until, None, now)
        self._changed.append(before + after)
        return {
            "job_id": job_id,
            "attempt": attempts + 1,
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
            payloads: ``results`` (dicts with the fields of JobResult that are set) and optionally the tables
                ``measured`` and ``validated``, rows of all results in order, with ``n_measured`` and
                ``n_validated``, the number of rows of each result.

        Returns:
            For each request ``"accepted"`` or ``"late"`` per result.
        """
        now = self._clock()
        results = [item for payload in payloads for item in payload["results"]]
        if not results:
            return [[] for _ in payloads]
        verdicts = self._finish(results, now) or self._judge(results, now)
        self._evidence.store(payloads, results, verdicts, now)
        self._quarantine(results, now)
        answers = iter(verdict.answer for verdict in verdicts)
        return [[next(answers) for _ in payload["results"]] for payload in payloads]

    def _finish(self, results: Sequence[Mapping[str, Any]], now: datetime) -> list[Verdict]:
        """Accept results that all finish a job whose lease is known here; nothing if they don't.

        The usual case of queue/judge and queue/complete; `settle` finds out when it isn't.
        """
        leased = self._leased
        tokens = {item["token"] for item in results}
        if len(tokens) < len(results) or not all(
            item["outcome"] in FINAL_OUTCOMES and item["token"] in leased for item in results
        ):
            return []
        verdicts = []
        changed: list[tuple[Any, ...]] = []
        for r, item in enumerate(results):
            token = item["token"]
            nr, attempts, job_id, *references = leased[token]
            if item["job_id"] != job_id or item["attempt"] != attempts:
                return []
            before = (nr, f"{job_id} leased {attempts} {token}", "leased")
            after = ("done", attempts, None, None, None, None, item["outcome"], now)
            changed.append(before + after)
            run_id, problem_id, library_id, protocol_id, environment_id = references
            job = (job_id, run_id, problem_id, library_id, protocol_id, environment_id)
            verdicts.append(Verdict(r, *job, accepted=True, new_state="done", retry_ms=None))
        for token in tokens:
            del leased[token]
        self._changed += changed
        self._n_finished += len(results)
        return verdicts

    def _judge(self, results: Sequence[Mapping[str, Any]], now: datetime) -> list[Verdict]:
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
            elsewhere=[
                bool(devices.get(item["job_id"], set()) - {item.get("device_id")}) for item in results
            ],
            backoff_s=self.policy.backoff_s,
            max_backoff_s=self.policy.max_backoff_s,
        )
        verdicts = sorted((Verdict(*row) for row in judged), key=lambda verdict: verdict.r)
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
        self, results: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict], now: datetime
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

    def _quarantine(self, results: Sequence[Mapping[str, Any]], now: datetime) -> None:
        suspects = {
            item["device_id"]
            for item in results
            if item["outcome"] in HARDWARE_OUTCOMES and item.get("device_id")
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
