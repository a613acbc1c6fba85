"""What is written: the same bytes from run to run, and the old file or the new one, never half of one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from logic_samples import NAME, lib, list_form, solution, write

from geko import fsio
from geko.errors import InputError
from geko.library import operations
from geko.library.tree_merge import merge

#: Everything that writes library logic, from the inputs beside it.
_SCRIPT = """
import sys
from pathlib import Path
root, out = Path(sys.argv[1]), Path(sys.argv[2])
from geko.library import operations as ops
from geko.library.tree_merge import merge
rows = [{"m": 7 * n + 1, "n": 2, "batch_count": 1, "k": 3, "solutionIdx": n % 3} for n in range(9)]
if sys.argv[3] == "backwards":
    rows.reverse()
ops.extract_solutions(rows, root / "MatchTable.yaml").dump(out / "extract")
ops.merge_solutions(root / "runs").dump(out / "merged")
libs = ops.load_collection(root / "logic" / "Equality")
ops.add_epilogues(ops.trim(libs)).dump(out / "trimmed")
libs.create_bench_input(out / "bench", verify=True)
merge(root / "logic" / "Equality", out / "extract", out / "tree")
"""


def _inputs(root: Path, names: list[str]) -> None:
    """The same files, made in the order given: folders list them in another order then."""
    for name in names:
        write(root / "logic" / "Equality", list_form(3), f"{name}.yaml")
        write(root / "runs" / name / "3_LibraryLogic", list_form(0, [[[ord(name[0]), 1, 1, 1], [0, 1.0]]],
              solutions=[solution(ord(name[0]) % 5, index=0)]))  # fmt: skip
    lines = "".join(f"{n}: [{root}/logic/Equality/a.yaml, {n}]\n" for n in range(3))
    (root / "MatchTable.yaml").write_text(f"---\n{lines}...\n")


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_same_bytes_from_run_to_run_and_from_any_order(tmp_path: Path, repo_root: Path) -> None:
    found = []
    for number, names in enumerate((["a", "b", "c"], ["c", "a", "b"])):
        # The same place both times: a MatchTable names paths.
        root, out = tmp_path / "in", tmp_path / f"out{number}"
        _inputs(root, names)
        env = os.environ | {"PYTHONPATH": str(repo_root), "PYTHONHASHSEED": str(number)}
        way = "backwards" if number else "forwards"
        subprocess.run([sys.executable, "-c", _SCRIPT, str(root), str(out), way], check=True, env=env)
        found.append(_digests(out))
        for path in sorted(root.rglob("*.yaml"), reverse=True):
            path.unlink()
    assert found[0] == found[1]
    assert {name.split("/")[0] for name in found[0]} == {"extract", "merged", "trimmed", "bench", "tree"}


@pytest.mark.parametrize("fault", ["fsync", "write"])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    path = write(tmp_path)
    old = path.read_bytes()
    library = lib(list_form(1))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if fault == "fsync":
        monkeypatch.setattr(fsio.os, "fsync", fail)
    else:
        library.solutions[0]["Odd"] = object()
    with pytest.raises((OSError, InputError)):
        library.dump(tmp_path)
    assert path.read_bytes() == old
    assert [item.name for item in tmp_path.iterdir()] == [NAME], "nothing is left beside it"


def test_a_merge_that_fails_half_way_changes_nothing(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        write(tmp_path / "orig", name=name)
    write(tmp_path / "new", list_form(1, [[[9, 9, 1, 9], [0, 1.0]]]), "a.yaml")
    write(tmp_path / "new", list_form(1, [[[9, 9, 1, 9], [5, 1.0]]]), "b.yaml")
    before = _digests(tmp_path / "orig")
    with pytest.raises(InputError, match="repair it with --repair"):
        merge(tmp_path / "orig", tmp_path / "new")
    assert _digests(tmp_path / "orig") == before
    with pytest.raises(InputError):
        merge(tmp_path / "orig", tmp_path / "new", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_merge_repairs_when_told_and_says_what(tmp_path: Path) -> None:
    base = list_form(0, [[[1, 1, 1, 1], [1, 5.0]]], solutions=[solution(0), solution(1, index=0)])
    write(tmp_path / "orig", base)
    write(tmp_path / "new", list_form(1, [[[9, 9, 1, 9], [0, 1.0]], [[8, 8, 1, 8], [4, 1.0]]]))
    (report,) = merge(tmp_path / "orig", tmp_path / "new", tmp_path / "out", repair=True)
    assert report.repaired == [
        f"{NAME}: SolutionIndex 0 stands twice: numbered by position",
        f"{NAME}: sizes point to SolutionIndex 4, which is not there: dropped, as the build drops them",
    ]
    merged = operations.load_library(tmp_path / "out" / NAME)
    assert [size for size, _ in merged.sizes] == [[1, 1, 1, 1], [9, 9, 1, 9]]
    assert merged.full_solution(merged.sizes[0][1][0])["MacroTile0"] == 32
    assert merged.check() == []
