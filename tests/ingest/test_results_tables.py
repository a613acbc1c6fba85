"""Tables and logs of other tools: units, swapped sizes, types, outcomes, and what is kept of unknown columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.errors import InputError
from geko.ingest import ingest
from geko.ingest.formats import load
from geko.warehouse import Scratch, Warehouse

TN = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_ISA950_WGM8"
TN_OTHER = TN.replace("256x256x64", "128x128x64")
ROWS = """
SELECT p.*, m.* EXCLUDE (problem_id), s.name AS solution, t.harness, t.role, t.settings, e.* EXCLUDE (environment_id)
FROM measurement AS m JOIN problem AS p USING (problem_id) JOIN protocol AS t USING (protocol_id)
JOIN environment AS e USING (environment_id) LEFT JOIN solution AS s USING (solution_id)
ORDER BY t.harness, p.m, p.n, p.k, m.us
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with Warehouse.open(tmp_path / "w.duckdb") as opened:
        yield opened


def put(warehouse: Warehouse, folder: Path, text: str, name: str = "input.txt") -> Any:
    path = folder / name
    path.write_text(text)
    (report,) = ingest(warehouse, [path])
    return report


def rows(warehouse: Warehouse) -> list[dict[str, Any]]:
    return warehouse.sql(ROWS).read_all().to_pylist()


def wins(warehouse: Warehouse) -> list[float]:
    return warehouse.sql("SELECT us FROM timing ORDER BY us").read_all()["us"].to_pylist()


# TunableOp -----------------------------------------------------------------------------------------------------------

TUNABLE = """Validator,PT_VERSION,2.9.0
Validator,ROCM_VERSION,7.0.0
Validator,HIPBLASLT_VERSION,100000-976b9c4a87
Validator,GCN_ARCH_NAME,gfx950:sramecc+:xnack-
GemmTunableOp_BFloat16_TN,tn_640_128_320_ld_320_320_640,Gemm_Hipblaslt_617849,0.0125
GemmAndBiasTunableOp_Half_NN,nn_64_32_16,Gemm_Rocblas_-621296644,0.5
GemmStridedBatchedTunableOp_float_NT,nt_8_8_8_B_4_ld_16_8_8,Default,inf
ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_16_32_64_ld_64_64_16_rw_1_bias_None,Gemm_Hipblaslt_9,0.1
GemmTunableOp_tf32_NN,nn_4_4_4,1219,abc
this is no row
"""


def test_tunableop(warehouse: Warehouse, tmp_path: Path) -> None:
    report = put(warehouse, tmp_path, TUNABLE)
    assert (report.kind, report.n_rows, report.n_rejects) == ("tunableop", 5, 1)
    got = {row["m"]: row for row in rows(warehouse)}
    plain = got[640]
    assert (plain["n"], plain["k"], plain["trans_a"], plain["trans_b"]) == (
        128,
        320,
        "T",
        "N",
    )  # nothing swapped
    assert plain["us"] == pytest.approx(12.5)  # ms
    assert (plain["lda"], plain["ldb"], plain["ldc"]) == (None, None, None)  # packed
    assert (plain["a_type"], plain["solution_index"], plain["outcome"]) == ("bf16_r", 617849, "ok")
    assert (plain["gfx"], plain["hipblaslt_version"], plain["hipblaslt_git"]) == (
        "gfx950:sramecc+:xnack-", "100000", "976b9c4a87",
    )  # fmt: skip
    assert (plain["harness"], plain["role"]) == ("tunableop", "import")
    assert (got[64]["bias_type"], got[64]["solution_index"]) == ("f16_r", -621296644)
    assert (got[8]["batch"], got[8]["lda"], got[8]["outcome"]) == (4, 16, "unsupported")
    assert (got[16]["a_type"], got[16]["d_type"], got[16]["scale_a"]) == ("f8_r", "bf16_r", 2)
    assert (got[4]["a_type"], got[4]["compute_type"], got[4]["outcome"]) == ("f32_r", "xf32_r", "parse_error")
    assert json.loads(got[4]["extra"])["time"] == "abc"
    assert wins(warehouse) == pytest.approx([12.5, 100.0, 500.0])
    entries = (
        warehouse.sql("SELECT local_index FROM library_entry ORDER BY m")
        .read_all()["local_index"]
        .to_pylist()
    )
    assert entries == [1219, -1, 9, -621296644, 617849]


def test_untuned_tunableop_is_a_workload(warehouse: Warehouse, tmp_path: Path) -> None:
    line = "GemmTunableOp_float_NN,nn_64_32_16_ld_64_16_64\n"
    report = put(warehouse, tmp_path, line * 3 + line.replace("64_32", "65_32"))
    assert report.n_rows == 4
    counts = (
        warehouse.sql("SELECT call_count FROM workload_call ORDER BY 1").read_all()["call_count"].to_pylist()
    )
    assert counts == [1, 3]
    assert rows(warehouse) == []


# aiter ---------------------------------------------------------------------------------------------------------------

AITER = (
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw,new\n"
    "gfx950,256,64,256,5120,True,torch.bfloat16,torch.float32,False,True,asm,5,13,7.5,_ZN5aiterE,0.01,22.4,417.9,x\n"
    "gfx950,256,65,256,5120,False,torch.bfloat16,torch.bfloat16,True,False,hipblaslt,7,0,8.5,Cijk_A,0.2,20.0,1,\n"
    "gfx950,256,66,256,5120,False,torch.bfloat16,torch.bfloat16,False,False,triton,0,0,0.0,k,0.0,0.0,1,\n"
    "gfx950,256,67,256,5120,False\n"
)


def test_aiter_is_row_major_and_in_microseconds(warehouse: Warehouse, tmp_path: Path) -> None:
    report = put(warehouse, tmp_path, AITER)
    assert (report.kind, report.n_rows, report.n_rejects) == ("aiter", 3, 1)
    first, second, third = sorted(rows(warehouse), key=lambda row: row["n"])
    assert (first["m"], first["n"], first["k"], first["trans_a"], first["trans_b"]) == (
        256,
        64,
        5120,
        "T",
        "N",
    )
    assert (first["us"], first["gflops"], first["outcome"]) == (7.5, 22400.0, "ok")
    assert (first["a_type"], first["d_type"], first["bias_type"], first["swizzle_a"]) == (
        "bf16_r", "f32_r", "f32_r", True,
    )  # fmt: skip
    assert json.loads(first["extra"])["new"] == "x"
    assert (second["scale_a"], second["outcome"]) == (1, "verify_failed")
    assert third["outcome"] == "parse_error"
    assert wins(warehouse) == [7.5]
    checks = warehouse.sql("SELECT outcome, count(*) AS n FROM validation GROUP BY 1 ORDER BY 1").read_all()
    assert checks.to_pylist() == [{"outcome": "failed", "n": 1}, {"outcome": "passed", "n": 2}]


def test_gradlib_is_in_milliseconds_and_names_the_weight_first(warehouse: Warehouse, tmp_path: Path) -> None:
    put(
        warehouse,
        tmp_path,
        "M,N,K,indtype,outdtype,libtype,solidx,soltimems\n1280,1,8192,f16,f16,hipblaslt,3,0.5\n",
    )
    (row,) = rows(warehouse)
    assert (row["m"], row["n"], row["us"], row["harness"]) == (1280, 1, 500.0, "gradlib")


def test_split_k_is_part_of_an_aiter_solution(warehouse: Warehouse, tmp_path: Path) -> None:
    head = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
    line = "gfx942,80,1,1280,8192,torch.int8,34,{0},20.5,a8w8_rowwise_x,1,2,0.0\n"
    put(warehouse, tmp_path, head + line.format(0) + line.format(2) + line.format(0))
    assert warehouse.sql("SELECT count(*) AS n FROM solution").read_all()["n"].to_pylist() == [2]
    assert {(row["a_type"], row["compute_type"], row["scale_a"]) for row in rows(warehouse)} == {
        ("i8_r", "i32_r", 2)
    }


def test_a_tuned_table_without_times_is_a_library(warehouse: Warehouse, tmp_path: Path) -> None:
    put(
        warehouse,
        tmp_path,
        "cu_num,M,N,K,kernelId,splitK,kernelName,errRatio\n256,8,16,32,45,0,f4_per1x32Fp4_x,0.0\n",
    )
    assert rows(warehouse) == []
    (entry,) = warehouse.sql("SELECT m, n, a_type, local_index FROM library_entry").read_all().to_pylist()
    assert entry == {"m": 16, "n": 8, "a_type": "f4_r", "local_index": 45}


def test_sizes_without_types_are_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    report = put(warehouse, tmp_path, "M,N,K\n1,2,3\n")
    assert report.state == "refused" and "dtype" in report.message


# Transformer Engine --------------------------------------------------------------------------------------------------


def test_transformer_engine(warehouse: Warehouse, tmp_path: Path) -> None:
    text = (
        "dev_cap,m,n,k,trans_a,trans_b,type_a,type_b,type_d,bias_type,aux_type,lda,ldb,ldd,scale_mode,epi,comp,"
        "scale_type,ws_min,ws_max,algo_id,aidx\n"
        "904,4096,8192,1024,T,N,float8e4m3,float8e4m3,bfloat16,-,-,1024,1024,4096,scalar,1,f32,float32,0,64,777,0\n"
        "904,4096,8192,1024,T,N,bfloat16,bfloat16,bfloat16,bfloat16,-,1024,1024,4096,-,36,f32,float32,0,64,778,1\n"
    )
    report = put(warehouse, tmp_path, text)
    assert (report.kind, report.n_rows) == ("transformer-engine", 2)
    problems = warehouse.sql("SELECT * FROM problem ORDER BY a_type").read_all().to_pylist()
    assert [(row["a_type"], row["bias_type"], row["activation"], row["scale_a"]) for row in problems] == [
        ("bf16_r", "bf16_r", "gelu", 0),
        ("f8_r", None, "none", 1),
    ]
    entries = warehouse.sql("SELECT local_index FROM library_entry ORDER BY 1").read_all()["local_index"]
    assert entries.to_pylist() == [777, 778]


# Tensile -------------------------------------------------------------------------------------------------------------


def tensile_csv() -> str:
    head = (
        "GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB, TotalFlops, TilesPerCu, TotalGranularity, WinnerGFlops,"
        f" WinnerTimeUS, WinnerIdx, WinnerName, {TN}, {TN_OTHER}\n"
    )
    flops = 2 * 512 * 256 * 128
    sizes = f"512, 256, 1, 128, 512, 512, 128, 128, {flops}, 0, -nan"
    return (
        f"{head}0, {sizes}, 2000, 16.7, 0, {TN}, 2000, 1000\n"
        f"1, {sizes}, 1500, 22.3, 1, {TN_OTHER}, -1, 1500\n"
        f"2, {sizes}, 900, 37.2, 5, {TN}_cut, nan, 0\n"
    )


def test_tensile_csv_has_a_result_per_kernel(warehouse: Warehouse, tmp_path: Path) -> None:
    report = put(warehouse, tmp_path, tensile_csv())
    assert (report.kind, report.n_rows) == ("tensile-csv", 7)
    got = rows(warehouse)
    assert {(row["m"], row["n"], row["batch"], row["k"], row["trans_a"], row["a_type"]) for row in got} == {
        (512, 256, 1, 128, "T", "bf16_r")
    }
    assert {row["gfx"] for row in got} == {"gfx950"}
    flops = 2 * 512 * 256 * 128
    ok = sorted((row["gflops"], row["us"]) for row in got if row["outcome"] == "ok")
    assert ok == [
        (900.0, 37.2),  # the winner whose own column is not in the file
        (1000.0, pytest.approx(flops / 1000 / 1e3)),
        (1500.0, 22.3),  # as printed
        (2000.0, 16.7),
    ]
    assert sum(row["outcome"] == "unsupported" for row in got) == 3


def log_row(
    solution: str = TN,
    validation: str = "PASSED",
    us: str = "20.5",
    gflops: str = "1636",
    bias: str = "Float",
) -> str:
    return (
        f'0,0/0,3/9,Contraction_l_Alik_Bljk_Cijk_Dijk,"(512,256,1,128)",{bias},0,None,{solution},{validation},{us},{gflops},,'
        "0.9,3.2,256,1,1,0.8,1,322,629,,2100,,1900,,,2026-03-20 04:31:03.148678\n"
    )


def test_tensile_log(warehouse: Warehouse, tmp_path: Path) -> None:
    text = "#  Tensile v5.0.0\n# Detected GPU 0 with ISA: gfx950\n# Found hipcc version 7.2.5\n"
    text += log_row() + "noise\n" + log_row(validation="FAILED", us="1.0") + log_row(TN_OTHER, "NO_CHECK")
    text += log_row(TN_OTHER, us="-nan", gflops="-nan") + log_row(bias="BFloat16", us="21.5")
    text += log_row(TN_OTHER, "DID_NOT_SATISFY_ASSERTS") + log_row()[:90] + "\n"
    report = put(warehouse, tmp_path, text)
    assert (report.kind, report.n_rows, report.n_rejects) == ("tensile-log", 6, 1)
    got = rows(warehouse)
    outcomes = sorted(row["outcome"] for row in got)
    assert outcomes == ["not_checked", "ok", "ok", "parse_error", "unsupported", "verify_failed"]
    assert wins(warehouse) == [20.5, 21.5]
    assert {json.loads(row["settings"])["extra"]["bias_type"] for row in got} == {"Float", "BFloat16"}
    first = next(row for row in got if row["us"] == 20.5)
    assert (first["sclk_mhz"], first["mclk_mhz"], first["hip"]) == (2100.0, 1900.0, "7.2.5")
    assert str(first["measured_at"]).startswith("2026-03-20 04:31:03.148678")
    assert json.loads(first["extra"])["mem-read-bytes"] == "322"


def test_tensile_log_with_other_columns_goes_by_the_header(warehouse: Warehouse, tmp_path: Path) -> None:
    header = "run,problem-progress,solution-progress,operation,problem-sizes,solution,time-us,validation\n"
    put(warehouse, tmp_path, header + f'0,0/0,3/9,Contraction,"(512,256,2,128)",{TN},33.5,PASSED\n')
    (row,) = rows(warehouse)
    assert (row["us"], row["outcome"], row["batch"]) == (33.5, "ok", 2)


# hipBLASLt's tuning file ---------------------------------------------------------------------------------------------


def test_versioned_tuning_file(warehouse: Warehouse, tmp_path: Path) -> None:
    header = (
        "schema_version,git_version,transA,transB,m,n,k,batch_count,a_type,b_type,c_type,d_type,compute_type,lda,ldb,ldc,"
        "ldd,epilogue,bias_type,bias_vector,gcnArchName,CUs,solution_index,kernel_name,solution_name,us"
    )
    value = "1,d5f8,T,N,64,32,16,1,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,16,16,64,64,4,0,1,gfx942:xnack-,304,0,ker,sol,12.5"
    report = put(
        warehouse,
        tmp_path,
        f"Git Version: d5f8\n    {header}\n    {value}\n    {header}\n    1,d5f8,T\n    {header}\n",
    )
    assert (report.kind, report.n_rows) == ("hipblaslt-tuning", 1)
    (row,) = rows(warehouse)
    assert (row["bias_type"], row["solution_index"], row["us"], row["gfx"], row["cu_count"]) == (
        "f32_r", 0, 12.5, "gfx942:xnack-", 304,
    )  # fmt: skip
    assert row["hipblaslt_git"] == "d5f8" and json.loads(row["extra"])["epilogue"] == "4"


# hipblaslt-bench -----------------------------------------------------------------------------------------------------

BENCH = (
    "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,"
    "b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,amaxD,activation_type,bias_vector,bias_type,aux_type,"
    "rotating_buffer,flush,use_gpu_timer,hipblaslt-Gflops,hipblaslt-GB/s,us"
)
DEVICE = "Device ID 0 : AMD Instinct MI300X{0} gfx942:sramecc+:xnack-\n"


def bench_row(us: float = 100.0, m: int = 1024) -> str:
    gflops = 2 * m * 512 * 256 / us / 1e3 if us > 0 else us
    return (
        f"    T,N,0,1,{m},512,256,1,256,0,0,256,0,{m},0,{m},0,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,0,0,0,0,0,none,0,bf16_r,"
        f"bf16_r,512,0,1,{gflops:g},1,{us:g}\n"
    )


def test_bench_output_keeps_every_candidate(warehouse: Warehouse, tmp_path: Path) -> None:
    text = f"$ hipblaslt-bench --yaml x -i 50 -j 30 --initialization hpl\n{DEVICE.format('')}"
    text += f"Is supported 3 / Total solutions: 3\n[0]:{BENCH}\n{bench_row(100)}    --Solution index: 5\n"
    text += f"[1]:{BENCH}\n{bench_row(90)}    --Solution index: 6\n"
    text += (
        "Skip solution: 2 (best warm-up = 90 us , warm-up = 400 us, skip ratio = 0.6, solution index = 7)\n"
    )
    text += f"Winner: \n[1]:{BENCH}\n{bench_row(90)}    --Solution index: 6\n"
    report = put(warehouse, tmp_path, text)
    assert (report.kind, report.n_rows, report.n_rejects) == ("bench-stdout", 4, 0)
    got = rows(warehouse)
    assert sorted((row["solution_index"], row["outcome"], row["winner_echo"]) for row in got) == [
        (5, "ok", False), (6, "ok", False), (6, "ok", True), (7, "skipped", False),
    ]  # fmt: skip
    assert wins(warehouse) == [90.0, 100.0]  # the echo is no second sample
    assert {(row["iters"], row["simulated"], row["device_name"]) for row in got} == {
        (None, False, "AMD Instinct MI300X")
    }
    settings = json.loads(got[0]["settings"])
    assert (settings["iters"], settings["cold_iters"], settings["initialization"]) == (50, 30, "hpl")
    assert (settings["timer"], settings["rotating_mib"], settings["flush"]) == ("gpu", 512, False)
    assert got[0]["aux_type"] is None and got[0]["bias_type"] is None


@pytest.mark.parametrize("us", [0.0, -3.0, float("inf"), float("nan"), 0.01])
def test_impossible_times_are_kept_and_never_win(warehouse: Warehouse, tmp_path: Path, us: float) -> None:
    put(
        warehouse,
        tmp_path,
        DEVICE.format("") + f"[0]:{BENCH}\n{bench_row(us)}[0]:{BENCH}\n{bench_row(100, m=2048)}",
    )
    got = sorted(rows(warehouse), key=lambda row: row["m"])
    assert got[0]["outcome"] == "parse_error" and "invalid" in json.loads(got[0]["extra"])
    assert got[0]["us"] == us or us != us
    assert wins(warehouse) == [100.0]


def test_failed_checks_never_win(warehouse: Warehouse, tmp_path: Path) -> None:
    header = f"{BENCH},CPU-Gflops,CPU-us,norm_error,atol,rtol"
    tails = (",1,2,1e-07,1e-05,1e-05", ",1,2,0.5,failed,failed", ",1,2,nan,1e-05,1e-05")
    text = "".join(f"[0]:{header}\n{bench_row(100 + at).rstrip()}{tail}\n" for at, tail in enumerate(tails))
    put(warehouse, tmp_path, text)
    assert wins(warehouse) == [100.0]
    checks = warehouse.sql("SELECT outcome FROM validation ORDER BY 1").read_all()["outcome"].to_pylist()
    assert checks == ["failed", "failed", "passed"]


def test_simulated_output_says_so(warehouse: Warehouse, tmp_path: Path) -> None:
    put(warehouse, tmp_path, DEVICE.format(" (simulated)") + f"[0]:{BENCH}\n{bench_row()}")
    assert [row["simulated"] for row in rows(warehouse)] == [True]


def test_unknown_types_are_rejects_with_their_line(warehouse: Warehouse, tmp_path: Path) -> None:
    report = put(
        warehouse,
        tmp_path,
        f"[0]:{BENCH}\n{bench_row().replace('bf16_r,bf16_r,bf16_r,bf16_r', 'q9_r,a,b,c', 1)}",
    )
    assert (report.n_rows, report.n_rejects) == (0, 1)
    (reject,) = warehouse.sql("SELECT line, reason FROM ingest_reject").read_all().to_pylist()
    assert reject["line"] == 1 and "unknown data type" in reject["reason"]


# Parquet -------------------------------------------------------------------------------------------------------------


def candidates(path: Path) -> None:
    pl.DataFrame(
        {
            "shape_id": ["s"] * 3, "trans_a": ["T"] * 3, "trans_b": ["N"] * 3, "m": [4096] * 3, "n": [2048] * 3,
            "batch": [1] * 3, "k": [1024] * 3, "solution_index": [1, 2, 2], "solution_name": [TN, TN_OTHER, TN_OTHER],
            "status": ["PASSED", "FAILED", "PASSED"], "time_us": [50.0, 20.0, 60.0], "gflops": [1.0, 2.0, 3.0],
        }
    ).write_parquet(path)  # fmt: skip


def test_parquet_candidates_and_baseline_never_pair(warehouse: Warehouse, tmp_path: Path) -> None:
    candidates(tmp_path / "a.parquet")
    pl.DataFrame(
        {
            "shape_id": ["x_fwd_TNN_M2048_N4096_K1024"], "stock_us": [55.0], "stock_gflops": [312.0],
            "stock_solution_index": [9], "stock_solution_name": [TN], "hipblaslt_version": ["100200"],
            "hipblaslt_git": ["abc"], "device": ["AMD Instinct MI350X gfx950:sramecc+:xnack-"],
        }
    ).write_parquet(tmp_path / "b.parquet")  # fmt: skip
    reports = ingest(warehouse, [tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert [(report.kind, report.n_rows) for report in reports] == [
        ("timings-parquet", 3),
        ("timings-parquet", 1),
    ]
    assert wins(warehouse) == [50.0, 55.0, 60.0]  # the fastest one failed its check
    pairs = warehouse.sql(
        "SELECT count(DISTINCT problem_id) AS p, count(DISTINCT protocol_id) AS t, count(DISTINCT block_id) AS b FROM timing"
    ).read_all()
    assert pairs.to_pylist() == [{"p": 1, "t": 2, "b": 0}]


def test_problem_ids_are_those_of_the_domain(tmp_path: Path) -> None:
    candidates(tmp_path / "a.parquet")
    with Scratch(schema=False) as scratch:
        table = load("timings-parquet").parse(tmp_path / "a.parquet", scratch).tables["problem"]
    (row,) = table.to_pylist()
    assert row["problem_id"] == Problem(**{name: row[name] for name in PROBLEM_FIELDS}).problem_id


def test_the_same_file_gives_the_same_rows(tmp_path: Path) -> None:
    candidates(tmp_path / "a.parquet")
    with Scratch(schema=False) as one, Scratch(schema=False) as two:
        first = load("timings-parquet").parse(tmp_path / "a.parquet", one).tables
        second = load("timings-parquet").parse(tmp_path / "a.parquet", two).tables
    assert all(first[name].equals(second[name]) for name in first)
    ids = first["measurement"]["measurement_id"].to_pylist()
    assert len(set(ids)) == 3


def test_a_parquet_file_of_something_else_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    (report,) = ingest(warehouse, [tmp_path / "a.parquet"])
    assert report.state == "refused" and report.message
    with Scratch(schema=False) as scratch, pytest.raises(InputError, match="columns"):
        load("timings-parquet").parse(tmp_path / "a.parquet", scratch)


# Reports and libraries -----------------------------------------------------------------------------------------------


def test_report_has_three_harnesses_of_one_problem(warehouse: Warehouse, tmp_path: Path) -> None:
    text = (
        "# Some model\n\n| Parameter | Value |\n|---|---|\n| Trans (ABC) | TNN |\n| M | 512 |\n| N | 1024 |\n| K | 256 |\n\n"
        "| **Tensile tuned** | 2.5 | 110.00 | 1% | 2% |\n| **API bench (installed)** | 2.6 | 105.00 | 1% | — |\n\n"
        f"- **Tensile winner**: `{TN}`\n- **API bench (installed)**: `{TN_OTHER}`\n\n## hipblaslt-bench\n\n```\n"
        f"{DEVICE.format('')}[0]:{BENCH}\n{bench_row(100)}```\n"
    )
    report = put(warehouse, tmp_path, text, "x.report.md")
    assert (report.kind, report.n_rows, report.n_rejects) == ("tuning-report", 3, 0)
    got = rows(warehouse)
    assert {(row["m"], row["n"], row["k"]) for row in got} == {(1024, 512, 256)}
    assert {(row["harness"], row["us"]) for row in got} == {
        ("hipblaslt-bench", 100.0), ("tensilelite-client", 110.0), ("hipblaslt-api", 105.0),
    }  # fmt: skip
    problems = warehouse.sql("SELECT count(*) AS n FROM problem").read_all()["n"].to_pylist()
    assert problems == [1]


def test_library_and_match_table(warehouse: Warehouse, repo_root: Path) -> None:
    folder = repo_root / "examples" / "library"
    reports = ingest(warehouse, sorted(folder.rglob("*.yaml")))
    assert {report.kind for report in reports} == {"library-logic", "match-table"}
    (counts,) = (
        warehouse.sql(
            "SELECT (SELECT count(*) FROM library_entry) AS entries,"
            " (SELECT count(*) FROM library WHERE kind = 'built') AS built,"
            " (SELECT count(*) FROM library_solution WHERE solution_id IS NULL) AS mapped,"
            " (SELECT count(*) FROM library_solution AS a JOIN library_solution AS b USING (logic_file, local_index)"
            "  WHERE a.solution_id IS NULL AND b.solution_id IS NOT NULL) AS joined"
        )
        .read_all()
        .to_pylist()
    )
    assert counts["built"] == 1 and counts["entries"] > 0
    assert 0 < counts["joined"] == counts["mapped"]
