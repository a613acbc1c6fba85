"""Fork parameters and launch counts under the original's rules."""

from __future__ import annotations

import math
from typing import Any

import pytest

from geko.config_generator.config_sections_generator import iterations, launch_counts
from geko.config_generator.constants import AREA_CAP, DATA_BYTES
from geko.config_generator.fork_params.hw_profiles.gfx1250.profiles import (
    cluster_shapes,
    select_shapes,
    xcc_remaps,
)
from geko.config_generator.load_input_config import Request, load_requests
from geko.config_generator.spaces import generate, size_space

BASE: dict[str, Any] = {
    "TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B",
    "ComputeDataType": "S", "ARCH": "gfx950",
    "CMS": False,
}  # fmt: skip


def request_for(size: list[int], rules: str = "original", **keys: Any) -> Request:
    (request,) = load_requests({**BASE, "Sizes": [size], **keys}, rules=rules, environ={})  # type: ignore[arg-type]
    return request


@pytest.mark.parametrize(
    ("size", "flat", "groups", "tiles", "kernels"),
    [
        ([4096, 4096, 1, 4096], 768, 1, 681, 523_008),
        ([1024, 1024, 1, 8192], 3072, 2, 470, 2_887_680),
        ([256, 256, 1, 1024], 3072, 1, 40, 122_880),
    ],
)
def test_heuristic_counts(size: list[int], flat: int, groups: int, tiles: int, kernels: int) -> None:
    request = request_for(size, backend="tensile")
    space = size_space(request, request.sizes[0])
    assert space.params.flat_count() == flat
    assert math.prod(len(group) for group in space.params.groups) == groups
    assert len(space.group) == tiles
    assert space.kernels == kernels


def test_accumulators_of_large_tiles() -> None:
    request = request_for([4096, 4096, 1, 4096], backend="tensile")
    entries = size_space(request, request.sizes[0]).group.entries()
    assert sum(entry.get("MIArchVgpr") is False for entry in entries) == 556


def test_steps_that_look_at_any_tile() -> None:
    request = request_for([256, 256, 1, 2048], backend="tensile")
    params = size_space(request, request.sizes[0]).params
    assert params.values("PrefetchGlobalRead") == [1, 2]
    assert params.values("DepthU") == [64, 128, 256, 512]
    assert params.values("WorkGroupMapping") == [6, 8, 1]
    assert params.values("UseCustomMainLoopSchedule") == [0]


def test_generic_counts() -> None:
    request = request_for([4096, 4096, 1, 4096])
    space = size_space(request, request.sizes[0])
    assert space.params.flat_count() == 71_915_871_928_320
    assert space.kernels == 71_915_871_928_320 * 3 * 681
    (config,) = generate([request_for([256, 256, 1, 1024])])
    assert config.kernels == 8_629_904_631_398_400


def test_empty_tile_list_of_the_original() -> None:
    """The original writes such a config, without instructions and without DepthU."""
    request = request_for([128, 1, 1, 128], ARCH="gfx942", backend="tensile")
    space = size_space(request, request.sizes[0])
    assert len(space.group) == 0
    assert space.params.find("DepthU") is None
    assert space.kernels >= 1


LAUNCHES = {
    # size: bf16, fp8, fp32 of tensile; iterations; (enqueues, warm-ups) of ductile
    (16, 16, 1, 128): (400, 700, 200, 429, (321, 321), (525, 393), (321, 321)),
    (256, 256, 1, 1024): (60, 105, 30, 408, (306, 306), (306, 306), (306, 306)),
    (1024, 1024, 1, 1024): (40, 70, 20, 385, (288, 288), (288, 288), (288, 288)),
    (1024, 1024, 1, 8192): (20, 35, 10, 277, (207, 207), (207, 207), (207, 207)),
    (4096, 4096, 1, 4096): (20, 35, 10, 247, (185, 185), (185, 185), (185, 185)),
    (8192, 8192, 1, 8192): (20, 35, 10, 62, (46, 46), (46, 46), (46, 46)),
    (16032, 109, 1, 16384): (20, 35, 10, 5, (15, 11), (26, 19), (7, 5)),
    (512, 2304, 8, 7680): (20, 35, 10, 34, (25, 25), (26, 25), (25, 25)),
    (32768, 32768, 1, 8192): (10, 10, 10, 5, (7, 5), (7, 5), (7, 5)),
}


@pytest.mark.parametrize("size", LAUNCHES)
def test_launch_counts(size: tuple[int, int, int, int]) -> None:
    expected = LAUNCHES[size]
    assert iterations(size) == expected[3]
    for index, kind in enumerate(("B", "F8", "S")):
        width, cap = DATA_BYTES[kind], AREA_CAP[kind]
        assert launch_counts([size], "tensile", width, cap, 256) == (expected[index],) * 2
        assert launch_counts([size], "ductile", width, cap, 256) == expected[4 + index]


def test_most_launches_of_several_sizes() -> None:
    both = [(16, 16, 1, 128), (8192, 8192, 1, 8192)]
    assert launch_counts(both, "tensile", 2, AREA_CAP["B"], 256) == (400, 400)


def test_sampling_costs() -> None:
    (config,) = generate([request_for([256, 256, 1, 1024])])
    (weights,) = config.backend["Config"]["weights"]
    costs = weights["group_0"]
    assert len(costs) == 40
    assert costs[:8] == [1.0] * 8
    assert costs[-2:] == [1.0001111030578613] * 2
    assert config.backend["Config"]["pop_size"] == 512


FOURTEEN = [
    (1, 1),
    (1, 2),
    (2, 1),
    (1, 4),
    (2, 2),
    (4, 1),
    (1, 8),
    (2, 4),
    (4, 2),
    (8, 1),
    (2, 8),
    (4, 4),
    (8, 2),
]


def test_cluster_shapes() -> None:
    assert cluster_shapes(16) == FOURTEEN
    assert cluster_shapes(8) == FOURTEEN[:10]


@pytest.mark.parametrize(
    ("grid", "tile", "expected"),
    [
        ((16, 12), (256, 352), [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)]),
        ((8, 24), (512, 176), [(1, 1), (1, 2), (1, 4), (2, 4), (2, 8)]),
        ((16, 16), (256, 256), [(1, 1), (1, 2), (2, 1), (2, 2), (2, 4), (4, 2), (4, 4)]),
        ((1, 16), (256, 256), [(1, 1), (1, 2), (1, 4), (1, 8)]),
    ],
)
def test_cluster_selection(
    grid: tuple[int, int], tile: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    assert select_shapes(cluster_shapes(16), grid, tile) == expected


def test_cluster_selection_when_none_divides() -> None:
    assert select_shapes([(2, 2), (4, 4)], (3, 5), (256, 256)) == [(2, 2), (4, 4)]


def test_xcc_remaps() -> None:
    assert [xcc_remaps(xcc) for xcc in (8, 6, 3)] == [[0, 2, 4, 8], [0, 2, 3, 6], [0, 3]]


@pytest.mark.parametrize(("library", "policies"), [("OOB", 4), ("Equality", 17)])
def test_execution_policies(library: str, policies: int) -> None:
    request = request_for([4096, 4096, 1, 4096], ARCH="gfx1250", StreamK=True, LIBRARY_TYPE=library)
    space = size_space(request, request.sizes[0])
    assert len(space.params.groups[0]) == policies
    assert space.params.find("ClusterDim") is None  # coupled to the entries
    entries = space.group.entries()
    assert all("ClusterDim" in entry and "GlobalSplitU" not in entry for entry in entries)
    assert all(entry["MatrixInstruction"][5] >= 4 and entry["MatrixInstruction"][6] >= 4 for entry in entries)


def test_cluster_variants_share_their_tile_s_probability() -> None:
    (config,) = generate([request_for([4096, 4096, 1, 4096], ARCH="gfx1250", StreamK=True)])
    costs = config.backend["Config"]["weights"][0]["group_0"]
    mass: dict[str, float] = {}
    count: dict[str, int] = {}
    for entry, cost in zip(config.group.entries(), costs, strict=True):
        tile = str(entry["MatrixInstruction"])
        mass[tile] = mass.get(tile, 0.0) + math.exp(-0.25 * cost)
        count[tile] = count.get(tile, 0) + 1
    assert len(set(count.values())) > 1
    best = max(mass, key=lambda tile: mass[tile])
    # A tile of cost 1 is drawn with weight exp(-0.25), in however many shapes it comes.
    assert mass[best] == pytest.approx(math.exp(-0.25), rel=1e-6)
    assert count[best] > 1
