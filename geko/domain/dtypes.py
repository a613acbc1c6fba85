"""Data types of a GEMM: one table for every spelling that logs, libraries and tuned tables use.

Sources: the data-type enumerations of hipBLASLt (``hipDataType``, client tokens) and tensilelite
(``DataType``), the type names that PyTorch TunableOp, aiter and Transformer Engine write into their tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geko.errors import InputError


class UnknownTypeError(InputError, KeyError):
    """A data or compute type that no table of GEKO knows."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


class NotTunableError(UnknownTypeError):
    """A type that hipblaslt-bench can run, but for which no tuning configuration can be written."""


@dataclass(frozen=True, slots=True)
class DataType:
    """One storage type.

    Attributes:
        token: hipBLASLt client token, such as ``bf16_r``.
        tensile: letter(s) in Tensile names, such as ``B``; empty where Tensile has none.
        bits: size of one element in bits (a complex number counts both parts).
        enum: numbers of the Tensile ``DataType`` enumeration in serialised library logic.
        peak_class: class of matrix peak rate, see :class:`geko.domain.arch.Product`.
        tunable: whether tuning configurations can be written for it.
        torch: PyTorch name after ``torch.``.
        tunableop: name in TunableOp operator signatures (``GemmTunableOp_<name>_TN``).
        te: name in Transformer Engine's tuned tables.
        aliases: further spellings met (older clients, aiter's short names).
    """

    token: str
    tensile: str
    bits: int
    enum: tuple[int, ...] = ()
    peak_class: str = ""
    tunable: bool = False
    torch: str = ""
    tunableop: str = ""
    te: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def bytes(self) -> float:
        """Size of one element in bytes; fractional for 4 and 6 bit types."""
        return self.bits / 8

    @property
    def is_complex(self) -> bool:
        """Whether an element has a real and an imaginary part."""
        return self.token.endswith("_c")


_T = DataType
DATA_TYPES: tuple[DataType, ...] = (
    _T("f32_r", "S", 32, (0,), "f32", True, "float32", "float", "float32", ("f32", "fp32_r", "fp32")),
    _T("f64_r", "D", 64, (1,), "f64", True, "float64", "double", "float64", ("f64", "fp64_r", "fp64")),
    _T("f32_c", "C", 64, (2,), "f32", True, "complex64", "c10::complex<float>", "", ("fp32_c",)),
    _T("f64_c", "Z", 128, (3,), "f64", True, "complex128", "c10::complex<double>", "", ("fp64_c",)),
    _T("f16_r", "H", 16, (4,), "f16", True, "float16", "Half", "float16", ("f16", "fp16_r", "fp16")),
    _T("i32_r", "I", 32, (6,), "", False, "int32", "", "int32", ("i32", "int32")),
    _T("bf16_r", "B", 16, (7,), "bf16", True, "bfloat16", "BFloat16", "bfloat16", ("bf16",)),
    # 5 is int8x4, four packed int8 of the pre-MFMA GPUs: the same element type.
    _T("i8_r", "I8", 8, (8, 5), "i8", False, "int8", "", "byte", ("i8", "int8")),
    _T("i64_r", "", 64, (9,), "", False, "int64", "", "int64", ("i64",)),
    _T("xf32_r", "X", 32, (10,), "xf32", True, "", "tf32", "", ("xf32", "tf32")),
    # fnuz (gfx942) and OCP (gfx950 and later) fp8 differ in exponent bias and in zero / NaN: never one type.
    _T("f8_fnuz_r", "F8N", 8, (11,), "f8", True, "float8_e4m3fnuz", "Float8_e4m3fnuz", "", ("fp8_fnuz_r",)),
    _T("bf8_fnuz_r", "B8N", 8, (12,), "f8", True, "float8_e5m2fnuz", "Float8_e5m2fnuz", "", ()),
    _T("f8_r", "F8", 8, (15,), "f8", True, "float8_e4m3fn", "Float8_e4m3fn", "float8e4m3", ("fp8_r", "fp8")),
    _T("bf8_r", "B8", 8, (16,), "f8", True, "float8_e5m2", "Float8_e5m2", "float8e5m2", ("bf8",)),
    _T("f6_r", "F6", 6, (19,), "f6", False, "", "", "", ("fp6_r", "fp6")),
    _T("bf6_r", "B6", 6, (20,), "f6", False, "", "", "", ("bf6",)),
    _T("f4_r", "F4", 4, (21,), "f4", True, "float4_e2m1fn_x2", "", "", ("fp4_r", "fp4", "fp4x2")),
)  # fmt: skip

BY_TOKEN: dict[str, DataType] = {dtype.token: dtype for dtype in DATA_TYPES}

#: hipBLASLt token -> Tensile letter, of the types that can be tuned.
DTYPE: dict[str, str] = {dtype.token: dtype.tensile for dtype in DATA_TYPES if dtype.tunable}
#: Tensile letter -> hipBLASLt token (the inverse of :data:`DTYPE`).
TENSILE_TO_TOKEN: dict[str, str] = {letter: token for token, letter in DTYPE.items()}
#: hipBLASLt token -> bytes of one element.
DTYPE_BYTES: dict[str, float] = {
    dtype.token: dtype.bits // 8 if dtype.bits % 8 == 0 else dtype.bits / 8 for dtype in DATA_TYPES
}

#: Tensile enumeration numbers that name a pair of types for A and B; 13/14 are fnuz, 17/18 OCP.
PAIR_TYPES: dict[str, tuple[str, str]] = {
    "f8b8_fnuz": ("f8_fnuz_r", "bf8_fnuz_r"),
    "b8f8_fnuz": ("bf8_fnuz_r", "f8_fnuz_r"),
    "f8b8": ("f8_r", "bf8_r"),
    "b8f8": ("bf8_r", "f8_r"),
}
_PAIR_ENUM = {13: "f8b8_fnuz", 14: "b8f8_fnuz", 17: "f8b8", 18: "b8f8"}

#: Tensile ``DataType`` number of library logic -> hipBLASLt token, or a key of :data:`PAIR_TYPES`.
INDEX_TYPE_MAP: dict[int, str] = dict(
    sorted(
        {number: dtype.token for dtype in DATA_TYPES for number in dtype.enum}.items() | _PAIR_ENUM.items()
    )
)


def _spellings() -> dict[str, str]:
    table: dict[str, str] = {}
    for dtype in DATA_TYPES:
        names = [dtype.token, dtype.torch, f"torch.{dtype.torch}", dtype.tunableop, dtype.te, *dtype.aliases]
        for name in names:
            if name not in ("", "torch."):
                table.setdefault(name, dtype.token)
    return table


_SPELLINGS = _spellings()


def canonical_type(spelling: str) -> str:
    """Token of a data type in any spelling of the table (hipBLASLt, PyTorch, TunableOp, aiter, TE).

    Tensile letters are not accepted here (``B`` or ``C`` would be guesses); use :func:`from_letter`.

    Args:
        spelling: such as ``torch.bfloat16``, ``Half``, ``float8e4m3`` or ``bf16_r``.

    Raises:
        UnknownTypeError: no such spelling.
    """
    token = _SPELLINGS.get(spelling) or _SPELLINGS.get(spelling.strip())
    if token is None:
        raise UnknownTypeError(f"unknown data type; known are {', '.join(BY_TOKEN)}", value=spelling)
    return token


def from_letter(letter: str) -> str:
    """hipBLASLt token of one Tensile letter such as ``B`` or ``F8N``.

    Raises:
        UnknownTypeError: no such letter.
    """
    for dtype in DATA_TYPES:
        if dtype.tensile == letter and letter:
            return dtype.token
    raise UnknownTypeError("unknown Tensile data type", value=letter)


def bytes_of(token: str) -> float:
    """Bytes of one element (0.5 for ``f4_r``, 0.75 for ``f6_r``), NaN for an unknown type."""
    dtype = BY_TOKEN.get(token)
    return math.nan if dtype is None else dtype.bits / 8


_FNUZ = {"f8_fnuz_r": "f8_r", "bf8_fnuz_r": "bf8_r"}


def fold_fnuz(token: str) -> str:
    """OCP token of a fnuz fp8 type, other tokens unchanged.

    On gfx942 the hipBLASLt client runs ``f8_r`` as ``f8_fnuz_r`` and prints the latter; joins of requested
    and printed rows compare the folded tokens. Never fold where a type is an identity: the formats are not
    the same numbers.
    """
    return _FNUZ.get(token, token)


# Compute types --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComputeType:
    """How products are accumulated.

    Attributes:
        token: hipBLASLt token without its ``c_`` prefix.
        scale_type: default type of alpha and beta.
        tensile: Tensile letter; empty where tuning is not possible.
        peak_class: class of matrix peak rate that inputs are down-converted to; empty: that of the inputs.
        aliases: other spellings, without ``c_``.
    """

    token: str
    scale_type: str
    tensile: str = ""
    peak_class: str = ""
    aliases: tuple[str, ...] = ()


COMPUTE_TYPES: tuple[ComputeType, ...] = (
    ComputeType("f32_r", "f32_r", "S", "", ("f32",)),
    ComputeType("xf32_r", "f32_r", "X", "xf32", ("xf32", "f32_fast_xf32_r", "f32_fast_tf32_r")),
    ComputeType("f64_r", "f64_r", "D", "", ("f64",)),
    ComputeType("f16_r", "f16_r", "H", "", ("f16",)),
    ComputeType("f32_fast_f16_r", "f32_r", "", "f16", ("f32_f16_r", "f32_fast_f16")),
    ComputeType("f32_fast_bf16_r", "f32_r", "", "bf16", ("f32_bf16_r", "f32_fast_bf16")),
    ComputeType("i32_r", "i32_r", "", "", ("i32",)),
)

BY_COMPUTE: dict[str, ComputeType] = {compute.token: compute for compute in COMPUTE_TYPES}
_COMPUTE_ALIAS = {alias: compute.token for compute in COMPUTE_TYPES for alias in compute.aliases}


def strip_c(token: str) -> str:
    """Compute type without the ``c_`` prefix of workload logs."""
    return token.removeprefix("c_")


def add_c(token: str) -> str:
    """Compute type as workload logs write it: 32 and 64 bit types get ``c_``, others stay."""
    return token if token.startswith("c_") or not ("32" in token or "64" in token) else f"c_{token}"


def normalise_compute(token: str) -> str:
    """One spelling of a compute type, without ``c_``: ``c_f32_r`` -> ``f32_r``, ``xf32`` -> ``xf32_r``.

    Unknown types come back stripped, so that rows of types that only hipblaslt-bench knows stay apart.
    """
    bare = strip_c(token.strip())
    return _COMPUTE_ALIAS.get(bare, bare)


def default_scale_type(compute: str) -> str:
    """Type of alpha and beta that goes with a compute type: ``c_xf32_r`` -> ``f32_r``."""
    bare = normalise_compute(compute)
    known = BY_COMPUTE.get(bare)
    return known.scale_type if known else bare.removeprefix("x")


@dataclass(frozen=True, slots=True)
class TypeSupport:
    """What can be done with the types of one GEMM.

    Attributes:
        tunable: tuning configurations can be written.
        reason: why not; empty when tunable.
    """

    tunable: bool
    reason: str = ""


def type_support(a_type: str, b_type: str, c_type: str, compute_type: str) -> TypeSupport:
    """Whether a combination of hipBLASLt types can be tuned, or only benchmarked, and why.

    Never raises: a row of a log with a type that can't be tuned is reported, the other rows go on.
    """
    compute = normalise_compute(compute_type)
    for name, token in (("a_type", a_type), ("b_type", b_type), ("c_type", c_type)):
        if token not in DTYPE:
            known = "can be benchmarked, but not tuned" if token in BY_TOKEN else "is unknown"
            return TypeSupport(False, f"{name} {token} {known}")
        if token == "xf32_r":
            return TypeSupport(False, f"{name} xf32_r is a compute type: TF32 GEMMs have f32_r matrices")
    known_compute = BY_COMPUTE.get(compute)
    if not (known_compute and known_compute.tensile) and compute not in DTYPE:
        word = "can be benchmarked, but not tuned" if known_compute else "is unknown"
        return TypeSupport(False, f"compute_type {compute} {word}")
    if compute == "xf32_r" and not a_type == b_type == c_type == "f32_r":
        return TypeSupport(
            False, f"compute_type xf32_r needs f32_r matrices, not {a_type}, {b_type}, {c_type}"
        )
    return TypeSupport(True)


# Scaling formats of A and B ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScaleFormat:
    """Meaning of one ``scaleA`` / ``scaleB`` code (``hipblaslt_scaling_format`` of the clients).

    Attributes:
        code: the number in logs and bench files.
        name: the client's name for it.
        block: elements along K that share a scale; 0 when not block scaled.
        scale_type: Tensile name of the scale's type (E8, F8 = UE4M3, E5M3); empty when not block scaled.
    """

    code: int
    name: str
    block: int = 0
    scale_type: str = ""


SCALE_FORMATS: dict[int, ScaleFormat] = {
    fmt.code: fmt
    for fmt in (
        ScaleFormat(0, "none"),
        ScaleFormat(1, "Scalar"),
        ScaleFormat(2, "Vector"),
        ScaleFormat(3, "Block_32_UE8M0", 32, "E8"),
        ScaleFormat(4, "Block_16_UE8M0", 16, "E8"),
        ScaleFormat(5, "Block_32_UE4M3", 32, "F8"),
        ScaleFormat(6, "Block_16_UE4M3", 16, "F8"),
        ScaleFormat(7, "Block_32_UE5M3", 32, "E5M3"),
        ScaleFormat(8, "Block_16_UE5M3", 16, "E5M3"),
        # pre-swizzled in 32 x 8 tiles
        ScaleFormat(1001, "Block_32_UE8M0_32_8_EXT", 32, "E8"),
    )
}

MX_BLOCKS = (16, 32)
#: Tensile name of an MX scale type -> number of the Tensile ``DataType`` enumeration in library logic.
MX_SCALE_ENUM: dict[str, int] = {"E8": 22, "F8": 15, "E5M3": 23}
MX_SCALE_TYPES = tuple(MX_SCALE_ENUM)
#: Tensile letters whose matrices may be block scaled.
MX_LETTERS = ("F4", "F8")


def mx_format(code: int) -> tuple[int, str] | None:
    """Block size and scale type of a scale code; ``None`` for no, scalar and vector scaling.

    Raises:
        InputError: the code is unknown.
    """
    fmt = SCALE_FORMATS.get(int(code))
    if fmt is None:
        known = ", ".join(map(str, SCALE_FORMATS))
        raise InputError(f"Unknown hipBLASLt scale value {code}; known are {known}")
    return (fmt.block, fmt.scale_type) if fmt.block else None


def canonical_scale_code(block: int, scale_type: str) -> int:
    """Scale code of a block format in the canonical, not pre-swizzled layout (3 for 32 and E8).

    Raises:
        InputError: no such format.
    """
    for fmt in SCALE_FORMATS.values():
        if fmt.block == block and fmt.scale_type == scale_type and block:
            return fmt.code
    raise InputError(f"no scale format has block {block} and scale type {scale_type}")
