"""One process of hipblaslt-bench: what it is to do, and what it said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from geko.runners.base import JobSpec, RunContext
from geko.runners.bench_reading import Reading, read_output
from geko.runners.process import ProcessResult


@dataclass(frozen=True, slots=True)
class Run:
    """One process and what it said.

    Attributes:
        result: how it ended.
        rows: its input in the client's names.
        reading: its output taken apart.
    """

    result: ProcessResult
    rows: tuple[dict[str, Any], ...]
    reading: Reading

    @classmethod
    def of(cls, result: ProcessResult, rows: tuple[dict[str, Any], ...]) -> Run:
        """Take the output of a process apart."""
        return cls(
            result,
            rows,
            read_output(result.output, rows, ended=_by_itself(result), well=result.outcome == "ok"),
        )

    @property
    def by_itself(self) -> bool:
        """It ran to its end: exit status 0, or another one without a signal."""
        return _by_itself(self.result)


def _by_itself(result: ProcessResult) -> bool:
    return result.outcome == "ok" or (result.outcome == "crash" and (result.exit_code or 0) < 128)


@dataclass(frozen=True, slots=True)
class Task:
    """What one process is to do.

    Attributes:
        spec: the job it works for.
        arm: index of the arm; ``round`` likewise.
        rows: rows of the process.
        name: distinguishes its file.
        nonce: draw of the noise in a simulated root.
        timeout_s: its limit; ``per_row`` starts it anew for every row.
    """

    spec: JobSpec
    arm: int
    round: int
    rows: tuple[dict[str, Any], ...]
    name: str
    nonce: str
    timeout_s: float
    per_row: bool = False


class Execute(Protocol):
    """Runs a task: for real, or out of stored outputs."""

    def __call__(self, task: Task, context: RunContext) -> Run:
        """Run the task."""
        ...
