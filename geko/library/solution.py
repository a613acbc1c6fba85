"""What a solution is: its identity, and the columns that people filter by."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geko.domain.identity import canonical_json, normalise

if TYPE_CHECKING:
    from geko.library.model import Library

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
        identity.update({key: 0 for key in _NO_STAGGER if key in identity})
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
    if (kind is list or kind is tuple) and all(type(item) is int for item in value):
        return value
    return plain(normalise(value))


def plain(value: Any) -> Any:
    """The value with what JSON doesn't know (dates of YAML 1.1, NaN) as text."""
    kind = type(value)
    if kind is int or kind is str or kind is bool or value is None:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is list:
        return [plain(item) for item in value]
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    return str(value)


#: Larger caches of texts are begun anew.
_CACHE_LIMIT = 1_000_000
_NO_STAGGER = ("StaggerUMapping", "StaggerUStride")


class _Pairs(dict[Any, str]):
    """Canonical JSON ``"key":value`` of parameters; empty for those that are no part of the identity."""

    def __missing__(self, pair: Any) -> str:
        key, value = pair
        text = self.text(key, value)
        if len(self) > _CACHE_LIMIT:
            self.clear()
        self[pair] = text
        return text

    @staticmethod
    def text(key: str, value: Any) -> str:
        return canonical_json({key: _folded(value)})[1:-1] if _counts(key) else ""


class _OddPairs(dict[Any, str]):
    """The same for values that don't hash, by what ``repr`` makes of them."""

    def __missing__(self, pair: Any) -> str:
        return ""

    def put(self, key: str, value: Any) -> str:
        if len(self) > _CACHE_LIMIT:
            self.clear()
        text = self[key, repr(value)] = _Pairs.text(key, value)
        return text


_pairs = _Pairs()
_odd_pairs = _OddPairs()


def canonical_texts(library: Library) -> list[str]:
    """Canonical JSON of each solution's identity, by position.

    The same as the canonical JSON of :func:`solution_identity` for the complete solution under the library's problem
    type; parameters that are the same in many solutions are written once.
    """
    gemm = canonical_json({"Gemm": gemm_identity(library.problem_type)})[1:-1]
    defaults = library.default_solution
    texts = []
    for stored in library.solutions:
        solution = {**defaults, **stored}
        for key in _NOT_IDENTITY:
            solution.pop(key, None)
        if solution.get("StaggerU") == 0:
            solution.update({key: 0 for key in _NO_STAGGER if key in solution})
        odd = [(key, solution.pop(key)) for key in _collections & solution.keys()]
        try:
            parts = list(map(_pairs.__getitem__, solution.items()))
        except TypeError:
            # Lists and mappings don't hash; the keys that hold them are known from now on.
            _collections.update(key for key, value in solution.items() if type(value) in (list, dict))
            parts = [_pairs.text(key, value) for key, value in solution.items()]
        parts += [_odd_pairs[key, repr(value)] or _odd_pairs.put(key, value) for key, value in odd]
        parts.append(gemm)
        # Sorted as JSON sorts the keys: the quote behind a name is less than whatever a longer name goes on with.
        parts.sort()
        texts.append(f"{{{','.join(filter(None, parts))}}}")
    return texts


_collections: set[str] = set()


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
