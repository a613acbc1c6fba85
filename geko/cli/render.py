"""Rows on standard output: as a table for people, as JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_CELL = 100


def render(rows: pa.Table | pa.RecordBatchReader | list[dict[str, Any]], form: str) -> None:
    """Print rows.

    Args:
        rows: an Arrow table, a stream of batches, or dicts.
        form: ``"table"``, ``"json"`` (an array of objects) or ``"csv"``.
    """
    names, records = _records(rows)
    if form == "json":
        _json(records)
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_plain(record[name]) for name in names] for record in records)
    else:
        _table(names, list(records))
    sys.stdout.flush()


def _records(rows: Any) -> tuple[list[str], Iterator[dict[str, Any]]]:
    if isinstance(rows, list):
        return (list(rows[0]) if rows else []), iter(rows)
    batches: Iterable[Any] = rows.to_batches() if hasattr(rows, "to_batches") else rows
    return list(rows.schema.names), (record for batch in batches for record in batch.to_pylist())


def _json(records: Iterator[dict[str, Any]]) -> None:
    sys.stdout.write("[")
    for number, record in enumerate(records):
        sys.stdout.write(",\n " if number else "\n ")
        sys.stdout.write(json.dumps(record, ensure_ascii=False, default=str))
    sys.stdout.write("\n]\n")


def _plain(value: Any) -> Any:
    return (
        json.dumps(value, default=str) if isinstance(value, (list, dict)) else "" if value is None else value
    )


def _table(names: list[str], records: list[dict[str, Any]]) -> None:
    if not names:
        return
    cells = [[_cell(record[name]) for name in names] for record in records]
    right = [bool(records) and all(_is_number(record[name]) for record in records) for name in names]
    widths = [max([len(name), *(len(row[column]) for row in cells)]) for column, name in enumerate(names)]
    lines = [names, ["-" * width for width in widths], *cells]
    for line in lines:
        padded = (
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(line, widths, right, strict=True)
        )
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
    if not cells:
        sys.stdout.write("(no rows)\n")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 100 else f"{value:.1f}" if abs(value) < 1e9 else f"{value:.6g}"
    text = str(_plain(value)).replace("\n", " ")
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"
