"""What every runner has to keep, over all implementations."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tune_support import config, make_bench

from geko.runners.base import MEASUREMENTS, VALIDATIONS, RunContext, Runner
from geko.runners.hipblaslt_bench import HipblasltBenchRunner
from geko.runners.replay import ReplayRunner, Stored
from geko.runners.tensilelite import TensileliteRunner
from geko.simulator import make_root
from geko.warehouse import Scratch
from geko.warehouse.queue import Claim, JobResult

SIZES = (256, 512, 1024)


@dataclass
class Case:
    """A runner, its context, and what makes claims for it."""

    runner: Runner
    context: RunContext
    claim: Callable[..., Claim]
    simulated: bool = False
    kind: str = "baseline"

    def usual(self, number: int) -> Claim:
        """One of three usual claims."""
        return self.claim(number) if self.kind == "tune" else self.claim(row(SIZES[number]))


def row(m: int, **more: Any) -> dict[str, Any]:
    base = {
        "M": m, "N": 512, "K": 1024, "batch_count": 1, "transA": "T", "transB": "N", "a_type": "bf16_r",
        "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r", "iters": 5,
        "cold_iters": 2, "use_gpu_timer": True, "print_kernel_info": True, "initialization": "trig_float",
    }  # fmt: skip
    return {**base, **more}


def make_claims(root: Path) -> Callable[..., Claim]:
    def make(*rows: dict[str, Any], kind: str = "baseline", **spec: Any) -> Claim:
        number = str(uuid.uuid4())
        content = {
            "harness": "hipblaslt-bench", "root": str(root), "rows": list(rows), "rounds": 1, "env": {},
            "problem_ids": [str(uuid.uuid5(uuid.NAMESPACE_OID, str(item["M"]))) for item in rows],
            "arms": [{"name": None, "library_id": str(uuid.UUID(int=1)), "libpath": None}], **spec,
        }  # fmt: skip
        return Claim(number, 1, number, kind, "batch", 30.0, json.dumps(content))

    return make


@pytest.fixture(scope="module")
def simulated_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("simulated") / "hipblaslt", arch="gfx942", devices=2)


BENCH = ["hipblaslt-bench", "simulated", "replay", "replay-simulated"]
DUCTILE = {"pop_size": 8, "n_gen": 2}


@pytest.fixture(params=BENCH)
def case(request: pytest.FixtureRequest, standin: Any, simulated_root: Path, context: RunContext) -> Case:
    return make_case(request.param, standin, simulated_root, context)


@pytest.fixture(params=[*BENCH, "tensilelite", "ductile"])
def any_case(
    request: pytest.FixtureRequest, standin: Any, simulated_root: Path, context: RunContext, tmp_path: Path
) -> Case:
    """Every runner there is."""
    if request.param in BENCH:
        return make_case(request.param, standin, simulated_root, context)
    bench = make_bench(simulated_root, tmp_path)

    def claim(number: int, kind: str = "tune") -> Claim:
        size = (SIZES[number], 512, 1, 1024)
        text = config(sizes=(size,), ductile=DUCTILE if request.param == "ductile" else None, depths=(32,))
        return bench.claim(text, sizes=(size,), name=f"c_{number}", kind=kind)

    return Case(TensileliteRunner(), bench.context(), claim, True, "tune")


def make_case(name: str, standin: Any, simulated_root: Path, context: RunContext) -> Case:
    simulated = "simulated" in name
    context = replace(context, simulated=simulated)
    root = simulated_root if simulated else standin.root
    live = HipblasltBenchRunner()
    if "replay" not in name:
        return Case(live, context, make_claims(root), simulated)

    def recorded(claim: Claim) -> Stored | None:
        if claim.kind == "nothing-stored":
            return None
        (result,) = live.run([claim], replace(context, stop=type(context.stop)()))
        return Stored(
            "ok" if result.exit_code == 0 else result.outcome, result.output or "", result.exit_code,
            result.message, result.command or "", result.started_at,
        )  # fmt: skip

    return Case(ReplayRunner(recorded), context, make_claims(root), simulated)


def test_it_is_a_runner(any_case: Case) -> None:
    assert isinstance(any_case.runner, Runner)
    assert any_case.kind in any_case.runner.kinds


def test_every_claim_is_answered_once_in_order(any_case: Case) -> None:
    claims = [any_case.usual(number) for number in range(3)]
    results = any_case.runner.run(claims, any_case.context)
    assert [(r.job_id, r.attempt, r.token) for r in results] == [
        (c.job_id, c.attempt, c.token) for c in claims
    ]
    assert [r.outcome for r in results] == ["ok"] * 3
    assert {(r.runner, r.device_id) for r in results} == {
        (any_case.context.runner, any_case.context.device_id)
    }
    for result, claim in zip(results, claims, strict=True):
        _well_formed(result, any_case)
        assert result.measurements is not None and result.output
        rows = result.measurements.to_pylist()
        assert {item["problem_id"] for item in rows} == set(json.loads(claim.spec)["problem_ids"])
        assert all(item["us"] > 0 and item["solution_id"] and item["iters"] for item in rows)


def test_a_baseline_is_one_measurement(case: Case) -> None:
    assert {"baseline", "screen", "compare", "verify"} <= set(case.runner.kinds)
    claims = [case.claim(row(m)) for m in SIZES]
    for result in case.runner.run(claims, case.context):
        assert result.measurements is not None
        (measured,) = result.measurements.to_pylist()
        assert (measured["outcome"], measured["iters"]) == ("ok", 5)


def test_dense_search_gives_all_candidates(case: Case) -> None:
    claim = case.claim(row(512, requested_solution_num=-1, skip_slow_solution_ratio=0.6), kind="screen")
    (result,) = case.runner.run([claim], case.context)
    _well_formed(result, case)
    assert result.outcome == "ok" and result.message is None and result.measurements is not None
    rows = result.measurements.to_pylist()
    timed = [item for item in rows if item["outcome"] == "ok" and not item["winner_echo"]]
    (echo,) = [item for item in rows if item["winner_echo"]]
    assert len(timed) > 1 and echo["us"] == min(item["us"] for item in timed)
    assert len({item["rank"] for item in timed}) == len(timed)
    # Every solution that the program says it has is timed or skipped.
    said = re.search(r"Total solutions: (\d+)", result.output or "")
    assert said is not None
    assert len(timed) + sum(item["outcome"] == "skipped" for item in rows) == int(said[1])


def test_comparison_makes_pairs(case: Case, simulated_root: Path, tmp_path: Path) -> None:
    library = simulated_root / "build/release/Tensile/library/gfx942"
    reference = {"name": "reference", "library_id": str(uuid.UUID(int=1)), "libpath": None}
    tuned = {"name": "tuned", "library_id": str(uuid.UUID(int=2)), "libpath": str(library)}
    claim = case.claim(*(row(m) for m in SIZES), kind="compare", arms=[reference, tuned], rounds=2)
    (result,) = case.runner.run([claim], case.context)
    _well_formed(result, case)
    assert result.outcome == "ok" and result.measurements is not None
    rows = result.measurements.to_pylist()
    places = {(item["problem_id"], item["round"], item["arm"]) for item in rows}
    assert len(rows) == len(places) == 12
    assert len({item["block_id"] for item in rows}) == 1


def test_checks_are_validations(case: Case) -> None:
    check = {"norm_check": 1, "allclose_check": 1, "norm_check_assert": 0, "iters": 1, "cold_iters": 0}
    claims = [case.claim(row(m, **check), kind="verify", check=True) for m in SIZES]
    results = case.runner.run(claims, case.context)
    for result in results:
        _well_formed(result, case)
        assert result.outcome == "ok" and result.measurements is None and result.validations is not None
        (found,) = result.validations.to_pylist()
        assert found["outcome"] == "passed" and 0 <= found["norm_error"] < 0.1


def test_unknown_work_is_refused_not_raised(any_case: Case) -> None:
    broken = replace(any_case.usual(0), spec="{not json")
    strange = replace(any_case.usual(0), kind="paint")
    results = any_case.runner.run([any_case.usual(0), broken, strange], any_case.context)
    assert [r.outcome for r in results] == ["ok", "unsupported", "unsupported"]
    assert all(r.message for r in results[1:])


def test_a_root_that_is_not_there_is_an_outcome(any_case: Case, tmp_path: Path) -> None:
    if isinstance(any_case.runner, ReplayRunner):
        pytest.skip("stored outputs need no root")
    claim = any_case.usual(0)
    claim = replace(claim, spec=json.dumps(json.loads(claim.spec) | {"root": str(tmp_path / "nowhere")}))
    (result,) = any_case.runner.run([claim], any_case.context)
    assert result.outcome == "tool_missing" and "nowhere" in str(result.message)


def test_a_stopped_runner_gives_back(any_case: Case) -> None:
    any_case.context.stop.set()
    results = any_case.runner.run([any_case.usual(number) for number in range(3)], any_case.context)
    assert [r.outcome for r in results] == ["released"] * 3


def test_nothing_stored_is_lost(standin: Any, context: RunContext) -> None:
    claim = make_claims(standin.root)(row(256))
    (result,) = ReplayRunner(lambda claim: None).run([claim], context)
    assert result.outcome == "lost"


def _well_formed(result: JobResult, case: Case) -> None:
    """Rows fit their tables, and their ids are those of solutions in the book."""
    for table, schema in ((result.measurements, MEASUREMENTS), (result.validations, VALIDATIONS)):
        assert table is None or table.schema == schema
    known, _ = case.context.solutions.unstored()
    ids = set(known["solution_id"].to_pylist())
    for table in (result.measurements, result.validations):
        found = set() if table is None else set(table["solution_id"].drop_null().to_pylist())
        assert found <= ids


def test_rows_have_columns_of_their_tables() -> None:
    text = "SELECT column_name FROM information_schema.columns WHERE table_name = 'TABLE'"
    with Scratch() as scratch:
        for name, schema in (("measurement", MEASUREMENTS), ("validation", VALIDATIONS)):
            columns = scratch.sql(text.replace("TABLE", name))["column_name"].to_pylist()
            assert set(schema.names) <= set(columns)
