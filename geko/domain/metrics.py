"""Work, traffic and shape classes of GEMMs: for one GEMM, and as polars expressions over columns.

The shape classes are those of the original tool, so that reports can be compared with its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from geko.domain.dtypes import BY_TOKEN, bytes_of

if TYPE_CHECKING:
    import polars as pl


def flop_count(m: int, n: int, k: int, batch_count: int = 1) -> int:
    """Floating-point operations, 2·M·N·K·batch (hipBLASLt counts so for complex types, too)."""
    return 2 * m * n * k * batch_count


def bytes_moved(
    m: int,
    n: int,
    k: int,
    batch_count: int = 1,
    a_type: str = "f32_r",
    b_type: str | None = None,
    c_type: str | None = None,
    *,
    reads_c: bool = False,
    mx_block: int = 0,
) -> float:
    """Bytes that a GEMM moves at least: A and B read once, D written once.

    Args:
        m: rows of D.
        n: columns of D.
        k: summation length.
        batch_count: number of GEMMs.
        a_type: hipBLASLt token of A.
        b_type: of B; that of A when left out.
        c_type: of C and D; that of A when left out.
        reads_c: beta is not zero, so that C is read.
        mx_block: elements that share one scale byte of A and of B; 0 without block scaling.

    Returns:
        Bytes (fractions of a byte for sub-byte types are kept); NaN for an unknown type.
    """
    a, b, c = bytes_of(a_type), bytes_of(b_type or a_type), bytes_of(c_type or a_type)
    total = a * m * k + b * k * n + c * m * n * (2 if reads_c else 1)
    if mx_block:
        total += math.ceil(k / mx_block) * (m + n)
    return batch_count * total


def arithmetic_intensity(
    m: int,
    n: int,
    k: int,
    a_type: str,
    b_type: str | None = None,
    c_type: str | None = None,
    batch_count: int = 1,
) -> float:
    """FLOP a byte; the batch cancels. NaN for an unknown type."""
    return flop_count(m, n, k, batch_count) / bytes_moved(m, n, k, batch_count, a_type, b_type, c_type)


def categorize(m: int, n: int, k: int, batch_count: int = 1) -> str:
    """First shape class: one of 20 labels by batch, degenerate sizes and which sizes exceed 8192."""
    for least, label in _BATCH_CLASSES:
        if batch_count >= least:
            return label
    for name, size in (("M", m), ("N", n), ("K", k)):
        if size == 1:
            return f"{name}=1"
    large = "".join(name for name, size in (("M", m), ("N", n), ("K", k)) if size > _LARGE)
    if large in _ONE_LARGE:
        others = [size for name, size in (("M", m), ("N", n), ("K", k)) if name != large]
        return _ONE_LARGE[large][0 if max(others) <= _VERY_SMALL else 1]
    if large:
        return _MANY_LARGE[large]
    if max(m, n, k) <= 1024:
        return "Small GEMMs"
    return "Large GEMMs" if min(m, n, k) >= 4096 else "Medium GEMMs"


_LARGE = 8192
_VERY_SMALL = 128
_BATCH_CLASSES = (
    (8193, "Very large batch"),
    (1025, "Large batch"),
    (129, "Medium batch"),
    (2, "Small batch"),
)
_MANY_LARGE = {
    "MNK": "Very Large GEMMs",
    "NK": "Large N and K",
    "MK": "Large M and K",
    "MN": "Large M and N",
}
_ONE_LARGE = {
    "M": ("Large M, very small N and K", "Large M, smaller N and K"),
    "N": ("Large N, very small M and K", "Large N, smaller M and K"),
    "K": ("Large K, very small M and N", "Large K, smaller M and N"),
}


def categorize_2(m: int, n: int, k: int, batch_count: int = 1) -> str:
    """Second shape class: 1.1, 1.2 (skinny), 2 (deep K), 3.1 (batched), 3.2, 4, 5, 6; the first that fits."""
    area = m * n
    if area <= 2048 * 2048 and k >= 4096:
        return "2"
    if batch_count > 1:
        return "3.1"
    if ((m < 3073 and n > 32767) or (n < 3073 and m > 32767)) and k < 3073:
        return "1.2" if k % 64 else "1.1"
    if 256 * 256 < area < 3072 * 2048 and k > 512:
        return "4"
    if k <= 512 or (m < 33 and n < 33):
        return "3.2"
    if (m > 127 and n > 127 and area >= 256**3) or (m > 255 and n > 255 and area * batch_count >= 256**3):
        return "6"
    return "5"


# The same over columns of a polars frame --------------------------------------------------------------------


def _columns(m: str, n: str, k: str, batch_count: str) -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    import polars as pl

    # Int64: the product of three sizes does not fit 32 bits.
    return (
        pl.col(m).cast(pl.Int64),
        pl.col(n).cast(pl.Int64),
        pl.col(k).cast(pl.Int64),
        pl.col(batch_count).cast(pl.Int64),
    )


def flop_count_expr(m: str = "m", n: str = "n", k: str = "k", batch_count: str = "batch_count") -> pl.Expr:
    """:func:`flop_count` over the named columns (Int64)."""
    cm, cn, ck, cb = _columns(m, n, k, batch_count)
    return (2 * cm * cn * ck * cb).alias("flops")


def bytes_moved_expr(
    m: str = "m",
    n: str = "n",
    k: str = "k",
    batch_count: str = "batch_count",
    a_type: str = "a_type",
    b_type: str = "b_type",
    c_type: str = "c_type",
) -> pl.Expr:
    """:func:`bytes_moved` over the named columns (Float64, NaN for unknown types)."""
    import polars as pl

    sizes = {token: dtype.bytes for token, dtype in BY_TOKEN.items()}

    def size_of(column: str) -> pl.Expr:
        return pl.col(column).replace_strict(sizes, default=math.nan, return_dtype=pl.Float64)

    cm, cn, ck, cb = _columns(m, n, k, batch_count)
    per_gemm = size_of(a_type) * cm * ck + size_of(b_type) * ck * cn + size_of(c_type) * cm * cn
    return (cb * per_gemm).alias("bytes")


def arithmetic_intensity_expr(
    m: str = "m",
    n: str = "n",
    k: str = "k",
    batch_count: str = "batch_count",
    a_type: str = "a_type",
    b_type: str = "b_type",
    c_type: str = "c_type",
) -> pl.Expr:
    """:func:`arithmetic_intensity` over the named columns (Float64, FLOP a byte)."""
    flops = flop_count_expr(m, n, k, batch_count)
    return (flops / bytes_moved_expr(m, n, k, batch_count, a_type, b_type, c_type)).alias(
        "arithmetic_intensity"
    )


def categorize_expr(m: str = "m", n: str = "n", k: str = "k", batch_count: str = "batch_count") -> pl.Expr:
    """:func:`categorize` over the named columns (String)."""
    import polars as pl

    cm, cn, ck, cb = _columns(m, n, k, batch_count)
    sizes = {"M": cm, "N": cn, "K": ck}
    rules = [(cb >= least, label) for least, label in _BATCH_CLASSES]
    rules += [(size == 1, f"{name}=1") for name, size in sizes.items()]
    # Most letters first: with all three large, the pairs would also fit.
    rules += [
        (pl.all_horizontal([sizes[name] > _LARGE for name in names]), label)
        for names, label in _MANY_LARGE.items()
    ]
    for name, (very_small, smaller) in _ONE_LARGE.items():
        others = [size <= _VERY_SMALL for other, size in sizes.items() if other != name]
        rules += [
            ((sizes[name] > _LARGE) & others[0] & others[1], very_small),
            (sizes[name] > _LARGE, smaller),
        ]
    rules.append((pl.max_horizontal(cm, cn, ck) <= 1024, "Small GEMMs"))
    rules.append((pl.min_horizontal(cm, cn, ck) >= 4096, "Large GEMMs"))
    return _first_match(rules, "Medium GEMMs").alias("category")


def categorize_2_expr(m: str = "m", n: str = "n", k: str = "k", batch_count: str = "batch_count") -> pl.Expr:
    """:func:`categorize_2` over the named columns (String)."""
    cm, cn, ck, cb = _columns(m, n, k, batch_count)
    area = cm * cn
    skinny = (((cm < 3073) & (cn > 32767)) | ((cn < 3073) & (cm > 32767))) & (ck < 3073)
    rules = [
        ((area <= 2048 * 2048) & (ck >= 4096), "2"),
        (cb > 1, "3.1"),
        (skinny & (ck % 64 != 0), "1.2"),
        (skinny, "1.1"),
        ((area > 256 * 256) & (area < 3072 * 2048) & (ck > 512), "4"),
        ((ck <= 512) | ((cm < 33) & (cn < 33)), "3.2"),
        (
            ((cm > 127) & (cn > 127) & (area >= 256**3)) | ((cm > 255) & (cn > 255) & (area * cb >= 256**3)),
            "6",
        ),
    ]
    return _first_match(rules, "5").alias("category_2")


def _first_match(rules: list[tuple[pl.Expr, str]], default: str) -> pl.Expr:
    import polars as pl

    return pl.coalesce(
        [pl.when(condition).then(pl.lit(label)) for condition, label in rules] + [pl.lit(default)]
    )
