"""The data-type table."""

from __future__ import annotations

import math

import pytest

from geko.domain import dtypes
from geko.domain.dtypes import (
    BY_TOKEN,
    DATA_TYPES,
    DTYPE,
    DTYPE_BYTES,
    INDEX_TYPE_MAP,
    PAIR_TYPES,
    NotTunableError,
    UnknownTypeError,
    add_c,
    bytes_of,
    canonical_scale_code,
    canonical_type,
    default_scale_type,
    fold_fnuz,
    from_letter,
    mx_format,
    normalise_compute,
    type_support,
)
from geko.errors import InputError


def test_letters_and_bytes_of_the_tunable_types() -> None:
    expected = {
        "bf16_r": ("B", 2), "f16_r": ("H", 2), "f32_r": ("S", 4), "f64_r": ("D", 8), "f8_r": ("F8", 1),
        "f8_fnuz_r": ("F8N", 1), "bf8_r": ("B8", 1), "xf32_r": ("X", 4), "f4_r": ("F4", 0.5),
        "f32_c": ("C", 8), "f64_c": ("Z", 16),
    }  # fmt: skip
    for token, (letter, size) in expected.items():
        assert DTYPE[token] == letter
        assert DTYPE_BYTES[token] == size
    assert "i8_r" not in DTYPE
    assert DTYPE_BYTES["i8_r"] == 1 and DTYPE_BYTES["i32_r"] == 4
    assert isinstance(DTYPE_BYTES["bf16_r"], int)


def test_tokens_letters_and_spellings_are_unique() -> None:
    tokens = [dtype.token for dtype in DATA_TYPES]
    letters = [dtype.tensile for dtype in DATA_TYPES if dtype.tensile]
    numbers = [number for dtype in DATA_TYPES for number in dtype.enum]
    spellings = [
        name for d in DATA_TYPES for name in {d.token, d.torch, d.tunableop, d.te, *d.aliases} - {""}
    ]
    for values in (tokens, letters, numbers, spellings):
        assert len(values) == len(set(values))


def test_enumeration_keeps_fnuz_and_ocp_apart() -> None:
    assert [INDEX_TYPE_MAP[number] for number in (11, 12, 15, 16)] == [
        "f8_fnuz_r", "bf8_fnuz_r", "f8_r", "bf8_r",
    ]  # fmt: skip
    assert PAIR_TYPES[INDEX_TYPE_MAP[13]] == ("f8_fnuz_r", "bf8_fnuz_r")
    assert PAIR_TYPES[INDEX_TYPE_MAP[18]] == ("bf8_r", "f8_r")
    assert list(INDEX_TYPE_MAP) == list(range(22))
    assert [INDEX_TYPE_MAP[n] for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] == [
        "f32_r", "f64_r", "f32_c", "f64_c", "f16_r", "i8_r", "i32_r", "bf16_r", "i8_r", "i64_r",
    ]  # fmt: skip
    assert [INDEX_TYPE_MAP[n] for n in (19, 20, 21)] == ["f6_r", "bf6_r", "f4_r"]
    assert all(name in BY_TOKEN or name in PAIR_TYPES for name in INDEX_TYPE_MAP.values())


@pytest.mark.parametrize(
    ("spelling", "token"),
    [
        ("torch.bfloat16", "bf16_r"), ("BFloat16", "bf16_r"), ("Half", "f16_r"), ("float", "f32_r"),
        ("torch.float8_e4m3fnuz", "f8_fnuz_r"), ("Float8_e4m3fn", "f8_r"), ("float8e5m2", "bf8_r"),
        ("torch.int8", "i8_r"), ("fp16_r", "f16_r"), ("c10::complex<double>", "f64_c"), ("double", "f64_r"),
        ("bf16_r", "bf16_r"), (" fp8 ", "f8_r"), ("fp4x2", "f4_r"),
    ],
)  # fmt: skip
def test_spellings_of_other_tools(spelling: str, token: str) -> None:
    assert canonical_type(spelling) == token


def test_unknown_spelling_names_the_value_and_the_known_ones() -> None:
    with pytest.raises(UnknownTypeError, match=r"bf16_r.*got 'posit8'"):
        canonical_type("posit8")
    with pytest.raises(KeyError):
        canonical_type("B")
    with pytest.raises(UnknownTypeError):
        from_letter("")
    assert from_letter("F8N") == "f8_fnuz_r"
    assert issubclass(NotTunableError, InputError)


def test_sizes_below_a_byte() -> None:
    assert (bytes_of("f4_r"), bytes_of("f6_r")) == (0.5, 0.75)
    assert math.isnan(bytes_of("posit8"))
    assert BY_TOKEN["f64_c"].is_complex and not BY_TOKEN["f64_r"].is_complex


def test_fnuz_folds() -> None:
    assert fold_fnuz("f8_fnuz_r") == "f8_r" and fold_fnuz("bf8_fnuz_r") == "bf8_r"
    assert fold_fnuz("bf16_r") == "bf16_r"


@pytest.mark.parametrize(
    ("spelling", "bare", "logged", "scale"),
    [
        ("c_f32_r", "f32_r", "c_f32_r", "f32_r"),
        ("f32_r", "f32_r", "c_f32_r", "f32_r"),
        ("xf32", "xf32_r", "c_xf32", "f32_r"),
        ("c_xf32_r", "xf32_r", "c_xf32_r", "f32_r"),
        ("f64_r", "f64_r", "c_f64_r", "f64_r"),
        ("f16_r", "f16_r", "f16_r", "f16_r"),
        ("c_f32_fast_bf16_r", "f32_fast_bf16_r", "c_f32_fast_bf16_r", "f32_r"),
        ("c_f32_fast_f16_r", "f32_fast_f16_r", "c_f32_fast_f16_r", "f32_r"),
        ("c_i32_r", "i32_r", "c_i32_r", "i32_r"),
        ("c_mystery_r", "mystery_r", "c_mystery_r", "mystery_r"),
    ],
)
def test_compute_types(spelling: str, bare: str, logged: str, scale: str) -> None:
    assert normalise_compute(spelling) == bare
    assert normalise_compute(bare) == bare
    assert add_c(spelling) == logged
    assert default_scale_type(spelling) == scale


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        (("bf16_r", "bf16_r", "bf16_r", "c_f32_r"), ""),
        (("f32_r", "f32_r", "f32_r", "xf32_r"), ""),
        (("i8_r", "i8_r", "i32_r", "c_i32_r"), "a_type i8_r can be benchmarked, but not tuned"),
        (
            ("bf16_r", "bf16_r", "bf16_r", "c_f32_fast_bf16_r"),
            "f32_fast_bf16_r can be benchmarked",
        ),
        (("bf16_r", "posit8", "bf16_r", "f32_r"), "b_type posit8 is unknown"),
        (("bf16_r", "bf16_r", "bf16_r", "c_f99_r"), "compute_type f99_r is unknown"),
        (("f32_r", "f16_r", "f32_r", "xf32_r"), "needs f32_r matrices"),
        (("f16_r", "f16_r", "f16_r", "xf32_r"), "needs f32_r matrices"),
        (("xf32_r", "xf32_r", "f32_r", "f32_r"), "is a compute type"),
    ],
)
def test_what_can_be_tuned(types: tuple[str, str, str, str], reason: str) -> None:
    support = type_support(*types)
    assert support.tunable == (not reason)
    assert reason in support.reason


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, None), (1, None), (2, None), (3, (32, "E8")), (4, (16, "E8")), (5, (32, "F8")), (6, (16, "F8")),
        (7, (32, "E5M3")), (8, (16, "E5M3")), (1001, (32, "E8")),
    ],
)  # fmt: skip
def test_scale_codes(code: int, expected: tuple[int, str] | None) -> None:
    assert mx_format(code) == expected
    if expected is not None:
        assert mx_format(canonical_scale_code(*expected)) == expected
        assert canonical_scale_code(*expected) < 1000


def test_unknown_scale_codes() -> None:
    with pytest.raises(InputError, match="Unknown hipBLASLt scale value 9"):
        mx_format(9)
    with pytest.raises(InputError, match="block 64"):
        canonical_scale_code(64, "E8")
    assert dtypes.MX_SCALE_ENUM == {"E8": 22, "F8": 15, "E5M3": 23}
