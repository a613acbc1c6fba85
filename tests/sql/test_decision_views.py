"""The views that decide, over a hand-made warehouse: every class with its sentence, and what may not count."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.warehouse import Append, Statement
from geko.warehouse.scratch import Scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def uid(name: str) -> str:
    return content_id("test", name)


class Tiny:
    """A run whose shapes are added one at a time."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.n = 0
        self.add(
            "environment",
            environment_id=uid("env"),
            simulated=False,
            gfx="gfx942:x",
            identity="{}",
            first_seen=NOW,
        )
        for role in ("baseline", "screen", "compare", "verify"):
            self.add("protocol", protocol_id=uid(role), harness="hipblaslt-bench", role=role, settings="{}")
        self.add(
            "run", run_id=uid("run"), kind="search", label="w", state="running", simulated=False,
            environment_id=uid("env"), library_id=uid("stock"), tuned_library_id=uid("tuned"), n_starts=1,
            options=json.dumps({"keep_thr": 0.1, "up_thr": 1.03, "err_thr": 0.03, "verify": True}), started_at=NOW,
        )  # fmt: skip

    def add(self, table: str, **row: Any) -> None:
        self.scratch.apply(Append(table, pa.Table.from_pylist([row])))

    def shape(self, kept: bool | None = True, calls: int = 1) -> str:
        self.n += 1
        problem = Problem("T", "N", 64 * self.n, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
        row = {name: getattr(problem, name) for name in PROBLEM_FIELDS if getattr(problem, name) is not None}
        self.add("problem", problem_id=problem.problem_id, **row)
        self.add(
            "run_problem",
            run_id=uid("run"),
            problem_id=problem.problem_id,
            seq=self.n,
            call_count=calls,
            kept=kept,
        )
        return problem.problem_id

    def job(
        self, shape: str, kind: str, outcome: str = "ok", state: str = "done", several: bool = False
    ) -> str:
        job_id = uid(f"{kind} {shape}")
        tuned = kind in ("compare", "verify")
        self.add(
            "job", job_id=job_id, kind=kind, state=state, priority=0.0, cost_s=1.0, batch_key="b",
            problem_id=None if several else shape, library_id=uid("tuned" if tuned else "stock"), protocol_id=uid(kind),
            environment_id=uid("env"), attempts=1, max_attempts=3, alone=False, timeout_s=9.0, outcome=outcome,
            updated_at=NOW,
        )  # fmt: skip
        self.add("job_spec", job_id=job_id, spec=json.dumps({"problem_ids": [shape]}))
        self.add("run_job", run_id=uid("run"), job_id=job_id)
        return job_id

    def timed(self, shape: str, kind: str, us: float, kernel: str | None, **more: Any) -> None:
        row = {
            "measurement_id": uid(f"{kind} {shape} {us} {kernel} {more}"), "problem_id": shape,
            "solution_id": None if kernel is None else uid(kernel), "library_id": uid("stock"),
            "environment_id": uid("env"), "protocol_id": uid(kind), "job_id": uid(f"{kind} {shape}"), "attempt": 1,
            "outcome": "ok", "us": us, "solution_index": 1,
        } | more  # fmt: skip
        self.add("measurement", **row)

    def baseline(self, shape: str, us: float = 100.0, kernel: str = "stock kernel") -> None:
        self.job(shape, "baseline")
        self.timed(shape, "baseline", us, kernel)

    def screened(self, shape: str, *times: tuple[float, str]) -> None:
        self.job(shape, "screen")
        for us, kernel in times:
            self.timed(shape, "screen", us, kernel)

    def compared(self, shape: str, reference: str, tuned: str, pairs: list[tuple[float, float]]) -> None:
        self.job(shape, "compare", several=True)
        for number, (slow, fast) in enumerate(pairs):
            common = {"block_id": uid(f"block {shape}"), "round": number}
            self.timed(shape, "compare", slow, reference, arm="reference", **common)
            self.timed(shape, "compare", fast, tuned, arm="tuned", **common)

    def checked(self, shape: str, outcome: str, error: float) -> None:
        self.job(shape, "verify")
        self.add(
            "validation", validation_id=uid(f"check {shape}"), problem_id=shape, library_id=uid("tuned"),
            environment_id=uid("env"), protocol_id=uid("verify"), job_id=uid(f"verify {shape}"), outcome=outcome,
            norm_error=error,
        )  # fmt: skip

    def good(self, calls: int = 1) -> str:
        shape = self.shape(calls=calls)
        self.baseline(shape)
        self.screened(shape, (100.0, "stock kernel"), (50.0, "fast"))
        self.compared(shape, "stock kernel", "fast", [(100.0, 50.0), (102.0, 51.0), (98.0, 49.0)])
        self.checked(shape, "passed", 0.001)
        return shape

    def rows(self, text: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.scratch.sql(text).to_pylist()
        return found

    def decision(self, shape: str) -> tuple[str, str]:
        rows = self.rows(f"SELECT class, reason FROM run_decision WHERE problem_id = '{shape}'")
        assert len(rows) == 1, "one class a shape"
        return rows[0]["class"], rows[0]["reason"]


TABLES = (
    "environment", "protocol", "run", "problem", "run_problem", "job", "job_spec", "run_job", "measurement", "validation",
    "arch_peak",
)  # fmt: skip


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    """Made once: binding the views takes most of the time."""
    with Scratch(threads=1) as opened:
        yield opened


@pytest.fixture
def tiny(scratch: Scratch) -> Tiny:
    for table in TABLES:
        scratch.execute(f"DELETE FROM {table}")
    return Tiny(scratch)


def test_kept(tiny: Tiny) -> None:
    shape = tiny.good()
    kind, reason = tiny.decision(shape)
    assert kind == "kept"
    assert (
        reason == "2.0000 times the stock speed over 3 pairs (95 % interval 2.0000 to 2.0000), result correct"
    )


def test_every_other_class(tiny: Tiny) -> None:
    pairs = [(100.0, 50.0)]
    tiny.good(calls=1000)
    shapes: dict[str, str] = {}

    shapes["no_solution"] = tiny.shape(kept=False)
    tiny.job(shapes["no_solution"], "baseline", "no_solution")
    shapes["device_fault"] = tiny.shape(kept=False)
    tiny.job(shapes["device_fault"], "baseline", "crash", "failed")
    shapes["not_important"] = tiny.shape(kept=False)
    tiny.baseline(shapes["not_important"])
    shapes["same_kernel"] = tiny.shape()
    tiny.baseline(shapes["same_kernel"])
    tiny.screened(shapes["same_kernel"], (99.0, "stock kernel"), (120.0, "slow"))
    shapes["undecided"] = tiny.shape()
    tiny.baseline(shapes["undecided"])
    tiny.screened(shapes["undecided"], (50.0, "fast"))
    for name, reference, tuned, times, check in (
        ("wrong_result", "stock kernel", "fast", pairs, ("failed", 0.5)),
        ("not_applied", "stock kernel", "stock kernel", [(100.0, 99.0)], ("passed", 0.001)),
        ("small_gain", "stock kernel", "fast", [(100.0, 98.0)], ("passed", 0.001)),
        ("no_gain", "stock kernel", "fast", [(100.0, 110.0)], ("passed", 0.001)),
        ("not_verified", "stock kernel", "fast", pairs, None),
    ):
        shapes[name] = tiny.shape()
        tiny.baseline(shapes[name])
        tiny.screened(shapes[name], (50.0, "fast"))
        tiny.compared(shapes[name], reference, tuned, times)
        if check is not None:
            tiny.checked(shapes[name], *check)
    found = {name: tiny.decision(shape) for name, shape in shapes.items()}
    assert {name: kind for name, (kind, _) in found.items()} == {name: name for name in shapes}
    assert found["device_fault"][1] == "no usable time: the baseline job ended with crash"
    assert found["small_gain"][1] == "1.0204 times the stock speed, below up-thr 1.03"
    assert found["no_gain"][1] == "0.9091 times the stock speed: slower"
    assert found["wrong_result"][1] == "the tuned kernel's result is wrong (norm error 0.5)"
    assert "below keep-thr 0.1 %" in found["not_important"][1]
    assert len(tiny.rows("FROM run_decision")) == 11


def test_failure_inside_a_comparison(tiny: Tiny) -> None:
    whole = tiny.shape()
    tiny.baseline(whole)
    tiny.screened(whole, (50.0, "fast"))
    tiny.job(whole, "compare", "crash", "failed", several=True)
    assert tiny.decision(whole) == ("device_fault", "no usable time: the compare job ended with crash")
    half = tiny.good()
    tiny.timed(
        half,
        "compare",
        0.0,
        None,
        outcome="memory_fault",
        arm="tuned",
        round=3,
        block_id=uid(f"block {half}"),
    )
    assert tiny.decision(half)[0] == "device_fault", "pairs before the failure prove nothing"


@pytest.mark.parametrize(
    ("outcome", "state", "expected"),
    [
        ("crash", "dead", "device_fault"), ("hang", "failed", "device_fault"), ("timeout", "failed", "device_fault"),
        ("memory_fault", "dead", "device_fault"), ("lost", "failed", "device_fault"),
        ("parse_error", "failed", "not_verified"), ("no_solution", "done", "not_verified"),
    ],
)  # fmt: skip
def test_checks_that_end_badly(tiny: Tiny, outcome: str, state: str, expected: str) -> None:
    shape = tiny.shape()
    tiny.baseline(shape)
    tiny.screened(shape, (50.0, "fast"))
    tiny.compared(shape, "stock kernel", "fast", [(100.0, 50.0)])
    tiny.job(shape, "verify", outcome, state)
    kind, reason = tiny.decision(shape)
    assert kind == expected and reason.startswith("faster, but ")
    assert reason.endswith(f"the verify job ended with {outcome}")


def test_kind_and_outcome_are_of_one_failure(tiny: Tiny) -> None:
    shape = tiny.shape()
    tiny.baseline(shape)
    tiny.job(shape, "screen", "hang", "failed")
    tiny.job(shape, "verify", "crash", "failed")
    assert tiny.decision(shape) == ("device_fault", "no usable time: the screen job ended with hang")


def test_candidates_that_could_not_be_read_are_failures(tiny: Tiny) -> None:
    shape = tiny.good()
    extra = json.dumps({"message": "3 of 5 candidates could be read"})
    tiny.timed(shape, "screen", 0.0, None, outcome="parse_error", extra=extra)
    assert tiny.rows("SELECT kind, outcome, message FROM run_failure") == [
        {"kind": "screen", "outcome": "parse_error", "message": "3 of 5 candidates could be read"}
    ]
    assert tiny.decision(shape)[0] == "kept"


@pytest.mark.parametrize("us", [math.inf, math.nan, 0.0, -1.0, 1e-6])
def test_impossible_times_never_win(tiny: Tiny, us: float) -> None:
    tiny.add("arch_peak", arch="gfx942", a_type="bf16_r", compute_type="f32_r", peak_gflops=1.3e6)
    shape = tiny.shape()
    tiny.baseline(shape)
    tiny.screened(shape, (90.0, "fast"), (us, "impossible"))
    assert [row["us"] for row in tiny.rows("FROM run_winner")] == [90.0]


@pytest.mark.parametrize("outcome", ["verify_failed", "not_checked", "crash", "skipped"])
def test_failed_measurements_never_win(tiny: Tiny, outcome: str) -> None:
    shape = tiny.shape()
    tiny.baseline(shape)
    tiny.screened(shape, (90.0, "fast"))
    tiny.timed(shape, "screen", 1.0, "broken", outcome=outcome)
    tiny.timed(shape, "screen", 2.0, "echo", winner_echo=True)
    assert [row["us"] for row in tiny.rows("FROM run_winner")] == [90.0]


def test_ties_go_to_the_stock_kernel(tiny: Tiny) -> None:
    shape = tiny.shape()
    tiny.baseline(shape)
    tiny.screened(shape, (90.0, "a"), (90.0, "stock kernel"), (90.0, "b"))
    (row,) = tiny.rows("SELECT solution_id::VARCHAR AS id, is_stock_choice FROM run_winner")
    assert row == {"id": uid("stock kernel"), "is_stock_choice": True}


def test_contribution(tiny: Tiny) -> None:
    one, two = tiny.shape(calls=3), tiny.shape(calls=1)
    tiny.baseline(one, 10.0)
    tiny.baseline(two, 70.0)
    tiny.shape(calls=9)  # without a baseline it has no share
    rows = tiny.rows("SELECT total_us, share_pct FROM run_contribution ORDER BY seq")
    assert rows == [
        {"total_us": 30.0, "share_pct": 30.0}, {"total_us": 70.0, "share_pct": 70.0},
        {"total_us": None, "share_pct": None},
    ]  # fmt: skip


def test_only_one_block_and_round_pair_up(tiny: Tiny) -> None:
    shape = tiny.shape()
    tiny.job(shape, "compare", several=True)
    for arm, us, block, number in (
        ("reference", 100.0, "one", 0), ("tuned", 50.0, "one", 0), ("reference", 100.0, "one", 1),
        ("tuned", 10.0, "two", 1),
    ):  # fmt: skip
        tiny.timed(shape, "compare", us, "k", arm=arm, block_id=uid(block), round=number)
    (row,) = tiny.rows("SELECT n_pairs, ratio FROM run_uplift")
    assert row["n_pairs"] == 1 and row["ratio"] == pytest.approx(2.0)


def test_interval(tiny: Tiny) -> None:
    shape = tiny.shape()
    tiny.compared(shape, "s", "f", [(100.0, 100.0), (110.0, 100.0), (121.0, 100.0)])
    (row,) = tiny.rows("FROM run_uplift")
    half = 1.96 * 1.2533 * 1.4826 * math.log(1.1) / math.sqrt(3)
    assert row["ratio"] == pytest.approx(1.1)
    assert row["ratio_low"] == pytest.approx(1.1 * math.exp(-half))
    assert row["ratio_high"] == pytest.approx(1.1 * math.exp(half))


def test_metrics_document(tiny: Tiny) -> None:
    tiny.good()
    other = tiny.shape()
    tiny.baseline(other, 300.0)
    assert json.loads(tiny.rows("FROM export_metrics")[0]["document"])["counts"]["n_attempted"] == 0, (
        "not decided yet"
    )
    tiny.scratch.apply(Statement("run/decide", {"run_id": uid("run"), "now": NOW}))
    document = json.loads(tiny.rows("FROM export_metrics")[0]["document"], parse_constant=pytest.fail)
    assert document["counts"]["n_attempted"] == 1 and document["counts"]["n_kept"] == 1
    assert document["counts"]["improved_in_ranges"]["ge_100_pct"] == 1
    assert document["uplift_kept"]["geomean_uplift_pct"] == pytest.approx(100.0)
    assert document["e2e"]["coverage_pct"] == pytest.approx(25.0)
    assert document["e2e"]["e2e_uplift_pct"] == pytest.approx(12.5)
    assert document["e2e"]["e2e_speedup"] == pytest.approx(1 / 0.875)


def test_every_view_can_be_read_when_nothing_is_there(tiny: Tiny) -> None:
    names = [row["view_name"] for row in tiny.rows("SELECT view_name FROM duckdb_views() WHERE NOT internal")]
    assert len(names) > 15
    for name in names:
        tiny.rows(f'FROM "{name}"')
    (row,) = tiny.rows("FROM export_metrics")
    assert json.loads(row["document"], parse_constant=pytest.fail)["counts"]["n_kept"] == 0
