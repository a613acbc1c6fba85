"""Another reference library: built once for the same logic, refused before anything is measured where it can't be used."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from search_support import write_log

from geko.errors import InputError, Interrupted, ToolError
from geko.library.build import STAMP, create
from geko.pipeline import run_search
from geko.runs.options import RunOptions, SimulateOptions, Source
from geko.runs.setup import prepare_ground
from geko.warehouse import Warehouse


def options(out: Path, **more: Any) -> RunOptions:
    return RunOptions(simulate=SimulateOptions(), workdir=out, **more)


def test_built_once_for_the_same_logic(tmp_path: Path, example_library: Path) -> None:
    logic = tmp_path / "logic"
    shutil.copytree(example_library / "Equality", logic)
    with Warehouse.open(tmp_path / "g.duckdb") as wh:

        def place(name: str) -> tuple[str | None, str]:
            reference = prepare_ground(
                wh, options(tmp_path / name, custom_lib_src=logic), tmp_path / name, None
            ).reference
            return reference.libpath, reference.library_id

        first = place("one")
        stamp = tmp_path / "one" / "ref_build" / STAMP
        made = stamp.stat().st_mtime_ns
        assert place("one") == first and place("two") == first, "built again"
        assert stamp.stat().st_mtime_ns == made and not (tmp_path / "two").exists()
        sorted(logic.glob("*.yaml"))[0].unlink()
        other = place("two")
        assert other[1] != first[1] and str(tmp_path / "two") in str(other[0])
        shutil.rmtree(tmp_path / "two")
        assert place("three")[1] == other[1], "the same logic is the same library wherever it is built"


def test_a_library_without_its_table_is_refused_before_the_search(
    tmp_path: Path, repo_root: Path, example_library: Path
) -> None:
    with Warehouse.open(tmp_path / "g.duckdb") as wh:
        root = prepare_ground(wh, options(tmp_path / "o"), None, None).root
    build = create(root.path, example_library / "Equality", tmp_path / "built")
    assert build.match_table is not None
    build.match_table.unlink()
    log = write_log(repo_root, tmp_path / "one.yaml", [(4096, 16, 14336)])
    with pytest.raises(InputError, match=r"no MatchTable\.yaml beside it"):
        run_search(
            tmp_path / "g.duckdb",
            Source("log", (log,)),
            options(tmp_path / "o", custom_lib_dir=build.code_dir),
            verbose=0,
        )
    with Warehouse.open(tmp_path / "g.duckdb") as wh:
        assert wh.sql("SELECT count(*) AS n FROM job").read_all().to_pylist() == [{"n": 0}]


def test_a_build_can_be_stopped(
    tmp_path: Path, example_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Warehouse.open(tmp_path / "g.duckdb") as wh:
        root = prepare_ground(wh, options(tmp_path / "o"), None, None).root
    monkeypatch.setenv("GEKO_SIM_FAULTS", "hang:tool=TensileCreateLibrary")
    asked = []

    def stop() -> None:
        asked.append(1)
        if len(asked) > 3:
            raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        create(root.path, example_library / "Equality", tmp_path / "built", stop_requested=stop)
    assert not (tmp_path / "built" / STAMP).exists()
    monkeypatch.setenv("GEKO_SIM_FAULTS", "crash:tool=TensileCreateLibrary")
    with pytest.raises(ToolError, match="was ended by SIGSEGV, and printed nothing"):
        create(root.path, example_library / "Equality", tmp_path / "built")
