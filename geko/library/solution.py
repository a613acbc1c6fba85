"""What a solution is: its identity, and the columns that people filter by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geko.domain.identity import normalise

#: Where a solution stands, how it is called, what it is for: no part of what it is. ActivationFuncCall
#: changes when a kernel that was tuned as plain GEMM gets epilogues; it stays the same kernel.
_NOT_IDENTITY = frozenset(
    {
        *("SolutionIndex", "SolutionNameMin", "KernelNameMin", "BaseName", "ProblemType", "CUCount"),
        *(
            "ActivationFuncCall",
            "CodeObjectVersion",
            "Ideals",
            "BenchmarkFork",
            "Kernel",
            "Valid",
            "NoReject",
        ),
    }
)
#: Parameters that Tensile derives from the others (by comparing solutions in library logic with the
#: parameters that a tuning config may set).
_DERIVED = re.compile(
    "|".join(
        [
            "_.*",  # internals such as _DepthU, _GlobalAccumulation, _WorkspaceSizePerElemC
            "Assigned.*DerivedParameters",
            "L[SV][CP][AB]",
            "Lds(?:Offset|Num|Bytes).*",
            "NumLdsBlk",
            "NoLdsWriteCode",
            "Loop(?:Iters|Unroll)",
            "MI(?:Block|InputPerThread.*|OutputVectorWidth|RegPerOut|WaveTile(?:A|B|Metadata))",
            "MacroTile(?:A|B|ShapeMax|ShapeMin)",
            "MatrixInst(?:B|BM|BN|K|M|N)",
            "Num(?:ElementsPerThread|GlobalWriteVectorsPerThread|Loads.*|Threads)",
            "Num(?:TotalPackedLoads.*|MbskPrefetchElements)",
            "Packed.*",
            "SubGroup(?:0|1|A|B)",
            "ThreadTile(?:0|1|A|B)",
            "GuaranteeNoPartial.*",
            "fractionalPerpOverhang.*",
            "UnrollMajorLDS.*",
            "EnableMatrixInstruction",
            "WorkspaceCheck",
            "SynchronizerSizeCheck",
            "InternalSupportParams",
            "tailLoopOpt.*",
            "numSubTiles",
            "enable(?:GL|LDS)Tr[AB]",
            "TotalVgprNumber",
            "M(?:ax|in)VgprNumber",
            "CUOccupancy",
            "MathClocksUnrolledLoop",
        ]
    )
)
_GEMM_FIELDS = (
    *("DataType", "DataTypeA", "DataTypeB", "DestDataType", "ComputeDataType", "F32XdlMathOp"),
    *("TransposeA", "TransposeB", "ComplexConjugateA", "ComplexConjugateB", "MXBlockA", "MXBlockB"),
    *("SwizzleTensorA", "SwizzleTensorB", "Sparse", "GroupedGemm"),
)


class _Counts(dict[str, bool]):
    def __missing__(self, key: str) -> bool:
        known = self[key] = key not in _NOT_IDENTITY and not _DERIVED.fullmatch(key)
        return known


_counts = _Counts().__getitem__


def solution_identity(
    solution: Mapping[str, Any], problem_type: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What is hashed as a solution's identity.

    Args:
        solution: all its parameters (defaults filled in).
        problem_type: the library's ProblemType; the copy in the solution serves when it is not given. Of it
            only layout and types count, under ``Gemm``: the epilogue does not make another kernel.

    Returns:
        Parameters with spellings folded (``True`` and ``1``, ``1.0`` and ``1``), without derived, index, name
        and problem type fields. Take :func:`geko.domain.identity.content_id` ``("solution", ...)`` of it.
    """
    identity = {key: _folded(value) for key, value in solution.items() if _counts(key)}
    if identity.get("StaggerU") == 0:
        # Without stagger its parameters mean nothing; tools write 0 or leave what was there.
        identity.update({key: 0 for key in ("StaggerUMapping", "StaggerUStride") if key in identity})
    problem_type = problem_type if problem_type is not None else solution.get("ProblemType")
    if problem_type:
        identity["Gemm"] = gemm_identity(problem_type)
    return identity


_texts: dict[str, Any] = {}


def _folded(value: Any) -> Any:
    kind = type(value)
    if kind is int or value is None:
        return value
    if kind is bool:
        return int(value)
    if kind is str:
        # A few hundred texts make up all libraries: parameter values, not names.
        known = _texts.get(value)
        if known is None:
            known = normalise(value)
            if len(_texts) < 10_000:
                _texts[value] = known
        return known
    if kind is list and all(type(item) is int for item in value):
        return value
    return _plain(normalise(value))


def _plain(value: Any) -> Any:
    """YAML 1.1 knows dates, JSON doesn't: those become text."""
    kind = type(value)
    if kind is int or kind is str or kind is float or value is None:
        return value
    if kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    return str(value)


def gemm_identity(problem_type: Mapping[str, Any]) -> dict[str, Any]:
    """Layout and types of a ProblemType, normalised; fields that are off or absent are left out."""
    known = {key: normalise(problem_type[key]) for key in _GEMM_FIELDS if problem_type.get(key) is not None}
    for side in "AB":
        known.setdefault(f"DataType{side}", known.get("DataType"))
    known.pop("DataType", None)
    # 0 is f32 for a type, off for the rest.
    return {key: value for key, value in known.items() if value or "DataType" in key}


def _item(value: Any, place: int) -> int | None:
    if isinstance(value, list) and len(value) > place and isinstance(value[place], int):
        return int(value[place])
    return None


def _int(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None


def _bool(value: Any) -> bool | None:
    return bool(value) if isinstance(value, (bool, int)) else None


def _isa(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 3:
        return f"gfx{value[0]}{value[1]}{value[2]:x}" if any(value) else None
    return None


def hot_columns(solution: Mapping[str, Any]) -> dict[str, Any]:
    """The typed columns of table ``solution``, from the parameters; None where they say nothing.

    Args:
        solution: all its parameters.
    """
    get = solution.get
    instruction = get("MatrixInstruction")
    group = get("WorkGroup")
    return {
        "isa": _isa(get("ISA")),
        "mt0": _int(get("MacroTile0")),
        "mt1": _int(get("MacroTile1")),
        "depth_u": _int(get("DepthU")),
        "mi_m": _item(instruction, 0),
        "mi_n": _item(instruction, 1),
        "mi_k": _item(instruction, 2),
        "mi_b": _item(instruction, 3),
        "miwt0": _item(get("MIWaveTile"), 0),
        "miwt1": _item(get("MIWaveTile"), 1),
        "wg0": _item(group, 0),
        "wg1": _item(group, 1),
        "wg2": _item(group, 2),
        "gsu": _int(get("GlobalSplitU")),
        "gsu_algorithm": get("GlobalSplitUAlgorithm"),
        "stream_k": _int(get("StreamK")),
        "wgm": _int(get("WorkGroupMapping")),
        "wgm_xcc": _int(get("WorkGroupMappingXCC")),
        "pgr": _int(get("PrefetchGlobalRead")),
        "plr": _int(get("PrefetchLocalRead")),
        "local_split_u": _int(get("LocalSplitU", _item(group, 2))),
        "vwa": _int(get("VectorWidthA", get("VectorWidth"))),
        "vwb": _int(get("VectorWidthB", get("VectorWidth"))),
        "grvwa": _int(get("GlobalReadVectorWidthA", get("GlobalReadVectorWidth"))),
        "grvwb": _int(get("GlobalReadVectorWidthB", get("GlobalReadVectorWidth"))),
        "stagger_u": _int(get("StaggerU")),
        "direct_to_lds": _bool(get("DirectToLds")),
        "direct_to_vgpr_a": _bool(get("DirectToVgprA")),
        "direct_to_vgpr_b": _bool(get("DirectToVgprB")),
        "custom_kernel": get("CustomKernelName") or None,
    }
