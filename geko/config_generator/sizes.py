"""Which sizes are tuned: explicit lists and the grid below the CU boundary (``SIZE_OPTION`` 0 and 1)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from geko.config_generator.constants import (
    GRID_K,
    GRID_LARGE,
    GRID_MAX_K_FOR_LARGE,
    GRID_ROUNDS,
    GRID_TILE,
)
from geko.errors import InputError

#: ``(M, N, B, K)``, B the batch count.
Size = tuple[int, int, int, int]


def dedupe(sizes: Iterable[Sequence[int]]) -> tuple[list[Size], int]:
    """Return the distinct sizes in order of first appearance, and how many were dropped."""
    given = [(int(m), int(n), int(b), int(k)) for m, n, b, k in sizes]
    kept = list(dict.fromkeys(given))
    return kept, len(given) - len(kept)


def boundary(cus: int) -> list[tuple[int, int]]:
    """Points (m, n) at which two rounds by two of 256x256 tiles fill all CUs exactly, ordered by (n, m).

    Args:
        cus: compute units; must have a divisor other than 1 and itself.

    Raises:
        InputError: for a prime number of CUs, which no rectangle of tiles fills.
    """
    step = GRID_TILE * GRID_ROUNDS
    points = [(step * a, step * (cus // a)) for a in range(2, cus + 1) if cus % a == 0 and cus // a >= 2]
    if not points:
        raise InputError(
            f"no grid of sizes exists for {cus} CUs: set CUs to a number that is not prime", value=cus
        )
    ms, ns = [m for m, _ in points], [n for _, n in points]
    points += [(max(ms), min(ns)), (min(ms), max(ns))]
    return sorted(points, key=lambda point: (point[1], point[0]))


def coordinates(largest: int, density: int) -> list[int]:
    """Values of M (and of N) on the grid, ascending.

    Args:
        largest: largest M of the boundary.
        density: 1 (finest) to 5 (coarsest): the factor on every step.
    """
    ranges = (
        (128, 256, 16),
        (256, 512, 32),
        (512, 1024, 64),
        (1024, 2048, 256),
        (2048, 4096, 512),
        (4096, 16384, 1024),
        (16384, largest + 1, 2048),
    )
    values = [16, 32, 64, 96]
    for start, stop, step in ranges:
        values.extend(range(start, stop, step * density))
    return values


def grid_points(cus: int, density: int) -> list[tuple[int, int]]:
    """Points (m, n) of the grid at or below the piecewise linear boundary, ordered by (m, n).

    Points on the topmost row of the boundary (N equal to its largest N) are left out, those on its last
    column are
    not: the grid of the original is that, and grids are only comparable when they are the same.

    Args:
        cus: compute units.
        density: see :func:`coordinates`.
    """
    line = boundary(cus)
    rows = [n for _, n in line]
    axis = coordinates(max(m for m, _ in line), density)
    kept: list[tuple[int, int]] = []
    for n in axis:
        index = bisect_right(rows, n)
        if index == len(line):
            continue
        # Below the first row the predecessor is the last point: the boundary is symmetric, so the line is the
        # same.
        top, bottom = line[index], line[index - 1]
        if top[0] == bottom[0]:
            kept.extend((m, n) for m in axis if m < top[0])
            continue
        slope = (top[1] - bottom[1]) / (top[0] - bottom[0])
        intercept = top[1] - slope * top[0]
        kept.extend((m, n) for m in axis if slope * m + intercept >= n)
    return sorted(kept)


def grid_sizes(cus: int, density: int) -> list[Size]:
    """Sizes of ``SIZE_OPTION`` 1: the grid points for each K of the ladder, K outermost; batch 1.

    Raises:
        InputError: for a density outside 1..5 or a prime number of CUs.
    """
    if not 1 <= density <= 5:
        raise InputError("GRID_DENSITY must be 1 (finest) to 5 (coarsest)", value=density)
    points = grid_points(cus, density)
    return [
        (m, n, 1, k)
        for k in GRID_K
        for m, n in points
        if not (k > GRID_MAX_K_FOR_LARGE and m > GRID_LARGE and n > GRID_LARGE)
    ]
