"""Tuning configs read back: the same facts from the whole text and from its head, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from geko.config_generator.explain import explain_tiles, parse_gemm_name
from geko.config_generator.load_input_config import load_requests, requests_for
from geko.config_generator.output_writer import render
from geko.config_generator.read_config import plain_problems, read_config, read_head
from geko.config_generator.spaces import generate
from geko.errors import InputError

BASE = {"TRANSA": "T", "TRANSB": "N", "Sizes": [[512, 512, 1, 1040]]}
CASES: list[dict[str, Any]] = [
    {"DataType": "B", "DestDataType": "B", "ComputeDataType": "S", "ARCH": "gfx942_80cu"},
    {"DataType": "H", "DestDataType": "H", "ComputeDataType": "S", "ARCH": "gfx942", "backend": "tensile",
     "MFMA": [32, 32, 8, 1]},
    {"DataType": "X", "DestDataType": "S", "ComputeDataType": "S", "ARCH": "gfx942", "MFMA": [16, 16, 8, 1]},
    {"DataType": "F8B8", "DestDataType": "S", "ComputeDataType": "S", "ARCH": "gfx950"},
    {"DataType": "F4", "DestDataType": "B", "ComputeDataType": "S", "ARCH": "gfx950"},
    {"DataType": "C", "DestDataType": "C", "ComputeDataType": "C", "ARCH": "gfx950", "TRANSA": "C"},
    {"DataType": "F8", "DestDataType": "B", "ComputeDataType": "S", "ARCH": "gfx1250", "MX_BLOCK": 16,
     "MX_SCALE_TYPE": "F8"},
]  # fmt: skip


def text_of(case: dict[str, Any]) -> tuple[str, Any, Any]:
    (request,) = load_requests({**BASE, **case}, environ={})
    (config,) = generate([request])
    return render(config), config, request


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['ARCH']}-{case['DataType']}")
def test_the_head_tells_the_same_as_the_whole_text(case: dict[str, Any]) -> None:
    text, config, request = text_of(case)
    facts = read_config(text)
    assert facts.gemm.gemm_type == request.gemm.gemm_type
    assert facts.gemm.mx_format == request.gemm.mx_format
    assert facts.sizes == config.sizes
    assert (facts.backend, facts.kernels, facts.tiles) == (
        request.settings.backend,
        config.kernels,
        len(config.group),
    )
    assert facts.arch == request.settings.arch.target
    head = read_head(text, facts.sizes, facts.tiles, facts.kernels, facts.dialect)
    assert head == facts
    assert facts.problems() == plain_problems(request.gemm)
    launches = int(re.search(r"EnqueuesPerSync: (\d+)", text)[1])  # type: ignore[index]
    assert facts.protocol.iters == launches and facts.protocol.role == "tune"


def test_an_edited_epilogue_is_another_protocol() -> None:
    text, *_ = text_of(CASES[0])
    assert "UseBias: 1" in text
    other = read_config(text.replace("    UseBias: 1\n", ""))
    assert other.protocol.protocol_id != read_config(text).protocol.protocol_id
    assert other.problems() == read_config(text).problems()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("GlobalParameters:", "GlobalParameters: [", "not YAML"),
        ("BenchmarkProblems:", "Problems:", "no BenchmarkProblems"),
        ("      - Exact: [ 512, 512, 1, 1040 ]", "      - Range: [[512], [512], [1], [1040]]", "Exact"),
        ("Exact: [ 512, 512, 1, 1040 ]", "Exact: [ 512, 0, 1, 1040 ]", "positive"),
        ('ArchitectureName: "gfx942"', 'ArchitectureName: "gfx900"', "no known architecture"),
        ("  Name: Ductile", "  Name: Elastic", "Ductile or Tensile"),
        ("DataType: B", "DataType: Q", "can't be tuned"),
    ],
)
def test_what_can_not_be_tuned_is_said(old: str, new: str, message: str) -> None:
    text, *_ = text_of(CASES[0])
    assert old in text
    with pytest.raises(InputError, match=message):
        read_config(text.replace(old, new, 1), "x.yaml")


def test_block_scaled_k_is_a_whole_number_of_blocks() -> None:
    gemm = parse_gemm_name("F8BS_MXE8B32_TN", [[64, 64, 1, 70]])
    (problem,) = plain_problems(gemm)
    assert (problem.k, problem.scale_a, problem.scale_b) == (96, 3, 3)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("BBS_TN", ("B", "B", "S")), ("F8B8SS_NT", ("F8B8", "S", "S")), ("F8F8S_NN", ("F8", "F8", "S")),
        ("XSS_TN", ("X", "S", "S")), ("CCC_CN", ("C", "C", "C")), ("HBSS_TN", ("HB", "S", "S")),
    ],
)  # fmt: skip
def test_names_of_gemm_types(name: str, types: tuple[str, str, str]) -> None:
    gemm = parse_gemm_name(name, [[1, 1, 1, 1]]).gemm_type
    assert (gemm.data_type, gemm.dest_data_type, gemm.compute_data_type) == types
    assert gemm.gemm_name == name


@pytest.mark.parametrize("name", ["BBS", "BBS_TX", "BQS_TN", "BBS_MX_TN", "F8BS_MXE8_TN", "BBS_A_B_TN"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(InputError):
        parse_gemm_name(name, [[1, 1, 1, 1]])


def test_tiles_of_a_gemm_are_explained_one_by_one() -> None:
    found = explain_tiles((4096, 4096, 1, 4096), "BBS_TN", "gfx942")
    assert [row["rank"] for row in found.chosen] == sorted(row["rank"] for row in found.chosen)
    assert len(found.chosen) + len(found.others) == 2436  # all candidates of gfx942 bf16
    assert all(row["reason"] for row in found.others) and not any(row["reason"] for row in found.chosen)
    assert found.entries > 0 and found.kernels >= found.entries
    text = "\n".join(found.summary())
    assert "1029  R1" in text and "data-parallel" in text
    original = explain_tiles((128, 1, 1, 128), "BBS_TN", "gfx942", rules="original")
    assert not original.chosen and explain_tiles((128, 1, 1, 128), "BBS_TN", "gfx942").chosen
    one = explain_tiles((4096, 4096, 1, 4096), "BBS_TN", "gfx942", ["MFMA=[32, 32, 8, 1]"])
    assert {row["MatrixInstruction"].split(",")[0] for row in one.chosen} == {"[32"}


def test_requests_take_the_environment_and_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    gemm = parse_gemm_name("BBS_TN", [[64, 64, 1, 64]])
    monkeypatch.setenv("MI_FILTER", "0")
    (request,) = requests_for([gemm], arch="gfx942")
    assert request.settings.mi_filter == 0
    (request,) = requests_for([gemm], arch="gfx942", overrides={"MI_FILTER": 1})
    assert request.settings.mi_filter == 1
    with pytest.raises(InputError, match="did you mean MI_FILTER"):
        requests_for([gemm], arch="gfx942", overrides={"MIFILTER": 1})
