"""Every fault of the simulator through the whole search: the run ends, and each shape says what happened to it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from search_support import Searched, ask, write_log

from geko.errors import RunFailedError
from geko.library.model import load_collection
from geko.pipeline import RunResult, run_search
from geko.runs.options import RunOptions, SimulateOptions, Source

SCREEN = "requested_solution_num=-1"
CHECK = "norm_check=1"


@dataclass(frozen=True)
class Case:
    """A fault at one shape, and what has to come of it.

    Attributes:
        shape: M, N, K.
        fault: its rule, less the shape.
        stage: kind of the job that fails; None when the shape ends as if nothing had been.
        outcome: of that job.
        verdict: of the shape; None: any that a healthy shape may get.
        reason: part of the sentence.
    """

    shape: tuple[int, int, int]
    fault: tuple[str, str]
    stage: str | None
    outcome: str | None
    verdict: str | None
    reason: str = ""


CASES = {
    "crash": Case((128256, 16, 4096), ("crash", ""), "baseline", "crash", "device_fault", "baseline job"),
    "exit": Case((4608, 1024, 3584), ("exit", "code=7"), "baseline", "crash", "device_fault", "ended with crash"),
    "memory fault": Case((28672, 16, 4096), ("memory_fault", ""), "baseline", "memory_fault", "device_fault", "ended with"),
    "hang": Case((1280, 2048, 8192), ("hang", ""), "baseline", "hang", "device_fault", "baseline job ended with hang"),
    "no solution": Case((8192, 2048, 3584), ("no_solution", ""), "baseline", "no_solution", "no_solution", "no solution"),
    "garbage": Case((1024, 8192, 4096), ("garbage", ""), "baseline", "parse_error", "device_fault", "parse_error"),
    "search: crash at once": Case(
        (4096, 8192, 1024), ("crash", f"{SCREEN},after=0"), "screen", "crash", "device_fault", "screen job ended"),
    "search: crash half way": Case((7168, 2048, 8192), ("crash", SCREEN), "screen", "crash", None),
    "search: no solution": Case((3584, 1024, 18944), ("no_solution", SCREEN), "screen", "no_solution", "no_solution"),
    "search: garbage": Case((37888, 1024, 3584), ("garbage", SCREEN), "screen", "parse_error", None),
    "check: crash": Case(
        (4096, 16, 14336), ("crash", CHECK), "verify", "crash", "device_fault", "verify job ended with crash"),
    "check: memory fault": Case(
        (6144, 16, 4096), ("memory_fault", CHECK), "verify", "memory_fault", "device_fault", "with memory_fault"),
    "check: garbage": Case(
        (4096, 6144, 4096), ("garbage", CHECK), "verify", "parse_error", "not_verified", "with parse_error"),
    "check: wrong": Case((128, 128, 4096), ("wrong", CHECK), "verify", "verify_failed", "wrong_result", "norm error 0.732"),
    "once": Case((8192, 2048, 1024), ("crash", "times=1"), None, None, "kept"),
}  # fmt: skip


@dataclass(frozen=True)
class Faulty:
    db: Path
    out: Path
    result: RunResult
    decided: dict[tuple[int, int, int], dict[str, Any]]
    jobs: dict[tuple[tuple[int, int, int], str], dict[str, Any]]
    log: list[str]


def rules(cases: dict[str, Case]) -> str:
    texts = []
    for case in cases.values():
        (kind, more), (m, n, k) = case.fault, case.shape
        texts.append(f"{kind}:M={m},N={n},K={k}" + (f",{more}" if more else ""))
    return ";".join(texts)


def small(out: Path, **more: Any) -> RunOptions:
    fields: dict[str, Any] = {"rule": "point", "rounds": 1, "max_attempts": 2, "abort_after": 0} | more
    return RunOptions(simulate=SimulateOptions(), workdir=out, **fields)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory, simulated_cache: Path, repo_root: Path) -> Faulty:
    base = tmp_path_factory.mktemp("faults")
    log = write_log(repo_root, base / "faulty.yaml", [case.shape for case in CASES.values()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(simulated_cache))
        patch.setenv("GEKO_SIM_STATE", str(base / "state"))
        patch.setenv("GEKO_SIM_FAULTS", rules(CASES))
        # More devices than failures in a row could take out.
        options = small(base / "out", stall_timeout=10.0, devices=tuple(range(8)))
        result = run_search(base / "g.duckdb", Source("log", (log,)), options, verbose=0)
    gemm = "JOIN problem AS p ON p.problem_id = x.problem_id"
    decided = ask(base / "g.duckdb", f"SELECT p.m, p.n, p.k, x.* FROM selection AS x {gemm}")
    jobs = ask(base / "g.duckdb", f"SELECT p.m, p.n, p.k, x.* FROM job AS x {gemm}")
    lines = (base / "out/search/failed_jobs.log").read_text(encoding="utf-8").splitlines()
    return Faulty(
        base / "g.duckdb", base / "out", result,
        {(row["m"], row["n"], row["k"]): row for row in decided},
        {((row["m"], row["n"], row["k"]), row["kind"]): row for row in jobs},
        lines,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_fault_leaves_its_traces(faulty: Faulty, name: str) -> None:
    case = CASES[name]
    m, n, k = case.shape
    row = faulty.decided[case.shape]
    lines = [
        line
        for line in faulty.log
        if f"_M{m}_N{n}_" in line and line.endswith(f"_K{k}") | (f"_K{k}:" in line)
    ]
    if case.verdict is None:
        assert row["class"] in ("kept", "same_kernel", "small_gain", "no_gain"), row["reason"]
    else:
        assert row["class"] == case.verdict, row["reason"]
    assert case.reason in row["reason"]
    if case.stage is None:
        assert lines == []
        return
    (line,) = lines
    assert line.startswith(f"{case.stage} ") and f": {case.outcome}" in line
    assert len(line.split(f": {case.outcome}", 1)[1]) > 3, "no message"
    job = faulty.jobs[case.shape, case.stage]
    assert job["state"] != "pending"
    if "garbage" not in name or case.stage != "screen":
        assert job["outcome"] == case.outcome


def test_the_run_ends_and_keeps_what_is_good(faulty: Faulty) -> None:
    assert faulty.result.state == "finished" and faulty.result.exit_code == 0
    assert len(faulty.decided) == len(CASES)
    assert ask(faulty.db, "SELECT count(*) AS n FROM job WHERE state IN ('pending', 'leased')") == [{"n": 0}]
    kept = {shape for shape, row in faulty.decided.items() if row["class"] == "kept"}
    assert CASES["once"].shape in kept
    sizes = {
        (size[0], size[1], size[3])
        for library in load_collection(faulty.out / "final_libs")
        for size in (entry[0] for entry in library.sizes)
    }
    assert sizes == kept


def test_failed_work_is_a_row(faulty: Faulty) -> None:
    """A job that failed has evidence: a measurement or a validation with its outcome, and its program's output."""
    bad = ask(
        faulty.db,
        """SELECT j.kind, j.outcome, count(m.outcome) + count(v.outcome) AS n_rows,
                  bool_or(a.output_id IS NOT NULL) AS printed
           FROM job AS j
           JOIN job_attempt AS a ON a.job_id = j.job_id AND a.attempt = j.attempts
           LEFT JOIN measurement AS m ON m.job_id = j.job_id AND m.outcome = j.outcome
           LEFT JOIN validation AS v ON v.job_id = j.job_id AND v.outcome IN ('error', 'failed')
           WHERE j.outcome <> 'ok' GROUP BY ALL""",
    )
    assert {row["kind"] for row in bad} == {"baseline", "screen", "verify"}
    assert all(row["n_rows"] and row["printed"] for row in bad)


def test_a_lost_device_costs_no_shape(
    tmp_path: Path, repo_root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = write_log(
        repo_root, tmp_path / "four.yaml", [CASES[name].shape for name in ("once", "crash", "exit")]
    )
    monkeypatch.setenv("GEKO_SIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("GEKO_SIM_FAULTS", "lost_device:device=1,row=start")
    options = small(tmp_path / "out", verify=False, devices=(0, 1))
    result = run_search(tmp_path / "g.duckdb", Source("log", (log,)), options, verbose=0)
    assert set(result.table["verdict"].to_pylist()) <= {"kept", "same_kernel", "small_gain", "no_gain"}
    assert ask(tmp_path / "g.duckdb", "SELECT count(*) AS n FROM job WHERE state <> 'done'") == [{"n": 0}]
    failed = ask(
        tmp_path / "g.duckdb",
        "SELECT DISTINCT d.ordinal FROM job_attempt AS a JOIN device AS d USING (device_id) WHERE a.outcome = 'crash'",
    )
    # It is lost while it works on a job, or when its runner looks for it: the other may have done everything by then.
    assert {row["ordinal"] for row in failed} <= {1}
    assert failed or "the runner of device 1 ended" in caplog.text


def test_no_device_left_is_an_error_and_the_next_start_goes_on(
    tmp_path: Path, repo_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_log(
        repo_root, tmp_path / "two.yaml", [CASES[name].shape for name in ("once", "crash", "exit")]
    )
    monkeypatch.setenv("GEKO_SIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("GEKO_SIM_FAULTS", "crash:device=1")
    options = small(tmp_path / "out", verify=False, devices=(1,), keep_thr=100.0)
    source = Source("log", (log,))
    with pytest.raises(
        RunFailedError, match="no device is left: device 1 was taken out: 5 failures in a row"
    ):
        run_search(tmp_path / "g.duckdb", source, options, verbose=0)
    monkeypatch.delenv("GEKO_SIM_FAULTS")
    result = run_search(tmp_path / "g.duckdb", source, options, verbose=0)
    assert set(result.table["verdict"].to_pylist()) == {"not_important"}


def test_a_check_that_hangs_costs_its_shape_the_verdict_and_no_more(
    searched: Searched,
    tmp_path: Path,
    simulated_cache: Path,
    repo_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Checks are silent for minutes, so only their time limit ends them; it grows with the size, these are small. Search and
    baselines are there already."""
    db = tmp_path / "g.duckdb"
    shutil.copyfile(searched.db, db)
    log = write_log(repo_root, tmp_path / "two.yaml", [(4096, 16, 14336), (6144, 16, 4096)])
    monkeypatch.setenv("XDG_CACHE_HOME", str(simulated_cache))
    monkeypatch.setenv("GEKO_SIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("GEKO_SIM_FAULTS", f"hang:M=6144,N=16,K=4096,{CHECK}")
    more: dict[str, Any] = {"workdir": tmp_path / "out", "rule": "point", "rounds": 1, "max_attempts": 1}
    result = run_search(
        db, Source("log", (log,)), replace(searched.options, job_timeout=6.0, **more), verbose=0
    )
    assert (result.state, result.exit_code) == ("finished", 0)
    rows = {row["gemm"]: row for row in result.table.to_pylist()}
    hung = rows.pop("BBS_TN 6144×16×4096")
    assert hung["verdict"] == "device_fault" and hung["uplift"] > 1.03
    assert hung["reason"].endswith(
        "nothing shows that its result is right: the verify job ended with timeout"
    )
    assert [row["verdict"] for row in rows.values()] == ["kept"]
    final = load_collection(tmp_path / "out" / "final_libs")
    assert not any(size[0][:4] == [6144, 16, 1, 4096] for library in final for size in library.sizes)
    assert ask(db, "SELECT count(*) AS n FROM job WHERE state IN ('pending', 'leased')") == [{"n": 0}]
