"""gfx950: heuristic, generic and subtile search spaces."""

from __future__ import annotations

from geko.config_generator.fork_params.hw_profiles.common import (
    generic_groups,
    generic_params,
    heuristic_groups,
    heuristic_tail,
    non_temporal,
    params,
    wgm_xccs,
)
from geko.config_generator.fork_params.optimization_param import ForkParam, ForkSpace, ProfileInput


def _depths(gemm: ProfileInput) -> list[int]:
    if gemm.data_type in ("H", "B"):
        return [32, 64, 128, 256]
    if gemm.data_type in ("D", "Z"):
        return [8, 16, 32, 64]
    if gemm.data_type in ("S", "C"):
        return [16, 32, 64, 128]
    return [64, 128, 256, 512]


def heuristic(gemm: ProfileInput) -> ForkSpace:
    """Narrow space that depends on size and layout; all of it is benchmarked."""
    widths = {1: [4, 16], 2: [2, 8], 4: [1, 4], 8: [1, 2], 16: [1]}[gemm.bytes]
    long_k = [0, 2] if gemm.k > 100_000 else [0]
    low, high = min(gemm.m, gemm.n), max(gemm.m, gemm.n)
    vector = [-1, 8] if gemm.bytes <= 2 else [-1]
    space = ForkSpace(
        params(
            ("DepthU", _depths(gemm)),
            ("DirectToVgprA", [False]),
            ("DirectToVgprB", [False]),
            ("GlobalReadVectorWidthA", list(widths)),
            ("GlobalReadVectorWidthB", list(widths)),
            ("WaveSeparateGlobalReadA", list(long_k)),
            ("WaveSeparateGlobalReadB", list(long_k)),
        )
    )
    space.params.append(non_temporal(gemm, [4] if high > 1024 and low < 32 and gemm.k > 4096 else [0]))
    space.params += params(
        ("WorkGroupMapping", [6, 8, 16]), ("VectorWidthA", list(vector)), ("VectorWidthB", list(vector))
    )
    space.params += heuristic_tail(gemm)
    space.groups = heuristic_groups(gemm)
    return space


def generic(gemm: ProfileInput) -> ForkSpace:
    """Broad space for a search that samples it."""
    if gemm.data_type in ("D", "Z"):
        depths = [8, 16, 32, 64, 128]
    elif gemm.data_type == "C":
        depths = [16, 32, 64, 128, 256]
    else:
        depths = [32, 64, 128, 256, 512, 1024]
    xccs = wgm_xccs(gemm, [1, 2, 4, 8, 16, 32])
    return ForkSpace(generic_params(gemm, depths, xccs, vgpr=False), generic_groups(gemm))


#: Values that the subtile kernels are pinned to. The original wrote them as comments, so tensilelite's
#: defaults applied.
_SUBTILE_PINS = {
    "GlobalReadVectorWidthA": 8,
    "GlobalReadVectorWidthB": 8,
    "WaveSeparateGlobalReadA": 0,
    "WaveSeparateGlobalReadB": 0,
    "VectorWidthA": 1,
    "VectorWidthB": 1,
    "SourceSwap": False,
    "PersistentXCCMapping": 0,
    "DirectToVgprA": False,
    "DirectToVgprB": False,
    "MIArchVgpr": True,
    "PrefetchLocalRead": 1,
    "GlobalSplitUAlgorithm": "MultipleBuffer",
    "LocalReadVectorWidth": -1,
    "UseCustomMainLoopSchedule": 0,
}
#: Of these, the ones that tensilelite would otherwise resolve to something that a subtile kernel can't be.
_SUBTILE_NEEDED = frozenset({"UseCustomMainLoopSchedule", "SourceSwap", "VectorWidthA", "VectorWidthB"})


def subtile(gemm: ProfileInput) -> ForkSpace:
    """Small space of the subtile kernels, for block-scaled operands above all."""
    space = ForkSpace(
        params(
            ("UseSubtileImpl", [True]),
            ("DepthU", [64, 128, 256, 512]),
            ("WorkGroupMapping", [0]),
            ("WorkGroupMappingXCC", [-1]),
            ("PrefetchGlobalRead", [0, 1, 2]),
            ("TileProcessingStrategy", ["StreamK"]),
            ("WorkAssignment", ["StaticGrid"]),
            ("NonTemporalA", [0, 4]),
            ("NonTemporalB", [0, 4]),
            ("NonTemporalC", [0, 4]),
            ("NonTemporalD", [0, 4]),
        )
    )
    for name, value in _SUBTILE_PINS.items():
        active = not gemm.is_original and name in _SUBTILE_NEEDED
        space.params.append(ForkParam(name, [value], active))
    space.groups = [[{"DirectToLds": 0, "UseSgprForGRO": 0}]]
    if not gemm.is_tn:
        space.groups.append([{"ClusterLocalRead": 0, "LDSTrInst": True}])
    return space
