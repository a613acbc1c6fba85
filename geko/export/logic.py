"""The solutions of a run as Tensile library logic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import InputError, UsageError
from geko.export.partition import mark_partitions
from geko.export.record import put_logic

if TYPE_CHECKING:
    from geko.library.model import LibraryCollection
    from geko.runs.setup import Library
    from geko.warehouse import Warehouse


def extract_library(
    warehouse: Warehouse, run_id: str, reference: Library, *, kept_only: bool
) -> LibraryCollection | None:
    """Take the winning solutions of a run out of the reference library's logic files.

    Args:
        warehouse: where the run is.
        run_id: the run.
        reference: the library that was searched.
        kept_only: only those of shapes whose verdict is kept.

    Returns:
        The libraries; None when there is no such solution.

    Raises:
        InputError: the library has no MatchTable, so that its indices lead nowhere.
    """
    from geko.library.combine import extract_solutions

    entries = warehouse.query("export/library_entries", run_id=run_id, kept_only=kept_only)
    if not entries.num_rows:
        return None
    if reference.match_table is None:
        raise InputError(
            "the library has no MatchTable.yaml, so its solutions can't be found in logic files; "
            "build it with TensileCreateLibrary of this hipBLASLt",
            path=reference.libpath or "stock library",
        )
    collection = extract_solutions(entries, reference.match_table, reference.logic_root)
    # The chip's own logic serves its partitions too; what was measured on one holds for that alone.
    mark_partitions(warehouse, run_id, collection)
    return collection


def reference_of(run: dict[str, Any]) -> Library:
    """The reference library of a run from what the warehouse knows of its place."""
    from geko.runs.setup import Library, table_beside

    if not run["library_path"]:
        raise UsageError(f"run {run['run_id'][:8]} doesn't know where its library is")
    folder = Path(run["library_path"])
    place = next(
        (table for parent in (folder, *folder.parents[:3]) if (table := table_beside(parent)) is not None),
        None,
    )
    release = next((parent for parent in folder.parents if parent.name == "release"), None)
    if place is None and release is not None:
        from geko.hipblaslt import HipblasltRoot

        place = HipblasltRoot(release.parent.parent).match_table
    logic = release.parent.parent if release is not None else None
    return Library(run["library_id"], place, None, logic)


def export_logic(
    warehouse: Warehouse, run_id: str, folder: Path, reference: Library | None = None
) -> list[Path]:
    """Write the kept solutions of a run as library logic (12-element lists), ready for TensileMergeLibrary.

    Files that an earlier export left in the folder and that have no successor are removed once the new ones are in.

    Returns:
        The files; none when nothing was kept.
    """
    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    if run["kind"] in ("bench", "configure"):
        raise UsageError(f"run {run_id[:8]} is no search and no tuning: it has no solutions to export")
    reference = reference or reference_of(run)
    if run["kind"] == "tune":
        from geko.export.tuned_logic import kept_and_all, merged_logic

        merged = merged_logic(warehouse, run_id)
        collection = None if merged is None else kept_and_all(warehouse, run_id, merged, None)[0]
    else:
        collection = extract_library(warehouse, run_id, reference, kept_only=True)
    return put_logic(warehouse, run_id, folder, run["simulated"], collection, "library-logic")
