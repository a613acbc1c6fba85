"""The search space of one size: profile, matrix instructions, post-processing, kernel count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from geko.candidates.validity import NEWEST_CHECKS, Checks
from geko.config_generator.fork_params.depth import subtile_entries
from geko.config_generator.fork_params.hw_profiles.gfx942 import profiles as gfx942
from geko.config_generator.fork_params.hw_profiles.gfx950 import profiles as gfx950
from geko.config_generator.fork_params.hw_profiles.gfx1250 import profiles as gfx1250
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import ForkSpace, Profile
from geko.config_generator.fork_params.post_processor import PostInput, apply
from geko.config_generator.fork_params.refine import refine
from geko.config_generator.mi_designer import Design, TileQuery, design
from geko.config_generator.sizes import Size
from geko.errors import InputError

#: (profile family, search space) -> profile.
PROFILES: dict[tuple[str, str], Profile] = {
    ("gfx950", "heuristic"): gfx950.heuristic,
    ("gfx950", "generic"): gfx950.generic,
    ("gfx950", "subtile"): gfx950.subtile,
    ("gfx942", "heuristic"): gfx942.heuristic,
    ("gfx942", "generic"): gfx942.generic,
    ("gfx1250", "heuristic"): gfx1250.heuristic,
    ("gfx1250", "generic"): gfx1250.generic,
}


def register_profile(family: str, space: str, profile: Profile) -> None:
    """Add a search space for a chip family of another package (called from its entry point)."""
    PROFILES[family, space] = profile


def profile_family(arch_family: str) -> str:
    """Family whose profiles apply: that of the architecture's name without a suffix such as ``-strict``."""
    return arch_family.split("-")[0]


@dataclass(slots=True)
class SizeSpace:
    """Search space of one size.

    Attributes:
        size: ``(M, N, B, K)``.
        params: flat axes and groups but the first.
        group: group dimension 0, the matrix instructions.
        design: how the instructions were chosen.
        notes: what was done to keep this size alive, empty as a rule.
        left_out: what the tensilelite at hand doesn't know: parameters, and values (``name=value``).
    """

    size: Size
    params: ForkSpace
    group: MiGroup
    design: Design
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def kernels(self) -> int:
        """Number of kernels the full product has."""
        return self.params.count(len(self.group))


def build(
    post: PostInput, query: TileQuery, *, mx_block: int | None = None, checks: Checks = NEWEST_CHECKS
) -> SizeSpace:
    """Build the search space of ``query.size``.

    Args:
        post: GEMM, space and forced values.
        query: the same GEMM for the designer.
        mx_block: elements a scale when scale loads are to be checked.
        checks: see :class:`geko.candidates.validity.KernelFacts`.

    Raises:
        InputError: no macro tile is left for this size (default rules only), or the data type can't be tuned.
    """
    key = (post.family, post.space)
    if key not in PROFILES:
        spaces = [space for family, space in PROFILES if family == post.family]
        if not spaces:
            raise InputError(
                f"no search space for chip family {post.family}; see register_profile", value=post.family
            )
        raise InputError(f"{post.family} has the search spaces {', '.join(spaces)}", value=post.space)
    params = PROFILES[key](post.gemm)
    wavefront = next(iter(params.values("WavefrontSize")), query.wavefront)
    query = replace(query, wavefront=int(wavefront))
    found = design(query)
    frame = _split_column(found.entries, query.stream_k)
    group = MiGroup(frame)
    notes = tuple(f"filters loosened: {name}" for name in found.relaxed)
    original = post.gemm.is_original
    if query.vetted:
        group.frame = _over_depths(query, params, frame, mx_block)
    if not original:
        _refined(post, params, group, checks)
        if group.frame.is_empty() and not group.cms and post.mt_du is None:
            found, extra = _loosened(post, query, params, group, mx_block, checks) or (found, "")
            notes += (f"filters loosened: {extra}",) if extra else ()
    else:
        apply(post, params, group)
    group.frame = group.frame.with_columns(pl.lit(0, pl.Int64).alias("size"))
    if not original and not len(group):
        raise InputError(
            f"no macro tile is left that {post.gemm.arch} can build for data type {post.gemm.data_type} at size "
            f"{list(query.size)}: {_why_none(post, query, group)}"
        )
    return SizeSpace(query.size, params, group, found, notes)


def _refined(post: PostInput, params: ForkSpace, group: MiGroup, checks: Checks) -> None:
    """Default rules: the original's steps, but those that look at all tiles at once work per tile."""
    apply_default(post, params, group)
    refine(post, params, group, checks=checks)


def apply_default(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    """Post-processing steps that default and original rules share."""
    steps: Callable[[PostInput, ForkSpace, MiGroup], None] = apply
    family = post.family
    if (family, post.space) == ("gfx950", "heuristic"):
        # The "any tile" steps would change axes for all tiles; refine() does them per tile.
        steps = _gfx950_per_tile
    steps(post, params, group)


def _gfx950_per_tile(post: PostInput, params: ForkSpace, group: MiGroup) -> None:
    from geko.config_generator.fork_params import post_processor as steps

    if post.mt_du is not None:
        steps.force_tile(post, params, group)
    steps.accumulators(post, group)
    steps.custom_schedules(post, params, group)
    if post.ignore_non_temporal:
        steps.ignore_cache_hints(params)


def _over_depths(
    query: TileQuery, params: ForkSpace, frame: pl.DataFrame, mx_block: int | None
) -> pl.DataFrame:
    axis = params.find("DepthU")
    return subtile_entries(frame, axis.values if axis else [], query.data_type, query.wavefront, mx_block)


def _loosened(
    post: PostInput,
    query: TileQuery,
    params: ForkSpace,
    group: MiGroup,
    mx_block: int | None,
    checks: Checks,
) -> tuple[Design, str] | None:
    """Filters chose tiles that can't be built: loosen them until some can, and put those into the group.

    Returns:
        How they were chosen, and which filters were loosened; None when nothing can be built at all.
    """
    steps: list[tuple[str, TileQuery]] = []
    if query.vetted:
        # Subtile kernels split K in no workgroup, while R6 leaves small tiles with such a split alone.
        query = replace(query, local_split=False)
        steps = [
            ("tiles without a local split of K", query),
            ("R6, fewer than 4 waves", replace(query, without=("R6",))),
            ("R4 and R6, tiles larger than the problem", replace(query, without=("R4", "R6"))),
        ]
    steps.append(
        (
            "MI_FILTER 0, the filtered tiles can't be built",
            replace(query, mi_filter=0),
        )
    )
    for name, loose in steps:
        found = design(loose)
        if found.relaxed and loose.mi_filter > 0:
            continue  # it is empty but for steps that go further than the next one
        other = MiGroup(_split_column(found.entries, query.stream_k))
        fresh = PROFILES[post.family, post.space](post.gemm)
        if query.vetted:
            other.frame = _over_depths(loose, fresh, other.frame, mx_block)
        _refined(post, fresh, other, checks)
        if not other.frame.is_empty():
            params.params, params.groups = fresh.params, fresh.groups
            group.frame = other.frame
            return found, name
        group.refused = other.refused or group.refused
    return None


def _why_none(post: PostInput, query: TileQuery, group: MiGroup) -> str:
    """The reason for a size without entries, as far as it can be told."""
    if post.mt_du is not None:
        mt0, mt1, _ = post.mt_du
        asked = (pl.col("mt0") == mt0) & (pl.col("mt1") == mt1)
        chosen, every = (design(one).entries.filter(asked) for one in (query, replace(query, mi_filter=0)))
        if chosen.is_empty() and not every.is_empty():
            return f"MI_FILTER {query.mi_filter} leaves out the tile of MT_DU {list(post.mt_du)}; MI_FILTER 0 keeps it"
        return f"MT_DU {list(post.mt_du)} names a tile or a DepthU that doesn't fit"
    other = "try another search_space, or another data type"
    if group.refused:
        return f"{group.refused}; {other}"
    if query.mfma is not None:
        extra = " (subtile kernels use 16x16 instructions)" if query.vetted else ""
        return f"MFMA {list(query.mfma)} leaves no tile{extra}; leave MFMA out"
    return f"no macro tile and DepthU of this search space go together; {other}"


def _split_column(frame: pl.DataFrame, stream_k: bool) -> pl.DataFrame:
    """The global split as a parameter of the entry; Stream-K kernels have none."""
    if stream_k:
        return frame
    split = pl.when(pl.col("gsu") > 1).then(pl.col("gsu")).otherwise(pl.lit(None, pl.Int64))
    return frame.with_columns(split.alias("GlobalSplitU"))
