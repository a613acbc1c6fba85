"""What leaves the warehouse: tables, library logic, the working directory of a run.

Exports select from the views of ``sql/views`` and write files; nothing reads them back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geko.errors import UsageError

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

WHAT = ("library-logic", "csv", "parquet", "configs", "workdir")


def resolve_run(warehouse: Warehouse, text: str | None = None) -> str:
    """Id of a run.

    Args:
        warehouse: where it is.
        text: start of its id, or its label; None for the last that finished.

    Raises:
        UsageError: there is none, or several fit.
    """
    found = warehouse.query("export/last_run", prefix=text or "")["run_id"].to_pylist()
    if not found:
        what = f"no run {text!r}" if text else "no finished run"
        raise UsageError(f"{what} in {warehouse.path}; `geko runs` lists them")
    by_id = text is not None and sum(run_id.startswith(text.lower()) for run_id in found) > 1
    if by_id:
        raise UsageError(f"several runs start with {text!r}; give more of the id (`geko runs`)")
    return str(found[0])


def require_decided(warehouse: Warehouse, run_id: str) -> None:
    """Decide a run anew whose verdicts are not those of today's views: one that did not end, or was decided by others.

    Exports read table ``selection``, which costs a tenth of asking the views; so an edited view changes what they write all
    the same.
    """
    from geko.log import logger
    from geko.warehouse import Statement

    (state,) = warehouse.query("run/decision_state", run_id=run_id).to_pylist()
    if state["is_current"]:
        return
    if state["decided_at"] is not None:
        logger.info("run %s was decided by other views, or went on since: it is decided anew", run_id[:8])
    warehouse.apply(
        Statement("run/clear_decision", {"run_id": run_id}),
        # At its old time: what was decided last stays so.
        Statement("run/decide", {"run_id": run_id, "now": state["decided_at"] or warehouse.now()}),
        Statement("run/note_views", {"run_id": run_id}),
    )


def export_run(warehouse: Warehouse, what: str, run_id: str, out: str | Path) -> list[Path]:
    """Export a run.

    Args:
        warehouse: where it is.
        what: ``"library-logic"`` (the kept solutions as Tensile logic), ``"csv"`` (all result tables), ``"parquet"`` (the
            same and every timed candidate), ``"configs"`` (the tuning configs) or ``"workdir"`` (everything).
        run_id: the run.
        out: folder to write into.

    Returns:
        The files that were written.

    Raises:
        UsageError: an unknown ``what``, or a run without such a result.
    """
    folder = Path(out).absolute()
    if what in ("csv", "parquet", "workdir", "library-logic"):
        require_decided(warehouse, run_id)
    if what == "csv":
        from geko.export.tables import export_tables

        return export_tables(warehouse, run_id, folder, flat=True)
    if what == "parquet":
        from geko.export.tables import export_parquet

        return export_parquet(warehouse, run_id, folder)
    if what == "configs":
        from geko.export.tuning import export_configs

        return export_configs(warehouse, run_id, folder)
    if what == "library-logic":
        from geko.export.logic import export_logic

        return export_logic(warehouse, run_id, folder)
    if what == "workdir":
        from geko.export.workdir import export_workdir

        return export_workdir(warehouse, run_id, folder)
    raise UsageError(f"can't export {what!r}; known: {', '.join(WHAT)}")
