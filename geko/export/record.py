"""Which files a run left, with their hashes, in table ``export_file``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
