"""The files of a tuning run: what its jobs left, logs, ``libs/``, ``final_libs/`` and ``full_libs/``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.export.record import put_logic, record_files
from geko.export.tuned_logic import kept_and_all, merged_logic
from geko.fsio import write_text_atomic

if TYPE_CHECKING:
    from geko.runs.setup import Library
    from geko.warehouse import Warehouse


def export_job_outputs(warehouse: Warehouse, run_id: str, folder: Path) -> list[tuple[str, Path]]:
    """Write what the tuning jobs of a run left into ``build_<config>/`` folders, and the logs beside them.

    Args:
        warehouse: where the outputs are.
        run_id: the run.
        folder: ``optimizations/``.

    Returns:
        Kind and path of each file.
    """
    written: list[tuple[str, Path]] = []
    for row in warehouse.query("tune/outputs", run_id=run_id, logic_only=False).to_pylist():
        path = folder / f"build_{Path(row['file_name']).stem}" / row["path"]
        write_text_atomic(path, row["content"])
        written.append(("tuning-output", path))
    for row in warehouse.query("tune/job_logs", run_id=run_id).to_pylist():
        path = folder / f"build_{row['name']}" / f"{row['name']}-tensilelite.log"
        if not any(path == other for _, other in written):
            write_text_atomic(path, row["text"])
            written.append(("tuning-log", path))
    for name in ("timing", "failed_jobs"):
        lines = warehouse.query(f"tune/{name}_log", run_id=run_id)["line"].to_pylist()
        if lines:
            path = folder / f"{name}.log"
            write_text_atomic(path, "".join(f"{line}\n" for line in lines))
            written.append((name.replace("_", "-"), path))
    return written


def export_libraries(
    warehouse: Warehouse, run_id: str, folder: Path, run: dict[str, Any], reference: Library | None
) -> list[Path]:
    """Write ``final_libs/`` (the kept shapes) and ``full_libs/`` (all that were compared).

    Files of an earlier decision go only once those of this one are in.

    Args:
        warehouse: where the run is.
        run_id: the run.
        folder: the working directory.
        run: the row of ``export/run``.
        reference: its reference library.
    """
    collection = merged_logic(warehouse, run_id)
    final, full = (
        (None, None) if collection is None else kept_and_all(warehouse, run_id, collection, reference)
    )
    paths = put_logic(warehouse, run_id, folder / "final_libs", run["simulated"], final, "library-logic")
    return paths + put_logic(warehouse, run_id, folder / "full_libs", run["simulated"], full, "full-logic")


def export_configure(warehouse: Warehouse, run_id: str, folder: Path) -> list[Path]:
    """Write ``gemms.csv`` and, where a baseline was taken, ``summary.csv``, and ``run_state.json``.

    Args:
        warehouse: where the run is.
        run_id: a run of kind ``configure``.
        folder: the working directory.
    """
    from geko.export.bench_files import export_replay
    from geko.export.tables import csv_text
    from geko.export.workdir import run_state_text

    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    written: list[tuple[str, Path]] = []
    summary = warehouse.query("export/summary", run_id=run_id)
    for name, rows in (("summary", summary), ("gemms", warehouse.query("export/gemms", run_id=run_id))):
        if rows.num_rows:
            path = folder / f"{name}.csv"
            write_text_atomic(path, csv_text(rows))
            written.append((name, path))
    if summary.num_rows:
        written += export_replay(warehouse, run_id, folder, run["label"], "baseline")
    write_text_atomic(folder / "run_state.json", run_state_text(run))
    return record_files(
        warehouse, run_id, run["simulated"], [*written, ("run-state", folder / "run_state.json")]
    )


def export_configs(warehouse: Warehouse, run_id: str, folder: Path) -> list[Path]:
    """Write the tuning configs of a run, byte by byte as they were run.

    Args:
        warehouse: where the run is.
        run_id: the run.
        folder: where to.

    Returns:
        The files.

    Raises:
        UsageError: the run has no configs.
    """
    from geko.errors import UsageError

    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    rows = warehouse.query("tune/config_texts", run_id=run_id).to_pylist()
    if not rows:
        raise UsageError(
            f"run {run_id[:8]} ({run['kind']}) has no tuning configs; runs of `geko configure` and `geko tune` have"
        )
    written = []
    for row in rows:
        path = folder / Path(row["file_name"]).name
        write_text_atomic(path, row["yaml"])
        written.append(("config", path))
    return record_files(warehouse, run_id, run["simulated"], written)
