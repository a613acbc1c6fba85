"""The state file of a work directory, and the tables under their original names."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import geko
from geko import constants
from geko.domain.gemm import GemmConfig, GemmType
from geko.errors import InputError
from geko.schemas import RunState


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "workload.yaml"
    path.write_bytes(b"abc")
    return path


def test_new_state(workload: Path) -> None:
    state = RunState.create(workload)
    # the standard test vector of sha256
    assert state.input_sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert Path(state.input_path) == workload.resolve()
    assert not state.configured and not state.optimized
    created = datetime.fromisoformat(state.created_at)
    assert created.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)


def test_file_has_the_known_keys_and_reads_back(workload: Path, tmp_path: Path) -> None:
    state = RunState.create(workload)
    state.configured = True
    before = state.last_modified
    path = tmp_path / "workdir" / RunState.FILE_NAME
    state.save(path)
    text = path.read_text(encoding="utf-8")
    assert list(json.loads(text)) == [
        "input_sha256", "input_path", "created_at", "last_modified", "configured", "optimized",
    ]  # fmt: skip
    assert text.startswith('{\n    "input_sha256"')
    assert state.last_modified >= before
    assert RunState.load(path) == state
    assert [entry.name for entry in path.parent.iterdir()] == ["run_state.json"]  # no temporary file stays


def test_unknown_keys_are_ignored(workload: Path, tmp_path: Path) -> None:
    path = tmp_path / "run_state.json"
    RunState.create(workload).save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "colour": "red"}), encoding="utf-8")
    assert RunState.load(path).to_dict() == data


def test_content_decides_not_the_path(
    workload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = RunState.create(workload)
    moved = tmp_path / "moved.yaml"
    workload.rename(moved)
    state.verify(moved)
    monkeypatch.chdir(tmp_path)
    state.verify("moved.yaml")
    state.verify("./moved.yaml")


def test_changed_and_foreign_inputs(workload: Path, tmp_path: Path) -> None:
    state = RunState.create(workload)
    other = tmp_path / "other.yaml"
    other.write_bytes(b"abd")
    with pytest.raises(ValueError, match=r"Workdir belongs to input '.*workload\.yaml'"):
        state.verify(other)
    workload.write_bytes(b"abcd")
    with pytest.raises(ValueError, match=r"contents changed .*hash mismatch"):
        state.verify(workload)
    with pytest.raises(FileNotFoundError):
        state.verify(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("content", "message"), [("{", "not JSON"), ("[]", "not a JSON mapping"), ("{}", "lacks a key")]
)
def test_broken_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "run_state.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"run_state\.json.*{message}"):
        RunState.load(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run state does not exist"):
        RunState.load(tmp_path / "run_state.json")


def test_a_failed_save_keeps_the_old_file(
    workload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run_state.json"
    state = RunState.create(workload)
    state.save(path)
    old = path.read_bytes()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    state.optimized = True
    with pytest.raises(OSError, match="No space"):
        state.save(path)
    assert path.read_bytes() == old
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run_state.json", "workload.yaml"]


def test_tables_under_their_original_names() -> None:
    assert (
        constants.LOG_FIELDS[:4] == ("function", "M", "N", "K") and constants.LOG_FIELDS[-1] == "call_count"
    )
    assert len(constants.LOG_FIELDS) == len(set(constants.LOG_FIELDS)) == 46
    assert set(constants.GEMM_LOG_FIELDS) <= set(constants.LOG_FIELDS)
    assert constants.GEMM_FIELDS == (
        "transA", "transB", "batch_count", "m", "n", "k", "a_type", "b_type", "c_type", "d_type",
        "compute_type",
        "scaleA", "scaleB",
    )  # fmt: skip
    assert constants.GEMM_TYPE_FIELDS == ("transA", "transB", "a_type", "b_type", "c_type", "compute_type")
    assert constants.PERF_FIELDS == ("hipblaslt-Gflops", "hipblaslt-GB/s", "us")
    assert "gfx950" in constants.SUPPORTED_ARCH and "gfx1250-strict" in constants.SUPPORTED_ARCH
    assert constants.DTYPE["bf16_r"] == "B" and constants.INDEX_TYPE_MAP[7] == "bf16_r"
    with pytest.raises(AttributeError, match="FIELDS_OF_GOLD"):
        _ = constants.FIELDS_OF_GOLD


def test_import_from_the_package() -> None:
    assert geko.schemas.GemmType is GemmType and geko.schemas.GemmConfig is GemmConfig
    assert geko.constants.SUPPORTED_ARCH == constants.SUPPORTED_ARCH
