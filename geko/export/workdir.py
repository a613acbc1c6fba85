"""The working directory of a run in the layout that people know; all of it is export, nothing reads it back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.export.bench_files import export_job_files, export_replay, job_rows
from geko.export.logic import export_logic, reference_of
from geko.export.record import record_files, remove_stale
from geko.export.tables import export_tables
from geko.fsio import write_text_atomic

if TYPE_CHECKING:
    from geko.runs.setup import Library
    from geko.warehouse import Warehouse


def export_workdir(
    warehouse: Warehouse,
    run_id: str,
    folder: Path,
    reference: Library | None = None,
    metrics: str | None = None,
) -> list[Path]:
    """Write everything that a run has to show.

    Args:
        warehouse: where the run is.
        run_id: the run.
        folder: where to.
        reference: its reference library, where it is known.
        metrics: its `metrics_text`, where it is known.

    Returns:
        The files: tables, the replayable benchmark and its output, the programs' inputs and outputs, ``final_libs/``,
        ``failed_jobs.log`` (in ``search/`` for a search) and ``run_state.json``.
    """
    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    if run["kind"] == "configure":
        from geko.export.tuning import export_configure

        return export_configure(warehouse, run_id, folder)
    paths = export_tables(warehouse, run_id, folder, metrics=metrics)
    written = export_replay(warehouse, run_id, folder, run["label"], "baseline")
    rows = {} if run["kind"] == "bench" else job_rows(warehouse, run_id)
    if run["kind"] == "tune":
        from geko.export.tuning import export_job_outputs, export_libraries

        written += export_job_outputs(warehouse, run_id, folder / "optimizations")
    if run["kind"] == "search":
        for stage, ending in (("screen", ""), ("qualify", "_qualify")):
            written += export_job_files(warehouse, run_id, rows, folder / "search", "screen", stage, ending)
    if run["kind"] in ("tune", "search"):
        for kind, ending in (("confirm", "_confirm"), ("compare", "_bench"), ("verify", "_verify")):
            written += export_job_files(warehouse, run_id, rows, folder / "benchmarks", kind, kind, ending)
    if run["kind"] == "tune":
        paths += export_libraries(warehouse, run_id, folder, run, reference or reference_of(run))
    if run["kind"] == "search" and (run["tuned_library_id"] is not None or (folder / "final_libs").is_dir()):
        paths += export_logic(warehouse, run_id, folder / "final_libs", reference)
    failed = warehouse.query("export/failed_jobs", run_id=run_id)["line"].to_pylist()
    if failed:
        log = folder / ("search" if run["kind"] == "search" else ".") / "failed_jobs.log"
        write_text_atomic(log, "".join(f"{line}\n" for line in failed))
        written.append(("failed-jobs", log))
    write_text_atomic(folder / "run_state.json", run_state_text(run))
    written.append(("run-state", folder / "run_state.json"))
    paths += record_files(warehouse, run_id, run["simulated"], written)
    remove_stale(warehouse, folder, paths)
    return paths


def run_state_text(run: dict[str, Any]) -> str:
    """``run_state.json`` of a run: its input, and how far it is."""
    options = json.loads(run["options"])
    finished = run["state"] == "finished"
    state = {
        "input_sha256": options.get("input_sha256"),
        "input_path": options.get("input", ""),
        "created_at": _iso(run["started_at"]),
        "last_modified": _iso(run["ended_at"] or run["started_at"]),
        "configured": finished or run["kind"] == "tune",
        "optimized": finished and run["kind"] not in ("bench", "configure"),
        "run_id": run["run_id"],
        "simulated": run["simulated"],
    }
    return json.dumps(state, indent=4) + "\n"


def _iso(moment: datetime) -> str:
    return moment.isoformat()
