"""What a runner is: claims in, results out; a failure is an outcome and never an exception.

A runner answers each claim it was given exactly once. It may answer ``released`` for work that it did not get
to; the queue then gives the job out again without counting an attempt.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from geko.errors import InputError
from geko.runners.solutions import SolutionBook
from geko.warehouse.queue import Claim, JobResult

#: Columns of ``JobResult.measurements``: those of table ``measurement`` that don't follow from the job.
MEASUREMENTS = pa.schema(
    [
        ("problem_id", pa.string()),
        ("solution_id", pa.string()),
        ("library_id", pa.string()),
        ("block_id", pa.string()),
        ("round", pa.int32()),
        ("arm", pa.string()),
        ("rank", pa.int32()),
        ("winner_echo", pa.bool_()),
        ("solution_index", pa.int64()),
        ("outcome", pa.string()),
        ("us", pa.float64()),
        ("gflops", pa.float64()),
        ("gbps", pa.float64()),
        ("iters", pa.int32()),
        ("cold_iters", pa.int32()),
        ("n_samples", pa.int32()),
        ("spread", pa.float64()),
        ("sclk_mhz", pa.float64()),
        ("mclk_mhz", pa.float64()),
        ("measured_at", pa.timestamp("us", "UTC")),
        ("extra", pa.string()),
    ]
)
#: Columns of ``JobResult.validations``, likewise.
VALIDATIONS = pa.schema(
    [
        ("problem_id", pa.string()),
        ("solution_id", pa.string()),
        ("library_id", pa.string()),
        ("solution_index", pa.int64()),
        ("outcome", pa.string()),
        ("norm_error", pa.float64()),
        ("atol", pa.string()),
        ("rtol", pa.string()),
        ("measured_at", pa.timestamp("us", "UTC")),
        ("extra", pa.string()),
    ]
)


def utc_now() -> datetime:
    """The wall clock in UTC."""
    return datetime.now(UTC)


@dataclass(slots=True)
class RunContext:
    """Where and how a runner works.

    Attributes:
        ordinal: device number as the programs take it.
        device_id: row of table ``device``; None outside a warehouse.
        runner: name of the runner process.
        workdir: for files that the programs read; output is spooled there as well.
        stop: set when work is to end within seconds.
        simulated: the job's root must be a simulated one; otherwise it must not be.
        stall_s: seconds without output after which a program is taken to hang, unless the job says otherwise.
        grace_s: seconds between SIGTERM and SIGKILL.
        inherit_fds: descriptors that programs inherit (the lock of the GPU).
        env: environment that programs start from.
        clock: tells the time of measurements.
        abandoned: asked now and then; True ends the program (all its leases are lost).
        solutions: kernels that were seen, on their way into the warehouse.
        die_with_parent: programs are killed when this process dies; only from its main thread.
        slot: number of this runner among those of its device.
        cpu_threads: processors that a program may use for building; None for all.
        progress: takes rows of table ``tuning_progress`` while a job runs.
        give_up: set by a runner to a reason for which this process is to end after this claim.
    """

    ordinal: int = 0
    device_id: str | None = None
    runner: str = "runner"
    workdir: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    stop: threading.Event = field(default_factory=threading.Event)
    simulated: bool = False
    stall_s: float | None = 300.0
    grace_s: float = 5.0
    inherit_fds: tuple[int, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    clock: Callable[[], datetime] = utc_now
    abandoned: Callable[[], bool] | None = None
    solutions: SolutionBook = field(default_factory=SolutionBook)
    die_with_parent: bool = False
    slot: int = 0
    cpu_threads: int | None = None
    progress: Callable[[pa.Table], None] | None = None
    give_up: str | None = None


@runtime_checkable
class Runner(Protocol):
    """Runs jobs of one harness.

    Attributes:
        harness: value of ``spec.harness`` that it answers to.
        kinds: job kinds that it knows; others are answered ``unsupported``.
    """

    harness: str
    kinds: tuple[str, ...]

    def run(self, claims: Sequence[Claim], context: RunContext) -> list[JobResult]:
        """Run claims that share a batch key, and answer each of them once, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One library of a job.

    Attributes:
        name: ``reference``, ``tuned``, or None outside comparisons.
        library_id: row of table ``library``.
        libpath: built library to load instead of the root's own.
    """

    name: str | None
    library_id: str | None
    libpath: str | None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """``job_spec.spec`` of a job for hipblaslt-bench (see docs/architecture.md).

    Attributes:
        harness: the runner that it is for.
        root: hipBLASLt root with the programs.
        rows: hipblaslt-bench YAML rows, one per problem.
        problem_ids: their problems.
        arms: libraries; each is run once per round, the order alternates.
        rounds: how often.
        row_arms: the arm of each row, where every row runs with one arm only (confirmations); else all run with each.
        env: environment variables of the program.
        check: rows ask for a comparison with the CPU: results are validations.
        stall_s: seconds without output that count as a hang; None for the runner's own limit.
    """

    harness: str
    root: str
    rows: tuple[dict[str, Any], ...]
    problem_ids: tuple[str, ...]
    arms: tuple[Arm, ...]
    rounds: int = 1
    row_arms: tuple[int, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    check: bool = False
    stall_s: float | None = None

    @classmethod
    def parse(cls, text: str) -> JobSpec:
        """Read the JSON of a job.

        Raises:
            InputError: if it is no JSON or something is missing.
        """
        try:
            found = json.loads(text)
            spec = cls(
                harness=found.get("harness", "hipblaslt-bench"),
                root=found.get("root") or "",
                rows=tuple(dict(row) for row in found["rows"]),
                problem_ids=tuple(str(item) for item in found["problem_ids"]),
                arms=tuple(
                    Arm(arm.get("name"), arm.get("library_id"), arm.get("libpath"))
                    for arm in found.get("arms") or [{}]
                ),
                rounds=int(found.get("rounds") or 1),
                row_arms=tuple(int(arm) for arm in found.get("row_arms") or ()),
                env={str(key): str(value) for key, value in (found.get("env") or {}).items()},
                check=bool(found.get("check")),
                stall_s=found.get("stall_s"),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"a job's spec can't be read: {error!r}", value=text) from None
        if not spec.rows or len(spec.rows) != len(spec.problem_ids):
            raise InputError(
                f"a job's spec needs one row per problem, but has {len(spec.rows)} rows for "
                f"{len(spec.problem_ids)} problems",
                value=text,
            )
        if spec.row_arms and (
            len(spec.row_arms) != len(spec.rows) or not set(spec.row_arms) <= set(range(len(spec.arms)))
        ):
            raise InputError("a job's row_arms must name one of its arms for every row", value=text)
        return spec


def answer(
    claim: Claim, context: RunContext, outcome: str, message: str | None = None, **fields: Any
) -> JobResult:
    """The result of a claim.

    Args:
        claim: the claim.
        context: who runs it.
        outcome: as the CHECK of ``job_attempt.outcome`` lists them.
        message: one sentence for people.
        **fields: further fields of JobResult.
    """
    return JobResult(
        job_id=claim.job_id, attempt=claim.attempt, token=claim.token, runner=context.runner,
        device_id=context.device_id, outcome=outcome, message=message, **fields,
    )  # fmt: skip
