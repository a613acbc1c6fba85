"""Runner processes and tuning jobs on a real warehouse."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tune_support import Bench, config, make_bench, tuning_root

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.runners.pool import RunnerPool, Slot
from geko.warehouse import Append, Warehouse
from geko.warehouse.queue import JobResult, enqueue, progress, store_files

ENVIRONMENT = Environment(simulated=True, gfx="gfx942:sramecc+:xnack-", cu_count=304)
PROTOCOL = Protocol(harness="tensilelite-client", role="tune")
DEVICE = content_id("device", {"ordinal": 0})
RUN = content_id("run", "tune")
SIZE = (1024, 512, 1, 2048)


@dataclass
class Lab:
    """A warehouse with one simulated device, and tuning jobs."""

    wh: Warehouse
    bench: Bench
    workdir: Path

    def queue(self, *depths: int, **spec: Any) -> None:
        """A tuning job for each DepthU."""
        m, n, batch, k = SIZE
        problem = Problem("T", "N", m, n, batch, k, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
        self.wh.apply(
            Append("problem", pa.Table.from_pylist([{"problem_id": problem.problem_id, **asdict(problem)}]))
        )
        jobs = []
        for number, depth in enumerate(depths):
            text = config(sizes=(SIZE,), depths=(depth,))
            claim = self.bench.claim(
                text, sizes=(SIZE,), name=f"BBS_TN_{number}", problem_ids=[problem.problem_id], **spec
            )
            jobs.append(
                {
                    "job_id": claim.job_id, "kind": "tune", "batch_key": str(number), "protocol_id": PROTOCOL.protocol_id,
                    "environment_id": ENVIRONMENT.environment_id, "timeout_s": 100.0, "cost_s": 60.0, "spec": claim.spec,
                    "max_attempts": 1,
                }
            )  # fmt: skip
        enqueue(self.wh, RUN, pa.Table.from_pylist(jobs))

    def rows(self, text: str) -> list[dict[str, Any]]:
        return self.wh.sql(text).read_all().to_pylist()

    def pool(self, slots: int, **env: str) -> RunnerPool:
        return RunnerPool(
            self.wh.path, [Slot(0, DEVICE)] * slots, self.workdir, kinds=("tune",), limit=1, simulated=True,
            env=dict(self.bench.context(**env).env),
        )  # fmt: skip

    def wait(self, n_ended: int) -> None:
        limit = time.monotonic() + 100
        while True:
            ended = sum(
                row["n_jobs"]
                for row in progress(self.wh, RUN).to_pylist()
                if row["state"] in ("done", "failed")
            )
            if ended >= n_ended:
                return
            assert time.monotonic() < limit, "\n".join(
                path.read_text() for path in self.workdir.glob("*.log")
            )
            time.sleep(0.1)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        now = datetime.now(UTC)
        device = {
            "device_id": DEVICE, "environment_id": ENVIRONMENT.environment_id, "host": os.uname().nodename, "ordinal": 0,
            "last_seen": now,
        }  # fmt: skip
        wh.apply(
            Append("environment", pa.Table.from_pylist([{**ENVIRONMENT.row(), "first_seen": now}])),
            Append("device", pa.Table.from_pylist([device])),
            Append("protocol", pa.Table.from_pylist([PROTOCOL.row()])),
        )
        yield Lab(wh, make_bench(tuning_root(tmp_path), tmp_path), tmp_path / "work")


def test_slots_of_a_device_share_the_work_and_everything_is_stored(lab: Lab) -> None:
    lab.queue(32, 64)
    with lab.pool(2) as pool:
        lab.wait(2)
        assert pool.n_alive == 2
    attempts = lab.rows("SELECT * FROM job_attempt ORDER BY job_id")
    assert [row["outcome"] for row in attempts] == ["ok", "ok"]
    assert all(row["exit_code"] == 0 and row["output_id"] for row in attempts)
    (measured,) = lab.rows(
        "SELECT count(*) AS n, count(DISTINCT job_id) AS jobs, count(DISTINCT m.solution_id) AS solutions, "
        "count(DISTINCT s.solution_id) AS known, count(*) FILTER (outcome = 'ok') AS n_ok "
        "FROM measurement AS m LEFT JOIN solution AS s ON s.solution_id = m.solution_id"
    )
    assert (
        measured["jobs"] == 2
        and measured["n"] == measured["n_ok"] == measured["solutions"] == measured["known"] > 20
    )
    (checked,) = lab.rows("SELECT count(*) AS n FROM validation WHERE outcome = 'passed'")
    assert checked["n"] == measured["n"]
    files = lab.rows("SELECT job_id, attempt, path, content FROM tuning_output ORDER BY job_id")
    assert len({row["job_id"] for row in files}) == 2
    assert all(row["attempt"] == 1 and row["path"].startswith("3_LibraryLogic/") for row in files)
    assert all("MinimumRequiredVersion" in row["content"] for row in files)
    ends = lab.rows("SELECT * FROM tuning_progress WHERE phase = 'done'")
    assert sorted(row["n_done"] for row in ends) == sorted(
        row["n"] for row in lab.rows("SELECT count(*) AS n FROM measurement GROUP BY job_id")
    )


def test_a_device_whose_jobs_all_fail_is_given_up(lab: Lab) -> None:
    lab.queue(32, 64, 128, abort_after=2)
    with lab.pool(1, GEKO_SIM_FAULTS="exit:tool=Tensile,phase=start,code=4") as pool:
        lab.wait(2)
        limit = time.monotonic() + 30
        while pool.n_alive:
            assert time.monotonic() < limit
            time.sleep(0.1)
        (why,) = pool.failures
    assert "2 tuning jobs in a row failed" in why
    states = {
        row["state"]: row["n"] for row in lab.rows("SELECT state, count(*) AS n FROM job GROUP BY state")
    }
    assert states == {"failed": 2, "pending": 1}
    (row,) = lab.rows(
        "SELECT DISTINCT outcome, json_extract_string(extra, '$.message') AS message FROM measurement"
    )
    assert row["outcome"] == "crash" and "exit status 4" in row["message"]


def test_the_budget_of_processors_is_dealt_out(lab: Lab) -> None:
    command = lab.pool(4).command(Slot(0, DEVICE), "x")
    threads = int(command[command.index("--cpu-threads") + 1])
    assert threads == max(1, (os.cpu_count() or 1) // 4)


def test_a_result_that_comes_twice_leaves_its_files_once(lab: Lab) -> None:
    files = pa.table({"path": ["3_LibraryLogic/a.yaml"], "content": ["x"]})
    result = JobResult(content_id("job", "j"), 1, "token", "runner", None, "ok", files=files)
    for _ in range(2):
        store_files(lab.wh, [result])
    (row,) = lab.rows("SELECT path, content FROM tuning_output")
    assert row == {"path": "3_LibraryLogic/a.yaml", "content": "x"}
    store_files(lab.wh, [JobResult(content_id("job", "k"), 1, "token", "runner", None, "ok")])
    assert len(lab.rows("SELECT * FROM tuning_output")) == 1
