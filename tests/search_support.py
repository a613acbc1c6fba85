"""One simulated search over part of the example workload, shared by all tests that look at a finished run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geko.pipeline import RunResult, run_search
from geko.runs.options import RunOptions, SimulateOptions, Source

#: Shapes of the example workload, M, N, K, such that every usual verdict arises.
SHAPES = (
    (4096, 16, 14336), (28672, 16, 4096), (4096, 28672, 4096), (128, 128, 4096), (6144, 16, 4096), (7168, 2048, 8192),
    (4096, 6144, 4096), (8192, 2048, 1024), (1280, 2048, 8192), (1280, 4096, 1280), (4096, 1024, 4096),
)  # fmt: skip


@dataclass(frozen=True)
class Searched:
    """A finished search on stand-ins."""

    db: Path
    log: Path
    out: Path
    result: RunResult

    @property
    def source(self) -> Source:
        return Source("log", (self.log,))

    @property
    def options(self) -> RunOptions:
        return RunOptions(simulate=SimulateOptions(), workdir=self.out)

    def rows(self, name: str) -> list[dict[str, str]]:
        """A CSV file of the working directory."""
        with (self.out / name).open(newline="", encoding="utf-8") as handle:
            return list(csv.DictReader(handle))


def write_log(repo_root: Path, path: Path, shapes: Sequence[tuple[int, int, int]]) -> Path:
    """Lines of the example workload for these M, N, K."""
    lines = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    wanted = [f"M: {m}, N: {n}, K: {k}," for m, n, k in shapes]
    chosen = [line for line in lines if any(text in line for text in wanted)]
    assert len(chosen) == len(wanted), "the example workload changed"
    path.write_text("".join(chosen), encoding="utf-8")
    return path


def ask(db: Path, text: str) -> list[dict[str, Any]]:
    """Rows of a SELECT."""
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        found: list[dict[str, Any]] = warehouse.sql(text).read_all().to_pylist()
        return found


@pytest.fixture(scope="session")
def simulated_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of simulated roots; a test that runs something points XDG_CACHE_HOME at it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory, simulated_cache: Path, repo_root: Path) -> Searched:
    """A finished search. Nobody may change its files or its warehouse, other than by running it again."""
    base = tmp_path_factory.mktemp("search")
    log = write_log(repo_root, base / "workload.yaml", SHAPES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(simulated_cache))
        patch.delenv("GEKO_SIM_FAULTS", raising=False)
        options = RunOptions(simulate=SimulateOptions(), workdir=base / "out")
        result = run_search(base / "g.duckdb", Source("log", (log,)), options, verbose=0)
    return Searched(base / "g.duckdb", log, base / "out", result)
