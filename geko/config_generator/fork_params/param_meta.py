"""Legal values and defaults of tensilelite's kernel parameters: for comments, and to refuse what it would
refuse.

A copy of the table of tensilelite (``validParameters`` and ``defaultBenchmarkCommonParameters``), so that
configs can be written without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import ForkSpace

_FLAGS = (False, True)
_CACHE = tuple(range(8))
_LOADS = (-2, -1, 1, 2, 3, 4, 6, 8, 16, 32)
_VECTORS = (-1, 1, 2, 3, 4, 6, 8)
_PADS = (-1, 0, 1, 2, 3, 4, 8, 16, 32, 48, 64)
_BLOCKS = (-1, 0, 64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class Meta:
    """Legal values of a parameter, in the order of tensilelite's table, and its default."""

    legal: tuple[Any, ...] | range
    default: Any


_BOTH = {
    "DirectToVgpr": Meta(_FLAGS, False),
    "WaveSeparateGlobalRead": Meta((0, 1, 2), 0),
    "GlobalReadVectorWidth": Meta(_LOADS, -1),
    "VectorWidth": Meta(_VECTORS, -1),
    "LdsPad": Meta(_PADS, -1),
    "LdsBlockSizePerPad": Meta(_BLOCKS, -1),
    "LdsPadMXS": Meta(_PADS, -1),
    "LdsBlockSizePerPadMXS": Meta(_BLOCKS, -1),
    "PrefetchGlobalRead": Meta(range(-1, 17), -1),
}

PARAMETERS: dict[str, Meta] = {
    "WavefrontSize": Meta((-1, 32, 64), -1),
    "DepthU": Meta((-1, *range(2, 1025)), -1),
    "GlobalSplitU": Meta(range(-1, 1025), 1),
    "GlobalSplitUAlgorithm": Meta(
        ("SingleBuffer", "MultipleBuffer", "MultipleBufferSingleKernel"), "MultipleBuffer"
    ),
    "PrefetchGlobalRead": Meta(range(17), 1),
    "PrefetchLocalRead": Meta(range(129), 1),
    "ClusterLocalRead": Meta((0, 1), 1),
    "HalfPLR": Meta((0, 1, 2, 3), 0),
    "1LDSBuffer": Meta((-1, 0, 1), 0),
    "DirectToLds": Meta((0, 1, 2, 3), 0),
    "DtlPlusLdsBuf": Meta((-1, 0, 1), -1),
    "UseSgprForGRO": Meta((-1, 0, 1), -1),
    "UnrollLoopSwapGlobalReadOrder": Meta((0, 1), 0),
    "LocalReadVectorWidth": Meta((-1, 1, 2, 4, 8, 16, 32), -1),
    "StoreVectorWidth": Meta(_VECTORS, -1),
    "StoreRemapVectorWidth": Meta((-1, 0, 1, 2, 4, 8), 0),
    "TransposeLDS": Meta((-1, 1, 0, 2), -1),
    "LDSTrInst": Meta(_FLAGS, False),
    "LDSSegmentInterleave": Meta((0, 1), 0),
    **{f"NonTemporal{side}": Meta(_CACHE, 0) for side in "ABCD"},
    **{f"TemporalHint{side}": Meta(_CACHE, 0) for side in "ABCD"},
    "NonVolatile": Meta((-1, 0, 1), -1),
    "SourceSwap": Meta(_FLAGS, False),
    "StorePriorityOpt": Meta(_FLAGS, False),
    "StoreSyncOpt": Meta(range(256), 0),
    "NumElementsPerBatchStore": Meta(range(-1, 256), 0),
    "MIArchVgpr": Meta(_FLAGS, False),
    "StaggerU": Meta((0, 2, 4, 8, 16, 32, 64), 32),
    "StaggerUStride": Meta((-1, 0, 16, 32, 64, 128, 256, 512, 1024, 2048), 256),
    "WorkGroupMapping": Meta(range(-1024, 1025), 8),
    "WorkGroupMappingXCC": Meta((-1, 1, 2, 4, 8, 16, 32), 1),
    "StreamK": Meta(range(6), 0),
    "StreamKForceDPOnly": Meta((0, 1), 0),
    "StreamKXCCMapping": Meta((0, 2, 3, 4, 5, 6, 7, 8), 0),
    "PersistentXCCMapping": Meta((0, 2, 3, 4, 5, 6, 7, 8), 0),
    "TileProcessingStrategy": Meta(("None", "DataParallel", "StreamK"), "None"),
    "WorkAssignment": Meta(("StaticGrid", "DynamicWorkQueue", "Hybrid"), "StaticGrid"),
    "PrefetchAcrossPersistent": Meta((0, 1), 0),
    "UseCustomMainLoopSchedule": Meta((-1, 0, 1), -1),
    "UseSubtileImpl": Meta(_FLAGS, False),
    "ScheduleIterAlg": Meta((0, 1, 2, 3, 4), 3),
    "ScheduleGlobalRead": Meta((0, 1), 1),
    "ScheduleLocalWrite": Meta((0, 1), 1),
    "ScheduleGROverBarrier": Meta((-1, 0, 1), -1),
    "ExtraMiLatencyLeft": Meta((-1, 0, 1, 2, 3, 4, 6, 8), -1),
    "TailloopInNll": Meta(_FLAGS, False),
    "UsePLRPack": Meta((0, 1), 0),
    "AdaptiveGemm": Meta((0, 1), 0),
    "ExpandPointerSwap": Meta(_FLAGS, True),
    "CompactLoopStore": Meta(_FLAGS, False),
    "PreloadKernArgs": Meta(_FLAGS, True),
    "SwInstructionPrefetch": Meta((-1, 0, 1, 2), 1),
    "InitCIterWmma": Meta((-1, 0, 1), -1),
    "MbskPrefetchMethod": Meta((-1, 0, 1), -1),
    "ForceDisableShadowInit": Meta(_FLAGS, None),
    "PrefetchGL2": Meta((0, 1, 2), 0),
    "TDMInst": Meta((0, 1, 2, 3), 0),
    "TDMPlusLdsBuf": Meta((-1, 0, 1), 0),
    "TDMSplit": Meta(_FLAGS, False),
    "TDMIterateMode": Meta((0, 1, 2, 3), 0),
    **{f"{name}{side}": meta for name, meta in _BOTH.items() for side in "AB"},
}

#: Parameters whose values tensilelite checks with code of its own.
UNLISTED = frozenset({"MatrixInstruction", "WorkGroup", "ClusterDim"})

#: Newer than the table of comments that the original printed.
_WITHOUT_COMMENT = frozenset({"TileProcessingStrategy", "WorkAssignment", "PersistentXCCMapping"})


def is_legal(name: str, value: Any) -> bool:
    """Whether tensilelite's table holds this value, of exactly this type."""
    if name in UNLISTED:
        return True
    meta = PARAMETERS.get(name)
    return meta is not None and type(value) is type(meta.legal[0]) and value in meta.legal


def illegal(params: ForkSpace, group: MiGroup) -> list[tuple[str, Any]]:
    """Active values that tensilelite would refuse, as (parameter, value)."""
    found: dict[tuple[str, str], tuple[str, Any]] = {}
    pairs: Iterable[tuple[str, Any]] = (
        *((param.name, value) for param in params.params if param.active for value in param.values),
        *((name, value) for entries in params.groups for entry in entries for name, value in entry.items()),
        *((name, value) for entry in group.cms for name, value in entry.items()),
        *(
            (name, value)
            for name in group.parameters
            for value in (group.frame[name].unique().to_list() if name not in UNLISTED else [])
            if value is not None
        ),
    )
    for name, value in pairs:
        if not is_legal(name, value):
            found.setdefault((name, repr(value)), (name, value))
    return list(found.values())


def comment(name: str, *, brief: bool) -> str:
    """Comment behind a parameter: its default and, in the long form, the range of legal values."""
    meta = PARAMETERS.get(name)
    if meta is None or meta.default is None or (not brief and name in _WITHOUT_COMMENT):
        return ""
    if brief:
        return f" # default {meta.default}"
    legal = meta.legal
    values = list(legal) if len(legal) <= 4 else [legal[0], legal[1], "...", legal[-2], legal[-1]]
    shown = str(values).replace("'...'", "...")
    return f" # Default Value: {meta.default} # Range: {shown}"
