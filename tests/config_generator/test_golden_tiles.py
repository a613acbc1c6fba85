"""Macro tiles under the original's rules: candidates and, per size, filters, ranking and first entry."""

from __future__ import annotations

import math

import pytest

from geko.config_generator.mi_designer import MI_COLUMNS, TileQuery, candidates, design, level1
from geko.errors import InputError

SIZES = {
    "a": (1, 163840, 1, 128),
    "b": (1, 128, 1, 128),
    "c": (128, 1, 1, 128),
    "d": (8, 8, 1, 128),
    "e": (16, 16, 1, 128),
    "f": (128, 163840, 1, 128),
    "g": (512, 2304, 1, 7680),
    "h": (256, 256, 1, 1024),
    "i": (1024, 1024, 1, 1024),
    "j": (1024, 1024, 1, 8192),
    "k": (4096, 4096, 1, 4096),
    "l": (8192, 8192, 1, 8192),
    "m": (16032, 109, 1, 16384),
}
S16, S32 = (16, 16, 32, 1), (16, 16, 16, 1)


@pytest.mark.parametrize(
    ("family", "counts"),
    [
        ("gfx950", {"H": 1407, "B": 1407, "X": 1407, "X1": 1407, "F8": 1407, "F8B8": 1407, "B8F8": 1407,
                    "F4": 1407,
                    "S": 946, "D": 698, "C": 385, "Z": 174, "I8": 3843}),
        ("gfx942", {"H": 2436, "B": 2436, "X": 1407, "F8": 1407, "F8N": 1407, "F8B8": 1407,
                    "S": 946, "D": 698,
                    "C": 385, "Z": 174, "I8": 3843}),
        ("MI45X", {"H": 1156, "B": 1156, "F8": 1156, "F8B8": 1156, "B8F8": 1156, "F4": 1697, "S": 788}),
        ("MI45X strict", {"H": 1156, "F8": 1156, "F4": 1156, "S": 788}),
    ],
)  # fmt: skip
def test_candidate_counts(family: str, counts: dict[str, int]) -> None:
    assert {kind: candidates(family, kind, rules="original").height for kind in counts} == counts


def test_candidate_counts_of_other_limits() -> None:
    subtile = {"H": 2354, "S": 2354, "X1": 2354, "F4": 2354, "D": 1818, "C": 385, "Z": 174, "I8": 6533}
    found = {kind: candidates("gfx950", kind, subtile=True, rules="original").height for kind in subtile}
    assert found == subtile
    first_era = {"B": 905, "F8": 905, "S": 696, "D": 482, "C": 317, "Z": 158, "I8": 2487}
    assert {
        kind: candidates("gfx950", kind, max_tile=512, rules="original").height for kind in first_era
    } == first_era
    assert candidates("gfx942", "B", max_tile=512, rules="original").height == 1582


def test_int8_has_no_twins_by_default() -> None:
    frame = candidates("gfx950", "I8")
    assert frame.height == frame.unique(MI_COLUMNS).height < 3843


#: size -> numbers at F=2 and at F=1 (level 1, level 2, after GSU, entries), first entry: wave tile, waves, g, l.
GFX950 = {
    "a": ((16, 13, 13, 13), (16, 16, 16, 16), (1, 10, 1, 4, 1, 1)),
    "b": ((31, 31, 31, 31), (31, 31, 31, 31), (1, 1, 1, 1, 1, 4)),
    "c": ((31, 31, 31, 31), (31, 31, 31, 31), (1, 1, 1, 1, 1, 4)),
    "d": ((3, 3, 3, 3), (3, 3, 3, 3), (1, 1, 1, 1, 1, 4)),
    "e": ((16, 16, 16, 16), (16, 16, 16, 16), (1, 1, 1, 1, 1, 4)),
    "f": ((720, 72, 72, 72), (720, 720, 720, 720), (2, 40, 4, 1, 1, 1)),
    "g": ((34990, 1812, 524, 524), (34990, 34990, 1233, 1233), (2, 36, 4, 1, 16, 1)),
    "h": ((3548, 40, 40, 40), (3548, 3548, 909, 909), (1, 1, 4, 1, 4, 1)),
    "i": ((4833, 121, 114, 114), (4833, 4833, 1233, 1233), (1, 16, 4, 1, 4, 1)),
    "j": ((36473, 1417, 470, 470), (36473, 36473, 1233, 1233), (1, 64, 4, 1, 16, 1)),
    "k": ((17943, 4322, 681, 681), (17943, 17943, 1233, 1233), (1, 64, 4, 1, 1, 1)),
    "l": ((35767, 14435, 489, 489), (35767, 35767, 1233, 1233), (2, 43, 4, 1, 1, 1)),
    "m": ((39104, 8934, 608, 608), (39104, 39104, 611, 611), (16, 7, 4, 1, 16, 1)),
}


def _numbers(query: TileQuery) -> tuple[int, int, int, int]:
    found = design(query)
    return found.level1, found.level2, found.after_gsu, found.entries.height


@pytest.mark.parametrize("name", GFX950)
@pytest.mark.parametrize("kind", ["B", "F8"])
def test_gfx950_stream_k(name: str, kind: str) -> None:
    two, one, first = GFX950[name]
    query = TileQuery(SIZES[name], kind, "S", "gfx950", 256, stream_k=True, rules="original")
    assert _numbers(query) == two
    row = (
        design(query).entries.select("im", "in", "ik", "ib", "wtm", "wtn", "wgm", "wgn", "gsu", "lsu").row(0)
    )
    assert row == ((16, 16, 32 if kind == "B" else 128, 1, *first))
    assert (
        _numbers(
            TileQuery(SIZES[name], kind, "S", "gfx950", 256, stream_k=True, mi_filter=1, rules="original")
        )
        == one
    )


def test_no_filter_gives_all_tiles() -> None:
    query = TileQuery(SIZES["h"], "B", "S", "gfx950", 256, stream_k=True, mi_filter=0, rules="original")
    assert design(query).entries.height == 1639


GFX942 = {
    "b": ((6, 6, 6, 6), 6, (4, 4, 4, 16, 1, 1, 1, 1, 1, 4)),
    "c": ((0, 0, 0, 0), 0, None),
    "d": ((3, 3, 3, 3), 3, (*S32, 1, 1, 1, 1, 1, 4)),
    "e": ((3, 3, 3, 3), 3, (*S32, 1, 1, 1, 1, 1, 4)),
    "f": ((463, 269, 269, 269), 463, (*S32, 2, 34, 4, 1, 1, 1)),
    "g": ((26587, 1668, 1668, 1668), 26587, (*S32, 2, 36, 4, 1, 19, 1)),
    "h": ((1581, 279, 279, 279), 1581, (*S32, 1, 3, 1, 2, 3, 2)),
    "i": ((4932, 691, 691, 691), 4932, (*S32, 1, 11, 4, 1, 3, 1)),
    "j": ((37909, 1179, 1179, 1179), 37909, (*S32, 1, 64, 4, 1, 19, 1)),
    "k": ((2466, 1601, 1601, 1601), 2466, (*S32, 8, 14, 4, 1, 2, 1)),
    "l": ((1233, 581, 581, 581), 1233, (*S32, 4, 27, 4, 1, 1, 1)),
    "m": ((5624, 3120, 3120, 3120), 5624, (*S32, 53, 1, 1, 4, 8, 1)),
}


@pytest.mark.parametrize("name", GFX942)
def test_gfx942_data_parallel(name: str) -> None:
    two, one, first = GFX942[name]
    query = TileQuery(SIZES[name], "B", "S", "gfx942", 304, rules="original")
    assert _numbers(query) == two
    if first is not None:
        row = design(query).entries.select(*MI_COLUMNS, "gsu", "lsu").row(0)
        assert row == first
    assert (
        design(TileQuery(SIZES[name], "B", "S", "gfx942", 304, mi_filter=1, rules="original")).entries.height
        == one
    )


@pytest.mark.parametrize(
    ("name", "count"), [("g", 503), ("h", 117), ("i", 325), ("k", 1039), ("l", 581), ("m", 592)]
)
def test_gfx942_stream_k(name: str, count: int) -> None:
    assert (
        design(
            TileQuery(SIZES[name], "B", "S", "gfx942", 304, stream_k=True, rules="original")
        ).entries.height
        == count
    )


def test_granularity_formula() -> None:
    query = TileQuery((300, 500, 2, 1024), "B", "S", "gfx950", 256, mi_filter=0, rules="original")
    for row in level1(query).sample(200, seed=1).iter_rows(named=True):
        n0, n1 = 300 / row["mt0"], 500 / row["mt1"]
        tiles = math.ceil(n0) * math.ceil(n1) * 2 * row["gsu"] * row["lsu"]
        rounds = tiles / 256
        waves = min(1, math.floor(rounds + 1) * row["wgm"] * row["wgn"] * row["lsu"] / 4)
        expected = (n0 / math.ceil(n0)) * (n1 / math.ceil(n1)) * (rounds / math.ceil(rounds)) * waves
        assert (row["tiles"], row["rounds"], row["gran"]) == (tiles, rounds, expected)


def test_default_rules_never_leave_a_size_without_tiles() -> None:
    """gfx942 has an instruction whose step along N is 64: small M and N had no tile at all."""
    for m in (1, 2, 3, 5, 128):
        for n in (1, 3, 31, 63):
            for stream_k in (False, True):
                query = TileQuery((m, n, 1, 128), "B", "S", "gfx942", 304, stream_k=stream_k)
                assert design(query).entries.height > 0, (m, n, stream_k)
    assert design(TileQuery((1, 1, 1, 128), "B", "S", "gfx942", 304)).relaxed == ("smallest tile 16x16",)


def test_forced_instruction() -> None:
    query = TileQuery(SIZES["k"], "B", "S", "gfx950", 256, stream_k=True, mfma=(32, 32, 16, 1))
    assert set(design(query).entries["im"].to_list()) == {32}
    with pytest.raises(InputError, match="MFMA"):
        candidates("gfx950", "B", mfma=(5, 5, 5, 1))


def test_types_without_instruction_name_those_that_have_one() -> None:
    with pytest.raises(InputError, match=r"it can tune H, B"):
        candidates("gfx942", "F4")
