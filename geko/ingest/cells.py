"""Rows written as ``key: value, key: value, ...``: many lines at once, with whatever keys in whatever order.

Lines with equally many cells are split by Arrow's CSV reader. The keys of the first of them are compared with
those of all others, column by column and on distinct cells only; lines with the same keys are one group, and
the rest is looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from geko.ingest.fields import ALIASES, text_scalar
from geko.ingest.lines import LineBatch

_KEY = r"(?:([A-Za-z_][\w ./-]*?)\s*)?:"
_CELL = re.compile(r"\s*" + _KEY)
_FIRST_CELL = r"^\s*-\s*\{\s*"
_FIRST = re.compile(_FIRST_CELL[1:] + _KEY)
_EMPTY = r"^\s*$"
_CLOSED = r"^\s*\}\s*$"
#: Layouts of one cell count that are read in bulk; lines of further ones are left to the slow reader.
_MAX_LAYOUTS = 64
_FAR = (1 << 31) - 1
_QUOTES = "'\""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows with the same fields.

    Attributes:
        columns: dictionary-encoded texts by canonical field name, null where the field is empty.
        lines: what they were read from; row i of the columns belongs to line i.
    """

    columns: dict[str, pa.DictionaryArray]
    lines: LineBatch


@dataclass(frozen=True, slots=True)
class _Cells:
    """One column of cells under a key: texts without key, blanks and quotes, and which of them are sound."""

    name: str
    values: pa.Array
    sound: pa.Array


def read_cells(lines: LineBatch, *, braces: bool) -> Iterator[RowGroup | LineBatch]:
    """Read ``key: value`` lists.

    Args:
        lines: one list each.
        braces: a list is written ``- {...}``; otherwise it stands alone.

    Yields:
        Groups of rows, and batches of lines that this reader does not understand.
    """
    if not len(lines):
        return
    for width, chosen in _by_width(lines):
        columns = _split(chosen, width)
        if columns is None:
            yield chosen
            continue
        if braces:
            first = columns[0]
            begins = pc.match_substring_regex(first.dictionary, _FIRST_CELL).take(first.indices)
            if not pc.all(begins).as_py():
                yield chosen.filter(pc.invert(begins))
                chosen = chosen.filter(begins)
                columns = [column.filter(begins) for column in columns]
        yield from _layouts(columns, chosen, braces)


def _by_width(lines: LineBatch) -> Iterator[tuple[int, LineBatch]]:
    """The lines by their number of cells."""
    import polars as pl

    # Arrow's kernel for this is five times slower.
    counts = pl.Series(pl.from_arrow(lines.text)).str.count_matches(",", literal=True)
    distinct = counts.unique(maintain_order=True).to_list()
    if len(distinct) == 1:
        yield distinct[0] + 1, lines
        return
    codes = counts.to_arrow()
    for count in distinct:
        yield count + 1, lines.filter(pc.equal(codes, count))


def _split(lines: LineBatch, width: int) -> list[pa.DictionaryArray] | None:
    """The cells of each column; None if the lines hold line ends of their own."""
    text = lines.with_ends()
    if width == 1:
        return [pc.ascii_trim_whitespace(text).dictionary_encode()]
    names = [str(index) for index in range(width)]
    longest = pc.max(pc.binary_length(text)).as_py()
    table = pa_csv.read_csv(
        pa.BufferReader(_data_of(text)),
        # Blocks that fit the cache are read three times faster than larger ones.
        read_options=pa_csv.ReadOptions(column_names=names, block_size=max(1 << 20, 2 * longest)),
        parse_options=pa_csv.ParseOptions(
            quote_char=False, ignore_empty_lines=False, invalid_row_handler=lambda row: "skip"
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=False
        ),
    )
    if len(table) != len(text):
        return None
    return [_one(column.dictionary_encode()) for column in table.columns]


def _one(coded: pa.ChunkedArray) -> pa.DictionaryArray:
    """A dictionary-encoded column as one array of large texts."""
    array = coded.chunk(0) if coded.num_chunks == 1 else coded.combine_chunks()
    return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.large_string()))


def _data_of(text: pa.Array) -> pa.Buffer:
    """The bytes of a text array, as they lie one after the other."""
    offsets = pa.Array.from_buffers(pa.int64(), len(text) + 1, [None, text.buffers()[1]], offset=text.offset)
    start, end = offsets[0].as_py(), offsets[len(text)].as_py()
    return text.buffers()[2].slice(start, end - start)


def _layouts(
    columns: list[pa.DictionaryArray], lines: LineBatch, braces: bool
) -> Iterator[RowGroup | LineBatch]:
    for _ in range(_MAX_LAYOUTS):
        if not len(lines):
            return
        layout = _layout_of_first(columns, braces)
        if layout is None:
            yield lines.slice(0, 1)
            lines = lines.slice(1)
            columns = [column.slice(1) for column in columns]
            continue
        mask = None
        for column, cells in zip(columns, layout, strict=True):
            if not pc.all(cells.sound).as_py():
                same = cells.sound.take(column.indices)
                mask = same if mask is None else pc.and_(mask, same)
        if mask is None:
            yield _group(columns, layout, lines)
            return
        yield _group([column.filter(mask) for column in columns], layout, lines.filter(mask))
        rest = pc.invert(mask)
        lines = lines.filter(rest)
        columns = [column.filter(rest) for column in columns]
    if len(lines):
        yield lines


def _layout_of_first(columns: list[pa.DictionaryArray], braces: bool) -> list[_Cells] | None:
    """How the first row is built; None if it is no list of distinct keys with plain values."""
    layout: list[_Cells] = []
    names: set[str] = set()
    for number, column in enumerate(columns):
        cells = column.dictionary
        at = column.indices[0].as_py()
        first = cells[at].as_py()
        closed = braces and number == len(columns) - 1
        match = (_FIRST if braces and number == 0 else _CELL).match(first)
        if match is None:
            # An empty slot (", ,") is a known damage.
            read = _Cells("", cells, pc.match_substring_regex(cells, _CLOSED if closed else _EMPTY))
        else:
            name = ALIASES.get(match.group(1) or "", match.group(1) or "")
            read = _read(name, cells, match.group(0), closed=closed)
        if not read.sound[at].as_py() or (read.name and read.name in names):
            return None
        names.add(read.name)
        layout.append(read)
    return layout


def _read(name: str, cells: pa.Array, prefix: str, *, closed: bool) -> _Cells:
    """Distinct cells under the key of one of them.

    Args:
        name: canonical name of the field, empty for ``: ,``.
        cells: distinct cells.
        prefix: how the one begins, up to the colon.
        closed: the closing brace follows.
    """
    sound = pc.starts_with(cells, prefix)
    # Without a stop the kernel fails on non-empty arrays (pyarrow 26).
    values = pc.binary_slice(cells.cast(pa.large_binary()), len(prefix.encode()), _FAR).cast(
        pa.large_string()
    )
    values = pc.ascii_trim_whitespace(values)
    if closed:
        sound = pc.and_(sound, pc.ends_with(values, "}"))
        values = pc.ascii_rtrim_whitespace(pc.replace_substring_regex(values, r"\}$", ""))
    sound = pc.and_(sound, pc.invert(pc.match_substring_regex(values, r"[{}\[\]]")))
    values = pc.ascii_trim(values, characters=_QUOTES)
    return _Cells(name, pc.if_else(pc.equal(values, ""), text_scalar(None), values), sound)


def _group(columns: list[pa.DictionaryArray], layout: list[_Cells], lines: LineBatch) -> RowGroup:
    return RowGroup(
        {
            cells.name: pa.DictionaryArray.from_arrays(column.indices, cells.values)
            for column, cells in zip(columns, layout, strict=True)
            if cells.name  # ": , :" is a field whose name and value were not printed
        },
        lines,
    )
