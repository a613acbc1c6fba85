"""Workload rows that were read one by one (lists, bench YAML) into the tables of the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geko.ingest.calls import CallTables, add_calls
from geko.ingest.cells import RowGroup
from geko.ingest.fields import ALIASES
from geko.ingest.formats import Parsed, reject_table
from geko.ingest.lines import LineBatch, batch_of

if TYPE_CHECKING:
    from geko.warehouse import Scratch


def plain_text(value: Any) -> str | None:
    """A value as logs write it; None for nothing."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def rows_group(rows: Sequence[Mapping[str, Any]], lines: LineBatch) -> RowGroup:
    """Rows by canonical field name, as a group; row i was read from line i."""
    named = [{ALIASES.get(key, key): plain_text(value) for key, value in row.items()} for row in rows]
    names = dict.fromkeys(name for row in named for name in row)
    columns = {name: pa.array([row.get(name) for row in named], pa.large_string()) for name in names}
    return RowGroup({name: column.dictionary_encode() for name, column in columns.items()}, lines)


def parsed_rows(
    rows: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    first_lines: Sequence[int],
    scratch: Scratch,
    *,
    n_lines: int | None,
    defaults: Mapping[str, str] | None = None,
    rejects: Sequence[tuple[int, int, str, str]] = (),
    detail: Mapping[str, Any] | None = None,
) -> Parsed:
    """Tables of rows.

    Args:
        rows: fields in the terms of hipBLASLt's logs.
        texts: what stands in the file for each row, for rejects.
        first_lines: 1-based line of each row.
        scratch: where ids are made.
        n_lines: lines of the file.
        defaults: texts of fields that are left out.
        rejects: what was found unreadable before.
        detail: kept with the file.
    """
    into = CallTables(rejects=list(rejects))
    groups = [rows_group(rows, batch_of(texts, first_lines))] if rows else []
    tables = add_calls(scratch, groups, into, defaults)
    if into.counts:
        tables["workload_call"] = into.count_table()
    return Parsed(tables, reject_table(into.rejects), n_lines, into.n_rows, detail or {})
