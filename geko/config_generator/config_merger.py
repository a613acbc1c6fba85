"""Search spaces of several sizes into one, below a cap on the number of kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from geko.config_generator.fork_param_generator import SizeSpace
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import Entry, ForkParam, ForkSpace
from geko.config_generator.sizes import Size
from geko.log import logger


@dataclass(slots=True)
class MergedSpace:
    """What one tuning config holds.

    Attributes:
        sizes: sizes in the file.
        params, group: axes; column ``size`` of the group's frame is the index of the size that brought an
        entry.
        mi_counts: entries of each size before merging.
        trimmed: entries dropped to stay below the cap.
        notes: remarks of the sizes.
        left_out: what the tensilelite at hand doesn't know, of any size.
    """

    sizes: list[Size]
    params: ForkSpace
    group: MiGroup
    mi_counts: list[int]
    trimmed: int = 0
    notes: dict[Size, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def kernels(self) -> int:
        """Number of kernels the full product has."""
        return self.params.count(len(self.group))


def merge(
    clusters: Sequence[Sequence[SizeSpace]], max_kernels: int | None, *, original: bool
) -> list[MergedSpace]:
    """Fold each cluster from left to right; one that would exceed the cap is split.

    Args:
        clusters: sizes that may share a file.
        max_kernels: cap per file, None for none.
        original: keep axes flat that another size has in its entries.
    """
    out: list[MergedSpace] = []
    for members in clusters:
        current: MergedSpace | None = None
        for space in members:
            single = _single(space)
            if current is None:
                current = single
                continue
            joined = _join(current, single, original)
            if max_kernels is not None and joined.kernels > max_kernels:
                out.append(trim(current, max_kernels))
                current = single
            else:
                current = joined
        if current is not None:
            out.append(trim(current, max_kernels))
    return out


def trim(space: MergedSpace, max_kernels: int | None) -> MergedSpace:
    """Keep the first entries of the macro-tile dimension, best first, until the cap holds."""
    if max_kernels is None or space.kernels <= max_kernels:
        return space
    without = space.params.count(0)
    if without > max_kernels:
        logger.warning("sizes %s: %d kernels without any macro tile exceed the cap", space.sizes, without)
        return space
    keep = max(1, max_kernels // without)
    before, group = len(space.group), space.group
    custom = group.cms[:keep]
    space.group = MiGroup(group.frame.head(max(keep - len(custom), 0)), custom)
    space.trimmed += before - len(space.group)
    return space


def _single(space: SizeSpace) -> MergedSpace:
    notes = {space.size: space.notes} if space.notes else {}
    return MergedSpace([space.size], space.params, space.group, [len(space.group)], 0, notes, space.left_out)


def _join(base: MergedSpace, other: MergedSpace, original: bool) -> MergedSpace:
    left, right = base.params.copy(), other.params.copy()
    frames = [
        base.group.frame,
        other.group.frame.with_columns(pl.lit(len(base.sizes), pl.Int64).alias("size")),
    ]
    if not original:
        _push_down(left, right, frames)
        _push_down(right, left, frames[::-1], frames)
    params = ForkSpace([ForkParam(one.name, list(one.values), one.active) for one in left.params])
    for param in right.params:
        mine = params.find(param.name)
        if mine is None:
            params.params.append(param)
        else:
            mine.values += [value for value in param.values if not _holds(mine.values, value)]
    for index in range(max(len(left.groups), len(right.groups))):
        groups = [side.groups[index] if index < len(side.groups) else [] for side in (left, right)]
        params.groups.append(_distinct([*groups[0], *groups[1]]))
    frame = pl.concat(frames, how="diagonal_relaxed")
    frame = frame.unique(MiGroup(frame).key, keep="first", maintain_order=True)
    group = MiGroup(frame, _distinct([*base.group.cms, *other.group.cms]))
    return MergedSpace(
        [*base.sizes, *other.sizes],
        params,
        group,
        [*base.mi_counts, *other.mi_counts],
        0,
        {**base.notes, **other.notes},
        tuple(sorted({*base.left_out, *other.left_out})),
    )


def _holds(values: list[object], value: object) -> bool:
    """Membership that keeps True and 1 apart."""
    return any(type(known) is type(value) and known == value for known in values)


def _push_down(
    source: ForkSpace, target: ForkSpace, frames: list[pl.DataFrame], write: list[pl.DataFrame] | None = None
) -> None:
    """An axis that is flat in ``source`` but in the entries of the other side moves into the entries of
    both."""
    own, theirs = frames
    for name in MiGroup(theirs).parameters:
        axis = source.find(name)
        if axis is None or name in own.columns or target.find(name) is not None:
            continue
        own = own.join(pl.DataFrame({name: axis.values}, schema={name: theirs.schema[name]}), how="cross")
        source.remove(name)
    if write is None:
        frames[0] = own
    else:
        write[1] = own


def _distinct(entries: list[Entry]) -> list[Entry]:
    kept: dict[str, Entry] = {}
    for entry in entries:
        kept.setdefault(json.dumps(entry, sort_keys=True), entry)
    return list(kept.values())
