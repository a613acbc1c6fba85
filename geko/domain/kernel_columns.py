"""Tokens of a kernel name as typed columns: which column comes from which token, in names of all versions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.domain.kernel_name import Head

#: A token's value: number, text, flag (True), or list of integers.
Value = int | float | str | bool | tuple[int, ...]


def _element(index: int, least: int = 0) -> Callable[[Value], int | None]:
    """Element of a list token that has at least ``least`` elements."""

    def take(value: Value) -> int | None:
        if not isinstance(value, tuple) or len(value) <= max(index, least - 1):
            return None
        return _int(value[index])

    return take


def _int(value: Value) -> int | None:
    """The value where it fits the 32 bits of a hot column."""
    return value if isinstance(value, int) and abs(value) < 2**31 else None


def _blocks(value: Value) -> int | None:
    # MI is MxNxB, in names of 2023 and earlier MxNxKxB.
    if not isinstance(value, tuple) or len(value) < 3:
        return None
    return _int(value[2] if len(value) == 3 else value[3])


def _product(value: Value) -> int | None:
    return _int(math.prod(value)) if isinstance(value, tuple) else None


def _strategy(value: Value) -> int | None:
    # StreamK 3 became TileProcessingStrategy StreamK, 0 None; DataParallel has no old number.
    return {"N": 0, "SK": 3}.get(str(value))


_Extract = Callable[[Value], Any]

#: Column -> type ("int", "str") and the tokens it comes from, in order of preference.
HOT_TOKENS: dict[str, tuple[str, tuple[tuple[str, _Extract], ...]]] = {
    "mt0": ("int", (("MT", _element(0)),)),
    "mt1": ("int", (("MT", _element(1)),)),
    "depth_u": ("int", (("MT", _element(2)), ("DU", _int))),
    "mi_m": ("int", (("MI", _element(0)),)),
    "mi_n": ("int", (("MI", _element(1)),)),
    "mi_k": ("int", (("MI", _element(2, least=4)),)),
    "mi_b": ("int", (("MI", _blocks),)),
    "miwt0": ("int", (("MIWT", _element(0)),)),
    "miwt1": ("int", (("MIWT", _element(1)),)),
    "gsu": ("int", (("GSU", _int),)),
    "gsu_algorithm": ("str", (("GSUA", str),)),
    "stream_k": ("int", (("SK", _int), ("TPS", _strategy))),
    "tile_strategy": ("str", (("TPS", str),)),
    "stream_k_xcc": ("int", (("SKXCCM", _int), ("PXCCM", _int))),
    "wgm": ("int", (("WGM", _int),)),
    "wgm_xcc": ("int", (("WGMXCC", _int),)),
    "wgm_xccg": ("int", (("WGMXCCG", _int),)),
    "pgr": ("int", (("PGR", _int),)),
    "plr": ("int", (("PLR", _int),)),
    "local_split_u": ("int", (("WG", _element(2)),)),
    "vwa": ("int", (("VWA", _int), ("VW", _int))),
    "vwb": ("int", (("VWB", _int), ("VW", _int))),
    "grvwa": ("int", (("GRVWA", _int), ("GLVWA", _int), ("GRVW", _int))),
    "grvwb": ("int", (("GRVWB", _int), ("GLVWB", _int), ("GRVW", _int))),
    "svw": ("int", (("SVW", _int),)),
    "stagger_u": ("int", (("SU", _int),)),
    "stagger_mapping": ("int", (("SUM", _int),)),
    "stagger_stride": ("int", (("SUS", _int),)),
    "direct_to_lds_a": ("int", (("DTLA", _int), ("DTL", _int))),
    "direct_to_lds_b": ("int", (("DTLB", _int), ("DTL", _int))),
    "direct_to_vgpr_a": ("int", (("DTVA", _int),)),
    "direct_to_vgpr_b": ("int", (("DTVB", _int),)),
    "lds_buffer": ("int", (("LDSB", _int),)),
    "transpose_lds": ("int", (("TLDS", _int),)),
    "sia": ("int", (("SIA", _int),)),
    "isa": ("str", (("ISA", lambda value: f"gfx{value}"),)),
    "wg_x": ("int", (("WG", _element(0)),)),
    "wg_y": ("int", (("WG", _element(1)),)),
    "wg_z": ("int", (("WG", _element(2)),)),
    "workgroup_size": ("int", (("WG", _product),)),
    "wavefront_size": ("int", (("WS", _int),)),
    "nt_a": ("int", (("NTA", _int),)),
    "nt_b": ("int", (("NTB", _int),)),
    "nt_c": ("int", (("NTC", _int),)),
    "nt_d": ("int", (("NTD", _int),)),
    "clr": ("int", (("CLR", _int),)),
    "cms": ("bool", (("CMS", bool),)),
}

#: Columns from the problem type; empty text becomes null.
HOT_HEAD: dict[str, str] = {
    "contraction": "str",
    "types": "str",
    "trans_a": "str",
    "trans_b": "str",
    "batched": "bool",
    "high_precision": "bool",
    "user_args": "bool",
    "epilogue": "str",
    "custom": "bool",
}

#: All hot columns and their types, in the order of :func:`parse_names`.
HOT_COLUMNS: dict[str, str] = {**HOT_HEAD, **{name: kind for name, (kind, _) in HOT_TOKENS.items()}}


def hot_head(head: Head) -> dict[str, Any]:
    """Hot columns of the problem type."""
    return {name: None if (value := getattr(head, name)) == "" else value for name in HOT_HEAD}


def hot_columns(head: Head, tokens: Mapping[str, Value]) -> dict[str, Any]:
    """Hot columns of a parsed name; ``None`` where the name says nothing."""
    result = hot_head(head)
    for name, (kind, sources) in HOT_TOKENS.items():
        result[name] = False if kind == "bool" else None
        for key, extract in sources:
            if key in tokens:
                result[name] = extract(tokens[key])
                break
    return result
