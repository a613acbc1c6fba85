"""The Python API of tuning under the original's names: its README's first pattern runs, and the pieces by themselves."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geko import bench, library, optim
from geko.errors import InputError, MissingFileError, UsageError
from geko.optim.utils import (
    build_state,
    check_progress,
    clean_failed_build,
    estimate_workload,
    list_optimization_configs,
    write_device_scripts,
)
from geko.schemas import GemmConfig, GemmType
from geko.simulator import make_root

LOG = (
    "- {{function: matmul, M: {m}, N: 256, K: 512, alpha: 1.0, beta: 0.0, transA: T, transB: N, batch_count: 1, "
    "a_type: bf16_r, b_type: bf16_r, c_type: bf16_r, d_type: bf16_r, compute_type: c_f32_r, activation_type: none, "
    "call_count: 2}}\n"
)


@pytest.fixture(scope="module", autouse=True)
def few_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "geko-cache"))
        patch.setenv("GEKO_SIM_KERNELS", "64")
        patch.delenv("GEKO_SIM_FAULTS", raising=False)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("root") / "hipblaslt", arch="gfx942", devices=1)


def gemm(*sizes: list[int]) -> GemmConfig:
    return GemmConfig(GemmType.from_hipblaslt("T", "N", "bf16_r", "bf16_r", "bf16_r", "f32_r"), list(sizes))


def test_pattern_1_of_the_original_readme(
    shared: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    readme = shared / "spec/original-readme.txt"
    if not readme.is_file():
        pytest.skip("the original's README is not here")
    chapter = readme.read_text(encoding="utf-8").split(
        "### Pattern 1: Full GA-based Optimization Workflow", 1
    )[1]
    block = re.search(r"```python\n(.*?)```", chapter, re.DOTALL)
    assert block is not None
    code = block[1].replace("/path/to/rocm-libraries/projects/hipblaslt", str(root))
    code = code.replace('arch="gfx950"', 'arch="gfx942"').replace("devices=[0, 1, 2, 3]", "devices=[0]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEKO_FRAMES", "pandas")
    (tmp_path / "hipblaslt-log-mask64.yaml").write_text(LOG.format(m=512), encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(code, "pattern-1", "exec"), names)
    results = names["results_df"]
    assert list(results["m"]) == [512] and results["ratio"].iloc[0] >= 1.03
    final = library.operations.load_collection(tmp_path / "final")
    assert [entry[0] for lib in final for entry in lib.sizes] == [[512, 256, 1, 512]]
    assert (tmp_path / "workdir/results/raw_results.csv").is_file()
    assert (tmp_path / "workdir/gemms.csv").is_file()


def test_analyze_gives_an_empty_frame_where_nothing_is_better(root: Path, tmp_path: Path) -> None:
    """The stock library against itself: the same kernels, so nothing is kept and every row is there raw."""
    stock = next((root / "library").rglob("*_BBS_*.yaml"))
    lib = library.operations.load_library(stock)
    lib.sizes = lib.sizes[:2]
    lib.trim()
    lib.dump(tmp_path / "libs")
    db = tmp_path / "g.duckdb"
    arguments: dict[str, Any] = {
        "device": 0,
        "rounds": 3,
        "duration": 0.02,
        "verify": False,
        "db": db,
        "verbose": 0,
    }
    kept = optim.analyze(
        root, tmp_path / "libs", tmp_path / "results", benchmark_dir=tmp_path / "b", **arguments
    )
    assert (
        kept is not None
        and kept.height == 0
        and {"m", "n", "batch_count", "k", "lib", "ratio"} <= set(kept.columns)
    )
    rows = optim.analyze(root, tmp_path / "libs", tmp_path / "results", raw=True, **arguments)
    assert (
        rows.height == 2
        and set(rows["class"]) <= {"same_kernel", "small_gain", "no_gain"}
        and set(rows["lib"]) == {lib.name}
    )
    assert all(0.9 < ratio < 1.1 for ratio in rows["ratio"])
    assert list((tmp_path / "b").glob("*_bench.yaml"))


def test_analyze_says_what_is_missing(root: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        optim.analyze(root, tmp_path / "none", tmp_path / "r")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="No valid libraries"):
        optim.analyze(root, tmp_path / "empty", tmp_path / "r")
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs/x.yaml").write_text("- {MinimumRequiredVersion: 4.33.0}\n", encoding="utf-8")
    (tmp_path / "s.csv").write_text("m,n\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="call_count"):
        optim.analyze(root, tmp_path / "libs", tmp_path / "r", log_summary=tmp_path / "s.csv")


def test_configure_takes_one_config_or_several_and_overrides(tmp_path: Path) -> None:
    report = optim.configure(None, gemm([256, 256, 1, 512]), tmp_path / "o", arch="gfx950")
    assert [Path(row.path).name for row in report.configs] == ["BBS_TN_0.yaml"]
    other = GemmConfig(GemmType.from_tensile("N", "T", "H", "H", "S"), [[128, 128, 1, 256]])
    both = [gemm([256, 256, 1, 512]), other, gemm([512, 256, 1, 512])]
    report = optim.configure(
        None,
        both,
        tmp_path / "p",
        arch="gfx942",
        backend="tensile",
        config_overrides={"MFMA": [16, 16, 16, 1]},
    )
    assert [(row.stem, row.backend) for row in report.configs] == [
        ("BBS_TN_0", "tensile"), ("BBS_TN_1", "tensile"), ("HHS_NT_0", "tensile"),
    ]  # fmt: skip
    assert "[32, 32, 8," not in (tmp_path / "p/BBS_TN_0.yaml").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="unknown key MFMAS"):
        optim.configure(None, gemm([1, 1, 1, 1]), tmp_path / "q", config_overrides={"MFMAS": 1})


def test_run_has_nothing_to_do_in_an_empty_folder(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="GEKO"):
        logging.getLogger("GEKO").addHandler(caplog.handler)
        frame = optim.run(root, tmp_path, devices=[0], db=tmp_path / "g.duckdb", verbose=0)
        logging.getLogger("GEKO").removeHandler(caplog.handler)
    assert frame.height == 0 and "No optimizations to run" in caplog.text
    with pytest.raises(UsageError, match="n_slots"):
        optim.run(root, tmp_path, n_slots=0)
    with pytest.raises(MissingFileError):
        optim.run(root, tmp_path / "none", devices=[0])


def test_summarize_without_a_threshold_needs_no_gpu(tmp_path: Path) -> None:
    log = tmp_path / "log.yaml"
    log.write_text(LOG.format(m=512) + LOG.format(m=256) + LOG.format(m=512), encoding="utf-8")
    summary, gemms = bench.log.summarize(None, log, tmp_path / "w", db=tmp_path / "g.duckdb")
    assert summary["m"].to_list() == [512, 256] and summary["call_count"].to_list() == [4, 2]
    assert "call_count" not in gemms.columns and gemms.height == 2
    assert (tmp_path / "w/summary.csv").is_file() and (tmp_path / "w/gemms.csv").is_file()
    assert bench.summarize is bench.log.summarize


def test_what_lies_in_a_tuning_folder(tmp_path: Path) -> None:
    optim.configure(None, gemm(*([64 * n, 128, 1, 256] for n in range(1, 12))), tmp_path, arch="gfx942")
    (tmp_path / "notes.yaml").write_text("a: 1\n", encoding="utf-8")
    configs = list_optimization_configs(tmp_path)
    assert [path.stem for path in configs] == [f"BBS_TN_{n}" for n in range(11)]
    build = tmp_path / "build_BBS_TN_0"
    assert build_state(build) == "missing"
    build.mkdir()
    assert build_state(build) == "failed"
    (build / "x.checkpoint").touch()
    (build / "1_BenchmarkProblems").mkdir()
    (build / "1_BenchmarkProblems/y").touch()
    assert build_state(build) == "resumable"
    clean_failed_build(build)
    assert [path.name for path in build.rglob("*")] == ["x.checkpoint"]
    (build / "z.checkpoint").touch()
    with pytest.raises(InputError, match="more than one checkpoint"):
        build_state(build)
    (build / ".running").touch()
    assert build_state(build) == "running"
    done = tmp_path / "build_BBS_TN_1/3_LibraryLogic"
    done.mkdir(parents=True)
    (done / "l.yaml").touch()
    (tmp_path / "build_BBS_TN_2").mkdir()
    assert check_progress(tmp_path) == (11, 1, 1)
    clean_failed_build(tmp_path / "build_BBS_TN_2")
    assert not (tmp_path / "build_BBS_TN_2").exists()
    assert estimate_workload(configs[10]) > estimate_workload(configs[0]) > 0
    with pytest.raises(InputError, match="shell script"):
        write_device_scripts(tmp_path, [0, 1])
    for path in configs:
        path.with_suffix(".sh").touch()
    dealt = write_device_scripts(tmp_path, [0, 1])
    assert sorted(name for _, names, _ in dealt for name in names) == sorted(path.stem for path in configs)
    assert all(0.4 < share < 0.6 for _, _, share in dealt)


def test_names_load_on_first_use() -> None:
    assert importlib.import_module("geko").optim is optim
    for module in (optim, bench):
        with pytest.raises(AttributeError):
            module.no_such_name  # noqa: B018
