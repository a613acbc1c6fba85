"""List files, inline words, bench YAML and CSV logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geko.errors import InputError, UsageError
from geko.ingest import bench_yaml, gemm_list, hipblaslt_csv
from geko.ingest.formats import Parsed
from geko.ingest.inline import inline_rows
from geko.warehouse import Scratch

LIST = """\
TRANSA: 'N'
TRANSB: 'T'
DataType: "B"
DestDataType: "B"
ComputeDataType: "S"
ARCH: "gfx950"
Sizes:
  - [1024, 512, 1, 256]
  - [2048, 2048, 3, 2048]
  - [1024, 512, 1, 256]
"""


@pytest.fixture(scope="module")
def scratch() -> Scratch:
    return Scratch(schema=False)


@pytest.fixture
def read(tmp_path: Path, scratch: Scratch):
    def reader(form: Any, text: str) -> Parsed:
        path = tmp_path / "file"
        path.write_text(text)
        assert form.sniff(text.encode(), path) > 0
        return form.parse(path, scratch)

    return reader


def sizes(parsed: Parsed) -> list[tuple[int, int, int, int]]:
    rows = parsed.tables["problem"].to_pylist()
    return sorted((row["m"], row["n"], row["batch"], row["k"]) for row in rows)


def test_generator_yaml(read) -> None:
    parsed = read(gemm_list.FORMAT, LIST)
    assert sizes(parsed) == [(1024, 512, 1, 256), (2048, 2048, 3, 2048)]
    row = parsed.tables["problem"].to_pylist()[0]
    assert (row["trans_a"], row["trans_b"], row["a_type"], row["compute_type"]) == (
        "N",
        "T",
        "bf16_r",
        "f32_r",
    )
    assert parsed.detail == {"arch": ["gfx950"], "n_duplicates": 1}
    counts = {r["first_line"]: r["call_count"] for r in parsed.tables["workload_call"].to_pylist()}
    assert counts == {8: 1, 9: 1}


def test_several_types_in_one_file(read) -> None:
    other = LIST.replace('"B"', '"H"')
    assert len(read(gemm_list.FORMAT, LIST + "---\n" + other).tables["problem"]) == 4
    as_list = "".join("- " + "  ".join(text.splitlines(keepends=True)) for text in (LIST, other))
    assert len(read(gemm_list.FORMAT, as_list).tables["problem"]) == 4


def test_mx_takes_the_code_of_the_architecture(read) -> None:
    text = LIST.replace('DataType: "B"\n', 'DataType: "F8"\n', 1) + "MX: True\n"
    for arch, code in (("gfx950", 1001), ("gfx1250", 3)):
        row = read(gemm_list.FORMAT, text.replace("gfx950", arch)).tables["problem"].to_pylist()[0]
        assert (row["a_type"], row["scale_a"], row["scale_b"]) == ("f8_r", code, code)


def test_booleans_are_transposes(read) -> None:
    parsed = read(gemm_list.FORMAT, LIST.replace("'N'", "True").replace("'T'", "False"))
    row = parsed.tables["problem"].to_pylist()[0]
    assert (row["trans_a"], row["trans_b"]) == ("T", "N")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ARCH", "SIZE_OPTION: 1\nARCH"), "SIZE_OPTION 0"),
        (("ARCH", "SIZE_OPTION: '1'\nARCH"), "SIZE_OPTION 0"),
        (("ARCH", "SIZE_OPTION: 2\nGEMM_LOG_PATH: x.yaml\nARCH"), "ingest that log itself.*x.yaml"),
        (("ARCH", "SIZE_OPTION: 7\nARCH"), "SIZE_OPTION must be 0"),
        (("TRANSB: 'T'\n", ""), "the key TRANSB is missing"),
        (("1, 256]", "0, 256]"), "four positive integers"),
        (("TRANSB: 'T'", "TRANSB: 'X'"), "Invalid transB"),
        (('"S"', '"Q"'), "ComputeDataType 'Q'"),
        (("[1024", "[[1024"), "not YAML"),
    ],
)
def test_bad_lists_name_file_and_line(read, change: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as info:
        read(gemm_list.FORMAT, LIST.replace(*change))
    assert info.value.path is not None
    assert info.value.line is not None


def test_tuples(read) -> None:
    parsed = read(
        gemm_list.FORMAT,
        "- [16032, 109, 1, 16384, B, B, S, T, N]\n- [4096, 4096, 1, 4096, F8, B, S, N, N, MX]\n",
    )
    rows = {row["m"]: row for row in parsed.tables["problem"].to_pylist()}
    assert (rows[16032]["trans_a"], rows[16032]["n"], rows[16032]["k"]) == ("T", 109, 16384)
    assert (rows[4096]["a_type"], rows[4096]["scale_a"]) == ("f8_r", 3)
    with pytest.raises(InputError, match=r"file:2: .*positive"):
        read(gemm_list.FORMAT, "- [16032, 109, 1, 16384, B, B, S, T, N]\n- [8, 0, 1, 8, B, B, S, T, N]\n")


@pytest.mark.parametrize(
    "words",
    [
        "16032 109 1 16384 B B S T N",
        "T N 16032 109 1 16384 B B S",
        "16032 109 1 16384 T N B B S",
        "16032 109 1 16384 B B S t n",
    ],
)
def test_inline(words: str) -> None:
    (row,) = inline_rows(words.split())
    assert (row["M"], row["N"], row["batch_count"], row["K"]) == (16032, 109, 1, 16384)
    assert (row["transA"], row["transB"], row["a_type"], row["compute_type"]) == (
        "T",
        "N",
        "bf16_r",
        "c_f32_r",
    )
    assert (row["scaleA"], row["scaleB"]) == (0, 0)


def test_inline_complex_in_the_documented_order() -> None:
    (row,) = inline_rows(["8", "8", "1", "8", "C", "C", "C", "C", "N"])
    assert (row["transA"], row["transB"], row["a_type"]) == ("C", "N", "f32_c")


def test_inline_mx() -> None:
    words = ["8", "8", "1", "8", "F8", "B", "S", "T", "N"]
    assert inline_rows([*words, "MX"], arch="gfx950")[0]["scaleA"] == 1001
    assert inline_rows([*words, "MXE8B16"])[0]["scaleA"] == 4
    with pytest.raises(UsageError, match="--arch"):
        inline_rows([*words, "MX"])
    with pytest.raises(UsageError, match="tenth word"):
        inline_rows([*words, "MY"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("8 8 1 8 B B S T", "nine words or ten, not 8"),
        ("x 8 1 8 B B S T N", "must be integers; M is 'x'"),
        ("8 8 0 8 B B S T N", "must be positive; batch is 0"),
        ("8 8 1 8 B B S T Q", "transB is 'Q'"),
        ("8 8 1 8 B W S T N", "DestDataType must be one of"),
        ("8 8 1 8 W B S T N", "Cannot resolve Tensile DataType 'W'"),
        ("8 8 1 8 F4 B S T N", ""),
    ],
)
def test_inline_errors(words: str, message: str) -> None:
    if not message:  # F4 is always block scaled, so that it needs no word
        assert inline_rows(words.split())[0]["scaleA"] == 3
        return
    with pytest.raises((UsageError, InputError), match=message):
        inline_rows(words.split())


TESTS = """\
---
include: ../hipblaslt_common.yaml
Definitions:
  - &sizes
    - { M: 16, N: 32, K: 64 }
    - { M: 128, N: 32, K: 64 }
Tests:
- name: first
  function:
    matmul: *fp8fp16_precision_dst_fp16
  matrix_size: *sizes
  transA: [N, T]
  transB: N
  alpha: 1
- name: second
  function: matmul
  precision:
    - *hpa_bf16_precision
    - { a_type: f32_r, b_type: f32_r, c_type: f32_r, d_type: f32_r, compute_type: c_f32_r }
  transA_transB: [ { transA: T, transB: N }, { transA: N, transB: N } ]
  M: [256, 512]
  N: 8
  K: 8
"""


def test_bench_tests_multiply_out(read) -> None:
    parsed = read(bench_yaml.FORMAT, TESTS)
    rows = parsed.tables["problem"].to_pylist()
    first = [row for row in rows if row["a_type"] == "f8_r"]
    assert sorted((row["m"], row["trans_a"]) for row in first) == [
        (16, "N"),
        (16, "T"),
        (128, "N"),
        (128, "T"),
    ]
    assert {row["compute_type"] for row in first} == {"f32_fast_f16_r"}
    assert len(rows) == 4 + 8
    assert {row["first_line"] for row in parsed.tables["workload_call"].to_pylist()} == {8, 15}


def test_bench_rows_in_block_style(read) -> None:
    text = "- function: matmul\n  M: 64\n  N: [8, 16]\n  K: 32\n"
    text += "  a_type: f16_r\n  b_type: f16_r\n  c_type: f16_r\n"
    parsed = read(bench_yaml.FORMAT, text)
    assert sizes(parsed) == [(64, 8, 1, 32), (64, 16, 1, 32)]
    assert parsed.tables["problem"].to_pylist()[0]["d_type"] == "f16_r"


def test_bench_yaml_with_an_unknown_name(read) -> None:
    with pytest.raises(InputError, match="no_such_precision"):
        read(bench_yaml.FORMAT, TESTS.replace("hpa_bf16_precision", "no_such_precision"))


def test_sequence(read) -> None:
    text = """\
GeneralSettings:
    Rotating: 512
Layers:
    - LayerType: GEMM
      Size: [256, 128, 64, 2]
      TransposeA: true
      TransposeB: false
      DataTypeA: f16_r
      DataTypeB: f16_r
      DataTypeC: f16_r
      DataTypeD: f16_r
      ComputeType: f32_f16_r
      Epilogue: HIPBLASLT_EPILOGUE_GELU_AUX_BIAS
      BiasType: f32_r
      AlgoIndex: 60
    - LayerType: FLUSH
"""
    parsed = read(bench_yaml.FORMAT, text)
    (row,) = parsed.tables["problem"].to_pylist()
    assert (row["m"], row["n"], row["k"], row["batch"], row["trans_a"]) == (256, 128, 64, 2, "T")
    assert (row["activation"], row["bias_type"], row["aux_type"]) == ("gelu", "f32_r", "f16_r")
    assert row["compute_type"] == "f32_fast_f16_r"
    assert parsed.tables["call"].to_pylist()[0]["solution_index"] == 60


CSV = """\
m,n,k,batch_count,transA,transB,a_type,b_type,c_type,d_type,compute_type,call_count,note
96,32,64,1,T,N,bf16_r,bf16_r,bf16_r,bf16_r,c_f32_r,3,"a, b"
96,32,64,1,T,N,bf16_r,bf16_r,bf16_r,bf16_r,c_f32_r,,
m,n,k,batch_count,transA,transB,a_type,b_type,c_type,d_type,compute_type,call_count,note
8,8,8
0,32,64,1,T,N,bf16_r,bf16_r,bf16_r,bf16_r,c_f32_r,1,
8,32,64,1,T,N,bf16_r,bf16_r,bf16_r,bf16_r,c_f32_r,2,
"""


def test_csv(read) -> None:
    parsed = read(hipblaslt_csv.FORMAT, CSV)
    assert sizes(parsed) == [(8, 32, 1, 64), (96, 32, 1, 64)]
    counts = sorted((r["first_line"], r["call_count"]) for r in parsed.tables["workload_call"].to_pylist())
    assert counts == [(2, 3), (3, 1), (7, 2)]
    reasons = [(row["line"], row["reason"]) for row in parsed.rejects.to_pylist()]
    assert reasons == [
        (5, "3 cells where the header has 13"),
        (6, "M must be a positive integer, not '0'"),
    ]


def test_csv_of_results_is_no_log() -> None:
    head = b"transA,transB,m,n,k,a_type,hipblaslt-Gflops,us\n"
    assert hipblaslt_csv.FORMAT.sniff(head, Path("x")) == 0
