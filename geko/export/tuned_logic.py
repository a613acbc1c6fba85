"""Library logic of new kernels: what the tuning jobs of a run found, merged, and the part of it that was kept."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import GekoError
from geko.export.partition import mark_partitions
from geko.fsio import write_text_atomic
from geko.log import logger

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from geko.library.model import LibraryCollection
    from geko.runs.setup import Library
    from geko.warehouse import Warehouse


def merged_logic(warehouse: Warehouse, run_id: str) -> LibraryCollection | None:
    """Library logic of all tuning jobs of a run, merged by file name, trimmed, with epilogues.

    Args:
        warehouse: where the jobs' outputs are.
        run_id: the run.

    Returns:
        The libraries; None when no job left any. The same whatever order the jobs ended in.

    Raises:
        InputError: logic files that can't be read, or that don't go together.
    """
    from geko.library.combine import merge_solutions

    rows = warehouse.query("tune/outputs", run_id=run_id, logic_only=True).to_pylist()
    if not rows:
        return None
    with tempfile.TemporaryDirectory(prefix="geko-merge-") as scratch:
        for row in rows:
            # Folders sort as their files do, so that equal times are settled the same way each time.
            place = Path(scratch) / row["file_name"] / "3_LibraryLogic" / Path(row["path"]).name
            write_text_atomic(place, row["content"])
        merged = merge_solutions(scratch, epilogues=True)
    file_rounded(warehouse, run_id, merged)
    mark_partitions(warehouse, run_id, merged)
    return merged


def file_rounded(warehouse: Warehouse, run_id: str, collection: LibraryCollection) -> None:
    """File the kernel of a rounded size under the size that was asked for, too: logic finds a size by its exact K."""
    import polars as pl

    rounded = pl.DataFrame(warehouse.query("tune/rounded_sizes", run_id=run_id))
    if rounded.is_empty():
        return
    types = ["trans_a", "trans_b", "a_type", "b_type", "c_type", "compute_type", "scale", "m", "n", "batch"]
    entries = pl.DataFrame(entries_of(collection))
    found = entries.join(rounded, left_on=[*types, "k"], right_on=[*types, "k_tuned"], suffix="_asked")
    for library in collection:
        rows = (
            found.filter(pl.col("lib") == library.name)
            .select("m", "n", "batch", "k", "k_asked")
            .sort(pl.all())
        )
        held = {tuple(size[:4]): target for size, target in library.sizes}
        extra = {
            (m, n, batch, asked): list(held[m, n, batch, k])
            for m, n, batch, k, asked in rows.iter_rows()
            if (m, n, batch, asked) not in held
        }
        if extra:
            library.sizes = [*library.sizes, *([list(size), target] for size, target in extra.items())]


def entries_of(collection: LibraryCollection) -> pa.Table:
    """One row a size of each library: its file, types and sizes, whether it is block scaled, and the canonical code of
    its scales (0 without blocks)."""
    import pyarrow as pa

    from geko.domain.dtypes import canonical_scale_code
    from geko.library.problem_type import gemm_types
    from geko.library.rows import entry_rows

    parts = []
    for library in collection:
        rows = entry_rows(library).rename_columns({"logic_file": "lib"})
        types, n = gemm_types(library.problem_type), rows.num_rows
        scale = canonical_scale_code(types.mx_block_a, types.mx_scale_a) if types.mx_block_a else 0
        rows = rows.append_column("mx", pa.array([scale > 0] * n, pa.bool_()))
        parts.append(rows.append_column("scale", pa.array([scale] * n, pa.int32())))
    return pa.concat_tables(parts)


def kept_and_all(
    warehouse: Warehouse, run_id: str, collection: LibraryCollection, reference: Library | None
) -> tuple[LibraryCollection | None, LibraryCollection | None]:
    """Cut merged logic to what a run decided.

    Args:
        warehouse: where the decision is.
        run_id: the run.
        collection: of `merged_logic`.
        reference: the reference library; its solutions stand in for shapes that were not kept.

    Returns:
        The kept shapes (library type Equality; None when nothing was kept), and all that were compared, with the
        reference's solution where the new kernel lost (None where the reference has no index table, or doesn't fit).
    """
    import polars as pl

    from geko.library.combine import from_dataframe, from_full_dataframe

    frame = pl.DataFrame(
        warehouse.query("tune/final_rows", {"entries": entries_of(collection)}, run_id=run_id)
    )
    if frame.is_empty():
        return None, None
    with tempfile.TemporaryDirectory(prefix="geko-final-") as scratch:
        collection.dump(scratch)
        kept = frame.filter(pl.col("winner") == "tuned")
        final = None if kept.is_empty() else from_dataframe(kept, scratch, type_override="Equality")
        full: LibraryCollection | None = None
        if reference is not None and reference.match_table is not None:
            full = _full(from_full_dataframe, frame, scratch, reference)
        elif reference is not None:
            logger.warning(
                "full_libs/ is not written: the reference library has no MatchTable.yaml that tells where its solutions are"
            )
    return final, full


def _full(build: Any, frame: pl.DataFrame, folder: str, reference: Library) -> LibraryCollection | None:
    import polars as pl

    usable = frame.filter((pl.col("winner") == "tuned") | pl.col("solutionIdx_reference").is_not_null())
    try:
        made: LibraryCollection = build(usable, folder, reference.match_table, reference.logic_root)
    except GekoError as error:
        logger.warning("full_libs/ can't be written: %s", error)
        return None
    return made
