"""geko configure: the configs as files and rows, sizes that can't be tuned, and the folder as people left it."""

from __future__ import annotations

import csv
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from tuning_support import LOG, NO_STOCK, UNTUNABLE, log_file, options, rows, source

from geko.config_generator.load_input_config import effective
from geko.config_generator.sizes import grid_sizes
from geko.errors import InputError, RunFailedError, UsageError
from geko.log import logger
from geko.runs.options import Source
from geko.runs.tune_configs import config_id, read_folder, restore_folder
from geko.runs.tune_options import TuneOptions
from geko.runs.tune_requests import load_input
from geko.tuning_pipeline import dry_configure, run_configure
from geko.warehouse import Warehouse

PLAIN: dict[str, Any] = {"arch": "gfx942", "devices": (), "backend": "tensile"}
GENERATOR = """\
TRANSA: T
TRANSB: N
DataType: B
DestDataType: B
ComputeDataType: S
ARCH: gfx950
backend: tensile
MI_FILTER: 1
MFMA: [16, 16, 32, 1]
GemmProblems:
  - {Sizes: [[256, 256, 1, 512]], EPILOGUES: false}
  - {TRANSA: N, Sizes: [[256, 256, 1, 512], [512, 256, 1, 512]]}
"""


def plain_configure(base: Path) -> tuple[Path, Path]:
    db, out = base / "g.duckdb", base / "out"
    run_configure(db, source(log_file(base, LOG + UNTUNABLE)), TuneOptions(workdir=out, **PLAIN), verbose=0)
    return db, out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Warehouse and working directory after a plain ``configure``, which nobody may change."""
    return plain_configure(tmp_path_factory.mktemp("configured"))


@pytest.fixture
def configured(tmp_path: Path) -> tuple[Path, Path]:
    """The same, for one test to change."""
    return plain_configure(tmp_path)


def test_configs_are_files_and_rows_without_a_gpu(made: tuple[Path, Path]) -> None:
    db, out = made
    folder = out / "optimizations"
    names = sorted(path.name for path in folder.glob("*.yaml"))
    assert names == ["BBS_TN_0.yaml", "BBS_TN_1.yaml"]
    assert (folder / "BBS_TN_0.sh").stat().st_mode & 0o100
    found = rows(
        db,
        "SELECT config_id::VARCHAR AS id, name, backend, arch, gemm, yaml, n_sizes, n_tiles FROM tuning_config"
        " ORDER BY name",
    )
    for row, name in zip(found, names, strict=True):
        text = (folder / name).read_text(encoding="utf-8")
        assert (row["yaml"], row["id"]) == (text, config_id(text))
        assert (row["backend"], row["arch"], row["gemm"], row["n_sizes"]) == (
            "tensile",
            "gfx942",
            "BBS_TN",
            1,
        )
        assert row["n_tiles"] > 10
    links = rows(
        db,
        "SELECT p.m, p.n, p.k, p.bias_type FROM tuning_config_problem JOIN problem AS p USING (problem_id) ORDER BY p.m",
    )
    assert [(r["m"], r["n"], r["k"], r["bias_type"]) for r in links] == [
        (512, 512, 1024, None),
        (1024, 256, 512, None),
    ]
    (state,) = rows(db, "SELECT kind, state, environment_id FROM run")
    assert state == {"kind": "configure", "state": "finished", "environment_id": None}


def test_every_size_has_a_row_with_its_fate(made: tuple[Path, Path]) -> None:
    db, out = made
    found = rows(db, "SELECT gemm, m, state, reason, config_name, problem_id FROM run_size ORDER BY seq")
    assert [(r["m"], r["state"], r["config_name"]) for r in found] == [
        (512, "kept", "BBS_TN_0"), (1024, "kept", "BBS_TN_1"), (64, "dropped", None),
    ]  # fmt: skip
    assert found[0]["problem_id"] is not None and found[2]["problem_id"] is None
    assert "i8_r" in found[2]["reason"] or "tuned" in found[2]["reason"]
    with (out / "optimizations/sizes.csv").open(newline="", encoding="utf-8") as handle:
        table = list(csv.DictReader(handle))
    assert [row["status"] for row in table] == ["kept", "kept", "dropped"]
    assert table[2]["reason"] == found[2]["reason"]
    assert (out / "gemms.csv").is_file()


def test_the_same_command_writes_nothing_again(configured: tuple[Path, Path], tmp_path: Path) -> None:
    db, out = configured
    path = out / "optimizations/BBS_TN_0.yaml"
    path.write_text("# mine\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    run_configure(db, source(tmp_path / "app.yaml"), TuneOptions(workdir=out, **PLAIN), verbose=0)
    assert path.read_text(encoding="utf-8").startswith("# mine\n")


def test_other_options_need_another_folder(made: tuple[Path, Path]) -> None:
    db, out = made
    other = TuneOptions(workdir=out, **PLAIN | {"backend": "ductile"})
    with pytest.raises(UsageError, match="other options"):
        run_configure(db, source(db.parent / "app.yaml"), other, verbose=0)


def test_the_folder_counts_as_it_stands(configured: tuple[Path, Path]) -> None:
    db, out = configured
    folder = out / "optimizations"
    edited, removed = folder / "BBS_TN_0.yaml", folder / "BBS_TN_1.yaml"
    original = removed.read_text(encoding="utf-8")
    edited.write_text(
        edited.read_text(encoding="utf-8").replace("NumWarmups: ", "NumWarmups: 1"), encoding="utf-8"
    )
    (folder / "mine.yaml").write_text(original + "# mine\n", encoding="utf-8")
    (folder / "notes.yaml").write_text("a: 1\n", encoding="utf-8")
    (folder / "with space.yaml").write_text(original, encoding="utf-8")
    (folder / "other.yml").write_text(original, encoding="utf-8")
    (folder / "broken.yaml").write_text("a: 1\nb: [\n", encoding="utf-8")
    (folder / "gone.yaml").symlink_to(folder / "nowhere")
    removed.unlink()
    before = {path.name: path.read_bytes() for path in folder.glob("*.yaml") if path.exists()}
    with Warehouse.open(db) as warehouse:
        (run,) = warehouse.sql("SELECT run_id::VARCHAR AS id FROM run").read_all().to_pylist()
        listed = warehouse.query("tune/run_configs", run_id=run["id"]).to_pylist()
        state = read_folder(warehouse, config_id("a run"), folder, listed)
    assert {path.name: path.read_bytes() for path in folder.glob("*.yaml") if path.exists()} == before
    found = {(row["file_name"], row["state"]): row for row in state.rows}
    assert set(found) == {
        ("BBS_TN_0.yaml", "edited"), ("BBS_TN_0.yaml", "removed"), ("BBS_TN_1.yaml", "removed"), ("mine.yaml", "added"),
        ("notes.yaml", "refused"), ("with space.yaml", "refused"), ("other.yml", "refused"), ("broken.yaml", "refused"),
        ("gone.yaml", "refused"),
    }  # fmt: skip
    reasons = {row["file_name"]: row["reason"] for row in state.rows if row["state"] == "refused"}
    assert reasons["other.yml"] == "configs end in .yaml: rename it"
    assert reasons["broken.yaml"].startswith("line 3: not YAML: ")
    assert reasons["gone.yaml"] == "it can't be read: No such file or directory"
    assert found["BBS_TN_0.yaml", "removed"]["reason"] == "its file holds another text now"
    assert found["BBS_TN_1.yaml", "removed"]["reason"] == "its file was removed"
    assert state.gone() == 1
    assert "its name may hold" in found["with space.yaml", "refused"]["reason"]
    assert "no BenchmarkProblems" in found["notes.yaml", "refused"]["reason"]
    (changed,) = rows(
        db, "SELECT origin, count(*) AS n FROM tuning_config WHERE origin = 'file' GROUP BY ALL"
    )
    assert changed["n"] == 2
    assert state.archs == ["gfx942"]


def test_files_of_one_text_are_one_job_that_names_both(
    configured: tuple[Path, Path], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, out = configured
    folder = out / "optimizations"
    shutil.copyfile(folder / "BBS_TN_0.yaml", folder / "mine.yaml")
    with Warehouse.open(db) as warehouse:
        run = warehouse.sql("SELECT run_id::VARCHAR AS run_id FROM run").read_all()["run_id"][0].as_py()
        before = warehouse.query("tune/run_configs", run_id=run).to_pylist()
        monkeypatch.setattr(logger, "propagate", True)
        with caplog.at_level(logging.INFO, logger="GEKO"):
            read_folder(warehouse, run, folder, before)
    assert "BBS_TN_0.yaml and mine.yaml hold the same config: they are one job" in caplog.text
    names = rows(db, "SELECT names FROM run_config_name ORDER BY file_name")
    assert [row["names"] for row in names] == ["BBS_TN_0 and mine", "BBS_TN_1"]


def test_a_folder_that_is_gone_is_written_from_the_rows(made: tuple[Path, Path], tmp_path: Path) -> None:
    db, out = made
    text = (out / "optimizations/BBS_TN_0.yaml").read_text(encoding="utf-8")
    with Warehouse.open(db) as warehouse:
        (run,) = warehouse.sql("SELECT run_id::VARCHAR AS id FROM run").read_all().to_pylist()
        assert restore_folder(warehouse, run["id"], out / "optimizations") == 0
        assert restore_folder(warehouse, run["id"], tmp_path / "again") == 2
    assert (tmp_path / "again/BBS_TN_0.yaml").read_text(encoding="utf-8") == text


def test_an_empty_folder_is_nothing_to_tune(made: tuple[Path, Path], tmp_path: Path) -> None:
    db, _ = made
    (tmp_path / "empty").mkdir()
    with Warehouse.open(db) as warehouse, pytest.raises(InputError, match="geko configure"):
        read_folder(warehouse, config_id("a run"), tmp_path / "empty", ())


def test_a_generator_file_is_taken_with_all_its_keys(tmp_path: Path) -> None:
    path, db = tmp_path / "sizes.yaml", tmp_path / "g.duckdb"
    path.write_text(GENERATOR, encoding="utf-8")
    run_configure(db, Source("list", (path,)), TuneOptions(workdir=tmp_path / "out", devices=()), verbose=0)
    found = rows(db, "SELECT name, arch, backend, yaml FROM tuning_config ORDER BY name")
    assert [(r["name"], r["arch"], r["backend"]) for r in found] == [
        ("BBS_NN_0", "gfx950", "tensile"), ("BBS_NN_1", "gfx950", "tensile"), ("BBS_TN_0", "gfx950", "tensile"),
    ]  # fmt: skip
    assert all("[32, 32," not in r["yaml"] and "[16, 16, 32," in r["yaml"] for r in found)
    assert "#UseBias" in found[2]["yaml"] and "#UseBias" not in found[0]["yaml"]


def test_a_grid_and_the_command_line_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(
        GENERATOR.split("GemmProblems")[0] + "SIZE_OPTION: 1\nGRID_DENSITY: 5\nCUs: 4\n", encoding="utf-8"
    )
    asked = TuneOptions(
        devices=(), arch="gfx950_128cu", backend="ductile", settings={"MI_FILTER": 2, "MFMA": [32, 32, 16, 1]}
    )
    sizes = grid_sizes(4, 5)
    with Warehouse.open(tmp_path / "g.duckdb") as warehouse:
        given = load_input(warehouse, Source("list", (path,)), asked)
        known = warehouse.query("tune/workload_rows", workload_id=given.workload.workload_id)
    (request,) = given.requests
    assert [tuple(size) for size in request.sizes] == sizes and len(sizes) == 500
    assert {(row["M"], row["N"], row["batch_count"], row["K"]) for row in known.to_pylist()} == set(sizes)
    settings = effective(request)
    assert settings["ARCH"] == "gfx950_128cu  (command line)"
    assert settings["MI_FILTER"] == "2  (command line)"
    assert settings["SIZE_OPTION"].startswith(f"1  ({path}:")
    # A dry run shows the same, and makes a config for every size; the corners of the grid stand for it.
    corners = [list(size) for size in (sizes[0], sizes[-1])]
    path.write_text(
        path.read_text(encoding="utf-8").partition("SIZE_OPTION")[0] + f"Sizes: {corners}\n", encoding="utf-8"
    )
    found = dry_configure(Source("list", (path,)), asked)
    text = "\n".join(found.lines)
    assert "ARCH: gfx950_128cu  (command line)" in text and "MI_FILTER: 2  (command line)" in text
    assert found.table["state"].to_pylist() == ["kept", "kept"]
    assert not list(tmp_path.glob("**/*_0.yaml"))


def test_wrong_keys_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "sizes.yaml"
    path.write_text(GENERATOR.replace("MI_FILTER", "MI_FILTR"), encoding="utf-8")
    with pytest.raises(InputError, match=r"sizes.yaml:8: unknown key MI_FILTR; did you mean MI_FILTER\?"):
        dry_configure(Source("list", (path,)), TuneOptions(devices=()))


def test_what_has_to_be_known_is_asked_for(tmp_path: Path) -> None:
    log = source(log_file(tmp_path))
    with pytest.raises(UsageError, match="--arch"):
        dry_configure(log, TuneOptions(devices=()))
    with pytest.raises(UsageError, match="measures nothing"):
        dry_configure(log, TuneOptions(devices=(), arch="gfx942", keep_thr=1.0))
    with pytest.raises(UsageError, match="name the GPUs"):
        run_configure(
            tmp_path / "g.duckdb",
            log,
            TuneOptions(devices=(), arch="gfx942", keep_thr=1.0, workdir=tmp_path / "o"),
            verbose=0,
        )
    with pytest.raises(RunFailedError, match="none of the GEMMs can be tuned"):
        run_configure(
            tmp_path / "g.duckdb",
            source(log_file(tmp_path, UNTUNABLE)),
            TuneOptions(workdir=tmp_path / "o", **PLAIN),
            verbose=0,
        )


def test_a_threshold_takes_a_baseline_and_leaves_small_gemms_out(tmp_path: Path) -> None:
    db, out = tmp_path / "g.duckdb", tmp_path / "out"
    result = run_configure(
        db,
        source(log_file(tmp_path, LOG + NO_STOCK)),
        options(out, keep_thr=40.0, backend="tensile"),
        verbose=0,
    )
    # What the library has no solution for has no share of the time, and nothing but tuning can serve it.
    assert result.table["config"].to_pylist() == ["BBS_TN_0", "HHS_TN_0"]
    assert (out / "summary.csv").is_file()
    alone = options(tmp_path / "alone", keep_thr=40.0, backend="tensile")
    result = run_configure(tmp_path / "h.duckdb", source(log_file(tmp_path, NO_STOCK)), alone, verbose=0)
    assert result.table["config"].to_pylist() == ["HHS_TN_0"]
    (run,) = rows(db, "SELECT simulated, environment_id IS NOT NULL AS has FROM run")
    assert run == {"simulated": True, "has": True}
