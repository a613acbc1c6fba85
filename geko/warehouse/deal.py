"""Which ready job goes to which claim.

The order stands in ``queue/ready``. Looking at a hundred thousand jobs for every claim would cost more than
the claim, so the first few hundred are kept for a moment. They are only a copy: it is thrown away at every
write that is not a claim or a finished job, and a job that is no longer pending in the table can't be leased.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

WINDOW = 512
# Back-offs end with time, which nothing announces.
WINDOW_AGE = timedelta(seconds=5)

# Columns of queue/ready.
JOB_ID, KIND, BATCH_KEY, COST_S, ALONE, ATTEMPTS, TIMEOUT_S, SPEC = range(8)
# Then come run, problem, library and protocol, and the place of the row in the table.
REFERENCES = slice(8, 12)
# A device that has to let the job pass.
AVOID = 12
# It is the last column.
NR = -1

ReadyRow = tuple[Any, ...]
Rows = Callable[..., list[ReadyRow]]


@dataclass(slots=True)
class _Window:
    """Ready jobs in order; those from ``at`` on are not dealt out yet, apart from ``taken``."""

    read_at: datetime
    rows: list[ReadyRow]
    n_asked: int
    at: int = 0
    taken: set[str] = field(default_factory=set)

    @property
    def is_all(self) -> bool:
        """Whether there was no more than this."""
        return len(self.rows) < self.n_asked

    def first(self, device_id: str | None) -> ReadyRow | None:
        while self.at < len(self.rows) and self.rows[self.at][JOB_ID] in self.taken:
            self.at += 1
        for at in range(self.at, len(self.rows)):
            row = self.rows[at]
            if row[JOB_ID] not in self.taken and (row[AVOID] is None or row[AVOID] != device_id):
                return row
        return None

    def mates(self, batch_key: str) -> list[ReadyRow]:
        return [
            row
            for row in self.rows[self.at :]
            if row[BATCH_KEY] == batch_key and not row[ALONE] and row[JOB_ID] not in self.taken
        ]


class Dealer:
    """Deals ready jobs out to claims.

    Args:
        rows: runs a statement with parameters.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._windows: dict[tuple[str, tuple[str, ...] | None], _Window] = {}
        # Dealt out, but still pending in the table until the transaction leases them.
        self._in_flight: set[str] = set()

    def start(self) -> None:
        """A new transaction begins; what was dealt out before is leased in the table now."""
        self._in_flight.clear()

    def forget(self) -> None:
        """The table may have changed."""
        self._windows.clear()

    def deal(self, environment_id: str, claim: Mapping[str, Any], now: datetime) -> list[ReadyRow]:
        """Choose the jobs of one claim: the first ready one and, up to the limit, others of its batch key.

        Args:
            environment_id: of the claiming device.
            claim: ``device_id``, ``kinds``, ``limit``, ``max_cost_s``.
            now: time by the owner's clock.
        """
        kinds, device = claim.get("kinds"), claim.get("device_id")
        key = (environment_id, None if kinds is None else tuple(kinds))
        filters = {"environment_id": environment_id, "kinds": kinds, "now": now}
        window = self._windows.get(key)
        first = None
        if window is not None and timedelta(0) <= now - window.read_at < WINDOW_AGE:
            first = window.first(device)
        if first is None and not (window is not None and window.read_at == now and window.is_all):
            n = WINDOW + len(self._in_flight)
            rows = self._rows("queue/ready", batch_key=None, n=n, **filters)
            window = self._windows[key] = _Window(now, rows, n, taken=set(self._in_flight))
            first = window.first(device)
        if first is None or window is None:
            return []
        chosen = [first]
        limit = claim.get("limit") or 1
        if limit > 1 and not first[ALONE]:
            mates = window.mates(first[BATCH_KEY])
            if len(mates) < limit - 1 and not window.is_all:
                n = limit + len(self._in_flight)
                more = self._rows("queue/ready", batch_key=first[BATCH_KEY], n=n, **filters)
                mates = [row for row in more if row[JOB_ID] not in self._in_flight]
            mates = [row for row in mates if row is not first and row[JOB_ID] != first[JOB_ID]]
            chosen += _within(mates, limit - 1, claim.get("max_cost_s"), first[COST_S])
        dealt = {row[JOB_ID] for row in chosen}
        self._in_flight |= dealt
        for window in self._windows.values():
            window.taken |= dealt
        return chosen


def _within(mates: Sequence[ReadyRow], n: int, budget_s: float | None, spent_s: float) -> list[ReadyRow]:
    chosen: list[ReadyRow] = []
    for row in mates:
        if len(chosen) >= n:
            break
        if budget_s is None or spent_s + row[COST_S] <= budget_s:
            spent_s += row[COST_S]
            chosen.append(row)
    return chosen
