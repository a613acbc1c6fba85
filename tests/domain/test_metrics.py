"""Work, traffic and shape classes."""

from __future__ import annotations

import math

import pytest

from geko import gemm_metrics as metrics


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
