"""gfx942: heuristic and generic search spaces."""

from __future__ import annotations

import math

from geko.config_generator.constants import MIN_DIMENSION
from geko.config_generator.fork_params.hw_profiles.common import (
    generic_groups,
    generic_params,
    heuristic_groups,
    heuristic_tail,
    non_temporal,
    params,
    wgm_xccs,
)
from geko.config_generator.fork_params.optimization_param import ForkSpace, ProfileInput

_HALF = ([64, 128, 256, 512], [32, 64, 128, 256], [32, 64, 128], [32, 64])
_SINGLE = ([16, 32, 64, 128, 256], [8, 16, 32, 64, 128], [8, 16, 32, 64], [8, 16, 32])
_DOUBLE = ([16, 32, 64, 128], [8, 16, 32, 64], [8, 16, 32], [8, 16])
_TF32 = ([32, 64, 128, 256], [16, 32, 64, 128], [16, 32, 64], [16, 32])
_BYTE = ([128, 256, 512, 1024], [64, 128, 256, 512], [64, 128, 256], [64, 128])
_FOUR_BIT = ([256, 512, 768, 1024], [256, 512, 768], [256, 512], [256])

#: DepthU by data type, in columns by M*N per CU: up to 1024, 16384, 32768 and above.
DEPTHS: dict[str, tuple[list[int], ...]] = {
    **dict.fromkeys(("H", "B"), _HALF),
    **dict.fromkeys(("S", "C"), _SINGLE),
    **dict.fromkeys(("D", "Z"), _DOUBLE),
    **dict.fromkeys(("X", "X1"), _TF32),
    "F4": _FOUR_BIT,
}


def _depths(gemm: ProfileInput) -> list[int]:
    column = sum(gemm.area > limit * gemm.cus for limit in (1024, 16384, 32768))
    return list(DEPTHS.get(gemm.data_type, _BYTE)[column])


def _to_vgpr(gemm: ProfileInput, operand: str) -> list[bool] | list[int]:
    if gemm.layout == "NT" and gemm.bytes < 4:
        if operand == "B":
            both = not (gemm.m >= gemm.n and gemm.n < 512)
        else:
            both = not (gemm.m < gemm.n and gemm.m < 512)
    else:
        both = gemm.contiguous_free(operand)
    if gemm.is_original:
        return [0, 1] if both else [0]
    # tensilelite's table is boolean, and newer versions compare types exactly.
    return [False, True] if both else [False]


def _widths(gemm: ProfileInput, operand: str) -> list[int]:
    size = gemm.bytes
    if gemm.contiguous_free(operand):
        free = gemm.m if operand == "A" else gemm.n
        if free <= MIN_DIMENSION[gemm.data_type] and gemm.size_option != 1:
            return [1 << (free.bit_length() - 1)]
        return [16 // size]
    if size <= 4:
        return [4 // size, 16 // size]
    return [1, 2] if size == 8 else [1]


def _separate(gemm: ProfileInput, operand: str) -> list[int]:
    free = gemm.m if operand == "A" else gemm.n
    length = free if gemm.contiguous_free(operand) else gemm.k
    return [0, 2] if length >= 65536 // gemm.bytes else [0]


def _mapping(gemm: ProfileInput) -> list[int]:
    low, high, unit = min(gemm.m, gemm.n), max(gemm.m, gemm.n), gemm.wgm_unit
    step = unit if gemm.m <= gemm.n else -unit
    rows, tile = int(math.sqrt(gemm.cus / unit)), 256 if gemm.bytes <= 4 else 128
    if low > 256:
        if high >= 2 * tile * unit * rows or (high >= tile * unit * rows and rows > 4):
            return [step * rows]
        if high >= 4 * tile * unit:
            return [2 * step, 4 * step]
        if high >= 2 * tile * unit:
            return [1, 2 * step]
    return [1]


def _vectors(gemm: ProfileInput) -> list[int]:
    return [1, 2] if gemm.bytes == 8 else [1, 2, 4] if gemm.bytes <= 4 else [1]


def heuristic(gemm: ProfileInput) -> ForkSpace:
    """Narrow space that depends on size and layout; all of it is benchmarked."""
    low, high = min(gemm.m, gemm.n), max(gemm.m, gemm.n)
    vector_b = None
    if gemm.trans_b != "N":
        vector_b = [1] if gemm.data_type == "C" else _vectors(gemm)
    space = ForkSpace(
        params(
            ("DepthU", _depths(gemm)),
            ("DirectToVgprA", list(_to_vgpr(gemm, "A"))),
            ("DirectToVgprB", list(_to_vgpr(gemm, "B"))),
            ("GlobalReadVectorWidthA", _widths(gemm, "A")),
            ("GlobalReadVectorWidthB", _widths(gemm, "B")),
            ("WaveSeparateGlobalReadA", _separate(gemm, "A")),
            ("WaveSeparateGlobalReadB", _separate(gemm, "B")),
        )
    )
    space.params.append(non_temporal(gemm, [0, 4] if low <= 256 and high >= 4000 else [0]))
    space.params += params(
        ("WorkGroupMapping", _mapping(gemm)), ("VectorWidthA", _vectors(gemm)), ("VectorWidthB", vector_b)
    )
    space.params += heuristic_tail(gemm)
    space.groups = heuristic_groups(gemm)
    return space


def generic(gemm: ProfileInput) -> ForkSpace:
    """Broad space for a search that samples it."""
    if gemm.data_type in ("D", "Z"):
        depths = [8, 16, 32, 64, 128, 256]
    elif gemm.data_type == "C":
        depths = [16, 32, 64, 128, 256, 512]
    else:
        depths = [32, 64, 128, 256, 512, 1024]
    xccs = wgm_xccs(gemm, [1, 2, 4, 8, 16])
    return ForkSpace(generic_params(gemm, depths, xccs, vgpr=gemm.trans_a != "T"), generic_groups(gemm))
