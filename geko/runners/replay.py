"""Answers jobs from stored outputs: what the parser of today makes of the runs of yesterday."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from geko.runners.base import RunContext, answer
from geko.runners.bench_task import Run, Task
from geko.runners.bench_yaml import bench_row
from geko.runners.hipblaslt_bench import KINDS, run_claims
from geko.runners.process import ProcessResult
from geko.warehouse.queue import Claim, JobResult

_MARK = re.compile(r"^# GEKO: round (\d+), arm (.*)$", re.M)


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished attempt.

    Attributes:
        outcome: of its process: ``ok``, ``crash``, ...
        output: everything that was printed; of a comparison, all its processes' with a mark between them.
        exit_code, message, command, started_at: as stored.
    """

    outcome: str
    output: str
    exit_code: int | None = 0
    message: str | None = None
    command: str = ""
    started_at: datetime | None = None


class ReplayRunner:
    """Runner that starts no program.

    Args:
        stored: gives the attempt of a claim, None where there is none (answered ``lost``).
    """

    harness: str = "replay"
    kinds: tuple[str, ...] = KINDS

    def __init__(self, stored: Callable[[Claim], Stored | None]) -> None:
        self._stored = stored

    def run(self, claims: Sequence[Claim], context: RunContext) -> list[JobResult]:
        """Answer claims; see :class:`geko.runners.base.Runner`."""
        results = []
        for claim in claims:
            found = self._stored(claim)
            if found is None:
                results.append(answer(claim, context, "lost", "no output of this job is stored"))
                continue
            results += run_claims([claim], context, _Playback(found), self.kinds)
        return results


class _Playback:
    """Gives the stored parts of one attempt, process by process."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._parts: dict[tuple[int, str], list[str]] = {}
        marks = list(_MARK.finditer(stored.output))
        for mark, after in zip(marks, [*marks[1:], None], strict=False):
            end = after.start() if after is not None else len(stored.output)
            self._parts.setdefault((int(mark[1]), mark[2]), []).append(stored.output[mark.end() + 1 : end])
        self._last = (int(marks[-1][1]), marks[-1][2]) if marks else None

    def __call__(self, task: Task, context: RunContext) -> Run:
        rows = tuple(bench_row(row) for row in task.rows)
        key = (task.round, task.spec.arms[task.arm].name or str(task.arm))
        outcome: str = self._stored.outcome
        message, exit_code = self._stored.message, self._stored.exit_code
        if not self._parts:
            text = self._stored.output
        else:
            parts = self._parts.get(key, [])
            text = parts.pop(0) if parts else ""
            # The stored status is that of the last process; those before it went on to the next.
            if key != self._last or parts:
                outcome, message, exit_code = "ok", None, 0
        started = self._stored.started_at or context.clock()
        result = ProcessResult(outcome, exit_code, text, started, 0.0, message, self._stored.command)
        return Run.of(result, rows)
