"""The hipblaslt-bench runner against the faults of the simulator's programs."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geko.runners.base import RunContext
from geko.runners.hipblaslt_bench import HipblasltBenchRunner
from geko.simulator import make_root
from geko.warehouse.queue import Claim, JobResult

SIZES = (256, 512, 1024, 2048)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("simulated") / "hipblaslt", arch="gfx942", devices=2)


def run(root: Path, context: RunContext, faults: str, state: Path, **more: Any) -> list[JobResult]:
    claims = []
    for m in SIZES:
        row = {
            "M": m, "N": 512, "K": 1024, "transA": "T", "transB": "N", "a_type": "bf16_r", "b_type": "bf16_r",
            "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r", "iters": 5,
            "requested_solution_num": -1, "print_kernel_info": True, **more.get("row", {}),
        }  # fmt: skip
        number = str(uuid.uuid4())
        spec = {
            "harness": "hipblaslt-bench", "root": str(root), "rows": [row], "problem_ids": [f"p{m}"],
            "arms": [{"library_id": "x"}], "stall_s": 1.0, "check": more.get("check", False),
        }  # fmt: skip
        claims.append(Claim(number, 1, number, more.get("kind", "screen"), "b", 30.0, json.dumps(spec)))
    env = {**context.env, "GEKO_SIM_FAULTS": faults, "GEKO_SIM_STATE": str(state)}
    return HipblasltBenchRunner().run(claims, replace(context, simulated=True, env=env))


@pytest.mark.parametrize(
    ("faults", "outcomes"),
    [
        ("", ["ok", "ok", "ok", "ok"]),
        ("crash:M=512", ["ok", "crash", "released", "released"]),
        ("crash:M=256,after=0", ["crash", "released", "released", "released"]),
        ("memory_fault:M=1024", ["ok", "ok", "memory_fault", "released"]),
        ("hang:M=2048", ["ok", "ok", "ok", "hang"]),
        ("truncate:M=512", ["ok", "crash", "released", "released"]),
        ("no_solution:M=512", ["ok", "no_solution", "ok", "ok"]),
        ("no_solution:M=512;no_solution:M=2048", ["ok", "no_solution", "ok", "no_solution"]),
        ("garbage:M=512", ["ok", "ok", "ok", "ok"]),
        ("exit:M=1024,code=7", ["ok", "ok", "crash", "released"]),
        ("lost_device", ["crash", "released", "released", "released"]),
    ],
)
def test_outcomes(root: Path, context: RunContext, tmp_path: Path, faults: str, outcomes: list[str]) -> None:
    results = run(root, context, faults, tmp_path / "state")
    assert [r.outcome for r in results] == outcomes
    for result in results:
        if result.outcome == "released":
            assert result.measurements is None
            continue
        assert result.measurements is not None
        found = result.measurements.to_pylist()
        assert all(item["us"] > 0 for item in found if item["outcome"] == "ok")
        if result.outcome != "ok":
            assert found[-1]["outcome"] == result.outcome and result.message
    if faults.startswith("garbage"):
        assert "candidates could be read" in (results[1].message or "")


def test_wrong_results_fail_their_check(root: Path, context: RunContext, tmp_path: Path) -> None:
    check = {"norm_check": 1, "allclose_check": 1, "iters": 1, "requested_solution_num": 1}
    results = run(root, context, "wrong:M=512", tmp_path / "s", row=check, check=True, kind="verify")
    assert [r.outcome for r in results] == ["ok", "verify_failed", "ok", "ok"]
    checks = [r.validations.to_pylist()[0]["outcome"] for r in results if r.validations is not None]
    assert checks == ["passed", "failed", "passed", "passed"]


def test_times_do_not_depend_on_the_attempt(root: Path, context: RunContext, tmp_path: Path) -> None:
    first, second = (run(root, context, "", tmp_path / "s") for _ in range(2))
    times = [
        [item["us"] for item in r.measurements.to_pylist() if item["us"]]
        for r in (first[0], second[0])
        if r.measurements is not None
    ]
    assert len(times) == 2 and times[0] and times[0] == times[1]
