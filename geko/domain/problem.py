"""A GEMM problem: what is multiplied, apart from how often, with which kernel and for how long it was timed.

Sizes and leading dimensions are those of column-major matrices, as hipBLASLt counts them: D = act(alpha·op(A)·op(B) +
beta·C + bias) with op(A) of m×k, op(B) of k×n and C, D of m×n, ``batch`` times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from geko.domain.identity import content_id


@dataclass(frozen=True, slots=True)
class Problem:
    """Identity of a GEMM problem; the fields are the columns of table ``problem``.

    Attributes:
        trans_a: ``"N"``, ``"T"`` or ``"C"``; likewise ``trans_b``.
        m, n, batch, k: sizes.
        a_type, b_type, c_type, d_type: hipBLASLt tokens such as ``"bf16_r"``.
        compute_type: without ``c_``, such as ``"f32_r"``; ``scale_type`` is the type of alpha and beta.
        scale_a, scale_b, scale_c, scale_d: hipBLASLt scaling-format codes, 0 for none.
        swizzle_a, swizzle_b: the operand is pre-swizzled.
        bias_type, bias_source: None without a bias vector.
        activation: ``"none"``, ``"gelu"``, ``"relu"``, ...
        aux_type: type of the auxiliary output, None without one (``use_e``).
        gradient, scale_alpha_vector, grouped: epilogue and kind switches.
        alpha_class, beta_class: ``"one"``/``"other"`` and ``"zero"``/``"other"``.
        lda, ldb, ldc, ldd: leading dimensions, None where packed.
        stride_a, stride_b, stride_c, stride_d: batch strides, None where packed and for a single matrix.
    """

    trans_a: str
    trans_b: str
    m: int
    n: int
    batch: int
    k: int
    a_type: str
    b_type: str
    c_type: str
    d_type: str
    compute_type: str
    scale_type: str = "f32_r"
    scale_a: int = 0
    scale_b: int = 0
    scale_c: int = 0
    scale_d: int = 0
    swizzle_a: bool = False
    swizzle_b: bool = False
    bias_type: str | None = None
    bias_source: str | None = None
    activation: str = "none"
    aux_type: str | None = None
    gradient: bool = False
    scale_alpha_vector: bool = False
    grouped: bool = False
    alpha_class: str = "one"
    beta_class: str = "zero"
    lda: int | None = None
    ldb: int | None = None
    ldc: int | None = None
    ldd: int | None = None
    stride_a: int | None = None
    stride_b: int | None = None
    stride_c: int | None = None
    stride_d: int | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Problem:
        """Build a problem from a row of table ``problem``; other columns are ignored."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})

    @property
    def canonical_text(self) -> str:
        """The text that is hashed; the same as the SQL macro ``problem_text`` gives."""
        return "|".join(_text(getattr(self, name)) for name in _SORTED_FIELDS)

    @property
    def problem_id(self) -> str:
        """Id of the problem, as in column ``problem_id``."""
        return content_id("problem", self.canonical_text)

    @property
    def flops(self) -> int:
        """Floating-point operations of one call: 2·m·n·k·batch."""
        return 2 * self.m * self.n * self.k * self.batch


def _text(value: object) -> str:
    if value is None:
        return "~"
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


PROBLEM_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Problem))
_SORTED_FIELDS: tuple[str, ...] = tuple(sorted(PROBLEM_FIELDS))


def packed_leading_dimensions(problem: Problem) -> tuple[int, int, int, int]:
    """Leading dimensions (lda, ldb, ldc, ldd) of packed matrices of the problem's sizes."""
    lda = problem.m if problem.trans_a == "N" else problem.k
    ldb = problem.k if problem.trans_b == "N" else problem.n
    return lda, ldb, problem.m, problem.m
