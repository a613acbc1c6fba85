"""The exported figures recomputed in plain Python from the rows of table ``measurement`` and the lines of the log."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from search_support import Searched, ask

Key = tuple[str, str, int, int, int, int]

#: Columns that people's scripts read, in their order; ours has more between them.
BENCH = [
    "transA", "transB", "grouped_gemm", "batch_count", "m", "n", "k", "alpha", "lda", "stride_a", "beta", "ldb",
    "stride_b", "ldc", "stride_c", "ldd", "stride_d", "a_type", "b_type", "c_type", "d_type", "compute_type",
    "scaleA", "scaleB",
]  # fmt: skip
SUMMARY = [
    *BENCH, "rotating_buffer", "flush", "use_gpu_timer", "hipblaslt-Gflops", "hipblaslt-GB/s", "us", "kernel", "solution",
    "solutionIdx", "lib_source", "call_count", "total (us)", "% of total",
]  # fmt: skip
GEMMS = [
    "transA", "transB", "batch_count", "m", "n", "k", "a_type", "b_type", "c_type", "d_type", "compute_type",
    "scaleA", "scaleB",
]  # fmt: skip
WINNERS = [*SUMMARY[: SUMMARY.index("lib_source")]]
RESULTS = [
    *BENCH, "rotating_buffer", "flush", "use_gpu_timer",
    *(f"{name}_{arm}" for arm in ("reference", "tuned") for name in (
        "hipblaslt-Gflops", "hipblaslt-GB/s", "us", "kernel", "solution", "solutionIdx")),
    "error_tuned", "ratio", "verified", "valid", "uplift_pct", "us_saved", "arith_intensity", "category", "category_2",
    "kernel_changed", "solution_changed", "MT_tuned", "MI_tuned", "MT_reference", "MI_reference", "call_count",
    "pct_of_total", "weighted_us_saved", "weighted_uplift_contribution_pct",
]  # fmt: skip


def key_of(row: dict[str, Any]) -> Key:
    names = ("m", "n", "batch_count", "k")
    return (str(row["transA"]), str(row["transB"]), *(int(row[name]) for name in names))


@pytest.fixture(scope="module")
def calls(searched: Searched) -> dict[Key, int]:
    """Calls of each shape, in order of appearance, read out of the log by hand."""
    found: dict[Key, int] = defaultdict(int)
    for line in searched.log.read_text(encoding="utf-8").splitlines():
        cells = dict(re.findall(r"(\w+): ([^,}]+)", line))
        row = {**cells, "m": cells["M"], "n": cells["N"], "k": cells["K"]}
        found[key_of(row)] += int(cells["call_count"])
    return found


def raw(db: Path, run_id: str, kind: str, more: str = "") -> list[dict[str, Any]]:
    """Measurements of a run's jobs of a kind with the shape, without the help of any view."""
    return ask(
        db,
        f"""SELECT p.trans_a AS "transA", p.trans_b AS "transB", p.m, p.n, p.batch AS batch_count, p.k, x.us, x.arm, x.round,
                   x.block_id, x.solution_index, x.solution_id, x.gflops
            FROM run_job AS r JOIN job AS j ON j.job_id = r.job_id AND j.kind = '{kind}'
            JOIN measurement AS x ON x.job_id = j.job_id JOIN problem AS p ON p.problem_id = x.problem_id
            WHERE r.run_id = '{run_id}' AND x.outcome = 'ok' AND x.winner_echo IS NOT TRUE {more}""",
    )


@pytest.fixture(scope="module")
def baseline(pointed: Searched) -> dict[Key, float]:
    times = defaultdict(list)
    for row in raw(pointed.db, pointed.result.run_id, "baseline"):
        times[key_of(row)].append(row["us"])
    return {key: statistics.median(values) for key, values in times.items()}


@pytest.fixture(scope="module")
def share(calls: dict[Key, int], baseline: dict[Key, float]) -> dict[Key, float]:
    total = sum(calls[key] * us for key, us in baseline.items())
    return {key: 100 * calls[key] * us / total for key, us in baseline.items()}


def test_summary(
    pointed: Searched, calls: dict[Key, int], baseline: dict[Key, float], share: dict[Key, float]
) -> None:
    rows = pointed.rows("summary.csv")
    assert [name for name in rows[0] if name in SUMMARY] == SUMMARY
    assert {key_of(row) for row in rows} == set(baseline)
    for row in rows:
        key = key_of(row)
        assert float(row["us"]) == baseline[key] and int(row["call_count"]) == calls[key]
        assert float(row["total (us)"]) == pytest.approx(calls[key] * baseline[key], rel=1e-12)
        assert float(row["% of total"]) == pytest.approx(share[key], rel=1e-12)
        assert row["compute_type"] == "f32_r" and row["lib_source"] == "Equality"
    totals = [float(row["total (us)"]) for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert sum(float(row["% of total"]) for row in rows) == pytest.approx(100, rel=1e-12)


def test_gemms(pointed: Searched, calls: dict[Key, int], share: dict[Key, float]) -> None:
    rows = pointed.rows("gemms.csv")
    assert list(rows[0]) == GEMMS
    assert [key_of(row) for row in rows] == [key for key in calls if share.get(key, 0) >= 0.1]


def test_winners(pointed: Searched, share: dict[Key, float]) -> None:
    times: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    index = {}
    for row in raw(pointed.db, pointed.result.run_id, "screen"):
        if row["solution_id"] is not None:
            times[key_of(row)][row["solution_id"]].append(row["us"])
            index[row["solution_id"]] = row["solution_index"]
    rows = pointed.rows("winners.csv")
    assert [name for name in rows[0] if name in WINNERS] == WINNERS
    assert {key_of(row) for row in rows} == {key for key in share if share[key] >= 0.1}
    for row in rows:
        medians = {solution: statistics.median(us) for solution, us in times[key_of(row)].items()}
        assert len(medians) > 1, "a dense search has candidates"
        assert float(row["us"]) == min(medians.values())
        best = {index[solution] for solution, us in medians.items() if us == min(medians.values())}
        assert int(row["solutionIdx"]) in best


def test_results(pointed: Searched, calls: dict[Key, int], share: dict[Key, float]) -> None:
    pairs: dict[Key, dict[tuple[str, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in raw(pointed.db, pointed.result.run_id, "compare"):
        pairs[key_of(row)][row["block_id"], row["round"]][row["arm"]] = row["us"]
    rows = pointed.rows("results/raw_results.csv")
    assert [name for name in rows[0] if name in RESULTS] == RESULTS
    assert {key_of(row) for row in rows} == set(pairs)
    for row in rows:
        key = key_of(row)
        both = [(pair["reference"], pair["tuned"]) for pair in pairs[key].values()]
        assert int(row["n_pairs"]) == len(both) == 4
        ratio = math.exp(statistics.median(math.log(one / two) for one, two in both))
        slow, fast = (statistics.median(column) for column in zip(*both, strict=True))
        assert float(row["us_reference"]) == pytest.approx(slow, rel=1e-12)
        assert float(row["us_tuned"]) == pytest.approx(fast, rel=1e-12)
        assert float(row["ratio"]) == pytest.approx(ratio, rel=1e-9)
        assert float(row["uplift_pct"]) == pytest.approx(100 * (ratio - 1), rel=1e-9, abs=1e-9)
        assert float(row["us_saved"]) == pytest.approx(slow - fast, rel=1e-9, abs=1e-9)
        assert float(row["weighted_us_saved"]) == pytest.approx(
            calls[key] * (slow - fast), rel=1e-9, abs=1e-6
        )
        assert float(row["pct_of_total"]) == pytest.approx(share[key], rel=1e-12)
        contribution = share[key] * (1 - 1 / ratio)
        assert float(row["weighted_uplift_contribution_pct"]) == pytest.approx(
            contribution, rel=1e-9, abs=1e-9
        )
        flop = 2.0 * key[2] * key[3] * key[4] * key[5]
        assert float(row["hipblaslt-Gflops_tuned"]) == pytest.approx(flop / fast / 1e3, rel=1e-9)
        m, n, k = key[2], key[3], key[5]
        assert float(row["arith_intensity"]) == pytest.approx(
            2 * m * n * k / (2 * (m * k + k * n + m * n)), rel=1e-9
        )
        assert row["kernel_changed"] == str(row["kernel_reference"] != row["kernel_tuned"]).lower()
        tile = re.search(r"_MT(\d+x\d+x\d+)", row["kernel_tuned"])
        assert tile is not None and row["MT_tuned"] == tile[1]


def test_kept_follow_from_the_results(pointed: Searched) -> None:
    results = pointed.rows("results/raw_results.csv")
    kept = [
        key_of(row)
        for row in results
        if row["kernel_changed"] == "true" and float(row["ratio"]) >= 1.03 and row["valid"] == "true"
        and row["verified"] == "true"
    ]  # fmt: skip
    final = pointed.rows("results/final_results.csv")
    assert [key_of(row) for row in final] == kept and kept
    assert {"valid", "winner", "class"}.isdisjoint(final[0])
    assert [key_of(row) for row in pointed.rows("results/dashboard_data.csv")] == kept
    assert {row["class"] for row in results if key_of(row) in kept} == {"kept"}
    assert "kept" not in {row["class"] for row in results if key_of(row) not in kept}


def test_metrics(pointed: Searched) -> None:
    metrics = json.loads((pointed.out / "results/metrics.json").read_text(encoding="utf-8"))
    rows = pointed.rows("results/raw_results.csv")
    ratios = [float(row["ratio"]) for row in rows if row["valid"] == "true"]
    kept = [row for row in rows if row["class"] == "kept"]
    counts = metrics["counts"]
    assert counts["n_attempted"] == len(rows) and counts["n_kept"] == len(kept)
    assert counts["n_improved"] == sum(ratio > 1 for ratio in ratios)
    assert counts["n_regressed"] == sum(ratio < 1 for ratio in ratios)
    for edge in (1, 3, 5, 10, 25, 50, 100):
        expected = sum((ratio - 1) * 100 >= edge for ratio in ratios)
        assert counts["improved_cumulative"][f"ge_{edge}_pct"] == expected
    assert sum(counts["improved_in_ranges"].values()) == counts["n_improved"]
    uplifts = [(ratio - 1) * 100 for ratio in ratios]
    every = metrics["uplift_all_attempted"]
    assert every["mean_uplift_pct"] == pytest.approx(statistics.fmean(uplifts), rel=1e-9)
    assert every["median_uplift_pct"] == pytest.approx(statistics.median(uplifts), rel=1e-9)
    assert every["std_uplift_pct"] == pytest.approx(statistics.pstdev(uplifts), rel=1e-9)
    geometric = (math.exp(statistics.fmean(map(math.log, ratios))) - 1) * 100
    assert every["geomean_uplift_pct"] == pytest.approx(geometric, rel=1e-9)
    whole = metrics["e2e"]
    saved = sum(float(row["pct_of_total"]) * (1 - 1 / float(row["ratio"])) for row in kept)
    assert whole["e2e_uplift_pct"] == pytest.approx(saved, rel=1e-9)
    assert whole["e2e_speedup"] == pytest.approx(1 / (1 - saved / 100), rel=1e-9)
    assert whole["coverage_pct"] == pytest.approx(sum(float(row["pct_of_total"]) for row in kept), rel=1e-9)
    microseconds = sum(
        int(row["call_count"]) * (float(row["us_reference"]) - float(row["us_tuned"])) for row in kept
    )
    assert whole["e2e_us_saved_per_iter"] == pytest.approx(microseconds, rel=1e-9)
    assert metrics["diversity"]["n_unique_winning_kernels"] == len({row["solution_tuned"] for row in kept})
    assert sum(part["n"] for part in metrics["per_dtype_layout"].values()) == len(kept)
