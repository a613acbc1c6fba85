"""hipBLASLt profile logs: every version, every damage, as problems, calls and counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geko.domain.problem import Problem
from geko.ingest.formats import Parsed
from geko.ingest.hipblaslt_log import FORMAT
from geko.warehouse import Scratch

BASE: dict[str, Any] = {
    "function": "matmul", "M": 96, "N": 32, "K": 64, "lda": 64, "ldb": 64, "ldc": 96, "ldd": 96,
    "stride_a": 0, "stride_b": 0, "stride_c": 0, "stride_d": 0, "alpha": "1.000000", "beta": "0.000000",
    "transA": "T", "transB": "N", "batch_count": 1, "scaleA": 0, "scaleB": 0, "scaleAlpha_vector": "false",
    "gradient": "false", "use_e": "false", "bias_vector": "false", "bias_source": "d", "a_type": "bf16_r",
    "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "scale_type": "f32_r", "bias_type": "f32_r",
    "compute_type": "c_f32_r", "activation_type": "none", "flush": "false", "rotating": 512, "cold_iters": 0,
    "iters": 0, "call_count": 3,
}  # fmt: skip


def entry(start: str = "- {", end: str = "}", **changes: Any) -> str:
    row = {name: value for name, value in (BASE | changes).items() if value is not None}
    return start + ", ".join(f"{name}: {value}" for name, value in row.items()) + end


@pytest.fixture(scope="module")
def scratch() -> Scratch:
    return Scratch(schema=False)


@pytest.fixture
def read(tmp_path: Path, scratch: Scratch):
    def reader(text: str | bytes) -> Parsed:
        path = tmp_path / "log"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with path.open("rb") as handle:
            assert FORMAT.sniff(handle.read(65536), path) > 0
        return FORMAT.parse(path, scratch)

    return reader


def problems(parsed: Parsed) -> list[dict[str, Any]]:
    return parsed.tables["problem"].to_pylist() if "problem" in parsed.tables else []


def counts(parsed: Parsed) -> list[tuple[int, int, int]]:
    """(call_count, n_lines, first_line) by first line."""
    rows = parsed.tables["workload_call"].to_pylist()
    return sorted(
        ((row["call_count"], row["n_lines"], row["first_line"]) for row in rows), key=lambda row: row[2]
    )


def rejects(parsed: Parsed) -> list[tuple[int, int, str]]:
    if parsed.rejects is None:
        return []
    return [(row["line"], row["n_lines"], row["reason"]) for row in parsed.rejects.to_pylist()]


def test_plain_row(read) -> None:
    parsed = read(entry() + "\n")
    (row,) = problems(parsed)
    expected = Problem("T", "N", 96, 32, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
    assert Problem.from_row(row) == expected
    assert row["problem_id"] == expected.problem_id
    assert counts(parsed) == [(3, 1, 1)]
    assert (parsed.n_lines, parsed.n_rows, parsed.rejects) == (1, 1, None)


def test_call_keeps_every_field_but_the_count(read) -> None:
    parsed = read(entry(initialization="trig_float", use_gpu_timer=1, solution_index=218160))
    (call,) = parsed.tables["call"].to_pylist()
    fields = json.loads(call["fields"])
    assert fields["initialization"] == "trig_float"
    assert fields["solution_index"] == call["solution_index"] == 218160
    assert fields["use_gpu_timer"] is True
    assert fields["alpha"] == 1
    assert fields["compute_type"] == "c_f32_r"
    assert "call_count" not in fields
    assert list(fields) == sorted(fields)
    assert call["problem_id"] == problems(parsed)[0]["problem_id"]


def test_spellings_of_one_row_are_one_call(read) -> None:
    variants = [
        entry(),
        entry(start="- { ", end=" }"),
        entry(alpha="1.0", beta="0.0"),
        entry(call_count=5),
        entry(transA="'T'", a_type='"bf16_r"'),
        "   " + entry() + "   ",
        entry().replace(", ", ","),
        "- {" + ", ".join(reversed(entry()[3:-1].split(", "))) + "}",
    ]
    parsed = read("\n".join(variants) + "\n")
    assert len(parsed.tables["call"]) == 1
    assert counts(parsed) == [(3 * 7 + 5, 8, 1)]


def test_repeated_lines_count_each(read) -> None:
    parsed = read((entry() + "\n") * 4 + (entry(M=8, ldc=8, ldd=8) + "\n") * 2)
    assert counts(parsed) == [(12, 4, 1), (6, 2, 5)]
    assert parsed.n_rows == 6


@pytest.mark.parametrize("damage", [": , : , ", "scaleC: , scaleD: , ", ", ", " : , "])
def test_nameless_and_empty_slots(read, damage: str) -> None:
    parsed = read(entry().replace("scaleAlpha_vector", damage + "scaleAlpha_vector") + "\n" + entry() + "\n")
    assert parsed.rejects is None
    assert len(parsed.tables["call"]) == 1


@pytest.mark.parametrize(
    ("changes", "column", "value"),
    [
        ({"scaleA": 1001, "scaleB": 1001}, "scale_a", 1001),
        ({"scaleA": None, "scaleB": None}, "scale_a", 0),
        ({"scaleC": 1, "scaleD": 2}, "scale_d", 2),
        ({"swizzleA": "true", "swizzleB": "false"}, "swizzle_a", True),
        ({"bias_vector": "true"}, "bias_type", "f32_r"),
        ({"bias_vector": "true", "bias_type": "default"}, "bias_type", "bf16_r"),
        ({"bias_vector": "true", "bias_source": "a"}, "bias_source", "a"),
        ({"bias_vector": "false"}, "bias_type", None),
        ({"aux_type": "f32_r"}, "aux_type", None),
        ({"aux_type": "f32_r", "use_e": "true"}, "aux_type", "f32_r"),
        ({"use_e": "true"}, "aux_type", "bf16_r"),
        ({"activation_type": "gelu"}, "activation", "gelu"),
        ({"gradient": "true"}, "gradient", True),
        ({"scaleAlpha_vector": "true"}, "scale_alpha_vector", True),
        ({"alpha": "0.500000"}, "alpha_class", "other"),
        ({"beta": "1.000000"}, "beta_class", "other"),
        ({"alphai": "0.5"}, "alpha_class", "other"),
        ({"alphai": "0.000000", "betai": "0.000000"}, "beta_class", "zero"),
        ({"alpha": None, "beta": None}, "alpha_class", "one"),
        ({"d_type": None}, "d_type", "bf16_r"),
        ({"a_type": "f8_fnuz_r", "b_type": "bf8_fnuz_r"}, "b_type", "bf8_fnuz_r"),
        ({"compute_type": "c_f32_fast_bf16_r"}, "compute_type", "f32_fast_bf16_r"),
        ({"compute_type": "c_xf32_r", "scale_type": None}, "scale_type", "f32_r"),
        ({"lda": 64}, "lda", None),
        ({"lda": 80}, "lda", 80),
        ({"ldd": 0}, "ldd", None),
        ({"stride_a": 6144}, "stride_a", None),
        ({"batch_count": 4, "stride_a": 64 * 96}, "stride_a", None),
        ({"batch_count": 4, "stride_a": 0}, "stride_a", 0),
        ({"batch_count": 4, "lda": 80, "stride_a": 80 * 96}, "stride_a", None),
        ({"batch_count": 4, "stride_b": 9999}, "stride_b", 9999),
        ({"batch_count": None}, "batch", 1),
        ({"function": "grouped_gemm"}, "grouped", True),
        ({"grouped_gemm": "true"}, "grouped", True),
        ({"grouped_gemm": 0}, "grouped", False),
    ],
)  # fmt: skip
def test_meaning_of_fields(read, changes: dict[str, Any], column: str, value: Any) -> None:
    parsed = read(entry(**changes) + "\n")
    assert parsed.rejects is None
    (row,) = problems(parsed)
    assert row[column] == value
    assert row["problem_id"] == Problem.from_row(row).problem_id


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"M": 0}, "M must be a positive integer, not '0'"),
        ({"N": -5}, "N must be a positive integer, not '-5'"),
        ({"K": "x7"}, "K must be a positive integer, not 'x7'"),
        ({"batch_count": 0}, "batch_count must be a positive integer, not '0'"),
        ({"K": None}, "the field K is missing"),
        ({"compute_type": None}, "the field compute_type is missing"),
        ({"transA": "X"}, "transA must be N, T or C, not 'X'"),
        ({"alpha": "nan"}, "alpha must be a finite number, not 'nan'"),
        ({"flush": "maybe"}, "flush must be true or false, not 'maybe'"),
        ({"scaleA": -1}, "scaleA must be a scaling-format code, not '-1'"),
        ({"a_type": "q7_r"}, "a_type q7_r: unknown data type"),
        ({"M": 1 << 64}, "M must be a positive integer, not '18446744073709551616'"),
    ],
)
def test_wrong_values_are_rejects_that_name_them(read, changes: dict[str, Any], reason: str) -> None:
    parsed = read(entry() + "\n" + (entry(**changes) + "\n") * 2)
    assert rejects(parsed) == [(2, 2, reason)]
    assert parsed.rejects.to_pylist()[0]["text"] == entry(**changes)
    assert parsed.n_rows == 1


def test_cut_last_line(read) -> None:
    whole = entry()
    parsed = read(whole + "\n" + whole[: len(whole) // 2])
    assert rejects(parsed) == [(2, 1, "the entry is cut off: no closing brace")]
    assert parsed.n_rows == 1
    assert parsed.n_lines == 2


def test_log_continued_after_a_cut_entry(read) -> None:
    other = entry(M=8, ldc=8, ldd=8)
    parsed = read(entry()[:200] + other + "\n" + entry() + "\n")
    assert rejects(parsed) == [(1, 1, "the entry is cut off: no closing brace")]
    assert {row["m"] for row in problems(parsed)} == {8, 96}


def test_entries_among_program_output(read) -> None:
    text = (
        "step 1: loss 2.31 {lr: 0.1}\n"
        + "[rank0] "
        + entry()
        + "\n"
        + entry(M=8, ldc=8, ldd=8)
        + entry(M=16, ldc=16, ldd=16)
        + "done in 3 s\n\n# a comment\n---\nstep 1: loss 2.31 {lr: 0.1}\n"
    )
    parsed = read(text)
    assert sorted(row["m"] for row in problems(parsed)) == [8, 16, 96]
    assert rejects(parsed) == [(1, 2, "no log entry: other output")]
    assert parsed.detail == {"n_other_lines": 2}
    assert counts(parsed) == [(3, 1, 2), (3, 1, 3), (3, 1, 3)]


def test_much_other_output_is_counted_not_kept(read) -> None:
    parsed = read(entry() + "\n" + "".join(f"line {n}\n" for n in range(500)))
    assert parsed.detail == {"n_other_lines": 500}
    assert len(parsed.rejects) == 200


def test_entry_over_several_lines(read) -> None:
    cells = entry()[3:-1].split(", ")
    wrapped = (
        "- {" + ", ".join(cells[:10]) + ",\n   " + ", ".join(cells[10:20]) + ",\n   " + ", ".join(cells[20:])
    )
    parsed = read(entry(M=8, ldc=8, ldd=8) + "\n" + wrapped + "}\n" + entry() + "\n")
    assert parsed.rejects is None
    assert counts(parsed) == [(3, 1, 1), (6, 2, 2)]


def test_versions_mixed_in_one_file(read) -> None:
    new = entry(
        swizzleA="false",
        swizzleB="false",
        any_stride="true",
        algo_method=2,
        solution_index=7,
        scaleC=0,
        scaleD=0,
    )
    named = entry(solution_Name="Cijk_Alik_Bljk_BBS_BH_MT16x16x32", kernel_name="Cijk_Alik_Bljk_BBS_BH")
    parsed = read("\n".join([entry(), new, named]) + "\n")
    assert parsed.rejects is None
    assert len(problems(parsed)) == 1
    assert len(parsed.tables["call"]) == 3


def test_values_with_commas_and_brackets(read) -> None:
    parsed = read(entry(note='"a, b: c"', shape="[1, 2]") + "\n")
    assert parsed.rejects is None
    (call,) = parsed.tables["call"].to_pylist()
    assert json.loads(call["fields"])["note"] == "a, b: c"


def test_windows_line_ends_and_bytes_that_are_no_text(read) -> None:
    parsed = read(entry().encode() + b"\r\n" + b"\xff\xfe\x00 garbage\r\n" + entry().encode() + b"\r\n")
    assert counts(parsed) == [(6, 2, 1)]
    assert rejects(parsed)[0][:2] == (2, 1)


def test_lone_carriage_returns_do_not_shift_rows(read) -> None:
    parsed = read("10%\r20%\r30%\n" + entry() + "\n" + entry(M=8, ldc=8, ldd=8) + "\n")
    assert counts(parsed) == [(3, 1, 2), (3, 1, 3)]


def test_many_layouts_with_one_number_of_cells(read) -> None:
    lines = [entry(**{f"extra_{number}": number}) for number in range(100)]
    parsed = read("\n".join(lines) + "\n")
    assert parsed.rejects is None
    assert len(parsed.tables["call"]) == 100
    assert len(problems(parsed)) == 1


def test_long_reject_texts_are_cut(read) -> None:
    parsed = read(entry() + "\n" + entry(M=0, note="x" * 5000) + "\n")
    assert len(parsed.rejects.to_pylist()[0]["text"]) == 2000


def test_parts_give_the_same_as_the_whole(
    tmp_path: Path, scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from geko.ingest import lines

    path = tmp_path / "log"
    texts = [entry(M=8 * (n % 37 + 1), ldc=None, ldd=None, call_count=n) for n in range(400)]
    path.write_text("\n".join(texts) + "\n")
    whole = FORMAT.parse(path, scratch)
    monkeypatch.setattr(lines, "_CHUNK", 1 << 12)
    monkeypatch.setattr(lines, "_BATCH", 1 << 14)
    monkeypatch.setattr(lines, "_buffers", __import__("threading").local())
    put: list[Any] = []
    parts = FORMAT.parse_in_parts(path, scratch, put.append)
    assert len(put) > 3
    assert parts.n_lines == whole.n_lines == 400
    assert parts.n_rows == whole.n_rows == 400
    sums: dict[str, int] = {}
    for row in parts.tables["workload_call"].to_pylist():
        sums[row["call_id"]] = sums.get(row["call_id"], 0) + row["call_count"]
    expected = {row["call_id"]: row["call_count"] for row in whole.tables["workload_call"].to_pylist()}
    assert sums == expected
    ids = {row["call_id"] for tables in put for row in tables["call"].to_pylist()}
    assert ids == expected.keys()
