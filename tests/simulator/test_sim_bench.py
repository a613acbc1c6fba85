"""The hipblaslt-bench stand-in prints what the real program prints."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from geko.ingest.bench_stdout import parse_bench_text
from geko.simulator.output import real

COLUMNS_100200 = (
    "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,"
    "a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,amaxD,swizzle_a,swizzle_b,"
    "activation_type,bias_vector,bias_type,aux_type,rotating_buffer,flush,use_gpu_timer,hipblaslt-Gflops,"
    "hipblaslt-GB/s,us"
)


def test_baseline_block(bench: Any) -> None:
    out = bench.rows(
        bench.row(
            4096,
            4096,
            4096,
            rotating=512,
            use_gpu_timer=True,
            print_kernel_info=True,
            stride_a=0,
            call_count=7,
        ),
        device=2,
    )
    assert out.status == 0
    lines = out.text.splitlines()
    assert lines[0] == "hipBLASLt version: 100200"
    assert re.fullmatch(r"hipBLASLt git version: [0-9a-f]{10}-simulated", lines[1])
    assert lines[2] == "Query device success: there are 8 devices. (Target device ID is 2)"
    assert lines[3] == "Device ID 2 : AMD Instinct MI300X (simulated) gfx942:sramecc+:xnack-"
    assert lines[6] == ""
    assert lines[7] == (
        "Rotating buffer 512 MiB. Needed Size: 96 MiB. Needed block count: 6 (Capped to max iters: 50)"
    )
    assert lines[8] == "Is supported 1 / Total solutions: 1"
    assert lines[9] == f"[0]:{COLUMNS_100200}"
    assert lines[10].startswith(
        "    T,N,0,1,4096,4096,4096,1,4096,16777216,0,4096,16777216,4096,16777216,4096,16777216,bf16_r,bf16_r,"
        "bf16_r,bf16_r,f32_r,0,0,0,0,0,0,0,none,0,bf16_r,bf16_r,512,0,1,"
    )
    # ExactLogic of the example library gives this size to its TN solution 7, the 56th of the build.
    assert lines[11] == "    --Solution index: 55"
    assert lines[12].startswith(
        "    --Solution name:  Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x128x64_"
    )
    assert lines[13].startswith(
        "    --kernel name:    Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x128x64_"
    )
    assert len(lines) == 14


def test_throughput_columns_follow_the_time(bench: Any) -> None:
    (block,) = bench.rows(bench.row(1024, 512, 4096, beta=1.0)).blocks
    us = float(block["us"])
    assert float(block["hipblaslt-Gflops"]) == pytest.approx(2 * 1024 * 512 * 4096 / us / 1e3, rel=1e-4)
    moved = 2 * (1024 * 4096 + 512 * 4096 + 2 * 1024 * 512)
    assert float(block["hipblaslt-GB/s"]) == pytest.approx(moved / us / 1e-6 / 2**30, rel=1e-4)


def test_formulas_agree_with_real_rows(shared: Path) -> None:
    """GB/s and the rotating line of the real program, recomputed by the stand-in's rules."""
    from geko.simulator.output import rotating_line
    from geko.simulator.problem import Arguments

    text = (shared / "data/bench_stdout/zy00_all_221_runs_concat.txt").read_text()
    checked = 0
    for found in re.finditer(r"(Rotating buffer (\d+) .*\n)Is supported.*\n\[0\]:(.*)\n    (.*)\n", text):
        cells = dict(zip(found[3].split(","), found[4].split(","), strict=True))
        args = Arguments.of(
            {
                **{key: cells[key.lower()] for key in "MNK"},
                **{key: cells[key] for key in ("transA", "transB", "a_type", "b_type", "c_type", "d_type")},
                "rotating": found[2],
                "iters": 50,
                "cold_iters": 30,
            },
            device_arch="gfx950",
        )
        assert rotating_line(args) == found[1]
        rate = args.moved_bytes / float(cells["us"]) / 1e-6 / 2**30
        assert rate == pytest.approx(float(cells["hipblaslt-GB/s"]), rel=2e-5)
        checked += 1
    assert checked > 80


def test_dense_search(bench: Any) -> None:
    row = bench.row(
        1024, 1024, 4096, requested_solution_num=-1, skip_slow_solution_ratio=0.6, print_kernel_info=True
    )
    out = bench.rows(row)
    assert "Is supported 19 / Total solutions: 19\n" in out.text
    *timed, winner = out.blocks
    assert out.text.count("Winner: \n[") == 1
    assert winner in timed
    assert float(winner["us"]) == min(float(block["us"]) for block in timed)
    skipped = re.findall(
        r"^Skip solution: (\d+) \(best warm-up = (\S+) us , warm-up = (\S+) us, skip ratio = 0.6, "
        r"solution index = (\d+)\)$",
        out.text,
        re.M,
    )
    assert skipped
    assert all(float(warm) * 0.6 > float(best) for _, best, warm, _ in skipped)
    ranks = [int(block["rank"]) for block in timed] + [int(rank) for rank, *_ in skipped]
    assert sorted(ranks) == list(range(19))
    indices = {block["index"] for block in timed} | {index for *_, index in skipped}
    assert len(indices) == 19
    everything = bench.rows({**row, "skip_slow_solution_ratio": 0.0})
    assert "Skip solution" not in everything.text
    assert len(everything.blocks) == 20


def test_one_candidate_has_no_winner_line(bench: Any) -> None:
    out = bench.rows(bench.row(512, 512, 512, requested_solution_num=1))
    assert len(out.blocks) == 1
    assert "Winner" not in out.text


def test_index_method(bench: Any) -> None:
    row = bench.row(512, 512, 512, algo_method=2, print_kernel_info=True)
    assert bench.rows({**row, "solution_index": 60}).blocks[0]["index"] == "60"
    # 3 is a solution of another layout, 4000 of no library.
    for index in (3, 4000):
        assert "error: NO solution found!" in bench.rows({**row, "solution_index": index}).text


def test_no_solution_in_mid_batch(bench: Any) -> None:
    half = dict.fromkeys(("a_type", "b_type", "c_type", "d_type"), "f16_r")
    out = bench.rows(bench.row(512, 512, 512), bench.row(512, 512, 512, **half), bench.row(1024, 512, 512))
    assert out.status == 0
    assert [block["m"] for block in out.blocks] == ["512", "1024"]
    assert re.search(r"^error: NO solution found! at \S*testing_matmul.hpp:2534", out.text, re.M)


def test_equal_records_come_once(bench: Any) -> None:
    row = bench.row(512, 512, 512)
    out = bench.rows(row, {**row, "call_count": 3}, {**row, "swizzleA": False}, {**row, "iters": 51})
    assert len(out.blocks) == 2


def test_lists_expand_and_block_yaml_is_read(bench: Any, tmp_path: Path) -> None:
    row = {**bench.row(512, 512, 512), "M": [512, 1024], "N": [256, 512]}
    file = tmp_path / "block.yaml"
    file.write_text("# rows\n-\n" + "".join(f"  {key}: {value}\n" for key, value in row.items()))
    out = bench.words("--yaml", str(file))
    assert [(block["m"], block["n"]) for block in out.blocks] == [
        ("512", "256"),
        ("512", "512"),
        ("1024", "256"),
        ("1024", "512"),
    ]


def test_fnuz_rename_on_gfx942(tmp_path: Path, shared: Path, bench: Any) -> None:
    """f8_r is echoed as f8_fnuz_r; a real fp8 library of gfx942 then serves it."""
    from geko.simulator import make_root

    logic = tmp_path / "logic"
    logic.mkdir()
    name = "gfx942_Equality__aquavanjaram_Cijk_Alik_Bljk_F8BS_BH_UserArgs.yaml"
    (logic / "aquavanjaram_Cijk_Alik_Bljk_F8BS_BH_UserArgs.yaml").write_bytes(
        (shared / "data/library_logic/real" / name).read_bytes()
    )
    bench.root = make_root(tmp_path / "fp8", logic_dir=logic)
    out = bench.rows(bench.row(4096, 1024, 4096, a_type="f8_r", b_type="f8_r"))
    assert "hipblaslt-bench INFO: Using f8_fnuz_r instead of f8_r\n" in out.text
    (block,) = out.blocks
    assert (block["a_type"], block["b_type"], block["d_type"]) == ("f8_fnuz_r", "f8_fnuz_r", "bf16_r")


def test_checks(bench: Any) -> None:
    row = bench.row(512, 512, 512, norm_check=1, norm_check_assert=0, allclose_check=1, iters=1, cold_iters=0)
    out = bench.rows(row)
    (block,) = out.blocks
    assert list(block)[-5:] == ["CPU-Gflops", "CPU-us", "norm_error", "atol", "rtol"]
    assert float(block["norm_error"]) <= float(block["atol"]) <= 0.01
    (block,) = bench.rows(row, GEKO_SIM_FAULTS="wrong").blocks
    assert (block["atol"], block["rtol"], block["norm_error"]) == ("failed", "failed", "0.732051")


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        ("HIPBLASLT_BENCH_FREQ", ["lowest_avg_freq", "lowest_median_freq", "avg_MCLK", "median_MCLK"]),
        (
            "HIPBLASLT_BENCH_FREQ_ALL",
            [
                *(f"avg_freq{x}" for x in range(8)),
                *(f"median_freq{x}" for x in range(8)),
                "avg_MCLK",
                "median_MCLK",
            ],
        ),
    ],
)
def test_frequency_columns(bench: Any, variable: str, names: list[str]) -> None:
    (block,) = bench.rows(bench.row(4096, 4096, 4096), **{variable: "true"}).blocks
    header = list(block)
    at = header.index(names[0])
    assert header[at - 1] == "use_gpu_timer"
    assert header[at : at + len(names)] == names
    assert header[at + len(names)] == "hipblaslt-Gflops"
    assert 1000 < float(block[names[0]]) < 2100


def test_single_shape_flags(bench: Any, tmp_path: Path) -> None:
    words = (
        "-m 256 -n 128 -k 512 --precision bf16_r --compute_type f32_r --transA T --transB N -i 50 -j 30 -v"
    )
    out = bench.words(*words.split(), "--rotating", "64", "--use_gpu_timer", "--print_kernel_info")
    assert out.status == 0
    (block,) = out.blocks
    assert (block["m"], block["n"], block["k"], block["us"] != "") == ("256", "128", "512", True)
    assert block["atol"] != "failed"
    odd = bench.words(*words.replace("bf16_r", "f16_r").split())
    assert (odd.status, "NO solution found" in odd.text) == (1, True)
    unknown = bench.words("--no_such_flag")
    assert unknown.status == 2
    mixed = bench.words(*words.split(), "--c_type", "f32_r")
    assert (mixed.status, "Invalid: --c_type f32_r is not equal to --d_type bf16_r" in mixed.text) == (
        1,
        True,
    )


def test_logged_command_line_is_taken(bench: Any) -> None:
    """A mask-32 log line can be replayed as it stands."""
    line = (
        "--api_method c -m 512 -n 512 -k 512 --lda 512 --ldb 512 --ldc 512 --ldd 512  --stride_a 0 --stride_b 0 "
        "--stride_c 0 --stride_d 0  --alpha 1.000000 --beta 0.000000 --alphai 0.000000 --betai 0.000000 --transA T "
        "--transB N --batch_count 1 --batch_mode 0 --scaleA 0 --scaleB 0  --bias_vector --bias_source d "
        "--a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --scale_type f32_r --bias_type f32_r "
        "--compute_type f32_r --algo_method index --solution_index 50 --activation_type gelu --any_stride "
        "--rotating 0 --cold_iters 0 --iters 0 --print_kernel_info"
    )
    out = bench.words(*line.split())
    (block,) = out.blocks
    assert (block["index"], block["activation_type"], block["bias_vector"]) == ("50", "gelu", "1")


def test_tuning_file(bench: Any, tmp_path: Path) -> None:
    file = tmp_path / "tuned.txt"
    words = "-m 512 -n 512 -k 512 --precision bf16_r --compute_type f32_r --transA T --transB N"
    out = bench.words(*words.split(), HIPBLASLT_TUNING_FILE=str(file))
    assert len(out.blocks) == 20
    git, header, values = file.read_text().splitlines()
    assert re.fullmatch(r"Git Version: [0-9a-f]{10}-simulated", git)
    assert header.endswith("us,solution_index,gcnArchName,CUs")
    assert values.endswith("gfx942:sramecc+:xnack-,304")


def test_devices(bench: Any) -> None:
    row = bench.row(512, 512, 512)
    none = bench.rows(row, device=8)
    assert none.status == 1
    assert "hipErrorInvalidDevice" in none.text
    seen = bench.rows(row, device=1, HIP_VISIBLE_DEVICES="4,6")
    assert "there are 2 devices. (Target device ID is 1)" in seen.text
    # The same physical device gives the same bytes below the banner.
    assert seen.blocks == bench.rows(row, device=6).blocks
    assert seen.blocks != bench.rows(row, device=5).blocks


def test_noise_depends_on_the_nonce_only(bench: Any) -> None:
    rows = [bench.row(512, 512, 512), bench.row(1024, 512, 512)]
    first = bench.rows(*rows, GEKO_SIM_NONCE="a")
    assert bench.rows(*rows, GEKO_SIM_NONCE="a").text == first.text
    other = bench.rows(*rows, GEKO_SIM_NONCE="b")
    us = [[float(block["us"]) for block in out.blocks] for out in (first, other)]
    assert us[0] != us[1]
    assert us[1] == pytest.approx(us[0], rel=0.2)
    # A row's result doesn't depend on its company in the batch.
    assert bench.rows(*rows[::-1], GEKO_SIM_NONCE="a").blocks == first.blocks[::-1]


def test_speed_lets_time_pass(bench: Any) -> None:
    row = bench.row(4096, 4096, 4096, iters=1000, cold_iters=1000)
    started = time.monotonic()
    out = bench.rows(row, GEKO_SIM_SPEED="1")
    us = float(out.blocks[0]["us"])
    assert time.monotonic() - started > 2000 * us * 1e-6 * 0.9


def test_the_projects_parser_reads_it(bench: Any) -> None:
    half = dict.fromkeys(("a_type", "b_type", "c_type", "d_type"), "f16_r")
    dense = bench.row(1024, 512, 512, requested_solution_num=-1, skip_slow_solution_ratio=0.6)
    out = bench.rows(
        dense, bench.row(512, 512, 512, **half), bench.row(512, 512, 512, print_kernel_info=True)
    )
    parsed = parse_bench_text(out.text)
    assert parsed.blocks.num_rows == len(out.blocks)
    (banner,) = parsed.banners
    assert "simulated" in str(banner.device_name)
    kinds = [event.kind for event in parsed.events]
    assert "no_solution" in kinds


def test_undefined_type(bench: Any) -> None:
    out = bench.rows(bench.row(512, 512, 512, a_type="bf17_r"))
    assert (out.status, "Undefined value bf17_r" in out.text) == (1, True)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1232200.0, "1.2322e+06"), (255.2384, "255.238"), (719368.4, "719368"), (1.0, "1"), (9.5e-7, "9.5e-07")],
)
def test_numbers_as_a_cpp_stream_prints_them(value: float, text: str) -> None:
    assert real(value) == text
