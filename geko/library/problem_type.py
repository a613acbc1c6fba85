"""What a library's ProblemType says, in hipBLASLt's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geko.domain.arch import mx_scale_code
from geko.domain.dtypes import INDEX_TYPE_MAP, MX_SCALE_ENUM, PAIR_TYPES
from geko.errors import InputError

_XF32 = 10
#: Compute token (without c_) by the Tensile number of ComputeDataType; complex types are printed as their
#: real type.
_COMPUTE = {0: "f32_r", 1: "f64_r", 2: "f32_r", 3: "f64_r", 4: "f16_r", 6: "i32_r", 8: "i32_r", 10: "xf32_r"}


@dataclass(frozen=True)
class GemmTypes:
    """Layout and types of the GEMMs that a library serves.

    Attributes:
        trans_a: ``N``, ``T`` or ``C``.
        trans_b: likewise.
        a_type: hipBLASLt token of A.
        b_type: of B.
        c_type: of C and D.
        compute_type: without ``c_``.
        mx_block_a: elements along K that share a scale; 0 when A is not block scaled.
        mx_block_b: likewise for B.
        mx_scale_a: Tensile name of A's scale type (``E8``, ``F8``, ``E5M3``); empty when not block scaled.
        mx_scale_b: likewise for B.
        swizzle_a: A is given swizzled.
        swizzle_b: B is given swizzled.
    """

    trans_a: str
    trans_b: str
    a_type: str
    b_type: str
    c_type: str
    compute_type: str
    mx_block_a: int = 0
    mx_block_b: int = 0
    mx_scale_a: str = ""
    mx_scale_b: str = ""
    swizzle_a: bool = False
    swizzle_b: bool = False


def gemm_types(problem_type: Mapping[str, Any]) -> GemmTypes:
    """Layout and types of a ProblemType.

    Args:
        problem_type: the mapping of a library's header.

    Raises:
        InputError: a data type number that no table knows.
    """
    a_type, b_type = _input_types(problem_type)
    return GemmTypes(
        trans_a=_trans(problem_type, "A"),
        trans_b=_trans(problem_type, "B"),
        a_type=a_type,
        b_type=b_type,
        c_type=_token(problem_type.get("DestDataType", problem_type.get("DataType"))),
        compute_type=_compute(problem_type, a_type),
        mx_block_a=int(problem_type.get("MXBlockA") or 0),
        mx_block_b=int(problem_type.get("MXBlockB") or 0),
        mx_scale_a=_mx_scale(problem_type, "A"),
        mx_scale_b=_mx_scale(problem_type, "B"),
        swizzle_a=bool(problem_type.get("SwizzleTensorA")),
        swizzle_b=bool(problem_type.get("SwizzleTensorB")),
    )


def _token(number: Any) -> str:
    token = INDEX_TYPE_MAP.get(number) if isinstance(number, int) else None
    if token is None:
        raise InputError("unknown Tensile DataType number in ProblemType", value=number)
    return token


def _input_types(problem_type: Mapping[str, Any]) -> tuple[str, str]:
    whole = _token(problem_type.get("DataType"))
    if whole in PAIR_TYPES:
        return PAIR_TYPES[whole]
    sides = []
    for side in "AB":
        number = problem_type.get(f"DataType{side}")
        sides.append(whole if number is None else _token(number))
    return sides[0], sides[1]


def _trans(problem_type: Mapping[str, Any], side: str) -> str:
    if problem_type.get(f"ComplexConjugate{side}"):
        return "C"
    return "T" if problem_type.get(f"Transpose{side}") else "N"


def _compute(problem_type: Mapping[str, Any], a_type: str) -> str:
    if problem_type.get("F32XdlMathOp") == _XF32:
        return "xf32_r"
    number = problem_type.get("ComputeDataType")
    if number is not None:
        token = _COMPUTE.get(number)
        if token is None:
            raise InputError("unknown ComputeDataType number in ProblemType", value=number)
        return token
    if a_type == "f16_r" and problem_type.get("HighPrecisionAccumulate"):
        return "f32_r"
    if a_type == "bf16_r":
        return "f32_r"
    return "i32_r" if a_type == "i8_r" else a_type.replace("_c", "_r")


def _mx_scale(problem_type: Mapping[str, Any], side: str) -> str:
    if not problem_type.get(f"MXBlock{side}"):
        return ""
    number = problem_type.get(f"DataTypeMXS{side}", MX_SCALE_ENUM["E8"])
    return next((name for name, enum in MX_SCALE_ENUM.items() if enum == number), "E8")


def served(problem_type: Mapping[str, Any], architecture: str | None = None) -> dict[str, Any]:
    """Which GEMMs a library's kernels can run, as columns of table ``logic_header``.

    A kernel with bias, activation or scales also runs GEMMs without; gradient, auxiliary output, grouping and swizzling
    must agree (the predicates of hipBLASLt 0.12.1, ``ContractionProblemPredicates.hpp``).

    Args:
        problem_type: the mapping of a library's header.
        architecture: of the library; it decides the code of block scales.

    Raises:
        InputError: a data type number that no table knows.
    """
    types = gemm_types(problem_type)
    get = problem_type.get
    use_bias = int(get("UseBias") or 0)
    numbers = get("BiasDataTypeList") if use_bias else []
    if numbers is None:
        # Files of 2023 leave it out: Tensile's default is every type of the problem.
        numbers = [get("DataType"), get("ComputeDataType"), get("DestDataType")]
    sources = get("BiasSrc") or "D"
    return {
        **{name: getattr(types, name) for name in _TYPE_COLUMNS},
        "mx_scale_a": _mx_code(types.mx_block_a, types.mx_scale_a, architecture),
        "mx_scale_b": _mx_code(types.mx_block_b, types.mx_scale_b, architecture),
        "swizzle_a": types.swizzle_a,
        "swizzle_b": types.swizzle_b,
        "use_bias": use_bias,
        "bias_types": sorted({_token(number) for number in numbers if number is not None}),
        "bias_sources": sorted(str(sources).lower()) if use_bias else [],
        "activation": str(get("ActivationType") or "none").lower() if get("Activation", True) else "none",
        "use_e": bool(get("UseE")),
        "gradient": bool(get("Gradient")),
        "use_scale_ab": _scale_ab(get("UseScaleAB")),
        "use_scale_cd": bool(get("UseScaleCD")),
        "scale_alpha_vector": bool(get("UseScaleAlphaVec")),
        "grouped": bool(get("GroupedGemm")),
    }


_TYPE_COLUMNS = ("trans_a", "trans_b", "a_type", "b_type", "c_type", "compute_type")


def _scale_ab(value: Any) -> str:
    # Files of 2023 say whether, later ones say how.
    return "Scalar" if value is True or value == 1 else str(value or "")


def _mx_code(block: int, scale: str, architecture: str | None) -> int:
    return mx_scale_code(block, scale, architecture) if block else 0
