"""Folders of logic in the warehouse: the same rows whatever reads them, and hashes only the second time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logic_samples import NAME, PROBLEM_TYPE, dict_form, list_form, solution, write

from geko.errors import InputError, MissingFileError, ToolError
from geko.ingest import library_tree, library_worker
from geko.ingest.library_tree import ingest_libraries
from geko.library import crew
from geko.warehouse import Warehouse

TABLES = (
    "library", "logic_header", "library_member", "solution", "solution_name", "library_solution", "library_entry",
    "ingest_file", "ingest_reject",
)  # fmt: skip


def tree(root: Path) -> Path:
    """Three logic files in two folders; two have the same content."""
    write(root / "Equality")
    write(root / "Equality", dict_form(), "gfx1250.yaml")
    write(root / "GridBased", list_form(5, kind="GridBased", arch={"Architecture": "gfx942", "CUCount": 80}))
    shutil.copy(root / "Equality" / NAME, root / "Equality" / "same.yaml")
    return root


def content(warehouse: Warehouse) -> dict[str, list[Any]]:
    """Every row of every table of libraries."""
    return {name: warehouse.sql(f'FROM "{name}" ORDER BY ALL').read_all().to_pylist() for name in TABLES}


Fixed = Callable[[Path], Warehouse]


def test_files_are_libraries_and_a_folder_is_one_of_them(tmp_path: Path, fixed: Fixed) -> None:
    root = tree(tmp_path / "logic")
    with fixed(tmp_path / "w.duckdb") as warehouse:
        report = ingest_libraries(warehouse, [root])
        rows = content(warehouse)
        assert [finding.rule for finding in warehouse.check() if finding.n] == []
        member = f"SELECT member_id FROM library_member WHERE path = 'GridBased/{NAME}'"
        warehouse.sql(f"DELETE FROM library WHERE library_id IN ({member})", write=True).read_all()
        missing = {finding.rule for finding in warehouse.check() if finding.n}
    assert missing >= {"reference library_member.member_id", "reference logic_header.library_id"}
    (folder,) = report.folders
    assert (folder.state, folder.n_files, folder.n_new, folder.n_refused) == ("new", 4, 3, 0)
    assert {len(rows[name]) for name in ("ingest_file", "logic_header")} == {3}
    assert sorted(row["path"] for row in rows["library_member"]) == [
        f"Equality/{NAME}", "Equality/gfx1250.yaml", "Equality/same.yaml", f"GridBased/{NAME}"
    ]  # fmt: skip
    whole = next(row for row in rows["library"] if str(row["library_id"]) == folder.library_id)
    assert (whole["name"], whole["kind"], whole["arch"], whole["n_solutions"]) == ("logic", "logic", None, 14)
    header = next(row for row in rows["logic_header"] if row["layout"] == "dict")
    assert (header["a_type"], header["use_bias"], header["activation"]) == ("bf16_r", 0, "none")


def test_second_ingest_reads_hashes_only(
    tmp_path: Path, fixed: Fixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(tmp_path / "logic")
    with fixed(tmp_path / "w.duckdb") as warehouse:
        ingest_libraries(warehouse, [root])
        before = content(warehouse)
        read: list[Path] = []
        parse = library_worker.parse_file
        monkeypatch.setattr(
            library_worker,
            "parse_file",
            lambda reader, path, digest: read.append(Path(path)) or parse(reader, path, digest),
        )
        again = ingest_libraries(warehouse, [root])
        assert read == []
        assert [report.state for report in again.files] == ["known"] * 4
        assert content(warehouse) == before
        (root / "Equality" / "new.yaml").write_bytes(
            (root / "GridBased" / NAME).read_bytes() + b"# changed\n"
        )
        changed = ingest_libraries(warehouse, [root])
        assert [path.name for path in read] == ["new.yaml"], (
            "of a changed folder only the changed file is read"
        )
        assert changed.folders[0].library_id != again.folders[0].library_id


def test_same_rows_from_any_number_of_processes_and_any_order(tmp_path: Path, fixed: Fixed) -> None:
    root = tree(tmp_path / "logic")
    found = {}
    for name, paths, workers in (
        ("one", [root], 0),
        ("two", [root], 2),
        ("order", [root / "GridBased", root, root / "Equality" / NAME], 1),
    ):
        with fixed(tmp_path / f"{name}.duckdb") as warehouse:
            ingest_libraries(warehouse, paths, workers=workers)
            found[name] = content(warehouse)
    assert found["two"] == found["one"]
    # The third was also given a folder inside the first: its files are the same, it is one library more.
    for name in set(TABLES) - {"library", "library_member"}:
        assert found["order"][name] == found["one"][name], name


def test_reading_processes_need_no_main_guard(tmp_path: Path) -> None:
    root = tree(tmp_path / "logic")
    script = (
        "from geko.warehouse import Warehouse\nfrom geko.ingest.library_tree import ingest_libraries\n"
        f"with Warehouse.open({str(tmp_path / 'w.duckdb')!r}) as w:\n"
        f"    print(ingest_libraries(w, [{str(root)!r}], workers=2).folders[0].n_new)\n"
    )
    (tmp_path / "script.py").write_text(script)
    env_root = str(Path(library_worker.__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, env={"PYTHONPATH": env_root}
    )
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_dead_sizes_are_rejects_with_their_line(tmp_path: Path, fixed: Fixed) -> None:
    data = list_form(2, [[[128, 256, 1, 512], [0, 1.0]], [[7, 8, 1, 9], [5, 2.0]], [[1, 2, 1, 3], [1, 2.0]]])
    path = write(tmp_path / "logic", data)
    with fixed(tmp_path / "w.duckdb") as warehouse:
        report = ingest_libraries(warehouse, [tmp_path / "logic"])
        rows = content(warehouse)
    (reject,) = rows["ingest_reject"]
    assert report.files[0].n_rejects == 1
    assert reject["reason"] == "points to SolutionIndex 5, which is not there"
    assert "[7, 8, 1, 9]" in path.read_text().splitlines()[reject["line"] - 1]
    assert len(rows["library_entry"]) == 2


def test_a_newer_parser_replaces_what_the_older_one_noted(
    tmp_path: Path, fixed: Fixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "logic", list_form(1, [[[1, 1, 1, 1], [0, 1.0]], [[7, 8, 1, 9], [5, 2.0]]]))
    with fixed(tmp_path / "w.duckdb") as warehouse:
        ingest_libraries(warehouse, [tmp_path / "logic"])
        before = content(warehouse)
        monkeypatch.setattr(library_tree.FORMAT, "version", 99)
        report = ingest_libraries(warehouse, [tmp_path / "logic"])
        after = content(warehouse)
    assert report.files[0].state == "new"
    assert [row["parser_version"] for row in after["ingest_file"]] == [99]
    assert len(after["ingest_reject"]) == 1
    for name in set(TABLES) - {"ingest_file", "ingest_reject"}:
        assert after[name] == before[name], name


def test_refused_files_leave_the_others(tmp_path: Path, fixed: Fixed) -> None:
    root = tree(tmp_path / "logic")
    (root / "broken.yaml").write_text(
        (root / "Equality" / NAME).read_text().replace("DataType: 7", "DataType: 99")
    )
    (root / "notes.yaml").write_text("a: 1\n")
    shutil.copy(Path(__file__).parents[2] / "examples" / "library" / "MatchTable.yaml", root)
    with fixed(tmp_path / "w.duckdb") as warehouse:
        report = ingest_libraries(warehouse, [root])
        again = ingest_libraries(warehouse, [root])
        rows = content(warehouse)["library"]
        with pytest.raises(MissingFileError):
            ingest_libraries(warehouse, [tmp_path / "nowhere"])
        (tmp_path / "empty").mkdir()
        with pytest.raises(InputError, match="no YAML file"):
            ingest_libraries(warehouse, [tmp_path / "empty"])
    assert sorted(file.path.name for file in report.refused) == ["broken.yaml", "notes.yaml"]
    assert "unknown Tensile DataType number" in next(
        file.message for file in report.refused if file.path.name == "broken.yaml"
    )
    assert (report.folders[0].n_files, report.folders[0].n_refused) == (4, 2)
    assert again.folders[0].library_id == report.folders[0].library_id
    assert [row["kind"] for row in rows].count("built") == 1


def test_a_process_that_dies_is_told(tmp_path: Path, fixed: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "logic")
    monkeypatch.setattr(
        crew,
        "_start",
        lambda words: subprocess.Popen(
            [sys.executable, "-c", "input(); import os; os._exit(9)"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ),
    )
    with fixed(tmp_path / "w.duckdb") as warehouse:
        with pytest.raises(ToolError, match="ended with status 9"):
            ingest_libraries(warehouse, [root], workers=1)
        assert warehouse.sql("SELECT count(*) FROM ingest_file").read_all()[0][0].as_py() == 0


def test_many_small_batches_are_as_one(tmp_path: Path, fixed: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "logic")
    write(
        root / "Equality",
        list_form(0, [[[5, 5, 1, 5], [0, 1.0]]], solutions=[solution(1, index=0)]),
        "b.yaml",
    )
    with fixed(tmp_path / "one.duckdb") as warehouse:
        ingest_libraries(warehouse, [root])
        one = content(warehouse)
    monkeypatch.setattr(library_tree, "_BATCH_FILES", 1)
    done: list[tuple[int, int]] = []
    with fixed(tmp_path / "many.duckdb") as warehouse:
        ingest_libraries(warehouse, [root], progress=lambda at, total: done.append((at, total)))
        assert content(warehouse) == one
    assert len(done) == 4
    assert done[-1][0] == done[-1][1]


def test_header_says_what_the_kernels_serve() -> None:
    from geko.library.problem_type import served

    plain = served(PROBLEM_TYPE)
    assert (plain["bias_types"], plain["bias_sources"], plain["use_scale_ab"]) == ([], [], "")
    rich = served(
        PROBLEM_TYPE
        | {"Activation": True, "ActivationType": "hipblaslt_all", "UseBias": 1, "BiasDataTypeList": [0, 7]}
        | {"UseScaleAB": "Vector", "UseScaleAlphaVec": 1, "BiasSrc": "AB", "GroupedGemm": 1}
    )
    assert rich["bias_types"] == ["bf16_r", "f32_r"]
    assert rich["bias_sources"] == ["a", "b"]
    assert (rich["activation"], rich["use_scale_ab"]) == ("hipblaslt_all", "Vector")
    assert rich["scale_alpha_vector"]
    assert rich["grouped"]
    old = {"DataType": 4, "DestDataType": 4, "ComputeDataType": 0, "UseBias": True, "UseScaleAB": True}
    assert served(old)["bias_types"] == ["f16_r", "f32_r"]
    assert served(old)["use_scale_ab"] == "Scalar"
    mx = PROBLEM_TYPE | {"DataType": 21, "DataTypeA": 21, "DataTypeB": 21, "MXBlockA": 32, "MXBlockB": 32}
    assert served(mx, "gfx950")["mx_scale_a"] > 2
