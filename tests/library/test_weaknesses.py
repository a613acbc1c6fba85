"""Where the library code of the original went wrong: one test for each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from logic_samples import NAME, lib, list_form, solution, write

from geko.errors import InputError
from geko.library import operations
from geko.library.build import TOOL, create, is_built
from geko.library.match_table import load_match_table

#: Stands in for TensileCreateLibrary; it is slow between making library and table, so that builds overlap.
TOOL_TEXT = """#!/bin/sh
eval logic=\\${$(($# - 2))}
eval out=\\${$(($# - 1))}
mkdir -p "$out/library/gfx942"
: > "$out/library/gfx942/TensileLibrary_lazy_gfx942.dat${FAKE_ZLIB}"
printf -- '---\\n' > MatchTable.yaml
sleep 0.2
for f in "$logic"/*.yaml; do printf '0: [%s, 0]\\n' "$f" >> MatchTable.yaml; done
"""


@pytest.fixture
def hip(tmp_path: Path) -> Path:
    tool = tmp_path / "hip/tensilelite/Tensile/bin" / TOOL
    tool.parent.mkdir(parents=True)
    tool.write_text(TOOL_TEXT)
    tool.chmod(0o755)
    return tmp_path / "hip"


def test_an_index_just_past_the_end_is_dangling_and_order_is_kept() -> None:
    # As many solutions as are referenced, one of the references being to the number right behind the last.
    sizes = [[[9, 1, 1, 1], [1, 1.0]], [[1, 1, 1, 1], [2, 1.0]], [[5, 1, 1, 1], [0, 1.0]]]
    library = lib(list_form(2, sizes))
    library.trim()
    assert library.sizes == [[[9, 1, 1, 1], [1, 1.0]], [[5, 1, 1, 1], [0, 1.0]]]
    assert [own["MacroTile0"] for own in library.solutions] == [16, 32]
    assert lib(list_form(2, sizes)).trim().dumps() == library.trim().dumps(), "the same file from run to run"


def test_the_first_file_of_a_group_is_sanitised_too(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write(tmp_path / run / "3_LibraryLogic", list_form(1, [[[ord(run), 1, 1, 1], [0, 1.0]]]))
    (merged,) = operations.merge_solutions(tmp_path, epilogues=False)
    fields = ("StaggerUMapping", "StaggerUStride", "_staggerStrideShift")
    assert [[own[name] for name in fields] for own in merged.solutions] == [[0, 0, 0], [0, 0, 0]]


def _two_types(root: Path) -> Path:
    write(root / "Equality", list_form(1))
    write(root / "GridBased", list_form(0, [], solutions=[solution(7, index=0)], kind="GridBased"))
    table = root / "MatchTable.yaml"
    table.write_text(f"---\n0: [{root}/Equality/{NAME}, 0]\n1: [{root}/GridBased/{NAME}, 0]\n...\n")
    return table


def test_equality_and_gridbased_files_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    frame = pl.DataFrame({"m": [1, 2], "n": 1, "batch_count": 1, "k": 1, "solutionIdx": [0, 1]})
    libs = operations.extract_solutions(frame, _two_types(tmp_path))
    assert [[own["MacroTile0"] for own in one.solutions] for one in libs] == [[16], [128]]
    assert len({one.name for one in libs}) == 2


def _full(tmp_path: Path, tuned: list[Any], reference: list[Any]) -> Any:
    write(tmp_path / "libs", tuned)
    write(tmp_path / "logic" / "Equality", reference)
    table = tmp_path / "MatchTable.yaml"
    table.write_text(f"---\n0: [{tmp_path}/logic/Equality/{NAME}, 0]\n...\n")
    row = {"lib": NAME, "m": 128, "n": 256, "batch_count": 1, "k": 512, "winner": "reference"}
    return operations.from_full_dataframe([row | {"solutionIdx_reference": 0}], tmp_path / "libs", table)


def test_a_reference_solution_comes_complete_and_under_the_librarys_type(tmp_path: Path) -> None:
    reference = [*list_form(1), {"DepthU": 128, "OnlyInDefaults": 5}]
    del reference[5][0]["DepthU"]
    tuned = [*list_form(1), {"DepthU": 32}]
    tuned[4]["UseBias"] = 1
    for own in tuned[5]:
        own["ProblemType"]["UseBias"] = 1
        del own["DepthU"]
    (full,) = _full(tmp_path, tuned, reference)
    (index, *_) = full.sizes[0][1]
    adopted = full.full_solution(index)
    assert (adopted["DepthU"], adopted["OnlyInDefaults"]) == (128, 5), "not the tuned file's defaults"
    assert adopted["ProblemType"] == full.problem_type


def test_a_reference_solution_of_other_types_is_refused(tmp_path: Path) -> None:
    reference = list_form(1)
    reference[4]["DestDataType"] = 0
    with pytest.raises(InputError, match="the reference solution's DestDataType is 0"):
        _full(tmp_path, list_form(1), reference)


def test_two_builds_at_once_keep_their_own_match_table(
    hip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "cwd"
    empty.mkdir()
    monkeypatch.chdir(empty)
    builds: dict[str, Any] = {}
    for name in ("one", "two"):
        write(tmp_path / name, list_form(1), f"{name}.yaml")
    threads = [
        threading.Thread(
            target=lambda n=name: builds.update({n: create(hip, tmp_path / n, tmp_path / f"out_{n}")})
        )
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, build in builds.items():
        assert load_match_table(build.match_table)["file_name"].to_pylist() == [f"{name}.yaml"]
    assert len(builds) == 2
    assert list(empty.iterdir()) == [], "nothing is written to the working directory, which may be read-only"


def test_compressed_builds_count_and_changed_logic_does_not(
    hip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ZLIB", ".zlib")
    write(tmp_path / "libs", list_form(1), "a.yaml")
    create(hip, tmp_path / "libs", tmp_path / "out")
    assert is_built(tmp_path / "out", tmp_path / "libs")
    write(tmp_path / "libs", list_form(2), "a.yaml")
    assert not is_built(tmp_path / "out", tmp_path / "libs")


def test_a_folder_of_several_architectures_is_refused(hip: Path, tmp_path: Path) -> None:
    write(tmp_path / "libs", list_form(1), "a.yaml")
    write(tmp_path / "libs", list_form(1, arch="gfx950"), "b.yaml")
    with pytest.raises(InputError, match=r"gfx942 \(a\.yaml\), gfx950 \(b\.yaml\)"):
        create(hip, tmp_path / "libs", tmp_path / "out")


@pytest.mark.parametrize("dest", [6, 8])
def test_integer_outputs_get_no_epilogue_and_no_error(dest: int) -> None:
    data = list_form()
    data[4] |= {"DataType": 8, "DestDataType": dest, "ComputeDataType": 6}
    library = lib(data)
    before = library.dumps()
    assert library.add_epilogues().dumps() == before


@pytest.mark.parametrize("sizes", [None, []])
def test_libraries_without_sizes_are_passed_through(sizes: Any) -> None:
    data = list_form(kind="FreeSize")
    data[7] = sizes
    library = lib(data)
    before = library.dumps()
    assert library.trim().dumps() == before
