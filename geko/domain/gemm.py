"""GEMM types and the sizes to tune, in hipBLASLt's and in Tensile's terms."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from geko.domain.dtypes import (
    BY_COMPUTE,
    BY_TOKEN,
    DTYPE,
    MX_BLOCKS,
    MX_LETTERS,
    MX_SCALE_TYPES,
    TENSILE_TO_TOKEN,
    NotTunableError,
    UnknownTypeError,
    add_c,
    canonical_scale_code,
    normalise_compute,
    type_support,
)
from geko.errors import InputError

#: Fields that a workload log must have for each GEMM, in the order of :meth:`GemmConfig.workload_log_rows`.
GEMM_LOG_FIELDS = (
    "transA", "transB", "batch_count", "M", "N", "K", "a_type", "b_type", "c_type", "d_type", "compute_type",
    "scaleA", "scaleB",
)  # fmt: skip
#: The same as columns of benchmark output: the key of a GEMM in results.
GEMM_FIELDS = tuple({"M": "m", "N": "n", "K": "k"}.get(name, name) for name in GEMM_LOG_FIELDS)
#: Fields of a GEMM type; the type of D is that of C.
GEMM_TYPE_FIELDS = ("transA", "transB", "a_type", "b_type", "c_type", "compute_type")

_COMPLEX_LETTERS = ("C", "Z")


def _transpose(name: str, value: object) -> str:
    if isinstance(value, bool):  # Tensile YAML writes TransposeA: True
        return "T" if value else "N"
    if value not in ("N", "T", "C"):
        raise InputError(f"Invalid {name} '{value}': must be N, T, or C for complex types")
    return str(value)


def _letter(name: str, token: str) -> str:
    if token in DTYPE:
        return DTYPE[token]
    if token in BY_TOKEN or token in BY_COMPUTE:
        raise NotTunableError(
            f"{name} '{token}' can be benchmarked, but not tuned. Tunable are {list(DTYPE)}"
        )
    raise UnknownTypeError(f"Invalid {name} '{token}'. Must be one of: {list(DTYPE)}")


def tensile_types(a_type: str, b_type: str, c_type: str, compute_type: str) -> tuple[str, str, str]:
    """Tensile's DataType, DestDataType and ComputeDataType of hipBLASLt types.

    Args:
        a_type: token of A.
        b_type: token of B.
        c_type: token of C and D.
        compute_type: compute token, with or without ``c_``.

    Raises:
        UnknownTypeError: an unknown token; :class:`NotTunableError` for one that can only be benchmarked.
        InputError: TF32 compute with matrices that aren't f32.
    """
    compute_token = normalise_compute(compute_type)
    a, b, c = _letter("a_type", a_type), _letter("b_type", b_type), _letter("c_type", c_type)
    compute = _letter("compute_type", compute_token)
    support = type_support(a_type, b_type, c_type, compute_token)
    if not support.tunable:
        raise InputError(support.reason)
    if compute == "X":
        return "X", "S", "S"
    if a in _COMPLEX_LETTERS and compute in ("S", "D"):
        compute = a
    return a if a == b else a + b, c, compute


def hipblaslt_types(data_type: str, dest_data_type: str, compute_data_type: str) -> tuple[str, str, str, str]:
    """hipBLASLt's types of A, B, C and compute of a Tensile triple.

    Args:
        data_type: letter of A and B (``B``, ``F8``), or the letters of A and of B (``F8B8``, ``HB``).
        dest_data_type: letter of C and D.
        compute_data_type: letter of the accumulator.

    Raises:
        InputError: a letter is unknown, the pair can be read in two ways, or the triple contradicts itself.
    """
    triple = (data_type, dest_data_type, compute_data_type)
    if not all(isinstance(letter, str) and letter for letter in triple):
        raise InputError(
            "data_type, dest_data_type, and compute_data_type must be non-empty strings", value=triple
        )
    if triple == ("X", "S", "S"):
        return "f32_r", "f32_r", "f32_r", "xf32_r"
    if data_type in TENSILE_TO_TOKEN:
        a_letter = b_letter = data_type
    else:
        splits = [
            (data_type[:cut], data_type[cut:])
            for cut in range(1, len(data_type))
            if data_type[:cut] in TENSILE_TO_TOKEN and data_type[cut:] in TENSILE_TO_TOKEN
        ]
        if not splits:
            known = ", ".join(TENSILE_TO_TOKEN)
            raise InputError(f"Cannot resolve Tensile DataType '{data_type}': one or two of {known}")
        if len(splits) > 1:
            raise InputError(f"Ambiguous Tensile DataType '{data_type}': could be {splits}")
        a_letter, b_letter = splits[0]
    for name, letter in (("DestDataType", dest_data_type), ("ComputeDataType", compute_data_type)):
        if letter not in TENSILE_TO_TOKEN:
            raise InputError(
                f"Cannot resolve Tensile {name} '{letter}': one of {', '.join(TENSILE_TO_TOKEN)}"
            )
    compute = {"C": "f32_r", "Z": "f64_r"}.get(compute_data_type, TENSILE_TO_TOKEN[compute_data_type])
    types = (
        TENSILE_TO_TOKEN[a_letter],
        TENSILE_TO_TOKEN[b_letter],
        TENSILE_TO_TOKEN[dest_data_type],
        compute,
    )
    try:
        back = tensile_types(*types)
    except InputError as error:
        raise InputError(
            f"Tensile triple {triple} is inconsistent with derived hipBLASLt types {types}: {error}"
        ) from error
    if back != triple:
        raise InputError(f"Tensile triple {triple} is inconsistent with derived hipBLASLt types {types}")
    return types


@dataclass(frozen=True)
class GemmType:
    """Transposes and types of a GEMM, in hipBLASLt's and in Tensile's terms.

    Give the hipBLASLt types or the Tensile letters: the others are derived. Both together must agree.

    Attributes:
        transA: N, T, or C (conjugate transpose, complex types only); booleans are accepted.
        transB: the same for B.
        a_type: hipBLASLt token of A.
        b_type: hipBLASLt token of B.
        c_type: hipBLASLt token of C and D.
        compute_type: hipBLASLt token, stored without ``c_``.
        data_type: Tensile letter(s) of A and B.
        dest_data_type: Tensile letter of C and D.
        compute_data_type: Tensile letter of the accumulator.

    Raises:
        InputError: a field is invalid or the fields contradict each other.
    """

    transA: str
    transB: str
    a_type: str | None = None
    b_type: str | None = None
    c_type: str | None = None
    compute_type: str | None = None
    data_type: str | None = None
    dest_data_type: str | None = None
    compute_data_type: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "transA", _transpose("transA", self.transA))
        put(self, "transB", _transpose("transB", self.transB))
        tokens = (self.a_type, self.b_type, self.c_type, self.compute_type)
        letters = (self.data_type, self.dest_data_type, self.compute_data_type)
        if any(tokens) and not all(tokens):
            raise InputError(
                "a_type, b_type, c_type, and compute_type must be all set or all None", value=tokens
            )
        if not all(letters) and (any(letters) or not any(tokens)):
            raise InputError(
                "data_type, dest_data_type, and compute_data_type must be non-empty strings "
                "(or give the hipBLASLt types instead)",
                value=letters,
            )
        if any(tokens):
            a, b, c, compute = (str(token) for token in tokens)
            put(self, "compute_type", normalise_compute(compute))
            derived = tensile_types(a, b, c, compute)
            if any(letters) and letters != derived:
                raise InputError(f"Tensile letters {letters} don't belong to {tokens}, which give {derived}")
            for name, letter in zip(
                ("data_type", "dest_data_type", "compute_data_type"), derived, strict=True
            ):
                put(self, name, letter)
        else:
            types = hipblaslt_types(*(str(letter) for letter in letters))
            for name, token in zip(("a_type", "b_type", "c_type", "compute_type"), types, strict=True):
                put(self, name, token)
        if "C" in (self.transA, self.transB) and not BY_TOKEN[str(self.a_type)].is_complex:
            side = "transA" if self.transA == "C" else "transB"
            raise InputError(f"{side}='C' (conjugate transpose) is only valid for complex data types")

    @classmethod
    def from_hipblaslt(
        cls, transA: str | bool, transB: str | bool, a_type: str, b_type: str, c_type: str, compute_type: str
    ) -> GemmType:
        """GEMM type of hipBLASLt tokens, ``compute_type`` with or without ``c_``.

        Raises:
            UnknownTypeError: unknown token (also a ``KeyError``).
            InputError: an impossible combination.
        """
        return cls(transA, transB, a_type, b_type, c_type, compute_type)  # type: ignore[arg-type]

    @classmethod
    def from_tensile(
        cls,
        transA: str | bool,
        transB: str | bool,
        data_type: str,
        dest_data_type: str,
        compute_data_type: str,
    ) -> GemmType:
        """GEMM type of Tensile letters such as ``T, N, F8, B, S``.

        Raises:
            InputError: unknown, ambiguous or contradictory letters.
        """
        hipblaslt_types(data_type, dest_data_type, compute_data_type)
        return cls(
            transA,  # type: ignore[arg-type]
            transB,  # type: ignore[arg-type]
            data_type=data_type,
            dest_data_type=dest_data_type,
            compute_data_type=compute_data_type,
        )

    #: Name of the same constructor where tensilelite is a package of its own.
    from_tensilelite = from_tensile

    @property
    def type_letters(self) -> str:
        """Tensile letters in a row, ``BBS``."""
        return f"{self.data_type}{self.dest_data_type}{self.compute_data_type}"

    @property
    def gemm_name(self) -> str:
        """Letters and transposes, ``BBS_TN``."""
        return f"{self.type_letters}_{self.transA}{self.transB}"

    @property
    def name(self) -> str:
        """The same as :attr:`gemm_name`."""
        return self.gemm_name

    def workload_log_type_fields(self) -> dict[str, str]:
        """Transposes and types as a workload log writes them: D as C, ``compute_type`` with its ``c_``."""
        return {
            "transA": self.transA.upper(),
            "transB": self.transB.upper(),
            "a_type": str(self.a_type),
            "b_type": str(self.b_type),
            "c_type": str(self.c_type),
            "d_type": str(self.c_type),
            "compute_type": add_c(str(self.compute_type)),
        }


def _sizes(sizes: Iterable[Sequence[int]]) -> list[list[int]]:
    message = "Each size must be a list of four positive integers [M, N, batch_count, K]"
    result = []
    for size in sizes:
        if isinstance(size, str) or not isinstance(size, Iterable):
            raise InputError(message, value=size)
        values = list(size)
        try:
            numbers = [operator.index(value) for value in values if not isinstance(value, bool)]
        except TypeError:
            raise InputError(message, value=values) from None
        if len(values) != 4 or len(numbers) != 4 or min(numbers) < 1:
            raise InputError(message, value=values)
        result.append(numbers)
    if not result:
        raise InputError("sizes must be a non-empty list of [M, N, batch_count, K]")
    return result


@dataclass(frozen=True)
class GemmConfig:
    """A GEMM type, the sizes to tune it for, and its MX format.

    Attributes:
        gemm_type: transposes and types.
        sizes: list of ``[M, N, batch_count, K]``.
        mx: block scaled; always true for F4.
        mx_block: 16 or 32 elements a scale; ``None`` is the architecture's default. Given as 0: no MX.
        mx_scale_type: F8 or E5M3; ``None`` (also when given as E8) is E8.

    Raises:
        InputError: bad sizes or a contradictory MX format.
    """

    gemm_type: GemmType
    sizes: list[list[int]]
    mx: bool = False
    mx_block: int | None = None
    mx_scale_type: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "sizes", _sizes(self.sizes))
        letter = str(self.gemm_type.data_type)
        block = self.mx_block
        if self.mx_scale_type is not None and self.mx_scale_type not in MX_SCALE_TYPES:
            raise InputError(f"MX_SCALE_TYPE must be one of {MX_SCALE_TYPES}, got {self.mx_scale_type!r}")
        if block is not None and (isinstance(block, bool) or block not in (0, *MX_BLOCKS)):
            raise InputError(f"MX_BLOCK must be one of {MX_BLOCKS}, got {block!r}")
        if block == 0:
            if letter == "F4":
                raise InputError("data type 'F4' is always MX block scaled: MX_BLOCK can't be 0")
            if self.mx:
                raise InputError("MX: True conflicts with MX_BLOCK: 0")
        mx = bool(self.mx) or bool(block) or letter == "F4"
        if mx and letter not in MX_LETTERS:
            raise InputError(
                f"MX mode is not compatible with data type '{letter}': only {', '.join(MX_LETTERS)}"
            )
        if self.mx_scale_type is not None and not mx:
            raise InputError("MX_SCALE_TYPE needs MX to be on")
        put(self, "mx", mx)
        put(self, "mx_block", block or None)
        put(self, "mx_scale_type", None if self.mx_scale_type == "E8" else self.mx_scale_type)

    @property
    def mx_format(self) -> tuple[int, str] | None:
        """Block (the default 32 where none is set) and scale type; ``None`` without MX."""
        return (self.mx_block or 32, self.mx_scale_type or "E8") if self.mx else None

    @property
    def name(self) -> str:
        """GEMM name, with the MX format where the types don't imply it: ``F8BS_MXE8B32_TN``."""
        fmt = self.mx_format
        if fmt is None or (self.gemm_type.data_type == "F4" and fmt == (32, "E8")):
            return self.gemm_type.gemm_name
        trans = f"{self.gemm_type.transA}{self.gemm_type.transB}"
        return f"{self.gemm_type.type_letters}_MX{fmt[1]}B{fmt[0]}_{trans}"

    def workload_log_rows(self, mx_scale: int | None = None) -> list[dict[str, Any]]:
        """One workload-log row a size; the keys are :data:`GEMM_LOG_FIELDS`.

        Args:
            mx_scale: ``scaleA`` / ``scaleB`` code of MX rows; the format's canonical code when left out (3
                for 32, E8). :func:`geko.domain.arch.mx_scale_code` knows the code that an architecture wants.
        """
        fmt = self.mx_format
        scale = 0 if fmt is None else canonical_scale_code(*fmt) if mx_scale is None else mx_scale
        types = self.gemm_type.workload_log_type_fields()
        rows = []
        for m, n, batch, k in self.sizes:
            row = {**types, "batch_count": batch, "M": m, "N": n, "K": k, "scaleA": scale, "scaleB": scale}
            rows.append({name: row[name] for name in GEMM_LOG_FIELDS})
        return rows


def merge_gemm_configs(configs: Iterable[GemmConfig]) -> list[GemmConfig]:
    """Join configurations of one type and MX format; sizes keep their order, duplicates go."""
    merged: dict[tuple[GemmType, tuple[int, str] | None], list[GemmConfig]] = {}
    for config in configs:
        merged.setdefault((config.gemm_type, config.mx_format), []).append(config)
    result = []
    for group in merged.values():
        sizes = list({tuple(size): None for config in group for size in config.sizes})
        first = group[0]
        result.append(
            GemmConfig(
                first.gemm_type, [list(s) for s in sizes], first.mx, first.mx_block, first.mx_scale_type
            )
        )
    return result
