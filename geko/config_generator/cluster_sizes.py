"""Which sizes share one tuning config."""

from __future__ import annotations

from collections.abc import Sequence

from geko.config_generator.fork_param_generator import SizeSpace
from geko.config_generator.fork_params.mi_group import tile_of

#: (MT0, MT1, LocalSplitU, GlobalSplitU) of the best-ranked macro tile.
Signature = tuple[int, int, int, int]


def signature(space: SizeSpace) -> Signature:
    """Tile and splits of the first entry that is no custom schedule; zeros for a size without entries."""
    group = space.group
    if group.frame.height:
        row = group.frame.row(0, named=True)
        split = row.get("GlobalSplitU") or 1
        return row["mt0"], row["mt1"], row["lsu"], split
    if group.cms:
        entry = group.cms[-1]
        mt0, mt1 = tile_of(entry["MatrixInstruction"])
        return mt0, mt1, entry.get("WorkGroup", [1, 1, 1])[-1], entry.get("GlobalSplitU", 1)
    return 0, 0, 0, 0


def cluster(
    spaces: Sequence[SizeSpace], *, one_size: bool = True, algorithm: int = 0
) -> list[list[SizeSpace]]:
    """Group search spaces of sizes.

    Args:
        spaces: one a size.
        one_size: every size alone, in the order given.
        algorithm: 0 all together; 1 by :func:`signature`, clusters in order of first appearance, sizes inside
        by
            (M*N, M, N).
    """
    if one_size:
        return [[space] for space in spaces]
    if algorithm == 0:
        return [list(spaces)] if spaces else []
    found: dict[Signature, list[SizeSpace]] = {}
    for space in spaces:
        found.setdefault(signature(space), []).append(space)
    for members in found.values():
        members.sort(key=lambda space: (space.size[0] * space.size[1], space.size[0], space.size[1]))
    return list(found.values())
