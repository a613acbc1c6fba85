"""Rows of any source as rows of table ``problem``: types spelt one way, what is packed left out, defaults
filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import polars as pl

from geko.domain.dtypes import UnknownTypeError, canonical_type, default_scale_type, normalise_compute
from geko.domain.problem import Problem

_TEXT = {
    "trans_a", "trans_b", "a_type", "b_type", "c_type", "d_type", "compute_type", "scale_type", "bias_type",
    "bias_source", "activation", "aux_type", "alpha_class", "beta_class",
}  # fmt: skip
_FLAGS = {"swizzle_a", "swizzle_b", "gradient", "scale_alpha_vector", "grouped"}
_CODES = {"scale_a", "scale_b", "scale_c", "scale_d"}


def _dtype(name: str) -> Any:
    return (
        pl.String
        if name in _TEXT
        else pl.Boolean
        if name in _FLAGS
        else pl.Int32
        if name in _CODES
        else pl.Int64
    )


#: Columns of table ``problem`` less its id, with the types used here.
PROBLEM_SCHEMA: dict[str, Any] = {field.name: _dtype(field.name) for field in fields(Problem)}
_DEFAULTS: dict[str, Any] = {
    "batch": 1, "scale_a": 0, "scale_b": 0, "scale_c": 0, "scale_d": 0, "swizzle_a": False,
    "swizzle_b": False, "activation": "none", "gradient": False, "scale_alpha_vector": False, "grouped": False,
    "alpha": 1.0, "beta": 0.0,
}  # fmt: skip
_SIZES = ("m", "n", "batch", "k")
_TYPES = ("a_type", "b_type", "c_type", "d_type")


def map_distinct(frame: pl.DataFrame, name: str, function: Callable[[str], str | None]) -> pl.Expr:
    """Expression that applies a Python function to a text column, called once per distinct text."""
    texts = [text for text in frame[name].unique().to_list() if text is not None]
    if not texts:
        return pl.lit(None, dtype=pl.String).alias(name)
    values = pl.Series([function(text) for text in texts], dtype=pl.String)
    return pl.col(name).replace_strict(texts, values, return_dtype=pl.String).alias(name)


def with_problem_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Add or rewrite the columns of table ``problem``.

    Args:
        frame: any of those columns; ``alpha`` and ``beta`` (numbers) in place of their classes. Leading
            dimensions and strides may be given in full. Needed are the transposes, m, n, k, one of the types
            and the compute type; missing b, c, d types are those of a, b, c; the bias type counts only where
            ``bias_vector`` (if there is such a column) is true.

    Returns:
        The frame with exactly typed problem columns and a column ``reason``: why a row is no problem, else
        null. Other columns are kept; ``alpha``, ``beta`` and ``bias_vector`` are gone.
    """
    absent = [
        pl.lit(_DEFAULTS.get(name), dtype=dtype).alias(name)
        for name, dtype in {**PROBLEM_SCHEMA, "alpha": pl.Float64, "beta": pl.Float64}.items()
        if name not in frame.columns
    ]
    frame = frame.with_columns(absent)
    frame = frame.with_columns(
        *(pl.col(name).fill_null(value) for name, value in _DEFAULTS.items()),
        # Old clients print fewer types: the others were equal to the ones that are there.
        d_type=pl.coalesce("d_type", "c_type", "b_type", "a_type"),
    ).with_columns(c_type=pl.coalesce("c_type", "d_type"), a_type=pl.coalesce("a_type", "c_type", "d_type"))
    frame = frame.with_columns(b_type=pl.coalesce("b_type", "a_type"))
    reason = _unusable(frame)
    frame = frame.with_columns(reason=reason)
    known = {
        name: map_distinct(frame, name, _known_type)
        for name in (*_TYPES, "bias_type", "aux_type", "scale_type")
    }
    frame = frame.with_columns(
        **known,
        compute_type=map_distinct(frame, "compute_type", normalise_compute),
        trans_a=pl.col("trans_a").str.to_uppercase(),
        trans_b=pl.col("trans_b").str.to_uppercase(),
        activation=pl.col("activation").str.to_lowercase(),
    )
    bias = (
        pl.col("bias_vector").fill_null(False)
        if "bias_vector" in frame.columns
        else pl.col("bias_type").is_not_null()
    )
    frame = frame.with_columns(
        scale_type=pl.coalesce("scale_type", map_distinct(frame, "compute_type", default_scale_type)),
        bias_type=pl.when(bias).then(pl.coalesce("bias_type", "d_type")),
        bias_source=pl.when(bias).then(pl.coalesce("bias_source", pl.lit("d"))),
        alpha_class=pl.coalesce(
            "alpha_class", pl.when(pl.col("alpha") == 1).then(pl.lit("one")).otherwise(pl.lit("other"))
        ),
        beta_class=pl.coalesce(
            "beta_class", pl.when(pl.col("beta") == 0).then(pl.lit("zero")).otherwise(pl.lit("other"))
        ),
    )
    frame = _without_packed(frame)
    dropped = [name for name in ("alpha", "beta", "bias_vector") if name in frame.columns]
    return frame.drop(dropped).with_columns(
        pl.col(name).cast(dtype) for name, dtype in PROBLEM_SCHEMA.items()
    )


def _unusable(frame: pl.DataFrame) -> pl.Expr:
    reason = pl.lit(None, dtype=pl.String)
    for name in ("trans_a", "trans_b"):
        known = pl.col(name).str.to_uppercase().is_in(["N", "T", "C"]).fill_null(False)
        reason = pl.coalesce(reason, pl.when(~known).then(pl.lit(f"{name} is not N, T or C")))
    for name in _SIZES:
        bad = (pl.col(name) < 1).fill_null(True)
        reason = pl.coalesce(reason, pl.when(bad).then(pl.lit(f"{name} is missing or below 1")))
    for name in _TYPES:
        known = pl.col(name).is_in(
            [text for text in frame[name].unique().to_list() if text and _known_type(text)]
        )
        text = pl.concat_str(
            [pl.lit(f"{name} "), pl.col(name).fill_null("is missing"), pl.lit(": unknown data type")]
        )
        reason = pl.coalesce(reason, pl.when(~known.fill_null(False)).then(text))
    return pl.coalesce(
        reason, pl.when(pl.col("compute_type").is_null()).then(pl.lit("compute_type is missing"))
    )


def _known_type(text: str) -> str | None:
    try:
        return canonical_type(text)
    except UnknownTypeError:
        return None


def _without_packed(frame: pl.DataFrame) -> pl.DataFrame:
    """Null leading dimensions and strides that are those of packed matrices, and strides of a single
    matrix.
    """
    m, n, k = pl.col("m"), pl.col("n"), pl.col("k")
    plain_a, plain_b = pl.col("trans_a") == "N", pl.col("trans_b") == "N"
    rows = {
        "a": pl.when(plain_a).then(m).otherwise(k),
        "b": pl.when(plain_b).then(k).otherwise(n),
        "c": m,
        "d": m,
    }
    columns = {
        "a": pl.when(plain_a).then(k).otherwise(m),
        "b": pl.when(plain_b).then(n).otherwise(k),
        "c": n,
        "d": n,
    }
    result: dict[str, pl.Expr] = {}
    for matrix in "abcd":
        ld, stride = pl.col(f"ld{matrix}"), pl.col(f"stride_{matrix}")
        full = pl.coalesce(ld, rows[matrix])
        packed = full * columns[matrix]
        result[f"ld{matrix}"] = pl.when(ld != rows[matrix]).then(ld)
        result[f"stride_{matrix}"] = pl.when((pl.col("batch") > 1) & (stride != packed)).then(stride)
    return frame.with_columns(**result)
