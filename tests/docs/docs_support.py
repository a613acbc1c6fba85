"""One small simulated search, shared by the tests of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from geko.pipeline import RunResult, run_search
from geko.runs.options import RunOptions, SimulateOptions, Source


@dataclass(frozen=True)
class SmallRun:
    """A finished search on stand-ins.

    Attributes:
        folder: where its files lie; db: its warehouse; workdir: its files; log: the workload log it was made of.
        result: what the run returned.
    """

    folder: Path
    db: Path
    workdir: Path
    log: Path
    result: RunResult


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> SmallRun:
    """A search over four of the example's GEMMs, one of which no library solution can do, and a broken line.

    Files are called as in the documents: ``examples/workload.yaml``, ``out``, ``geko.duckdb``.
    """
    folder = tmp_path_factory.mktemp("small")
    lines = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8").splitlines()
    gemms = [line for line in lines if line.startswith("- {")]
    log = folder / "examples" / "workload.yaml"
    log.parent.mkdir()
    log.write_text("\n".join([*gemms[12:15], gemms[28], "- {function: matmul, M: 64, N: "]) + "\n")
    db, workdir = folder / "geko.duckdb", folder / "out"
    options = RunOptions(workdir=workdir, simulate=SimulateOptions())
    result = run_search(db, Source("log", (log,)), options, verbose=0)
    return SmallRun(folder, db, workdir, log, result)
