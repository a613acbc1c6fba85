"""geko tune and optimize on stand-ins: from a log to the library to deploy, changed folders, failures, kills."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tuning_support import LOG, NO_STOCK, log_file, options, rows, source

from geko.errors import InputError, RunFailedError, UsageError
from geko.library.build import create
from geko.library.model import load_collection
from geko.pipeline import RunResult
from geko.runs.options import SimulateOptions
from geko.simulator.library import Library as SimLibrary
from geko.tuning_pipeline import run_configure, run_optimize, run_tune
from geko.warehouse import Warehouse

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from geko.log import setup_logging
from geko.tuning_pipeline import run_tune
from tuning_support import options, source
setup_logging(1)
db, log, out = map(Path, sys.argv[1:4])
run_tune(db, source(log), options(out))
"""


@dataclass(frozen=True)
class Tuned:
    db: Path
    log: Path
    out: Path
    result: RunResult


def libraries(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    base = tmp_path_factory.mktemp("tuned")
    log = log_file(base)
    result = run_tune(base / "g.duckdb", source(log), options(base / "out", slots=2), verbose=0)
    return Tuned(base / "g.duckdb", log, base / "out", result)


def test_a_run_ends_with_a_library_of_the_kept_kernels(tuned: Tuned) -> None:
    assert tuned.result.state == "finished"
    verdicts = tuned.result.table["verdict"].to_pylist()
    assert len(verdicts) == 3 and "kept" in verdicts
    kept = rows(
        tuned.db,
        "SELECT DISTINCT p.m, p.n, p.batch, p.k FROM selection JOIN problem AS p USING (problem_id) WHERE class = 'kept'",
    )
    final = load_collection(tuned.out / "final_libs")
    sizes = {tuple(size[0]) for library in final for size in library.sizes}
    assert sizes <= {(row["m"], row["n"], row["batch"], row["k"]) for row in kept} and sizes
    for library in final:
        assert library.library_type == "Equality" and "_BiasSB_HAS_SAV_UserArgs" in library.name
        assert library.problem_type["UseBias"] == 1
        assert not library.check()
    full = {tuple(size[0]) for library in load_collection(tuned.out / "full_libs") for size in library.sizes}
    assert full == {(512, 512, 1, 1024), (1024, 256, 1, 512)}


def test_full_libs_can_be_built_and_hold_the_winner_of_every_shape(tuned: Tuned, tmp_path: Path) -> None:
    """The new kernel where it was kept, else the stock library's choice."""
    (root,) = rows(tuned.db, "SELECT DISTINCT spec ->> '$.root' AS root FROM job_spec")
    build = create(Path(root["root"]), tuned.out / "full_libs", tmp_path / "built")
    built = SimLibrary.load(build.code_dir)
    found = {
        tuple(size): table["solutions"][local]["KernelNameMin"]
        for table in built.tables
        for size, local in table["exact"]
    }
    decided = rows(
        tuned.db,
        "SELECT p.m, p.n, p.batch, p.k, class, l.kernel FROM selection AS s JOIN problem AS p USING (problem_id)"
        " JOIN solution_label AS l ON l.solution_id = if(class = 'kept', tuned_solution_id, reference_solution_id)"
        " WHERE p.bias_type IS NULL",
    )
    assert len(decided) == 2
    for row in decided:
        name = found[row["m"], row["n"], row["batch"], row["k"]]
        # Names of the same kernel differ in the epilogues that the tuned library's files are for.
        assert name.rpartition("_MT")[2] == row["kernel"].rpartition("_MT")[2], row


def test_the_problem_with_a_bias_shares_the_kernel_of_the_plain_one(tuned: Tuned) -> None:
    found = rows(
        tuned.db,
        "SELECT p.bias_type, w.solution_id::VARCHAR AS id FROM run_winner AS w JOIN problem AS p USING (problem_id)"
        " WHERE p.m = 512",
    )
    assert {row["bias_type"] is None for row in found} == {True, False}
    assert len({row["id"] for row in found}) == 1


def test_every_kernel_that_was_timed_is_a_measurement(tuned: Tuned) -> None:
    (counts,) = rows(
        tuned.db,
        "SELECT count(DISTINCT m.solution_id) AS kernels, count(*) FILTER (WHERE m.outcome = 'ok') AS passed,"
        " count(*) FILTER (WHERE m.outcome = 'not_checked') AS unchecked, bool_and(e.simulated) AS simulated"
        " FROM measurement AS m JOIN protocol AS t USING (protocol_id) JOIN environment AS e USING (environment_id)"
        " WHERE t.role = 'tune' AND m.us IS NOT NULL",
    )
    assert counts["kernels"] > 20 and counts["simulated"] is True
    assert counts["passed"] >= 2 and counts["unchecked"] > 20
    candidates = rows(tuned.db, "SELECT problem_id, count(*) AS n FROM run_candidate GROUP BY ALL")
    assert len(candidates) == 3 and all(row["n"] < 10 for row in candidates)  # only those that passed
    (best,) = rows(
        tuned.db,
        "SELECT count(*) AS n FROM run_tuning WHERE state = 'done' AND best_gflops > 0 AND n_done > 0",
    )
    assert best["n"] == 2


def test_files_of_the_working_directory(tuned: Tuned) -> None:
    for name in ("run_state.json", "summary.csv", "gemms.csv", "app.yaml", "results/raw_results.csv", "results/metrics.json",
                 "optimizations/timing.log", "optimizations/sizes.csv", "optimizations/BBS_TN_0.sh"):  # fmt: skip
        assert (tuned.out / name).stat().st_size > 0, name
    build = tuned.out / "optimizations/build_BBS_TN_0"
    for pattern in ("3_LibraryLogic/*.yaml", "BBS_TN_0-tensilelite.log", "BBS_TN_0-optimization.log"):
        assert list(build.glob(pattern)), pattern
    assert (tuned.out / "optimizations/running_jobs.log").read_text(encoding="utf-8") == ""
    assert list((tuned.out / "tensile/library").rglob("*.dat"))
    state = json.loads((tuned.out / "run_state.json").read_text(encoding="utf-8"))
    assert state["configured"] and state["optimized"] and state["simulated"]
    with (tuned.out / "results/raw_results.csv").open(encoding="utf-8") as handle:
        assert len(handle.readlines()) == 4


def test_the_run_again_schedules_nothing_and_exports_the_same(tuned: Tuned) -> None:
    before = libraries(tuned.out / "final_libs")
    asked = replace(options(tuned.out), workdir=None)
    again = run_optimize(tuned.db, asked, run=tuned.result.run_id[:8], verbose=0)
    assert again.workdir == tuned.out and again.n_scheduled == 0 and again.run_id == tuned.result.run_id
    assert libraries(tuned.out / "final_libs") == before
    (tuned.out / "final_libs" / next(iter(before))).unlink()
    from geko.export import export_run

    with Warehouse.open(tuned.db) as warehouse:
        export_run(warehouse, "library-logic", tuned.result.run_id, tuned.out / "final_libs")
    assert libraries(tuned.out / "final_libs") == before


def test_a_changed_folder_counts_as_it_stands_and_is_never_written(tuned: Tuned, tmp_path: Path) -> None:
    """With the exhaustive backend, which checks no results: its kernels count all the same."""
    db, out = tmp_path / "g.duckdb", tmp_path / "out"
    settings = {"MFMA": [16, 16, 16, 1], "MAX_NUM_KERNELS_PER_CONFIG": 500}
    log = log_file(tmp_path, LOG + NO_STOCK)
    run_configure(db, source(log), options(out, backend="tensile", settings=settings), verbose=0)
    folder = out / "optimizations"
    text = (folder / "BBS_TN_0.yaml").read_text(encoding="utf-8")
    (folder / "BBS_TN_0.yaml").write_text(text + "# mine\n", encoding="utf-8")
    removed = (folder / "BBS_TN_1.yaml").read_bytes()
    (folder / "BBS_TN_1.yaml").unlink()
    before = {path.name: path.read_bytes() for path in folder.glob("*.yaml")}
    result = run_optimize(db, options(out, verify=False, rule="point", rounds=1), verbose=0)
    assert {path.name: path.read_bytes() for path in folder.glob("*.yaml")} == before
    jobs = f"SELECT config_name AS name, state FROM run_tuning WHERE run_id = '{result.run_id}' ORDER BY name"
    assert rows(db, jobs) == [{"name": name, "state": "done"} for name in ("BBS_TN_0", "HHS_TN_0")]
    sizes = {tuple(size[0]) for library in load_collection(out / "libs") for size in library.sizes}
    assert sizes == {(512, 512, 1, 1024), (512, 256, 1, 512)}
    found = {row["gemm"]: row["verdict"] for row in result.table.to_pylist()}
    assert (
        found.pop("BBS_TN 1024×256×512") == "undecided" and found.pop("HHS_TN 512×256×512") == "new_solution"
    )
    assert "undecided" not in found.values()
    _check_new_solution(db, out, result)
    (counts,) = rows(
        db,
        "SELECT count(*) AS n FROM measurement JOIN protocol USING (protocol_id) WHERE role = 'tune' AND outcome = 'ok'",
    )
    assert counts["n"] == 0
    # The file is put back, the other one taken away: the job of the first is the run's no more.
    (folder / "BBS_TN_1.yaml").write_bytes(removed)
    (folder / "BBS_TN_0.yaml").unlink()
    (folder / "HHS_TN_0.yaml").unlink()
    run_optimize(db, options(out, verify=False, rule="point", rounds=1), verbose=0)
    assert rows(db, jobs) == [{"name": "BBS_TN_1", "state": "done"}]


def _check_new_solution(db: Path, out: Path, result: RunResult) -> None:
    """A GEMM that the stock library has no solution for: its kernel is shipped, and no figure of uplift counts it."""
    assert any("have a new kernel" in line and "NOT checked" in line for line in result.lines)
    (row,) = rows(
        db,
        "SELECT s.*, c.us AS us_stock FROM selection AS s JOIN run_contribution AS c USING (run_id, problem_id)"
        " WHERE class = 'new_solution'",
    )
    assert row["us_stock"] is None and row["ratio"] is None and row["us_reference"] is None
    assert row["us_tuned"] > 0 and row["tuned_solution_id"] is not None
    assert row["reason"].startswith("the reference library has no solution; the new kernel takes ")
    size = (512, 256, 1, 512)
    for folder in ("final_libs", "full_libs"):
        assert size in {tuple(s[0]) for library in load_collection(out / folder) for s in library.sizes}
    for name, there in (("new_solutions", True), ("final_results", False), ("raw_results", False)):
        with (out / f"results/{name}.csv").open(encoding="utf-8") as handle:
            found = [line for line in csv.DictReader(handle) if line["a_type"] == "f16_r"]
        assert bool(found) is there, name
        assert all(float(line["us"]) > 0 and line["kernel"] for line in found)
    metrics = json.loads((out / "results/metrics.json").read_text(encoding="utf-8"))
    n_kept = sum(verdict == "kept" for verdict in result.table["verdict"].to_pylist())
    assert metrics["counts"]["n_new_solutions"] == 1 and metrics["counts"]["n_kept"] == n_kept
    assert metrics["counts"]["n_attempted"] == 2
    (entry,) = rows(
        db, "SELECT d.* FROM deploy_entry AS d JOIN problem AS p USING (problem_id) WHERE p.a_type = 'f16_r'"
    )
    assert entry["solution_index"] is None and entry["us_tuned"] == row["us_tuned"]


def test_a_scaled_gemm_on_half_a_chip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K that is no whole number of blocks is found as it was asked for, and by devices with as many CUs alone."""
    monkeypatch.setenv("GEKO_SIM_KERNELS", "16")
    row = NO_STOCK.replace("f16_r", "f8_r", 2).replace("f16_r", "bf16_r").replace("K: 512", "K: 1000")
    log = log_file(tmp_path, row.replace("bias_vector", "scaleA: 1001, scaleB: 1001, bias_vector"))
    asked = options(
        tmp_path / "out", simulate=SimulateOptions(arch="gfx950_128cu", n_devices=1), backend="tensile",
        rule="point", rounds=1, settings={"MFMA": [16, 16, 128, 1]},
    )  # fmt: skip
    result = run_tune(tmp_path / "g.duckdb", source(log), asked, verbose=0)
    assert result.table["verdict"].to_pylist() == ["new_solution"]
    (size,) = rows(tmp_path / "g.duckdb", "SELECT k, reason FROM run_size")
    assert size["k"] == 1000 and size["reason"].startswith(
        "K 1000 is tuned as 1024, a whole number of MX blocks of 32"
    )
    sizes = {}
    for folder in ("libs", "final_libs", "full_libs"):
        (library,) = load_collection(tmp_path / "out" / folder)
        assert library.get("ArchitectureName") == {"Architecture": "gfx950", "CUCount": 128}
        sizes[folder] = {tuple(size[0]) for size in library.sizes}
    assert sizes.pop("libs") == {(512, 256, 1, 1000), (512, 256, 1, 1024)}
    assert all(found == {(512, 256, 1, 1000)} for found in sizes.values())
    # The full chip doesn't see them: neither the library nor a merge into its files.
    assert {table["cu_count"] for table in SimLibrary.load(tmp_path / "out/tensile").tables} == {128}
    (merge,) = [line for line in result.lines if "merge:" in line]
    assert "/gfx950_128cu/Equality" in merge and "TensileMergeLibrary" not in merge


@pytest.mark.parametrize(
    ("workdir", "run", "message"),
    [
        (None, None, "which configs"),
        ("elsewhere", None, "no configs were made"),
        (None, "ffffffff", "no configs were made"),
    ],
)
def test_configs_that_are_not_there(
    tuned: Tuned, tmp_path: Path, workdir: str | None, run: str | None, message: str
) -> None:
    asked = replace(options(tmp_path), workdir=None if workdir is None else tmp_path / workdir)
    with pytest.raises(UsageError, match=message):
        run_optimize(tuned.db, asked, run=run, verbose=0)


def test_a_config_for_another_gpu_is_refused(tuned: Tuned, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_configure(tuned.db, source(tuned.log), options(out), verbose=0)
    for path in (out / "optimizations").glob("*.yaml"):
        text = (
            path.read_text(encoding="utf-8")
            .replace('"aquavanjaram"', '"gfx950"')
            .replace('"gfx942"', '"gfx950"')
        )
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="the configs are for gfx950, the devices are gfx942"):
        run_optimize(tuned.db, options(out), verbose=0)


def test_failed_configs_are_rows_and_are_tried_again(
    tuned: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, out = tmp_path / "g.duckdb", tmp_path / "out"
    monkeypatch.setenv("GEKO_SIM_FAULTS", "exit:tool=Tensile,phase=logic,code=1")
    asked = options(out, max_attempts=1, abort_after=0)
    with pytest.raises(RunFailedError, match="All tuning jobs failed"):
        run_tune(db, source(tuned.log), asked, verbose=0)
    assert (out / "optimizations/failed_jobs.log").read_text(encoding="utf-8").startswith("BBS_TN_0: ")
    (measured,) = rows(
        db,
        "SELECT count(*) AS n FROM measurement JOIN protocol USING (protocol_id) WHERE role = 'tune' AND us > 0",
    )
    assert measured["n"] > 20  # what was timed before the failure is kept
    monkeypatch.delenv("GEKO_SIM_FAULTS")
    with pytest.raises(RunFailedError, match="All tuning jobs failed"):
        run_optimize(db, replace(asked, retry=False), verbose=0)
    result = run_optimize(db, asked, verbose=0)
    assert "kept" in result.table["verdict"].to_pylist()
    assert libraries(out / "final_libs") == libraries(tuned.out / "final_libs")


def _kill_when(
    ready: Callable[[], bool], words: list[str], env: dict[str, str], timeout_s: float = 120.0
) -> bool:
    """Start a run, kill it as soon as something is there; False when it ended before."""
    process = subprocess.Popen(
        [sys.executable, "-c", *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    limit = time.monotonic() + timeout_s
    while process.poll() is None and not ready() and time.monotonic() < limit:
        time.sleep(0.02)
    killed = process.poll() is None
    if killed:
        os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    return killed


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_library(
    tuned: Tuned, tmp_path: Path, repo_root: Path
) -> None:
    db, out = tmp_path / "g.duckdb", tmp_path / "out"
    here = str(Path(__file__).parent)
    words = [PROGRAM, str(db), str(tuned.log), str(out), here]
    env = {**os.environ, "PYTHONPATH": str(repo_root)}
    folder = out / "optimizations"
    moments: list[Callable[[], bool]] = [
        lambda: (folder / "BBS_TN_0.yaml").exists(),
        lambda: any(folder.glob("build_*/*.checkpoint")),
        lambda: any((out / "libs").glob("*.yaml")),
        lambda: any((out / "final_libs").glob("*.yaml")),
    ]
    killed = [_kill_when(moment, words, env) for moment in moments]
    assert sum(killed) >= 2, "the run was over before it could be killed"
    result: Any = run_tune(db, source(tuned.log), options(out), verbose=0)
    assert result.state == "finished"
    assert libraries(out / "final_libs") == libraries(tuned.out / "final_libs")
    assert libraries(out / "full_libs") == libraries(tuned.out / "full_libs")
