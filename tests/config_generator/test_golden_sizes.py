"""The grid of sizes and its CU boundary."""

from __future__ import annotations

import pytest

from geko.config_generator.sizes import boundary, coordinates, dedupe, grid_points, grid_sizes
from geko.errors import InputError

#: CUs -> (coordinates, points, sizes) per density.
GRIDS = {
    256: [(73, 3796, 18116), (39, 1120, 5400), (30, 693, 3339), (22, 373, 1823), (20, 337, 1649)],
    128: [(57, 2682, 12918), (31, 805, 3911), (24, 514, 2494), (18, 276, 1356), (17, 263, 1295)],
    304: [(79, 4198, 20018), (42, 1232, 5940), (32, 755, 3637), (23, 406, 1988), (22, 372, 1820)],
    228: [(69, 3528, 16906), (37, 1050, 5088), (28, 643, 3105), (21, 357, 1753), (20, 335, 1643)],
    80: [(51, 2246, 10914), (28, 680, 3332), (22, 444, 2172), (16, 237, 1173), (16, 237, 1173)],
    38: [(48, 1741, 8455), (26, 534, 2614), (21, 369, 1801), (15, 193, 953), (15, 191, 947)],
    20: [(48, 1370, 6778), (26, 431, 2143), (21, 312, 1552), (15, 166, 828), (15, 166, 828)],
    96: [(53, 2387, 11569), (29, 722, 3526), (23, 476, 2324), (17, 250, 1234), (16, 237, 1173)],
    192: [(65, 3225, 15475), (35, 959, 4645), (27, 609, 2947), (20, 324, 1588), (19, 309, 1521)],
}
LARGEST = {
    256: 65536,
    128: 32768,
    304: 77824,
    228: 58368,
    80: 20480,
    38: 9728,
    20: 5120,
    96: 24576,
    192: 49152,
}


@pytest.mark.parametrize("cus", GRIDS)
def test_grid_counts(cus: int) -> None:
    largest = max(m for m, _ in boundary(cus))
    assert largest == max(n for _, n in boundary(cus)) == LARGEST[cus]
    counts = [
        (len(coordinates(largest, d)), len(grid_points(cus, d)), len(grid_sizes(cus, d))) for d in range(1, 6)
    ]
    assert counts == GRIDS[cus]


def test_grid_order_and_split_over_k() -> None:
    sizes = grid_sizes(256, 4)
    assert [sum(size[3] == k for size in sizes) for k in (256, 1024, 4096, 8192, 16384)] == [373] * 3 + [
        352
    ] * 2
    assert sizes == sorted(sizes, key=lambda size: (size[3], size[0], size[1]))
    assert all(size[2] == 1 for size in sizes)
    assert len(set(sizes)) == len(sizes)


def test_bad_grids_are_errors() -> None:
    with pytest.raises(InputError, match="prime"):
        grid_sizes(37, 4)
    with pytest.raises(InputError, match="GRID_DENSITY"):
        grid_sizes(256, 6)


def test_dedupe_keeps_first() -> None:
    assert dedupe([[2, 1, 1, 1], [1, 1, 1, 1], [2, 1, 1, 1]]) == ([(2, 1, 1, 1), (1, 1, 1, 1)], 1)
