"""hipblaslt-bench jobs against the stand-in: what is run, what is kept, what becomes of each failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from geko.domain.identity import content_id
from geko.domain.kernel_name import parse_name
from geko.runners.base import RunContext
from geko.runners.hipblaslt_bench import HipblasltBenchRunner
from geko.warehouse.queue import Claim, JobResult

DENSE = {"algo_method": 0, "requested_solution_num": -1, "skip_slow_solution_ratio": 0.6}
MakeClaim = Callable[..., Claim]


def row(m: int = 256, **more: Any) -> dict[str, Any]:
    base = {
        "M": m, "N": 128, "K": 512, "batch_count": 1, "transA": "T", "transB": "N", "a_type": "bf16_r",
        "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r",
        "compute_type": "c_f32_r", "rotating": 512,
        "iters": 20, "cold_iters": 5, "use_gpu_timer": True, "print_kernel_info": True,
    }  # fmt: skip
    return {**base, **more}


def run(context: RunContext, *claims: Claim) -> list[JobResult]:
    results = HipblasltBenchRunner().run(claims, context)
    assert [(r.job_id, r.attempt, r.token) for r in results] == [
        (c.job_id, c.attempt, c.token) for c in claims
    ]
    return results


def rows_of(result: JobResult) -> list[dict[str, Any]]:
    return [] if result.measurements is None else result.measurements.to_pylist()


def test_baselines_share_one_process(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    context = replace(
        context, env={**context.env, "HIPBLASLT_TENSILE_LIBPATH": "/other", "HIPBLASLT_LOG_MASK": "64"}
    )
    claims = [make_claim(row(m), env={"HIPBLASLT_BENCH_FREQ": "true"}) for m in (256, 512, 1024)]
    results = run(context, *claims)
    assert [r.outcome for r in results] == ["ok"] * 3
    (call,) = standin.calls()
    assert call["argv"][0] == "--yaml" and call["argv"][2:] == ["--device", "1"]
    # Variables of the user that would load another library or log every call don't reach the program.
    call["env"].pop("GEKO_TRACE_SQL", None)  # of the test suite itself
    assert call["env"] == {"HIPBLASLT_BENCH_FREQ": "true"}
    assert [item["M"] for item in yaml.safe_load(call["yaml"])] == [256, 512, 1024]
    for claim, result, m in zip(claims, results, (256, 512, 1024), strict=True):
        (measured,) = rows_of(result)
        assert measured["problem_id"] == f"p-{m}-0"
        assert measured["us"] == pytest.approx(20 + m / 1000)
        assert measured["outcome"] == "ok" and measured["solution_index"] == 700
        assert (measured["iters"], measured["cold_iters"], measured["library_id"]) == (20, 5, "lib-stock")
        assert measured["arm"] is None and measured["block_id"] is None
        # Each job keeps the banner and its own part of the output, and no other job's.
        assert result.output is not None
        assert result.output.startswith("hipBLASLt version: 100200\n")
        assert f",{m},128,512," in result.output and result.output.count("[0]:") == 1
        assert result.started_at is not None and claim.token == result.token
        assert result.command is not None and "--device 1" in result.command
    # Concatenated parts are the whole output: nothing is thrown away.
    assert sum(r.output.count("Is supported") for r in results if r.output) == 3
    assert not list(context.workdir.glob("*.yaml"))


def test_dense_search_keeps_every_candidate(context: RunContext, make_claim: MakeClaim) -> None:
    (result,) = run(context, make_claim(row(256, **DENSE), kind="screen"))
    assert result.outcome == "ok" and result.message is None
    found = rows_of(result)
    assert [(r["rank"], r["outcome"], bool(r["winner_echo"])) for r in found] == [
        (0, "ok", False), (1, "ok", False), (3, "ok", False), (3, "ok", True), (2, "skipped", None is True),
    ]  # fmt: skip
    skipped = found[-1]
    assert skipped["us"] is None and skipped["solution_index"] == 702
    assert '"warmup_us": 90' in skipped["extra"]
    name = "Cijk_Alik_Bljk_BBS_BH_UserArgs_MT64x64x32_MI16x16x1_ISA942_WG32_8_1_WGM1"
    assert found[0]["solution_id"] == content_id("solution", parse_name(name).canonical_json())
    solutions, names = context.solutions.unstored()
    assert solutions.num_rows == 3 and {r["mt0"] for r in solutions.to_pylist()} == {64, 128, 256}
    assert {(r["kind"]) for r in names.to_pylist()} == {"solution", "kernel"} and names.num_rows == 6


def test_single_candidate_prints_no_winner(context: RunContext, make_claim: MakeClaim) -> None:
    claims = [
        make_claim(row(256, **DENSE, K=64), kind="screen"),
        make_claim(row(512, **DENSE), kind="screen"),
    ]
    first, second = run(context, *claims)
    assert (first.outcome, second.outcome) == ("ok", "ok")
    assert len(rows_of(first)) == 1 and len(rows_of(second)) == 5


def test_no_solution_in_mid_batch(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    standin.rules({"do": "no_solution", "M": 512})
    results = run(context, *(make_claim(row(m)) for m in (256, 512, 1024)))
    assert [r.outcome for r in results] == ["ok", "no_solution", "ok"]
    (measured,) = rows_of(results[1])
    assert (
        measured["outcome"] == "no_solution"
        and measured["us"] is None
        and measured["problem_id"] == "p-512-0"
    )
    assert "NO solution found" in (results[1].message or "") and "NO solution found" in (
        results[1].output or ""
    )
    assert len(standin.calls()) == 1


def test_row_without_a_word_runs_again_alone(
    standin: Any, context: RunContext, make_claim: MakeClaim
) -> None:
    standin.rules({"do": "silent", "M": 512, "times": 1})
    results = run(context, *(make_claim(row(m)) for m in (256, 512, 1024)))
    assert [r.outcome for r in results] == ["ok", "ok", "ok"]
    assert len(standin.calls()) == 2
    standin.rules({"do": "silent", "M": 512})
    results = run(context, *(make_claim(row(m)) for m in (256, 512, 1024)))
    assert [r.outcome for r in results] == ["ok", "parse_error", "ok"]


def test_renamed_fp8_is_matched(context: RunContext, make_claim: MakeClaim) -> None:
    f8 = {"a_type": "f8_r", "b_type": "f8_r"}
    results = run(context, make_claim(row(256, **f8)), make_claim(row(512)))
    assert [r.outcome for r in results] == ["ok", "ok"]
    assert rows_of(results[0])[0]["us"] == pytest.approx(20.256)


def test_equal_rows_are_printed_once(context: RunContext, make_claim: MakeClaim) -> None:
    claims = [make_claim(row(256)), make_claim(row(256)), make_claim(row(512))]
    results = run(context, *claims)
    assert [r.outcome for r in results] == ["ok"] * 3
    assert [rows_of(r)[0]["us"] for r in results] == pytest.approx([20.256, 20.256, 20.512])
    assert rows_of(results[0])[0]["extra"].find("shared_with") == -1
    assert '"shared_with": "p-256-0"' in rows_of(results[1])[0]["extra"]


@pytest.mark.parametrize(
    ("do", "outcome"), [("crash", "crash"), ("memory_fault", "memory_fault"), ("truncate", "crash")]
)
def test_crash_in_mid_batch(
    standin: Any, context: RunContext, make_claim: MakeClaim, do: str, outcome: str
) -> None:
    standin.rules({"do": do, "M": 512})
    results = run(context, *(make_claim(row(m)) for m in (256, 512, 1024, 2048)))
    assert [r.outcome for r in results] == ["ok", outcome, "released", "released"]
    assert rows_of(results[0])[0]["us"] == pytest.approx(20.256)
    assert [r["outcome"] for r in rows_of(results[1])] == [outcome]
    assert results[1].exit_code in (134, 137, 139)
    assert results[2].measurements is None and "ended early" in (results[2].message or "")
    if do == "memory_fault":
        assert "MEMORY_APERTURE_VIOLATION" in (results[1].message or "")
    # The input of a failed process is kept for people.
    assert len(list(context.workdir.glob("*.yaml"))) == 1


def test_crash_in_a_dense_search_keeps_what_was_printed(
    standin: Any, context: RunContext, make_claim: MakeClaim
) -> None:
    standin.rules({"do": "crash", "M": 512})
    claims = [make_claim(row(m, **DENSE), kind="screen") for m in (256, 512, 1024)]
    results = run(context, *claims)
    assert [r.outcome for r in results] == ["ok", "crash", "released"]
    assert len(rows_of(results[0])) == 5
    assert [r["outcome"] for r in rows_of(results[1])] == ["ok", "crash"]


def test_hang_is_ended_by_stall_and_by_timeout(
    standin: Any, context: RunContext, make_claim: MakeClaim
) -> None:
    standin.rules({"do": "hang", "M": 512})
    start = time.monotonic()
    results = run(context, *(make_claim(row(m), stall_s=0.4) for m in (256, 512, 1024)))
    assert [r.outcome for r in results] == ["ok", "hang", "released"]
    results = run(context, *(make_claim(row(m), timeout_s=0.6) for m in (256, 512, 1024)))
    assert [r.outcome for r in results] == ["ok", "timeout", "released"]
    assert time.monotonic() - start < 10


def test_limit_counts_for_each_row_of_a_batch(
    standin: Any, context: RunContext, make_claim: MakeClaim
) -> None:
    standin.rules({"sleep": 0.3})
    results = run(context, *(make_claim(row(m), timeout_s=0.8) for m in (256, 512, 1024, 2048)))
    assert [r.outcome for r in results] == ["ok"] * 4


def test_garbage_in_a_dense_search(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    standin.rules({"do": "garbage", "M": 256})
    (result,) = run(context, make_claim(row(256, **DENSE), kind="screen"))
    assert result.outcome == "ok" and result.message == "3 of 4 candidates could be read"


def test_refused_input_finds_the_culprit(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    claims = [make_claim(row(256)), make_claim(row(512, initialization="nonsense")), make_claim(row(1024))]
    results = run(context, *claims)
    assert [r.outcome for r in results] == ["ok", "unsupported", "ok"]
    assert "Undefined value" in (results[1].message or "")


def test_stop_releases_within_seconds(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    standin.rules({"do": "hang", "M": 512})
    threading.Timer(0.5, context.stop.set).start()
    start = time.monotonic()
    results = run(context, *(make_claim(row(m)) for m in (256, 512, 1024)))
    assert time.monotonic() - start < 3
    assert [r.outcome for r in results] == ["ok", "released", "released"]


def test_verify(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    standin.rules({"M": 512, "error": "0.73"}, {"M": 1024, "error": "nan"}, {"M": 2048, "do": "crash"})
    check = {"norm_check": 1, "allclose_check": 1, "norm_check_assert": 0}
    claims = [make_claim(row(m, **check), kind="verify", check=True) for m in (256, 512, 1024, 2048)]
    results = run(context, *claims)
    assert [r.outcome for r in results] == ["ok", "verify_failed", "verify_failed", "crash"]
    checks = [r.validations.to_pylist()[0] for r in results if r.validations is not None]
    assert [c["outcome"] for c in checks] == ["passed", "failed", "failed", "error"]
    assert checks[0]["norm_error"] == pytest.approx(2.4e-07) and checks[1]["norm_error"] == pytest.approx(
        0.73
    )
    assert checks[1]["atol"] == "failed" and checks[0]["solution_id"] is not None
    assert all(r.measurements is None for r in results)


ARMS = [
    {"name": "reference", "library_id": "lib-a", "libpath": None},
    {"name": "tuned", "library_id": "lib-b", "libpath": "LIB"},
]


def arms(tmp_path: Path) -> list[dict[str, Any]]:
    folder = tmp_path / "tuned" / "library" / "gfx942"
    folder.mkdir(parents=True, exist_ok=True)
    return [ARMS[0], {**ARMS[1], "libpath": str(tmp_path / "tuned")}]


def test_comparison_alternates_arms(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    claim = make_claim(row(256), row(512), kind="compare", arms=arms(tmp_path), rounds=3)
    (result,) = run(context, claim)
    assert result.outcome == "ok" and result.message is None
    found = rows_of(result)
    assert len(found) == 12
    assert [(r["round"], r["arm"]) for r in found[::2]] == [
        (0, "reference"), (0, "tuned"), (1, "tuned"), (1, "reference"), (2, "reference"), (2, "tuned"),
    ]  # fmt: skip
    assert {r["block_id"] for r in found} == {content_id("block", claim.token)}
    libraries = [call["env"].get("HIPBLASLT_TENSILE_LIBPATH") for call in standin.calls()]
    tuned = str(tmp_path / "tuned/library/gfx942")
    assert libraries == [None, tuned, tuned, None, None, tuned]
    assert {(r["arm"], r["library_id"]) for r in found} == {("reference", "lib-a"), ("tuned", "lib-b")}
    by_arm = {r["arm"]: r["us"] for r in found if r["problem_id"] == "p-512-1"}
    assert by_arm["tuned"] == pytest.approx(by_arm["reference"] * 0.9, rel=1e-3)
    assert (result.output or "").count("# GEKO: round") == 6


def test_comparison_goes_on_without_a_row_that_crashes(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    standin.rules({"do": "crash", "M": 512, "lib": "tuned"})
    claim = make_claim(row(256), row(512), row(1024), kind="compare", arms=arms(tmp_path), rounds=2)
    (result,) = run(context, claim)
    assert result.outcome == "ok" and result.message == "1 of 3 problems have no result: crash"
    found = rows_of(result)
    assert [r["outcome"] for r in found if r["problem_id"] == "p-512-1"] == ["ok", "crash"]
    for problem in ("p-256-0", "p-1024-2"):
        assert sorted((r["round"], r["arm"]) for r in found if r["problem_id"] == problem) == [
            (0, "reference"), (0, "tuned"), (1, "reference"), (1, "tuned"),
        ]  # fmt: skip


def test_comparison_tries_a_crash_once_more(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    standin.rules({"do": "crash", "M": 512, "lib": "tuned", "times": 1})
    claim = make_claim(row(256), row(512), kind="compare", arms=arms(tmp_path))
    (result,) = run(context, claim)
    assert result.outcome == "ok" and result.message is None
    assert [r["outcome"] for r in rows_of(result)] == ["ok"] * 4


def test_comparison_on_a_dead_device_ends(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    standin.rules({"do": "crash"})
    claim = make_claim(*(row(256 * n) for n in range(1, 9)), kind="compare", arms=arms(tmp_path), rounds=5)
    (result,) = run(context, claim)
    assert result.outcome == "crash" and len(standin.calls()) == 3


def test_comparison_has_one_limit_for_all_its_processes(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    standin.rules({"sleep": 0.25})
    claim = make_claim(row(256), kind="compare", arms=arms(tmp_path), rounds=50, timeout_s=1.2)
    (result,) = run(context, claim)
    assert result.outcome == "timeout"
    assert 2 <= sum(r["outcome"] == "ok" for r in rows_of(result)) < 10


def test_missing_program_blames_one_job(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    (standin.folder / "hipblaslt-bench").unlink()
    results = run(context, make_claim(row(256)), make_claim(row(512)))
    assert [r.outcome for r in results] == ["tool_missing", "released"]
    assert "hipblaslt-bench is not built" in (results[0].message or "")


def test_missing_library_is_not_replaced_by_another(
    standin: Any, context: RunContext, make_claim: MakeClaim, tmp_path: Path
) -> None:
    wrong = [{"name": None, "library_id": "x", "libpath": str(tmp_path / "nowhere")}]
    (result,) = run(context, make_claim(row(256), arms=wrong))
    assert result.outcome == "tool_missing" and "does not exist" in (result.message or "")
    assert not standin.calls()


def test_simulated_and_real_never_mix(standin: Any, context: RunContext, make_claim: MakeClaim) -> None:
    (standin.root / "simulator.json").write_text("{}")
    (result,) = run(context, make_claim(row(256)))
    assert result.outcome == "tool_missing" and "must not mix" in (result.message or "")
    claim = make_claim(row(256))
    (result,) = run(replace(context, simulated=True), claim)
    assert result.outcome == "ok"
    assert standin.calls()[0]["env"]["GEKO_SIM_NONCE"] == f"{claim.kind}:0:0"


def test_swizzled_row_reaches_the_client_in_its_names(
    standin: Any, context: RunContext, make_claim: MakeClaim
) -> None:
    run(context, make_claim(row(256, swizzleA=True, call_count=7, bias_type=None)))
    (sent,) = yaml.safe_load(standin.calls()[0]["yaml"])
    assert sent["swizzle_a"] is True and "swizzleA" not in sent
    assert "call_count" not in sent and "bias_type" not in sent
