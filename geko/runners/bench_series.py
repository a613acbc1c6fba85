"""One job of several rows, arms or rounds: comparisons.

Every round runs all rows once per arm; the order of the arms alternates, so that drift of clocks and heat
falls on both alike. A row that ends its process is tried once more by itself, then left out; the others go
on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from geko.domain.identity import content_id
from geko.runners.base import JobSpec, RunContext, answer
from geko.runners.bench_rows import (
    Place,
    checked,
    measured,
    measurement_table,
    missing,
    unchecked,
    validation_table,
)
from geko.runners.bench_task import Execute, Run, Task
from geko.runners.process import cap_output
from geko.warehouse.queue import Claim, JobResult

#: So many processes in a row without any result: the device is at fault, not a row.
_FRUITLESS = 3
_BAD = ("crash", "hang", "memory_fault", "timeout", "lost")
#: Line between the outputs of a job's processes.
MARK = "# GEKO: round {round}, arm {arm}"


class _Ended(Exception):
    def __init__(self, outcome: str, message: str | None) -> None:
        self.outcome, self.message = outcome, message
        super().__init__(outcome)


def _other_solution(blocks: pa.Table, row: Mapping[str, Any]) -> str | None:
    """What to say when a row that names its solution got the time of another."""
    asked = row.get("solution_index") if row.get("algo_method") == 2 else None
    printed = blocks["solution_index"][0].as_py()
    if asked is None or printed is None or printed == asked:
        return None
    return f"solution {asked} was asked for, but {printed} was timed"


@dataclass(slots=True)
class _Series:
    """State of a running comparison."""

    claim: Claim
    spec: JobSpec
    context: RunContext
    execute: Execute
    block_id: str
    start: float = field(default_factory=time.monotonic)
    measurements: list[dict[str, Any]] = field(default_factory=list)
    validations: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    excluded: dict[int, str] = field(default_factory=dict)
    n_ok: int = 0
    fruitless: int = 0

    def left(self) -> float:
        """Seconds left of the job's limit, which counts from the start of its first process."""
        return self.claim.timeout_s - (time.monotonic() - self.start)

    def all_rounds(self) -> None:
        """Run everything."""
        for number in range(self.spec.rounds):
            passes = self._passes()
            if number % 2:
                # Rows turn around only where they are the arms.
                turn = -1 if self.spec.row_arms else 1
                passes = [(arm, rows[::turn]) for arm, rows in reversed(passes)]
            for arm, rows in passes:
                self._one_arm(number, arm, rows)

    def _passes(self) -> list[tuple[int, list[int]]]:
        """The processes of a round: an arm that gives the library, and the rows.

        With an arm of its own for every row, rows whose arms load the same library share a process and stand in it in
        their order, so that a candidate is timed right beside its reference.
        """
        every = list(range(len(self.spec.rows)))
        if not self.spec.row_arms:
            return [(arm, every) for arm in range(len(self.spec.arms))]
        by_library: dict[str | None, list[int]] = {}
        for at, arm in enumerate(self.spec.row_arms):
            by_library.setdefault(self.spec.arms[arm].libpath, []).append(at)
        return [(self.spec.row_arms[rows[0]], rows) for rows in by_library.values()]

    def _one_arm(self, number: int, arm: int, rows: Sequence[int]) -> None:
        todo = [at for at in rows if at not in self.excluded]
        tried: set[int] = set()
        while todo:
            # A suspect runs by itself the second time.
            batch = todo[:1] if todo[0] in tried else todo
            run = self._process(number, arm, batch)
            unexplained = self._take(run, number, arm, batch)
            if run.result.outcome == "released":
                raise _Ended("released", run.result.message)
            if run.result.outcome == "tool_missing":
                raise _Ended("tool_missing", run.result.message)
            self.fruitless = self.fruitless + 1 if len(unexplained) == len(batch) else 0
            if not unexplained:
                todo = todo[len(batch) :]
                continue
            suspect = unexplained[0]
            outcome = run.result.outcome if run.result.outcome in _BAD else "parse_error"
            message = run.result.message or "no result and no reason was printed"
            if self.fruitless >= _FRUITLESS and outcome in _BAD:
                self._fail(suspect, number, arm, outcome, message, run)
                raise _Ended(
                    outcome, f"{self.fruitless} processes in a row gave nothing, the last: {message}"
                )
            again = suspect not in tried and outcome not in ("hang", "timeout")
            rest = [at for at in todo if at not in batch] + [at for at in unexplained if at != suspect]
            if again:
                tried.add(suspect)
                todo = [suspect, *self._in_order(rest, rows)]
            else:
                self._fail(suspect, number, arm, outcome, message, run)
                todo = self._in_order([at for at in rest if at not in self.excluded], rows)

    @staticmethod
    def _in_order(some: Sequence[int], rows: Sequence[int]) -> list[int]:
        wanted = set(some)
        return [at for at in rows if at in wanted]

    def _process(self, number: int, arm: int, batch: Sequence[int]) -> Run:
        left = self.left()
        if left <= 0:
            raise _Ended("timeout", f"ended after {self.claim.timeout_s:g} s: the limit of the job")
        # The attempt is left out: a simulated job that is run again gives what it would have given.
        token = f"{self.claim.job_id}:{number}:{arm}"
        name = self.spec.arms[arm].name or str(arm)
        task = Task(
            spec=self.spec,
            arm=arm,
            round=number,
            rows=tuple(self.spec.rows[at] for at in batch),
            name=f"{self.claim.kind}-{self.claim.job_id[:8]}-{self.claim.attempt}-{number}-{name}",
            nonce=token if len(batch) == len(self.spec.rows) else f"{token}:{batch[0]}",
            timeout_s=left,
        )
        run = self.execute(task, self.context)
        self.runs.append(run)
        self.texts.append(f"{MARK.format(round=number, arm=name)}\n{run.result.output}")
        return run

    def _take(self, run: Run, number: int, arm: int, batch: Sequence[int]) -> list[int]:
        """Keep the results of a process; returns the rows that it doesn't explain."""
        unexplained = []
        for at, reading in zip(batch, run.reading.rows, strict=True):
            place = self._place(at, number, arm, run)
            if reading.blocks is not None and reading.complete:
                self.n_ok += 1
                if self.spec.check:
                    self.validations += checked(reading, place, self.context.solutions)
                    continue
                shared = None if reading.same_as is None else self.spec.problem_ids[batch[reading.same_as]]
                if (other := _other_solution(reading.blocks, self.spec.rows[at])) is not None:
                    self._fail(at, number, arm, "parse_error", other, run)
                    continue
                self.measurements += measured(reading, place, self.context.solutions, shared)
            elif reading.outcome is not None:
                self._fail(at, number, arm, reading.outcome, reading.message, run)
            else:
                unexplained.append(at)
        return unexplained

    def _fail(self, at: int, number: int, arm: int, outcome: str, message: str | None, run: Run) -> None:
        """A row without a result in this arm can't make pairs any more: it is left out from here on."""
        place = self._place(at, number, arm, run)
        if self.spec.check:
            self.validations.append(unchecked(outcome, message, place))
        else:
            self.measurements.append(missing(outcome, message, place))
        self.excluded[at] = outcome
        if self.spec.row_arms and self.spec.row_arms[at] == 0:
            # Candidates without their reference make no pairs.
            same = self.spec.problem_ids[at]
            self.excluded |= {
                other: outcome for other, name in enumerate(self.spec.problem_ids) if name == same
            }

    def _place(self, at: int, number: int, arm: int, run: Run) -> Place:
        return Place(
            self.spec.problem_ids[at],
            self.spec.rows[at],
            self.spec.arms[self.spec.row_arms[at] if self.spec.row_arms else arm],
            run.result.started_at,
            self.block_id,
            number,
        )


def answer_series(claim: Claim, spec: JobSpec, context: RunContext, execute: Execute) -> JobResult:
    """Run a job of several rows, arms or rounds.

    All its measurements share one ``block_id``, which is of this lease only: a second attempt makes a
    block of its own. The job is ``ok`` when any row has a result; rows without one have a row that says why.

    Args:
        claim: the claim.
        spec: its job.
        context: who runs it where.
        execute: runs one process.
    """
    series = _Series(claim, spec, context, execute, content_id("block", claim.token))
    outcome, message = "ok", None
    try:
        series.all_rounds()
    except _Ended as ended:
        outcome, message = ended.outcome, ended.message
    failed = [row for row in series.validations if row["outcome"] == "failed"]
    if outcome == "ok" and series.excluded:
        n_rows, kinds = len(spec.rows), sorted(set(series.excluded.values()))
        message = f"{len(series.excluded)} of {n_rows} problems have no result: {', '.join(kinds)}"
        if len(series.excluded) == n_rows and series.n_ok == 0:
            outcome = next(iter(series.excluded.values()))
    if outcome == "ok" and failed:
        outcome, message = "verify_failed", f"{len(failed)} of {len(series.validations)} checks failed"
    if outcome == "released":
        return answer(claim, context, outcome, message)
    last = series.runs[-1].result if series.runs else None
    commands = dict.fromkeys(run.result.command for run in series.runs)
    return answer(
        claim, context, outcome, message,
        command="\n".join(commands) or None, exit_code=None if last is None else last.exit_code,
        started_at=series.runs[0].result.started_at if series.runs else None,
        output=cap_output("\n".join(series.texts)) if series.texts else None,
        measurements=measurement_table(series.measurements), validations=validation_table(series.validations),
    )  # fmt: skip
