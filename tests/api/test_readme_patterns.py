"""The patterns of the original's README, run as they stand there on fewer devices, against stand-in programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from geko.simulator import make_root
from geko.warehouse import Warehouse

pytest.importorskip("pandas")
pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path, example_library: Path) -> Path:
    """A hipBLASLt checkout of stand-ins with two devices."""
    return make_root(tmp_path / "hip", arch="gfx942", logic_dir=example_library, devices=2)


@pytest.fixture
def _in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEKO_FRAMES", "pandas")
    monkeypatch.setenv("GEKO_DB", str(tmp_path / "api.duckdb"))


def block(shared: Path, title: str, root: Path) -> str:
    """The code of a pattern with the path of the checkout filled in, and two devices for its eight."""
    text = (shared / "spec" / "original-readme.txt").read_text(encoding="utf-8")
    found = re.search(rf"### {re.escape(title)}\s*\n+```python\n(.*?)```", text, re.DOTALL)
    assert found, title
    code = found[1].replace("devices=[0, 1, 2, 3, 4, 5, 6, 7]", "devices=[0, 1]")
    return code.replace("/path/to/rocm-libraries/projects/hipblaslt", str(root))


def log_of(path: Path, sizes: list[tuple[int, int, int]]) -> None:
    """A workload log of bf16 TN GEMMs."""
    rows = [
        {
            "function": "matmul", "M": m, "N": n, "K": k, "transA": "T", "transB": "N", "batch_count": 1, "a_type": "bf16_r",
            "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r", "scale_type": "f32_r",
            "alpha": 1.0, "beta": 0.0, "call_count": 3,
        }
        for m, n, k in sizes
    ]  # fmt: skip
    path.write_text("".join(f"- {yaml.safe_dump(row, default_flow_style=True, width=10000)}" for row in rows))


@contextmanager
def asked_for(name: str) -> Iterator[list[str]]:
    """How often a statement is asked for inside."""
    times: list[str] = []
    query = Warehouse.query

    def noted(self: Warehouse, statement: str, *args: Any, **params: Any) -> Any:
        times.extend([statement] * (statement == name))
        return query(self, statement, *args, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Warehouse, "query", noted)
        yield times


@pytest.mark.usefixtures("_in_place")
def test_pattern_2_dense_search(shared: Path, root: Path, tmp_path: Path) -> None:
    log_of(tmp_path / "hipblaslt-log-mask64.yaml", [(4096, 16, 14336), (4096, 4096, 4096)])
    scope: dict[str, Any] = {}
    exec(compile(block(shared, "Pattern 2: Full Dense Search Workflow", root), "pattern2", "exec"), scope)
    order = [tuple(size) for size in scope["summary_df"][["m", "n", "k"]].itertuples(index=False, name=None)]
    winners = [tuple(size) for size in scope["winners"][["m", "n", "k"]].itertuples(index=False, name=None)]
    assert winners == order
    assert sorted(winners) == [(4096, 16, 14336), (4096, 4096, 4096)]
    written = tmp_path / "workdir" / "search"
    assert len((written / "winners.csv").read_text().splitlines()) == 3
    assert len(list(written.glob("*.out"))) >= 1
    assert len(list(written.glob("*_M*.yaml"))) == 2
    results = scope["results"]
    assert len(results), "the model has a faster kernel for the skinny GEMM"
    assert (results["ratio"] >= 1.03).all()
    kept = {
        tuple(size) for size in results[["m", "n", "batch_count", "k"]].itertuples(index=False, name=None)
    }
    final = [
        yaml.safe_load(path.read_text()) for path in (tmp_path / "workdir" / "final_libs").glob("*.yaml")
    ]
    assert {tuple(entry[0][:4]) for logic in final for entry in logic[7]} == kept


@pytest.mark.usefixtures("_in_place")
def test_pattern_4_custom_benchmarks(shared: Path, root: Path, tmp_path: Path, example_library: Path) -> None:
    from geko import library
    from geko.bench import log

    logic = library.operations.load_library(
        sorted((example_library / "Equality").glob("*Alik_Bljk*.yaml"))[0]
    )
    logic.sizes = logic.sizes[:3]  # every size is compared
    logic.trim()
    for name in ("modified_libs", "optimized_libs"):
        logic.dump(tmp_path / name)
    log_of(tmp_path / "log.yaml", [(4096, 16, 14336), (1024, 1024, 1024), (4096, 16, 14336)])
    (rows,) = log.update(log.parse(tmp_path / "log.yaml"), duration=0.01)
    log.dump(rows, tmp_path / "custom_bench.yaml")
    (tmp_path / "benchmarks").mkdir()
    code = block(shared, "Pattern 4: Custom Benchmarking", root).replace(
        "from geko import bench", "from geko import bench, library"
    )
    output = "results = bench.utils.parse_benchmark_output_dir("
    before, after = code.split(output)
    from geko import bench

    with asked_for("run/plan_rows") as times:
        bench.run(root, tmp_path / "custom_bench.yaml", tmp_path / "benchmarks" / "x_bench.out", device=0)
    assert len(times) == 1, "planning makes a job's whole text for each row: once is enough"
    scope: dict[str, Any] = {}
    exec(compile(before + output + after, "pattern4", "exec"), scope)
    assert len(scope["results"]) == len(rows) == 2
    frame = scope["benchmark_df"]
    assert list(frame["m"]) == [row["M"] for row in rows]
    assert (frame["us"] > 0).all()
    assert "simulated" in frame.columns
    assert frame["simulated"].all()
    assert "hipblaslt-Gflops" in (tmp_path / "results" / "custom_bench.out").read_text()
    comparison = scope["comparison"]
    assert len(comparison) == 3
    assert {"us_reference", "us_tuned", "ratio", "error_tuned", "lib"} <= set(comparison.columns)
    assert comparison["ratio"].tolist() == pytest.approx(
        (comparison["us_reference"] / comparison["us_tuned"]).tolist(), rel=0.05
    )
