"""Library logic files and the table of a build's solution indices, as libraries.

A logic file is a library of its own: its solutions with all parameters, and the sizes that select them. A
``MatchTable.yaml`` belongs to one build: which logic file and which solution in it a global index means; the solutions
themselves join it by file name and index once their files are ingested.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.identity import canonical_json, content_id
from geko.ingest.formats import Parsed
from geko.ingest.hashing import content_sha256

if TYPE_CHECKING:
    from geko.library.model import Library
    from geko.warehouse import Scratch

_LIST_FORM = re.compile(rb"\A(?:---\s*\n)?(?:#[^\n]*\n)*-\s+\{?MinimumRequiredVersion:")
_MATCH = re.compile(rb"\A(?:---\s*\n)?\d+:\s*\n?\s*(?:\[|-\s)[^\n]*\.yaml")
_NAMES = {"name": "solution", "kernel_name": "kernel"}


class LibraryLogic:
    """Format of library logic, list and dict form."""

    kind = "library-logic"
    version = 1
    title = "Tensile library logic"

    def sniff(self, head: bytes, path: Path) -> float:
        """The first element of the list form, or the keys of the dict form."""
        if _LIST_FORM.match(head):
            return 1.0
        keys = (b"MinimumRequiredVersion:", b"ProblemType:", b"LibraryType:", b"ScheduleName:")
        return 0.9 if sum(head.startswith(key) or b"\n" + key in head for key in keys) >= 2 else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read solutions and sizes."""
        from geko.library.model import load_library
        from geko.library.rows import entry_rows, solution_rows

        library = load_library(path)
        digest = content_sha256(path)
        library_id = content_id("library", digest)
        rows = solution_rows(library, path.name)
        entries = entry_rows(library, path.name, rows["solution_id"].to_pylist())
        tables = {
            "library": pa.Table.from_pylist([_library_row(library, library_id, digest, path, rows, entries)]),
            "solution": _distinct(
                rows.drop_columns(["logic_file", "library_type", "local_index", "kernel_name"])
            ),
            "solution_name": pa.concat_tables(
                [_names(rows, column, kind) for column, kind in _NAMES.items()]
            ),
            "library_solution": _of_library(rows, library_id),
            "library_entry": entries.append_column("library_id", pa.repeat(library_id, entries.num_rows)),
        }
        detail = {"layout": library.layout, "solutions": rows.num_rows, "sizes": entries.num_rows}
        filled = {name: table for name, table in tables.items() if table.num_rows}
        return Parsed(tables=filled, n_rows=rows.num_rows + entries.num_rows, detail=detail)


class MatchTableFile:
    """Format of ``MatchTable.yaml``."""

    kind = "match-table"
    version = 1
    title = "MatchTable of a library build"

    def sniff(self, head: bytes, path: Path) -> float:
        """Entries of an index, a logic file and a place in it."""
        return 1.0 if _MATCH.match(head) else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read the mapping."""
        from geko.library.match_table import load_match_table

        table = load_match_table(path)
        digest = content_sha256(path)
        library_id = content_id("library", digest)
        folders = [Path(file).parent.name or None for file in table["logic_file"].to_pylist()]
        row: dict[str, Any] = {
            "library_id": library_id, "kind": "built", "name": path.name, "n_solutions": table.num_rows,
            "origin": "ingest", "content_sha256": digest, "path": str(path),
        }  # fmt: skip
        solutions = pa.table(
            {
                "library_id": pa.repeat(library_id, table.num_rows),
                "solution_index": table["solution_index"],
                "logic_file": table["file_name"],
                "library_type": pa.array(folders, pa.string()),
                "local_index": table["local_index"],
            }
        )
        files = pc.count_distinct(table["logic_file"]).as_py()
        tables = {"library": pa.Table.from_pylist([row]), "library_solution": solutions}
        return Parsed(tables=tables, n_rows=table.num_rows, detail={"logic_files": files})


def _library_row(
    library: Library, library_id: str, digest: str, path: Path, rows: pa.Table, entries: pa.Table
) -> dict[str, Any]:
    # The dict form names these; in the list form they stand at fixed places, the architecture alone or with its CUs.
    data = library.data
    schedule = data[1] if isinstance(data, list) else data.get("ScheduleName")
    arch = data[2] if isinstance(data, list) else data.get("ArchitectureName")
    cus = (
        arch.get("CUCount")
        if isinstance(arch, dict)
        else None
        if isinstance(data, list)
        else data.get("CUCount")
    )
    arch = arch.get("Architecture") if isinstance(arch, dict) else arch
    return {
        "library_id": library_id,
        "kind": "logic",
        "name": path.name,
        "arch": None if arch is None else str(arch),
        "cu_count": cus if isinstance(cus, int) else None,
        "schedule": None if schedule is None else str(schedule),
        "n_solutions": rows.num_rows,
        "n_sizes": entries.num_rows,
        "origin": "ingest",
        "content_sha256": digest,
        "path": str(path),
        "detail": canonical_json({"library_type": library.library_type}),
    }


def _distinct(rows: pa.Table) -> pa.Table:
    """The first row of each solution, in order."""
    numbered = rows.select(["solution_id"]).append_column("at", pa.array(range(rows.num_rows), pa.int64()))
    first = numbered.group_by("solution_id").aggregate([("at", "min")])["at_min"]
    return rows.take(first.take(pc.sort_indices(first)))


def _names(rows: pa.Table, column: str, kind: str) -> pa.Table:
    named = rows.filter(pc.is_valid(rows[column]))
    return pa.table(
        {
            "solution_id": named["solution_id"],
            "kind": pa.repeat(kind, named.num_rows),
            "name": named[column],
        }
    )


def _of_library(rows: pa.Table, library_id: str) -> pa.Table:
    return pa.table(
        {
            "library_id": pa.repeat(library_id, rows.num_rows),
            "solution_index": rows["local_index"],
            "solution_id": rows["solution_id"],
            "logic_file": rows["logic_file"],
            "library_type": rows["library_type"],
            "local_index": rows["local_index"],
        }
    )


FORMAT = LibraryLogic()
MATCH_TABLE = MatchTableFile()
