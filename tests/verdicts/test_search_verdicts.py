"""Searches on stand-ins: looks, faults inside a confirmation, workspace, plans, and the guard after deployment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from geko.errors import UsageError
from geko.pipeline import RunResult, run_search
from geko.runs.guard import guard
from geko.runs.options import RunOptions, SimulateOptions, Source
from geko.runs.plan import plan_search
from geko.warehouse import Warehouse


@pytest.fixture(scope="module", autouse=True)
def cache(simulated_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(simulated_cache))
        patch.delenv("GEKO_SIM_FAULTS", raising=False)
        yield


@dataclass(frozen=True)
class Searched:
    db: Path
    source: Source
    options: RunOptions
    result: RunResult

    def rows(self, text: str) -> list[dict[str, Any]]:
        return rows_of(self.db, text)


def rows_of(db: Path, text: str) -> list[dict[str, Any]]:
    with Warehouse.open(db) as warehouse:
        found: list[dict[str, Any]] = warehouse.sql(text).read_all().to_pylist()
    return found


def log_of(repo_root: Path, folder: Path, *sizes: str) -> Source:
    """The rows of the example with these sizes."""
    lines = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    path = folder / "few.yaml"
    path.write_text(
        "".join(line for line in lines if any(f"{size}," in line for size in sizes)), encoding="utf-8"
    )
    assert path.read_text(encoding="utf-8").count("\n") == len(sizes)
    return Source("log", (path,))


#: One device: each is a process.
SIMULATE = SimulateOptions(n_devices=1)
#: A large gain, a gain near nothing, and a shape without solution.
SIZES = ("M: 3584, N: 1024, K: 18944", "M: 6144, N: 4096, K: 4096", "M: 1280, N: 4096, K: 1280")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Searched:
    base = tmp_path_factory.mktemp("verdicts")
    options = RunOptions(simulate=SIMULATE, workdir=base / "out")
    source = log_of(repo_root, base, *SIZES)
    return Searched(
        base / "v.duckdb", source, options, run_search(base / "v.duckdb", source, options, verbose=0)
    )


def test_verdicts_of_the_model(searched: Searched) -> None:
    found = dict(
        zip(
            searched.result.table["gemm"].to_pylist(),
            searched.result.table["verdict"].to_pylist(),
            strict=True,
        )
    )
    assert found == {
        "BBS_TN 3584×1024×18944": "kept", "BBS_TN 6144×4096×4096": "small_gain", "HHS_TN 1280×4096×1280": "no_solution",
    }  # fmt: skip


def test_rounds_turn_around_and_time_the_rows_side_by_side(searched: Searched) -> None:
    jobs = searched.rows(
        """SELECT s.spec::VARCHAR AS spec, o.text FROM job AS j JOIN job_spec AS s USING (job_id)
           JOIN job_attempt AS a USING (job_id) JOIN output AS o ON o.output_id = a.output_id WHERE j.kind = 'confirm'"""
    )
    assert jobs
    for job in jobs:
        spec = json.loads(job["spec"])
        parts = job["text"].split("# GEKO: round ")[1:]
        assert len(parts) == spec["rounds"], "one process a round"
        asked = [row.get("solution_index") for row in spec["rows"]]
        for number, part in enumerate(parts):
            printed = [int(x.split()[0]) for x in part.split("Solution index: ")[1:]]
            wanted = asked if number % 2 == 0 else asked[::-1]
            assert len(printed) == len(wanted)
            assert all(want in (None, got) for want, got in zip(wanted, printed, strict=True))
    (row,) = searched.rows(
        "SELECT count(*) AS n, count(DISTINCT us_candidate) AS distinct_us FROM run_confirm_pair"
    )
    assert row["n"] == row["distinct_us"] >= 12, "every round is a sample of its own"


def test_the_samples_that_decide_did_not_choose(searched: Searched) -> None:
    (row,) = searched.rows(
        """SELECT count(*) AS n FROM measurement AS m JOIN protocol AS p USING (protocol_id) JOIN job AS j USING (job_id)
           WHERE j.kind = 'confirm' AND p.role <> 'confirm'"""
    )
    assert row["n"] == 0


def test_metrics_have_the_interval(searched: Searched) -> None:
    metrics = json.loads((searched.options.workdir / "results" / "metrics.json").read_text())  # type: ignore[operator]
    assert metrics["config"]["rule"] == "interval" and metrics["config"]["verify"] is True
    end = metrics["e2e"]
    assert 1 < end["e2e_speedup_low"] < end["e2e_speedup"] < end["e2e_speedup_high"]
    assert any("95 % interval" in line and "(simulated)" in line for line in searched.result.lines)


def test_point_rule_shares_what_was_measured(searched: Searched, tmp_path: Path) -> None:
    options = replace(searched.options, rule="point", workdir=tmp_path / "out", verify=False)
    result = run_search(searched.db, searched.source, options, verbose=0)
    assert result.n_scheduled == 1, "only the comparison is new"
    verdicts = dict(zip(result.table["gemm"].to_pylist(), result.table["verdict"].to_pylist(), strict=True))
    assert verdicts["BBS_TN 3584×1024×18944"] == "kept"
    assert any("NOT checked (--no-verify)" in line for line in result.lines)
    rows = rows_of(
        searched.db,
        f"SELECT rule, n_pairs FROM selection WHERE run_id = '{result.run_id}' AND class = 'kept'",
    )
    assert rows == [{"rule": "point", "n_pairs": 6}]


def test_faults_and_limits(
    searched: Searched, repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run: a candidate that crashes, one wrong matrix in a batch of 32, and a limit of workspace."""
    (best,) = searched.rows(
        "SELECT solution FROM run_shown_candidate JOIN solution_label USING (solution_id) WHERE state = 'kept' LIMIT 1"
    )
    monkeypatch.setenv(
        "GEKO_SIM_FAULTS",
        # The kernel qualifies twice, then crashes in the confirmation and when it is tried once more. Divided by the
        # number of matrices, an error of 0.05 would pass.
        f"crash:kernel={best['solution']},algo_method=2,M=3584,nth=3; "
        f"crash:kernel={best['solution']},algo_method=2,M=3584,N=1024,nth=3; wrong:M=128,norm_check=1,value=0.05",
    )
    monkeypatch.setenv("GEKO_SIM_STATE", str(tmp_path / "state"))
    options = replace(searched.options, workdir=tmp_path / "out", max_workspace=64 << 20)
    source = log_of(repo_root, tmp_path, SIZES[0], "M: 128, N: 128, K: 4096")
    db = tmp_path / "c.duckdb"
    result = run_search(db, source, options, verbose=0)
    found = {row["gemm"]: row for row in result.table.to_pylist()}
    assert found["BBS_TN 3584×1024×18944"]["verdict"] == "kept", "the second best is proved all the same"
    assert found["BBS_NN 128×128×4096 b32"]["verdict"] == "wrong_result"
    assert "0.05" in found["BBS_NN 128×128×4096 b32"]["reason"]
    outcomes = rows_of(
        db,
        "SELECT outcome, count(*) AS n FROM measurement WHERE arm = 'candidate' GROUP BY outcome ORDER BY outcome",
    )
    assert [row["outcome"] for row in outcomes] == ["crash", "ok"] and outcomes[0]["n"] == 1
    tried = rows_of(db, "SELECT c.n_candidates, count(*) AS n FROM confirmation AS c JOIN problem AS p USING (problem_id) "
                        "WHERE p.m = 3584 GROUP BY ALL")  # fmt: skip
    assert tried == [{"n_candidates": 4, "n": 3}], "it counts as tried"
    limits = rows_of(
        db,
        "SELECT DISTINCT json_extract_string(spec, '$.rows[0].workspace') AS bytes FROM job JOIN job_spec USING (job_id)",
    )
    assert limits == [{"bytes": str(64 << 20)}]


def test_plan_before_and_after(searched: Searched, repo_root: Path, tmp_path: Path) -> None:
    source = log_of(repo_root, tmp_path, *SIZES)
    fresh = plan_search(tmp_path / "p.duckdb", source, searched.options)
    stages = {row["stage"]: row for row in fresh.stages.to_pylist()}
    assert list(stages) == ["baseline", "search", "qualify", "confirm", "compare", "verify"]
    assert stages["baseline"]["jobs"] == 3 and all(row["done"] == 0 for row in stages.values())
    assert stages["confirm"]["seconds"] < stages["confirm"]["at_most_s"] <= 3 * 30.0
    assert any("not known" in line for line in fresh.lines)
    assert rows_of(tmp_path / "p.duckdb", "SELECT count(*) AS n FROM job") == [{"n": 0}]
    known = plan_search(searched.db, searched.source, searched.options)
    stages = {row["stage"]: row for row in known.stages.to_pylist()}
    assert stages["baseline"]["done"] == 3 and stages["search"]["done"] == stages["search"]["jobs"] == 2
    assert stages["search"]["seconds"] == 0
    (line,) = [line for line in known.lines if line.startswith("At most")]
    most = float(line.split()[2])
    (saved,) = searched.rows("SELECT max(saved_pct) AS pct FROM run_worth")
    assert saved["pct"] < most < 100 and "(simulated times)" in line


def test_guard(searched: Searched, tmp_path: Path) -> None:
    from geko.library.build import create
    from geko.library.tree_merge import merge
    from geko.runs.setup import simulated_root

    root = simulated_root(SIMULATE)
    equality = next(root.rglob("Equality"))
    kept = searched.options.workdir / "final_libs"  # type: ignore[operator]
    merge(equality, kept, tmp_path / "merged")
    options = replace(searched.options, workdir=tmp_path / "g", rounds=6)
    good = guard(searched.db, searched.result.run_id, tmp_path / "merged", options, verbose=0)
    classes = dict(zip(good.table["gemm"].to_pylist(), good.table["class"].to_pylist(), strict=True))
    assert classes == {
        "BBS_TN 3584×1024×18944": "applied", "BBS_TN 6144×4096×4096": "unchanged", "HHS_TN 1280×4096×1280": "not_compared",
    }  # fmt: skip
    assert good.exit_code == 0
    assert good.lines[0].startswith("1 of 2 GEMMs that were not tuned are unchanged (simulated;")
    again = guard(searched.db, searched.result.run_id, tmp_path / "merged", options, verbose=0)
    assert again.n_scheduled == 0 and again.table.equals(good.table)
    # The library as it was, deployed by mistake: content without the new entry.
    build = create(root, kept, tmp_path / "only")
    with pytest.raises(UsageError, match="holds the same library"):
        guard(
            searched.db,
            searched.result.run_id,
            build.code_dir,
            replace(options, custom_lib_dir=build.code_dir),
            verbose=0,
        )
    with pytest.raises(UsageError, match="simulated: give --simulate"):
        guard(searched.db, None, tmp_path / "merged", RunOptions(devices=(0,)), verbose=0)
