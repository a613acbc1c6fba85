"""Layouts, collections, trim, epilogues, soundness."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from logic_samples import NAME, PROBLEM_TYPE, dict_form, lib, list_form, solution, write

from geko import library
from geko.errors import InputError, MissingFileError
from geko.library import crew, logic_yaml, operations
from geko.library.check import check, repair
from geko.library.model import Library, LibraryCollection


def layouts() -> dict[str, Any]:
    thirteen_2023 = list_form()
    thirteen_2023.insert(10, None)
    nested = list_form()
    nested[5] = {
        "SolutionDefaults": {"DepthU": 64},
        "Solutions": [{k: v for k, v in solution(n).items() if k != "DepthU"} for n in range(3)],
    }
    nested_dict = dict_form()
    nested_dict["Solutions"] = {
        "SolutionDefaults": nested_dict.pop("DefaultSolution"),
        "Solutions": nested_dict["Solutions"],
    }
    return {
        "list12": list_form(),
        "list13-2023": thirteen_2023,
        "list13-defaults": [*list_form(), {"Extra": 1}],
        "list-nested": nested,
        "dict": dict_form(),
        "dict-nested": nested_dict,
        "list9": list_form()[:9],
        "list-cu": list_form(arch={"Architecture": "gfx942", "CUCount": 80}),
    }


@pytest.mark.parametrize("name", layouts())
def test_every_layout_is_read_alike_and_carried_through(name: str, tmp_path: Path) -> None:
    data = layouts()[name]
    path = write(tmp_path, data)
    loaded = operations.load_library(path)
    assert loaded.data == data
    assert type(loaded.data) is type(data)
    assert loaded.layout == ("dict" if name.startswith("dict") else "list")
    assert [loaded.full_solution(n)["DepthU"] for n in range(3)] == [64, 64, 64]
    assert [loaded.full_solution(n)["MacroTile0"] for n in range(3)] == [16, 32, 48]
    assert len(loaded.sizes) == 3
    assert loaded.architecture == ("gfx1250" if name.startswith("dict") else "gfx942")
    assert loaded.cu_count == {"dict": 256, "dict-nested": 256, "list-cu": 80}.get(name)
    if name != "list9":
        assert loaded.library_type == "Equality"
        assert loaded.perf_metric == "DeviceEfficiency"
    loaded.dump(tmp_path / "again")
    assert (tmp_path / "again" / NAME).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", layouts())
def test_trim_works_in_every_layout(name: str) -> None:
    loaded = Library(layouts()[name], NAME)
    loaded.sizes = [entry for entry in loaded.sizes if entry[1][0] != 0]
    wanted = [loaded.full_solution(n)["MacroTile0"] for n in (1, 2)]
    loaded.trim()
    assert [loaded.full_solution(n)["MacroTile0"] for n in range(len(loaded.solutions))] == wanted
    assert [entry[1][0] for entry in loaded.sizes] == [0, 1]
    assert [own["SolutionIndex"] for own in loaded.solutions] == [0, 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (list_form()[:8], "at least 9"),
        ({"Solutions": []}, "missing ArchitectureName, ProblemType, LibraryType"),
        ("text", "neither a list nor a mapping"),
        ([*list_form()[:5], "x", *list_form()[6:]], "Solutions has the wrong type"),
        ([*list_form()[:4], 1, *list_form()[5:]], "ProblemType has the wrong type"),
        ([*list_form()[:7], {}, *list_form()[8:]], "ExactLogic has the wrong type"),
        (list_form(solutions=[1]), "a solution is not a mapping"),  # type: ignore[list-item]
    ],
)
def test_what_is_no_logic_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Library(data, NAME)


def test_trim_keeps_the_best_entry_and_the_order() -> None:
    sizes = [
        [[1, 1, 1, 1], [2, 5.0]],
        [[2, 2, 1, 2], [0, 1.0]],
        [[1, 1, 1, 1], [0, 7.0]],
        [[2, 2, 1, 2], [3, 1.0]],
    ]
    original = lib(list_form(4, sizes))
    trimmed = operations.trim(original)
    assert trimmed.sizes == [[[1, 1, 1, 1], [0, 7.0]], [[2, 2, 1, 2], [0, 1.0]]]
    assert [own["MacroTile0"] for own in trimmed.solutions] == [16]
    assert original.data == list_form(4, sizes), "the pure form changed its argument"
    again = trimmed.dumps()
    assert trimmed.trim().dumps() == again


def test_trim_drops_an_index_just_past_the_end() -> None:
    # Upstream tested > where >= was meant: an index equal to the count slipped through.
    loaded = lib(list_form(2, [[[1, 1, 1, 1], [0, 1.0]], [[2, 1, 1, 1], [2, 1.0]], [[3, 1, 1, 1], [1, 1.0]]]))
    loaded.trim()
    assert loaded.sizes == [[[1, 1, 1, 1], [0, 1.0]], [[3, 1, 1, 1], [1, 1.0]]]


@pytest.mark.parametrize("sizes", [None, []])
@pytest.mark.parametrize("kind", ["FreeSize", "Prediction", "GridBased", "Equality"])
def test_trim_passes_libraries_without_sizes_through(sizes: Any, kind: str) -> None:
    data = list_form(3, [], kind=kind)
    data[7] = sizes
    data[6] = None
    loaded = lib(data)
    before = loaded.dumps()
    assert loaded.trim().dumps() == before


def test_trim_leaves_solutions_that_ranges_or_tiles_select() -> None:
    data = list_form(3, [[[1, 1, 1, 1], [2, 1.0]], [[1, 1, 1, 1], [2, 2.0]]])
    data[9] = {"TileSelectionIndices": [0, 1]}
    loaded = lib(data).trim()
    assert len(loaded.solutions) == 3
    assert loaded.sizes == [[[1, 1, 1, 1], [2, 2.0]]]


def test_epilogues_change_type_and_names_once() -> None:
    loaded = lib()
    loaded.add_epilogues()
    assert loaded.name == "aquavanjaram_Cijk_Alik_Bljk_BBS_BH_BiasSB_HAS_SAV_UserArgs.yaml"
    for problem_type in [loaded.problem_type, *(own["ProblemType"] for own in loaded.solutions)]:
        assert problem_type["Activation"] is True
        assert problem_type["ActivationType"] == "hipblaslt_all"
        assert problem_type["UseBias"] == 1
        assert problem_type["BiasDataTypeList"] == [0, 7]
        assert problem_type["UseScaleAlphaVec"] == 1
        assert problem_type["UseScaleAB"] == ""
    assert {own["ActivationFuncCall"] for own in loaded.solutions} == {False}
    assert loaded.solutions[1]["KernelNameMin"].startswith(
        "Cijk_Alik_Bljk_BBS_BH_BiasSB_HAS_SAV_UserArgs_MT32x16x64"
    )
    text, name = loaded.dumps(), loaded.name
    loaded.add_epilogues()
    assert (loaded.dumps(), loaded.name) == (text, name)


@pytest.mark.parametrize(
    ("data_type", "dest", "scale", "suffix", "types"),
    [
        (15, 7, "", "_BiasSB_HAS_SAB_SAV", [0, 7]),
        (15, 15, "", "_BiasSHB_HAS_SAB_SAV", [0, 4, 7]),
        (4, 4, "", "_BiasSH_HAS_SAV", [0, 4]),
        (0, 0, "", "_BiasS_HAS_SAV", [0]),
        (7, 7, "Vector", "_BiasSB_HAS_SABV_SAV", [0, 7]),
    ],
)
def test_epilogue_suffix_follows_the_types(
    data_type: int, dest: int, scale: str, suffix: str, types: list[int]
) -> None:
    data = list_form()
    data[4] |= {"DataType": data_type, "DestDataType": dest, "UseScaleAB": scale}
    loaded = lib(data, "x_Cijk_XX_BH_Bias_HA_S_SAV_UserArgs.yaml").add_epilogues()
    assert loaded.name == f"x_Cijk_XX_BH{suffix}_UserArgs.yaml"
    assert loaded.problem_type["BiasDataTypeList"] == types


@pytest.mark.parametrize(("data_type", "dest"), [(1, 1), (2, 2), (3, 3), (8, 6), (8, 8), (8, None)])
def test_types_without_epilogues_stay_as_they_are(data_type: int, dest: Any) -> None:
    data = list_form()
    data[4] |= {"DataType": data_type, "DestDataType": dest}
    loaded = lib(data)
    before = loaded.dumps()
    assert loaded.add_epilogues().dumps() == before
    assert loaded.name == NAME


def test_epilogues_without_a_scale_key_add_none() -> None:
    data = list_form()
    for problem_type in [data[4], *(own["ProblemType"] for own in data[5])]:
        del problem_type["UseScaleAB"]
    assert "UseScaleAB" not in lib(data).add_epilogues().problem_type


def test_epilogues_in_dict_layout_use_the_defaults() -> None:
    loaded = Library(dict_form(), NAME).add_epilogues()
    assert loaded.default_solution["ActivationFuncCall"] is False
    assert all("ActivationFuncCall" not in own for own in loaded.solutions)


UNSOUND: list[tuple[str, list[Any], list[Any]]] = [
    ("index-twice", [solution(0), solution(1, index=0)], [[[1, 1, 1, 1], [1, 0.0]]]),
    (
        "index-missing",
        [{k: v for k, v in solution(0).items() if k != "SolutionIndex"}],
        [[[1, 1, 1, 1], [0, 0.0]]],
    ),
    ("index-order", [solution(0, index=1), solution(1, index=0)], [[[1, 1, 1, 1], [1, 0.0]]]),
    ("index-dangling", [solution(0)], [[[1, 1, 1, 1], [0, 0.0]], [[2, 1, 1, 1], [1, 0.0]]]),
    ("size-form", [solution(0)], [[[1, 1, 1, 1], [0, 0.0]], [[1, 1, 1], [0, 0.0]]]),
]


@pytest.mark.parametrize(("code", "solutions", "sizes"), UNSOUND)
def test_unsound_logic_is_found_refused_and_repaired(
    code: str, solutions: list[Any], sizes: list[Any]
) -> None:
    loaded = lib(list_form(0, sizes, solutions=solutions))
    assert [finding.code for finding in check(loaded)] == [code]
    if code != "index-dangling":
        with pytest.raises(InputError, match="--repair"):
            loaded.copy().trim()
    done = repair(loaded)
    assert len(done) == 1
    assert NAME in done[0]
    assert check(loaded) == []
    assert repair(loaded) == []
    assert [own["SolutionIndex"] for own in loaded.solutions] == list(range(len(loaded.solutions)))
    if code == "index-order":
        # the size follows the solution that carried its index
        assert loaded.full_solution(loaded.sizes[0][1][0])["MacroTile0"] == 16


def test_missing_names_follow_from_the_content() -> None:
    bare = {k: v for k, v in solution(0).items() if "Name" not in k}
    other = {k: v for k, v in solution(1, index=1).items() if "Name" not in k}
    loaded = lib(list_form(0, [[[1, 1, 1, 1], [0, 0.0]]], solutions=[bare, other, solution(2)]))
    again = loaded.copy()
    assert [finding.code for finding in check(loaded)] == ["name-missing"]
    assert repair(loaded) == [f"{NAME}: no name at positions 0, 1: named after its content"]
    names = [own["SolutionNameMin"] for own in loaded.solutions]
    assert len(set(names)) == 3
    assert names[0].startswith(f"{NAME.removesuffix('.yaml')}_")
    assert names[2] == solution(2)["SolutionNameMin"]
    repair(again)
    assert again.dumps() == loaded.dumps()
    assert check(loaded) == []


def test_everything_wrong_at_once_is_repaired_with_a_line_each() -> None:
    bare = {k: v for k, v in solution(0, index=7).items() if "Name" not in k}
    sizes = [
        [[1, 1, 1, 1], [7, 0.0]],
        [[2, 1, 1, 1], [-1, 0.0]],
        [[3, 1, 1, 1], [3, 0.0]],
        [[4, 1], [3, 0.0]],
    ]
    loaded = lib(list_form(0, sizes, solutions=[bare, solution(1, index=3), solution(2, index=-4)]))
    codes = [finding.code for finding in check(loaded)]
    assert codes == ["index-order", "name-missing", "size-form", "index-dangling"]
    assert len(repair(loaded)) == 4
    assert loaded.sizes == [[[1, 1, 1, 1], [0, 0.0]], [[3, 1, 1, 1], [1, 0.0]]]
    assert [own["SolutionIndex"] for own in loaded.solutions] == [0, 1, 2]


def test_collection(tmp_path: Path) -> None:
    write(tmp_path, name="b.yaml")
    write(tmp_path, name="a.yaml")
    (tmp_path / "MatchTable.yaml").write_text("---\n0: [a.yaml, 0]\n...\n")
    libs = operations.load_collection(tmp_path)
    assert libs.names == ["a.yaml", "b.yaml"]
    assert libs["b.yaml"] is libs[1]
    libs[0].sizes = libs[0].sizes[:1]
    libs.trim()
    assert [len(one.solutions) for one in libs] == [1, 3]
    pure = operations.add_epilogues(libs)
    assert libs[0].problem_type["UseBias"] == 0
    assert pure[0].problem_type["UseBias"] == 1
    assert sorted(path.name for path in libs.dump(tmp_path / "out")) == ["a.yaml", "b.yaml"]
    with pytest.raises(MissingFileError):
        operations.load_collection(tmp_path / "none")
    with pytest.raises(InputError, match="no library logic file"):
        operations.load_collection(tmp_path, "*.yml")
    with pytest.raises(InputError, match="two libraries of one name"):
        LibraryCollection([libs[0], libs[0]])


def test_collection_from_several_processes_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write(tmp_path, name=f"{number}.yaml")
    monkeypatch.setattr(crew, "_CHUNK_BYTES", 1)  # a chunk a file
    started = []
    start = crew._start
    monkeypatch.setattr(crew, "_start", lambda words: started.append(words) or start(words))
    alone, together = (operations.load_collection(tmp_path, workers=number) for number in (0, 2))
    assert len(started) == 2
    assert [(one.name, one.path, one.dumps()) for one in together] == [
        (one.name, one.path, one.dumps()) for one in alone
    ]
    # Nothing is shared: what changes in one solution changes nowhere else.
    together[0].solutions[0]["DepthU"] = together[0].sizes[0][0][0] = -1
    assert together[1].dumps() == alone[1].dumps()
    assert (together[0].solutions[1], together[0].sizes[1]) == (alone[0].solutions[1], alone[0].sizes[1])
    (tmp_path / "1.yaml").write_text("- [broken\n")
    for workers in (0, 2):
        with pytest.raises(InputError, match=r"1\.yaml") as caught:
            operations.load_collection(tmp_path, workers=workers)
        assert str(caught.value).startswith(str(tmp_path / "1.yaml"))


def test_copies_share_nothing() -> None:
    first = lib()
    second = first.copy()
    second.solutions[0]["ISA"].append(1)
    second.problem_type["Batched"] = False
    second.sizes[0][0][0] = 9
    assert first.data == list_form()


@pytest.mark.parametrize("frames", ["polars", "pandas"])
def test_pattern_3_of_the_readme(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frames: str
) -> None:
    monkeypatch.setenv("GEKO_FRAMES", frames)
    text = (shared / "spec" / "original-readme.txt").read_text()
    match = re.search(r"### Pattern 3.*?```python\n(.*?)```", text, re.S)
    assert match
    sizes = [[[64 * n, 64, 1, 1024 * n], [n % 3, 10.0 * n]] for n in range(1, 6)]
    write(tmp_path, list_form(3, sizes), "my_library.yaml")
    data = logic_yaml.load(tmp_path / "my_library.yaml")
    monkeypatch.chdir(tmp_path)
    exec(match[1], {"__name__": "pattern3"})
    after = operations.load_library(tmp_path / "modified_libs" / "my_library.yaml")
    assert [size for size, _ in after.sizes] == [size for size, _ in sizes if size[3] < 2048]
    assert [own["KernelNameMin"] for own in after.solutions] == [
        data[5][1]["KernelNameMin"].replace("_UserArgs", "_BiasSB_HAS_SAV_UserArgs")
    ]
    assert after.problem_type["UseBias"] == 1
    for kind in ("bench", "verify"):
        rows = logic_yaml.load(tmp_path / "benchmarks" / f"my_library_{kind}.yaml")
        assert [row["K"] for row in rows] == [size[3] for size, _ in sizes]


def test_frames_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    loaded = lib()
    sizes = loaded.sizes_frame()
    assert isinstance(sizes, pl.DataFrame)
    assert sizes.select("m", "n", "k", "local_index").rows() == [
        (128, 256, 512, 0), (256, 256, 512, 1), (384, 256, 512, 2)
    ]  # fmt: skip
    monkeypatch.setenv("GEKO_FRAMES", "pandas")
    frame = loaded.solutions_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["mt0"].tolist() == [16, 32, 48]
    assert loaded.sizes_frame()["efficiency"].tolist() == [100.0, 101.0, 102.0]


def test_public_names() -> None:
    assert library.Library is Library
    assert library.LibraryCollection is LibraryCollection
    assert library.from_dataframe is operations.from_dataframe
    for name in operations.__all__:
        assert callable(getattr(library.operations, name))
    with pytest.raises(AttributeError):
        _ = library.nothing


def test_real_files_survive_load_and_dump(shared: Path) -> None:
    files = sorted(
        [*shared.glob("data/library_logic/**/*.yaml"), *shared.glob("example-library/Equality/*.yaml")]
    )
    assert len(files) > 20
    for path in files:
        loaded = operations.load_library(path)
        assert logic_yaml.loads(loaded.dumps()) == logic_yaml.load(path), path
        assert check(loaded) == [], path
        sizes = [tuple(entry[0]) for entry in loaded.sizes]
        before = {
            size: loaded.full_solution(entry[1][0])["MacroTile0"]
            for size, entry in zip(sizes, loaded.sizes, strict=True)
        }
        loaded.trim()
        after = {tuple(entry[0]): loaded.full_solution(entry[1][0])["MacroTile0"] for entry in loaded.sizes}
        assert after == before, path


def test_problem_type_sample_is_not_shared() -> None:
    assert lib().problem_type is not PROBLEM_TYPE
