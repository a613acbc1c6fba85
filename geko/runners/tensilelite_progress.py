"""How far a tuning job is, read from its log while it runs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from geko.warehouse.queue import Claim

#: Rows of table ``tuning_progress``.
PROGRESS = pa.schema(
    [
        ("job_id", pa.string()),
        ("attempt", pa.int32()),
        ("reported_at", pa.timestamp("us", "UTC")),
        ("phase", pa.string()),
        ("generation", pa.int32()),
        ("n_done", pa.int64()),
        ("n_total", pa.int64()),
        ("best_gflops", pa.float64()),
    ]
)
#: Seconds between rows, and between looks at the files.
REPORT_S, _LOOK_S = 5.0, 0.5
_MOST_AT_ONCE = 4 * 2**20
# The table of generations; the client's lines: place, and what stands behind the kernel's name.
_GENERATION = re.compile(rb"^\s*(\d+)\s*\|\s*(\d+)\s*\|", re.MULTILINE)
_ROW = re.compile(
    rb'^\d+,(\d+)/(\d+),\d+/(\d+),[^,"\n]*,"\([\d, ]*\)",[^\n]*?,(PASSED|NO_CHECK|FAILED|[A-Z_]*),([-+.\w]*),([-+.\w]*),',
    re.MULTILINE,
)
_SKIPPED = re.compile(rb"^\d+,\d+/\d+,\d+/\d+, ?(?:Solution Skipped|Skip Slow Solution)", re.MULTILINE)
_PHASES = (
    (re.compile(rb"^# Enumerating Solutions|Sampling initial population", re.MULTILINE), "enumerate"),
    (re.compile(rb"after SolutionStructs|^# DuctileBackend: Generated", re.MULTILINE), "build"),
    (re.compile(rb"^Log level: |^run,problem-progress", re.MULTILINE), "benchmark"),
    (re.compile(rb"^# Analysing data", re.MULTILINE), "analysis"),
)


@dataclass(slots=True)
class Follower:
    """Follows the files of one attempt.

    Attributes:
        claim: the job.
        log: what Tensile prints.
        watched: folder whose small files (checkpoints, tables of generations) are signs of life, too.
        clock: time of rows.
        report: takes rows of table ``tuning_progress``; None for nobody.
        begin: bytes of the log to pass over: they belong to earlier attempts.
        endless: how much is to be done isn't known (a search that ends when it converges).
    """

    claim: Claim
    log: Path
    watched: Path
    clock: Callable[[], datetime]
    report: Callable[[pa.Table], None] | None = None
    begin: int = 0
    endless: bool = False
    phase: str = "start"
    generation: int | None = None
    n_evals: int | None = None
    n_rows: int = 0
    n_total: int | None = None
    best: float | None = None
    _at: int = field(default=0, init=False)
    _rest: bytes = b""
    _looked: float = float("-inf")
    _said: float = float("-inf")
    _last: tuple[Any, ...] | None = None
    _sign: tuple[Any, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        self._at = self.begin

    def __call__(self) -> object:
        """Look at what is new; the answer changes whenever the job gave a sign of life."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return self._sign
        self._looked = now
        self.read()
        self._sign = self._signs()
        if now - self._said >= REPORT_S:
            self.tell()
        return self._sign

    def read(self) -> None:
        """Take in the new part of the log."""
        try:
            with self.log.open("rb") as handle:
                handle.seek(self._at)
                while block := handle.read(_MOST_AT_ONCE):
                    self._at += len(block)
                    whole, newline, self._rest = (self._rest + block).rpartition(b"\n")
                    self._take(whole + newline)
        except OSError:
            return

    def tell(self) -> None:
        """Hand a row over, if it says something new."""
        row = self.row()
        state = tuple(row.values())[3:]
        if self.report is None or state == self._last:
            return
        self._said, self._last = time.monotonic(), state
        self.report(pa.Table.from_pylist([row], schema=PROGRESS))

    def row(self) -> dict[str, Any]:
        """Where the job is now."""
        return {
            "job_id": self.claim.job_id, "attempt": self.claim.attempt, "reported_at": self.clock(), "phase": self.phase,
            "generation": self.generation, "n_done": max(self.n_rows, self.n_evals or 0) or None,
            "n_total": None if self.endless else self.n_total, "best_gflops": self.best,
        }  # fmt: skip

    def _take(self, text: bytes) -> None:
        marks = [
            (found[-1].start(), name) for pattern, name in _PHASES if (found := list(pattern.finditer(text)))
        ]
        if marks:
            self.phase = max(marks)[1]
        for match in _GENERATION.finditer(text):
            self.generation, self.n_evals = int(match[1]), int(match[2])
        self.n_rows += len(_SKIPPED.findall(text))
        for match in _ROW.finditer(text):
            self.n_rows += 1
            self.n_total = (int(match[2]) + 1) * (int(match[3]) + 1)
            if match[4] in (b"PASSED", b"NO_CHECK"):
                self._better(match[6])

    def _better(self, text: bytes) -> None:
        try:
            gflops = float(text)
        except ValueError:
            return
        # A rate that isn't finite is a fault of the printer.
        if 0 < gflops < 1e9 and gflops > (self.best or 0.0):
            self.best = gflops

    def _signs(self) -> tuple[Any, ...]:
        signs: list[Any] = [self._at]
        for pattern in ("*optimization.log", "*.checkpoint"):
            for path in self.watched.glob(pattern):
                try:
                    status = path.stat()
                except OSError:
                    continue
                signs.append((path.name, status.st_size, status.st_mtime_ns))
        return tuple(signs)
