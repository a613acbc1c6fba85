"""The default rules: axes that depend on the macro tile move into its entry, and only where they can be
built.

The original multiplies one flat list per axis with all macro tiles, and leaves it to tensilelite to refuse
what doesn't fit. Here every entry of group dimension 0 carries its DepthU, and in the exhaustively
benchmarked spaces also the axes of :data:`TILE_AXES` whose values only suit some tiles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from geko.candidates.validity import (
    NEWEST_CHECKS,
    Checks,
    KernelFacts,
    auto_vector_width,
    drop_invalid,
    why_refused,
)
from geko.config_generator.fork_params.depth import element_bytes
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import ForkSpace, ProfileInput
from geko.config_generator.fork_params.post_processor import PostInput

#: Axes whose legal values depend on the macro tile, in the order in which they are written into an entry.
TILE_AXES = (
    "DepthU",
    "PrefetchGlobalRead",
    "1LDSBuffer",
    "ClusterLocalRead",
    "DirectToVgprA",
    "DirectToVgprB",
    "WaveSeparateGlobalReadA",
    "WaveSeparateGlobalReadB",
    "GlobalReadVectorWidthA",
    "GlobalReadVectorWidthB",
    "VectorWidthA",
    "VectorWidthB",
    "UseSgprForGRO",
)


def facts_of(gemm: ProfileInput, fixed: dict[str, Any], *, checks: Checks = NEWEST_CHECKS) -> KernelFacts:
    """What the validity rules need to know of a GEMM."""
    return KernelFacts(
        gemm.data_type,
        element_bytes(gemm.data_type),
        gemm.layout,
        gemm.lds_bytes,
        compute_type=gemm.compute_type,
        fixed=fixed,
        stream_k=gemm.stream_k,
        checks=checks,
        registers=256 if gemm.family == "gfx942" else None,
    )


def refine(post: PostInput, params: ForkSpace, group: MiGroup, *, checks: Checks = NEWEST_CHECKS) -> None:
    """Move tile-dependent axes into the entries and drop what can't be built, in place.

    Raises nothing: an empty frame is for the caller to report, it knows the size.
    """
    gemm = post.gemm
    if post.family == "gfx1250" or post.space == "subtile":
        return  # other load paths: the wave-tile and DepthU rules of these spaces have been applied already
    exhaustive = post.space == "heuristic"
    carried = frozenset(name for entry in group.cms for name in entry)
    if exhaustive:
        _fold_groups(params)
        _vector_widths(gemm, params)
        _load_widths(gemm, params)
        if not gemm.contiguous_free("A") or not gemm.contiguous_free("B"):
            _cluster_reads(gemm, params)
    _drop_inert(params, exhaustive)
    frame = _depths(post, params, group.frame)
    fixed = {
        param.name: param.values[0] for param in params.params if param.active and len(param.values) == 1
    }
    fixed.update(
        {name: value for entries in params.groups if len(entries) == 1 for name, value in entries[0].items()}
    )
    for name in ("VectorWidthA", "VectorWidthB"):
        if params.find(name) is None:
            fixed[name] = -1  # tensilelite's default
    if not exhaustive:
        fixed.pop("GlobalReadVectorWidthA", None)
        fixed.pop("GlobalReadVectorWidthB", None)
    facts = facts_of(gemm, fixed, checks=checks)
    if exhaustive:
        # These become columns below.
        names = (f"DirectToVgpr{side}" for side in "AB" if len(_to_vgpr(params, side)) > 1)
        facts = replace(facts, open=frozenset(names))
        carried |= facts.open
    combined, frame = frame, drop_invalid(facts, frame)
    if frame.is_empty():
        group.refused = why_refused(facts, combined)
    if exhaustive:
        frame = _groups_into_entries(params, frame, carried)
        # What the rules on local reads and on loads to registers look at comes first, and is known in
        # every row.
        widths = [f"{kind}{side}" for kind in ("GlobalReadVectorWidth", "VectorWidth") for side in "AB"]
        free = {side for side in "AB" if len(_to_vgpr(params, side)) > 1}
        carried |= {name for name in widths if name.startswith("Vector") or name[-1] in free}
        rest = sorted(
            {*TILE_AXES[1:], *carried} - {*widths, "MatrixInstruction", "UseCustomMainLoopSchedule"}
        )
        if gemm.family == "gfx950":
            # The narrow load splits evenly for every tile and depth of these spaces, and -1 always does.
            widths = [name for name in widths if name in carried]
        direct = [name for name in rest if name in facts.open]
        for name in (*widths, *direct, *(name for name in rest if name not in direct)):
            frame = _add_axis(post, params, facts, frame, name, forced=name in carried)
            if len(params.values(name)) == 1:
                fixed[name] = params.values(name)[0]  # later rules look at it
        frame = _add_groups(params, facts, frame)
        frame = _only_distinct(facts, frame)
    group.frame = _ordered(frame)
    _drop_overridden(params, group)


def _drop_overridden(params: ForkSpace, group: MiGroup) -> None:
    """A flat axis that every entry sets itself would only repeat each of them."""
    if group.frame.is_empty():
        return
    for name in group.parameters:
        everywhere = not group.frame[name].has_nulls() and all(name in entry for entry in group.cms)
        if everywhere and len(params.values(name)) > 1:
            params.remove(name)


def _to_vgpr(params: ForkSpace, side: str) -> list[Any]:
    return params.values(f"DirectToVgpr{side}")


def _only_distinct(facts: KernelFacts, frame: pl.DataFrame) -> pl.DataFrame:
    """Drop rows that differ only by an explicit VectorWidth equal to what -1 resolves to."""
    for side, tile in (("A", "wtm"), ("B", "wtn")):
        name = f"VectorWidth{side}"
        if name not in frame.columns:
            continue
        resolved = auto_vector_width(facts, pl.col(tile))
        twin = (pl.col(name) == resolved) & ((pl.col(name) == -1).any().over("idx", "lsu", "gsu"))
        frame = frame.filter(~twin)
    return frame


def _fold_groups(params: ForkSpace) -> None:
    """Turn group dimensions with a single entry into flat axes, so that nothing is set twice."""
    rest = []
    for entries in params.groups:
        if len(entries) == 1:
            for name, value in entries[0].items():
                params.set(name, [value])
        else:
            for name in entries[0]:
                params.remove(name)
            rest.append(entries)
    params.groups = rest


def _groups_into_entries(params: ForkSpace, frame: pl.DataFrame, carried: frozenset[str]) -> pl.DataFrame:
    """Group dimensions that set what custom schedules set too become columns of the other entries."""
    rest = []
    for entries in params.groups:
        if carried.isdisjoint(entries[0]):
            rest.append(entries)
        else:
            frame = frame.join(pl.DataFrame(entries), how="cross")
    params.groups = rest
    return frame


def _vector_widths(gemm: ProfileInput, params: ForkSpace) -> None:
    """-1 takes the widest vector that divides the wave tile: 8 beside it is the same kernel where 8 is legal
    at all."""
    for side in "AB":
        axis = params.find(f"VectorWidth{side}")
        if axis is not None and axis.values == [-1, 8] and gemm.bytes == 2:
            axis.values = [-1]


def _load_widths(gemm: ProfileInput, params: ForkSpace) -> None:
    """gfx950: the wide load becomes -1, the widest that the tile's loads split into; an explicit 16 bytes
    fits fewer."""
    if gemm.family != "gfx950":
        return
    for side in "AB":
        axis = params.find(f"GlobalReadVectorWidth{side}")
        if axis is not None and len(axis.values) == 2:
            axis.values = [axis.values[0], -1]


def _cluster_reads(gemm: ProfileInput, params: ForkSpace) -> None:
    """Where LDS reads are wider than the instruction's input, they only work clustered: offer both, per
    tile."""
    # On gfx942, and for 4-byte types: there an instruction's input is narrower than the widest LDS read.
    if gemm.family == "gfx942" or (gemm.family == "gfx950" and gemm.is_tn and gemm.bytes == 4):
        params.groups = [entries for entries in params.groups if "ClusterLocalRead" not in entries[0]]
        params.set("ClusterLocalRead", [0, 1])


def _drop_inert(params: ForkSpace, exhaustive: bool) -> None:
    """Axes that change nothing keep one value."""
    stagger = params.values("StaggerU")
    if stagger and set(stagger) == {0}:
        params.remove("StaggerUStride")
    elif 0 in stagger and params.find("StaggerUStride") is not None:
        strides = params.values("StaggerUStride")
        params.remove("StaggerU")
        params.remove("StaggerUStride")
        params.groups.append(
            [{"StaggerU": 0}]
            + [
                {"StaggerU": value, "StaggerUStride": stride}
                for value in stagger
                if value
                for stride in strides
            ]
        )
    loads = next((entries for entries in params.groups if entries and "DirectToLds" in entries[0]), None)
    if loads is None or exhaustive:
        return
    prefetch, single, swap = (
        params.values(name) for name in ("PrefetchGlobalRead", "1LDSBuffer", "UnrollLoopSwapGlobalReadOrder")
    )
    if not prefetch or not single:
        return
    # One group for what hangs together: three or more prefetches and the extra buffer need loads straight to
    # LDS, and those exclude a single buffer; swapping the load order needs two prefetches.
    joint = []
    for entry in loads:
        direct = bool(entry["DirectToLds"])
        for depth in prefetch:
            if depth >= 3 and not direct:
                continue
            for one in single:
                if one and direct:
                    continue
                for swapped in swap or [0]:
                    if swapped and depth < 2:
                        continue
                    row = {**entry, "PrefetchGlobalRead": depth, "1LDSBuffer": one}
                    if swap:
                        row["UnrollLoopSwapGlobalReadOrder"] = swapped
                    if not direct:
                        row["DtlPlusLdsBuf"] = 0
                    else:
                        row["DtlPlusLdsBuf"] = 1
                    joint.append(row)
    params.groups[params.groups.index(loads)] = joint
    for name in ("PrefetchGlobalRead", "1LDSBuffer", "UnrollLoopSwapGlobalReadOrder", "DtlPlusLdsBuf"):
        params.remove(name)


def _depths(post: PostInput, params: ForkSpace, frame: pl.DataFrame) -> pl.DataFrame:
    """Entries over the depths; a small tile of a long K gets one deeper step in place of the shallowest."""
    axis = params.find("DepthU")
    if axis is None or "DepthU" in frame.columns:
        return frame
    depths = axis.values
    params.remove("DepthU")
    shifted = (
        post.family == "gfx950" and post.space == "heuristic" and post.gemm.k > 1024 and post.mt_du is None
    )
    every = [*depths, 2 * depths[-1]] if shifted else depths
    frame = frame.join(pl.DataFrame({"DepthU": every}, schema={"DepthU": pl.Int64}), how="cross")
    if shifted:
        small = pl.col("mt0") * pl.col("mt1") < 4096
        frame = frame.filter(
            pl.when(small).then(pl.col("DepthU") != depths[0]).otherwise(pl.col("DepthU") != every[-1])
        )
    return frame


def _add_axis(
    post: PostInput, params: ForkSpace, facts: KernelFacts, frame: pl.DataFrame, name: str, *, forced: bool
) -> pl.DataFrame:
    """Spread an axis over the entries when not every value suits (nearly) every entry; else leave it flat.

    An axis that custom schedules set themselves is spread in any case (``forced``): flat, it would repeat
    each of their kernels.
    """
    axis = params.find(name)
    if axis is None or not axis.active or frame.is_empty():
        return frame
    small_prefetch = (
        name == "PrefetchGlobalRead"
        and post.family == "gfx950"
        and 1 not in axis.values
        and axis.values == [2]
    )
    if len(axis.values) == 1 and not small_prefetch:
        return frame
    if small_prefetch:
        small = (pl.col("mt0") < 64) & (pl.col("mt1") < 64)
        if not frame.select(small.any()).item():
            return frame
        spread = frame.join(pl.DataFrame({name: [1, 2]}), how="cross").filter(small | (pl.col(name) == 2))
        params.remove(name)
        return spread
    dtype = pl.Boolean if isinstance(axis.values[0], bool) else pl.Int64
    known = pl.DataFrame({name: axis.values}, schema={name: dtype})
    spread = frame.join(known, how="cross")
    kept = drop_invalid(facts, spread, name)
    present = set(kept[name].unique().to_list())
    usable = [value for value in axis.values if value in present]
    if kept.height >= 0.98 * spread.height and not forced:
        return frame
    if len(usable) == 1:
        axis.values = usable
        return kept.drop(name)
    params.remove(name)
    return kept


def _add_groups(params: ForkSpace, facts: KernelFacts, frame: pl.DataFrame) -> pl.DataFrame:
    """As for axes: a group of choices that not all suit (nearly) every entry is spread over the entries."""
    rest = []
    for entries in params.groups:
        spread = frame.join(pl.DataFrame(entries), how="cross") if set(TILE_AXES) & set(entries[0]) else frame
        kept = drop_invalid(facts, spread) if spread is not frame else frame
        if kept.height >= 0.98 * spread.height or kept.is_empty():
            rest.append(entries)
        else:
            frame = kept
    params.groups = rest
    return frame


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in TILE_AXES if name in frame.columns]
    return frame.select(*[name for name in frame.columns if name not in names], *names)
