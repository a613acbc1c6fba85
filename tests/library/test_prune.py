"""The greedy cover."""

from __future__ import annotations

import polars as pl
import pytest
from logic_samples import lib, list_form, solution

from geko.errors import InputError
from geko.library.prune import gemm_tolerance, greedy_cover, prune_measured

SIZES = [[4096, 4096, 1, 512 * (n + 1)] for n in range(4)]


def measured(table: list[list[float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"m": m, "n": n, "batch_count": b, "k": k, "local_index": index, "gflops": gflops}
            for (m, n, b, k), row in zip(SIZES, table, strict=True)
            for index, gflops in enumerate(row)
        ]
    )


def test_tolerance_grows_for_small_gemms() -> None:
    assert gemm_tolerance(2e9, 0.02) == 0.02
    assert gemm_tolerance(2e8, 0.02) == pytest.approx(0.02 * (1 + 1.5 * 9 / 18))
    assert gemm_tolerance(1.0, 0.02) == pytest.approx(0.05)
    assert gemm_tolerance(1.0, 0.1) == pytest.approx(0.13)
    assert gemm_tolerance(1.0, 0.02, scale_tol=False) == 0.02
    assert gemm_tolerance(0.0, 0.02) == pytest.approx(0.05)


def test_greedy_cover() -> None:
    assert greedy_cover({0: {0, 1}, 1: {1, 2, 3}, 2: {0}}, {0, 1, 2, 3}) == [0, 1]
    with pytest.raises(InputError, match="no measured solution"):
        greedy_cover({0: {0}}, {0, 1})


def test_prune_keeps_one_solution_within_the_tolerance() -> None:
    same = {"MacroTile0": 64, "MacroTile1": 64}
    data = list_form(
        0,
        [[size, [n % 3, 1.0]] for n, size in enumerate(SIZES)],
        solutions=[solution(n, **same) for n in range(3)],
    )
    frame = measured([[100, 99, 50], [100, 99, 50], [50, 100, 50], [50, 100, 99]])
    original = lib(data)
    pruned = prune_measured(original, frame)
    assert [own["KernelNameMin"] for own in pruned.solutions] == [data[5][1]["KernelNameMin"]]
    assert pruned.sizes == [
        [size, [0, gflops]] for size, gflops in zip(SIZES, (99, 99, 100, 100), strict=True)
    ]
    assert len(original.solutions) == 3
    assert prune_measured(original, frame.reverse()).dumps() == pruned.dumps()
    strict = prune_measured(original, frame, tol=0.001)
    assert len(strict.solutions) == 2


def test_clusters_are_covered_apart() -> None:
    data = list_form(2, [[size, [0, 1.0]] for size in SIZES])
    frame = measured([[100, 60]] * 4)
    assert len(prune_measured(lib(data), frame).solutions) == 1, (
        "sizes go to the best, the other cluster's is unused"
    )
    with pytest.raises(InputError, match="4 sizes were not measured"):
        prune_measured(lib(data), frame.with_columns(pl.col("m") + 1))
    with pytest.raises(InputError, match="not in the library"):
        prune_measured(lib(data), frame.with_columns(local_index=pl.lit(9)))
