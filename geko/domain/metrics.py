"""Work, traffic and shape classes of a GEMM; over columns they are macros of the warehouse (``shape_category``, ...).

The shape classes are those of the original tool, so that reports can be compared with its own.
"""

from __future__ import annotations

import math

from geko.domain.dtypes import bytes_of


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
