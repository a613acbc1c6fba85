"""The rule of the confirmation: its quantiles, its bounds on hand-made pairs, what is looked at next, and ties."""

from __future__ import annotations

import json
import math
from statistics import NormalDist, mean, median, stdev
from typing import Any

import pytest
from verdict_support import SIX, Bench, uid

from geko.warehouse.scratch import Scratch


@pytest.fixture
def bench(verdict_scratch: Scratch) -> Bench:
    return Bench(verdict_scratch)


def t_tail(t: float, dof: int, n: int = 20_000) -> float:
    """P(T > t) by Simpson's rule over the angle θ with t = √ν·tan θ, where the density is a power of cos θ."""
    scale = math.exp(math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2)) / math.sqrt(math.pi)
    low, high = math.atan(t / math.sqrt(dof)), math.pi / 2
    step = (high - low) / n
    weights = (1 if at in (0, n) else 4 if at % 2 else 2 for at in range(n + 1))
    total = sum(w * max(math.cos(low + at * step), 0.0) ** (dof - 1) for at, w in enumerate(weights))
    return scale * total * step / 3


@pytest.mark.parametrize("tail", [0.4, 0.1, 0.024, 0.01, 0.001, 1e-5])
def test_normal_quantile(verdict_scratch: Scratch, tail: float) -> None:
    (row,) = verdict_scratch.sql("SELECT normal_quantile($p) AS z", p=tail).to_pylist()
    assert row["z"] == pytest.approx(NormalDist().inv_cdf(1 - tail), rel=1e-7)


@pytest.mark.parametrize("tail", [0.4, 0.1, 0.025, 0.0025, 0.000625, 1e-5])
def test_t_quantile(verdict_scratch: Scratch, tail: float) -> None:
    rows = verdict_scratch.sql(
        "SELECT dof, t_quantile($p, dof) AS t FROM (SELECT unnest([3, 4, 5, 9, 17, 47]) AS dof)", p=tail
    ).to_pylist()
    for row in rows:
        assert t_tail(row["t"], row["dof"]) == pytest.approx(tail, rel=1e-3), row


def test_looks_spend_the_error_once(verdict_scratch: Scratch) -> None:
    (row,) = verdict_scratch.sql(
        """SELECT sum(4 * look_alpha(0.005, k, 4)) AS spent, list(look_pairs(k) ORDER BY k)[1:4] AS pairs
           FROM range(1, 31) AS t(k)"""
    ).to_pylist()
    assert row["spent"] < 0.005
    assert row["spent"] == pytest.approx(0.005, rel=0.04)
    assert row["pairs"] == [6, 12, 24, 48]


def test_six_pairs_by_hand(bench: Bench) -> None:
    shape = bench.shape()
    ratios = [1.06 * noise for noise in SIX]
    bench.look(shape, 1, {1: ratios})
    bench.judge()
    row = bench.candidates(shape)[1]
    z = [math.log(ratio) for ratio in ratios]
    # t of 5 degrees of freedom: 4.773 for a tail of 0.0025 = 0.005 / (1·2), 1.476 for 0.10 (tables).
    half = stdev(z) / math.sqrt(6)
    assert row["ratio"] == pytest.approx(math.exp(median(z)))
    assert row["ratio_low"] == pytest.approx(math.exp(mean(z) - 4.773 * half), rel=1e-4)
    assert row["ratio_high"] == pytest.approx(math.exp(mean(z) + 4.773 * half), rel=1e-4)
    assert row["ratio_reject"] == pytest.approx(math.exp(mean(z) + 1.476 * half), rel=1e-4)
    assert (row["state"], row["n_pairs"], row["n_looks"], row["n_candidates"]) == ("kept", 6, 1, 1)


def test_twelve_pairs_lose_their_extremes(bench: Bench) -> None:
    shape = bench.shape()
    ratios = [1.06 * noise for noise in (*SIX, *SIX)]
    ratios[3], ratios[8] = 0.5, 3.0
    bench.look(shape, 1, {1: ratios[:6]})
    bench.look(shape, 2, {1: ratios[6:]})
    bench.judge()
    row = bench.candidates(shape)[1]
    z = sorted(math.log(ratio) for ratio in ratios)
    core = z[1:-1]
    spread = stdev([core[0], *core, core[-1]])
    se = spread / ((1 - 2 / 12) * math.sqrt(12))
    # A tail of 0.005 / (2·3) with 9 degrees of freedom.
    assert t_tail(abs(math.log(row["ratio_low"]) - mean(core)) / se, 9) == pytest.approx(0.005 / 6, rel=1e-3)
    assert row["spread"] == pytest.approx(spread)
    assert (row["state"], row["n_looks"]) == ("kept", 2), "two disturbed samples undo nothing"


def test_more_candidates_and_more_looks_widen_the_interval(bench: Bench) -> None:
    one, four = bench.shape(), bench.shape()
    ratios = [1.06 * noise for noise in SIX]
    bench.look(one, 1, {1: ratios})
    bench.look(four, 1, {1: ratios, 2: list(SIX), 3: list(SIX)})
    # A candidate that crashed was tried as well.
    bench.sample(four, f"look 1 {four}", "confirm", 1.0, 4, arm="candidate", round=0, outcome="crash")
    bench.judge()
    alone, among = bench.candidates(one)[1], bench.candidates(four)[1]
    assert among["n_candidates"] == 4
    assert among["ratio_low"] < alone["ratio_low"]
    assert 4 not in bench.candidates(four)


@pytest.mark.parametrize(
    ("ratio", "state"),
    [(1.06, "kept"), (1.0, "rejected"), (0.9, "rejected"), (1.028, "open"), (1.031, "open")],
)
def test_states(bench: Bench, ratio: float, state: str) -> None:
    shape = bench.shape()
    spread = 3.0 if state == "open" and ratio > 1.03 else 1.0
    bench.look(shape, 1, {1: [ratio * noise**spread for noise in SIX]})
    bench.judge()
    assert bench.candidates(shape)[1]["state"] == state


def test_fewer_than_four_pairs_prove_nothing(bench: Bench) -> None:
    shape = bench.shape()
    bench.look(shape, 1, {1: [2.0, 2.0, 2.0]})
    bench.judge()
    assert bench.candidates(shape) == {}


def test_only_samples_of_one_round_pair_up(bench: Bench) -> None:
    shape = bench.shape()
    bench.look(shape, 1, {1: [1.06 * noise for noise in SIX]})
    # A fast sample of another block has no reference there.
    bench.sample(shape, f"look 1 {shape}", "confirm", 1.0, 1, arm="candidate", round=0, block_id=uid("other"))
    bench.judge()
    assert bench.candidates(shape)[1]["n_pairs"] == 6


def test_first_look_takes_the_fastest_that_beat_the_stock_choice(bench: Bench) -> None:
    shape = bench.shape()
    bench.screen(shape, 100.0, 99.0, 101.0, 95.0, 97.0, 96.0, 98.0)
    (spec,) = bench.plan(1)
    indices = [row.get("solution_index") for row in spec["rows"]]
    assert indices == [None, 3, 5, 4, 6], "the stock choice first, then the four fastest"
    assert spec["row_arms"] == [0, 1, 1, 1, 1] and spec["rounds"] == 6
    assert all(row["algo_method"] == 2 for row in spec["rows"][1:])
    assert spec["problem_ids"] == [shape] * 5
    slowest = bench.shape()
    bench.screen(slowest, 100.0, 100.5, 120.0)
    assert [s["problem_ids"][0] for s in bench.plan(1)] == [shape], "nothing beat the stock choice"
    assert bench.verdict(slowest)[0] == "same_kernel"


def test_many_fast_solutions_qualify_before_they_are_confirmed(bench: Bench) -> None:
    few, many = bench.shape(), bench.shape()
    bench.screen(few, 100.0, 99.0, 98.0, 97.0, 96.0)
    # Solution 7 is the fastest; in the search six others were luckier, and 1 and 2 are in fact slower than stock.
    bench.screen(many, 100.0, 91.0, 91.5, 92.0, 92.5, 93.0, 93.5, 94.0, 99.5, 101.0)
    (job,) = bench.plan_qualify(n_qualify=7)
    assert job["problem_ids"] == [many] * 8, "four candidates are confirmed in any case"
    assert [row.get("solution_index") for row in job["rows"]] == [None, 1, 2, 3, 4, 5, 6, 7]
    assert (job["row_arms"], job["rounds"]) == ([0, 1, 1, 1, 1, 1, 1, 1], 2)
    assert job["rows"][0]["iters"] == 400, "0.04 s, as in the search"
    bench.qualified(many, {1: 0.9, 2: 0.9, 3: 0.99, 4: 1.02, 5: 1.0, 6: 1.01, 7: 1.1})
    (job,) = bench.plan(1)
    rows = list(zip(job["problem_ids"], (row.get("solution_index") for row in job["rows"]), strict=True))
    asked = {shape: [index for name, index in rows if name == shape] for shape in (few, many)}
    assert asked == {few: [None, 4, 3, 2, 1], many: [None, 7, 4, 6, 5]}


def test_qualifying_leaves_the_best_even_if_nothing_was_faster(bench: Bench) -> None:
    shape = bench.shape()
    bench.screen(shape, 100.0, 99.0, 99.0, 99.0, 99.0, 99.0)
    bench.qualified(shape, dict.fromkeys(range(1, 5), 0.9) | {5: 0.95})
    (job,) = bench.plan(1)
    assert [row.get("solution_index") for row in job["rows"]] == [None, 5], "it gets a verdict with figures"


def test_next_look_takes_open_candidates_of_open_shapes(bench: Bench) -> None:
    kept, rejected, unsure = bench.shape(), bench.shape(), bench.shape()
    near = [1.028 * noise for noise in SIX]
    for shape, ratios in (
        (kept, {1: [1.06 * x for x in SIX], 2: near}),
        (rejected, {1: list(SIX)}),
        (unsure, {1: list(SIX), 2: near}),
    ):
        bench.screen(shape, 100.0, 99.0, 98.0)
        bench.look(shape, 1, ratios)
    bench.judge()
    (spec,) = bench.plan(2, shape_budget_s=1e6)
    assert set(spec["problem_ids"]) == {unsure}
    assert [row.get("solution_index") for row in spec["rows"]] == [None, 2]
    assert spec["rounds"] == 6
    assert bench.plan(3, shape_budget_s=1e6) == [], "there was no second look yet"


def test_budgets(bench: Bench) -> None:
    small, large = bench.shape(calls=1), bench.shape(calls=1000)
    for shape in (small, large):
        bench.screen(shape, 100.0, 98.0)
    # A row takes 0.2 s, two of them six rounds: 2.4 s a shape.
    assert len(bench.plan(1, shape_budget_s=2.5)[0]["rows"]) == 4
    assert bench.plan(1, shape_budget_s=2.3) == []
    (spec,) = bench.plan(1, run_budget_s=2.5)
    assert set(spec["problem_ids"]) == {large}, "what could save most goes first"


def test_hopeless_shapes_are_left_alone(bench: Bench) -> None:
    shape = bench.shape()
    bench.screen(shape, 100.0, 98.0)
    bench.look(shape, 1, {1: [1.02 * noise**8 for noise in SIX]})
    bench.judge()
    (row,) = bench.rows("FROM run_confirm")
    assert row["state"] == "open" and row["n_needed"] > 60
    assert bench.plan(2, shape_budget_s=10.0) == []
    assert len(bench.plan(2, shape_budget_s=1000.0)) == 1
    kind, reason = bench.verdict(shape)
    assert kind == "undecided"
    assert f"some {math.ceil(row['n_needed'])} pairs would decide it" in reason


def test_ties_go_to_the_kernel_of_most_shapes(bench: Bench) -> None:
    first, second = bench.shape(), bench.shape()
    fast = [1.100 * noise for noise in SIX]
    # Candidates 1 and 2 are equal within their noise in the first shape, in the second only 2 is good.
    bench.look(
        first,
        1,
        {1: fast, 2: [1.098 * noise for noise in (*SIX[1:], SIX[0])], 3: [1.06 * noise for noise in SIX]},
    )
    bench.look(second, 1, {2: fast, 1: list(SIX)})
    bench.judge()
    chosen = {
        row["problem_id"]: row
        for row in bench.rows(
            "SELECT problem_id::VARCHAR AS problem_id, * EXCLUDE (problem_id) FROM run_choice"
        )
    }
    assert chosen[first]["solution_index"] == 2 and chosen[first]["n_equal"] == 2
    assert chosen[second]["solution_index"] == 2 and chosen[second]["n_shapes"] == 2


def test_ties_go_to_the_library_first(bench: Bench) -> None:
    shape, other = bench.shape(), bench.shape()
    bench.add(
        "library_solution",
        library_id=uid("stock"),
        solution_index=1,
        logic_file="f",
        library_type="Equality",
        local_index=0,
    )
    bench.look(
        shape, 1, {1: [1.098 * noise for noise in (*SIX[1:], SIX[0])], 2: [1.1 * noise for noise in SIX]}
    )
    bench.look(other, 1, {2: [1.1 * noise for noise in SIX]})
    bench.judge()
    (row,) = bench.rows(f"FROM run_choice WHERE problem_id = '{shape}'")
    assert row["solution_index"] == 1


def test_a_slower_candidate_is_no_tie(bench: Bench) -> None:
    shape, other = bench.shape(), bench.shape()
    bench.look(shape, 1, {1: [1.2 * noise for noise in SIX], 2: [1.15 * noise for noise in SIX]})
    bench.look(other, 1, {2: [1.15 * noise for noise in SIX]})
    bench.judge()
    (row,) = bench.rows(f"FROM run_choice WHERE problem_id = '{shape}'")
    assert row["solution_index"] == 1


def library_plan(bench: Bench, look: int, **changed: float) -> list[dict[str, Any]]:
    params: dict[str, Any] = {
        "run_id": uid("run"), "library_id": uid("stock"), "libpath": None, "candidate_library_id": uid("tuned"),
        "candidate_libpath": "/tuned", "protocol_id": uid("confirm"), "environment_id": uid("env"), "priority": 0.0,
        "max_attempts": 1, "timeout_s": 9.0, "root": "/", "settings": "{}", "env": "{}", "iters": 100, "cold_iters": 20,
        "duration_s": 0.1, "shape_budget_s": 30.0, "run_budget_s": 1e9, "chunk": 8, "look": look,
    }  # fmt: skip
    table = bench.scratch.query("run/plan_confirm_library", None, **params | changed)
    return [json.loads(text) for text in table["spec"].to_pylist()]


def test_a_library_of_new_kernels_is_confirmed_as_a_whole(bench: Bench) -> None:
    bench.scratch.execute("UPDATE run SET kind = 'tune'")
    clear, near = bench.shape(), bench.shape()
    for shape in (clear, near):
        bench.screen(shape, 100.0, 90.0)
        bench.tuned(shape)
    (spec,) = library_plan(bench, 1)
    assert spec["problem_ids"] == [clear, near] and spec["rounds"] == 6
    assert [arm["libpath"] for arm in spec["arms"]] == [None, "/tuned"]
    assert "row_arms" not in spec and "solution_index" not in spec["rows"][0]
    for shape, ratio in ((clear, 1.1), (near, 1.028)):
        bench.look(shape, 1, {7: [ratio * noise for noise in SIX]}, library="tuned")
    bench.judge()
    (spec,) = library_plan(bench, 2)
    assert spec["problem_ids"] == [near]
    bench.checked(clear)
    found = bench.verdicts()
    assert found[clear][0] == "kept" and "over 6 pairs (99 % interval" in found[clear][1]
    assert found[near][0] == "undecided"
    bench.scratch.execute(f"UPDATE run SET tuned_library_id = '{uid('built anew')}'")
    bench.judge()
    assert bench.candidates(clear) == {}, "pairs of a library that was replaced prove nothing"


def test_a_stopped_confirmation_goes_on_where_it_was(bench: Bench) -> None:
    """Shapes that had two looks before the run was stopped wait for the third, whatever the loop starts with."""
    shape = bench.shape()
    bench.screen(shape, 100.0, 98.0)
    near = [1.028 * noise for noise in SIX]
    bench.look(shape, 1, {1: near})
    bench.look(shape, 2, {1: near})
    bench.judge()

    def next_look(look: int) -> int | None:
        found: int | None = bench.scratch.query("run/next_look", None, run_id=uid("run"), look=look)["look"][
            0
        ].as_py()
        return found

    assert bench.plan(2) == [] and next_look(1) == 3 and next_look(2) == 3 and next_look(3) is None
    (spec,) = bench.plan(3)
    assert spec["rounds"] == 12
