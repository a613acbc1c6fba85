"""The hipblaslt-bench runner: rows in one YAML, one process per arm and round, every printed block a row.

Command and environment: hipblaslt-bench of hipBLASLt 0.10 and later (``--yaml FILE --device N``,
``HIPBLASLT_TENSILE_LIBPATH`` for another library than the build's own).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geko.errors import GekoError, InputError, MissingFileError, ToolError
from geko.hipblaslt import HipblasltRoot, library_path
from geko.log import logger
from geko.runners.base import JobSpec, RunContext, answer
from geko.runners.bench_batch import answer_batch
from geko.runners.bench_series import answer_series
from geko.runners.bench_task import Execute, Run, Task
from geko.runners.bench_yaml import bench_row, bench_yaml
from geko.runners.process import ProcessResult, run_process
from geko.warehouse.queue import Claim, JobResult

HARNESS = "hipblaslt-bench"
KINDS = ("probe", "baseline", "screen", "confirm", "compare", "verify")
LIBPATH = "HIPBLASLT_TENSILE_LIBPATH"
#: Variables that would load another library, replay or write tuning files, or log every call.
UNSET = (
    LIBPATH,
    "HIPBLASLT_TUNING_FILE",
    "HIPBLASLT_TUNING_OVERRIDE_FILE",
    "HIPBLASLT_TUNING_MODE",
    "HIPBLASLT_LOG_MASK",
    "HIPBLASLT_LOG_LEVEL",
    "HIPBLASLT_LOG_FILE",
)
# Each row begins with one of these: its time limit counts from there.
_ROW_BEGINS = re.compile(rb"Is supported \d+ /|NO solution found")


class HipblasltBenchRunner:
    """Runs jobs with hipblaslt-bench."""

    harness: str = HARNESS
    kinds: tuple[str, ...] = KINDS

    def run(self, claims: Sequence[Claim], context: RunContext) -> list[JobResult]:
        """Run claims; see :class:`geko.runners.base.Runner`."""
        return run_claims(claims, context, execute, self.kinds)


def run_claims(
    claims: Sequence[Claim], context: RunContext, execute: Execute, kinds: Sequence[str] = KINDS
) -> list[JobResult]:
    """Answer claims with the outputs that ``execute`` gives.

    Jobs of one row that share root, library, environment and purpose share a process; any other job has
    processes of its own.

    Args:
        claims: claims of one batch key.
        context: who runs them where.
        execute: runs one process.
        kinds: job kinds that are known.
    """
    answers: dict[str, JobResult] = {}
    batches: dict[tuple[Any, ...], list[tuple[Claim, JobSpec]]] = {}
    for number, claim in enumerate(claims):
        spec, refusal = _read(claim, context, kinds)
        if spec is None:
            answers[claim.token] = refusal or answer(claim, context, "unsupported")
            continue
        single = len(spec.rows) == len(spec.arms) == spec.rounds == 1
        key = _batch_key(claim, spec) if single else (number,)
        batches.setdefault(key, []).append((claim, spec))
    for members in batches.values():
        if context.stop.is_set():
            results = [answer(claim, context, "released", "not started") for claim, _ in members]
        elif len(members[0][1].rows) == len(members[0][1].arms) == members[0][1].rounds == 1:
            results = answer_batch(members, context, execute)
        else:
            results = [answer_series(*members[0], context, execute)]
        answers.update((result.token, result) for result in results)
    return [answers[claim.token] for claim in claims]


def _batch_key(claim: Claim, spec: JobSpec) -> tuple[Any, ...]:
    return (claim.kind, spec.root, spec.arms, spec.check, spec.stall_s, tuple(sorted(spec.env.items())))


def _read(claim: Claim, context: RunContext, kinds: Sequence[str]) -> tuple[JobSpec | None, JobResult | None]:
    if claim.kind not in kinds:
        return None, answer(claim, context, "unsupported", f"{HARNESS} runs no jobs of kind {claim.kind!r}")
    try:
        spec = JobSpec.parse(claim.spec)
        bench_yaml(spec.rows)
    except InputError as error:
        return None, answer(claim, context, "unsupported", str(error))
    return spec, None


def execute(task: Task, context: RunContext) -> Run:
    """Run hipblaslt-bench for one task; an unusable root is a result with outcome ``tool_missing``."""
    rows = tuple(bench_row(row) for row in task.rows)
    try:
        root = usable_root(task.spec.root, context)
        added = bench_env(root, task)
        program = root.require_bench()
        file = _write_rows(rows, task.name, context.workdir)
    except (GekoError, OSError) as error:
        failed = ProcessResult("tool_missing", None, "", context.clock(), 0.0, str(error), "")
        return Run.of(failed, rows)
    env = {key: value for key, value in context.env.items() if key not in UNSET} | added
    result = run_process(
        [program, "--yaml", file, "--device", str(context.ordinal)],
        env=env,
        shown_env=added,
        spool_dir=context.workdir,
        timeout_s=task.timeout_s,
        restart_timeout=_ROW_BEGINS if task.per_row else None,
        # The CPU reference of a check takes minutes without a word: only the time limit counts there.
        stall_s=task.spec.stall_s or (None if task.spec.check else context.stall_s),
        grace_s=context.grace_s,
        stop=context.stop,
        should_stop=context.abandoned,
        pass_fds=context.inherit_fds,
        die_with_parent=context.die_with_parent,
    )
    if result.outcome in ("ok", "released"):
        file.unlink(missing_ok=True)
    else:
        logger.warning(
            "device %d: hipblaslt-bench %s (input kept: %s)", context.ordinal, result.message, file
        )
    return Run.of(result, rows)


def usable_root(path: str, context: RunContext) -> HipblasltRoot:
    """The root of a job.

    Raises:
        MissingFileError: if it isn't there or isn't built.
        ToolError: if it is simulated and the runner measures, or the other way round.
    """
    root = HipblasltRoot(Path(path))
    if not path or not root.path.is_dir():
        raise MissingFileError("the hipBLASLt root of the job does not exist on this host", path=path)
    if root.is_simulated != context.simulated:
        what = "simulated" if root.is_simulated else "real"
        mode = "simulates" if context.simulated else "measures"
        raise ToolError(f"{root.path} is a {what} root, but this runner {mode}: times of both must not mix")
    return root


def bench_env(root: HipblasltRoot, task: Task) -> dict[str, str]:
    """Variables that are set for the program, on top of the inherited ones."""
    arm = task.spec.arms[task.arm]
    env = dict(task.spec.env)
    if arm.libpath:
        folder = library_path(arm.libpath)
        if not folder.is_dir():
            raise MissingFileError("the built library of the job does not exist", path=folder)
        env[LIBPATH] = str(folder)
    if root.is_simulated:
        env["GEKO_SIM_NONCE"] = task.nonce
    return env


_numbers = itertools.count()


def _write_rows(rows: Sequence[Mapping[str, Any]], name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{next(_numbers)}.yaml"
    path.write_text(bench_yaml(rows), encoding="utf-8")
    return path
