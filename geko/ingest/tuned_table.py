"""Tuned tables of other tools as libraries: which solution they prescribe for which size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.identity import canonical_json, content_id
from geko.ingest.hashing import content_sha256

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.ingest.results import Results
    from geko.warehouse import Scratch


def with_library(
    parsed: Parsed,
    results: Results,
    path: Path,
    scratch: Scratch,
    *,
    program: str,
    version: str | None,
    kind: str = "override",
) -> Parsed:
    """Add the table itself as a library with one entry per row.

    Args:
        parsed: tables of the measurements.
        results: the rows they were made of.
        path: the file.
        scratch: hashes the identities.
        program: whose table it is.
        version: of the build that the solution indices belong to.
        kind: kind of library.
    """
    from geko.ingest.results import numbered

    if not len(results.rows):
        return parsed
    digest = content_sha256(path)
    library_id = content_id("library", digest)
    machines = pa.table(
        {
            "environment": pa.array(range(len(results.environments)), pa.int32()),
            "arch": pa.array([item.arch for item in results.environments], pa.string()),
            "cu_count": pa.array([item.cu_count for item in results.environments], pa.int32()),
        }
    )
    entries = scratch.query(
        "ingest_results/entries",
        numbered(results).inputs() | {"machines": machines},
        library_id=library_id,
        logic_file=path.name,
    )
    row: dict[str, Any] = {
        "library_id": library_id,
        "kind": kind,
        "name": path.name,
        "arch": _only(item.gfx for item in results.environments),
        "cu_count": _only(item.cu_count for item in results.environments),
        "n_solutions": pc.count_distinct(entries["local_index"]).as_py(),
        "n_sizes": entries.num_rows,
        "origin": "ingest",
        "content_sha256": digest,
        "path": str(path),
        "detail": canonical_json({"program": program, "version": version}),
    }
    tables = {**parsed.tables, "library": pa.Table.from_pylist([row]), "library_entry": entries}
    return replace(parsed, tables=tables)


def _only(values: Iterable[Any]) -> Any:
    """The value if it is the same for all; None for a table of several GPUs."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None
