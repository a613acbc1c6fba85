"""GEMM types and configurations."""

from __future__ import annotations

import itertools

import pytest

from geko.constants import GEMM_LOG_FIELDS, GEMM_TYPE_FIELDS
from geko.domain.dtypes import DTYPE, NotTunableError, UnknownTypeError
from geko.domain.gemm import (
    GemmConfig,
    GemmType,
    hipblaslt_types,
    merge_gemm_configs,
    tensile_types,
)
from geko.errors import InputError

BF16 = GemmType.from_tensile("T", "N", "B", "B", "S")
F4 = GemmType.from_tensile("T", "N", "F4", "B", "S")
F8 = GemmType.from_tensile("T", "N", "F8", "B", "S")
SIZE = [[16032, 109, 1, 16384]]


def test_with_hipblaslt_fields_only() -> None:
    gemm = GemmType(
        transA="T", transB="N", a_type="bf16_r", b_type="bf16_r", c_type="bf16_r", compute_type="f32_r"
    )
    assert gemm == BF16
    assert (gemm.data_type, gemm.dest_data_type, gemm.compute_data_type) == ("B", "B", "S")


def test_with_the_fields_of_a_result_table() -> None:
    key = ("T", "N", "bf16_r", "bf16_r", "bf16_r", "c_f32_r")
    assert GemmType(**dict(zip(GEMM_TYPE_FIELDS, key, strict=True))) == BF16


@pytest.mark.parametrize(
    ("trans", "letters", "tokens", "name"),
    [
        ("TN", ("B", "B", "S"), ("bf16_r", "bf16_r", "bf16_r", "f32_r"), "BBS_TN"),
        ("NN", ("H", "H", "S"), ("f16_r", "f16_r", "f16_r", "f32_r"), "HHS_NN"),
        ("TN", ("F8", "B", "S"), ("f8_r", "f8_r", "bf16_r", "f32_r"), "F8BS_TN"),
        ("NT", ("X", "S", "S"), ("f32_r", "f32_r", "f32_r", "xf32_r"), "XSS_NT"),
        ("NN", ("BH", "B", "S"), ("bf16_r", "f16_r", "bf16_r", "f32_r"), "BHBS_NN"),
        ("TN", ("F8B8", "S", "S"), ("f8_r", "bf8_r", "f32_r", "f32_r"), "F8B8SS_TN"),
        ("TN", ("F4", "B", "S"), ("f4_r", "f4_r", "bf16_r", "f32_r"), "F4BS_TN"),
        ("NN", ("D", "D", "D"), ("f64_r", "f64_r", "f64_r", "f64_r"), "DDD_NN"),
        ("CN", ("C", "C", "C"), ("f32_c", "f32_c", "f32_c", "f32_r"), "CCC_CN"),
        ("NC", ("Z", "Z", "Z"), ("f64_c", "f64_c", "f64_c", "f64_r"), "ZZZ_NC"),
        ("TN", ("F8N", "H", "S"), ("f8_fnuz_r", "f8_fnuz_r", "f16_r", "f32_r"), "F8NHS_TN"),
        ("TN", ("F8NB8N", "S", "S"), ("f8_fnuz_r", "bf8_fnuz_r", "f32_r", "f32_r"), "F8NB8NSS_TN"),
    ],
)
def test_both_ways(trans: str, letters: tuple[str, ...], tokens: tuple[str, ...], name: str) -> None:
    a, b = trans
    by_letters = GemmType.from_tensile(a, b, *letters)
    by_tokens = GemmType.from_hipblaslt(a, b, *tokens)
    assert by_letters == by_tokens
    assert by_letters.gemm_name == by_letters.name == name
    assert (by_tokens.data_type, by_tokens.dest_data_type, by_tokens.compute_data_type) == letters
    assert (by_letters.a_type, by_letters.b_type, by_letters.c_type, by_letters.compute_type) == tokens


def test_each_tunable_combination_round_trips() -> None:
    tokens = [token for token in DTYPE if token != "xf32_r"]
    for a, b, c in itertools.product(tokens, tokens, tokens):
        letters = tensile_types(a, b, c, "f32_r")
        if DTYPE[a] not in ("C", "Z"):
            assert hipblaslt_types(*letters) == (a, b, c, "f32_r")


def test_booleans_are_transposes() -> None:
    gemm = GemmType.from_hipblaslt(True, False, "f16_r", "f16_r", "f16_r", "c_f32_r")
    assert (gemm.transA, gemm.transB, gemm.compute_type) == ("T", "N", "f32_r")


def test_type_is_frozen_and_hashable() -> None:
    assert len({BF16, GemmType.from_tensile("T", "N", "B", "B", "S")}) == 1
    with pytest.raises(AttributeError):
        BF16.transA = "N"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("X", "N", "f16_r", "f16_r", "f16_r", "f32_r"), "Invalid transA 'X'"),
        (("N", "t", "f16_r", "f16_r", "f16_r", "f32_r"), "Invalid transB 't'"),
        (("N", "N", "f16_r", None, "f16_r", "f32_r"), "must be all set or all None"),
        (("N", "N", "posit8", "f16_r", "f16_r", "f32_r"), "Invalid a_type 'posit8'. Must be one of"),
        (("C", "N", "f16_r", "f16_r", "f16_r", "f32_r"), "transA='C' .* only valid for complex data types"),
        (("N", "C", "f16_r", "f16_r", "f16_r", "f32_r"), "transB='C' .* only valid for complex data types"),
        (("N", "N"), "must be non-empty strings"),
        (("N", "N", None, None, None, None, "B", "", "S"), "must be non-empty strings"),
        (("N", "N", "bf16_r", "bf16_r", "bf16_r", "f32_r", "H", "H", "S"), "don't belong"),
    ],
)
def test_invalid_types(fields: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GemmType(*fields)


def test_types_that_can_only_be_benchmarked() -> None:
    with pytest.raises(NotTunableError, match="'i8_r' can be benchmarked, but not tuned"):
        GemmType.from_hipblaslt("N", "N", "i8_r", "i8_r", "i32_r", "i32_r")
    with pytest.raises(NotTunableError, match="compute_type 'f32_fast_bf16_r' can be benchmarked"):
        GemmType.from_hipblaslt("N", "N", "f32_r", "f32_r", "f32_r", "c_f32_fast_bf16_r")
    with pytest.raises(KeyError):
        GemmType.from_hipblaslt("N", "N", "posit8", "f16_r", "f16_r", "f32_r")
    assert not issubclass(UnknownTypeError, NotTunableError)


@pytest.mark.parametrize("wrong", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_tf32_needs_three_f32_matrices(wrong: int | tuple[int, ...]) -> None:
    types = ["f32_r"] * 3
    for index in (wrong,) if isinstance(wrong, int) else wrong:
        types[index] = "f16_r"
    with pytest.raises(InputError, match="needs f32_r matrices"):
        GemmType.from_hipblaslt("N", "N", *types, "xf32_r")


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        (("Q", "B", "S"), "Cannot resolve Tensile DataType 'Q'"),
        (("F8B8H", "B", "S"), "Cannot resolve Tensile DataType"),
        (("B", "Q", "S"), "Cannot resolve Tensile DestDataType 'Q'"),
        (("B", "B", "Q"), "Cannot resolve Tensile ComputeDataType 'Q'"),
        (("", "B", "S"), "non-empty strings"),
        (("X", "S", "X"), "inconsistent"),
        (("C", "C", "Z"), "inconsistent"),
        (("B", "B", "C"), "inconsistent"),
        (("H", "H", "X"), "inconsistent"),
    ],
)
def test_letters_that_make_no_type(letters: tuple[str, str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GemmType.from_tensile("N", "N", *letters)


def test_ambiguous_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    from geko.domain import gemm

    monkeypatch.setitem(gemm.TENSILE_TO_TOKEN, "F", "f16_r")
    monkeypatch.setitem(gemm.TENSILE_TO_TOKEN, "8B", "bf16_r")
    with pytest.raises(InputError, match="Ambiguous Tensile DataType 'F8B'"):
        GemmType.from_tensile("N", "N", "F8B", "S", "S")


def test_workload_log_type_fields() -> None:
    assert F8.workload_log_type_fields() == {
        "transA": "T", "transB": "N", "a_type": "f8_r", "b_type": "f8_r", "c_type": "bf16_r",
        "d_type": "bf16_r", "compute_type": "c_f32_r",
    }  # fmt: skip


def test_rows_of_a_plain_configuration() -> None:
    config = GemmConfig(BF16, [[1024, 512, 2, 64], [8, 8, 1, 8]])
    rows = config.workload_log_rows()
    assert [list(row) for row in rows] == [list(GEMM_LOG_FIELDS)] * 2
    assert rows[0] == {
        "transA": "T", "transB": "N", "batch_count": 2, "M": 1024, "N": 512, "K": 64, "a_type": "bf16_r",
        "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r",
        "scaleA": 0, "scaleB": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gemm", "mx", "name", "code"),
    [
        (BF16, {}, "BBS_TN", 0),
        (F8, {}, "F8BS_TN", 0),
        (F8, {"mx": True}, "F8BS_MXE8B32_TN", 3),
        (F8, {"mx_block": 32}, "F8BS_MXE8B32_TN", 3),
        (F8, {"mx_block": 16}, "F8BS_MXE8B16_TN", 4),
        (F8, {"mx_block": 0}, "F8BS_TN", 0),
        (F4, {}, "F4BS_TN", 3),
        (F4, {"mx_block": 32, "mx_scale_type": "E8"}, "F4BS_TN", 3),
        (F4, {"mx_block": 16, "mx_scale_type": "F8"}, "F4BS_MXF8B16_TN", 6),
        (F4, {"mx_scale_type": "E5M3"}, "F4BS_MXE5M3B32_TN", 7),
    ],
)
def test_mx_names_and_codes(gemm: GemmType, mx: dict[str, object], name: str, code: int) -> None:
    config = GemmConfig(gemm, SIZE, **mx)  # type: ignore[arg-type]
    assert config.name == name
    assert config.workload_log_rows()[0]["scaleA"] == config.workload_log_rows()[0]["scaleB"] == code
    assert config.mx == (code != 0)
    if config.mx:
        assert config.workload_log_rows(mx_scale=1001)[0]["scaleB"] == 1001


def test_e8_is_the_default_scale_type() -> None:
    assert GemmConfig(F4, SIZE, mx_scale_type="E8") == GemmConfig(F4, SIZE)
    assert GemmConfig(F4, SIZE, mx_scale_type="E8").mx_scale_type is None


@pytest.mark.parametrize(
    ("gemm", "mx", "message"),
    [
        (F4, {"mx_block": 0}, "'F4' is always MX block scaled"),
        (BF16, {"mx": True}, "MX mode is not compatible with data type 'B'"),
        (BF16, {"mx_block": 32}, "MX mode is not compatible with data type"),
        (F8, {"mx": True, "mx_block": 0}, "conflicts"),
        (F8, {"mx_block": 8}, r"MX_BLOCK must be one of \(16, 32\)"),
        (F8, {"mx_block": True}, "MX_BLOCK must be one of"),
        (F8, {"mx": True, "mx_scale_type": "E4"}, "MX_SCALE_TYPE must be one of"),
        (F8, {"mx_scale_type": "F8"}, "needs MX"),
    ],
)
def test_contradictory_mx(gemm: GemmType, mx: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GemmConfig(gemm, SIZE, **mx)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sizes",
    [[], [[1, 2, 3]], [[1, 2, 3, 0]], [[1, 2, 3, -4]], [[1, 2, 3, 4.0]], [[1, 2, 3, True]],
     ["1234"], [7], [[1, 2, 3, "4"]]],
)  # fmt: skip
def test_bad_sizes(sizes: list[list[int]]) -> None:
    with pytest.raises(InputError, match=r"positive integers|non-empty"):
        GemmConfig(BF16, sizes)


def test_sizes_are_copied() -> None:
    sizes = [[1, 2, 3, 4]]
    config = GemmConfig(BF16, sizes)
    sizes[0][0] = 99
    assert config.sizes == [[1, 2, 3, 4]]


def test_merging_keeps_order_and_drops_duplicates() -> None:
    merged = merge_gemm_configs(
        [
            GemmConfig(F4, [[1, 1, 1, 1], [2, 2, 1, 2]]),
            GemmConfig(BF16, [[3, 3, 1, 3]]),
            GemmConfig(F4, [[2, 2, 1, 2], [4, 4, 1, 4]], mx_block=32),
            GemmConfig(F4, [[1, 1, 1, 1]], mx_block=16, mx_scale_type="F8"),
        ]
    )
    assert [(config.name, config.sizes) for config in merged] == [
        ("F4BS_TN", [[1, 1, 1, 1], [2, 2, 1, 2], [4, 4, 1, 4]]),
        ("BBS_TN", [[3, 3, 1, 3]]),
        ("F4BS_MXF8B16_TN", [[1, 1, 1, 1]]),
    ]
