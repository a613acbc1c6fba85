"""Several one-row jobs in one process: who is done, who is suspected, who goes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geko.runners.base import JobSpec, RunContext, answer
from geko.runners.bench_reading import RowReading, section
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
from geko.runners.process import cap_output, crash_message
from geko.warehouse.queue import Claim, JobResult

Member = tuple[Claim, JobSpec]


def answer_batch(members: Sequence[Member], context: RunContext, execute: Execute) -> list[JobResult]:
    """Run jobs in one process.

    After a crash, a hang or a time limit, the jobs whose results were printed are done, the first one
    without is suspected, and the others go back. Rows that the program passed over without a word that
    explains it run again by themselves.

    Args:
        members: jobs of one row, arm and round each, which may share a process.
        context: who runs them where.
        execute: runs one process.
    """
    claims = [claim for claim, _ in members]
    first = claims[0]
    task = Task(
        spec=members[0][1],
        arm=0,
        round=0,
        rows=tuple(spec.rows[0] for _, spec in members),
        name=f"{first.kind}-{first.job_id[:8]}-{first.attempt}",
        # Which jobs share a process, and which attempt it is, depends on timing; simulated times must not.
        nonce=f"{first.kind}:0:0",
        timeout_s=max(claim.timeout_s for claim in claims),
        per_row=len(members) > 1,
    )
    run = execute(task, context)
    lines = run.result.output.split("\n")
    answers: list[JobResult | None] = []
    for at, (claim, spec) in enumerate(members):
        reading = run.reading.rows[at]
        if not reading.explained:
            answers.append(None)
            continue
        text = run.result.output if len(members) == 1 else section(lines, run.reading, at)
        answers.append(_explained(claim, spec, reading, run, members, at, context, text))
    _settle_rest(answers, members, run, context, execute)
    return [result for result in answers if result is not None]


def _settle_rest(
    answers: list[JobResult | None],
    members: Sequence[Member],
    run: Run,
    context: RunContext,
    execute: Execute,
) -> None:
    """Answer the jobs that the output doesn't explain."""
    rest = [at for at, result in enumerate(answers) if result is None]
    if not rest:
        return
    alone = len(members) == 1
    refused = run.by_itself and run.reading.usage_error is not None
    # Rows before the last one that printed something were passed over: nothing crashed there.
    passed = (
        rest if run.result.outcome == "ok" or refused else [at for at in rest if at < run.reading.last_seen]
    )
    for at in passed:
        if alone:
            outcome = "unsupported" if refused else "parse_error"
            message = (
                run.reading.usage_error or "the program printed no result for this problem and no reason"
            )
            answers[at] = _unexplained(members[at], run, at, context, outcome, message)
        elif context.stop.is_set():
            answers[at] = answer(members[at][0], context, "released", "not run again: stopped")
        else:
            (answers[at],) = answer_batch([members[at]], context, execute)
    suspects = [at for at in rest if at not in passed]
    for number, at in enumerate(suspects):
        if run.result.outcome == "released":
            answers[at] = answer(members[at][0], context, "released", run.result.message)
        elif number == 0:
            answers[at] = _unexplained(members[at], run, at, context, run.result.outcome, run.result.message)
        else:
            why = f"its process ended early ({run.result.outcome}) at another job"
            answers[at] = answer(members[at][0], context, "released", why)


def _explained(
    claim: Claim,
    spec: JobSpec,
    reading: RowReading,
    run: Run,
    members: Sequence[Member],
    at: int,
    context: RunContext,
    text: str,
) -> JobResult:
    place = Place(spec.problem_ids[0], run.rows[at], spec.arms[0], run.result.started_at)
    outcome, message = reading.outcome or "ok", reading.message
    measurements: list[dict[str, Any]] = []
    validations: list[dict[str, Any]] = []
    if reading.blocks is None:
        (validations if spec.check else measurements).append(
            (unchecked if spec.check else missing)(outcome, message, place)
        )
    elif spec.check:
        validations = checked(reading, place, context.solutions)
        failed = sum(row["outcome"] == "failed" for row in validations)
        if failed:
            outcome, message = "verify_failed", f"{failed} of {len(validations)} checks failed"
    else:
        shared = None if reading.same_as is None else members[reading.same_as][1].problem_ids[0]
        measurements = measured(reading, place, context.solutions, shared)
        lost = incomplete(reading)
        if lost is not None:
            measurements.append(missing("parse_error", lost, place))
        message = lost or exit_note(run)
    return answer(
        claim, context, outcome, message,
        command=run.result.command, exit_code=run.result.exit_code, started_at=run.result.started_at,
        output=cap_output(text), measurements=measurement_table(measurements),
        validations=validation_table(validations),
    )  # fmt: skip


def _unexplained(
    member: Member, run: Run, at: int, context: RunContext, outcome: str, message: str | None
) -> JobResult:
    """A job without a full result: what was printed of it is kept, and one row says what happened."""
    claim, spec = member
    place = Place(spec.problem_ids[0], run.rows[at], spec.arms[0], run.result.started_at)
    reading = run.reading.rows[at]
    measurements: list[dict[str, Any]] = []
    validations: list[dict[str, Any]] = []
    lines = run.result.output.split("\n")
    text = run.result.output if len(run.rows) == 1 else section(lines, run.reading, at)
    if outcome == "crash" and message is not None:
        # The same words whichever jobs shared the process.
        message = crash_message(message, text)
    # Without a program nothing was tried: there is nothing to say about the problem.
    if outcome != "tool_missing":
        if spec.check:
            validations.append(unchecked(outcome, message, place))
        else:
            measurements = measured(reading, place, context.solutions)
            measurements.append(missing(outcome, message, place))
    return answer(
        claim, context, outcome, message,
        command=run.result.command, exit_code=run.result.exit_code, started_at=run.result.started_at,
        output=cap_output(text), measurements=measurement_table(measurements),
        validations=validation_table(validations),
    )  # fmt: skip


def exit_note(run: Run) -> str | None:
    """What to say when the results are there but the program ended badly."""
    return (
        None
        if run.result.outcome == "ok"
        else f"results are complete; the program then: {run.result.message}"
    )


def incomplete(reading: RowReading) -> str | None:
    """What to say when fewer candidates were printed than there were."""
    if reading.blocks is None:
        return None
    expected = reading.blocks["n_supported"][0].as_py()
    echoes = sum(1 for echo in reading.blocks["winner_echo"].to_pylist() if echo)
    printed = reading.blocks.num_rows - echoes + len(reading.skipped)
    if expected is None or printed >= expected:
        return None
    return f"{printed} of {expected} candidates could be read"
