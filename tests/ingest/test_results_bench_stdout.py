"""hipblaslt-bench output: every printed form, cut and mixed texts, and what belongs to which input row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geko.ingest.bench_match import echo_of, first_equal
from geko.ingest.bench_stdout import match_blocks, parse_bench_text

P17 = "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d"
NEW = (
    f"{P17},a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,amaxD,swizzle_a,swizzle_b,"
    "activation_type,bias_vector,bias_type,aux_type,rotating_buffer,flush,use_gpu_timer,hipblaslt-Gflops,"
    "hipblaslt-GB/s,us"
)


def values(
    m: int = 64,
    n: int = 32,
    k: int = 16,
    us: float = 10.0,
    types: str = "bf16_r",
    lda: int | None = None,
    tail: str = "",
) -> str:
    gflops = 2 * m * n * k / us / 1e3
    return (
        f"T,N,0,1,{m},{n},{k},1,{lda or k},{m * k},0,{k},{k * n},{m},{m * n},{m},{m * n},{types},{types},bf16_r,bf16_r,"
        f"f32_r,0,0,0,0,0,0,0,none,0,bf16_r,bf16_r,512,0,1,{gflops:.6g},1.5,{us:g}{tail}"
    )


def block(rank: int = 0, index: int | None = 7, name: str = "Cijk_A", **shape: Any) -> str:
    text = f"[{rank}]:{NEW}\n    {values(**shape)}\n"
    if index is not None:
        text += f"    --Solution index: {index}\n    --Solution name:  {name}_WGM8\n    --kernel name:    {name}\n"
    return text


def row(m: int = 64, n: int = 32, k: int = 16, types: str = "bf16_r", **more: Any) -> dict[str, Any]:
    return {
        "function": "matmul", "M": m, "N": n, "K": k, "transA": "T", "transB": "N", "a_type": types, "b_type": types,
        "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r", "rotating": 512, "use_gpu_timer": True,
        "flush": False, **more,
    }  # fmt: skip


def test_newest_form_gives_typed_columns() -> None:
    out = parse_bench_text("Is supported 1 / Total solutions: 812\n" + block(us=12.5))
    got = out.blocks.to_pylist()[0]
    assert (got["trans_a"], got["trans_b"], got["m"], got["n"], got["k"]) == ("T", "N", 64, 32, 16)
    assert (got["us"], got["rotating_mib"], got["flush"], got["use_gpu_timer"]) == (12.5, 512, False, True)
    assert (got["solution_index"], got["solution_name"], got["kernel_name"]) == (7, "Cijk_A_WGM8", "Cijk_A")
    assert (got["n_supported"], got["n_total"], got["rank"], got["line"], got["extra"]) == (
        1,
        812,
        0,
        2,
        None,
    )


@pytest.mark.parametrize("head", ["[3]:", "[3]", "", "   ", "[3]: "])
@pytest.mark.parametrize("indent", ["    ", ""])
def test_header_with_and_without_bracket_and_indent(head: str, indent: str) -> None:
    out = parse_bench_text(f"{head}{NEW}\n\n{indent}{values()}\n")
    assert out.blocks["us"].to_pylist() == [10.0]
    assert out.blocks["rank"].to_pylist() == [3 if "3" in head else None]


def test_columns_go_by_name_not_by_place() -> None:
    """Two headers of equal width in one text: each is read by its own names."""
    verify = NEW.replace(",rotating_buffer,flush,use_gpu_timer", "").replace(
        ",us", ",us,CPU-Gflops,CPU-us,norm_error"
    )
    assert verify.count(",") == NEW.count(",")
    cells = values().split(",")
    at = NEW.split(",").index("rotating_buffer")
    second = ",".join(cells[:at] + cells[at + 3 :] + ["0.5", "99", "nan"])
    out = parse_bench_text(f"[0]:{NEW}\n {values()}\n[0]:{verify}\n {second}\n[0]:{NEW}\n {values(us=11)}\n")
    assert out.blocks["rotating_mib"].to_pylist() == [512, None, 512]
    assert out.blocks["us"].to_pylist() == [10.0, 10.0, 11.0]
    assert out.blocks["cpu_us"].to_pylist() == [None, 99.0, None]
    error = out.blocks["norm_error"].to_pylist()
    assert error[0] is None and error[1] != error[1]


def test_first_release_without_types_batch_and_bracket() -> None:
    out = parse_bench_text(
        "transA,transB,M,N,K,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,d_type,compute_type,"
        "activation_type,bias_vector,hipblaslt-Gflops,us\n"
        "N,T,128,64,32,1,128,4096,0,64,2048,128,8192,128,8192,fp16_r,f32_r,none,0, 65.536, 8\n"
    )
    got = out.blocks.to_pylist()[0]
    assert (got["m"], got["n"], got["k"], got["d_type"], got["gflops"], got["us"]) == (
        128,
        64,
        32,
        "fp16_r",
        65.536,
        8.0,
    )
    assert got["batch_count"] is None and got["a_type"] is None and got["rank"] is None


def test_unknown_columns_and_lost_cells_are_kept_as_text() -> None:
    header = NEW.replace(",hipblaslt-Gflops", ",num_cu's,cu_gran,hipblaslt-Gflops")
    cells = values().split(",")
    at = NEW.split(",").index("hipblaslt-Gflops")
    line = ",".join([*cells[:at], "304", "0.9", *cells[at:]]).replace(
        ",bf16_r,bf16_r,512,", ",non-supported type,x,lots,"
    )
    got = parse_bench_text(f"[0]:{header}\n    {line}\n").blocks.to_pylist()[0]
    assert got["bias_type"] == "non-supported type"
    assert got["rotating_mib"] is None
    assert json.loads(got["extra"]) == {"rotating_buffer": "lots", "num_cu's": "304", "cu_gran": "0.9"}


def test_complex_numbers_hold_a_comma() -> None:
    line = values().replace(",1,16,", ",(1.5,0),16,", 1).replace(",0,16,512,", ",(0,-2),16,512,", 1)
    got = parse_bench_text(f"[0]:{NEW}\n    {line}\n").blocks.to_pylist()[0]
    assert (got["alpha"], got["beta"], got["us"]) == (1.5, 0.0, 10.0)
    assert json.loads(got["extra"]) == {"alpha": "(1.5,0)", "beta": "(0,-2)"}


def test_winner_is_an_echo_only_of_what_was_printed_before() -> None:
    search = "Is supported 3 / Total solutions: 3\n" + block(0, 5, us=12) + block(1, 6, us=9)
    skip = (
        "Skip solution: 2 (best warm-up = 9 us , warm-up = 40.5 us, skip ratio = 0.6, solution index = 8)\n"
    )
    tail = "Solution selection time: 77 us\nWinner: \n" + block(1, 6, us=9)
    out = parse_bench_text(search + skip + tail + block(0, 5, us=12))
    assert out.blocks["winner_echo"].to_pylist() == [False, False, True, False]
    assert out.blocks["group"].to_pylist() == [0, 0, 0, 1]
    skipped = next(event for event in out.events if event.kind == "skip_solution")
    assert skipped.detail == {
        "rank": 2, "best_warmup_us": 9.0, "warmup_us": 40.5, "ratio": 0.6, "solution_index": 8,
    }  # fmt: skip
    alone = parse_bench_text("Winner: \n" + block(17, 6))
    assert alone.blocks["after_winner"].to_pylist() == [True]
    assert alone.blocks["winner_echo"].to_pylist() == [False]


def test_kernel_lines_may_lack() -> None:
    names = f"[0]:{NEW}\n    {values()}\n    --Solution name:  Custom_A\n    --kernel name:    Custom_B\n"
    got = parse_bench_text(names + f"[0]:{NEW}\n    {values(m=128)}\n" + block(m=256, index=3)).blocks
    assert got["solution_index"].to_pylist() == [None, None, 3]
    assert got["solution_name"].to_pylist() == ["Custom_A", None, "Cijk_A_WGM8"]
    assert got["kernel_name"].to_pylist() == ["Custom_B", None, "Cijk_A"]


def test_solution_index_as_a_column_in_both_spellings() -> None:
    text = f"{NEW},soulution_index\n{values()},41\n{NEW},solution_index,gcnArchName,CUs\n{values()},42,gfx942,304\n"
    got = parse_bench_text(text).blocks
    assert got["solution_index"].to_pylist() == [41, 42]
    assert got["gfx"].to_pylist() == [None, "gfx942"] and got["cu_count"].to_pylist() == [None, 304]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_text_cut_in_the_last_row_keeps_the_rows_before(cut: int) -> None:
    whole = block(us=10, index=None) + block(m=128, us=20, index=None)
    out = parse_bench_text(whole[:-cut])
    # A cut of the line end alone loses nothing: time and rate still agree.
    assert out.blocks["us"].to_pylist() == ([10.0, 20.0] if cut == 1 else [10.0])
    assert [event.kind for event in out.events] == ([] if cut == 1 else ["truncated"])


def test_header_without_values_and_rows_of_wrong_width_are_events() -> None:
    out = parse_bench_text(f"[0]:{NEW}\n[0]:{NEW}\n    T,N,0,1\n{block()}")
    assert out.blocks.num_rows == 1
    assert [(event.line, event.kind) for event in out.events] == [(1, "truncated"), (3, "truncated")]


def test_errors_carry_their_line_and_the_row_before() -> None:
    text = block() + (
        "error: NO solution found! at /x/testing_matmul.hpp:2534\nInvalid: --c_type bf16_r is not equal to --d_type f16_r\n"
    )
    text += block(m=96) + (
        "[rr/error] Predicate mismatch for RR_GEMM_x\nrocblaslt warning: No paths matched /opt/*.co\n"
        "Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f.\nAborted (core dumped)\n"
    )
    out = parse_bench_text(text)
    kinds = [(event.kind, event.after_block, event.is_error) for event in out.events]
    assert kinds == [
        ("no_solution", 0, True),
        ("unsupported", 0, True),
        ("unsupported", 1, True),
        ("warning", 1, False),
        ("memory_fault", 1, True),
        ("crash", 1, True),
    ]
    assert out.errors[0].line == 6


def test_banner_of_each_process() -> None:
    banner = (
        "hipBLASLt version: {0}\nhipBLASLt git version: abc\n"
        "Query device success: there are 8 devices. (Target device ID is 3)\n"
        "Device ID 3 : AMD Instinct MI300X gfx942:sramecc+:xnack-\n"
        "with 206.1 GB memory, max. SCLK 2100 MHz, max. MCLK 1300 MHz, compute capability 9.4\n"
        "maxGridDimX 2147483647, sharedMemPerBlock 65.5 KB, maxThreadsPerBlock 1024, warpSize 64\n"
        "-------------------------------------------------------------------------------\n"
    )
    out = parse_bench_text(banner.format(1200) + block() + banner.format(1300) + block() + block(m=1))
    assert [(b.version, b.git, b.gfx, b.device_id, b.max_mclk_mhz) for b in out.banners] == [
        ("1200", "abc", "gfx942:sramecc+:xnack-", 3, 1300.0),
        ("1300", "abc", "gfx942:sramecc+:xnack-", 3, 1300.0),
    ]
    assert out.blocks["banner"].to_pylist() == [0, 1, 1]
    assert out.events == []


def test_echoed_commands_are_counted() -> None:
    out = parse_bench_text(
        f"$ HIP_X=1 /opt/bin/hipblaslt-bench -m 64 -i 50\n{block()}hipblaslt-bench --yaml a\n{block()}"
    )
    assert out.blocks["command"].to_pylist() == [0, 1]
    assert out.commands[1].text == "hipblaslt-bench --yaml a"


def test_lines_mixed_between_header_and_values() -> None:
    out = parse_bench_text(
        f"[0]:{NEW}\nhipblaslt-bench INFO: Using f8_fnuz_r instead of f8_r\n    {values()}\n"
    )
    assert out.blocks.num_rows == 1
    assert [event.kind for event in out.events] == ["info"]


def test_nothing_in_it() -> None:
    for text in ("", "\n\n", "hello\n"):
        assert parse_bench_text(text).blocks.num_rows == 0


# Which row is meant
# --------------------------------------------------------------------------------------------------


def test_results_in_any_order_find_their_rows() -> None:
    rows = [row(m=1), row(m=2), row(m=3)]
    blocks = parse_bench_text(block(m=3) + block(m=1) + block(m=2)).blocks
    assert match_blocks(blocks, rows) == [2, 0, 1]


def test_a_row_without_result_shifts_nobody() -> None:
    rows = [row(m=1), row(m=2), row(m=3)]
    text = block(m=1) + "error: NO solution found! at x:1\n" + block(m=3)
    assert match_blocks(parse_bench_text(text).blocks, rows) == [0, 2]


def test_equal_rows_are_printed_once_and_call_count_makes_no_difference() -> None:
    rows = [row(m=1, call_count=5), row(m=2), row(m=1, call_count=9)]
    assert first_equal(rows) == [0, 1, 0]
    assert match_blocks(parse_bench_text(block(m=1) + block(m=2)).blocks, rows) == [0, 1]


def test_rows_that_print_alike_are_given_out_in_order() -> None:
    rows = [row(m=1, initialization="hpl"), row(m=2), row(m=1, initialization="trig_float")]
    assert first_equal(rows) == [0, 1, 2]
    text = block(m=1, us=5) + block(m=2) + block(m=1, us=6)
    assert match_blocks(parse_bench_text(text).blocks, rows) == [0, 1, 2]
    # The first of the two gave no result: the block stands behind row 1, so it is row 2's.
    assert match_blocks(parse_bench_text(block(m=2) + block(m=1)).blocks, rows) == [1, 2]


def test_renamed_fp8_types_match() -> None:
    rows = [row(types="f8_r"), row(types="bf8_r")]
    text = block(types="bf8_fnuz_r") + block(types="f8_fnuz_r")
    assert match_blocks(parse_bench_text(text).blocks, rows) == [1, 0]


def test_candidates_of_a_search_and_the_echo_share_a_row() -> None:
    rows = [row(m=1), row(m=2)]
    text = block(0, m=1) + block(1, m=1) + "Winner:\n" + block(1, m=1) + block(0, m=2) + block(1, m=2)
    assert match_blocks(parse_bench_text(text).blocks, rows) == [0, 0, 0, 1, 1]


def test_leading_dimensions_and_epilogue_tell_rows_apart() -> None:
    rows = [row(lda=16), row(lda=24)]
    assert match_blocks(parse_bench_text(block(lda=24) + block(lda=16)).blocks, rows) == [1, 0]
    biased = block().replace(",none,0,bf16_r,", ",none,1,f32_r,")
    rows = [row(), row(bias_vector=True, bias_type="bf16_r"), row(bias_vector=True, bias_type="f32_r")]
    assert match_blocks(parse_bench_text(biased + block()).blocks, rows) == [2, 0]


def test_a_version_that_prints_rotating_otherwise_still_matches_what_is_unique() -> None:
    rows = [row(m=1, rotating=64), row(m=2, rotating=64)]
    assert match_blocks(parse_bench_text(block(m=2) + block(m=1)).blocks, rows) == [1, 0]
    assert match_blocks(parse_bench_text(block(m=9)).blocks, rows) == [None]


def test_packed_defaults_are_raised_unless_any_stride() -> None:
    echo = echo_of(row(m=8, n=4, k=2, batch_count=3, stride_a=0))
    assert (echo["lda"], echo["stride_a"], echo["stride_d"]) == ("2", "16", "32")
    loose = echo_of(row(m=8, n=4, k=2, batch_count=3, stride_a=0, any_stride=True))
    assert loose["stride_a"] == "0"


# Real outputs
# --------------------------------------------------------------------------------------------------------

REAL = {
    "clients_readme_BENCH_EFF_pr1544.txt": (1, 2361.71),
    "clients_readme_BENCH_FREQ.txt": (1, 10.9),
    "clients_readme_BENCH_FREQ_ALL.txt": (1, 14.1),
    "clients_readme_verify_v.txt": (1, 10.4),
    "docs_2023-10_pr395_verify.txt": (1, 7.9),
    "docs_offline_tuning_winner_soulution_index.txt": (1, 16.1189),
    "hipblaslt266_2023_tensilelite_client_no_check_nan.txt": (0, None),
    "pr10211_2026_gfx1151_winner_stride0_alphai.txt": (1, 42865.8),
    "pr1570_error_c_ne_d.txt": (0, None),
    "pr1570_error_no_solution.txt": (0, None),
    "rocblas_bench_gfx1100_winning_solution.txt": (1, 8503.93),
    "zy00_all_221_runs_concat.txt": (221, 55881.5),
}


@pytest.mark.parametrize("name", REAL)
def test_real_output(shared: Path, name: str) -> None:
    n, us = REAL[name]
    blocks = parse_bench_text((shared / "data/bench_stdout" / name).read_text()).blocks
    assert blocks.num_rows == n
    if n:
        assert blocks["us"][0].as_py() == us


def test_real_joined_runs(shared: Path) -> None:
    out = parse_bench_text((shared / "data/bench_stdout/zy00_all_221_runs_concat.txt").read_text())
    assert (len(out.banners), len(out.commands)) == (221, 221)
    assert out.blocks["solution_index"].null_count == 0 and out.blocks["kernel_name"].null_count == 0
    assert {event.kind for event in out.events} <= {"command", "is_supported", "rotating"}
