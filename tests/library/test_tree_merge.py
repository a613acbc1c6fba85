"""Merging into an existing tree."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
from logic_samples import NAME, lib, list_form, solution, write

from geko.errors import InputError
from geko.library import logic_yaml
from geko.library.tree_merge import FileMerge, merge, merge_files

S1, S2, S3 = [128, 256, 1, 512], [256, 256, 1, 512], [384, 256, 1, 512]


def run(tmp_path: Path, base: Any, new: Any, **options: Any) -> tuple[FileMerge, Any]:
    report = merge_files(write(tmp_path / "base", base), write(tmp_path / "new", new), **options)
    return report, logic_yaml.loads(report.text)


def changes(report: FileMerge) -> list[tuple[Any, ...]]:
    return [(list(c.size), c.action, c.before, c.after, c.reused) for c in report.changes]


def test_real_tool_result(shared: Path, tmp_path: Path) -> None:
    root = shared / "data" / "library_logic" / "merge"
    name = "aquavanjaram_Cijk_Ailk_Bjlk_BBS_BH_UserArgs.yaml"
    (report,) = merge(root / "base", root / "inc", tmp_path)
    assert (tmp_path / name).read_bytes() == (root / "out_default" / name).read_bytes()
    assert [change.action for change in report.changes] == ["replaced", "replaced", "added"]
    before = (root / "base" / name).read_text().splitlines()
    removed = [line for line in difflib.ndiff(before, report.text.splitlines()) if line.startswith("- ")]
    assert len(removed) == 2, "only the two replaced rows may change"


def test_forced_and_unforced(tmp_path: Path) -> None:
    base = list_form(2)
    new = list_form(0, [[S1, [0, 50.0]], [S2, [0, 500.0]], [S3, [0, 7.0]]], solutions=[solution(5, index=0)])
    report, data = run(tmp_path, base, new)
    assert changes(report) == [
        (S1, "replaced", 100.0, 50.0, False),
        (S2, "replaced", 101.0, 500.0, True),
        (S3, "added", None, 7.0, True),
    ]
    assert (report.solutions_added, report.solutions_removed) == (1, 2)
    assert [own["MacroTile0"] for own in data[5]] == [96]
    assert data[7] == [[S1, [0, 50.0]], [S2, [0, 500.0]], [S3, [0, 7.0]]]
    report, data = run(tmp_path, base, new, force=False)
    assert [change[1] for change in changes(report)] == ["kept", "replaced", "added"]
    assert data[7] == [[S1, [0, 100.0]], [S2, [1, 500.0]], [S3, [1, 7.0]]]
    report, data = run(tmp_path, base, new, no_eff=True)
    assert data[7] == [[S1, [0, 0.0]], [S2, [0, 0.0]], [S3, [0, 0.0]]]


def test_reuse_is_by_content_not_by_name(tmp_path: Path) -> None:
    same = solution(
        1, index=0, StaggerUMapping=0, StaggerUStride=0, _staggerStrideShift=0, SolutionNameMin="other"
    )
    other = solution(1, index=1, DepthU=32)
    new = list_form(0, [[S3, [0, 7.0]], [[1, 1, 1, 1], [1, 8.0]]], solutions=[same, other])
    report, data = run(tmp_path, list_form(2), new)
    assert [change.reused for change in report.changes] == [True, False]
    assert data[7][2:] == [[S3, [1, 7.0]], [[1, 1, 1, 1], [2, 8.0]]]


def test_long_sizes_are_cut_unless_told_otherwise(tmp_path: Path) -> None:
    base = list_form(2, [[[1, 2, 1, 3, 4, 4, 4, 4], [0, 1.0]], [[1, 2, 1, 3, 5, 5, 5, 5], [1, 2.0]]])
    new = list_form(1, [[[1, 2, 1, 9, 4, 4, 4, 4], [0, 3.0]]])
    _, data = run(tmp_path, base, new)
    assert data[7] == [[[1, 2, 1, 3], [0, 1.0]], [[1, 2, 1, 9], [0, 3.0]]]
    _, data = run(tmp_path, base, new, trim_size=False)
    assert [len(size) for size, _ in data[7]] == [8, 8, 8]


def test_free_size_files_keep_their_solutions(tmp_path: Path) -> None:
    base = list_form(2, [], kind="FreeSize")
    base[7] = None
    new = list_form(1, [], kind="FreeSize")
    report, data = run(tmp_path, base, new)
    assert report.action == "unchanged"
    assert data == base
    assert report.text == (tmp_path / "base" / NAME).read_text()


def test_untouched_text_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "base")
    text = (
        path.read_text()
        .replace("StaggerUMapping: 3", "StaggerUMapping: 0")
        .replace("StaggerUStride: 256", "StaggerUStride: 0")
    )
    text = text.replace("_staggerStrideShift: 2", "_staggerStrideShift: 0").replace(
        "UseScaleAB: ''", 'UseScaleAB: ""  # by hand'
    )
    path.write_text(text)
    report = merge_files(
        path,
        write(tmp_path / "new", list_form(0, [[[9, 9, 1, 9], [0, 1.0]]], solutions=[solution(7, index=0)])),
    )
    removed = [
        line for line in difflib.ndiff(text.splitlines(), report.text.splitlines()) if line.startswith("- ")
    ]
    assert removed == []
    assert logic_yaml.loads(report.text)[5][3]["MacroTile0"] == 128


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    base = [*list_form(2), {"DepthU": 64, "Extra": 5}]
    for own in base[5]:
        del own["DepthU"]
    _, data = run(tmp_path, base, list_form(0, [[S3, [0, 1.0]]], solutions=[solution(5, index=0, Extra=6)]))
    merged = lib(data)
    assert [(merged.full_solution(n)["DepthU"], merged.full_solution(n)["Extra"]) for n in range(3)] == [
        (64, 5),
        (64, 5),
        (64, 6),
    ]


def test_tree(tmp_path: Path) -> None:
    write(tmp_path / "orig" / "gfx942" / "Equality")
    write(tmp_path / "new", list_form(1, [[S3, [0, 1.0]]]))
    write(tmp_path / "new", name="fresh.yaml")
    before = (tmp_path / "orig" / "gfx942" / "Equality" / NAME).read_bytes()
    merge(tmp_path / "orig", tmp_path / "new", tmp_path / "out", dry_run=True)
    assert not (tmp_path / "out").exists()
    reports = merge(tmp_path / "orig", tmp_path / "new", tmp_path / "out")
    assert [(report.name, report.action) for report in reports] == [
        (NAME, "merged"),
        ("fresh.yaml", "copied"),
    ]
    assert (tmp_path / "out" / "fresh.yaml").read_bytes() == (tmp_path / "new" / "fresh.yaml").read_bytes()
    assert (tmp_path / "orig" / "gfx942" / "Equality" / NAME).read_bytes() == before
    merge(tmp_path / "orig", tmp_path / "new")
    assert (tmp_path / "orig" / "gfx942" / "Equality" / NAME).read_bytes() == (
        tmp_path / "out" / NAME
    ).read_bytes()


def test_refusals(tmp_path: Path) -> None:
    other_type = list_form()
    other_type[4]["DestDataType"] = 0
    with pytest.raises(InputError, match=r"ProblemType.DestDataType is 0, the original .* has 7"):
        run(tmp_path, list_form(), other_type)
    with pytest.raises(InputError, match="is for gfx950"):
        run(tmp_path, list_form(), list_form(arch="gfx950"))
    write(tmp_path / "o" / "a")
    write(tmp_path / "o" / "b")
    with pytest.raises(InputError, match="several originals"):
        merge(tmp_path / "o", tmp_path / "new", tmp_path / "out")
    assert not (tmp_path / "out").exists()
