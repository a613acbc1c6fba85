"""Fixed numbers of the config generator: data-type tables, instruction lists, tile limits, thresholds.

Sizes are always ordered ``[M, N, B, K]`` with B the batch count, as in a generator YAML.
"""

from __future__ import annotations

from typing import Final, Literal

#: Written into the header of every tuning config, for tools that compare it.
VERSION: Final = "2.01"

Backend = Literal["ductile", "tensile"]
SearchSpace = Literal["heuristic", "generic", "subtile"]
RuleSet = Literal["default", "original"]

BACKENDS: Final[tuple[str, ...]] = ("ductile", "tensile")
SEARCH_SPACES: Final[tuple[str, ...]] = ("heuristic", "generic", "subtile")

#: Cap on the kernels of one config for the spaces that are benchmarked exhaustively.
MAX_NUM_KERNELS: Final = 180_000_000

# --- matrix instructions, as M x N x K x blocks
# -------------------------------------------------------------------
_HALF: Final = ("32x32x4x2", "32x32x8x1", "16x16x4x4", "16x16x16x1", "4x4x4x16", "32x32x16x1", "16x16x32x1")
_SINGLE: Final = ("32x32x1x2", "32x32x2x1", "16x16x1x4", "16x16x4x1", "4x4x1x16")
_DOUBLE: Final = ("16x16x4x1", "4x4x4x4")
_BYTE: Final = ("32x32x16x1", "16x16x32x1", "32x32x64x1", "16x16x128x1")

#: Instructions that exist for a data type on some chip; candidates are enumerated in the REVERSE of this
#: order.
VALID_INSTRUCTIONS: Final[dict[str, tuple[str, ...]]] = {
    "H": _HALF,
    "B": _HALF,
    "X": _HALF,
    "X1": _HALF,
    "S": _SINGLE,
    "C": _SINGLE,
    "D": _DOUBLE,
    "Z": _DOUBLE,
    "F8": _BYTE,
    "B8": _BYTE,
    "F8N": _BYTE,
    "B8N": _BYTE,
    "F8B8": _BYTE,
    "B8F8": _BYTE,
    "F8NB8N": _BYTE,
    "B8NF8N": _BYTE,
    "F4": ("16x16x128x1", "32x32x64x1", "32x16x128x1"),
    "I8": (*_HALF, *_BYTE),
}

#: Native tf32 shapes, which the original's list lacks.
EXTRA_VALID_INSTRUCTIONS: Final[dict[str, tuple[str, ...]]] = {"X": ("32x32x4x1", "16x16x8x1")}

#: Waves of a workgroup along M and N, in enumeration order.
WAVES: Final[tuple[tuple[int, int], ...]] = ((4, 1), (2, 2), (1, 4), (1, 2), (2, 1), (1, 1))

MIN_MACRO_TILE: Final = 4
MAX_MACRO_TILE: Final = 1024

# --- per data type
# ------------------------------------------------------------------------------------------------
_BYTE_TYPES: Final = ("I8", "F8", "F8N", "B8", "B8N", "F8B8", "B8F8", "F8NB8N", "B8NF8N")

#: Bytes of one element of A and B as the original counts them (F4 as one byte).
DATA_BYTES: Final[dict[str, int]] = {
    "H": 2,
    "B": 2,
    "S": 4,
    "X": 4,
    "X1": 4,
    "D": 8,
    "C": 8,
    "Z": 16,
    "F4": 1,
    **dict.fromkeys(_BYTE_TYPES, 1),
}

#: Bytes of one accumulator element.
COMPUTE_BYTES: Final[dict[str, int]] = {**dict.fromkeys(DATA_BYTES, 4), "D": 8, "C": 8, "Z": 16}

#: Largest macro-tile area: accumulators of 256 threads with at most 464 registers each (256 * 464) for small
#: types.
AREA_CAP: Final[dict[str, int]] = {
    **dict.fromkeys(DATA_BYTES, 256 * 464),
    "S": 65536,
    "D": 65536,
    "C": 32768,
    "Z": 16384,
}
AREA_CAP_SUBTILE: Final[dict[str, int]] = {**dict.fromkeys(DATA_BYTES, 512 * 512), "C": 32768, "Z": 16384}

#: Free dimension up to which gfx942 loads a contiguous operand in narrower pieces.
MIN_DIMENSION: Final[dict[str, int]] = {
    **dict.fromkeys(DATA_BYTES, 7),
    "S": 3,
    "X": 3,
    "X1": 4,
    "D": 1,
    "C": 1,
    "Z": 1,
}

COMPLEX_TYPES: Final = frozenset({"C", "Z"})

# --- filters
# ------------------------------------------------------------------------------------------------------
LSU_BYTE_LIMIT: Final = 65536
GSU_WORKSPACE_LIMIT: Final = 128 * 1024 * 1024  # bytes
MIN_K_PER_GSU: Final = 256
MAX_GSU: Final = 1024  # tensilelite's largest GlobalSplitU

# --- grid of sizes
# ------------------------------------------------------------------------------------------------
GRID_K: Final[tuple[int, ...]] = (256, 1024, 4096, 8192, 16384)
GRID_TILE: Final = 256
GRID_ROUNDS: Final = 2
GRID_MAX_K_FOR_LARGE: Final = 4096
GRID_LARGE: Final = 1024

#: ``DUCTILE_VALIDATION_PROFILE`` to elements validated after the search (-1 all).
VALIDATION_ELEMENTS: Final[dict[int, int]] = {0: 0, 1: 128, 2: -1}
