"""With a checkout, a config or a workload of one's own: ``--hipblaslt-path``, ``--config``, ``--workload``, ``--hw``."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from geko.cli.main import main
from geko.hipblaslt import find_root
from geko.library.operations import load_library


def given(request: pytest.FixtureRequest, option: str) -> Path:
    """A path that was given to pytest; without it the test is skipped."""
    value = request.config.getoption(option)
    if value is None:
        pytest.skip(f"{option} not given")
    path = Path(value).expanduser().resolve()
    assert path.exists(), f"{option}: there is no {path}"
    return path


def test_checkout_is_known(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(request, "--hipblaslt-path")
    root = find_root(path)
    assert root.tensile_program("TensileCreateLibrary").is_file()
    # 1 says that something is missing, such as a GPU: the checkout itself must be found.
    words = ["doctor", "--hipblaslt", str(path), "--db", str(tmp_path / "w.duckdb"), "--format", "json"]
    assert main(words) in (0, 1)
    checks = {check["name"]: check["state"] for check in json.loads(capsys.readouterr().out)}
    assert checks["hipBLASLt root"] == "ok"
    assert checks["TensileCreateLibrary"] == "ok"


@pytest.mark.slow
def test_example_library_is_built(
    request: pytest.FixtureRequest, tmp_path: Path, example_library: Path
) -> None:
    path = given(request, "--hipblaslt-path")
    if not find_root(path).is_simulated and importlib.util.find_spec("rocisa") is None:
        pytest.skip("rocisa is not importable: install tensilelite/requirements-dev.txt of the checkout")
    logic = next((example_library / "Equality").glob("*.yaml"))
    load_library(logic).dump(tmp_path / "logic")
    assert main(["library", "create", str(path), str(tmp_path / "logic"), str(tmp_path / "built")]) == 0
    assert list((tmp_path / "built").rglob("TensileLibrary*.dat"))


def test_workload_is_read(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(request, "--workload")
    words = [
        "ingest",
        str(path),
        "--workload",
        "given",
        "--db",
        str(tmp_path / "w.duckdb"),
        "--format",
        "json",
    ]
    assert main(words) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["rows"] > 0
    assert row["workload"] == "given"


def test_config_is_generated(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(request, "--config")
    arch = request.config.getoption("--hw")
    words = ["configure", "--list", str(path), "--arch", arch, "--workdir", str(tmp_path / "out")]
    assert main([*words, "--db", str(tmp_path / "w.duckdb"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    kept = {row["config"] for row in rows if row["state"] == "kept"}
    assert kept == {config.stem for config in (tmp_path / "out" / "optimizations").glob("*.yaml")}
    assert kept


@pytest.mark.slow
def test_bench_on_the_device(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(request, "--hipblaslt-path")
    db = ["--db", str(tmp_path / "w.duckdb"), "--format", "json"]
    main(["doctor", "--hipblaslt", str(path), *db])
    states = {check["name"]: check["state"] for check in json.loads(capsys.readouterr().out)}
    if states.get("hipblaslt-bench") != "ok":
        pytest.skip("the checkout has no hipblaslt-bench that runs, or there is no GPU")
    inline = ["--inline", "512", "512", "1", "512", "B", "B", "S", "T", "N", "--benchmark-duration", "0.05"]
    words = ["bench", *inline, "-d", "0", "--hipblaslt", str(path), "--workdir", str(tmp_path / "out")]
    assert main([*words, *db]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["µs"] > 0
