"""What exports write: the same bytes every time, recorded, nothing of the user's touched, simulated in every file."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from search_support import Searched, ask

from geko.errors import UsageError
from geko.export import export_run, resolve_run
from geko.export.bench_files import yaml_rows
from geko.export.logic import export_logic
from geko.export.record import record_files, remove_stale
from geko.library.model import load_library
from geko.warehouse import Warehouse


@pytest.fixture
def copied(pointed: Searched, tmp_path: Path) -> Path:
    """A warehouse that a test may write into."""
    shutil.copyfile(pointed.db, tmp_path / "copy.duckdb")
    return tmp_path / "copy.duckdb"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_twice_the_same_bytes_without_the_working_directory(
    pointed: Searched, copied: Path, tmp_path: Path
) -> None:
    run_id = pointed.result.run_id
    with Warehouse.open(copied) as wh:
        found = []
        for _ in range(2):
            paths = export_run(wh, "workdir", run_id, tmp_path / "one")
            found.append(tree(tmp_path / "one"))
            assert {str(path) for path in paths} == {str(tmp_path / "one" / part) for part in found[-1]}
        export_run(wh, "csv", run_id, tmp_path / "flat")
    one, original = found[0], tree(pointed.out)
    assert found[1] == one, "written over itself it changed"
    built = re.compile(r"(libs|tensile)/")
    assert set(one) == {name for name in original if not built.match(name)}
    assert {name: original[name] for name in one} == one, "the run itself wrote something else"
    for name, data in tree(tmp_path / "flat").items():
        assert data == (one[name] if name in one else one[f"results/{name}"])


def test_every_file_is_recorded_with_its_hash(pointed: Searched) -> None:
    rows = ask(
        pointed.db,
        f"""SELECT path, sha256, n_bytes, simulated FROM export_file WHERE run_id = '{pointed.result.run_id}'
            QUALIFY row_number() OVER (PARTITION BY path ORDER BY exported_at DESC) = 1""",
    )
    recorded = {row["path"]: row for row in rows}
    assert all(row["simulated"] for row in rows)
    for path in pointed.out.rglob("*"):
        if path.is_file() and path.relative_to(pointed.out).parts[0] not in ("libs", "tensile"):
            row = recorded[str(path)]
            assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
            assert row["n_bytes"] == path.stat().st_size


def test_stale_files_go_and_the_users_stay(copied: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    names = ("again.csv", "stale.csv", "changed.csv")
    for name in names:
        (folder / name).write_text(name)
    (folder / "mine.csv").write_text("mine")
    run_id = ask(copied, "SELECT run_id::VARCHAR AS r FROM run")[0]["r"]
    with Warehouse.open(copied) as wh:
        record_files(wh, run_id, True, [("summary", folder / name) for name in names])
        (folder / "changed.csv").write_text("by hand")
        assert remove_stale(wh, folder, [folder / "again.csv"]) == [folder / "stale.csv"]
    assert sorted(path.name for path in folder.iterdir()) == ["again.csv", "changed.csv", "mine.csv"]


@pytest.mark.parametrize(
    "name", ["summary", "winners", "results/raw_results", "results/final_results", "results/dashboard_data"]
)
def test_every_table_with_times_says_simulated(pointed: Searched, name: str) -> None:
    rows = pointed.rows(f"{name}.csv")
    assert rows and {row["simulated"] for row in rows} == {"true"}


def test_every_other_file_says_simulated_or_has_no_times(pointed: Searched) -> None:
    assert json.loads((pointed.out / "results/metrics.json").read_text())["simulated"] is True
    assert json.loads((pointed.out / "run_state.json").read_text())["simulated"] is True
    for path in pointed.out.rglob("*.out"):
        assert "simulated" in path.read_text(encoding="utf-8"), path
    with (pointed.out / "gemms.csv").open(newline="") as handle:
        assert not any("us" in name for name in next(csv.reader(handle)))
    for path in [
        *pointed.out.glob("*.yaml"),
        *pointed.out.glob("search/*.yaml"),
        *pointed.out.glob("benchmarks/*.yaml"),
    ]:
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert "us" not in row, path


def test_logic_has_no_simulated_efficiency(pointed: Searched) -> None:
    """Library logic has no place for the word: a simulated time may not stand there as an efficiency."""
    for path in (pointed.out / "final_libs").glob("*.yaml"):
        for size, (_, efficiency) in yaml.safe_load(path.read_text(encoding="utf-8"))[7]:
            assert efficiency == 0, f"{path}: {size}"


def test_inputs_can_be_replayed(pointed: Searched) -> None:
    rows = yaml.safe_load((pointed.out / "workload.yaml").read_text(encoding="utf-8"))
    log = yaml.safe_load(pointed.log.read_text(encoding="utf-8"))
    assert [(row["M"], row["N"], row["K"], row["call_count"]) for row in rows] == [
        (row["M"], row["N"], row["K"], row["call_count"]) for row in log
    ]
    for path in pointed.out.glob("search/*.yaml"):
        (row,) = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert f"_M{row['M']}_N{row['N']}_B{row['batch_count']}_K{row['K']}" in path.name
        assert row["requested_solution_num"] == -1


def test_bench_yaml_is_what_yaml_reads() -> None:
    row = {"function": "matmul", "M": 4, "flush": False, "alpha": 1.5, "transA": "T", "use_gpu_timer": True}
    assert yaml.safe_load(yaml_rows([json.dumps(row)] * 2)) == [row, row]


def test_closing_commands_name_what_is_there(pointed: Searched) -> None:
    lines = {line.split(":")[0].strip(): line for line in pointed.result.lines if re.match(r"  \d\. ", line)}
    merge = shlex.split(lines["1. merge"].split(":", 1)[1])
    assert Path(merge[-2]) == pointed.out / "final_libs" and Path(merge[-2]).is_dir()
    assert Path(merge[-1]).is_dir() and Path(merge[0]).name == "TensileMergeLibrary"
    verify = shlex.split(lines["3. verify"].split(":", 1)[1])
    assert verify[:2] == ["geko", "bench"] and Path(verify[verify.index("--workload-log") + 1]).is_file()
    figures = [line for line in pointed.result.lines if "%" in line]
    assert figures and all("(simulated)" in line for line in figures)


def test_logic_of_a_search_on_a_partition_names_its_cus(
    pointed: Searched, copied: Path, tmp_path: Path
) -> None:
    """The solutions are those of the whole chip; that they are the fastest was seen on 80 CUs alone."""
    with Warehouse.open(copied) as warehouse:
        whole = export_logic(warehouse, pointed.result.run_id, tmp_path / "whole")
        warehouse.sql("UPDATE environment SET cu_count = 80", write=True).read_all()
        part = export_logic(warehouse, pointed.result.run_id, tmp_path / "part")
    assert [path.name for path in whole] == [path.name for path in part] and part
    for before, after in zip(whole, part, strict=True):
        old, new = load_library(before), load_library(after)
        assert (old.cu_count, new.cu_count, new.architecture) == (None, 80, "gfx942")
        assert old.sizes == new.sizes and old.solutions == new.solutions


def test_a_changed_view_changes_what_is_exported(
    pointed: Searched, copied: Path, tmp_path: Path, repo_root: Path
) -> None:
    """A checkout whose view calls only ratios of 1.5 and more a gain exports fewer shapes, without a new measurement."""
    checkout = tmp_path / "checkout"
    for name in ("geko", "sql", "bin", "examples"):
        shutil.copytree(repo_root / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    view = checkout / "sql/views/60_run_decision.sql"
    text = view.read_text(encoding="utf-8")
    rule = "rule = 'point' AND ratio < up_thr"
    assert text.count(rule) == 1
    view.write_text(text.replace(rule, "rule = 'point' AND ratio < 1.5"), encoding="utf-8")
    subprocess.run(
        [
            sys.executable, str(checkout / "bin/geko"), "export", "csv", "--db", str(copied), "--run",
            pointed.result.run_id, "--out", str(tmp_path / "new"),
        ],
        check=True, env={**os.environ, "PYTHONPATH": ""}, capture_output=True,
    )  # fmt: skip
    with (tmp_path / "new/final_results.csv").open(newline="") as handle:
        changed = [float(row["ratio"]) for row in csv.DictReader(handle)]
    before = [float(row["ratio"]) for row in pointed.rows("results/final_results.csv")]
    assert changed == [ratio for ratio in before if ratio >= 1.5]
    assert 0 < len(changed) < len(before)


def test_refusals(copied: Path, tmp_path: Path) -> None:
    with Warehouse.open(copied) as wh:
        with pytest.raises(UsageError, match="no run 'nonsense'"):
            resolve_run(wh, "nonsense")
        with pytest.raises(UsageError, match="can't export 'everything'"):
            export_run(wh, "everything", resolve_run(wh), tmp_path)
