"""One stage of a run: its jobs are enqueued, runners work, the stage ends when none is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from geko.errors import RunFailedError
from geko.log import logger
from geko.warehouse import Statement, queue

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.runners.pool import RunnerPool
    from geko.warehouse import Warehouse

# Looks at a stage start this far apart and grow rarer with its age, to a tenth of it: each costs the owner of the
# warehouse some 10 ms of processor time.
_POLL_S = 0.1
_LONGEST_POLL_S = 0.5
_PLAIN_EVERY_S = 15.0


@dataclass(slots=True)
class Progress:
    """Progress on stderr: a line that is rewritten on a terminal, plain lines elsewhere."""

    label: str
    verbose: int = 1
    started: float = field(default_factory=time.monotonic)
    _last: float = 0.0
    _shown: tuple[int, int] | None = None

    def show(
        self, done: int, failed: int, total: int, left_s: float, devices: int, final: bool = False
    ) -> None:
        """Show the state of a stage."""
        if self.verbose < 1 or not total:
            return
        ended = done + failed
        elapsed = time.monotonic() - self.started
        # Estimates order the work well but are no clock: the pace so far corrects them.
        eta = elapsed / ended * (total - ended) if ended else left_s / max(devices, 1)
        counts = f"n_completed: {done}, n_failed: {failed}"
        percent = 100 * ended // total
        if sys.stderr.isatty():
            bar = "█" * (percent // 5)
            text = (
                f"{self.label} in progress: {percent:3d}%|{bar:<20}| {ended}/{total} "
                f"[{_clock(elapsed)}<{_clock(eta)}, {counts}]"
            )
            sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if final else ""))
            sys.stderr.flush()
            return
        now = time.monotonic()
        if final or now - self._last >= _PLAIN_EVERY_S:
            if self._shown != (ended, failed) or final:
                sys.stderr.write(
                    f"{self.label}: {ended}/{total} [{_clock(elapsed)}, ETA {_clock(0 if final else eta)}, {counts}]\n"
                )
                sys.stderr.flush()
            self._last, self._shown = now, (ended, failed)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


@dataclass(slots=True)
class Stages:
    """Runs stage after stage of one run.

    Attributes:
        warehouse: the warehouse.
        run_id: the run.
        pool: its runners; started with the first job.
        since: start of this sitting, for counting failures in a row.
        abort_after: failures in a row that end the run; 0 for never.
        verbose: 0 shows no progress.
        stop_requested: asked between polls.
        on_poll: called between polls.
    """

    warehouse: Warehouse
    run_id: str
    pool: RunnerPool
    since: datetime
    abort_after: int
    verbose: int
    stop_requested: Callable[[], None]
    n_scheduled: int = 0
    _named: set[str] = field(default_factory=set)
    on_poll: Callable[[], None] | None = None

    def run(self, stage: str, kind: str, plan: str, params: Mapping[str, Any]) -> int:
        """Enqueue what a statement plans, and wait until it is done.

        Args:
            stage: name of the stage, as column ``run.stage`` keeps it.
            kind: kind of its jobs.
            plan: statement that returns the jobs, of ``sql/queries/run`` or with its folder.
            params: its parameters.

        Returns:
            How many jobs it planned.

        Raises:
            RunFailedError: too many failures in a row, or no runner is left.
        """
        jobs = self.planned(stage, plan, params)
        self.work_on(stage, kind, jobs)
        return int(jobs.num_rows)

    def planned(self, stage: str, plan: str, params: Mapping[str, Any]) -> pa.Table:
        """The jobs of a stage, which begins with it; see `run`."""
        self.warehouse.apply(
            Statement("run/set_stage", {"run_id": self.run_id, "stage": stage}), repeatable=True
        )
        name = plan if "/" in plan else f"run/{plan}"
        return self.warehouse.query(name, run_id=self.run_id, **params)

    def work_on(self, stage: str, kind: str, jobs: pa.Table) -> None:
        """Enqueue jobs and wait until they are done; see `run`."""
        if not jobs.num_rows:
            return
        asked = queue.enqueue(self.warehouse, self.run_id, jobs)
        self.n_scheduled += asked.n_new
        logger.info("%s: %d job(s), %d new, %d already done", stage, jobs.num_rows, asked.n_new, asked.n_done)
        self._check_devices()
        progress = Progress(stage.capitalize(), self.verbose)
        while True:
            counts = self._counts(kind)
            left = counts["pending"] + counts["leased"]
            total = left + counts["done"] + counts["failed"]
            progress.show(
                counts["done"],
                counts["failed"],
                total,
                counts["cost_left_s"],
                len(self.pool.slots),
                final=not left,
            )
            if not left:
                return
            self.pool.start()
            self.pool.require_alive()
            self._check_failures()
            if not counts["leased"]:
                self._check_devices()
            self.stop_requested()
            if self.on_poll is not None:
                self.on_poll()
            age = time.monotonic() - progress.started
            time.sleep(min(_LONGEST_POLL_S, max(_POLL_S, age / 10)))

    def _counts(self, kind: str) -> dict[str, Any]:
        counts: dict[str, Any] = {"pending": 0, "leased": 0, "done": 0, "failed": 0, "cost_left_s": 0.0}
        for row in queue.progress(self.warehouse, self.run_id).to_pylist():
            if row["kind"] != kind:
                continue
            state = "failed" if row["state"] in ("failed", "dead", "cancelled") else row["state"]
            if state == "done" and row["outcome"] not in ("ok", None):
                state = "failed"
            counts[state] += row["n_jobs"]
            counts["cost_left_s"] += row["cost_left_s"]
        return counts

    def _check_devices(self) -> None:
        """Name the devices that get no work, once; none left is an error, as the jobs would wait for ever."""
        found = queue.usable_devices(self.warehouse, [slot.device_id for slot in self.pool.slots])
        if not found.n_usable:
            raise RunFailedError(
                f"no device is left: {'; '.join(found.taken_out)}; see what is wrong (rocm-smi, dmesg, "
                "`geko jobs list`), then run the same command again to go on"
            )
        for text in found.taken_out:
            if text not in self._named:
                self._named.add(text)
                logger.warning("%s; it gets no work until `geko jobs retry --run %s`", text, self.run_id[:8])

    def _check_failures(self) -> None:
        if not self.abort_after:
            return
        n_failures, outcome = queue.failures_in_a_row(self.warehouse, self.run_id, self.since)
        if n_failures >= self.abort_after:
            raise RunFailedError(
                f"{n_failures} jobs in a row failed (last: {outcome}), so no more are started; see `geko jobs list`, "
                "then run the same command again to go on (--abort-after 0 never stops)"
            )
