"""One small warehouse for the tests of the command line, and ``bin/geko`` as people call it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geko.pipeline import run_search
from geko.runs.options import RunOptions, SimulateOptions, Source

Geko = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Finished:
    """A finished search on stand-ins over two GEMMs, one of which no library solution can do.

    Attributes:
        db: its warehouse; no process has it open.
        log: the workload log; workdir: its files; run_id: row of table ``run``.
        words: options of `geko search` that ask for the same run.
    """

    db: Path
    log: Path
    workdir: Path
    run_id: str
    words: tuple[str, ...]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Finished:
    folder = tmp_path_factory.mktemp("cli")
    lines = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8").splitlines()
    gemms = [line for line in lines if line.startswith("- {")]
    log, db, workdir = folder / "two.yaml", folder / "w.duckdb", folder / "out"
    log.write_text(f"{gemms[12]}\n{gemms[28]}\n", encoding="utf-8")
    options = RunOptions(devices=(0,), rounds=2, simulate=SimulateOptions(), workdir=workdir)
    result = run_search(db, Source("log", (log,)), options, verbose=0)
    words = (
        "--workload-log",
        str(log),
        "--devices=0",
        "--rounds",
        "2",
        "--simulate",
        "--workdir",
        str(workdir),
    )
    return Finished(db, log, workdir, result.run_id, words)


@pytest.fixture(scope="session")
def geko(repo_root: Path) -> Geko:
    """Run ``bin/geko`` with words; no variable of the caller's environment leads it anywhere."""

    def run(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(repo_root / "bin" / "geko"), *map(str, words)],
            env=environment(), capture_output=True, text=True, timeout=120, check=False, **more,
        )  # fmt: skip

    return run


def environment() -> dict[str, str]:
    """The environment without GEKO's variables."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GEKO_") or name == "GEKO_TRACE_SQL"
    }
