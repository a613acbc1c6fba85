"""Text cells to typed Arrow columns, keeping what does not fit: shared by the parsers of printed tables."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

if TYPE_CHECKING:
    import polars as pl

_INTEGER = r"^[+-]?[0-9]{1,18}$"
_FLOAT = r"^(?i:[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|nan|inf|infinity))$"
_TRUE = pa.array(["1", "true", "True", "TRUE", "yes", "on"])
_FALSE = pa.array(["0", "false", "False", "FALSE", "no", "off"])


def read_cells(lines: Sequence[str], width: int) -> list[pa.Array]:
    """Split comma-separated lines, all of one width, into columns of trimmed text.

    Args:
        lines: each with exactly ``width - 1`` commas; quotes have no meaning.
        width: number of columns.
    """
    if not lines:
        return [pa.array([], pa.string())] * width
    if width == 1:
        return [pc.utf8_trim_whitespace(pa.array(lines, pa.string()))]
    names = [str(index) for index in range(width)]
    data = "\n".join(lines).encode()
    table = pa_csv.read_csv(
        io.BytesIO(data),
        read_options=pa_csv.ReadOptions(column_names=names, block_size=max(1 << 20, len(data) // 8)),
        parse_options=pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    return [pc.utf8_trim_whitespace(one_chunk(column)) for column in table.columns]


def read_table_cells(
    lines: Sequence[str], *, lower: bool = False
) -> tuple[pl.DataFrame, list[tuple[int, str, str]]]:
    """A comma-separated table whose first line names its columns, as trimmed text.

    Args:
        lines: of the file; blank ones are passed over, quotes have no meaning.
        lower: column names in lower case.

    Returns:
        The columns and ``line`` (1-based), and the lines of another width as rejects (line, reason, text).
    """
    import polars as pl

    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", 1)
    frame = frame.filter(pl.col("text").str.strip_chars() != "").with_columns(pl.col("line").cast(pl.Int64))
    if not len(frame):
        return pl.DataFrame({"line": []}, schema={"line": pl.Int64}), []
    names = [name.strip() for name in frame["text"][0].split(",")]
    names = [name.lower() for name in names] if lower else names
    rows = frame[1:]
    fits = rows["text"].str.count_matches(",", literal=True) == len(names) - 1
    reason = f"the line has not the {len(names)} cells of the header"
    rejects = [(line, reason, text) for line, text in rows.filter(~fits).iter_rows()]
    rows = rows.filter(fits)
    cells = read_cells(rows["text"].to_list(), len(names))
    columns = {name: pl.Series(name, cell, dtype=pl.String) for name, cell in zip(names, cells, strict=True)}
    return pl.DataFrame({**columns, "line": rows["line"]}), rejects


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def typed(cells: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Cast trimmed text to a type; what can't be cast becomes null.

    Args:
        cells: text.
        dtype: string, int64, float64 or bool.

    Returns:
        The typed column, and a boolean column that is true where a non-empty text was lost.
    """
    if pa.types.is_string(dtype):
        return cells, pa.repeat(False, len(cells))
    if pa.types.is_boolean(dtype):
        value = pc.if_else(
            pc.is_in(cells, _TRUE),
            True,
            pc.if_else(pc.is_in(cells, _FALSE), False, pa.scalar(None, pa.bool_())),
        )
    else:
        try:
            value = pc.cast(cells, dtype)
        except pa.ArrowInvalid:
            pattern = _INTEGER if pa.types.is_integer(dtype) else _FLOAT
            fits = pc.match_substring_regex(cells, pattern)
            value = pc.cast(pc.if_else(fits, cells, pa.scalar(None, pa.string())), dtype)
    given = pc.and_(pc.is_valid(cells), pc.fill_null(pc.not_equal(cells, ""), False))
    return value, pc.and_(given, pc.is_null(value))


def extra_json(columns: Mapping[str, pa.Array], n: int) -> pa.Array:
    """One JSON object of texts per row, in the order of the columns; null where all are null or empty.

    Args:
        columns: texts by the name they were printed under.
        n: number of rows.
    """
    parts: list[pa.Array] = []
    for name, column in columns.items():
        escaped = column
        for raw, code in (("\\", "\\\\"), ('"', '\\"'), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            escaped = pc.replace_substring(escaped, raw, code)
        key = name.replace("\\", "\\\\").replace('"', '\\"')
        item = pc.binary_join_element_wise(pa.scalar(f'"{key}":"'), escaped, pa.scalar('"'), "")
        parts.append(
            pc.if_else(pc.fill_null(pc.not_equal(column, ""), False), item, pa.scalar(None, pa.string()))
        )
    if not parts:
        return pa.nulls(n, pa.string())
    options = pc.JoinOptions(null_handling="skip")
    joined = pc.binary_join_element_wise(*parts, ",", options=options)
    text = pc.binary_join_element_wise(pa.scalar("{"), joined, pa.scalar("}"), "")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), text)


def merge_json(first: pa.Array, second: pa.Array) -> pa.Array:
    """Two columns of JSON objects, row by row in one object; null where both are null."""
    both = pc.and_(pc.is_valid(first), pc.is_valid(second))
    head = pc.utf8_slice_codeunits(first, 0, -1)
    merged = pc.binary_join_element_wise(head, pc.utf8_slice_codeunits(second, 1), ",")
    return pc.if_else(both, merged, pc.coalesce(first, second))
