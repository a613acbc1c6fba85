"""``search.configure``, and the arguments of ``bench.run`` and ``search.run`` that are checked before anything starts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from geko import bench, search
from geko.errors import InputError, MissingFileError, UsageError

GEMM = {
    "transA": "N", "transB": "N", "a_type": "f16_r", "b_type": "f16_r", "c_type": "f16_r", "d_type": "f16_r",
    "compute_type": "f32_r", "batch_count": 1,
}  # fmt: skip


def gemms(*sizes: tuple[int, int, int, float | None]) -> pl.DataFrame:
    return pl.DataFrame([{**GEMM, "m": m, "n": n, "k": k, "us": us} for m, n, k, us in sizes])


def test_iterations_fill_the_duration_and_every_solution_is_asked_for() -> None:
    (row,) = search.configure(gemms((1024, 1024, 1024, 125.5)), duration=0.04)
    assert (row["iters"], row["cold_iters"]) == (319, 319)
    assert (row["algo_method"], row["requested_solution_num"], row["rotating"]) == (0, -1, 512)
    assert (row["M"], row["compute_type"], row["beta"], row["flush"]) == (1024, "c_f32_r", 0.0, False)


@pytest.mark.parametrize(
    ("size", "ratio"),
    [
        ((64, 64, 64, 20.0), 0.3),
        ((64, 64, 64, 20.1), 0.6),
        ((4096, 4096, 2048, None), 0.6),
        ((4096, 4096, 1024, None), 0.3),
    ],
)
def test_short_gemms_skip_later(size: tuple[int, int, int, float | None], ratio: float) -> None:
    assert search.configure(gemms(size))[0]["skip_slow_solution_ratio"] == ratio


def test_equal_gemms_are_searched_once_in_order_of_appearance() -> None:
    rows = search.configure(gemms((8, 8, 8, 30.0), (16, 8, 8, None), (8, 8, 8, 50.0)), beta=True)
    assert [(row["M"], row["iters"], row["beta"]) for row in rows] == [(8, 1334, 1.0), (16, 100, 1.0)]
    with pytest.raises(InputError, match="No GEMM operations found"):
        search.configure([])


def test_bench_run_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="Benchmark file does not exist"):
        bench.run(tmp_path, tmp_path / "none.yaml", tmp_path / "x.out")
    (tmp_path / "empty.yaml").write_text("[]\n")
    with pytest.raises(InputError, match="must be a non-empty YAML list"):
        bench.run(tmp_path, tmp_path / "empty.yaml", tmp_path / "x.out")
    (tmp_path / "bad.yaml").write_text("- {a: 1\n")
    with pytest.raises(InputError, match="no YAML"):
        bench.run(tmp_path, tmp_path / "bad.yaml", tmp_path / "x.out")


def test_search_run_without_work(tmp_path: Path) -> None:
    assert len(search.run(tmp_path, [], tmp_path)) == 0
    with pytest.raises(UsageError, match="max_chunk_size must be > 0, got 0"):
        search.run(tmp_path, [{}], tmp_path, max_chunk_size=0)


def test_compare_needs_libraries(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No valid libraries found"):
        bench.compare(tmp_path, tmp_path)
