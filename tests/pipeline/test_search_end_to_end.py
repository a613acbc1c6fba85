"""A search on the example workload with the stand-in programs, from the log to the library to deploy."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from search_support import SHAPES, Searched

from geko.errors import UsageError
from geko.library.model import load_collection
from geko.pipeline import run_bench, run_search
from geko.runs.options import RunOptions, SimulateOptions, Source
from geko.warehouse import Warehouse

#: Runs one search in a process of its own, so that it can be interrupted and killed.
PROGRAM = """
import sys
from pathlib import Path
from geko.errors import Interrupted
from geko.log import setup_logging
from geko.pipeline import run_search
from geko.runs.options import RunOptions, SimulateOptions, Source
setup_logging(1)
db, log, out = map(Path, sys.argv[1:])
try:
    run_search(db, Source("log", (log,)), RunOptions(simulate=SimulateOptions(), workdir=out))
except Interrupted:
    sys.exit(130)
"""


def small_log(searched: Searched, folder: Path, n: int = 3) -> Path:
    lines = searched.log.read_text(encoding="utf-8").splitlines(keepends=True)
    path = folder / "small.yaml"
    path.write_text("".join(lines[:n]), encoding="utf-8")
    return path


def few(out: Path, **more: Any) -> RunOptions:
    """Options of a run on one device: each device is a process."""
    return RunOptions(simulate=SimulateOptions(n_devices=1), workdir=out, **more)


def value(db: Path, text: str) -> Any:
    with Warehouse.open(db) as wh:
        return wh.sql(text).read_all().column(0)[0].as_py()


def test_all_kinds_of_shapes_arise_from_the_model(searched: Searched) -> None:
    assert searched.result.state == "finished" and searched.result.exit_code == 0
    verdicts = Counter(searched.result.table["verdict"].to_pylist())
    assert sum(verdicts.values()) == len(SHAPES)
    assert {"kept", "same_kernel", "no_solution", "small_gain"} <= set(verdicts)
    assert verdicts["kept"] == len(searched.rows("results/final_results.csv"))


def test_layout_of_the_working_directory(searched: Searched) -> None:
    for name in (
        "run_state.json", "workload.yaml", "workload.out", "summary.csv", "gemms.csv", "winners.csv",
        "search/failed_jobs.log", "results/raw_results.csv", "results/final_results.csv", "results/metrics.json",
    ):  # fmt: skip
        assert (searched.out / name).stat().st_size > 0, name
    for pattern in (
        "search/*.yaml",
        "search/*.out",
        "libs/*.yaml",
        "benchmarks/*_bench.yaml",
        "tensile/library/**/*.dat",
    ):
        assert list(searched.out.glob(pattern)), pattern
    assert len((searched.out / "search/failed_jobs.log").read_text().splitlines()) == 2
    state = json.loads((searched.out / "run_state.json").read_text())
    assert state["simulated"] is True and state["optimized"] is True
    assert state["input_sha256"] == hashlib.sha256(searched.log.read_bytes()).hexdigest()


def test_final_libraries_are_lists_of_twelve(searched: Searched) -> None:
    import yaml

    paths = sorted((searched.out / "final_libs").glob("*.yaml"))
    assert paths
    for path in paths:
        assert len(yaml.safe_load(path.read_text(encoding="utf-8"))) == 12
    sizes = sum(len(library.sizes) for library in load_collection(searched.out / "final_libs"))
    assert sizes == len(searched.rows("results/final_results.csv"))


def test_figures_say_simulated_and_hold_no_nan(searched: Searched) -> None:
    assert {row["simulated"] for row in searched.rows("results/raw_results.csv")} == {"true"}
    text = (searched.out / "results/metrics.json").read_text()
    metrics = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert metrics["simulated"] is True
    assert metrics["counts"]["n_kept"] == len(searched.rows("results/final_results.csv"))
    assert any("(simulated)" in line for line in searched.result.lines)


def test_closing_lines_name_the_replay_file(searched: Searched) -> None:
    (line,) = [line for line in searched.result.lines if "verify:" in line]
    assert str(searched.out / "workload.yaml") in line and "--simulate" in line


def test_the_same_command_schedules_nothing(searched: Searched) -> None:
    stamp = (searched.out / "tensile/geko_build.json").stat().st_mtime_ns
    before = {
        p: p.read_bytes() for p in searched.out.rglob("*") if p.is_file() and p.name != "run_state.json"
    }
    again = run_search(searched.db, searched.source, searched.options, verbose=0)
    assert again.n_scheduled == 0 and again.run_id == searched.result.run_id
    after = {p: p.read_bytes() for p in searched.out.rglob("*") if p.is_file() and p.name != "run_state.json"}
    assert after == before
    assert (searched.out / "tensile/geko_build.json").stat().st_mtime_ns == stamp, "built again"


def test_working_directory_of_another_workload(searched: Searched, tmp_path: Path) -> None:
    log = small_log(searched, tmp_path)
    with pytest.raises(UsageError, match="belongs to workload"):
        run_search(searched.db, Source("log", (log,)), searched.options, verbose=0)


def test_a_bad_working_directory_is_named_before_anything_is_measured(
    searched: Searched, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    options = replace(searched.options, workdir=tmp_path / "file" / "out")
    with pytest.raises(UsageError, match="can't be written to"):
        run_search(tmp_path / "n.duckdb", searched.source, options, verbose=0)
    assert value(tmp_path / "n.duckdb", "SELECT count(*) FROM job") == 0


def test_files_that_cannot_be_written_end_the_run_as_failed(searched: Searched, tmp_path: Path) -> None:
    # Two GEMMs: a single one has all of the time, which is above any threshold, and would be searched.
    source = Source("log", (small_log(searched, tmp_path, 2),))
    options = replace(few(tmp_path / "out"), keep_thr=100.0)
    (tmp_path / "out" / "summary.csv" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match=r"summary\.csv"):
        run_search(tmp_path / "f.duckdb", source, options, verbose=0)
    assert value(tmp_path / "f.duckdb", "SELECT state FROM run") == "failed"
    (tmp_path / "out" / "summary.csv" / "in the way").rmdir()
    (tmp_path / "out" / "summary.csv").rmdir()
    assert run_search(tmp_path / "f.duckdb", source, options, verbose=0).n_scheduled == 0
    assert value(tmp_path / "f.duckdb", "SELECT state FROM run") == "finished"


def test_scratch_folders_are_private_and_go(searched: Searched) -> None:
    base = Path(tempfile.gettempdir()) / f"geko-{os.getuid()}"
    assert base.stat().st_mode & 0o077 == 0
    assert not (base / searched.result.run_id[:13]).exists()


def test_nothing_above_the_threshold(
    searched: Searched, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    db, out = tmp_path / "copy.duckdb", tmp_path / "none"
    shutil.copyfile(searched.db, db)
    options = replace(searched.options, keep_thr=100.0, workdir=out)  # its baselines are known
    with caplog.at_level("WARNING", logger="GEKO"):
        result = run_search(db, searched.source, options, verbose=0)
    assert result.exit_code == 0 and result.n_scheduled == 0
    assert set(result.table["verdict"].to_pylist()) <= {"not_important", "no_solution"}
    assert not list(out.glob("final_libs/*.yaml"))


def test_other_protocol_or_seed_measures_again(searched: Searched, tmp_path: Path) -> None:
    source = Source("log", (small_log(searched, tmp_path, 1),))
    options = few(tmp_path / "out")
    db = tmp_path / "s.duckdb"
    assert run_bench(db, source, options, verbose=0).n_scheduled == 2, "a probe and a timed run"
    longer = replace(options, benchmark_duration=0.8)
    assert run_bench(db, source, longer, verbose=0).n_scheduled == 1, "the probe is known"
    assert run_bench(db, source, options, verbose=0).n_scheduled == 0
    seeded = replace(options, simulate=SimulateOptions(seed=1, n_devices=1))
    assert run_bench(db, source, seeded, verbose=0).n_scheduled == 2


def test_bench_of_the_replay_file(searched: Searched, tmp_path: Path) -> None:
    options = few(tmp_path / "out", bench_freq=True)
    log = small_log(searched, tmp_path, 2)
    result = run_bench(tmp_path / "b.duckdb", Source("log", (log,)), options, verbose=0)
    assert result.n_scheduled == 4 and result.table.num_rows == 2
    with (tmp_path / "out/summary.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert all(float(row["lowest_avg_freq"]) > 0 for row in rows)
    replay = Source("log", (tmp_path / "out/small.yaml",))
    again = run_bench(tmp_path / "b.duckdb", replay, replace(options, workdir=tmp_path / "two"), verbose=0)
    assert again.n_scheduled == 0, "the replay file holds other problems than the log"


def test_export_needs_nothing_but_the_warehouse(searched: Searched, tmp_path: Path) -> None:
    from geko.export import export_run

    theirs = tmp_path / "logic" / "mine.yaml"
    theirs.parent.mkdir()
    theirs.write_text("keep me")
    with Warehouse.open(searched.db) as wh:
        paths = export_run(wh, "library-logic", searched.result.run_id, tmp_path / "logic")
    assert theirs.read_text() == "keep me"
    for path in paths:
        assert path.read_bytes() == (searched.out / "final_libs" / path.name).read_bytes()


def working_runner(parent: int) -> int | None:
    """A runner process of a run that has a program at work, if there is one now."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended
            words = (place / "cmdline").read_bytes().decode().split("\0")
            is_ours = "geko.runners" in words and words[words.index("--parent") + 1] == str(parent)
            if is_ours and (place / "task" / place.name / "children").read_text().strip():
                return int(place.name)
    return None


def test_runs_that_were_interrupted_and_killed_or_lost_a_runner_end_with_the_same_bytes(
    searched: Searched, tmp_path: Path
) -> None:
    db, out = tmp_path / "k.duckdb", tmp_path / "out"

    def start(name: str) -> tuple[subprocess.Popen[bytes], Path]:
        errors = tmp_path / f"{name}.log"
        with errors.open("w") as handle:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(db), str(searched.log), str(out)], stderr=handle,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            )  # fmt: skip
        return process, errors

    def start_and_stop(number: int, stage: str) -> int:
        process, errors = start(stage)
        deadline = time.monotonic() + 60
        n_jobs = len(SHAPES) - (0 if stage == "baseline" else 2)
        while f"{stage}: {n_jobs} job" not in errors.read_text():
            assert process.poll() is None and time.monotonic() < deadline, errors.read_text()
            time.sleep(0.05)
        time.sleep(0.7)
        process.send_signal(number)
        begin = time.monotonic()
        code = process.wait(30)
        assert time.monotonic() - begin < 15
        return code

    assert start_and_stop(signal.SIGINT, "baseline") == 130
    assert start_and_stop(signal.SIGKILL, "search") == -signal.SIGKILL
    # The third start goes on to the end, although one of its runners is killed in the middle of its work.
    process, errors = start("end")
    while (runner := working_runner(process.pid)) is None:
        assert process.poll() is None, errors.read_text()
        time.sleep(0.01)
    os.kill(runner, signal.SIGKILL)
    assert process.wait(120) == 0, errors.read_text()
    assert "ended (signal 9); started again" in errors.read_text()
    assert value(db, "SELECT count(*) FROM job_attempt WHERE outcome = 'lost'") >= 1
    # Moments and paths are those of the run.
    skipped = {"run_state.json", "MatchTable.yaml", "geko_build.json"}
    for path in searched.out.rglob("*"):
        # Outputs of programs name the device that they ran on.
        if path.is_file() and path.name not in skipped and path.suffix != ".out":
            assert (out / path.relative_to(searched.out)).read_bytes() == path.read_bytes(), path
    assert value(db, "SELECT count(*) FROM job WHERE state IN ('leased', 'pending')") == 0
