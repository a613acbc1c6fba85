"""The benchmark of the verdicts, scaled down: the rates that docs/verdicts.md claims, with a seed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from geko.warehouse.scratch import Scratch


@pytest.fixture(scope="module")
def bench_verdicts(repo_root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "bench_verdicts", repo_root / "benchmarks" / "bench_verdicts.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


N = 150


def test_nothing_to_gain(bench_verdicts: ModuleType, verdict_scratch: Scratch) -> None:
    quiet = bench_verdicts.play(verdict_scratch, bench_verdicts.Scenario("A/A", 0.01), N, 7)
    assert quiet.kept == 0
    assert quiet.rejected >= 0.95, "decided within the default budget"
    assert quiet.median_pairs <= 12
    # At most 0.5 % are expected to be kept; more than four of 150 would come of it in 1 of 1,000 seeds.
    noisy = bench_verdicts.play(
        verdict_scratch, bench_verdicts.Scenario("drift", 0.03, 30, screened=True, drift=True), N, 7
    )
    assert noisy.kept <= 4 / N
    assert noisy.kept + noisy.rejected + noisy.undecided == pytest.approx(1)
    assert noisy.point_kept > 0.1, "the same shapes, by the point rule"


def test_something_to_gain(bench_verdicts: ModuleType, verdict_scratch: Scratch) -> None:
    gain = bench_verdicts.play(verdict_scratch, bench_verdicts.Scenario("gain", 0.03, 4, 1.10), N, 7)
    assert gain.kept >= 0.9
    assert gain.median_pairs <= 12
    drifting = bench_verdicts.play(
        verdict_scratch, bench_verdicts.Scenario("gain", 0.01, 4, 1.05, drift=True), N, 7
    )
    assert drifting.kept >= 0.95


def test_the_search_loses_few_gains(bench_verdicts: ModuleType, verdict_scratch: Scratch) -> None:
    # By the four fastest of the search alone it is 0.81; 0.96 are expected.
    found = bench_verdicts.play(
        verdict_scratch, bench_verdicts.Scenario("1 of 300", 0.03, 300, 1.10, screened=True), N, 7
    )
    assert found.kept >= 0.9
    assert found.median_pairs <= 12
