"""The time model: what must hold of it, and what it gives on the example workload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from geko.simulator.config import Config
from geko.simulator.devices import DEVICES
from geko.simulator.library import Library
from geko.simulator.model import RESIDUAL_SIGMA, gauss, kernel_time, measured_us
from geko.simulator.problem import Arguments, candidates, read_rows, workspace_bytes

MI300X = DEVICES["gfx942"]


def args_of(m: int, n: int, k: int, **more: Any) -> Arguments:
    types = {f"{x}_type": "bf16_r" for x in "abcd"}
    given = {
        "M": m,
        "N": n,
        "K": k,
        "transA": "T",
        "transB": "N",
        **types,
        "rotating": 512,
        "use_gpu_timer": True,
    }
    return Arguments.of({**given, **more}, device_arch="gfx942")


@pytest.fixture(scope="module")
def library(sim_root: Path) -> Library:
    return Library.load(Config.load(sim_root).library)


@pytest.fixture
def solution(library: Library) -> dict[str, Any]:
    """The TN kernel with macro tile 256x128x64."""
    tables = [t for t in library.tables if t["problem_type"]["TransposeA"]]
    return next(s for s in tables[0]["solutions"] if "_MT256x128x64_" in s["SolutionNameMin"])


def test_no_kernel_beats_the_roofline(library: Library) -> None:
    for shape in (
        (8192, 8192, 8192),
        (4096, 16, 4096),
        (16, 4096, 28672),
        (1000, 1000, 1000),
        (128256, 1, 4096),
    ):
        args = args_of(*shape)
        bound = max(args.flops / (304 * 2048 * 2100e-3), args.moved_bytes / 5300.0) / 1e3
        for candidate in candidates(library.tables, args):
            assert kernel_time(MI300X, candidate, args).us > bound * (1 + RESIDUAL_SIGMA)


def test_large_gemm_reaches_a_plausible_share_of_the_peak(library: Library) -> None:
    args = args_of(8192, 8192, 8192)
    best = min(kernel_time(MI300X, s, args).us for s in candidates(library.tables, args))
    assert 0.45 < args.flops / (best * 1e-6) / 1307e12 < 0.70


def test_wave_quantisation(solution: dict[str, Any]) -> None:
    """One workgroup more than the CUs hold costs a whole round."""
    per_tile = [kernel_time(MI300X, solution, args_of(256 * tiles, 128 * 16, 8192)) for tiles in (19, 20)]
    assert (per_tile[0].tiles_per_cu, per_tile[0].cu) == (1.0, 1.0)
    assert per_tile[1].us > 1.6 * per_tile[0].us


def test_tile_quantisation(solution: dict[str, Any]) -> None:
    exact, padded = (kernel_time(MI300X, solution, args_of(m, 4096, 4096)) for m in (4096, 3841))
    assert padded.tile0 == pytest.approx(3841 / 4096)
    assert padded.us == pytest.approx(exact.us, rel=0.12)


def test_split_k_helps_a_long_k_and_needs_workspace(solution: dict[str, Any]) -> None:
    args = args_of(512, 512, 65536)
    split = {**solution, "GlobalSplitU": 16}
    assert kernel_time(MI300X, split, args).us < 0.4 * kernel_time(MI300X, solution, args).us
    assert workspace_bytes(split, args) == 512 * 512 * 4 * 16
    short = args_of(4096, 4096, 512)
    assert kernel_time(MI300X, split, short).us > kernel_time(MI300X, solution, short).us


def test_stream_k_fills_a_partial_wave(solution: dict[str, Any]) -> None:
    args = args_of(256 * 20, 128 * 16, 8192)
    stream = {**solution, "StreamK": 3, "GlobalSplitU": 0}
    assert kernel_time(MI300X, stream, args).us < 0.8 * kernel_time(MI300X, solution, args).us


def test_unaligned_loads_and_the_wall_clock_cost_time(library: Library, solution: dict[str, Any]) -> None:
    small = next(s for t in library.tables for s in t["solutions"] if "_Alik_Bljk_" in s["SolutionNameMin"])
    aligned, odd = (
        kernel_time(MI300X, small, args_of(4096, 4096, 4096, lda=x, ldb=x)).us for x in (4104, 4103)
    )
    assert odd > 1.1 * aligned
    gpu, wall = (
        kernel_time(MI300X, solution, args_of(512, 512, 512, use_gpu_timer=x)).us for x in (True, False)
    )
    assert wall == pytest.approx(gpu + 0.8, rel=0.02)


def test_warm_cache_without_rotating_buffers(library: Library) -> None:
    cold, warm = args_of(4096, 16, 4096), args_of(4096, 16, 4096, rotating=0)
    first = candidates(library.tables, cold)[0]
    assert kernel_time(MI300X, first, warm).us <= kernel_time(MI300X, first, cold).us


def test_noise(solution: dict[str, Any]) -> None:
    args = args_of(4096, 4096, 4096, iters=1000)
    draws = [
        measured_us(MI300X, 100.0, args, noise=0.01, drift=0.0, keys=(0, 0, nonce)) / 100.0
        for nonce in range(2000)
    ]
    mean = sum(draws) / len(draws)
    spread = (sum((x - mean) ** 2 for x in draws) / len(draws)) ** 0.5
    assert mean == pytest.approx(1.0, abs=0.002)
    assert spread == pytest.approx(0.01 * 1.1**0.5, rel=0.1)
    assert measured_us(MI300X, 100.0, args, noise=0.0, drift=0.0, keys=(0,)) == 100.0
    assert gauss("a", 1) == gauss("a", 1) != gauss("a", 2)


def test_assertions_and_workspace_choose_candidates(library: Library) -> None:
    table = next(t for t in library.tables if t["problem_type"]["TransposeA"])
    whole = len(candidates([table], args_of(1000, 1000, 1000)))
    strict = {**table, "solutions": [{**s, "AssertFree0ElementMultiple": 16} for s in table["solutions"]]}
    assert len(candidates([strict], args_of(1000, 1000, 1000))) == 0
    assert len(candidates([strict], args_of(1008, 1000, 1000))) == whole
    split = {**table, "solutions": [{**s, "GlobalSplitU": 8} for s in table["solutions"]]}
    assert candidates([split], args_of(1024, 1024, 1024, workspace=1 << 20)) == []
    # Epilogues: bias types and scales that the problem type lacks.
    assert candidates([table], args_of(512, 512, 512, bias_vector=True, bias_type="bf16_r"))
    assert candidates([table], args_of(512, 512, 512, bias_vector=True, bias_type="f16_r")) == []
    assert candidates([table], args_of(512, 512, 512, scaleA=1)) == []
    assert candidates([table], args_of(512, 512, 512, compute_type="c_f32_fast_bf16_r")) == []
    assert candidates([table], args_of(512, 512, 512, transA="N")) == []


def workload(repo_root: Path) -> list[dict[str, Any]]:
    return read_rows(repo_root / "examples/workload.yaml")


def uplifts(rows: list[dict[str, Any]], library: Library, seed: int) -> list[float | None]:
    ratios: list[float | None] = []
    for row in rows:
        args = Arguments.of({**row, "rotating": 512, "use_gpu_timer": True}, device_arch="gfx942")
        times = [kernel_time(MI300X, s, args, seed).us for s in candidates(library.tables, args)]
        ratios.append(times[0] / min(times) if times else None)
    return ratios


def test_example_workload_has_every_verdict(repo_root: Path, library: Library) -> None:
    """Uplift, same kernel and no solution all come from the model, and another seed changes them."""
    rows = workload(repo_root)
    assert 25 <= len(rows) <= 30
    found = uplifts(rows, library, 0)
    served = [ratio for ratio in found if ratio is not None]
    assert 1 <= len(rows) - len(served) <= 3
    assert 0.3 <= sum(ratio >= 1.03 for ratio in served) / len(served) <= 0.65
    assert sum(ratio == 1.0 for ratio in served) >= 2
    other = uplifts(rows, library, 1)
    assert [x is None for x in other] == [x is None for x in found]
    assert [x is not None and x >= 1.03 for x in other] != [x is not None and x >= 1.03 for x in found]


def test_example_workload_form(repo_root: Path) -> None:
    text = (repo_root / "examples/workload.yaml").read_text()
    names = re.findall(
        r"\w+",
        """function M N K lda ldb ldc ldd stride_a stride_b stride_c stride_d alpha beta transA transB batch_count
        scaleA scaleB scaleC scaleD swizzleA swizzleB scaleAlpha_vector gradient use_e bias_vector bias_source a_type
        b_type c_type d_type scale_type bias_type aux_type compute_type algo_method solution_index activation_type
        flush any_stride rotating cold_iters iters call_count""",
    )
    rows = workload(repo_root)
    for line, row in zip(text.splitlines(), rows, strict=True):
        assert re.findall(r"(\w+): ", line) == names
        assert row["alpha"] == 1.0
        assert row["call_count"] > 0
    assert len(set(text.splitlines())) == len(rows)
    assert {(row["transA"], row["transB"]) for row in rows} == {("T", "N"), ("N", "N"), ("N", "T")}
    assert any(row["batch_count"] > 1 for row in rows)
    assert any(row["bias_vector"] for row in rows)
