"""Many kernel names at once: the work goes by column of alike names, not by name.

Names of one library have few layouts: the same keys in the same order, only the digits differ. All names of
one layout are split at once into columns of pieces; a column has few distinct pieces, each parsed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from geko.domain.kernel_columns import HOT_COLUMNS, HOT_TOKENS, hot_head
from geko.domain.kernel_name import (
    Head,
    KernelName,
    Token,
    is_element,
    is_kernel_token,
    is_tile,
    json_fragment,
    parse_head,
    parse_name,
    parse_token,
    takes_elements,
    unique_key,
)

if TYPE_CHECKING:
    import pyarrow as pa

_POLARS = {"int": pl.Int32, "str": pl.String, "bool": pl.Boolean}

#: Columns of the result.
SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "family": pl.String,
    **{name: _POLARS[kind] for name, kind in HOT_COLUMNS.items()},
    "canonical": pl.String,
    "kernel_key": pl.String,
    "leftover": pl.List(pl.String),
}

#: Layout of a name: what is left without digits and the minus sign.
_LAYOUT = b"0123456789n"

#: Below this many names of one layout, one by one is faster.
_LEAST_ALIKE = 64


def _distinct(names: Any) -> list[str]:
    values: Iterable[str | None]
    if isinstance(names, pl.Series):
        values = names.cast(pl.String).unique(maintain_order=True).to_list()
    elif hasattr(names, "to_pylist"):
        values = names.unique().to_pylist()  # an Arrow array or chunked array
    else:
        values = names
    return [name for name in dict.fromkeys(values) if name is not None]


def parse_distinct(names: Iterable[str | None] | pl.Series | pa.ChunkedArray | pa.Array) -> pl.DataFrame:
    """See :func:`geko.domain.kernel_name.parse_names`."""
    distinct = _distinct(names)
    groups: dict[tuple[str, bytes], list[int]] = {}
    bodies: list[str] = []
    for index, name in enumerate(distinct):
        # The cheap split is right where _MT starts the macro tile; _parse_alike checks that it does.
        head, _, body = name.strip().removesuffix(".kd").partition("_MT")
        bodies.append(f"MT{body}")
        groups.setdefault((head, body.encode().translate(None, _LAYOUT)), []).append(index)
    blocks: list[pl.DataFrame] = []
    single: list[int] = []
    for (head, _), members in groups.items():
        alike = pl.Series([bodies[index] for index in members]) if len(members) >= _LEAST_ALIKE else None
        block = None if alike is None else _parse_alike(head, alike)
        if block is None:
            single += members
            continue
        named = block.with_columns(
            pl.Series("name", [distinct[index] for index in members], dtype=pl.String),
            pl.Series("_order", members, dtype=pl.Int64),
        )
        blocks.append(named.select(*SCHEMA, "_order"))
    if single or not blocks:
        rows = [_parse_singly(distinct[index]) for index in single]
        block = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        blocks.append(block.with_columns(pl.Series("_order", single, dtype=pl.Int64)))
    return pl.concat(blocks).sort("_order").drop("_order").rechunk()


def _parse_singly(name: str) -> dict[str, Any]:
    """One row, for names that share their layout with few others."""
    parsed: KernelName = parse_name(name)
    return {
        "name": name,
        "family": parsed.family,
        **parsed.hot(),
        "canonical": parsed.canonical_json(),
        "kernel_key": parsed.kernel_key(),
        "leftover": list(parsed.leftover),
    }


class _Column:
    """One token of a layout: an expression for its text in each name, and what each distinct text means."""

    def __init__(self, text: pl.Expr, distinct: Iterable[str]) -> None:
        self.text = text
        self.parsed: dict[str, Token] = {piece: parse_token(piece) for piece in distinct}

    def token(self) -> Token | None:
        """Any of the tokens, when all have one key."""
        tokens = list(self.parsed.values())
        same = all(token.key == tokens[0].key and token.known == tokens[0].known for token in tokens)
        return tokens[0] if same else None

    def map(self, table: dict[str, Any], dtype: Any) -> pl.Expr:
        """The value of each name's text; a literal when all are the same."""
        values = list(table.values())
        if all(value == values[0] for value in values):
            return pl.lit(values[0], dtype=dtype)
        return self.text.replace_strict(list(table), pl.Series(values, dtype=dtype), return_dtype=dtype)


def _parse_alike(head_text: str, bodies: pl.Series) -> pl.DataFrame | None:
    """All names of one head and layout; ``None`` when their pieces turn out not to be alike."""
    head = parse_head(head_text)
    if not head.contraction or head.custom:
        return None
    pieces = bodies.str.split_exact("_", bodies[0].count("_")).struct.unnest()
    columns = _token_columns(pieces)
    if not columns or not all(map(is_tile, columns[0].parsed)):
        return None
    by_key: dict[str, _Column] = {}
    leftover: list[str] = []
    for column in columns:
        token = column.token()
        if token is None:
            return None
        by_key[unique_key(token.key, by_key)] = column
        if not token.known and token.key != "UserArgs":
            leftover.append(token.key)
    result: dict[str, pl.Expr] = {
        "family": pl.lit("tensile"),
        "canonical": _json_column(head, by_key, kernel_only=False),
        "kernel_key": _json_column(head, by_key, kernel_only=True),
        "leftover": pl.lit(leftover, dtype=pl.List(pl.String)),
    }
    for name, value in hot_head(head).items():
        result[name] = pl.lit(value, dtype=SCHEMA[name])
    for name, (kind, sources) in HOT_TOKENS.items():
        result[name] = pl.lit(False if kind == "bool" else None, dtype=SCHEMA[name])
        for key, extract in sources:
            if key in by_key:
                column = by_key[key]
                values = {text: extract(token.value) for text, token in column.parsed.items()}
                result[name] = column.map(values, SCHEMA[name])
                break
    # One query for all columns; with_columns spreads literals over the rows.
    return pieces.with_columns(expression.alias(name) for name, expression in result.items()).select(*result)


def _token_columns(pieces: pl.DataFrame) -> list[_Column] | None:
    """Columns of tokens; list elements are joined as in :func:`geko.domain.kernel_name.split_name`."""
    distinct = pieces.select(pl.all().unique().implode()).row(0, named=True)
    groups: list[list[str]] = []
    open_list = False
    for column, texts in distinct.items():
        kinds = {(bool(text), is_element(text)) for text in texts}
        if len(kinds) != 1:
            return None
        filled, digits = kinds.pop()
        if not filled:
            continue
        if digits and open_list:
            groups[-1].append(column)
            continue
        takes = {takes_elements(text) for text in texts}
        if len(takes) != 1:
            return None
        groups.append([column])
        open_list = takes.pop()
    lists = {group[0]: pl.concat_str(group, separator="_") for group in groups if len(group) > 1}
    if lists:
        joined = pieces.select(text.unique().implode().alias(name) for name, text in lists.items())
        distinct |= joined.row(0, named=True)
    return [_Column(lists.get(group[0], pl.col(group[0])), distinct[group[0]]) for group in groups]


def _json_column(head: Head, by_key: dict[str, _Column], *, kernel_only: bool) -> pl.Expr:
    """Canonical JSON of each name: the sorted fragments ``,"KEY":value`` put together."""
    parts: list[pl.Expr | str] = []

    def add(fragments: dict[str, str], column: _Column | None) -> None:
        if column is not None and len(set(fragments.values())) > 1:
            parts.append(column.map(fragments, pl.String))
            return
        text = next(iter(fragments.values()))
        if parts and isinstance(parts[-1], str):
            parts[-1] += text  # most tokens are constant: fewer parts to join a name
        else:
            parts.append(text)

    fixed = head.canonical()
    for key in sorted([*fixed, *by_key]):
        column = by_key.get(key)
        if column is None:
            add({"": json_fragment(key, fixed[key])}, None)
            continue
        wanted = {
            text: json_fragment(key, token.value)
            if not kernel_only or is_kernel_token(key, token.value)
            else ""
            for text, token in column.parsed.items()
        }
        add(wanted, column)
    joined = pl.concat_str([pl.lit(part) if isinstance(part, str) else part for part in parts])
    return pl.concat_str(pl.lit("{"), joined.str.slice(1), pl.lit("}"))
