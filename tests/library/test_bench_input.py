"""Bench files made from libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from logic_samples import lib, list_form

from geko.errors import InputError, UsageError
from geko.library.bench_input import bench_rows
from geko.library.problem_type import gemm_types


def rows(data: Any, **options: Any) -> list[dict[str, Any]]:
    return bench_rows(lib(data), **options)


def test_row_of_a_plain_size() -> None:
    data = list_form(1, [[[4096, 2048, 2, 1024], [0, 500_000.0]]])
    assert rows(data, duration=1.0) == [
        {
            "function": "matmul",
            "M": 4096,
            "N": 2048,
            "K": 1024,
            "batch_count": 2,
            "alpha": 1.0,
            "beta": 0.0,
            "transA": "T",
            "transB": "N",
            "a_type": "bf16_r",
            "b_type": "bf16_r",
            "c_type": "bf16_r",
            "d_type": "bf16_r",
            "compute_type": "c_f32_r",
            "scale_type": "f32_r",
            "initialization": "trig_float",
            "rotating": 512,
            "flush": True,
            "use_gpu_timer": True,
            "print_kernel_info": True,
            # 2·4096·2048·2·1024 flop at 500 Tflop/s take 68.7 µs
            "iters": 14552,
            "cold_iters": 14552,
        }
    ]


def test_leading_dimensions_of_long_sizes() -> None:
    row = rows(list_form(1, [[[10, 20, 1, 30, 11, 12, 31, 32], [0, 0.0]]]))[0]
    assert [row[key] for key in ("ldd", "ldc", "lda", "ldb")] == [11, 12, 31, 32]


@pytest.mark.parametrize("efficiency", [0.0, 0, -1])
def test_unknown_efficiency_takes_the_iterations_given(efficiency: float) -> None:
    data = list_form(1, [[[10, 20, 1, 30], [0, efficiency]]])
    row = rows(data, iters=7, cold_iters=3)[0]
    assert (row["iters"], row["cold_iters"]) == (7, 3)


def test_no_iteration_count_leaks_into_the_next_row() -> None:
    data = list_form(2, [[[4096, 4096, 1, 4096], [0, 1e5]], [[8, 8, 1, 8], [1, 0.0]]])
    first, second = rows(data)
    assert first["iters"] != 100
    assert second["iters"] == 100


def test_other_metrics_are_not_taken_for_gflops() -> None:
    data = list_form(1, [[[10, 20, 1, 30], [0, 55.0]]])
    data[10] = "ExperimentalStreamK"
    assert rows(data)[0]["iters"] == 100


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"DataTypeA": 15, "DataTypeB": 16, "DataType": 15}, ("f8_r", "bf8_r", "bf16_r", "f32_r")),
        ({"DataType": 17, "DataTypeA": 17, "DataTypeB": 17}, ("f8_r", "bf8_r", "bf16_r", "f32_r")),
        ({"DataType": 11, "DataTypeA": 11, "DataTypeB": 11}, ("f8_fnuz_r", "f8_fnuz_r", "bf16_r", "f32_r")),
        (
            {"DataType": 0, "DataTypeA": 0, "DataTypeB": 0, "DestDataType": 0, "F32XdlMathOp": 10},
            ("f32_r", "f32_r", "f32_r", "xf32_r"),
        ),
        (
            {"DataType": 3, "DataTypeA": 3, "DataTypeB": 3, "DestDataType": 3, "ComputeDataType": 3},
            ("f64_c", "f64_c", "f64_c", "f64_r"),
        ),
        (
            {"DataType": 4, "DataTypeA": 4, "DataTypeB": 4, "DestDataType": 4, "ComputeDataType": None},
            ("f16_r", "f16_r", "f16_r", "f32_r"),
        ),
        (
            {"DataType": 8, "DataTypeA": None, "DataTypeB": None, "DestDataType": 6, "ComputeDataType": None},
            ("i8_r", "i8_r", "i32_r", "i32_r"),
        ),
    ],
)
def test_types(changes: dict[str, Any], want: tuple[str, ...]) -> None:
    types = gemm_types(lib().problem_type | changes)
    assert (types.a_type, types.b_type, types.c_type, types.compute_type) == want


def test_unknown_type_numbers_are_named() -> None:
    with pytest.raises(InputError, match="unknown Tensile DataType number"):
        gemm_types(lib().problem_type | {"DataType": 99})
    with pytest.raises(InputError, match="unknown ComputeDataType"):
        gemm_types(lib().problem_type | {"ComputeDataType": 99})


def test_block_scaled_types_get_their_scale_code() -> None:
    data = list_form(1, arch="gfx950")
    data[4] |= {"DataType": 21, "DataTypeA": 21, "DataTypeB": 21, "MXBlockA": 32, "MXBlockB": 32}
    row = rows(data)[0]
    assert (row["scaleA"], row["scaleB"]) == (1001, 1001)
    data[2] = "gfx1250"
    data[4] |= {"MXBlockA": 16, "DataTypeMXSA": 15}
    row = rows(data)[0]
    assert (row["scaleA"], row["scaleB"]) == (6, 3)


def test_transposes_swizzle_int8_and_beta() -> None:
    data = list_form(1)
    data[4] |= {
        "TransposeA": 0,
        "ComplexConjugateB": True,
        "SwizzleTensorA": True,
        "DataType": 8,
        "DataTypeA": 8,
    }
    data[4] |= {"DataTypeB": 8, "DestDataType": 8, "ComputeDataType": 6}
    row = rows(data, beta=True)[0]
    assert (row["transA"], row["transB"], row["swizzle_a"], row["beta"]) == ("N", "C", True, 1.0)
    assert row["initialization"] == "rand_int"
    assert row["compute_type"] == "c_i32_r"


def test_files(tmp_path: Path) -> None:
    bench, verify = lib().create_bench_input(tmp_path, verify=True, duration=2.0)
    assert verify is not None
    assert bench.name == "aquavanjaram_Cijk_Alik_Bljk_BBS_BH_UserArgs_bench.yaml"
    assert verify.name == "aquavanjaram_Cijk_Alik_Bljk_BBS_BH_UserArgs_verify.yaml"
    assert yaml.safe_load(bench.read_text()) == bench_rows(lib(), duration=2.0)
    assert len(bench.read_text().splitlines()) == 3
    for row in yaml.safe_load(verify.read_text()):
        assert (row["norm_check"], row["norm_check_assert"], row["allclose_check"]) == (1, 0, 1)
        assert (row["iters"], row["cold_iters"], row["print_kernel_info"]) == (1, 0, False)
        assert "flush" not in row
        assert "rotating" not in row
    assert lib().create_bench_input(tmp_path) == (bench, None)
    with pytest.raises(UsageError, match="initialization"):
        lib().create_bench_input(tmp_path, initialization="zero")
