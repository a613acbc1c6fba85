"""The stage in which tensilelite runs: one job a config, several at a time on each device."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.fsio import write_text_atomic
from geko.log import logger
from geko.runs.options import RunOptions
from geko.warehouse import Statement, queue

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.runs.setup import Ground
    from geko.runs.stages import Stages
    from geko.runs.tune_options import TuneOptions
    from geko.warehouse import Warehouse

_USUAL_STALL_S = RunOptions.__dataclass_fields__["stall_timeout"].default
#: Seconds between two looks at the progress of running jobs.
_LOOK_EVERY_S = 2.0
#: Seconds between two reports on them, and of how many jobs each tells.
_TELL_EVERY_S = 60.0
_TOLD = 4


def tune(
    warehouse: Warehouse,
    run_id: str,
    ground: Ground,
    stages: Stages,
    options: TuneOptions,
    folder: Path,
) -> None:
    """Run the configs of a run; those that are done are not run again.

    Args:
        warehouse: the warehouse.
        run_id: the run, whose ``run_config`` says what is tuned.
        ground: where.
        stages: the run's stages.
        options: options of the run.
        folder: folder of the configs; jobs work in ``build_<config>`` in it, ``running_jobs.log`` shows what runs.

    Raises:
        RunFailedError: too many failures in a row, or no runner is left.
    """
    params: dict[str, Any] = {
        "environment_id": ground.environment_id,
        "max_attempts": options.max_attempts if options.retry else 1,
        "timeout_s": options.job_timeout,
        "root": str(ground.root.path),
        "build_dir": None if options.client_build_dir is None else str(options.client_build_dir.absolute()),
        "tuning_dir": str(folder.absolute()),
        # Tensile says little while it builds: unless somebody asks for less, the runner waits longer than elsewhere.
        "stall_timeout_s": None if options.stall_timeout == _USUAL_STALL_S else options.stall_timeout,
        "abort_after": options.abort_after,
    }
    planned = warehouse.query("tune/plan_tune", run_id=run_id, **params)
    _reconcile(warehouse, run_id, planned, options)
    pool = replace(
        stages.pool,
        slots=tuple(slot for slot in ground.slots for _ in range(options.slots)),
        workdir=stages.pool.workdir / "tune",
        kinds=("tune",),
        limit=1,
        stall_s=options.stall_timeout or None,
    )
    watch = _Watch(warehouse, run_id, folder / "running_jobs.log")
    stage = replace(stages, pool=pool, since=warehouse.now(), on_poll=watch.look)
    try:
        stage.run("tune", "tune", "tune/plan_tune", params)
    finally:
        pool.stop()
        stages.n_scheduled = stage.n_scheduled
        watch.close()
    failed = warehouse.query("tune/failed_jobs", run_id=run_id).to_pylist()
    if failed:
        logger.warning(
            "%d of %d tuning jobs failed, the first: %s (%s); see %s",
            len(failed), planned.num_rows, failed[0]["name"], failed[0]["outcome"] or failed[0]["state"],
            folder / "failed_jobs.log",
        )  # fmt: skip


def _reconcile(warehouse: Warehouse, run_id: str, planned: pa.Table, options: TuneOptions) -> None:
    """Bring the run's jobs in line with its folder: removed configs are forgotten, failed ones are tried again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = planned["job_id"]
    configs = pc.cast(planned["config_id"], pa.string())
    table = pa.table({"job_id": pc.cast(ids, pa.string()), "config_id": configs})
    warehouse.apply(Statement("tune/job_configs", {}, {"planned": table}), repeatable=True)
    stale = warehouse.query("tune/stale_jobs", {"planned": table}, run_id=run_id).to_pylist()
    if stale:
        waiting = [row["job_id"] for row in stale if row["state"] in ("pending", "leased")]
        if waiting:
            queue.cancel(warehouse, job_ids=waiting)
        forgotten = [row["job_id"] for row in stale]
        warehouse.apply(
            Statement("tune/forget_jobs", {"run_id": run_id, "job_ids": forgotten}), repeatable=True
        )
    again = warehouse.query("tune/retry_jobs", {"planned": table}, run_id=run_id).to_pylist()
    # A job that was forgotten with its file comes back with it; what somebody cancelled by hand stays so.
    chosen = [row for row in again if (not row["in_run"] if row["state"] == "cancelled" else options.retry)]
    if chosen:
        outcomes = sorted({row["outcome"] for row in chosen if row["outcome"] and row["outcome"] != "ok"})
        n = queue.retry(
            warehouse,
            job_ids=[row["job_id"] for row in chosen],
            outcomes=outcomes,
            attempts=options.max_attempts,
        )
        logger.info("%d tuning job(s) that failed before are tried again (--no-retry leaves them)", n)


class _Watch:
    """Keeps ``running_jobs.log`` while the stage runs."""

    def __init__(self, warehouse: Warehouse, run_id: str, path: Path) -> None:
        self._warehouse, self._run_id, self._path = warehouse, run_id, path
        self._last = 0.0
        self._told = time.monotonic()
        self._text: str | None = None

    def look(self) -> None:
        """Write the file again if what runs has changed; now and then tell how far the jobs are."""
        now = time.monotonic()
        if now - self._last < _LOOK_EVERY_S:
            return
        self._last = now
        rows = self._warehouse.query("tune/running_jobs", run_id=self._run_id, folder=str(self._path.parent))
        text = "".join(f"{line}\n" for line in rows["line"].to_pylist())
        if text != self._text:
            write_text_atomic(self._path, text)
            self._text = text
        if rows.num_rows and now - self._told >= _TELL_EVERY_S:
            self._told = now
            told = rows["told"].to_pylist()
            more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
            logger.info("%d tuning job(s) run: %s%s", len(told), "; ".join(told[:_TOLD]), more)

    def close(self) -> None:
        """Nothing runs any more."""
        if self._text is not None:
            write_text_atomic(self._path, "")
