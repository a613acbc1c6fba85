"""Work, traffic and shape classes."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geko import gemm_metrics as metrics
from geko.domain.dtypes import BY_TOKEN


def test_flops_and_bytes_of_a_known_gemm() -> None:
    m, n, k, batch = 16032, 109, 16384, 2
    assert metrics.flop_count(m, n, k, batch) == 2 * m * n * k * batch
    expected = batch * 2 * (m * k + k * n + m * n)
    assert metrics.bytes_moved(m, n, k, batch, "bf16_r", "bf16_r", "bf16_r") == expected
    assert metrics.arithmetic_intensity(m, n, k, "bf16_r") == pytest.approx(2 * 2 * m * n * k / expected)
    assert metrics.arithmetic_intensity(m, n, k, "bf16_r", batch_count=7) == pytest.approx(
        metrics.arithmetic_intensity(m, n, k, "bf16_r")
    )


def test_mixed_and_sub_byte_types() -> None:
    assert metrics.bytes_moved(4, 8, 16, 1, "f4_r", "f4_r", "bf16_r") == 4 * 16 / 2 + 8 * 16 / 2 + 4 * 8 * 2
    assert metrics.bytes_moved(4, 8, 16, 1, "f6_r", "f8_r", "f32_r") == 4 * 16 * 0.75 + 8 * 16 + 4 * 8 * 4
    assert math.isnan(metrics.bytes_moved(4, 8, 16, 1, "posit8"))
    assert math.isnan(metrics.arithmetic_intensity(4, 8, 16, "posit8"))


def test_scales_and_reading_c_are_traffic() -> None:
    plain = metrics.bytes_moved(4, 8, 40, 3, "f4_r", "f4_r", "bf16_r")
    assert metrics.bytes_moved(4, 8, 40, 3, "f4_r", "f4_r", "bf16_r", mx_block=32) == plain + 3 * 2 * (4 + 8)
    assert metrics.bytes_moved(4, 8, 40, 3, "f4_r", "f4_r", "bf16_r", reads_c=True) == plain + 3 * 4 * 8 * 2


@pytest.mark.parametrize(
    ("m", "n", "k", "batch", "label"),
    [
        (1, 1, 1, 8193, "Very large batch"), (1, 1, 1, 8192, "Large batch"), (1, 1, 1, 1025, "Large batch"),
        (1, 1, 1, 1024, "Medium batch"), (1, 1, 1, 129, "Medium batch"), (1, 1, 1, 128, "Small batch"),
        (1, 1, 1, 2, "Small batch"), (1, 1, 1, 1, "M=1"), (9000, 1, 1, 1, "N=1"), (2, 2, 1, 1, "K=1"),
        (8193, 8193, 8193, 1, "Very Large GEMMs"), (8192, 8193, 8193, 1, "Large N and K"),
        (8193, 2, 8193, 1, "Large M and K"), (8193, 8193, 8192, 1, "Large M and N"),
        (8193, 128, 128, 1, "Large M, very small N and K"), (8193, 129, 128, 1, "Large M, smaller N and K"),
        (128, 8193, 2, 1, "Large N, very small M and K"), (128, 8193, 129, 1, "Large N, smaller M and K"),
        (128, 128, 8193, 1, "Large K, very small M and N"),
        (16032 // 4, 109, 16384, 1, "Large K, smaller M and N"),
        (1024, 1024, 1024, 1, "Small GEMMs"), (1025, 1024, 1024, 1, "Medium GEMMs"),
        (4096, 4096, 8192, 1, "Large GEMMs"), (4095, 4096, 8192, 1, "Medium GEMMs"),
    ],
)  # fmt: skip
def test_first_shape_class(m: int, n: int, k: int, batch: int, label: str) -> None:
    assert metrics.categorize(m, n, k, batch) == label


@pytest.mark.parametrize(
    ("m", "n", "k", "batch", "label"),
    [
        (2048, 2048, 4096, 1, "2"), (2048, 2048, 4096, 9, "2"), (2048, 2048, 4095, 1, "4"),
        (2048, 2049, 4096, 2, "3.1"), (3072, 32768, 3071, 1, "1.2"), (3072, 32768, 3008, 1, "1.1"),
        (32768, 3072, 64, 1, "1.1"), (3073, 32768, 3008, 1, "6"), (3072, 2048, 513, 1, "5"),
        (3071, 2048, 513, 1, "4"), (256, 256, 513, 1, "5"), (257, 256, 513, 1, "4"),
        (257, 256, 512, 1, "3.2"),
        (32, 32, 600, 1, "3.2"), (33, 32, 600, 1, "5"), (4096, 4096, 4096, 1, "6"),
        (4096, 4095, 4096, 1, "5"),
        (127, 200000, 4096, 1, "5"),
    ],
)  # fmt: skip
def test_second_shape_class(m: int, n: int, k: int, batch: int, label: str) -> None:
    assert metrics.categorize_2(m, n, k, batch) == label


_EDGES = (
    1, 2, 32, 33, 64, 127, 128, 129, 255, 256, 257, 512, 513, 1024, 1025, 2048, 3072, 3073, 4095, 4096, 8192,
    8193, 32768,
)  # fmt: skip
_SIZE = st.sampled_from(_EDGES) | st.integers(1, 70000)
_BATCH = st.sampled_from((1, 1, 1, 2, 128, 129, 1024, 1025, 8192, 8193))
_TYPE = st.sampled_from([*BY_TOKEN, "posit8"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_SIZE, _SIZE, _SIZE, _BATCH, _TYPE, _TYPE, _TYPE), min_size=1, max_size=40))
def test_expressions_agree_with_the_functions(rows: list[tuple[int, int, int, int, str, str, str]]) -> None:
    names = ("m", "n", "k", "batch_count", "a_type", "b_type", "c_type")
    # Int32 columns, as a log has them: products must not overflow
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("m", "n", "k").cast(pl.Int32))
    result = frame.select(
        metrics.flop_count_expr(),
        metrics.bytes_moved_expr(),
        metrics.arithmetic_intensity_expr(),
        metrics.categorize_expr(),
        metrics.categorize_2_expr(),
    )
    for row, got in zip(rows, result.iter_rows(named=True), strict=True):
        m, n, k, batch, a, b, c = row
        assert got["flops"] == metrics.flop_count(m, n, k, batch)
        assert got["bytes"] == pytest.approx(metrics.bytes_moved(m, n, k, batch, a, b, c), nan_ok=True)
        assert got["arithmetic_intensity"] == pytest.approx(
            metrics.arithmetic_intensity(m, n, k, a, b, c), nan_ok=True
        )
        assert got["category"] == metrics.categorize(m, n, k, batch)
        assert got["category_2"] == metrics.categorize_2(m, n, k, batch)


def test_expressions_take_other_column_names() -> None:
    frame = pl.DataFrame({"M": [2], "N": [3], "K": [5], "b": [7]})
    assert frame.select(metrics.flop_count_expr("M", "N", "K", "b")).item() == 2 * 2 * 3 * 5 * 7
    assert frame.select(metrics.categorize_expr("M", "N", "K", "b")).item() == "Small batch"
