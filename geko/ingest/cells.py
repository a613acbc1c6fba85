"""Rows written as ``key: value, key: value, ...``: many lines at once, whatever keys they have in whatever order.

Lines with equally many cells are split by Arrow's CSV reader. The keys of the first of them are compared with all
others, column by column; those with the same keys are one group, and the rest is looked at again.
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

_CELL = re.compile(r"\s*(?:([A-Za-z_][\w ./-]*?)?\s*:\s*)")
#: Layouts of one cell count that are read in bulk; lines of further ones are left to the slow reader.
_MAX_LAYOUTS = 64
_FAR = (1 << 31) - 1
_QUOTES = "'\""
_EMPTY = re.compile(r"[\s:]*")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows with the same fields.

    Attributes:
        columns: texts by canonical field name, null where the field is empty.
        lines: what they were read from; row i of the columns belongs to line i.
    """

    columns: dict[str, pa.Array]
    lines: LineBatch


def read_cells(bodies: LineBatch) -> Iterator[RowGroup | LineBatch]:
    """Read ``key: value`` lists.

    Args:
        bodies: what stands between the braces; no line ends inside.

    Yields:
        Groups of rows, and batches of lines that this reader does not understand.
    """
    if not len(bodies):
        return
    counts = pc.count_substring(bodies.text, ",")
    for count in pc.unique(counts).to_pylist():
        chosen = bodies.filter(pc.equal(counts, count))
        columns = _split(chosen.text, count + 1)
        for _ in range(_MAX_LAYOUTS):
            if not len(chosen):
                break
            group, rest, mask = _take_layout(columns, chosen)
            yield group
            if not rest:
                break
            inverted = pc.invert(mask)
            chosen = chosen.filter(inverted)
            columns = [column.filter(inverted) for column in columns]
        else:
            if len(chosen):
                yield chosen


def _split(texts: pa.Array, width: int) -> list[pa.Array]:
    """The cells of each column."""
    joined = pc.binary_join_element_wise(texts, text_scalar("\n"), text_scalar(""))
    buffer = joined.buffers()[2]
    if width == 1 or buffer is None:
        return [texts]
    names = [str(index) for index in range(width)]
    table = pa_csv.read_csv(
        pa.BufferReader(buffer),
        read_options=pa_csv.ReadOptions(
            column_names=names, block_size=max(1 << 20, min(buffer.size, 1 << 24))
        ),
        parse_options=pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
        ),
    )
    return [column.combine_chunks() for column in table.columns]


def _take_layout(columns: list[pa.Array], lines: LineBatch) -> tuple[RowGroup | LineBatch, bool, pa.Array]:
    """The rows with the keys of the first one, whether others are left, and where the taken ones are."""
    keys: list[tuple[str, str] | None] = []
    mask: pa.Array | None = None
    understood = True
    for column in columns:
        first = column[0].as_py()
        match = _CELL.match(first)
        if match:
            prefix = match.group(0).rstrip()
            keys.append((match.group(1) or "", prefix))
            same = pc.starts_with(column, prefix)
        else:
            # An empty slot (", ,") is a known damage; anything else needs the slow reader.
            understood = understood and _EMPTY.fullmatch(first) is not None
            keys.append(None)
            same = pc.equal(column, pa.scalar(first, column.type))
        mask = same if mask is None else pc.and_(mask, same)
    assert mask is not None
    whole = pc.all(mask).as_py()
    taken = lines if whole else lines.filter(mask)
    if not understood:
        return taken, not whole, mask
    found: dict[str, pa.Array] = {}
    for column, key in zip(columns, keys, strict=True):
        if key is None or not key[0]:
            continue  # ": , :" is a field whose name and value were not printed
        name = ALIASES.get(key[0], key[0])
        if name in found:
            return taken, not whole, mask
        found[name] = _values(column if whole else column.filter(mask), len(key[1]))
    return RowGroup(found, taken), not whole, mask


def _values(cells: pa.Array, start: int) -> pa.Array:
    """What follows the key, without blanks and quotes; null where nothing does."""
    coded = cells.dictionary_encode()
    # Without a stop the kernel fails on non-empty arrays (pyarrow 26).
    values = pc.binary_slice(coded.dictionary.cast(pa.large_binary()), start, _FAR).cast(pa.large_string())
    values = pc.ascii_trim(pc.ascii_trim_whitespace(values), characters=_QUOTES)
    values = pc.if_else(pc.equal(values, ""), text_scalar(None), values)
    return values.take(coded.indices)
