"""Every class of a shape under rule ``interval``, with its sentence, and what a run is worth."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from verdict_support import NOW, SIX, Bench, uid

from geko.warehouse import Statement
from geko.warehouse.scratch import Scratch


@pytest.fixture
def bench(verdict_scratch: Scratch) -> Bench:
    return Bench(verdict_scratch)


def confirmed(bench: Bench, ratio: float = 1.2, calls: int = 1) -> str:
    """A shape whose candidate 1 was confirmed with this ratio."""
    shape = bench.shape(calls=calls)
    bench.screen(shape, 100.0, 100.0 / ratio)
    bench.look(shape, 1, {1: [ratio * noise for noise in SIX]})
    bench.judge()
    return shape


def good(bench: Bench, ratio: float = 1.2, calls: int = 1) -> str:
    shape = confirmed(bench, ratio, calls)
    bench.compared(shape, 1)
    bench.checked(shape)
    return shape


def test_kept(bench: Bench) -> None:
    kind, reason = bench.verdict(good(bench))
    assert kind == "kept"
    assert reason.startswith("1.1988 times the stock speed over 6 pairs (99 % interval 1.1")
    assert reason.endswith(", result correct")


def test_every_other_class(bench: Bench) -> None:
    good(bench, calls=1000)
    shapes: dict[str, str] = {}
    shapes["no_solution"] = bench.shape(us=None, kept=False)
    bench.add_failed(shapes["no_solution"], "baseline", "no_solution")
    shapes["device_fault"] = bench.shape(us=None, kept=False)
    bench.add_failed(shapes["device_fault"], "baseline", "crash", "failed")
    shapes["not_important"] = bench.shape(kept=False)
    shapes["same_kernel"] = bench.shape()
    bench.screen(shapes["same_kernel"], 100.0, 101.0)
    shapes["small_gain"] = confirmed(bench, 1.002)
    shapes["no_gain"] = confirmed(bench, 0.91)
    shapes["undecided"] = bench.shape()
    bench.screen(shapes["undecided"], 100.0, 97.0)
    shapes["wrong_result"] = confirmed(bench)
    bench.compared(shapes["wrong_result"], 1)
    bench.checked(shapes["wrong_result"], "failed", 0.5)
    shapes["not_applied"] = confirmed(bench)
    bench.compared(shapes["not_applied"], 0)
    bench.checked(shapes["not_applied"])
    shapes["not_verified"] = confirmed(bench)
    bench.compared(shapes["not_verified"], 1)
    verdicts = bench.verdicts()
    found = {name: verdicts[shape] for name, shape in shapes.items()}
    assert {name: kind for name, (kind, _) in found.items()} == {name: name for name in shapes}
    assert (
        found["small_gain"][1]
        == "1.0010 times the stock speed, below up-thr 1.03 (best of 1 candidates, 6 pairs)"
    )
    assert found["no_gain"][1] == "0.9091 times the stock speed: slower (best of 1 candidates, 6 pairs)"
    assert found["wrong_result"][1] == "the tuned kernel's result is wrong (norm error 0.5)"
    bench.decide()
    listed = bench.scratch.query("status/shapes").to_pylist()
    assert len(listed) == 11 and {row["verdict"] for row in listed} == {*shapes, "kept"}
    rows = bench.rows(
        "SELECT problem_id, count(*) AS n, min(reason) AS reason FROM selection GROUP BY problem_id"
    )
    assert len(rows) == 11
    assert all(row["n"] == 1 and len(row["reason"]) > 20 for row in rows)


def test_a_faster_kernel_before_the_library_is_built(bench: Bench) -> None:
    kind, reason = bench.verdict(confirmed(bench))
    assert (kind, reason) == (
        "undecided",
        "a candidate is faster, but the tuned library was not compared yet",
    )


def test_a_failed_candidate_doesn_t_spoil_the_others(bench: Bench) -> None:
    shape = good(bench)
    bench.sample(
        shape, f"look 1 {shape}", "confirm", 1.0, 2, arm="candidate", round=0, outcome="memory_fault"
    )
    bench.judge()
    assert bench.verdict(shape)[0] == "kept"


def test_all_candidates_failed(bench: Bench) -> None:
    shape = bench.shape()
    bench.screen(shape, 100.0, 80.0)
    bench.add_failed(shape, "confirm", "memory_fault", "failed")
    bench.judge()
    assert bench.verdict(shape) == ("device_fault", "no usable time: the confirm job ended with memory_fault")


def test_needs_more_workspace(verdict_scratch: Scratch) -> None:
    bench = Bench(verdict_scratch, max_workspace=33554432)
    shape = bench.shape(us=None, kept=False)
    bench.add_failed(shape, "baseline", "no_solution")
    bench.job("unlimited", "unlimited")
    bench.scratch.execute("UPDATE job SET kind = 'baseline' WHERE kind = 'unlimited'")
    bench.sample(shape, "unlimited", "unlimited", 70.0, 3)
    kind, reason = bench.verdict(shape)
    assert kind == "needs_workspace"
    assert reason == "every solution needs more workspace than --max-workspace (33554432 bytes)"


def test_nothing_is_kept_unchecked_unless_asked_for_and_then_it_says_so(verdict_scratch: Scratch) -> None:
    for verify, kind in ((True, "not_verified"), (False, "kept")):
        bench = Bench(verdict_scratch, verify=verify)
        shape = confirmed(bench)
        bench.compared(shape, 1)
        assert bench.verdict(shape)[0] == kind
    assert bench.verdict(shape)[1].endswith("result NOT checked (--no-verify)")
    bench.decide()
    metrics = json.loads(bench.rows("FROM export_metrics")[0]["document"])
    assert metrics["config"]["verify"] is False
    (row,) = bench.scratch.query("status/verdicts").to_pylist()
    assert row["results"] == "NOT checked"
    (row,) = bench.scratch.query("status/worth").to_pylist()
    assert row["results"] == "1 NOT checked"
    assert [row["checked"] for row in bench.rows("FROM run_saving")] == [False]


def test_an_error_check_is_no_evidence(bench: Bench) -> None:
    shape = confirmed(bench)
    bench.compared(shape, 1)
    bench.checked(shape, "error")
    assert bench.verdict(shape)[0] == "not_verified"


def test_the_check_of_another_kernel_is_no_evidence(bench: Bench) -> None:
    right, wrong = confirmed(bench), confirmed(bench)
    for shape, kernel in ((right, 1), (wrong, 5)):
        bench.compared(shape, 1)
        bench.checked(shape, kernel=kernel)
    found = bench.verdicts()
    assert found[right][0] == "kept"
    assert found[wrong] == ("not_verified", "faster, but the check ran another kernel")


@pytest.mark.parametrize(("error", "kind"), [(0.031, "wrong_result"), (0.029, "kept")])
def test_one_wrong_matrix_of_a_batch_is_wrong(bench: Bench, error: float, kind: str) -> None:
    """The error that is printed counts, whatever the batch: divided by 512 matrices 0.031 would look like 0.00006."""
    shape = confirmed(bench)
    bench.scratch.execute(f"UPDATE problem SET batch = 512 WHERE problem_id = '{shape}'")
    bench.compared(shape, 1)
    bench.checked(shape, "passed", error)
    assert bench.verdict(shape)[0] == kind


def test_point_rule_ignores_the_interval(verdict_scratch: Scratch) -> None:
    bench = Bench(verdict_scratch, rule="point", verify=False)
    shape = bench.shape()
    bench.screen(shape, 100.0, 95.0)
    bench.compared(shape, 1, us=96.0)
    (row,) = bench.rows("SELECT class, rule, ratio FROM run_decision")
    assert (row["class"], row["rule"]) == ("kept", "point")
    assert row["ratio"] == pytest.approx(math.sqrt(100 / 96 * 101 / 97))


def test_worth_by_hand(bench: Bench) -> None:
    good(bench, 1.25, calls=3)
    good(bench, 2.0, calls=5)
    bench.shape(calls=2)
    bench.decide()
    rows = bench.rows("SELECT * FROM selection WHERE class = 'kept' ORDER BY ratio")
    shares = (0.3, 0.5)
    assert [row["share_pct"] for row in rows] == pytest.approx([100 * w for w in shares])
    saved = sum(w * (1 - 1 / row["ratio"]) for w, row in zip(shares, rows, strict=True))
    se = math.sqrt(
        sum((w / row["ratio"] * row["log_ratio_se"]) ** 2 for w, row in zip(shares, rows, strict=True))
    )
    (worth,) = bench.rows("FROM run_worth")
    assert worth["n_kept"] == 2 and worth["n_shapes"] == 3
    assert worth["coverage_pct"] == pytest.approx(80.0)
    assert worth["saved_pct"] == pytest.approx(100 * saved)
    assert worth["speedup"] == pytest.approx(1 / (1 - saved))
    assert worth["speedup_low"] == pytest.approx(1 / (1 - saved + 1.96 * se))
    assert worth["speedup_high"] == pytest.approx(1 / (1 - saved - 1.96 * se))
    assert se > 0.001
    top = bench.scratch.query("status/contributions").to_pylist()
    assert [row["uplift"] for row in top] == [rows[1]["ratio"], rows[0]["ratio"]]
    assert top[1]["together %"] == pytest.approx(100 * saved)


def test_new_columns_of_the_selection(bench: Bench) -> None:
    good(bench)
    bench.decide()
    (row,) = bench.rows("FROM selection")
    assert (row["rule"], row["confidence"], row["n_looks"], row["n_candidates"], row["check_outcome"]) == (
        "interval", 0.99, 1, 1, "passed",
    )  # fmt: skip


def test_a_new_kernel_where_the_stock_library_has_none(verdict_scratch: Scratch) -> None:
    bench = Bench(verdict_scratch, kind="tune")
    shapes = {
        "new_solution": bench.no_stock(),
        "no_solution": bench.no_stock(kernel=None),
        "undecided": bench.no_stock(),
        "not_applied": bench.no_stock(),
        "device_fault": bench.no_stock(),
        "wrong_result": bench.no_stock(),
        "not_verified": bench.no_stock(),
    }
    for name in ("new_solution", "wrong_result", "not_verified"):
        bench.timed_alone(shapes[name], 7)
    bench.timed_alone(shapes["not_applied"], 7, outcome="no_solution")
    bench.timed_alone(shapes["device_fault"], 7, outcome="crash")
    bench.checked(shapes["new_solution"])
    bench.checked(shapes["wrong_result"], "failed", 0.5)
    verdicts = bench.verdicts()
    assert {name: verdicts[shape][0] for name, shape in shapes.items()} == {name: name for name in shapes}
    assert verdicts[shapes["new_solution"]][1] == (
        "the reference library has no solution; the new kernel takes 90 µs, result correct"
    )
    assert verdicts[shapes["not_verified"]][1] == "a new kernel, but its result was not checked"
    assert verdicts[shapes["device_fault"]][1] == "no usable time: the compare job ended with crash"
    bench.decide()
    (row,) = bench.rows("FROM selection WHERE class = 'new_solution'")
    assert (row["us_tuned"], row["us_reference"], row["ratio"]) == (90.0, None, None)
    (new,) = bench.rows("FROM export_new_solutions")
    assert new["us"] == 90.0 and new["verified"] is True
    (worth,) = bench.rows("FROM run_worth")
    assert worth["n_kept"] == 0 and worth["saved_pct"] == 0
    metrics = json.loads(bench.rows("FROM export_metrics")[0]["document"])
    assert metrics["counts"]["n_new_solutions"] == 1
    assert metrics["counts"]["n_kept"] == metrics["counts"]["n_attempted"] == 0
    # After deployment: the kernel is used, or none is found.
    for kernel, outcome, expected in ((7, "ok", "applied"), (7, "no_solution", "not_applied")):
        for table in ("run_job", "run_problem"):
            bench.scratch.execute(f"DELETE FROM {table} WHERE run_id = '{uid('guard')}'")
        bench.scratch.execute(f"DELETE FROM run WHERE run_id = '{uid('guard')}'")
        bench.add(
            "run", run_id=uid("guard"), kind="guard", label="w", state="running", simulated=False, n_starts=1,
            options=json.dumps({"guarded_run": uid("run"), "threshold": 1.03}), started_at=NOW,
        )  # fmt: skip
        shape = shapes["new_solution"]
        bench.add("run_problem", run_id=uid("guard"), problem_id=shape, seq=1, call_count=1)
        job = f"guard {kernel} {outcome}"
        bench.job(job, "compare", library="tuned")
        bench.add("run_job", run_id=uid("guard"), job_id=uid(job))
        bench.sample(
            shape, job, "compare", 91.0, kernel, arm="tuned", round=0, block_id=uid(job), outcome=outcome
        )
        (row,) = bench.rows("FROM run_guard")
        assert row["class"] == expected and row["tuned"], (kernel, outcome)
    bench.scratch.execute(f"DELETE FROM run_problem WHERE run_id = '{uid('guard')}'")


@pytest.mark.parametrize(("keep_new", "expected"), [(True, True), (False, False)])
def test_a_threshold_keeps_what_only_tuning_can_serve(
    verdict_scratch: Scratch, keep_new: bool, expected: bool
) -> None:
    bench = Bench(verdict_scratch, kind="tune")
    small, large, new, broken = (
        bench.shape(us=1.0),
        bench.shape(us=1000.0),
        bench.no_stock(),
        bench.shape(us=None),
    )
    bench.add_failed(broken, "baseline", "crash", "failed")
    bench.scratch.apply(
        Statement("run/keep_above", {"run_id": uid("run"), "keep_thr": 5.0, "keep_new": keep_new})
    )
    rows = bench.rows("SELECT problem_id::VARCHAR AS id, kept FROM run_problem")
    assert {row["id"]: row["kept"] for row in rows} == {
        small: False,
        large: True,
        new: expected,
        broken: False,
    }
    (counts,) = bench.scratch.query("run/kept_count", run_id=uid("run")).to_pylist()
    assert (counts["n_kept"], counts["n_new"]) == (1 + expected, int(expected))


def test_a_shape_that_the_tuned_library_has_no_solution_for_is_not_the_device_s_fault(
    verdict_scratch: Scratch,
) -> None:
    bench = Bench(verdict_scratch, kind="tune")
    shape = bench.shape()
    bench.job(f"tune {shape}", "tune")
    bench.add("tuning_config_problem", config_id=uid("config"), problem_id=shape, seq=0)
    bench.sample(shape, f"tune {shape}", "tune", 80.0, 7)
    bench.job("look", "confirm", library="tuned")
    place = {"block_id": uid("look"), "round": 0}
    bench.sample(shape, "look", "confirm", 100.0, 0, arm="reference", **place)
    bench.sample(shape, "look", "confirm", 100.0, 7, arm="candidate", outcome="no_solution", **place)
    bench.judge()
    assert bench.verdict(shape) == (
        "not_applied",
        "the tuned library has no solution for this shape: its kernels don't suit it",
    )


def test_page_names_every_class(repo_root: Path) -> None:
    text = (repo_root / "sql" / "views" / "60_run_decision.sql").read_text(encoding="utf-8")
    page = (repo_root / "docs" / "verdicts.md").read_text(encoding="utf-8")
    classes = set(re.findall(r"THEN '([a-z_]+)'$", text, re.MULTILINE)) | {"kept"}
    assert len(classes) >= 11
    assert classes == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
