"""The one thread that writes: it takes all requests that wait and commits them together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from geko.log import logger
from geko.warehouse.engine import Connection, run_step, translated
from geko.warehouse.queue_owner import QueueOwner, StaleLeaseError
from geko.warehouse.steps import Closing, Step

TICK_S = 1.0
# A commit costs the same for one request and for thirty, so that it is worth waiting for those who will ask in a moment:
# the runners that asked within RECENT_S, for at most GATHER_S.
GATHER_S = 0.008
RECENT_S = 0.1
# Runners that ask for nothing that long leave the machine to others.
QUIET_S = 5.0
GATHERED = frozenset({"claim", "complete", "exchange"})


@dataclass(slots=True)
class Request:
    """Something to be written.

    Attributes:
        op: ``apply``, ``run``, ``look`` or one of `geko.warehouse.queue_owner.OPERATIONS`.
        payload: steps, a callable that gets the connection, or the arguments of the queue operation.
        answer: gets the result or the error, after the commit.
    """

    op: str
    payload: Any
    answer: Callable[[Any, BaseException | None], None]


class Writer:
    """Writing thread with group commit.

    Args:
        con: a connection that nothing else uses.
        clock: time of leases.
        busy: is told when runners begin to ask for work, and when they have stopped for a while.
    """

    def __init__(
        self, con: Connection, clock: Callable[[], datetime], busy: Callable[[bool], None] = lambda busy: None
    ) -> None:
        self._con = con
        self.queue = QueueOwner(con, clock)
        self._busy = busy
        self._waiting: list[Request] = []
        self._changed = threading.Condition()
        self._stopping = False
        # When each runner asked last, when any of them did, and how many are waited for now.
        self._asked: dict[str, float] = {}
        self._asked_at = -QUIET_S
        self._wanted = 1
        self._thread = threading.Thread(target=self._loop, name="geko-writer", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        """Queue a request; its answer comes from the writing thread."""
        with self._changed:
            if not self._stopping:
                self._waiting.append(request)
                if len(self._waiting) in (1, self._wanted) or request.op not in GATHERED:
                    self._changed.notify()
                return
        request.answer(None, Closing("the owner of the warehouse is closing it"))

    def call(self, op: str, payload: Any) -> Any:
        """Queue a request and wait for its result."""
        done = threading.Event()
        box: list[Any] = [None, None]

        def answer(result: Any, error: BaseException | None) -> None:
            box[:] = result, error
            done.set()

        self.submit(Request(op, payload, answer))
        done.wait()
        if box[1] is not None:
            raise box[1]
        return box[0]

    def look(self) -> None:
        """Look for runners and runs that are gone; returns when that is done."""
        self.queue.look_soon()
        self.call("look", None)

    def look_soon(self) -> None:
        """Look for them without waiting."""
        self.queue.look_soon()
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        """Execute what was accepted, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _loop(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._stopping:
                    self._changed.wait(TICK_S)
                self._gather()
                batch, self._waiting = self._waiting, []
                if not batch and self._stopping:
                    return
            try:
                self._busy(time.monotonic() - self._asked_at < QUIET_S)
                self._cycle(batch)
            except Exception:  # the thread must survive: everybody waits for it
                logger.exception("the writing thread failed; it goes on")

    def _gather(self) -> None:
        """Wait a moment for runners that are likely to ask now; the lock is held."""
        self._wanted = len(self._asked)
        start = now = time.monotonic()
        while (
            0 < len(self._waiting) < self._wanted
            and now - start < GATHER_S
            and not self._stopping
            and all(request.op in GATHERED for request in self._waiting)
        ):
            self._changed.wait(start + GATHER_S - now)
            now = time.monotonic()
        self._wanted = 1
        for request in self._waiting:
            if request.op in GATHERED:
                self._asked[_runner(request.payload)] = self._asked_at = now
        self._asked = {runner: at for runner, at in self._asked.items() if now - at < RECENT_S}

    def _cycle(self, batch: list[Request]) -> None:
        if not batch:
            if self.queue.expiry_is_due():
                self._transaction([])
            return
        try:
            results = self._transaction(batch)
        except StaleLeaseError:
            # Nothing is remembered now, so that the second time every lease is read.
            for request in batch:
                self._cycle([request])
            return
        except Exception as exc:
            if len(batch) == 1:
                batch[0].answer(None, exc)
                return
            # There are no savepoints: find the culprit by running each request by itself.
            for request in batch:
                self._cycle([request])
            return
        for request, result in zip(batch, results, strict=True):
            error = result if isinstance(result, BaseException) else None
            request.answer(None if error else result, error)

    def _transaction(self, batch: Sequence[Request]) -> list[Any]:
        con = self._con
        con.execute("BEGIN TRANSACTION")
        try:
            results = self._execute(batch)
            con.execute("COMMIT")
        except duckdb.Error as exc:
            self._roll_back()
            raise translated(exc, "transaction") from exc
        except BaseException:
            self._roll_back()
            raise
        return results

    def _roll_back(self) -> None:
        try:
            self._con.execute("ROLLBACK")
        except duckdb.Error:
            logger.debug("nothing to roll back", exc_info=True)
        self.queue.undone()

    def _execute(self, batch: Sequence[Request]) -> list[Any]:
        """Results first and claims last, so that a claim sees the newest state; the rest in order."""
        results: list[Any] = [None] * len(batch)
        by_op: dict[str, list[int]] = {}
        for at, request in enumerate(batch):
            by_op.setdefault(request.op, []).append(at)
        if self.queue.expiry_is_due():
            self.queue.expire()
        exchanges = by_op.pop("exchange", [])
        completes, claims = by_op.pop("complete", []), by_op.pop("claim", [])
        self._together(batch, results, sorted(completes + exchanges), self.queue.complete)
        answers = {at: results[at] for at in exchanges}
        if by_op:
            self.queue.settle()
        for at in sorted(at for group in by_op.values() for at in group):
            request = batch[at]
            if request.op == "apply":
                results[at] = self._steps(request.payload)
            elif request.op == "look":
                pass  # it was looked above
            elif request.op == "run":
                results[at] = request.payload(self._con)
                self.queue.forget()
            else:
                results[at] = self.queue.single(request.op, request.payload)
        self._together(batch, results, sorted(claims + exchanges), self.queue.claim)
        self.queue.settle()
        for at in exchanges:
            results[at] = {"answers": answers[at], "claims": results[at]}
        return results

    def _together(
        self,
        batch: Sequence[Request],
        results: list[Any],
        which: list[int],
        run: Callable[[list[Any]], list[Any]],
    ) -> None:
        if which:
            for at, result in zip(which, run([batch[at].payload for at in which]), strict=True):
                results[at] = result

    def _steps(self, steps: Sequence[Step]) -> list[Any]:
        self.queue.forget()
        return [run_step(self._con, step) for step in steps]


def _runner(payload: Mapping[str, Any]) -> str:
    results = payload.get("results")
    return str(payload["runner"] if "runner" in payload else results[0]["runner"] if results else "")
