"""Many kernel names at once: the work goes by column of alike names, not by name.

Names of one library have few layouts: the same keys in the same order, only the digits differ. All names of one layout
are split at once into columns of pieces; a column has a handful of distinct pieces, each parsed once.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from geko.domain.kernel_name import (
    HOT_COLUMNS,
    HOT_TOKENS,
    Head,
    KernelName,
    Token,
    hot_head,
    is_kernel_token,
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
_LAYOUT = {ord(char): None for char in "0123456789n"}


def _distinct(names: Iterable[str | None] | pl.Series | pa.ChunkedArray | pa.Array) -> list[str]:
    values: Iterable[str | None]
    if isinstance(names, pl.Series):
        values = names.cast(pl.String).unique(maintain_order=True).to_list()
    elif hasattr(names, "unique") and hasattr(names, "to_pylist"):
        values = names.unique().to_pylist()
    else:
        values = names
    return [name for name in dict.fromkeys(values) if name is not None]


def parse_distinct(names: Iterable[str | None] | pl.Series | pa.ChunkedArray | pa.Array) -> pl.DataFrame:
    """See :func:`geko.domain.kernel_name.parse_names`."""
    distinct = _distinct(names)
    groups: dict[tuple[str, str], list[int]] = {}
    texts: list[str] = []
    for index, name in enumerate(distinct):
        text = name.strip().removesuffix(".kd")
        texts.append(text)
        # The cheap split is right for all names whose _MT starts the macro tile; _parse_alike checks that it does.
        head, _, body = text.partition("_MT")
        groups.setdefault((head, body.translate(_LAYOUT)), []).append(index)
    order: list[int] = []
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA}
    for (head, _), members in groups.items():
        bodies = [texts[index][len(head) + 1 :] for index in members]
        block = _parse_alike(head, bodies)
        if block is None:
            block = _parse_singly([distinct[index] for index in members])
        block["name"] = [distinct[index] for index in members]
        order += members
        for name, values in columns.items():
            values += block[name]
    frame = pl.DataFrame(columns, schema=SCHEMA)
    return frame.with_columns(pl.Series("_order", order, dtype=pl.Int64)).sort("_order").drop("_order")


def _parse_singly(names: Sequence[str]) -> dict[str, list[Any]]:
    """Names that share no layout, one by one."""
    block: dict[str, list[Any]] = {name: [] for name in SCHEMA}
    for name in names:
        parsed: KernelName = parse_name(name)
        row = {
            **parsed.hot(),
            "family": parsed.family,
            "canonical": parsed.canonical_json(),
            "kernel_key": parsed.kernel_key(),
            "leftover": list(parsed.leftover),
        }
        for column, value in row.items():
            block[column].append(value)
    return block


class _Column:
    """One token of a layout: the text in each name, and what each distinct text means."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.parsed: dict[str, Token] = {text: parse_token(text) for text in set(texts)}

    @property
    def constant(self) -> bool:
        return len(self.parsed) == 1

    def token(self) -> Token | None:
        """Any of the tokens, when all have one key."""
        tokens = list(self.parsed.values())
        same = all(token.key == tokens[0].key and token.known == tokens[0].known for token in tokens)
        return tokens[0] if same else None

    def map(self, table: dict[str, Any]) -> Iterable[Any]:
        return itertools.repeat(next(iter(table.values()))) if self.constant else map(table.__getitem__, self.texts)


def _parse_alike(head_text: str, bodies: Sequence[str]) -> dict[str, list[Any]] | None:
    """All names of one head and layout; ``None`` when their pieces turn out not to be alike."""
    head = parse_head(head_text)
    columns = _token_columns([body.split("_") for body in bodies])
    if columns is None or not head.contraction or head.custom:
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
    if "MT" not in by_key or columns[0] is not by_key["MT"]:
        return None
    count = len(bodies)
    block: dict[str, list[Any]] = {
        "family": ["tensile"] * count,
        "canonical": _json_column(head, by_key, count, kernel_only=False),
        "kernel_key": _json_column(head, by_key, count, kernel_only=True),
        "leftover": [leftover] * count,
    }
    for name, value in hot_head(head).items():
        block[name] = [value] * count
    for name, (kind, sources) in HOT_TOKENS.items():
        values: Iterable[Any] = itertools.repeat(False if kind == "bool" else None)
        for key, extract in sources:
            if key in by_key:
                column = by_key[key]
                values = column.map({text: extract(token.value) for text, token in column.parsed.items()})
                break
        block[name] = list(itertools.islice(values, count))
    return block


def _token_columns(rows: Sequence[Sequence[str]]) -> list[_Column] | None:
    """Columns of tokens; the elements of list tokens are joined as in :func:`geko.domain.kernel_name.split_name`."""
    groups: list[list[tuple[str, ...]]] = []
    open_list = False
    for pieces in zip(*rows, strict=True):
        kinds = {(bool(piece), piece.isdigit()) for piece in set(pieces)}
        if len(kinds) != 1:
            return None
        filled, digits = kinds.pop()
        if not filled:
            continue
        if digits and open_list:
            groups[-1].append(pieces)
            continue
        groups.append([pieces])
        takes = {takes_elements(piece) for piece in set(pieces)}
        if len(takes) != 1:
            return None
        open_list = takes.pop()
    return [_Column(group[0] if len(group) == 1 else list(map("_".join, zip(*group, strict=True)))) for group in groups]


def _json_column(head: Head, by_key: dict[str, _Column], count: int, *, kernel_only: bool) -> list[str]:
    """Canonical JSON of each name: the sorted fragments ``"KEY":value,`` put together."""
    fragments: dict[str, Iterable[str]] = {
        key: itertools.repeat(_fragment(key, value)) for key, value in head.canonical().items()
    }
    for key, column in by_key.items():
        fragments[key] = column.map(
            {
                text: "" if kernel_only and not is_kernel_token(key, token.value) else _fragment(key, token.value)
                for text, token in column.parsed.items()
            }
        )
    rows = zip(*(fragments[key] for key in sorted(fragments)), strict=False)
    return [f"{{{''.join(row)[:-1]}}}" for row in itertools.islice(rows, count)]


def _fragment(key: str, value: object) -> str:
    return f"{json.dumps(key, ensure_ascii=False)}:{json.dumps(value, separators=(',', ':'), ensure_ascii=False)},"
