"""Storing what a parser returned: one transaction makes a file known with all its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from geko.domain.identity import canonical_json, content_id
from geko.errors import WarehouseError
from geko.ingest.formats import TABLES, Parsed
from geko.warehouse import Statement, Step

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

# Statements that want the time of the first sight, and those that want the file.
_TIMED = frozenset(("environment", "device", "library"))
_OF_FILE = frozenset(("workload_call", "measurement", "validation"))
_SUPERSEDED = (
    "workload_call",
    "ingest_reject",
    "measurement",
    "validation",
    "workload_file",
    "file",
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file by its content.

    Attributes:
        path: as given.
        sha256: see :func:`geko.ingest.hashing.content_sha256`.
        n_bytes: its size.
        kind: name of its format.
        version: of the parser.
    """

    path: Path
    sha256: str
    n_bytes: int
    kind: str
    version: int

    @property
    def file_id(self) -> str:
        """Id of the file, as in column ``file_id``."""
        return content_id("ingest_file", [self.sha256, self.kind, self.version])


def put_identities(warehouse: Warehouse, tables: Mapping[str, pa.Table]) -> None:
    """Store rows of tables with an identity, those that are new.

    Raises:
        WarehouseError: if the rows don't fit the table; nothing is stored then.
    """
    steps = list(_table_steps(warehouse, tables, None))
    if steps:
        warehouse.apply(*steps, repeatable=True)


def put_file(warehouse: Warehouse, source: SourceFile, parsed: Parsed, workload: str | None) -> None:
    """Store a file with its rows, and make it part of a workload if it holds calls.

    What an older parser read from the same bytes is replaced.

    Args:
        warehouse: where to.
        source: the file.
        parsed: its content.
        workload: name of the workload; None where the file only proves what an application used.
    """
    file = {"file_id": source.file_id}
    version = {"sha256": source.sha256, "kind": source.kind, "parser_version": source.version}
    steps: list[Step] = []
    for name in _SUPERSEDED:
        params = version | (file if name == "workload_file" else {})
        steps.append(Statement(f"ingest/supersede_{name}", params))
    steps += _table_steps(warehouse, parsed.tables, source.file_id)
    detail = {**parsed.detail, "purpose": "applied"} if workload is None else dict(parsed.detail)
    n_rejects = 0
    if parsed.rejects is not None and parsed.rejects.num_rows:
        steps.append(Statement("ingest/put_rejects", file, {"rows": parsed.rejects}))
        n_rejects = sum(parsed.rejects["n_lines"].to_pylist())
    values = {
        "path": str(source.path),
        "n_bytes": source.n_bytes,
        "n_lines": parsed.n_lines,
        "n_rows": parsed.n_rows,
        "n_rejects": n_rejects,
        "detail": canonical_json(detail) if detail else None,
        "now": warehouse.now(),
    }
    steps.append(Statement("ingest/put_file", file | version | values))
    if workload is not None and has_calls(parsed):
        steps += workload_steps(warehouse, workload, source.file_id)
    warehouse.apply(*steps, repeatable=True)


def has_calls(parsed: Parsed) -> bool:
    """Whether a file is (part of) a workload."""
    table = parsed.tables.get("workload_call")
    return table is not None and table.num_rows > 0


def workload_steps(warehouse: Warehouse, name: str, file_id: str) -> list[Step]:
    """Steps that make a file part of a workload."""
    workload_id = content_id("workload", name)
    return [
        Statement("ingest/put_workload", {"workload_id": workload_id, "name": name, "now": warehouse.now()}),
        Statement("ingest/link_workload", {"workload_id": workload_id, "file_id": file_id}),
    ]


def _table_steps(warehouse: Warehouse, tables: Mapping[str, pa.Table], file_id: str | None) -> Iterator[Step]:
    unknown = sorted(tables.keys() - set(TABLES))
    if unknown:
        raise WarehouseError(f"a parser made rows for {unknown[0]}, which ingest doesn't write")
    for name in TABLES:
        rows = tables.get(name)
        if rows is None or not rows.num_rows:
            continue
        params: dict[str, object] = {}
        if name in _TIMED:
            params["now"] = warehouse.now()
        if name in _OF_FILE:
            if file_id is None:
                raise WarehouseError(f"rows of {name} belong to a file and can't be stored in parts")
            params["file_id"] = file_id
        yield Statement(f"ingest/put_{name}", params, {"rows": rows})
