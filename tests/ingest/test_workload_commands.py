"""Command-line logs: hipBLASLt's mask 32 of every form, rocBLAS's layer 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geko.ingest import bench_commands, rocblas_log
from geko.ingest.formats import Parsed
from geko.warehouse import Scratch

FORM_2023 = (
    "hipblaslt-bench -m 96 -n 32 -k 64 --lda 64 --ldb 64 --ldc 96 --ldd 96 --lde 96 --stride_a 0 --stride_b 0"
    " --stride_c 0 --stride_d 0 --stride_e 0 --alpha 1 --beta 1 --transA T --transB N --batch_count 1"
    " --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --compute_type f32_r --scale_type f32_r"
)
FORM_2024 = (
    "hipblaslt-bench --api_method c -m 96 -n 32 -k 64 --lda 64 --ldb 64 --ldc 96 --ldd 96  --stride_a 0"
    " --stride_b 0 --stride_c 0 --stride_d 0  --alpha 1.000000 --beta 1.000000 --transA T --transB N"
    " --batch_count 1 --scaleA 0 --scaleB 0  --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r"
    " --scale_type f32_r --bias_type f32_r   --compute_type f32_r --algo_method index --solution_index 19256"
    " --activation_type none"
)
FORM_2026 = FORM_2024 + " --any_stride --rotating 0 --cold_iters 0 --iters 0 "
FORM_2026_Q3 = FORM_2026.replace(
    "--beta 1.000000", "--alphai 0.000000 --beta 1.000000 --betai 0.000000 --batch_mode 0"
)


@pytest.fixture(scope="module")
def scratch() -> Scratch:
    return Scratch(schema=False)


@pytest.fixture
def read(tmp_path: Path, scratch: Scratch):
    def reader(text: str, form: Any = bench_commands.FORMAT) -> Parsed:
        path = tmp_path / "log"
        path.write_text(text)
        assert form.sniff(text.encode(), path) > 0.7
        return form.parse(path, scratch)

    return reader


def only(parsed: Parsed) -> dict[str, Any]:
    (row,) = parsed.tables["problem"].to_pylist()
    return row


def test_all_forms_are_one_problem(read) -> None:
    parsed = read("\n".join([FORM_2023, FORM_2024, FORM_2026, FORM_2026_Q3, FORM_2024]) + "\n")
    row = only(parsed)
    assert (row["trans_a"], row["trans_b"], row["m"], row["n"], row["k"]) == ("T", "N", 96, 32, 64)
    assert (row["a_type"], row["compute_type"], row["beta_class"]) == ("f16_r", "f32_r", "other")
    assert row["lda"] is None
    assert parsed.rejects is None
    counts = sorted(r["call_count"] for r in parsed.tables["workload_call"].to_pylist())
    assert counts == [1, 1, 1, 2]
    fields = [json.loads(r["fields"]) for r in parsed.tables["call"].to_pylist()]
    assert {f.get("solution_index") for f in fields} == {None, 19256}
    assert any(f.get("any_stride") is True for f in fields)
    assert any(f.get("batch_mode") == 0 for f in fields)


@pytest.mark.parametrize(
    "before", ["./build/release/clients/", "$ ", "2026-01-02 rank 3: /opt/rocm/bin/", "\t"]
)
def test_text_before_the_program(read, before: str) -> None:
    assert only(read(before + FORM_2024 + "\n"))["m"] == 96


def test_switches_and_short_options(read) -> None:
    text = (
        "hipblaslt-bench -m 8 -n 16 -k 32 -r bf16_r --bias_vector --bias_source d --bias_type f32_r"
        " --use_e -i 5 -j 2 -v"
    )
    parsed = read(text + " --compute_type c_f32_r --transA T\n")
    row = only(parsed)
    assert (row["a_type"], row["d_type"], row["bias_type"], row["aux_type"]) == (
        "bf16_r",
        "bf16_r",
        "f32_r",
        "bf16_r",
    )
    assert (row["trans_a"], row["trans_b"]) == ("T", "N")
    fields = json.loads(parsed.tables["call"].to_pylist()[0]["fields"])
    assert (fields["iters"], fields["cold_iters"]) == (5, 2)


def test_negative_values_and_equals_signs(read) -> None:
    parsed = read("hipblaslt-bench --sizem=8 -n 16 -k 32 --alpha -1.5 --beta 0 --requested_solution -1\n")
    assert only(parsed)["alpha_class"] == "other"
    (call,) = parsed.tables["call"].to_pylist()
    assert call["alpha"] == -1.5
    assert json.loads(call["fields"])["requested_solution"] == -1


@pytest.mark.parametrize("end", ["", " \\"])
def test_wrapped_over_lines(read, end: str) -> None:
    wrapped = FORM_2024.replace(" --", f"{end}\n  --")
    parsed = read(f"  158th hipblasLtMatmul:\n  {wrapped}\n  159th hipblasLtMatmul:\n  {wrapped}\n")
    assert only(parsed)["k"] == 64
    (count,) = parsed.tables["workload_call"].to_pylist()
    assert (count["call_count"], count["first_line"]) == (2, 2)
    assert parsed.rejects is None


def test_bad_lines_are_rejects(read) -> None:
    text = (
        FORM_2024
        + "\nhipblaslt-bench --yaml bench.yaml\nsome output\n"
        + FORM_2024.replace("-m 96", "-m 0")
        + "\nhipblaslt-bench --api_method c -m 96 -n 3"
    )
    parsed = read(text)
    reasons = [(row["line"], row["reason"]) for row in parsed.rejects.to_pylist()]
    assert reasons == [
        (2, "the command names a YAML file and no sizes: ingest that file"),
        (3, "no log entry: other output"),
        (4, "M must be a positive integer, not '0'"),
        (5, "the field K is missing"),
    ]
    assert parsed.n_rows == 1


def test_values_with_commas(read) -> None:
    parsed = read(FORM_2024 + " --device 0,1\n")
    assert json.loads(parsed.tables["call"].to_pylist()[0]["fields"])["device"] == "0,1"


def test_commented_commands_are_no_log() -> None:
    head = ("# " + FORM_2024 + "\n").encode()
    assert bench_commands.FORMAT.sniff(head, Path("x")) == 0
    assert (
        bench_commands.FORMAT.sniff(FORM_2024.encode() + b"\n[0]:transA,hipblaslt-Gflops,us\n", Path("x"))
        == 0
    )


ROCBLAS = (
    "./rocblas-bench -f gemm_strided_batched_ex --transposeA T --transposeB N -m 256 -n 64 -k 128 --alpha 1"
    " --a_type f16_r --lda 1024 --stride_a 99999 --b_type f16_r --ldb 128 --stride_b 8192 --beta 0"
    " --c_type f32_r"
    " --ldc 256 --stride_c 16384 --d_type f32_r --ldd 256 --stride_d 16384 --batch_count 96"
    " --compute_type f32_r"
    " --algo 0 --solution_index -5 --flags 0 \n"
)


def test_rocblas_layer_2(read) -> None:
    parsed = read("rocblas_set_stream,0x5,atomics_not_allowed\n" + ROCBLAS, rocblas_log.FORMAT)
    row = only(parsed)
    assert (row["trans_a"], row["batch"], row["lda"], row["stride_a"], row["stride_b"]) == (
        "T",
        96,
        1024,
        99999,
        None,
    )
    assert parsed.tables["call"].to_pylist()[0]["solution_index"] == -5
    assert len(parsed.rejects) == 1


def test_rocblas_layer_2_precision_and_function(read) -> None:
    text = (
        "./rocblas-bench -f gemm -r f64_r --transposeA N --transposeB T -m 8 -n 8 -k 8"
        " --alpha 1 --lda 8 --ldb 8"
        " --beta 0 --ldc 8\n./rocblas-bench -f trsm -r f32_r -m 8 -n 8\n"
    )
    parsed = read(text, rocblas_log.FORMAT)
    row = only(parsed)
    assert (row["a_type"], row["d_type"], row["compute_type"], row["scale_type"]) == ("f64_r",) * 4
    (reject,) = parsed.rejects.to_pylist()
    assert reject["reason"] == "a rocBLAS function that is no GEMM"


def test_rocblas_layer_4(read) -> None:
    ex = (
        '- { rocblas_function: "rocblas_gemm_ex", atomics_mode: atomics_not_allowed, a_type: "bf16_r",'
        ' b_type: "bf16_r",'
        ' c_type: "bf16_r", d_type: "bf16_r", compute_type: "f32_r", transA: \'T\', transB: \'N\','
        " M: 96, N: 32, K: 64,"
        " alpha: 1.0, lda: 64, beta: 0.0, ldb: 64, ldc: 96, ldd: 96, algo: 1,"
        " solution_index: -1086590766, flags: none,"
        " call_count: 12 }\n"
    )
    plain = (
        "- { rocblas_function: \"rocblas_dgemm\", transA: 'N', transB: 'N', M: 8,"
        " N: 8, K: 8, alpha: 1.0, lda: 8, ldb: 8,"
        " beta: 0.0, ldc: 8, call_count: 2 }\n"
    )
    other = "- { rocblas_function: \"rocblas_dtrsm\", side: L, M: 8, N: 8, transA: 'N', call_count: 1 }\n"
    parsed = read(ex + plain + other, rocblas_log.FORMAT)
    rows = {row["m"]: row for row in parsed.tables["problem"].to_pylist()}
    assert (rows[96]["a_type"], rows[96]["compute_type"], rows[96]["batch"]) == ("bf16_r", "f32_r", 1)
    assert (rows[8]["a_type"], rows[8]["compute_type"]) == ("f64_r", "f64_r")
    assert [row["reason"] for row in parsed.rejects.to_pylist()] == ["a rocBLAS function that is no GEMM"]
    indices = {row["solution_index"] for row in parsed.tables["call"].to_pylist()}
    assert indices == {-1086590766, None}
