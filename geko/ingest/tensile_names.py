"""The GEMM that a Tensile kernel name stands for: transposes and types, for sources that print nothing
else."""

from __future__ import annotations

import functools

import polars as pl

from geko.domain.dtypes import TENSILE_TO_TOKEN
from geko.domain.gemm import hipblaslt_types
from geko.domain.kernel_name import parse_head
from geko.errors import InputError

_LETTERS = tuple(TENSILE_TO_TOKEN)

#: Columns that :func:`with_gemm_of_names` adds.
COLUMNS = ("name_trans_a", "name_trans_b", "a_type", "b_type", "c_type", "d_type", "compute_type")


@functools.lru_cache(maxsize=1024)
def gemm_types(letters: str) -> tuple[str, str, str, str] | None:
    """hipBLASLt types of A, B, C and compute of the type letters in a row; None if they can't be told.

    ``BBS`` is A and B, D, accumulator; ``F8B8HS`` has A and B apart; one letter stands for all three.
    """
    if letters in TENSILE_TO_TOKEN:
        token = TENSILE_TO_TOKEN[letters]
        return token, token, token, token
    found = set()
    for compute in _LETTERS:
        for dest in _LETTERS:
            data = letters.removesuffix(dest + compute)
            if data and data != letters:
                try:
                    found.add(hipblaslt_types(data, dest, compute))
                except InputError:
                    continue
    return found.pop() if len(found) == 1 else None


def with_gemm_of_names(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Add the transposes and types that the names in a column stand for; null where a name doesn't say.

    Names have few distinct heads (the part before the macro tile), each of which is parsed once.
    """
    # Encoded names are taken apart once per distinct name.
    encoded = frame.schema[name] == pl.Categorical
    key = pl.col(name).to_physical() if encoded else pl.col(name)
    frame = frame.with_columns(_name=key)
    distinct = frame.select("_name", _text=pl.col(name)).unique("_name", maintain_order=True, keep="first")
    distinct = distinct.select(
        "_name", _head=pl.col("_text").cast(pl.String).str.strip_chars().str.split("_MT").list.first()
    )
    rows = []
    for text in distinct["_head"].unique(maintain_order=True).drop_nulls().to_list():
        head = parse_head(text)
        types = gemm_types(head.types)
        a_type, b_type, c_type, compute = types or (None, None, None, None)
        rows.append(
            (text, head.trans_a or None, head.trans_b or None, a_type, b_type, c_type, c_type, compute)
        )
    heads = pl.DataFrame(rows, schema=dict.fromkeys(("_head", *COLUMNS), pl.String), orient="row")
    frame = frame.drop([column for column in COLUMNS if column in frame.columns])
    known = distinct.join(heads, on="_head", how="left").drop("_head")
    return frame.join(known, on="_name", how="left", maintain_order="left", nulls_equal=True).drop("_name")
