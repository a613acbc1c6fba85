"""Workload logs as CSV: the fields of hipBLASLt's profile log as columns, one row a call."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from geko.errors import InputError
from geko.ingest.calls import CallTables, add_calls
from geko.ingest.cells import RowGroup
from geko.ingest.fields import ALIASES
from geko.ingest.formats import Parsed, reject_table
from geko.ingest.lines import LineBatch

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_NEEDED = frozenset(("transA", "transB", "M", "N", "K", "a_type"))


def header_of(head: bytes) -> list[str] | None:
    """Canonical column names, if the first line that is not blank names the fields of a workload row."""
    for raw in head.decode("utf-8-sig", "replace").splitlines():
        if not raw.strip():
            continue
        if "," not in raw or "{" in raw:
            return None
        names = [cell.strip() for cell in next(csv.reader([raw]))]
        canonical = [ALIASES.get(name, name) for name in names]
        return canonical if set(canonical) >= _NEEDED else None
    return None


@dataclass(frozen=True, slots=True)
class HipblasltCsv:
    """A header with the fields' names; repeated headers (files put one after the other) are skipped."""

    kind: str = "hipblaslt-csv"
    version: int = 1
    title: str = "hipBLASLt workload log as CSV"

    def sniff(self, head: bytes, path: Path) -> float:
        """A header with sizes, transposes and types; results of a bench run have their own formats."""
        names = header_of(head)
        return 0.0 if names is None or "hipblaslt-Gflops" in names else 0.7

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a file; columns may come in any order and unknown ones are kept."""
        groups, into, n_lines = read_groups(path)
        tables = add_calls(scratch, groups, into)
        if into.counts:
            tables["workload_call"] = into.count_table()
        return Parsed(tables, reject_table(into.rejects), n_lines, into.n_rows)


FORMAT = HipblasltCsv()


def read_groups(path: Path) -> tuple[list[RowGroup], CallTables, int]:
    """Rows of a file, with its rejects and number of lines.

    Raises:
        InputError: the first line does not name the fields of a workload row.
    """
    with path.open("rb") as handle:
        names = header_of(handle.read(64 << 10))
    if names is None:
        raise InputError(
            f"the first line must name the fields of a workload row ({', '.join(sorted(_NEEDED))}, ...)",
            path=path,
            line=1,
        )
    into = CallTables()

    def odd(row: pa_csv.InvalidRow) -> str:
        reason = f"{row.actual_columns} cells where the header has {row.expected_columns}"
        into.rejects.append((row.number or 0, 1, reason, row.text or ""))
        return "skip"

    columns = [name or f"column {number}" for number, name in enumerate(names, 1)]
    table = pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(column_names=columns, use_threads=False),
        parse_options=pa_csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=odd),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.large_string()), check_utf8=False
        ),
    ).combine_chunks()
    # Rows are numbered as they stand, less those with a wrong number of cells.
    skipped = sorted(line for line, *_ in into.rejects)
    numbers = _numbers(len(table), skipped)
    header = pc.equal(
        pc.ascii_trim_whitespace(table["M"].combine_chunks()), pa.scalar("M", pa.large_string())
    )
    header = pc.or_(header, pc.equal(table["M"].combine_chunks(), pa.scalar("m", pa.large_string())))
    keep = pc.invert(header)
    named = {name: table[name].combine_chunks().filter(keep) for name in columns if name in names}
    named = {name: pc.ascii_trim_whitespace(column) for name, column in named.items()}
    rows = {name: _nulled(column).dictionary_encode() for name, column in named.items()}
    n = len(next(iter(rows.values()))) if rows else 0
    lines = LineBatch(_row_texts(named, n), pa.repeat(pa.scalar(1, pa.int64()), n), numbers.filter(keep))
    return [RowGroup(rows, lines)] if n else [], into, len(table) + len(skipped)


def _numbers(count: int, skipped: list[int]) -> pa.Array:
    gaps = set(skipped)
    return pa.array([n for n in range(1, count + len(skipped) + 1) if n not in gaps], pa.int64())


def _nulled(column: pa.Array) -> pa.Array:
    empty = pc.or_(pc.equal(column, ""), pc.equal(pc.utf8_lower(column), "nan"))
    return pc.if_else(empty, pa.scalar(None, pa.large_string()), column)


def _row_texts(columns: dict[str, pa.Array], count: int) -> pa.Array:
    if not count:
        return pa.array([], pa.large_string())
    return pc.binary_join_element_wise(*columns.values(), pa.scalar(",", pa.large_string()))
