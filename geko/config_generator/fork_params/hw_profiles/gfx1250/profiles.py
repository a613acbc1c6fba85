"""gfx1250: heuristic and generic search spaces, and the shapes of workgroup clusters."""

from __future__ import annotations

from typing import Any

from geko.config_generator.fork_params.optimization_param import Entry, ForkParam, ForkSpace, ProfileInput
from geko.errors import InputError

_LOW_PRECISION = frozenset({"F8", "B8", "F8B8", "B8F8", "F4"})
_LARGE_AREA = 3072 * 3072
_SIXTEEN_BIT = frozenset({"H", "B"})


def wgps_per_engine(gemm: ProfileInput) -> int:
    """Work-group processors of a shader engine: CUs / (2 * XCCs) of the architecture's table entry.

    Raises:
        InputError: when that isn't a whole number.
    """
    count, rest = divmod(gemm.arch_cus, 2 * gemm.arch_xcc)
    if rest or not count:
        raise InputError(
            f"{gemm.arch}: {gemm.arch_cus} CUs do not split over {2 * gemm.arch_xcc} shader engines"
        )
    return count


def cluster_shapes(wgps: int) -> list[tuple[int, int]]:
    """Shapes (along M, along N) of workgroup clusters that a shader engine can hold, by size, then by the
    first number."""
    return [
        (along, size // along)
        for size in range(1, min(16, wgps) + 1)
        if wgps % size == 0
        for along in range(1, size + 1)
        if size % along == 0 and (along, size // along) not in ((16, 1), (1, 16))
    ]


def select_shapes(
    shapes: list[tuple[int, int]], grid: tuple[int, int], tile: tuple[int, int]
) -> list[tuple[int, int]]:
    """Shapes of use for a grid of macro tiles: those that divide it, and of each size those that load least.

    Args:
        shapes: candidates.
        grid: macro tiles along M and N.
        tile: macro tile (MT0, MT1); a cluster of s x t loads ``MT0 * s + MT1 * t`` elements along K.

    Returns:
        The selection, by size, then by the first number. When no shape divides the grid, all are considered.
    """
    ordered = sorted(shapes, key=lambda shape: (shape[0] * shape[1], shape[0]))
    fitting = [shape for shape in ordered if grid[0] % shape[0] == 0 and grid[1] % shape[1] == 0] or ordered
    least: dict[int, int] = {}
    for along, across in fitting:
        cost = tile[0] * along + tile[1] * across
        least[along * across] = min(cost, least.get(along * across, cost))
    return [
        (along, across)
        for along, across in fitting
        if tile[0] * along + tile[1] * across == least[along * across]
    ]


def xcc_remaps(xcc: int) -> list[int]:
    """Values of PersistentXCCMapping: 0 and the divisors of the chip's XCCs from 2 to 8."""
    return [0, *(value for value in range(2, 9) if xcc % value == 0)]


def _same_sixteen(gemm: ProfileInput) -> bool:
    return gemm.data_type in _SIXTEEN_BIT and gemm.dest_type == gemm.data_type


def _heuristic_clusters(gemm: ProfileInput) -> list[list[int]]:
    five = [[1, 1], [2, 2], [2, 4], [4, 2], [4, 4]]
    if gemm.stream_k:
        return [[1, 1]]
    if gemm.is_tn:
        return five if gemm.data_type in _LOW_PRECISION or gemm.area >= _LARGE_AREA else [[1, 1]]
    return [[1, 1], [2, 4], [4, 2], [4, 4]] if gemm.layout == "NN" else five


def _heuristic_splits(gemm: ProfileInput) -> list[int]:
    if gemm.is_tn and _same_sixteen(gemm):
        return [1, 2, 4, 8, 16, 32]
    if gemm.layout == "NT":
        return [1, 2, 4, 8, 16] if _same_sixteen(gemm) else [1, 2, 3, 4]
    return [1]


def heuristic(gemm: ProfileInput) -> ForkSpace:
    """Narrow space; axes that are not settled yet are written as comments."""
    kind, tn, stream = gemm.data_type, gemm.is_tn, gemm.stream_k
    depths = {
        "F8": [256],
        "B8": [256],
        "F8B8": [256],
        "B8F8": [256],
        "F4": [256, 512],
        "S": [16, 32, 64, 128],
    }.get(kind, [64, 128, 256])
    scaled_pad = [-1] if (gemm.mx and kind in _LOW_PRECISION) or kind == "F4" or tn else None
    single = (
        "MultipleBufferSingleKernel"
        if gemm.layout in ("TN", "NT") and _same_sixteen(gemm)
        else "MultipleBuffer"
    )
    vector_a = [8] if tn and kind == "F4" else [-1, 8] if tn and gemm.bytes <= 2 else [-1]
    wide_b = gemm.layout == "NT" and (kind in _SIXTEEN_BIT or kind == "X")
    axes: list[tuple[str, list[Any] | None, bool]] = [
        ("DepthU", depths, True),
        ("PreloadKernArgs", [True], True),
        ("CompactLoopStore", [True], True),
        ("TDMPlusLdsBuf", [-1, 0, 1], True),
        ("TDMInst", [3], True),
        ("TDMIterateMode", [0], True),
        ("LDSSegmentInterleave", [0, 1], True),
        ("ScheduleIterAlg", [0, 4], True),
        ("LDSTrInst", [not tn], True),
        ("PrefetchGlobalRead", [2], True),
        ("PrefetchLocalRead", [1], True),
        ("HalfPLR", [0, 1, 2, 3], True),
        ("1LDSBuffer", [0], True),
        *((f"{name}{side}", [-1], True) for name in ("LdsPad", "LdsBlockSizePerPad") for side in "AB"),
        *(
            (f"{name}MXS{side}", scaled_pad, True)
            for name in ("LdsPad", "LdsBlockSizePerPad")
            for side in "AB"
        ),
        ("TileProcessingStrategy", ["StreamK"] if stream else ["None"], True),
        ("WorkAssignment", ["StaticGrid"] if stream else None, True),
        ("ForceDisableShadowInit", [True], False),
        ("InitCIterWmma", [-1], False),
        ("ClusterDim", _heuristic_clusters(gemm), False),
        ("PrefetchGL2", [0, 1, 2] if tn and gemm.area >= _LARGE_AREA else None, False),
        ("GlobalReadVectorWidthA", [4] if gemm.layout == "NN" else [-1], False),
        ("GlobalReadVectorWidthB", [4] if wide_b else [-1], False),
        ("LocalReadVectorWidth", [-1], False),
        ("VectorWidthA", vector_a, False),
        ("VectorWidthB", [-1], False),
        ("StoreVectorWidth", [-1], False),
        ("GlobalSplitU", None if stream else _heuristic_splits(gemm), False),
        ("GlobalSplitUAlgorithm", None if stream else [single], False),
        ("WavefrontSize", [32], False),
        ("WorkGroupMapping", [1], False),
        ("UseSgprForGRO", [0], False),
        ("ExpandPointerSwap", [False], False),
        ("ScheduleGlobalRead", None if stream else [1], False),
        ("ScheduleLocalWrite", None if stream else [1], False),
        ("UsePLRPack", [0, 1] if kind == "X" else None, False),
        ("TransposeLDS", [-1], False),
        ("StaggerU", [0], False),
        ("StoreRemapVectorWidth", [0], False),
        ("PrefetchAcrossPersistent", [0, 1] if stream else None, False),
        ("UseSubtileImpl", [False] if stream else None, False),
    ]
    return ForkSpace([ForkParam(name, values, active) for name, values, active in axes if values is not None])


def runtime_mapping(gemm: ProfileInput) -> bool:
    """Whether the runtime chooses the workgroup mapping: Stream-K kernels outside an Equality library."""
    return gemm.stream_k and not gemm.equality


def generic(gemm: ProfileInput) -> ForkSpace:
    """Broad space for a search that samples it."""
    strict, stream, runtime = "strict" in gemm.arch, gemm.stream_k, runtime_mapping(gemm)
    scaled = [-1] if gemm.mx else None
    clusters = [[1, 1]] if strict else [list(shape) for shape in cluster_shapes(wgps_per_engine(gemm))]
    mapping = [-48, -32, -24, -16, -8, -6, -4, -2, -1, 2, 4, 6, 8, 16, 24, 48]
    strides = [-1, 0, 16, 32, 64, 128, 256, 512, 1024, 2048]
    xccs = [1, 2, 4, 8, 16, 32]
    if not gemm.is_original:
        xccs = [value for value in xccs if gemm.cus % value == 0]
    axes: list[tuple[str, list[Any] | None]] = [
        ("WavefrontSize", [32]),
        ("TDMInst", [3]),
        ("PrefetchLocalRead", [1]),
        ("PrefetchGlobalRead", [2]),
        ("PrefetchGlobalReadA", [-1]),
        ("PrefetchGlobalReadB", [-1]),
        ("ExpandPointerSwap", [False]),
        ("1LDSBuffer", [0]),
        ("TDMIterateMode", [0, 1, 2, 3] if gemm.equality else [0]),
        ("TDMSplit", [False]),
        ("CompactLoopStore", [False]),
        ("PreloadKernArgs", [True]),
        ("LDSTrInst", [True]),
        ("ScheduleIterAlg", [4]),
        ("ClusterDim", clusters),
        ("PrefetchGL2", [0] if strict else [0, 1, 2]),
        *((f"{name}{side}", [-1]) for name in ("LdsPad", "LdsBlockSizePerPad") for side in "AB"),
        *((f"{name}MXS{side}", scaled) for name in ("LdsPad", "LdsBlockSizePerPad") for side in "AB"),
        ("GlobalSplitU", [-1]),
        ("TileProcessingStrategy", None if stream else ["None"]),
        ("WorkAssignment", ["StaticGrid"] if stream else None),
        ("GlobalSplitUAlgorithm", ["MultipleBuffer"]),
        ("WorkGroupMappingXCC", [-1] if runtime else xccs),
        ("DepthU", [128, 256, 512] if gemm.data_type in _LOW_PRECISION else [64, 128, 256, 512]),
        ("SourceSwap", [False, True]),
        ("StaggerU", [0] if runtime else [0, 2, 4, 8, 16, 32, 64]),
        ("StaggerUStride", [-1] if runtime else strides),
        ("WorkGroupMapping", [0] if runtime else mapping),
        ("ClusterLocalRead", [0, 1] if gemm.is_tn else None),
        ("AdaptiveGemm", [0, 1]),
        ("TailloopInNll", [False, True]),
        ("UsePLRPack", [0, 1] if gemm.data_type == "X" else None),
        ("HalfPLR", [0, 1, 2, 3]),
        ("LDSSegmentInterleave", [0, 1]),
        *((f"TemporalHint{side}", [0, 1]) for side in "ABD"),
        ("WaveSeparateGlobalReadA", [0]),
        ("WaveSeparateGlobalReadB", [0]),
        ("NumElementsPerBatchStore", [0]),
        ("StorePriorityOpt", [False]),
        ("StoreSyncOpt", [0]),
        ("GlobalReadVectorWidthA", [-1]),
        ("GlobalReadVectorWidthB", [-1]),
        ("UseSgprForGRO", [-1]),
        *((f"NonTemporal{side}", [0]) for side in "ABCD"),
        ("TransposeLDS", [-1]),
        ("ExtraMiLatencyLeft", [-1]),
        ("ScheduleGROverBarrier", [-1]),
        ("UnrollLoopSwapGlobalReadOrder", [0]),
        ("TDMPlusLdsBuf", [-1]),
        ("InitCIterWmma", [-1]),
        ("SwInstructionPrefetch", [-1]),
        ("NonVolatile", [-1]),
        ("MbskPrefetchMethod", [-1]),
    ]
    space = ForkSpace([ForkParam(name, values) for name, values in axes if values is not None])
    if stream:
        space.groups = [execution_policies(gemm)]
    return space


def execution_policies(gemm: ProfileInput) -> list[Entry]:
    """How persistent kernels share out the tiles; data-parallel kernels too where the mapping isn't left to
    the runtime."""
    runtime = runtime_mapping(gemm)
    remaps = [0] if runtime else xcc_remaps(gemm.arch_xcc)
    policies: list[Entry] = [] if runtime else [{"TileProcessingStrategy": "None"}]
    policies += [
        {
            "TileProcessingStrategy": strategy,
            "PrefetchAcrossPersistent": prefetch,
            "PersistentXCCMapping": remap,
        }
        for strategy in ("StreamK", "DataParallel")
        for prefetch in (0, 1)
        for remap in remaps
    ]
    return policies
