"""Joining work in progress."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.errors import InputError, Interrupted
from geko.hipblaslt import HipblasltRoot
from geko.runners.join import join
from geko.runners.probe import probe, store
from geko.simulator import make_root
from geko.warehouse import Append, Warehouse
from geko.warehouse.queue import enqueue

PROTOCOL = Protocol(harness="hipblaslt-bench", role="baseline")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("root") / "hipblaslt", arch="gfx942", devices=2)


def queue_jobs(wh: Warehouse, root: Path, environment_id: str, n: int) -> None:
    problems = [
        Problem("T", "N", 256 * (at + 1), 512, 1, 1024, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
        for at in range(n)
    ]
    jobs = []
    for problem in problems:
        row = {
            "M": problem.m, "N": 512, "K": 1024, "transA": "T", "transB": "N", "a_type": "bf16_r", "iters": 2,
            "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r",
        }  # fmt: skip
        spec = {"root": str(root), "rows": [row], "problem_ids": [problem.problem_id], "arms": [{}]}
        jobs.append(
            {
                "job_id": content_id("job", problem.problem_id), "kind": "baseline", "batch_key": "b",
                "protocol_id": PROTOCOL.protocol_id, "environment_id": environment_id, "timeout_s": 20.0,
                "problem_id": problem.problem_id, "spec": json.dumps(spec),
            }
        )  # fmt: skip
    wh.apply(
        Append(
            "problem",
            pa.Table.from_pylist([{"problem_id": item.problem_id, **asdict(item)} for item in problems]),
        ),
        Append("protocol", pa.Table.from_pylist([PROTOCOL.row()])),
    )
    enqueue(wh, content_id("run", "r"), pa.Table.from_pylist(jobs))


def test_runners_join_and_end_when_nothing_is_left(root: Path, tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        devices = probe(HipblasltRoot(root), [0])
        store(wh, devices)
        queue_jobs(wh, root, devices[0].environment.environment_id, 6)
        join(wh.path, "all", idle_s=0.5, workdir=tmp_path / "work")
        assert wh.sql("SELECT state, count(*) AS n FROM job GROUP BY ALL").read_all().to_pylist() == [
            {"state": "done", "n": 6}
        ]
        assert wh.sql("SELECT count(*) AS n FROM device").read_all().to_pylist() == [{"n": 2}]


def test_other_devices_than_the_jobs_want_are_refused(root: Path, tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        queue_jobs(wh, root, content_id("environment", "another"), 1)
        with pytest.raises(InputError, match="another environment"):
            join(wh.path, "0", hipblaslt=root, idle_s=0.5)


def test_ctrl_c_ends_the_runners(root: Path, tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(Interrupted) as caught:
            join(wh.path, [1], hipblaslt=root, workdir=tmp_path / "work")
        assert caught.value.exit_code == 130 and time.monotonic() - start < 8
