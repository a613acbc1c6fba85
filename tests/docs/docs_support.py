"""One simulated search, shared by the tests of the documents."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from search_support import Searched

from geko.ingest import ingest
from geko.pipeline import RunResult
from geko.warehouse import Warehouse


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
def small_run(tmp_path_factory: pytest.TempPathFactory, searched: Searched) -> SmallRun:
    """The search that all tests share, and a log with a broken line beside it.

    Files are called as in the documents: ``examples/workload.yaml``, ``out``, ``geko.duckdb``.
    """
    folder = tmp_path_factory.mktemp("small")
    log, db, workdir = folder / "examples" / "workload.yaml", folder / "geko.duckdb", folder / "out"
    log.parent.mkdir()
    shutil.copyfile(searched.log, log)
    shutil.copyfile(searched.db, db)
    shutil.copytree(searched.out, workdir)
    broken = log.with_name("broken.yaml")
    first = log.read_text(encoding="utf-8").splitlines()[0]
    broken.write_text(f"{first}\n- {{function: matmul, M: 64, N: \n", encoding="utf-8")
    with Warehouse.open(db) as warehouse:
        (report,) = ingest(warehouse, [broken])
    assert (report.n_rows, report.n_rejects) == (1, 1)
    return SmallRun(folder, db, workdir, log, searched.result)
