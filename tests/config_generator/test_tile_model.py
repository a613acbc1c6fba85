"""Predicted times of macro tiles, the ranking and the sampling costs that come from them."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from geko.config_generator.load_input_config import Request, load_requests
from geko.config_generator.mi_designer import MI_COLUMNS, TileQuery, design
from geko.config_generator.spaces import generate, size_space
from geko.config_generator.tile_model import NEAR_BEST, TileModel, machine
from geko.config_generator.weights import BETA, EXPLORATION, TEMPERATURE, costs, probabilities
from geko.domain.arch import get_arch, supported_archs

BASE: dict[str, Any] = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
                        "ARCH": "gfx950", "Sizes": [[4096, 4096, 1, 4096]]}  # fmt: skip
CUBE = (4096, 4096, 1, 4096)
STREAM_K = TileModel(machine("gfx950", "B", 256), "B", stream_k=True)
PARALLEL = TileModel(machine("gfx942", "B", 304), "B")


def request_for(**keys: Any) -> Request:
    (request,) = load_requests({**BASE, **keys}, environ={})
    return request


def tiles(*rows: tuple[int, ...]) -> pl.DataFrame:
    """Rows of (instruction M, wave tile M and N, waves M and N, local split, global split)."""
    frame = pl.DataFrame(
        [(m, m, 32 if m == 16 else 16, 1, *rest) for m, *rest in rows],
        schema=dict.fromkeys((*MI_COLUMNS, "lsu", "gsu"), pl.Int64), orient="row",
    )  # fmt: skip
    return frame.with_columns(
        (pl.col("im") * pl.col("wtm") * pl.col("wgm")).alias("mt0"),
        (pl.col("in") * pl.col("wtn") * pl.col("wgn")).alias("mt1"),
        (pl.col("wgm") * pl.col("wgn")).alias("waves"),
    )


SQUARE = (16, 8, 8, 2, 2, 1, 1)  # 256x256


def test_square_tiles_beat_long_ones() -> None:
    """The same area, but 64x1024 reads far more from LDS and from memory."""
    square, flat = STREAM_K.times(tiles(SQUARE, (16, 1, 64, 4, 1, 1, 1)), CUBE)
    assert flat > 1.5 * square
    best = design(TileQuery(CUBE, "B", "S", "gfx950", 256, stream_k=True)).entries.row(0, named=True)
    assert (best["mt0"], best["mt1"]) == (256, 256)
    old = TileQuery(CUBE, "B", "S", "gfx950", 256, stream_k=True, rules="original")
    assert design(old).entries.select("mt0", "mt1").row(0) == (64, 1024)


@pytest.mark.parametrize("model", [STREAM_K, PARALLEL])
def test_more_work_takes_longer(model: TileModel) -> None:
    frame = tiles(SQUARE, (16, 2, 2, 2, 2, 1, 1), (16, 1, 1, 1, 1, 4, 1), (32, 2, 2, 2, 2, 1, 1))
    sizes = [
        (256, 256, 1, 512),
        (512, 512, 1, 512),
        (512, 512, 4, 512),
        (2048, 512, 4, 512),
        (2048, 2048, 8, 4096),
    ]
    found = [model.times(frame, size) for size in sizes]
    for less, more in itertools.pairwise(found):
        assert (more >= less).all()
    assert (found[-1] > 2 * found[0]).all()
    half = replace(model, machine=machine("gfx942", "B", model.machine.cus // 2))
    assert (half.times(frame, sizes[-1]) > 1.2 * model.times(frame, sizes[-1])).all()


def test_edges_are_work_too() -> None:
    one, two = (PARALLEL.times(tiles(SQUARE), (256 * 304, n, 1, 4096))[0] for n in (256, 257))
    assert two > 1.8 * one


def test_rows_do_not_depend_on_each_other() -> None:
    frame = tiles(SQUARE, (16, 2, 2, 2, 2, 1, 1), (32, 2, 2, 2, 2, 1, 1))
    together = STREAM_K.times(frame, CUBE).to_list()
    assert together == [STREAM_K.times(frame[i], CUBE)[0] for i in range(3)]


def test_stream_k_has_no_global_split() -> None:
    frame = tiles(*((16, 4, 4, 2, 2, 1, split) for split in (1, 3, 16)))
    assert STREAM_K.times(frame, (512, 512, 1, 8192)).n_unique() == 1
    assert PARALLEL.times(frame, (512, 512, 1, 8192)).n_unique() == 3
    entries = design(TileQuery((512, 512, 1, 8192), "B", "S", "gfx950", 256, stream_k=True)).entries
    assert entries["gsu"].unique().to_list() == [1]


def test_few_tiles_are_cut_along_k() -> None:
    """Four tiles on 256 CUs: shares of K for all CUs; a data-parallel kernel leaves 252 idle, unless split."""
    size = (512, 512, 1, 32768)
    (stream,) = STREAM_K.times(tiles(SQUARE), size)
    whole, split = replace(STREAM_K, stream_k=False).times(tiles(SQUARE, (*SQUARE[:-1], 32)), size)
    assert stream < whole / 4
    assert split < whole / 4


def test_a_local_split_makes_no_workgroups() -> None:
    query = TileQuery((256, 240, 2, 1024), "B", "S", "gfx942", 304)
    entries = design(query).entries
    assert entries["lsu"].n_unique() > 1
    for row in entries.sample(50, seed=3).iter_rows(named=True):
        blocks = math.ceil(256 / row["mt0"]) * math.ceil(240 / row["mt1"]) * 2
        assert row["tiles"] == blocks * row["gsu"]
        assert row["rounds"] == row["tiles"] / 304


def test_registers_and_instructions() -> None:
    """Accumulators beyond the register file cost; 32-row instructions are slower than 16-row ones."""
    fits, spills = STREAM_K.times(tiles(SQUARE, (16, 8, 16, 2, 2, 1, 1)), (8192, 8192, 1, 8192))
    assert spills > 1.2 * fits
    narrow, wide = STREAM_K.times(tiles(SQUARE, (32, 4, 4, 2, 2, 1, 1)), CUBE)
    assert wide > narrow


def test_every_architecture_has_a_machine() -> None:
    for name in supported_archs():
        arch = get_arch(name)
        for kind in ("B", "F8", "S", "D", "I8", "F4", "Z"):
            chip = machine(arch.mi_family, kind, arch.cus, arch.xcc)
            assert min(chip.products, chip.load, chip.fabric, chip.hbm) > 0
            assert chip.registers * chip.wavefront == 32768
    assert machine("gfx942", "B", 304).products == pytest.approx(1024, rel=1e-3)
    assert machine("gfx950", "F8", 256).products == pytest.approx(4096, rel=1e-3)
    assert machine("gfx942", "B", 152).hbm == pytest.approx(machine("gfx942", "B", 304).hbm / 2)


@pytest.mark.parametrize(("family", "cus", "stream_k"), [("gfx950", 256, True), ("gfx942", 304, False)])
@pytest.mark.parametrize("size", [CUBE, (512, 2304, 1, 7680), (300, 17, 3, 1000)])
def test_the_default_filter_only_adds(family: str, cus: int, stream_k: bool, size: tuple[int, ...]) -> None:
    """It keeps what the original's keeps, and of the rest what is predicted near the fastest."""
    query = TileQuery(size, "B", "S", family, cus, stream_k=stream_k)  # type: ignore[arg-type]
    keys = ["idx", "lsu", *(() if stream_k else ("gsu",))]
    new = design(query).entries
    old = design(replace(query, rules="original")).entries
    every = design(replace(query, mi_filter=1)).entries
    assert old.join(new, on=keys, how="anti").is_empty()
    added = new.join(old, on=keys, how="anti")
    limit = (1 + NEAR_BEST) * every["predicted"].min()  # type: ignore[operator]
    assert (added["predicted"] <= limit).all()
    near = every.filter(pl.col("predicted") <= limit)
    assert near.join(new, on=keys, how="anti").is_empty()
    assert new["predicted"].is_sorted()
    assert new["predicted"][0] == every["predicted"][0]


def test_probabilities() -> None:
    chances = probabilities(pl.Series([100.0, 105.0, 110.0, 1e6]))
    assert chances.sum() == pytest.approx(1)
    assert (chances >= EXPLORATION / 4).all()
    assert chances[3] == pytest.approx(EXPLORATION / 4)
    rest = (chances - EXPLORATION / 4).to_list()
    assert rest[0] / rest[1] == pytest.approx(math.exp(0.05 / TEMPERATURE))
    assert probabilities(pl.Series([7.0, 7.0])).to_list() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    "keys", [{}, {"ARCH": "gfx942"}, {"ARCH": "gfx1250"}, {"ARCH": "gfx950", "search_space": "subtile"}]
)
def test_costs_give_the_wanted_chances(keys: dict[str, Any]) -> None:
    """As Ductile draws: entries of one tile share it, and no tile falls below 1/20 of its uniform share."""
    request = request_for(**keys)
    (config,) = generate([request])
    cost = pl.Series(config.backend["Config"]["weights"][0]["group_0"])
    chance = (-BETA * cost).exp()
    frame = config.group.frame.with_columns((chance / chance.sum()).alias("chance"))
    tile = [*MI_COLUMNS, "lsu", "gsu"]
    shares = frame.group_by(tile, maintain_order=True).agg(pl.col("chance").sum(), pl.col("chance").n_unique().alias("n"),
                                                           pl.col("predicted").first())  # fmt: skip
    assert (shares["n"] == 1).all()
    assert shares["chance"].min() >= 0.999 / 20 / shares.height  # type: ignore[operator]
    wanted = probabilities(shares["predicted"])
    assert shares["chance"].to_list() == pytest.approx(wanted.to_list(), rel=1e-3)


def test_costs_of_schedules_and_of_several_sizes() -> None:
    sizes = [[4096, 4096, 1, 4096], [512, 512, 1, 8192]]
    request = request_for(Sizes=sizes, ONE_SIZE_PER_CONFIG=False, CMS=True, CMS_PRIORITY=True)
    schedule = {"dtype": "16bit", "TransposeA": True, "TransposeB": False, "MatrixInstruction": [16, 16, 32, 1],
                "MIWaveGroup": [2, 2], "MacroTile0": 256, "MacroTile1": 256, "DepthU": 64}  # fmt: skip
    (config,) = generate([request], kernels=[schedule])
    found = config.backend["Config"]["weights"][0]["group_0"]
    assert len(config.group.cms) == 1
    assert found[0] == 1.0
    assert min(found[1:]) >= 1.0
    frame = config.group.frame.with_columns(cost=pl.Series(found[1:]))
    # Either size's fastest tile is likely, whatever the other size makes of it.
    for size in request.sizes:
        best = size_space(request, size).group.frame.row(0, named=True)
        same = frame.filter(pl.all_horizontal(pl.col(name) == best[name] for name in (*MI_COLUMNS, "lsu")))
        chance = (-BETA * same["cost"]).exp().sum()
        assert chance > 20 * (-BETA * frame["cost"]).exp().sum() / frame.n_unique([*MI_COLUMNS, "lsu"])


def test_clusters_go_by_the_fastest_tile() -> None:
    request = request_for(Sizes=[[4096, 4096, 1, 4096], [8192, 8192, 1, 8192], [16, 4096, 1, 8192]],
                          ONE_SIZE_PER_CONFIG=False, CLUSTER=1)  # fmt: skip
    assert [config.size_names for config in generate([request])] == [
        [CUBE, (8192, 8192, 1, 8192)],
        [(16, 4096, 1, 8192)],
    ]


def test_one_entry_needs_no_costs() -> None:
    request = request_for(Sizes=[[256, 256, 1, 1024]])
    (config,) = generate([request])
    assert config.group.frame.height > 1
    space = size_space(request, request.sizes[0])
    space.group.frame = space.group.frame.head(1)
    from geko.config_generator.config_merger import merge

    (merged,) = merge([[space]], None, original=False)
    assert costs(merged, STREAM_K, priority=False) is None


ORIGINAL = [
    ({"Sizes": [[256, 256, 1, 1024], [512, 2304, 1, 7680]]}, "725f3be45114a956"),
    ({"ARCH": "gfx942", "Sizes": [[1024, 1024, 1, 1024], [16032, 109, 1, 16384]], "ONE_SIZE_PER_CONFIG": False,
      "CLUSTER": 1}, "ae8ccf39e71da9a4"),
    ({"ARCH": "gfx1250"}, "2bbba16117390124"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "digest"), ORIGINAL)
def test_the_original_is_left_alone(keys: dict[str, Any], digest: str) -> None:
    """Its tiles, their order and their costs to the last digit: the original's rules know no predicted times."""
    found = hashlib.sha256()
    for config in generate(load_requests({**BASE, **keys}, rules="original", environ={})):
        assert "predicted" not in config.group.frame.columns
        found.update(json.dumps([config.group.entries(), config.backend["Config"].get("weights")]).encode())
    assert found.hexdigest()[:16] == digest


@pytest.fixture(scope="module")
def bench(repo_root: Path) -> Any:
    spec = importlib.util.spec_from_file_location(
        "bench_tile_ranking", repo_root / "benchmarks" / "bench_tile_ranking.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_measured_tiles_of_mi350x(bench: Any, shared: Path) -> None:
    """Shapes that no constant was fitted on: predicted times order the measured ones, and name the fastest."""
    path = shared / "data" / "mi350x" / "candidates.parquet"
    if not path.is_file():
        pytest.skip(f"no timed candidates at {path}")
    cases = list(bench.timed(path, judged=True))[::4]
    assert len(cases) > 10
    mine = [bench._spearman(case.times(), case.truth) for case in cases]
    others = [bench._spearman(case.cost, case.truth) for case in cases]
    assert sum(mine) / len(mine) > 0.7 > sum(others) / len(others)
    first = [case.truth[case.times().arg_min()] / case.truth.min() - 1 for case in cases]
    assert sum(first) / len(first) < 0.02
