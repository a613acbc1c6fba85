"""What is done to a search space once its matrix instructions are known (the original's rules).

The original looks at all instructions of a file and then changes axes for all of them; :mod:`.refine` does
the same per instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from geko.config_generator.constants import AREA_CAP, AREA_CAP_SUBTILE, SearchSpace
from geko.config_generator.fork_params.hw_profiles.gfx1250.profiles import runtime_mapping, select_shapes
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import Entry, ForkSpace, ProfileInput

_SUBTILE_ACTIVE = frozenset({
    "UseSubtileImpl",
    "DepthU",
    "WorkGroupMapping",
    "WorkGroupMappingXCC",
    "TileProcessingStrategy",
    "WorkAssignment",
    "PrefetchGlobalRead",
    "NonTemporalA",
    "NonTemporalB",
    "NonTemporalC",
    "NonTemporalD",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PostInput:
    """Settings that post-processing needs beside the GEMM.

    Attributes:
        gemm: what the profile was told.
        space: search space.
        family: profile family (``gfx942``, ``gfx950``, ``gfx1250``).
        mt_du: forced (MT0, MT1, DepthU).
        ignore_non_temporal: take the cache hints out of the search.
        cms_entries: custom main loop schedules of this type and layout.
    """

    gemm: ProfileInput
    space: SearchSpace
    family: str
    mt_du: tuple[int, int, int] | None = None
    ignore_non_temporal: bool = False
    cms_entries: tuple[Entry, ...] = ()


def area_limit(post: PostInput) -> int:
    """Macro-tile area from which accumulators go to accumulation registers (a third of the cap)."""
    cap = (AREA_CAP_SUBTILE if post.space == "subtile" else AREA_CAP)[post.gemm.data_type]
    return cap // 3


def apply(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    """Change ``params`` and ``group`` in place by the rules of the family and the space."""
    if post.mt_du is not None:
        force_tile(post, params, group)
    if post.family in ("gfx950", "gfx942") and post.space != "subtile":
        accumulators(post, group)
    if post.family == "gfx950":
        if post.space == "heuristic":
            _gfx950_any_tile(post, params, group)
        if post.space == "subtile":
            subtile(params, group, post.gemm.is_original)
        else:
            custom_schedules(post, params, group)
    if post.family == "gfx1250" and post.space == "generic":
        gfx1250_generic(post, params, group)
    if post.ignore_non_temporal:
        ignore_cache_hints(params)
    settle_depth(params, group)


def force_tile(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    """Keep one macro tile and one DepthU (``MT_DU``); the mapping is left to the runtime where it may
    choose."""
    assert post.mt_du is not None
    mt0, mt1, depth = post.mt_du
    params.set("DepthU", [depth])
    for side in "ABCD":
        params.set(f"NonTemporal{side}", [0])
    gemm = post.gemm
    chooses = runtime_mapping(gemm) if (post.family, post.space) == ("gfx1250", "generic") else gemm.stream_k
    if chooses:
        params.set("WorkGroupMapping", [0])
        params.set("WorkGroupMappingXCC", [-1])
        params.set("PersistentXCCMapping", [0])
    if post.space == "subtile":
        pins: dict[str, list[Any]] = {
            "UseSubtileImpl": [True],
            "UseCustomMainLoopSchedule": [0],
            "PrefetchGlobalRead": [0, 1, 2],
            "SourceSwap": [False],
            "VectorWidthA": [1],
            "VectorWidthB": [1],
            "TileProcessingStrategy": ["StreamK"],
            "WorkAssignment": ["StaticGrid"],
        }
        for name, values in pins.items():
            params.set(name, values)
    group.frame = group.frame.filter((pl.col("mt0") == mt0) & (pl.col("mt1") == mt1))
    if "DepthU" in group.frame.columns:
        group.frame = group.frame.filter(pl.col("DepthU") == depth)


def accumulators(post: PostInput, group: MiGroup) -> None:
    """Large tiles keep their accumulators in accumulation registers (``MIArchVgpr`` False in the entry)."""
    large = pl.col("mt0") * pl.col("mt1") >= area_limit(post)
    group.frame = group.frame.with_columns(
        pl.when(large).then(pl.lit(False)).otherwise(pl.lit(None, pl.Boolean)).alias("MIArchVgpr")
    )


def _gfx950_any_tile(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    tiles = group.frame.select(
        ((pl.col("mt0") < 64) & (pl.col("mt1") < 64)).any().alias("small"),
        (pl.col("mt0") * pl.col("mt1") < 4096).any().alias("area"),
        ((pl.col("mt0") <= 32) & (pl.col("mt1") <= 32)).any().alias("tiny"),
    ).row(0, named=True)
    prefetch, depth, mapping = (params.find(n) for n in ("PrefetchGlobalRead", "DepthU", "WorkGroupMapping"))
    if tiles["small"] and prefetch is not None and 1 not in prefetch.values:
        prefetch.values.insert(0, 1)
    if post.mt_du is None and depth is not None and post.gemm.k > 1024 and tiles["area"]:
        depth.values = [*depth.values[1:], 2 * depth.values[-1]]
    if tiles["tiny"] and mapping is not None and 16 in mapping.values:
        mapping.values = [1 if value == 16 else value for value in mapping.values]


def custom_schedules(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    """Put the kernels of custom main loop schedules in front, or switch schedules off."""
    if not post.gemm.cms:
        params.set("UseCustomMainLoopSchedule", [0])
        return
    if post.cms_entries:
        if post.gemm.is_original:
            params.remove("UseCustomMainLoopSchedule")
        else:
            # The entries in front stand for the schedules: left on automatic, the other tiles would repeat
            # them.
            params.set("UseCustomMainLoopSchedule", [0])
    group.cms = [
        dict(entry)
        for entry in post.cms_entries
        if post.mt_du is None or (*_tile(entry), entry.get("DepthU")) == post.mt_du
    ]


def _tile(entry: Entry) -> tuple[int, int]:
    m, n, _, blocks, _, wtm, wtn, wgm, wgn = entry["MatrixInstruction"]
    return m * wtm * wgm, n * blocks * wtn * wgn


def subtile(params: ForkSpace, group: MiGroup, original: bool) -> None:
    """Subtile kernels: 16x16 instructions, no local split, and nothing but the axes they know."""
    group.frame = group.frame.filter((pl.col("im") == 16) & (pl.col("in") == 16) & (pl.col("lsu") == 1))
    schedule = params.find("UseCustomMainLoopSchedule")
    if schedule is None:
        params.set("UseCustomMainLoopSchedule", [0])
    else:
        schedule.values = [0]
    keep = _SUBTILE_ACTIVE
    if not original:
        # As comments these would leave tensilelite's defaults in force, which it refuses for subtile kernels.
        keep = keep | {"UseCustomMainLoopSchedule", "SourceSwap", "VectorWidthA", "VectorWidthB"}
    for param in params.params:
        param.active = param.active and param.name in keep


def gfx1250_generic(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    """Large wave tiles, axes that some tile can use, no global split, and one entry per workgroup-cluster
    shape."""
    frame = group.frame
    wide = frame.filter((pl.col("wtm") >= 4) & (pl.col("wtn") >= 4))
    frame = frame if wide.is_empty() else wide
    even_m, even_n = (frame.select((pl.col(name) % 2 == 0).alias("x"))["x"] for name in ("wtm", "wtn"))
    half = params.find("HalfPLR")
    if half is not None:
        kept = [
            value
            for value in half.values
            if value == 0
            or bool(
                ((even_m if value & 1 else even_m | True) & (even_n if value & 2 else even_n | True)).any()
            )
        ]
        half.values = kept or [0]
    interleave = params.find("LDSSegmentInterleave")
    if interleave is not None:
        along, across = (
            pl.min_horizontal("wgm", "waves"),
            pl.col("waves") // pl.min_horizontal("wgm", "waves"),
        )
        usable = frame.select((((along == 2) & (across == 2)) | ((along == 1) != (across == 1))).any()).item()
        interleave.values = [value for value in interleave.values if value != 1 or usable] or [0]
    if params.find("GlobalSplitU") is not None and "GlobalSplitU" in frame.columns:
        names = [
            name
            for name in frame.columns
            if name not in ("GlobalSplitU", "gsu", "tiles", "rounds", "gran", "predicted", "size")
        ]
        frame = frame.drop("GlobalSplitU").unique(names, keep="first", maintain_order=True)
    group.frame = frame
    clusters = params.find("ClusterDim")
    if clusters is None or not clusters.active or len(clusters.values) < 2 or frame.is_empty():
        return
    shapes = [(int(along), int(across)) for along, across in clusters.values]
    m, n = post.gemm.m, post.gemm.n
    chosen = {
        tile: select_shapes(shapes, (-(-m // tile[0]), -(-n // tile[1])), tile)
        for tile in dict.fromkeys(frame.select("mt0", "mt1").iter_rows())
    }
    lists = [[list(shape) for shape in chosen[tile]] for tile in frame.select("mt0", "mt1").iter_rows()]
    column = pl.Series("ClusterDim", lists, dtype=pl.List(pl.List(pl.Int64)))
    group.frame = frame.with_columns(column).explode("ClusterDim")
    params.remove("ClusterDim")


def ignore_cache_hints(params: ForkSpace) -> None:
    """Take NonTemporalA..D out of the search."""
    for param in params.params:
        if param.name.startswith("NonTemporal") and len(param.name) == len("NonTemporalA"):
            param.active = False


def settle_depth(params: ForkSpace, group: MiGroup) -> None:
    """Drop the DepthU axis when every entry has a DepthU of its own, and entries outside the axis."""
    axis = params.find("DepthU")
    if axis is None:
        return
    has = "DepthU" in group.frame.columns
    if not has and not group.frame.is_empty():
        return
    if has:
        group.frame = group.frame.filter(pl.col("DepthU").is_in(axis.values))
    params.remove("DepthU")
