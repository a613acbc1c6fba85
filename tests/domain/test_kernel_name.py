"""Kernel and solution names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geko.domain.identity import canonical_json
from geko.domain.kernel_columns import HOT_COLUMNS
from geko.domain.kernel_name import parse_head, parse_name, parse_names, parse_token

_COMMON = (
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x224x64_MI16x16x1_CMS_SN_LDSB0_AFC1_AFEM1_AFEM1_ASEM1_CLR1"
    "_DTLA1_DTLB0_DTVA0_DTVB1_GRVWA8_GRVWB4_GSU0_GSUAMB{run_time_1}_GLS0_ISA950_IU1_K1_LPA16_LWPM0p30_MIWT8_7_NTn1"
    "_NTC0_NTD4_PGR2_PLR1_SIA3_SS1{run_time_2}_SVW8_SK3_SKXCCM8_TLDS1_VWA8_VWB2_WS64_WG32_8_1{run_time_3}"
)
KERNEL = _COMMON.format(run_time_1="", run_time_2="", run_time_3="")
SOLUTION = _COMMON.format(
    run_time_1="_GSUC0_GSUWGMRR0", run_time_2="_SU4_SUM1_SUS128", run_time_3="_WGM16_WGMXCC2_WGMXCCGn1"
)


def test_hot_columns_of_a_solution() -> None:
    hot = parse_name(SOLUTION).hot()
    assert list(hot) == list(HOT_COLUMNS)
    expected = {
        "contraction": "Cijk_Alik_Bljk", "types": "BBS", "trans_a": "T", "trans_b": "N", "batched": True,
        "high_precision": True, "user_args": True, "epilogue": "Bias_HA_S_SAV", "custom": False, "mt0": 256,
        "mt1": 224, "depth_u": 64, "mi_m": 16, "mi_n": 16, "mi_k": None, "mi_b": 1, "miwt0": 8, "miwt1": 7,
        "gsu": 0,
        "gsu_algorithm": "MB", "stream_k": 3, "tile_strategy": None, "stream_k_xcc": 8, "wgm": 16,
        "wgm_xcc": 2,
        "wgm_xccg": -1, "pgr": 2, "plr": 1, "local_split_u": 1, "vwa": 8, "vwb": 2, "grvwa": 8, "grvwb": 4,
        "svw": 8,
        "stagger_u": 4, "stagger_mapping": 1, "stagger_stride": 128, "direct_to_lds_a": 1,
        "direct_to_lds_b": 0,
        "direct_to_vgpr_a": 0, "direct_to_vgpr_b": 1, "lds_buffer": 0, "transpose_lds": 1, "sia": 3,
        "isa": "gfx950",
        "wg_x": 32, "wg_y": 8, "wg_z": 1, "workgroup_size": 256, "wavefront_size": 64, "nt_a": None,
        "nt_b": None,
        "nt_c": 0, "nt_d": 4, "clr": 1, "cms": True,
    }  # fmt: skip
    assert hot == expected


def test_tokens_keep_order_repeats_and_types() -> None:
    parsed = parse_name(SOLUTION)
    assert parsed.tokens[:7] == (
        ("MT", (256, 224, 64)), ("MI", (16, 16, 1)), ("CMS", True), ("SN", True), ("LDSB", 0), ("AFC", 1),
        ("AFEM", 1),
    )  # fmt: skip
    assert [key for key, _ in parsed.tokens].count("AFEM") == 2
    assert parsed.get("NT") == -1 and parsed.get("LWPM") == 0.3 and parsed.get("WG") == (32, 8, 1)
    assert parsed.get("XYZ") is None and parsed.get("XYZ", 5) == 5
    assert parsed.leftover == () and parsed.rest == "" and parsed.family == "tensile"
    assert parsed.unique_tokens()["AFEM#2"] == 1


def test_solution_and_kernel_name_of_one_kernel() -> None:
    solution, kernel = parse_name(SOLUTION), parse_name(KERNEL)
    assert SOLUTION != KERNEL
    assert solution.kernel_key() == kernel.kernel_key() == kernel.canonical_json()
    assert solution.canonical_json() != kernel.canonical_json()
    other = parse_name(KERNEL.replace("VWB2", "VWB4"))
    assert other.kernel_key() != kernel.kernel_key()


@pytest.mark.parametrize(
    ("in_solution", "in_kernel"), [("_GSU4", ""), ("_GSU1", "_GSUM"), ("_GSUn1", ""), ("_GSU0", "_GSU0")]
)
def test_global_split_u_is_an_argument_unless_zero(in_solution: str, in_kernel: str) -> None:
    name = "Cijk_Ailk_Bjlk_HHS_BH_UserArgs_MT64x64x32_MI16x16x1_SN_CLR1{gsu}_GSUAMBSK_WG32_4_1"
    key = parse_name(name.format(gsu=in_solution)).kernel_key()
    assert key == parse_name(name.format(gsu=in_kernel)).kernel_key()
    stream_k = parse_name(name.format(gsu="_GSU0")).kernel_key()
    assert (key == stream_k) == (in_solution == "_GSU0")


def test_canonical_tokens_are_an_identity() -> None:
    parsed = parse_name(SOLUTION)
    tokens = parsed.canonical_tokens()
    assert list(tokens) == sorted(tokens)
    assert json.loads(parsed.canonical_json()) == tokens
    assert parsed.canonical_json() == canonical_json(tokens)
    assert tokens["WG"] == [32, 8, 1] and tokens["Types"] == "BBS" and tokens["UserArgs"] is True
    swapped = SOLUTION.replace("_AFC1_AFEM1_AFEM1", "_AFEM1_AFC1_AFEM1")
    assert parse_name(swapped).canonical_json() == parsed.canonical_json()
    assert (
        parse_name(SOLUTION.replace("_AFEM1_AFEM1", "_AFEM1_AFEM2")).canonical_json()
        != parsed.canonical_json()
    )


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("NTn1", "NT", -1), ("LWPM0p35", "LWPM", 0.35), ("1LDSB1", "LDSB", 1), ("GSUAMBSK", "GSUA", "MBSK"),
        ("GSUASB", "GSUA", "SB"), ("GSUM", "GSU", "M"), ("GSUAMB", "GSUA", "MB"), ("ISA90a", "ISA", "90a"),
        ("ISA1250", "ISA", "1250"), ("AF0EM1", "AF0EM", 1), ("U64SL1", "U64SL", 1), ("ASAE01", "ASAE", "01"),
        ("GRVW08", "GRVW", 8), ("KLA", "KL", "A"), ("TPSSK", "TPS", "SK"), ("WASG", "WA", "SG"),
        ("MXLITDM", "MXLI", "TDM"), ("MXSFIMS", "MXSF", "IMS"), ("MMFGLC", "MMF", "GLC"),
        ("CD1_1", "CD", (1, 1)),
        ("MI16x16x4x1", "MI", (16, 16, 4, 1)), ("SE", "SE", True), ("K1", "K", 1),
    ],
)  # fmt: skip
def test_tokens_of_all_forms(text: str, key: str, value: object) -> None:
    token = parse_token(text)
    assert token.known and token.key == key
    assert token.value == value and type(token.value) is type(value)


@pytest.mark.parametrize(
    ("head", "types", "batched", "wide", "user_args", "epilogue", "trans"),
    [
        ("Cijk_Ailk_Bjlk_SB", "S", True, False, False, "", "NT"),
        ("Cijk_Ailk_Bljk_SB_UserArgs", "S", True, False, True, "", "NN"),
        ("Cijk_Alik_Bljk_DB_UserArgs", "D", True, False, True, "", "TN"),
        ("Cijk_Ailk_Bjlk_HB", "H", True, False, False, "", "NT"),
        ("Cijk_Ailk_Bjlk_BBH", "B", True, True, False, "", "NT"),
        ("Cijk_Alik_Bjlk_HHS_BH_GG", "HHS", True, True, False, "GG", "TT"),
        ("Cijk_Alik_Bjlk_HHS_BBiasH_HAH_SAV", "HHS", True, False, False, "BiasH_HAH_SAV", "TT"),
        ("Cijk_Alik_Bljk_F8B8SS_BH_SAB_UserArgs", "F8B8SS", True, True, True, "SAB", "TN"),
        ("Cijk_Ailk_Bjlk_S_B_BiasS_HAS_SAV_UserArgs", "S", True, False, True, "BiasS_HAS_SAV", "NT"),
        ("Cijk_Ailk_Bjlk_S_MX_B_Bias_HA_S_SAV_UserArgs", "S", True, False, True, "MX_Bias_HA_S_SAV", "NT"),
        ("Cijk_Alik_Bljk_F4SS_MXAF8B32_MXBF8B32_BH_UserArgs", "F4SS", True, True, True, "MXAF8B32_MXBF8B32",
         "TN"),
        ("Cijk_Ailk_Bljk_HF8_HHS_BH_SAB", "HF8_HHS", True, True, False, "SAB", "NN"),
        ("Cijk_AlikC_Bljk_CB", "C", True, False, False, "", "TN"),
    ],
)  # fmt: skip
def test_heads(
    head: str, types: str, batched: bool, wide: bool, user_args: bool, epilogue: str, trans: str
) -> None:
    parsed = parse_head(head)
    assert (parsed.types, parsed.batched, parsed.high_precision) == (types, batched, wide)
    assert (parsed.user_args, parsed.epilogue) == (user_args, epilogue)
    assert parsed.trans_a + parsed.trans_b == trans


def test_old_tensile_name() -> None:
    name = (
        "Cijk_Ailk_Bjlk_HB_MT64x128x16_SE_1LDSB0_AMAS3_ASAE01_BL1_DTL1_GLVWA4_GRVW08_GSU02_KLA_TT04_08_USFGROn1_VW04"
        "_VWB2_WG16_16_01_WGM01"
    )
    parsed = parse_name(name)
    assert parsed.leftover == ()
    hot = parsed.hot()
    assert (hot["vwa"], hot["vwb"], hot["grvwa"], hot["grvwb"], hot["gsu"]) == (4, 2, 4, 8, 2)
    assert (hot["direct_to_lds_a"], hot["direct_to_lds_b"], hot["workgroup_size"]) == (1, 1, 256)
    assert parsed.get("TT") == (4, 8) and parsed.get("ASAE") == "01"


def test_instruction_with_its_k() -> None:
    hot = parse_name("Cijk_Alik_Bjlk_HHS_BH_GG_MT64x64x32_MI32x32x8x1_SN_MIWT1_1").hot()
    assert (hot["mi_m"], hot["mi_n"], hot["mi_k"], hot["mi_b"]) == (32, 32, 8, 1)


@pytest.mark.parametrize(("strategy", "stream_k"), [("TPSSK_WASG", 3), ("TPSN", 0), ("TPSDP_WASG", None)])
def test_renamed_stream_k(strategy: str, stream_k: int | None) -> None:
    hot = parse_name(f"Cijk_Ailk_Bljk_HHS_BH_UserArgs_MT32x32x64_MI16x16x1_SN_PXCCM4_{strategy}_WS32").hot()
    assert (hot["stream_k"], hot["stream_k_xcc"]) == (stream_k, 4)


@pytest.mark.parametrize(
    ("name", "rest", "mt0"),
    [
        ("Custom_Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1_UserArgs_shortname0_gfx950",
         "UserArgs_shortname0_gfx950", 256),
        ("Custom_Cijk_Ailk_Bljk_HHS_BH_MT16x192x128_MI16x16x1_3_Equality_gfx942", "3_Equality_gfx942", 16),
        ("Custom_Cijk_Ailk_Bljk_F8H_HHS_BH_MT128x16x128_MI16x16x1_Freesize_10_gfx942",
         "Freesize_10_gfx942", 128),
        ("Custom_Cijk_Ailk_Bljk_HHS_BH_MT16x128x128_MI16x16x1_GRVWA8_DTVB", "DTVB", 16),
    ],
)  # fmt: skip
def test_hand_written_kernels(name: str, rest: str, mt0: int) -> None:
    parsed = parse_name(name)
    assert parsed.custom and parsed.family == "custom" and parsed.rest == rest and parsed.leftover == ()
    assert parsed.hot()["mt0"] == mt0 and parsed.hot()["custom"] is True
    assert parsed.canonical_tokens()["Rest"] == rest
    assert parsed.kernel_key() == parsed.canonical_json()


@pytest.mark.parametrize(
    "name", ["_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512E", "RR_GEMM_TN", "", "Default"]
)
def test_names_of_other_makers(name: str) -> None:
    parsed = parse_name(name)
    assert parsed.family == "other" and parsed.rest == name
    assert parsed.tokens == () and parsed.leftover == ()
    assert parsed.hot()["mt0"] is None


def test_unknown_piece_is_kept_and_reported() -> None:
    parsed = parse_name(f"{SOLUTION}_NEW")
    assert parsed.leftover == ("NEW",)
    assert parsed.canonical_tokens()["NEW"] is True
    assert parsed.canonical_json() != parse_name(SOLUTION).canonical_json()


def test_code_object_suffix_and_blanks_make_no_difference() -> None:
    assert parse_name(f"  {SOLUTION}.kd\n").canonical_json() == parse_name(SOLUTION).canonical_json()


def _scalar(names: list[str]) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        parsed = parse_name(name)
        rows.append(
            {
                "name": name,
                "family": parsed.family,
                **parsed.hot(),
                "canonical": parsed.canonical_json(),
                "kernel_key": parsed.kernel_key(),
                "leftover": list(parsed.leftover),
            }
        )
    return rows


def _variants(count: int) -> list[str]:
    """Names of one layout: enough for the columnar way."""
    return [
        SOLUTION.replace("WGM16", f"WGM{i % 7}")
        .replace("256x224", f"{16 * (i // 7 + 1)}x64")
        .replace("GSU0", f"GSU{i % 3}")
        .replace("WG32_8_1", f"WG{8 * (i % 2 + 1)}_8_1")
        for i in range(count)
    ]


def test_bulk_equals_one_by_one_in_order() -> None:
    names = [
        *_variants(200),
        "Default",
        *[f"{name}_NEW" for name in _variants(80)],
        *[name.replace("BBS_BH", "HHS_BH") for name in _variants(70)],
        "Custom_Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1_UserArgs_shortname0_gfx950",
        KERNEL,
    ]
    frame = parse_names(names)
    assert frame.to_dicts() == _scalar(list(dict.fromkeys(names)))
    assert frame.columns[0] == "name" and frame.schema["mt0"] == pl.Int32
    assert frame.schema["leftover"] == pl.List(pl.String) and frame.schema["cms"] == pl.Boolean


def test_bulk_with_one_layout_but_unlike_pieces() -> None:
    # 1LDSB and LDSB, a list and no list, or two macro tiles have the same letters
    alike = [f"Cijk_Ailk_Bljk_SB_MT{16 * i}x64x8_SE_{'1' * (i % 2)}LDSB0_WGM{i}" for i in range(1, 101)]
    odd = [f"Cijk_Ailk_Bljk_SB_MT64x64x8_SE_LRVW{i}_MI{'' if i % 2 else i}_4" for i in range(100)]
    twice = [f"Cijk_Ailk_Bljk_SB_MTx_MT{i}x64x8_SE" for i in range(100)]
    bare = [f"Cijk_Ailk_Bljk_SB_MT{tail}_WGM{i}" for tail in ("", "5", "5_4") for i in range(100)]
    names = alike + odd + twice + bare
    assert parse_names(names).to_dicts() == _scalar(names)


@pytest.mark.parametrize("kind", ["list", "series", "categorical", "array", "chunked"])
def test_bulk_input_kinds(kind: str) -> None:
    names: list[str | None] = [SOLUTION, None, KERNEL, SOLUTION]
    data: Any = {
        "list": names,
        "series": pl.Series(names),
        "categorical": pl.Series(names, dtype=pl.Categorical),
        "array": pa.array(names),
        "chunked": pa.chunked_array([pa.array(names[:2]), pa.array(names[2:])]),
    }[kind]
    assert parse_names(data)["name"].to_list() == [SOLUTION, KERNEL]


def test_bulk_of_nothing() -> None:
    frame = parse_names([])
    assert frame.height == 0 and set(HOT_COLUMNS) < set(frame.columns)
    assert parse_names(["Default"]).schema == frame.schema


_PIECE = st.one_of(
    st.sampled_from(["MT16x16x8", "MI16x16x1", "SN", "UserArgs", "AFEM1", "WG32_8_1", "NTn1",
    "GSUM", "8", "", "n",
                     "Cijk"]),
    st.text("ABCGMTUWn0123456789px_.é²", max_size=6),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECE, max_size=8), st.booleans())
def test_any_text_parses_alike_both_ways(pieces: list[str], headed: bool) -> None:
    name = "_".join((["Cijk_Alik_Bljk_BBS_BH"] if headed else []) + pieces)
    parsed = parse_name(name)
    assert json.loads(parsed.canonical_json()) == parsed.canonical_tokens()
    # many alike names take the columnar way
    names = [name] + [f"{name}_WGM{i}" for i in range(70)]
    assert parse_names(names).to_dicts() == _scalar(list(dict.fromkeys(names)))


def test_huge_numbers_do_not_break_the_columns() -> None:
    hot = parse_name(
        "Cijk_Alik_Bljk_BBS_BH_MT99999999999x16x8_SN_WGM9999999999_PGR2" + "_PLR" + "9" * 5000
    ).hot()
    assert (hot["mt0"], hot["mt1"], hot["wgm"], hot["pgr"], hot["plr"]) == (None, 16, None, 2, None)


# Real names -----------------------------------------------------------------------------------------------


def test_all_measured_solutions_parse_without_leftover(shared: Path) -> None:
    names = pl.read_parquet(shared / "data/mi350x/candidates.parquet", columns=["solution_name"])
    frame = parse_names(names["solution_name"])
    assert frame.height == frame["canonical"].n_unique() == 38501
    assert frame.filter(pl.col("leftover").list.len() > 0).height == 0
    assert frame["family"].unique().to_list() == ["tensile"]
    required = ["mt0", "mt1", "depth_u", "mi_m", "wgm", "wgm_xcc", "stream_k", "gsu", "isa", "wavefront_size"]
    assert frame.select(pl.col(required).null_count()).row(0) == (0,) * len(required)
    assert frame.sample(100, seed=1).to_dicts() == _scalar(frame.sample(100, seed=1)["name"].to_list())


def test_pairs_printed_by_the_benchmark_match(shared: Path) -> None:
    text = (shared / "data/bench_stdout/zy00_all_221_runs_concat.txt").read_text(encoding="utf-8")
    solutions = re.findall(r"--Solution name: +(\S+)", text)
    kernels = re.findall(r"--kernel name: +(\S+)", text)
    assert len(solutions) == len(kernels) == 221
    keys = dict(parse_names(solutions + kernels).select("name", "kernel_key").iter_rows())
    unmatched = [(s, k) for s, k in zip(solutions, kernels, strict=True) if keys[s] != keys[k]]
    assert unmatched == []
    # different kernels stay apart
    assert len({keys[k] for k in kernels}) == len(set(kernels))


def test_pairs_in_library_logic_match(shared: Path) -> None:
    pairs = 0
    for path in sorted((shared / "data/library_logic/real").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        solutions = re.findall(r"SolutionNameMin: (\S+)", text)
        kernels = re.findall(r"KernelNameMin: (\S+)", text)
        if len(solutions) != len(kernels):
            continue
        keys = dict(parse_names(solutions + kernels).select("name", "kernel_key").iter_rows())
        assert [keys[name] for name in solutions] == [keys[name] for name in kernels], path.name
        pairs += len(solutions)
    assert pairs > 100


def test_names_in_all_other_files_parse(shared: Path) -> None:
    names: set[str] = set()
    for folder in ("library_logic", "tensile_log", "tensile_csv", "bench_stdout", "tuning_reports"):
        for path in (shared / "data" / folder).rglob("*.*"):
            text = path.read_text(encoding="utf-8", errors="replace")
            names.update(re.findall(r"\b(?:Custom_)?Cijk_[A-Za-z]+_[A-Za-z]+_\w*MT\d+x\w+", text))
    frame = parse_names(sorted(names))
    assert frame.height > 1400
    strange = {piece for pieces in frame["leftover"].to_list() for piece in pieces}
    # a tag that one merge sample adds, and a report that prints a hand-written kernel without its prefix
    assert strange <= {"NEW", "shortname0", "gfx950"}
    assert frame["contraction"].null_count() == 0 and frame["mt0"].null_count() == 0
