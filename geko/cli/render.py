"""Rows on standard output: as a table for people, as JSON or CSV for programs. Works on columns, batch by batch."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

#: Cells of a terminal's table aren't cut below so many characters; the line is broken by the terminal then.
_MIN_CELL = 24


def render(
    rows: pa.Table | pa.RecordBatchReader | list[dict[str, Any]], form: str, *, whole: bool = False
) -> None:
    """Print rows.

    JSON is an array of objects, UTF-8. NaN and infinity are null there, as JSON has no such numbers. In JSON and CSV
    times are ISO 8601, binary values hexadecimal, and values of types that JSON doesn't know (maps, unions, intervals)
    are text.

    Args:
        rows: an Arrow table, a stream of batches, or dicts of equal keys.
        form: ``"table"``, ``"json"`` or ``"csv"``.
        whole: show long cells whole on a terminal too, where they are cut to fit its width; elsewhere they always are.
    """
    import pyarrow as pa

    if isinstance(rows, list):
        rows = pa.Table.from_pylist(rows)
    names = _distinct(rows.schema.names)
    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    if form == "table":
        fits = not whole and sys.stdout.isatty()
        _table(names, list(batches), shutil.get_terminal_size().columns if fits else None)
    elif form == "json":
        _json(names, iter(batches))
    else:
        _csv(names, iter(batches))
    sys.stdout.flush()


def _distinct(names: list[str]) -> list[str]:
    """Column names, a repeated one with a number behind it: no value may hide another in a JSON object."""
    taken = set(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        number, other = seen[name], name
        while number and other in taken:
            other, number = f"{name}_{number}", number + 1
        seen[name] += 1
        taken.add(other)
        found.append(other)
    return found


# Programs
# ---------------------------------------------------------------------------------------------


def _json(names: list[str], batches: Iterator[pa.RecordBatch]) -> None:
    between = "[\n "
    for batch in batches:
        if batch.num_rows:
            lines = _frame(names, batch, "json").write_ndjson()
            sys.stdout.write(between + lines.rstrip("\n").replace("\n", ",\n "))
            between = ",\n "
    sys.stdout.write("[\n]\n" if between[0] == "[" else "\n]\n")


def _csv(names: list[str], batches: Iterator[pa.RecordBatch]) -> None:
    import polars as pl

    if names:
        sys.stdout.write(pl.DataFrame({name: [] for name in names}).write_csv())
    for batch in batches:
        sys.stdout.write(_frame(names, batch, "csv").write_csv(include_header=False))


def _frame(names: list[str], batch: pa.RecordBatch, form: str) -> pl.DataFrame:
    import polars as pl

    columns = [
        pl.Series(name, _simple(column, form)) for name, column in zip(names, batch.columns, strict=True)
    ]
    return pl.DataFrame(columns)


def _simple(column: pa.Array, form: str) -> pa.Array:
    """A column of numbers, booleans, text and dates; for JSON also of lists and structs of these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, is_ = column.type, pa.types
    if is_.is_dictionary(kind):
        return _simple(column.dictionary_decode(), form)
    if is_.is_timestamp(kind):
        return _time_text(column, " " if form == "table" else "T")
    if is_.is_time(kind):
        return pc.cast(column, pa.string())
    if is_.is_decimal(kind):
        return _as_number(column) if form == "json" else column
    if _is_plain(kind) or (form == "json" and _is_nested_of(kind, _is_plain)):
        return column
    values = [_known_to_json(value) for value in column.to_pylist()]
    if form == "json" and _is_nested_of(kind, lambda inner: not (is_.is_map(inner) or is_.is_union(inner))):
        return pa.array(values)
    if is_.is_map(kind):
        values = [None if pairs is None else {str(key): value for key, value in pairs} for pairs in values]
    return pa.array([_text(value) for value in values], pa.string())


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_date,
             pa.types.is_string, pa.types.is_large_string)  # fmt: skip
    return any(test(kind) for test in tests)


def _is_nested_of(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Whether it is a list or structure whose innermost types all pass a test."""
    import pyarrow as pa

    def passes(inner: pa.DataType) -> bool:
        return (
            _is_nested_of(inner, test)
            if pa.types.is_nested(inner) and not pa.types.is_map(inner)
            else test(inner)
        )

    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(passes(field.type) for field in kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return passes(kind.value_type)
    return False


def _time_text(column: pa.Array, between: str) -> pa.Array:
    """Timestamps as text. Arrow's casts, unlike datetime, know nanoseconds and bear DuckDB's infinity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    clock = pc.cast(column, pa.timestamp(kind.unit, kind.tz and "UTC"))
    text = pc.cast(pc.cast(clock, pa.timestamp(kind.unit)), pa.string())
    zoned = pc.binary_join_element_wise(
        pc.utf8_replace_slice(text, 10, 11, between), "+00:00" if kind.tz else "", ""
    )
    beyond = pc.if_else(pc.less(pc.cast(clock, pa.int64()), 0), "-infinity", "infinity")
    return pc.if_else(pc.starts_with(text, "<"), beyond, zoned)


def _as_number(column: pa.Array) -> pa.Array:
    """Decimals as 64-bit integers where they are whole and small enough (such as most sums), else as doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with contextlib.suppress(pa.ArrowInvalid):
        if column.type.scale == 0:
            return pc.cast(column, pa.int64())
    return pc.cast(column, pa.float64())


def _known_to_json(value: Any) -> Any:
    """A value of a rare type with nothing in it that JSON doesn't know."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _known_to_json(inner) for key, inner in value.items()}
    if type(value).__name__ == "MonthDayNano":
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:g}S"
    if isinstance(value, (list, tuple)):
        return [_known_to_json(inner) for inner in value]
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else value


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return (
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, dict)) else str(value)
    )


# People
# ---------------------------------------------------------------------------------------------


def _table(names: list[str], batches: list[pa.RecordBatch], room: int | None) -> None:
    """Print a table; where it has only so much room, in characters, its longest texts are cut."""
    if not names:
        sys.stdout.write("(no rows)\n")
        return
    n_rows = sum(batch.num_rows for batch in batches)
    columns: list[list[str]] = []
    numeric: list[bool] = []
    for at, name in enumerate(names):
        parts = [_cells(_simple(batch.column(at), "table")) for batch in batches]
        columns.append([name, *(cell for cells, _ in parts for cell in cells)])
        numeric.append(n_rows > 0 and all(numbers for _, numbers in parts))
    widths = [max(map(len, cells)) for cells in columns]
    if room is not None:
        _narrow(widths, numeric, [len(name) for name in names], room - 2 * (len(names) - 1))
    padded = []
    for cells, width, numbers in zip(columns, widths, numeric, strict=True):
        pad = str.rjust if numbers else str.ljust
        cut = (cell if len(cell) <= width else cell[: width - 1] + "…" for cell in cells)
        shown = [pad(cell, width) for cell in cut]
        padded.append([shown[0], "-" * width, *shown[1:]])
    lines = ("  ".join(row).rstrip() for row in zip(*padded, strict=True))
    sys.stdout.write("\n".join(lines) + "\n")
    if n_rows == 0:
        sys.stdout.write("(no rows)\n")


def _narrow(widths: list[int], numeric: list[bool], least: list[int], room: int) -> None:
    """Make the widest columns of text narrower until all fit, but none narrower than its name or `_MIN_CELL`."""
    while sum(widths) > room:
        able = [at for at in range(len(widths)) if not numeric[at] and widths[at] > max(least[at], _MIN_CELL)]
        if not able:
            return
        widths[max(able, key=lambda at: widths[at])] -= 1


def _cells(column: pa.Array) -> tuple[list[str], bool]:
    """Texts of a column, and whether it is one of numbers (or empty)."""
    import pyarrow as pa

    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        return ["" if value is None else _number(value) for value in values], True
    if (
        pa.types.is_integer(column.type)
        or pa.types.is_decimal(column.type)
        or column.null_count == len(values)
    ):
        return ["" if value is None else str(value) for value in values], True
    return ["" if value is None else str(value).replace("\n", " ") for value in values], False


def _number(value: float) -> str:
    size = abs(value)
    if 0 < size < 5e-5 or size >= 1e9:
        return f"{value:.6g}"
    return f"{value:.4f}" if size < 100 else f"{value:.1f}"
