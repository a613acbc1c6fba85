"""Axes that the CDNA families share, in the order in which they are written."""

from __future__ import annotations

from typing import Any

from geko.config_generator.fork_params.optimization_param import Entry, ForkParam, ProfileInput
from geko.errors import InputError

LARGE_AREA = 4_000_000
ONE_BUFFER_AREA = 256 * 128 * 16 * 16


def params(*pairs: tuple[str, list[Any] | None]) -> list[ForkParam]:
    """Active axes of the pairs; a pair whose values are None is left out."""
    return [ForkParam(name, values) for name, values in pairs if values is not None]


def heuristic_tail(gemm: ProfileInput) -> list[ForkParam]:
    """Axes of the heuristic spaces from MIArchVgpr on; they depend on size and layout, not on the chip."""
    large, size, tn = gemm.area >= LARGE_AREA, gemm.bytes, gemm.is_tn
    if gemm.area < LARGE_AREA:
        stagger = [0]
    elif gemm.layout == "NT":
        stagger = [32] if size <= 4 else [0, 32]
    elif gemm.layout == "TT" and size >= 8:
        stagger = [0, 8]
    else:
        stagger = [8]
    return params(
        ("MIArchVgpr", [True]),
        ("ClusterLocalRead", [1] if size < 4 and not tn else [0]),
        ("PrefetchLocalRead", [1]),
        ("SourceSwap", [True]),
        ("WorkGroupMappingXCC", [1]),
        ("GlobalSplitUAlgorithm", ["MultipleBuffer"]),
        ("LocalReadVectorWidth", [-1]),
        ("StorePriorityOpt", [large]),
        ("StoreSyncOpt", [4] if large else [0]),
        ("StaggerU", stagger),
        ("NumElementsPerBatchStore", [16] if size <= 2 else [32 // size]),
        ("1LDSBuffer", [0, 1] if gemm.area < ONE_BUFFER_AREA else [1]),
        ("TileProcessingStrategy", ["StreamK"] if gemm.stream_k else ["None"]),
        ("WorkAssignment", ["StaticGrid"] if gemm.stream_k else None),
        ("PersistentXCCMapping", xcc_mappings(gemm, [0, 8]) if gemm.stream_k else [0]),
        ("UseSgprForGRO", [0, 1] if gemm.stream_k and tn else [-1]),
        ("UseCustomMainLoopSchedule", [-1] if gemm.cms else [0]),
        ("PrefetchGlobalRead", [1, 2] if tn and gemm.k in (8192, 16384) else [2]),
    )


def heuristic_groups(gemm: ProfileInput) -> list[list[Entry]]:
    """Correlated axes of the heuristic spaces.

    Raises:
        InputError: under the original's rules, for element sizes that it has no case for.
    """
    if gemm.area >= LARGE_AREA:
        temporal = [4]
    elif gemm.area >= 1_000_000 or max(gemm.m, gemm.n) >= 10_000:
        temporal = [0, 3]
    else:
        temporal = [0]
    store = [{"NonTemporalC": value, "NonTemporalD": value} for value in temporal]
    if gemm.is_tn:
        read = [{"ClusterLocalRead": 0, "LDSTrInst": False}]
    elif gemm.bytes == 2:
        read = [{"ClusterLocalRead": 0, "LDSTrInst": True}, {"ClusterLocalRead": 1, "LDSTrInst": False}]
    elif gemm.bytes in (1, 4) or not gemm.is_original:
        read = [{"ClusterLocalRead": 1, "LDSTrInst": False}]
    else:
        raise InputError(
            f"the original's heuristic space has no case for {gemm.bytes}-byte elements in {gemm.layout}; "
            "leave out --rules original"
        )
    if gemm.family == "gfx942" and not gemm.is_original:
        # Transposed LDS loads are instructions of gfx950.
        read = [
            {"ClusterLocalRead": 0 if gemm.is_tn or not entry["ClusterLocalRead"] else 1} for entry in read
        ]
    return [store, read]


def non_temporal(gemm: ProfileInput, values: list[int]) -> ForkParam:
    """The cache hint of the larger operand's loads; the other operand keeps the default."""
    return ForkParam("NonTemporalB" if gemm.n > gemm.m else "NonTemporalA", values)


def xcc_mappings(gemm: ProfileInput, original: list[int]) -> list[int]:
    """Values of PersistentXCCMapping: 0 and, by default, only remaps by a divisor of the chip's XCCs.

    A list that the chip leaves without any remap gets its number of XCCs.
    """
    if gemm.is_original:
        return original
    kept = [value for value in original if value == 0 or gemm.xcc % value == 0]
    if len(kept) == 1 and gemm.xcc in (2, 3, 4, 5, 6, 7, 8):
        kept.append(gemm.xcc)
    return kept


def wgm_xccs(gemm: ProfileInput, original: list[int]) -> list[int]:
    """Values of WorkGroupMappingXCC: by default only those that divide the chip's CUs."""
    return original if gemm.is_original else [value for value in original if gemm.cus % value == 0]


def load_widths(size: int) -> list[int]:
    """Elements a global load of the generic space may take, after -1 (auto) and -2 (skinny tiles)."""
    low, high = max(1, 4 // size), min(16, 16 // size)
    return [-1, -2, *(width for width in (1, 2, 3, 4, 6, 8, 16) if low <= width <= high)]


def generic_params(gemm: ProfileInput, depths: list[int], xccs: list[int], *, vgpr: bool) -> list[ForkParam]:
    """Axes of the generic space of gfx942 and gfx950.

    Args:
        gemm: the GEMM.
        depths: values of DepthU.
        xccs: values of WorkGroupMappingXCC.
        vgpr: A may go to registers without LDS (gfx942 with A not transposed).
    """
    widths = load_widths(gemm.bytes)
    persistent = gemm.stream_k
    mapping = [-48, -32, -24, -16, -8, -6, -4, -2, -1, 0, 2, 4, 6, 8, 16, 24, 32, 48]
    return params(
        ("DepthU", depths),
        ("1LDSBuffer", [0, 1]),
        ("WaveSeparateGlobalReadA", [0, 2]),
        ("WaveSeparateGlobalReadB", [0, 2]),
        ("NumElementsPerBatchStore", [0, 2, 4, 8, 10, 12, 14, 16]),
        ("PrefetchGlobalRead", [1, 2, 3, 4]),
        ("PrefetchLocalRead", [1]),
        ("SourceSwap", [False, True]),
        ("StaggerU", [0, 8, 16]),
        ("StorePriorityOpt", [False, True]),
        ("StoreSyncOpt", [0, 1, 4]),
        ("StoreVectorWidth", [-1, 1, 2, 4, 8]),
        ("WorkGroupMapping", mapping),
        ("WorkGroupMappingXCC", xccs),
        ("MIArchVgpr", [False, True]),
        ("GlobalSplitUAlgorithm", ["MultipleBuffer"]),
        ("GlobalReadVectorWidthA", list(widths)),
        ("GlobalReadVectorWidthB", list(widths)),
        ("TileProcessingStrategy", ["StreamK"] if persistent else None),
        ("WorkAssignment", ["StaticGrid"] if persistent else None),
        ("PersistentXCCMapping", xcc_mappings(gemm, [0, 4, 8]) if persistent else None),
        ("ClusterLocalRead", [0, 1] if gemm.is_tn else None),
        ("NonTemporalA", [0, 4]),
        ("NonTemporalB", [0, 4]),
        ("NonTemporalC", [0, 4]),
        ("NonTemporalD", [0, 4]),
        ("StaggerUStride", [64, 128, 256, 512]),
        ("TransposeLDS", [-1, 0, 1, 2]),
        ("DirectToVgprA", [False, True] if vgpr else None),
        ("TailloopInNll", [False, True]),
        ("ExtraMiLatencyLeft", [-1, 0]),
        ("ScheduleGROverBarrier", [0, 1]),
        ("DtlPlusLdsBuf", [1]),
        ("UnrollLoopSwapGlobalReadOrder", [0, 1]),
        ("UsePLRPack", [0, 1] if gemm.data_type == "X" else None),
        ("UseCustomMainLoopSchedule", [-1] if gemm.cms else [0]),
    )


def generic_groups(gemm: ProfileInput) -> list[list[Entry]]:
    """Correlated axes of the generic space of gfx942 and gfx950."""
    loads = [
        {"DirectToLds": 0, "UseSgprForGRO": 0},
        {"DirectToLds": 0, "UseSgprForGRO": 1},
        {"DirectToLds": 1, "UseSgprForGRO": 0},
    ]
    if gemm.is_tn:
        return [loads]
    if gemm.family == "gfx942" and not gemm.is_original:
        return [loads, [{"ClusterLocalRead": 0}, {"ClusterLocalRead": 1}]]
    return [
        loads,
        [{"ClusterLocalRead": 0, "LDSTrInst": True}, {"ClusterLocalRead": 1, "LDSTrInst": False}],
    ]
