"""Generator YAML: keys, errors with line and nearest key, eras, several problems, logs, environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from geko.config_generator.config_generator import run, template
from geko.config_generator.load_input_config import load_requests, problems_from_rows
from geko.config_generator.schema import parse_assignments
from geko.errors import InputError, MissingFileError

HEAD = "TRANSA: T\nTRANSB: N\nDataType: B\nDestDataType: B\nComputeDataType: S\nARCH: gfx950\n"
SIZES = "Sizes:\n  - [4096, 4096, 1, 4096]\n"
LOG = (
    "- {function: matmul, M: 64, N: 32, K: 128, batch_count: 1, transA: T, transB: N, a_type: bf16_r, b_type: bf16_r, "
    "c_type: bf16_r, d_type: bf16_r, compute_type: c_f32_r, scaleA: 0, scaleB: 0, call_count: 3}\n"
)


def load(tmp_path: Path, text: str, **kwargs: object):  # type: ignore[no-untyped-def]
    path = tmp_path / "list.yaml"
    path.write_text(text)
    return load_requests(path, environ={}, **kwargs)  # type: ignore[arg-type]


def test_template_is_valid_and_lists_every_default(tmp_path: Path) -> None:
    (request,) = load(tmp_path, template())
    assert request.gemm.name == "BBS_TN"
    assert request.settings.search_space == "generic"
    assert request.settings.stream_k
    assert request.settings.mi_filter == 2


def test_unknown_key_names_line_and_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"list.yaml:7: unknown key MI_FILTR; did you mean MI_FILTER\?"):
        load(tmp_path, HEAD + "MI_FILTR: 1\n" + SIZES)


@pytest.mark.parametrize(
    "line",
    [
        "MI_FILTER: 7",
        "backend: cuda",
        "StreamK: maybe",
        "Sizes: [[1, 2, 3]]",
        "MT_DU: [1, 2]",
        "GRID_DENSITY: 9",
    ],
)
def test_wrong_values_name_the_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=rf"list.yaml:7: {line.split(':')[0]} .*must be"):
        load(tmp_path, HEAD + line + "\n")


def test_key_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1"):
        load(tmp_path, HEAD + "TRANSA: N\n" + SIZES)


def test_first_era_spelling(tmp_path: Path) -> None:
    (request,) = load(tmp_path, HEAD + SIZES + "GA: false\nGA_VALIDATION_PROFILE: 2\n")
    assert (request.settings.backend, request.settings.search_space) == ("tensile", "heuristic")
    assert request.settings.validation_profile == 2
    with pytest.raises(InputError, match="contradict"):
        load(tmp_path, HEAD + SIZES + "GA: false\nbackend: ductile\n")


def test_case_and_quotes_do_not_change_the_meaning(tmp_path: Path) -> None:
    (request,) = load(tmp_path, HEAD + 'backend: Ductile\nSIZE_OPTION: "1"\n')
    assert request.settings.backend == "ductile"
    assert len(request.sizes) == 1823


def test_several_problems(tmp_path: Path) -> None:
    text = (
        HEAD
        + "GemmProblems:\n  - {Sizes: [[1, 2, 1, 4]]}\n  - {TRANSA: N, Sizes: [[8, 8, 1, 8]], MI_FILTER: 1}\n"
    )
    first, second = load(tmp_path, text)
    assert (first.gemm.name, first.settings.mi_filter) == ("BBS_TN", 2)
    assert (second.gemm.name, second.settings.mi_filter) == ("BBS_NN", 1)
    listed = "".join(f"- {{TRANSA: {a}, TRANSB: N, DataType: B, DestDataType: B, ComputeDataType: S, ARCH: gfx950, "
                     "Sizes: [[8, 8, 1, 8]]}\n" for a in "TN")  # fmt: skip
    assert [request.gemm.name for request in load(tmp_path, listed)] == ["BBS_TN", "BBS_NN"]
    with pytest.raises(InputError, match=r"list.yaml:8: unknown key Size; did you mean Sizes"):
        load(tmp_path, HEAD + "GemmProblems:\n  - {Size: [[1, 2, 1, 4]]}\n")


def test_workload_log(tmp_path: Path) -> None:
    log = tmp_path / "log.yaml"
    log.write_text(LOG + LOG.replace("M: 64", "M: 65") + LOG)
    (request,) = load_requests(None, arch="gfx942", gemm_log_path=log, environ={})
    assert request.sizes == [(64, 32, 1, 128), (65, 32, 1, 128)]
    assert not request.settings.stream_k
    with pytest.raises(InputError, match="No ARCH"):
        load_requests(None, gemm_log_path=log, environ={})
    with pytest.raises(MissingFileError):
        load_requests(None, arch="gfx942", gemm_log_path=tmp_path / "no.yaml", environ={})


def test_scaled_rows() -> None:
    row = {"M": 64, "N": 64, "K": 256, "batch_count": 1, "transA": "T", "transB": "N", "a_type": "f8_r", "b_type": "f8_r",
           "c_type": "bf16_r", "compute_type": "f32_r", "scaleA": 1001, "scaleB": 1001}  # fmt: skip
    (config,) = problems_from_rows([row])
    assert config.name == "F8BS_MXE8B32_TN"
    with pytest.raises(InputError, match="share one MX format"):
        problems_from_rows([{**row, "scaleB": 0}])
    with pytest.raises(InputError, match="asks for"):
        problems_from_rows([row], {"MX_BLOCK": 16})


def test_environment_and_command_line_win_in_that_order(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(HEAD + SIZES + "MI_FILTER: 2\n")
    (request,) = load_requests(path, environ={"MI_FILTER": "1", "StreamK": "false"})
    assert (request.settings.mi_filter, request.settings.stream_k) == (1, False)
    (request,) = load_requests(path, environ={"MI_FILTER": "1"}, overrides=parse_assignments(["MI_FILTER=0"]))
    assert request.settings.mi_filter == 0
    with pytest.raises(InputError, match="environment"):
        load_requests(path, environ={"MI_FILTER": "many"})
    (request,) = load_requests(path, environ={"StreamK": "0"}, overrides={"search_space": "subtile"})
    assert request.settings.stream_k  # subtile kernels are persistent, whatever the environment says


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("search_space: subtile\nARCH: gfx942\n", "gfx950 only"),
        ("MACROTILE_OPT: true\nSIZE_OPTION: 1\n", "MACROTILE_OPT"),
        ("MX: true\n", "not compatible"),
        ("ARCH: gfx900\n", "did you mean gfx950. Known are gfx942, "),
    ],
)
def test_settings_that_do_not_go_together(tmp_path: Path, lines: str, message: str) -> None:
    head = HEAD.replace("ARCH: gfx950\n", "") if "ARCH" in lines else HEAD
    with pytest.raises(InputError, match=message):
        load(tmp_path, head + SIZES + lines)


@pytest.mark.parametrize(
    ("letters", "arch", "said"), [("F8B8", "gfx942", True), ("F8N", "gfx942", False), ("F8", "gfx950", False)]
)
def test_8_bit_floats_that_a_chip_lacks_are_warned_about(
    letters: str, arch: str, said: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = HEAD.replace("DataType: B\nDest", f"DataType: {letters}\nDest").replace("gfx950", arch)
    run(load(tmp_path, text + "Sizes: [[64, 64, 1, 64], [64, 32, 1, 64]]\n"), tmp_path, dry_run=True)
    messages = [record.getMessage() for record in caplog.records if "fnuz kind alone" in record.getMessage()]
    assert len(messages) == said and all(text.startswith("F8B8BS_TN: hipBLASLt has") for text in messages)
