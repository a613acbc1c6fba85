"""Which files a run left, with their hashes, in table ``export_file``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from geko.log import logger

if TYPE_CHECKING:
    from geko.library.model import LibraryCollection
    from geko.warehouse import Warehouse


def record_files(
    warehouse: Warehouse, run_id: str, simulated: bool, files: Iterable[tuple[str, Path]]
) -> list[Path]:
    """Remember files.

    Args:
        warehouse: where to.
        run_id: the run that they show.
        simulated: whether their times are simulated.
        files: kind and path of each.

    Returns:
        The paths.
    """
    import pyarrow as pa

    from geko.warehouse import Statement

    rows = []
    paths = []
    for kind, path in files:
        data = path.read_bytes()
        rows.append(
            {
                "run_id": run_id, "kind": kind, "path": str(path), "sha256": hashlib.sha256(data).hexdigest(),
                "n_bytes": len(data), "simulated": simulated,
            }
        )  # fmt: skip
        paths.append(path)
    if rows:
        warehouse.apply(
            Statement("export/record_file", {"now": warehouse.now()}, {"files": pa.Table.from_pylist(rows)})
        )
    return paths


def remove_stale(warehouse: Warehouse, folder: Path, written: Iterable[Path]) -> list[Path]:
    """Remove what earlier exports left in a folder and this one did not write again.

    Only files that an export wrote and nobody changed since are removed: everything else in the folder is the user's.
    To be called once the new files are in, so that good results stay until better ones are there.

    Args:
        warehouse: where the exports are recorded.
        folder: the folder (absolute).
        written: files of this export.

    Returns:
        The files that were removed.
    """
    now = {str(path) for path in written}
    removed = []
    for row in warehouse.query("export/written_files", folder=str(folder)).to_pylist():
        path = Path(row["path"])
        if row["path"] in now or not path.is_file():
            continue
        if hashlib.sha256(path.read_bytes()).hexdigest() not in row["sha256"]:
            logger.warning("%s is of an earlier run and was changed since; it stays", path)
            continue
        path.unlink()
        removed.append(path)
    return removed


def put_logic(
    warehouse: Warehouse,
    run_id: str,
    folder: Path,
    simulated: bool,
    collection: LibraryCollection | None,
    kind: str,
) -> list[Path]:
    """Write libraries into a folder, then remove what an earlier export of it left."""
    paths = [] if collection is None else collection.dump(folder)
    record_files(warehouse, run_id, simulated, [(kind, path) for path in paths])
    if folder.is_dir():
        remove_stale(warehouse, folder, paths)
        others = sorted(path.name for path in set(folder.glob("*.yaml")) - set(paths))
        if others:
            logger.warning(
                "%s also holds %d file(s) that are not of this run: %s", folder, len(others), others[0]
            )
    return paths
