"""Libraries made from others: merge of tunings, extract by MatchTable, from frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from logic_samples import NAME, list_form, solution, write

from geko.errors import InputError
from geko.library import operations
from geko.library.match_table import SCHEMA, load_match_table


def run_dir(root: Path, run: str, data: Any, name: str = NAME) -> None:
    write(root / run / "3_LibraryLogic", data, name)


def test_merge_solutions_sanitises_every_file_and_is_order_free(tmp_path: Path) -> None:
    for order in ("ab", "ba"):
        root = tmp_path / order
        for place, which in enumerate(order):
            number = "ab".index(which)
            sizes = [
                [[128, 1, 1, 64, 128, 128, 64, 64], [0, 5.0 + number]],
                [[9 + number, 1, 1, 64], [0, 1.0]],
            ]
            run_dir(root, which, list_form(0, sizes, solutions=[solution(number, index=0)]))
            assert place < 2
    (merged,) = operations.merge_solutions(tmp_path / "ab", epilogues=False)
    assert [own["StaggerUMapping"] for own in merged.solutions] == [0, 0]
    assert [own["_staggerStrideShift"] for own in merged.solutions] == [0, 0]
    assert merged.sizes == [
        [[128, 1, 1, 64], [1, 6.0]],
        [[9, 1, 1, 64], [0, 1.0]],
        [[10, 1, 1, 64], [1, 1.0]],
    ]
    assert operations.merge_solutions(tmp_path / "ba", epilogues=False)[0].dumps() == merged.dumps()
    (long,) = operations.merge_solutions(tmp_path / "ab", epilogues=False, trim_size=False)
    assert len(long.sizes[0][0]) == 8
    (epi,) = operations.merge_solutions(tmp_path / "ab")
    assert "_BiasSB_HAS_SAV_UserArgs" in epi.name


def test_merge_solutions_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no library logic matches"):
        operations.merge_solutions(tmp_path)
    other = list_form()
    other[4]["TransposeB"] = True
    run_dir(tmp_path, "a", list_form())
    run_dir(tmp_path, "b", other)
    with pytest.raises(InputError, match="ProblemType differs"):
        operations.merge_solutions(tmp_path)


def test_merge_solutions_with_unequal_defaults(tmp_path: Path) -> None:
    for run, depth in (("a", 32), ("b", 128)):
        own = {key: value for key, value in solution(0).items() if key != "DepthU"}
        run_dir(
            tmp_path, run, [*list_form(0, [[[depth, 1, 1, 1], [0, 1.0]]], solutions=[own]), {"DepthU": depth}]
        )
    (merged,) = operations.merge_solutions(tmp_path, epilogues=False)
    assert [merged.full_solution(n)["DepthU"] for n in range(2)] == [32, 128]


@pytest.fixture
def logic(tmp_path: Path) -> Path:
    root = tmp_path / "logic"
    write(root / "gfx942" / "Equality", list_form(3))
    write(
        root / "gfx942" / "GridBased",
        list_form(0, solutions=[solution(7, index=0), solution(8, index=1)], kind="GridBased"),
    )
    lines = [f"{n}: [/build/machine/gfx942/Equality/{NAME},\n  {n}]\n" for n in range(3)]
    lines += [f"{n + 3}: [/build/machine/gfx942/GridBased/{NAME},\n  {n}]\n" for n in range(2)]
    (tmp_path / "MatchTable.yaml").write_text("---\n" + "".join(lines) + "...\n")
    return tmp_path


def winners(*rows: tuple[int, int]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"m": m, "n": 1, "batch_count": 1, "k": 64, "solutionIdx": index} for m, index in rows]
    )


def test_extract_keeps_types_apart_and_sorts(logic: Path) -> None:
    frame = winners((512, 2), (64, 0), (128, 4), (256, 2))
    before = frame.clone()
    libs = operations.extract_solutions(frame, logic / "MatchTable.yaml", logic / "logic")
    assert frame.equals(before)
    grid = NAME.replace(".yaml", "_GridBased.yaml")
    assert libs.names == [NAME, grid]
    equality = libs[NAME]
    assert equality.sizes == [
        [[64, 1, 1, 64], [0, 0.0]],
        [[256, 1, 1, 64], [1, 0.0]],
        [[512, 1, 1, 64], [1, 0.0]],
    ]
    assert [own["MacroTile0"] for own in equality.solutions] == [16, 48]
    assert [own["MacroTile0"] for own in libs[grid].solutions] == [144]
    for one in libs:
        assert isinstance(one.data, list)
        assert len(one.data) == 12
        assert one.data[6] == [2, 3, 0, 1]
        assert one.data[8:] == [None, None, "DeviceEfficiency", "Equality"]
        assert one.data[:4] == list_form()[:4]
    shuffled = operations.extract_solutions(frame.reverse(), logic / "MatchTable.yaml")
    assert [one.dumps() for one in shuffled] == [one.dumps() for one in libs]


def test_extract_takes_other_frames_and_tables(logic: Path) -> None:
    frame = winners((64, 0))
    table = load_match_table(logic / "MatchTable.yaml")
    assert table.schema == SCHEMA
    want = operations.extract_solutions(frame, logic / "MatchTable.yaml")[0].dumps()
    assert operations.extract_solutions(frame.to_arrow(), table, logic)[0].dumps() == want
    assert operations.extract_solutions(frame.to_dicts(), table, logic)[0].dumps() == want

    class Capsule:
        """Nothing but the Arrow PyCapsule interface."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return frame.to_arrow().__arrow_c_stream__(requested_schema)

    assert operations.extract_solutions(Capsule(), table, logic)[0].dumps() == want
    assert operations.extract_solutions(frame.lazy(), table, logic)[0].dumps() == want
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame(
        {name: [1] for name in frame.columns}
        | {
            "m": [
                [1],
            ]
        }
    ).assign(k=["x"])
    mixed = pandas.concat([mixed, pandas.DataFrame(frame.to_dicts())])
    with pytest.raises(InputError, match="values of several kinds"):
        operations.extract_solutions(mixed, table, logic)
    assert operations.extract_solutions(pandas.DataFrame(frame.to_dicts()), table, logic)[0].dumps() == want


def test_extract_refusals(logic: Path) -> None:
    table = logic / "MatchTable.yaml"
    with pytest.raises(InputError, match="Missing 'solutionIdx' field"):
        operations.extract_solutions(winners((1, 0)).drop("solutionIdx"), table)
    with pytest.raises(InputError, match="missing fields: k"):
        operations.extract_solutions(winners((1, 0)).drop("k"), table)
    with pytest.raises(InputError, match="Reference solution index 99 not found in MatchTable"):
        operations.extract_solutions(winners((1, 99)), table)
    with pytest.raises(InputError, match="not a frame"):
        operations.extract_solutions("x", table)
    write(logic / "logic" / "gfx942" / "Equality", list_form(1))
    with pytest.raises(InputError, match="not the one that was built"):
        operations.extract_solutions(winners((1, 2)), table)
    (logic / "logic" / "gfx942" / "Equality" / NAME).unlink()
    (logic / "logic" / "gfx942" / "GridBased" / NAME).unlink()
    with pytest.raises(InputError, match="name the logic root"):
        operations.extract_solutions(winners((1, 0)), table)


def results(*rows: tuple[int, str, int | None], lib: str = NAME) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "lib": lib,
                "m": m,
                "n": 256,
                "batch_count": 1,
                "k": 512,
                "winner": winner,
                "solutionIdx_reference": index,
            }
            for m, winner, index in rows
        ]
    )


def test_from_dataframe(tmp_path: Path) -> None:
    write(tmp_path, list_form(4, kind="GridBased"))
    frame = results((384, "tuned", 0), (128, "tuned", 0))
    (kept,) = operations.from_dataframe(frame, tmp_path, type_override="Equality")
    assert kept.sizes == [[[128, 256, 1, 512], [0, 100.0]], [[384, 256, 1, 512], [1, 102.0]]]
    assert [own["MacroTile0"] for own in kept.solutions] == [16, 48]
    assert kept.library_type == "Equality"
    assert operations.from_dataframe(frame.reverse(), tmp_path)[0].library_type == "GridBased"
    with pytest.raises(InputError, match="are not in the library"):
        operations.from_dataframe(results((1, "tuned", 0)), tmp_path)
    with pytest.raises(InputError, match="must contain the lib column"):
        operations.from_dataframe(frame.drop("lib"), tmp_path)


def test_from_full_dataframe_reconciles_reference_solutions(logic: Path) -> None:
    tuned = [*list_form(2), {"Extra": 1}]
    tuned[4]["UseBias"] = 1
    for own in tuned[5]:
        own["ProblemType"]["UseBias"] = 1
    write(logic / "libs", tuned)
    frame = results((128, "tuned", 3), (256, "reference", 3))
    (full,) = operations.from_full_dataframe(frame, logic / "libs", logic / "MatchTable.yaml")
    assert full.sizes == [[[128, 256, 1, 512], [0, 100.0]], [[256, 256, 1, 512], [1, 0.0]]]
    adopted = full.solutions[1]
    assert adopted["MacroTile0"] == 128
    assert adopted["ProblemType"] == full.problem_type
    with pytest.raises(InputError, match="Unknown winner type"):
        operations.from_full_dataframe(results((128, "best", 3)), logic / "libs", logic / "MatchTable.yaml")
    with pytest.raises(InputError, match="must contain the solutionIdx_reference column"):
        operations.from_full_dataframe(
            frame.drop("solutionIdx_reference"), logic / "libs", logic / "MatchTable.yaml"
        )
    tuned[4]["DataTypeA"] = 4
    write(logic / "libs", tuned)
    with pytest.raises(InputError, match="the reference solution's DataTypeA is 7"):
        operations.from_full_dataframe(frame, logic / "libs", logic / "MatchTable.yaml")
