"""Which runners and runs are there, and which of their processes are gone.

A runner that is killed says no goodbye. Where its process ran on this host its end can be seen, so that nobody has to
wait until its leases expire; the same goes for a run whose process was killed.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from geko.log import logger
from geko.warehouse.place import process_is_gone


class Presence:
    """Keeps table ``runner`` and the state of runs up to date.

    Args:
        rows: runs a statement with its inputs and parameters.
        every: time between two updates of ``last_seen``.
    """

    def __init__(self, rows: Callable[..., list[tuple[Any, ...]]], every: timedelta) -> None:
        self._rows = rows
        self._every = every
        self._host = socket.gethostname()
        # Process ids of the runners in the table, those that were active since, and when that was last written.
        self._known: dict[str, int | None] = {}
        self._active: dict[str, Mapping[str, Any]] = {}
        self._seen_at: datetime | None = None

    def forget(self) -> None:
        """The table may have changed."""
        self._known.clear()

    def note(self, payloads: Iterable[Mapping[str, Any]], now: datetime) -> None:
        """Note who asked for something: new processes at once, the others together every few seconds."""
        new = False
        for payload in payloads:
            name = payload["runner"]
            new = new or self._known.get(name, -1) != payload.get("pid")
            self._active[name] = payload
        last = self._seen_at
        if not new and last is not None and timedelta(0) <= now - last < self._every:
            return
        due = self._active
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
        self._known.update({name: item.get("pid") for name, item in due.items()})
        self._active = {}
        self._seen_at = now

    def end(self, runner: str, now: datetime) -> None:
        """A runner has ended."""
        self._rows("queue/end_runner", runner=runner, now=now)
        self._known.pop(runner, None)
        self._active.pop(runner, None)

    def lost_leases(self, now: datetime) -> list[str]:
        """Tokens of leases whose runner's process on this host is gone; the runners get their end."""
        tokens: list[str] = []
        for runner, pid, held in self._rows("queue/runner_leases", host=self._host):
            if process_is_gone(pid):
                logger.info(
                    "runner %s (process %d) is gone: %d job(s) go back to the queue", runner, pid, len(held)
                )
                self.end(runner, now)
                tokens += held
        return tokens

    def interrupt_runs(self, now: datetime) -> None:
        """Runs whose process on this host is gone are interrupted, whatever it said last."""
        runs = self._rows("run/running", host=self._host)
        gone = [run_id for run_id, pid in runs if process_is_gone(pid)]
        if gone:
            logger.info(
                "%d run(s) ended without a word: the same command goes on where it stopped", len(gone)
            )
            self._rows("run/interrupt", run_ids=gone, now=now)
