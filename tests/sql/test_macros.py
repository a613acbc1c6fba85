"""Every SQL macro against its twin in Python, or against figures worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geko.domain import metrics
from geko.domain.dtypes import BY_TOKEN
from geko.domain.gemm import GemmType
from geko.domain.identity import canonical_json, content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem, packed_leading_dimensions
from geko.warehouse.scratch import Scratch

SIZE = st.one_of(
    st.integers(1, 300_000),
    st.sampled_from([1, 32, 33, 64, 127, 128, 129, 255, 256, 512, 513, 1024, 1025, 2048, 3072, 3073, 4095]),
    st.sampled_from([4096, 8191, 8192, 8193, 16384, 32767, 32768]),
)
BATCH = st.one_of(st.integers(1, 10_000), st.sampled_from([1, 2, 128, 129, 1024, 1025, 8192, 8193]))
TOKEN = st.sampled_from(sorted(BY_TOKEN))
OPTIONAL_SIZE = st.one_of(st.none(), st.integers(0, 2**40))
PROBLEM = st.builds(
    Problem,
    trans_a=st.sampled_from("NTC"), trans_b=st.sampled_from("NTC"), m=SIZE, n=SIZE, batch=BATCH, k=SIZE,
    a_type=TOKEN, b_type=TOKEN, c_type=TOKEN, d_type=TOKEN, compute_type=TOKEN, scale_type=TOKEN,
    scale_a=st.integers(0, 9), scale_b=st.integers(0, 9), scale_c=st.integers(0, 9), scale_d=st.integers(0, 9),
    swizzle_a=st.booleans(), swizzle_b=st.booleans(), bias_type=st.one_of(st.none(), TOKEN),
    bias_source=st.sampled_from([None, "a", "b", "d"]), activation=st.sampled_from(["none", "gelu", "relu"]),
    aux_type=st.one_of(st.none(), TOKEN), gradient=st.booleans(), scale_alpha_vector=st.booleans(),
    grouped=st.booleans(), alpha_class=st.sampled_from(["one", "other"]),
    beta_class=st.sampled_from(["zero", "other"]), lda=OPTIONAL_SIZE, ldb=OPTIONAL_SIZE, ldc=OPTIONAL_SIZE,
    ldd=OPTIONAL_SIZE, stride_a=OPTIONAL_SIZE, stride_b=OPTIONAL_SIZE, stride_c=OPTIONAL_SIZE,
    stride_d=OPTIONAL_SIZE,
)  # fmt: skip
SIZES = st.lists(st.tuples(SIZE, SIZE, SIZE, BATCH), min_size=1, max_size=200)
RULES = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    with Scratch(threads=1, schema=False) as opened:
        yield opened


def problem_table(problems: list[Problem]) -> pa.Table:
    """Rows of table ``problem``, with the column types of the schema where a column is all null."""
    optional = {"lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"}
    columns: dict[str, Any] = {}
    for name in PROBLEM_FIELDS:
        values = [getattr(problem, name) for problem in problems]
        kind = (
            pa.int64()
            if name in optional
            else pa.string()
            if name in ("bias_type", "bias_source", "aux_type")
            else None
        )
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def sizes_table(sizes: list[tuple[int, int, int, int]]) -> pa.Table:
    return pa.table({name: [row[i] for row in sizes] for i, name in enumerate(("m", "n", "k", "batch"))})


def one(scratch: Scratch, text: str, **inputs: pa.Table) -> Any:
    return scratch.sql(text, inputs).column(0)[0].as_py()


@RULES
@given(st.text(min_size=0, max_size=40).filter(lambda text: "\0" not in text))
def test_content_id(scratch: Scratch, text: str) -> None:
    table = pa.table({"t": [text]})
    assert one(scratch, "SELECT content_id('kind', t)::VARCHAR FROM x", x=table) == content_id("kind", text)


def test_content_id_of_canonical_json(scratch: Scratch) -> None:
    document = {"b": 1, "a": [True, None, "ä"]}
    table = pa.table({"t": [canonical_json(document)]})
    assert one(scratch, "SELECT content_id('k', t)::VARCHAR FROM x", x=table) == content_id("k", document)


@RULES
@given(st.lists(PROBLEM, min_size=1, max_size=20))
def test_problem_text_and_id(scratch: Scratch, problems: list[Problem]) -> None:
    rows = scratch.sql(
        "SELECT problem_text(p) AS text, content_id('problem', problem_text(p))::VARCHAR AS id FROM p",
        {"p": problem_table(problems)},
    ).to_pylist()
    assert [row["text"] for row in rows] == [problem.canonical_text for problem in problems]
    assert [row["id"] for row in rows] == [problem.problem_id for problem in problems]


@RULES
@given(SIZES)
def test_shape_categories(scratch: Scratch, sizes: list[tuple[int, int, int, int]]) -> None:
    rows = scratch.sql(
        "SELECT shape_category(m, n, k, batch) AS one, shape_category_2(m, n, k, batch) AS two FROM s",
        {"s": sizes_table(sizes)},
    ).to_pylist()
    assert [row["one"] for row in rows] == [metrics.categorize(*size) for size in sizes]
    assert [row["two"] for row in rows] == [metrics.categorize_2(*size) for size in sizes]


def test_every_category_is_reached(scratch: Scratch) -> None:
    """The classes of both taxonomies come out of SQL as out of Python over a grid of the borders."""
    borders = (1, 32, 64, 128, 129, 256, 1024, 3072, 4096, 8192, 8193, 40_000)
    sizes = [(m, n, k, b) for m in borders for n in borders for k in borders for b in (1, 2, 129, 1025, 8193)]
    rows = scratch.sql(
        "SELECT shape_category(m, n, k, batch) AS one, shape_category_2(m, n, k, batch) AS two FROM s",
        {"s": sizes_table(sizes)},
    )
    assert rows["one"].to_pylist() == [metrics.categorize(*size) for size in sizes]
    assert rows["two"].to_pylist() == [metrics.categorize_2(*size) for size in sizes]
    assert len(set(rows["one"].to_pylist())) == 20
    assert set(rows["two"].to_pylist()) == {"1.1", "1.2", "2", "3.1", "3.2", "4", "5", "6"}


def test_type_bytes(scratch: Scratch) -> None:
    tokens = sorted(BY_TOKEN)
    rows = scratch.sql("SELECT type_bytes(t) AS n FROM x", {"x": pa.table({"t": tokens})})["n"].to_pylist()
    assert dict(zip(tokens, rows, strict=True)) == {token: BY_TOKEN[token].bytes for token in tokens}
    assert one(scratch, "SELECT type_bytes('posit8')") is None
    assert one(scratch, "SELECT type_bytes(NULL)") is None
    assert one(scratch, "SELECT typeof(type_bytes('f4_r'))") == "DOUBLE"


def test_type_letters(scratch: Scratch) -> None:
    tokens = sorted(token for token in BY_TOKEN if BY_TOKEN[token].tensile)
    rows = scratch.sql("SELECT type_letter(t) AS n FROM x", {"x": pa.table({"t": tokens})})["n"].to_pylist()
    assert dict(zip(tokens, rows, strict=True)) == {token: BY_TOKEN[token].tensile for token in tokens}
    assert one(scratch, "SELECT type_letter('posit8')") == "posit8"


@RULES
@given(st.lists(st.tuples(SIZE, SIZE, SIZE, TOKEN, TOKEN, TOKEN), min_size=1, max_size=60))
def test_arithmetic_intensity(scratch: Scratch, rows: list[tuple[int, int, int, str, str, str]]) -> None:
    names = ("m", "n", "k", "a_type", "b_type", "c_type")
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    got = scratch.sql("SELECT arithmetic_intensity(p) AS x FROM p", {"p": table})["x"].to_pylist()
    assert got == pytest.approx([metrics.arithmetic_intensity(*row) for row in rows], rel=1e-12)


def test_arithmetic_intensity_of_sub_byte_and_unknown_types(scratch: Scratch) -> None:
    sizes = "300000::BIGINT AS m, 300000::BIGINT AS n, 300000::BIGINT AS k"
    types = "'f4_r' AS a_type, 'f6_r' AS b_type, 'bf16_r' AS c_type"
    wide = f"SELECT arithmetic_intensity(p) FROM (SELECT {sizes}, {types}) AS p"
    assert one(scratch, wide) == pytest.approx(2 * 300000 / (0.5 + 0.75 + 2))
    assert one(scratch, wide.replace("'f6_r'", "'posit8'")) is None


def test_gemm_names(scratch: Scratch) -> None:
    problems = [
        Problem("T", "N", 1, 2, 1, 4, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r"),
        Problem("N", "N", 1, 2, 1, 4, "f8_r", "bf8_r", "bf16_r", "bf16_r", "f32_r"),
        Problem("C", "T", 1, 2, 1, 4, "f32_c", "f32_c", "f32_c", "f32_c", "f32_c"),
        Problem("N", "T", 1, 2, 1, 4, "f32_c", "f32_c", "f32_c", "f32_c", "f32_r"),
        Problem("N", "T", 1, 2, 1, 4, "f32_r", "f32_r", "f32_r", "f32_r", "xf32_r"),
    ]
    tuned = problems[:2] + problems[3:]
    assert all(
        GemmType.from_hipblaslt(p.trans_a, p.trans_b, p.a_type, p.b_type, p.c_type, p.compute_type).name
        == name
        for p, name in zip(tuned, ("BBS_TN", "F8B8BS_NN", "CCC_NT", "XSS_NT"), strict=True)
    )
    got = scratch.sql("SELECT gemm_name(p) AS n FROM p", {"p": problem_table(problems)})["n"].to_pylist()
    assert got == ["BBS_TN", "F8B8BS_NN", "CCC_CT", "CCC_NT", "XSS_NT"]


@RULES
@given(st.lists(PROBLEM, min_size=1, max_size=20))
def test_leading_dimensions(scratch: Scratch, problems: list[Problem]) -> None:
    rows = scratch.sql(
        "SELECT full_lda(p) AS a, full_ldb(p) AS b FROM p", {"p": problem_table(problems)}
    ).to_pylist()
    for row, problem in zip(rows, problems, strict=True):
        lda, ldb, _, _ = packed_leading_dimensions(problem)
        assert row == {
            "a": lda if problem.lda is None else problem.lda, "b": ldb if problem.ldb is None else problem.ldb
        }  # fmt: skip


def test_iterations(scratch: Scratch) -> None:
    def count(duration: str, us: str) -> Any:
        return one(scratch, f"SELECT iterations({duration}::DOUBLE, {us}::DOUBLE, 77)")

    assert count("0.04", "10") == 4000
    assert count("0.04", "3") == 13334
    assert count("0.04", "1e9") == 1
    for nothing in ("NULL", "0", "-1", "'inf'", "'nan'"):
        assert count("0.04", nothing) == 77
    assert count("0", "10") == 77


def test_guessed_time_is_the_slower_of_compute_and_memory(scratch: Scratch) -> None:
    sizes = "SELECT guessed_us(p) FROM (SELECT {}::BIGINT AS m, {}::BIGINT AS n, {}::BIGINT AS k, 1::BIGINT AS batch) AS p"
    assert one(scratch, sizes.format(4096, 4096, 4096)) == pytest.approx(5 + 2 * 4096**3 / 1e8)
    assert one(scratch, sizes.format(1, 1, 10**6)) == pytest.approx(5 + 2 * (2 * 10**6 + 1) / 1e6)


def test_count_within_is_half_open(scratch: Scratch) -> None:
    assert one(scratch, "SELECT count_within([0.0, 1.0, 2.9, 3.0, 4.0], 1, 3)") == 2
    assert one(scratch, "SELECT count_within([]::DOUBLE[], 1, 3)") == 0


def test_uplift_stats(scratch: Scratch) -> None:
    document = json.loads(one(scratch, "SELECT uplift_stats([1.0, 1.1, 1.3, 2.0]::DOUBLE[])::VARCHAR"))
    logs = [math.log(x) for x in (1.0, 1.1, 1.3, 2.0)]
    mean = (1.0 + 1.1 + 1.3 + 2.0) / 4
    deviation = math.sqrt(sum((x - mean) ** 2 for x in (1.0, 1.1, 1.3, 2.0)) / 4)
    assert document == pytest.approx(
        {
            "mean_uplift_pct": (mean - 1) * 100, "geomean_uplift_pct": (math.exp(sum(logs) / 4) - 1) * 100,
            "median_uplift_pct": 20.0, "max_uplift_pct": 100.0, "min_uplift_pct": 0.0,
            "std_uplift_pct": deviation * 100, "p25": 7.5, "p50": 20.0, "p75": 47.5, "p90": 79.0, "p99": 97.9,
        }
    )  # fmt: skip
    empty = json.loads(one(scratch, "SELECT uplift_stats([]::DOUBLE[])::VARCHAR"))
    assert set(empty) == set(document) and set(empty.values()) == {None}


def test_job_key_tells_every_part_apart(scratch: Scratch) -> None:
    parts = ["'baseline'", "'p1'", "'l1'", "'r1'", "'e1'", "''"]
    keys = {one(scratch, f"SELECT job_key({', '.join(parts)})::VARCHAR")}
    for place in range(6):
        changed = [*parts[:place], "'other'", *parts[place + 1 :]]
        keys.add(one(scratch, f"SELECT job_key({', '.join(changed)})::VARCHAR"))
    keys.add(one(scratch, "SELECT job_key('baseline', 'p1', NULL, 'r1', 'e1', '')::VARCHAR"))
    assert len(keys) == 8
    expected = content_id("job", "baseline|p1|~|r1|e1|")
    assert one(scratch, "SELECT job_key('baseline', 'p1', NULL, 'r1', 'e1', '')::VARCHAR") == expected


def bench_row(scratch: Scratch, problem: Problem, settings_: str = "{}") -> dict[str, Any]:
    text = f"SELECT timed_row(p, '{settings_}'::JSON, 12, 3)::VARCHAR FROM p"
    document = json.loads(one(scratch, text, p=problem_table([problem])))
    assert isinstance(document, dict)
    return document


def test_bench_row_of_a_plain_problem(scratch: Scratch) -> None:
    plain = Problem("T", "N", 16, 32, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
    assert bench_row(scratch, plain, '{"rotating":512,"initialization":"trig_float"}') == {
        "function": "matmul", "M": 16, "N": 32, "K": 64, "batch_count": 1, "transA": "T", "transB": "N",
        "alpha": 1.0, "beta": 0.0, "a_type": "bf16_r", "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r",
        "compute_type": "c_f32_r", "scale_type": "f32_r", "scaleA": 0, "scaleB": 0, "activation_type": "none",
        "rotating": 512, "initialization": "trig_float", "iters": 12, "cold_iters": 3,
    }  # fmt: skip


def test_bench_row_says_everything_that_is_unusual(scratch: Scratch) -> None:
    full = Problem(
        "N", "C", 16, 32, 5, 64, "f8_r", "bf8_r", "f16_r", "f16_r", "f32_r", scale_a=1, scale_b=2, scale_c=1,
        scale_d=1, swizzle_a=True, swizzle_b=True, bias_type="f16_r", bias_source="a", activation="gelu",
        aux_type="f8_r", gradient=True, scale_alpha_vector=True, grouped=True, alpha_class="other",
        beta_class="other", lda=128, ldb=129, ldc=130, ldd=131, stride_a=10_000, stride_b=0, stride_c=30_000,
        stride_d=40_000,
    )  # fmt: skip
    row = bench_row(scratch, full)
    assert row["alpha"] == 2.0 and row["beta"] == 1.0
    assert [row[f"ld{x}"] for x in "abcd"] == [128, 129, 130, 131]
    assert [row[f"stride_{x}"] for x in "abcd"] == [10_000, 0, 30_000, 40_000]
    assert (row["swizzle_a"], row["swizzle_b"], row["scaleC"], row["scaleD"]) == (True, True, 1, 1)
    assert (row["bias_vector"], row["bias_type"], row["bias_source"]) == (True, "f16_r", "a")
    assert (row["use_e"], row["aux_type"], row["gradient"], row["grouped_gemm"]) == (True, "f8_r", True, True)
    assert (row["scaleAlpha_vector"], row["activation_type"], row["batch_count"]) == (True, "gelu", 5)


def test_integer_inputs_take_integers(scratch: Scratch) -> None:
    problem = Problem("T", "N", 16, 32, 1, 64, "i8_r", "i8_r", "i32_r", "i32_r", "i32_r")
    assert bench_row(scratch, problem, '{"initialization":"trig_float"}')["initialization"] == "rand_int"


def test_words_for_people(scratch: Scratch) -> None:
    plain = Problem("T", "N", 8, 4, 1, 16, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
    odd = replace(
        plain, bias_type="bf16_r", bias_source="a", activation="gelu", scale_a=1, scale_b=1, grouped=True, lda=32,
        stride_b=1024,
    )  # fmt: skip
    rows = scratch.sql(
        "SELECT epilogue_text(p) AS wants, leading_text(p) AS leads FROM p",
        {"p": problem_table([plain, odd])},
    ).to_pylist()
    assert rows == [
        {"wants": "none", "leads": "packed"},
        {"wants": "bias bf16_r from a, gelu, scale A/B 1/1, grouped", "leads": "lda 32, stride b 1024"},
    ]
    (row,) = scratch.sql(
        "SELECT real_trans('C', 'f32_r') AS r, real_trans('C', 'f32_c') AS c, real_trans('N', 'f32_r') AS n",
        {},
    ).to_pylist()
    assert row == {"r": "T", "c": "C", "n": "N"}
