"""hipblaslt-bench output as frames: names of columns, echoes, directories, errors, dashboard format."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl
import pytest

from geko.bench.utils import as_dashboard_format, parse_benchmark_output, parse_benchmark_output_dir
from geko.constants import GEMM_FIELDS, PERF_FIELDS
from geko.errors import InputError, MissingFileError

HEADER = (
    "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,"
    "b_type,c_type,d_type,compute_type{0},activation_type,bias_vector,avg-freq_0,hipblaslt-Gflops,hipblaslt-GB/s,us"
)


def block(us: float, rank: int = 0, scales: bool = True, end: str = "\n") -> str:
    header = HEADER.format(",scaleA,scaleB" if scales else "")
    cells = f"T,N,0,1,64,32,16,1,16,0,0,16,0,64,0,64,0,bf16_r,bf16_r,bf16_r,bf16_r,f32_r{',1,1' if scales else ''}"
    gflops = 2 * 64 * 32 * 16 / us / 1e3
    return (
        f"[{rank}]:{header}\n    {cells},none,0,2100,{gflops:g},1.5,{us:g}\n"
        f"    --Solution index: {rank + 40}\n    --Solution name:  S{rank}\n    --kernel name:    K{rank}{end}"
    )


def test_columns_have_the_printed_names(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text(block(12.5))
    frame = parse_benchmark_output(path)
    assert isinstance(frame, pl.DataFrame)
    row = frame.row(0, named=True)
    assert {*GEMM_FIELDS, *PERF_FIELDS} <= set(row)
    assert (row["us"], row["m"], row["grouped_gemm"], row["avg-freq_0"]) == (12.5, 64, 0, 2100.0)
    assert (row["kernel"], row["solution"], row["solutionIdx"], row["scaleA"]) == ("K0", "S0", "40", 1)


def test_missing_scales_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text(block(12.5, scales=False))
    assert parse_benchmark_output(path).select("scaleA", "scaleB").row(0) == (0, 0)


def test_winner_is_not_counted_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text(block(12) + block(11, 1) + "Winner: \n" + block(11, 1))
    assert parse_benchmark_output(path)["us"].to_list() == [12.0, 11.0]
    assert parse_benchmark_output(path, winner_echo=True)["us"].to_list() == [12.0, 11.0, 11.0]


def test_cut_output_gives_what_is_whole_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.out"
    path.write_text(block(12) + block(11, 1)[:-150])
    logging.getLogger("GEKO").propagate = True
    assert parse_benchmark_output(path)["us"].to_list() == [12.0]
    assert "cut off" in caplog.text


@pytest.mark.parametrize("text", ["", "hello\n", "error: NO solution found! at x:1\n"])
def test_no_result_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.out"
    path.write_text(text)
    with pytest.raises(ValueError, match="does not have the correct format"):
        parse_benchmark_output(path)


def test_incomplete_results_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text(
        "transA,transB,M,N,K,d_type,compute_type,hipblaslt-Gflops,us\nN,N,1,1,1,f32_r,f32_r,1,1\n"
    )
    with pytest.raises(InputError, match="not complete"):
        parse_benchmark_output(path)


def test_directory(tmp_path: Path) -> None:
    (tmp_path / "b_bench.out").write_text(block(2))
    (tmp_path / "a_bench.out").write_text(block(1, scales=False))
    (tmp_path / "a_bench.yaml").write_text("- {}\n")
    (tmp_path / "other.out").write_text("x")
    assert parse_benchmark_output_dir(tmp_path, "_bench")["us"].to_list() == [1.0, 2.0]
    with pytest.raises(MissingFileError):
        parse_benchmark_output_dir(tmp_path, "_none")
    with pytest.raises(FileNotFoundError):
        parse_benchmark_output_dir(tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        parse_benchmark_output(tmp_path / "absent.out")


def test_dashboard_format() -> None:
    frame = pl.DataFrame(
        {
            "m": [1], "us_reference": [2.0], "us_tuned": [1.0], "kernel_tuned": ["k"], "solutionIdx_tuned": ["7"],
            "kernel_reference": ["r"], "lib": ["a.yaml"], "ratio": [2.0], "error_tuned": [0.0],
        }
    )  # fmt: skip
    assert as_dashboard_format(frame).to_dicts() == [
        {"m": 1, "us": 1.0, "solution_name": "k", "solution_index": "7"}
    ]
