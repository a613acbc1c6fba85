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
from geko.ingest.formats import Parsed, reject_table
from geko.ingest.hashing import content_sha256

if TYPE_CHECKING:
    from geko.library.logic_yaml import LogicReader
    from geko.library.model import Library
    from geko.warehouse import Scratch

_LIST_FORM = re.compile(rb"\A(?:---\s*\n)?(?:#[^\n]*\n)*-\s+\{?MinimumRequiredVersion:")
_MATCH = re.compile(rb"\A(?:---\s*\n)?\d+:\s*\n?\s*(?:\[|-\s)[^\n]*\.yaml")
_NAMES = {"name": "solution", "kernel_name": "kernel"}
#: Columns of table ``library`` that a logic file fills.
LIBRARY_SCHEMA = pa.schema(
    [
        ("library_id", pa.string()), ("kind", pa.string()), ("name", pa.string()), ("arch", pa.string()),
        ("cu_count", pa.int32()), ("schedule", pa.string()), ("n_solutions", pa.int64()), ("n_sizes", pa.int64()),
        ("origin", pa.string()), ("content_sha256", pa.string()), ("path", pa.string()), ("detail", pa.string()),
    ]
)  # fmt: skip


class LibraryLogic:
    """Format of library logic, list and dict form."""

    kind = "library-logic"
    version = 2
    title = "Tensile library logic"

    def sniff(self, head: bytes, path: Path) -> float:
        """The first element of the list form, or the keys of the dict form."""
        if _LIST_FORM.match(head):
            return 1.0
        keys = (b"MinimumRequiredVersion:", b"ProblemType:", b"LibraryType:", b"ScheduleName:")
        return 0.9 if sum(head.startswith(key) or b"\n" + key in head for key in keys) >= 2 else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read solutions and sizes."""
        from geko.library.logic_yaml import read_bytes

        return parse_logic(read_bytes(path), path, content_sha256(path))


def parse_logic(data: bytes, path: Path, digest: str, reader: LogicReader | None = None) -> Parsed:
    """Rows of one logic file.

    Args:
        data: its content.
        path: where it is.
        digest: :func:`geko.ingest.hashing.content_sha256` of the content.
        reader: one made with ``share``, that knows the lines of other files.

    Raises:
        InputError: it is no library logic, or unsound.
    """
    from geko.library.check import check
    from geko.library.logic_yaml import no_gc
    from geko.library.rows import entry_rows, header_row, read_for_rows, solution_rows

    with no_gc():
        library = read_for_rows(data, path, reader)
        findings = check(library)
        rejects = _set_apart(library, data) if findings else []
        library_id = content_id("library", digest)
        rows = solution_rows(library, path.name)
        entries = entry_rows(library, path.name, rows["solution_id"].to_pylist())
        header = header_row(library)
        row = _library_row(library, library_id, digest, path, rows, entries)
        detail: dict[str, Any] = {
            "layout": library.layout,
            "solutions": rows.num_rows,
            "sizes": entries.num_rows,
        }
    if findings:
        detail["findings"] = [finding.message for finding in findings]
    tables = {
        "library": pa.Table.from_pylist([row], schema=LIBRARY_SCHEMA),
        "logic_header": header.append_column("library_id", pa.array([library_id])),
        "solution": distinct_solutions(
            rows.drop_columns(["logic_file", "library_type", "local_index", "kernel_name"])
        ),
        "solution_name": pa.concat_tables([_names(rows, column, kind) for column, kind in _NAMES.items()]),
        "library_solution": _of_library(rows, library_id),
        "library_entry": entries.append_column("library_id", pa.repeat(library_id, entries.num_rows)),
    }
    filled = {name: table for name, table in tables.items() if table.num_rows}
    n_rows = rows.num_rows + entries.num_rows
    return Parsed(tables=filled, rejects=reject_table(rejects), n_rows=n_rows, detail=detail)


def _set_apart(library: Library, data: bytes) -> list[tuple[int, int, str, str]]:
    """Leave out the sizes that a build leaves out, too: malformed ones and those that point to no solution.

    Returns:
        A reject each.
    """
    from geko.library.check import size_ok

    known = {own.get("SolutionIndex", place) for place, own in enumerate(library.solutions)}
    kept, rejects = [], []
    for entry in library.sizes:
        if not size_ok(entry):
            reason = "not [[M, N, batch, K], [index, efficiency]]"
        elif entry[1][0] not in known:
            reason = f"points to SolutionIndex {entry[1][0]}, which is not there"
        else:
            kept.append(entry)
            continue
        rejects.append((_line_of(data, entry), 1, reason, str(entry)))
    if rejects:
        library.sizes = kept
    return rejects


def _line_of(data: bytes, entry: Any) -> int:
    """Line of a size as it is usually written; that of the document's start where it is written otherwise."""
    size = entry[0] if isinstance(entry, list) and entry else entry
    at = data.find(f"- {size}".encode())
    return data.count(b"\n", 0, max(at, 0)) + 1


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


def distinct_solutions(rows: pa.Table) -> pa.Table:
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
