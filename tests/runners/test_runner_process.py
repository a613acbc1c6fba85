"""Runner processes on a real warehouse: work, crashes, kills, stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.runners.pool import RunnerPool, Slot
from geko.warehouse import Append, Warehouse
from geko.warehouse.queue import enqueue, progress, retry

ENVIRONMENT = Environment(simulated=False, gfx="gfx942:sramecc+:xnack-", cu_count=304)
PROTOCOL = Protocol(harness="hipblaslt-bench", role="baseline")
DEVICES = [content_id("device", {"ordinal": number}) for number in range(2)]
RUN = content_id("run", "test")


@dataclass
class Lab:
    """A warehouse with two devices, and jobs for the stand-in."""

    wh: Warehouse
    standin: Any
    workdir: Path

    def queue(self, *sizes: int, **more: Any) -> None:
        jobs, problems = [], []
        for m in sizes:
            problem = Problem("T", "N", m, 128, 1, 512, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
            problems.append({"problem_id": problem.problem_id, **asdict(problem)})
            row = {
                "M": m, "N": 128, "K": 512, "batch_count": 1, "transA": "T", "transB": "N",
                "a_type": "bf16_r", "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r",
                "compute_type": "c_f32_r", "iters": 1, "print_kernel_info": True,
            }  # fmt: skip
            spec = {
                "harness": "hipblaslt-bench", "root": str(self.standin.root), "rows": [row],
                "problem_ids": [problem.problem_id],
                "arms": [{"name": None, "library_id": None, "libpath": None}],
            }  # fmt: skip
            jobs.append(
                {
                    "job_id": content_id("job", f"job-{m}"), "kind": "baseline", "batch_key": "b",
                    "problem_id": problem.problem_id, "protocol_id": PROTOCOL.protocol_id,
                    "environment_id": ENVIRONMENT.environment_id, "timeout_s": 20.0, "cost_s": 0.1,
                    "spec": json.dumps(spec), **more,
                }
            )  # fmt: skip
        self.wh.apply(Append("problem", pa.Table.from_pylist(problems)))
        enqueue(self.wh, RUN, pa.Table.from_pylist(jobs))

    def states(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for row in progress(self.wh, RUN).to_pylist():
            found[row["state"]] = found.get(row["state"], 0) + row["n_jobs"]
        return found

    def rows(self, text: str) -> list[dict[str, Any]]:
        return self.wh.sql(text).read_all().to_pylist()

    def wait(self, *, done: int | None = None, seconds: float = 40.0, **states: int) -> None:
        wanted = {**states, **({} if done is None else {"done": done})}
        limit = time.monotonic() + seconds
        while any(self.states().get(state, 0) < n for state, n in wanted.items()):
            assert time.monotonic() < limit, f"{self.states()} instead of {wanted}\n{self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.workdir.glob("*.log"))

    def pool(self, *ordinals: int, **options: Any) -> RunnerPool:
        slots = [Slot(ordinal, DEVICES[ordinal]) for ordinal in ordinals]
        return RunnerPool(self.wh.path, slots, self.workdir, **options)


@pytest.fixture
def lab(standin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        now = datetime.now(UTC)
        devices = [
            {"device_id": device, "environment_id": ENVIRONMENT.environment_id, "host": os.uname().nodename,
             "ordinal": number, "last_seen": now}
            for number, device in enumerate(DEVICES)
        ]  # fmt: skip
        wh.apply(
            Append("environment", pa.Table.from_pylist([{**ENVIRONMENT.row(), "first_seen": now}])),
            Append("device", pa.Table.from_pylist(devices)),
            Append("protocol", pa.Table.from_pylist([PROTOCOL.row()])),
        )
        yield Lab(wh, standin, tmp_path / "work")


def test_two_devices_do_all_jobs(lab: Lab) -> None:
    sizes = [64 * n for n in range(1, 25)]
    lab.queue(*sizes)
    with lab.pool(0, 1, limit=4) as pool:
        lab.wait(done=24)
        assert pool.n_alive == 2 and not pool.failures
    assert lab.states() == {"done": 24}
    (total,) = lab.rows(
        "SELECT count(*) AS n, count(DISTINCT m.problem_id) AS problems, count(m.solution_id) AS solved,"
        " min(m.us) AS us, count(s.solution_id) AS known"
        " FROM measurement m LEFT JOIN solution s USING (solution_id)"
    )
    assert total == {"n": 24, "problems": 24, "solved": 24, "us": pytest.approx(20.064), "known": 24}
    assert lab.rows("SELECT mt0, isa FROM solution") == [{"mt0": 64, "isa": "gfx942"}]
    assert {row["kind"] for row in lab.rows("SELECT kind FROM solution_name")} == {"solution", "kernel"}
    assert lab.rows("SELECT count(*) AS n FROM runner WHERE ended_at IS NOT NULL") == [{"n": 2}]
    devices = {call["argv"][3] for call in lab.standin.calls()}
    assert devices == {"0", "1"}
    # Every attempt has its command and its output.
    (kept,) = lab.rows(
        "SELECT count(*) AS n, count(o.output_id) AS outputs"
        " FROM job_attempt a JOIN output o USING (output_id)"
        " WHERE a.command LIKE '%--yaml%' AND o.text LIKE 'hipBLASLt version%'"
    )
    assert kept == {"n": 24, "outputs": 24}


def test_a_crash_in_a_batch_costs_one_job_one_attempt(lab: Lab) -> None:
    lab.standin.rules({"do": "crash", "M": 192, "times": 1})
    lab.queue(*[64 * n for n in range(1, 9)])
    with lab.pool(0):
        lab.wait(done=8)
    attempts = lab.rows("SELECT outcome, count(*) AS n FROM job_attempt GROUP BY ALL ORDER BY ALL")
    assert [row for row in attempts if row["outcome"] != "released"] == [
        {"outcome": "crash", "n": 1}, {"outcome": "ok", "n": 8},
    ]  # fmt: skip
    assert lab.rows("SELECT attempts, count(*) AS n FROM job GROUP BY ALL ORDER BY ALL") == [
        {"attempts": 1, "n": 7}, {"attempts": 2, "n": 1},
    ]  # fmt: skip


def test_a_killed_runner_is_replaced_and_its_program_dies(lab: Lab) -> None:
    lab.standin.rules({"do": "hang", "M": 128, "times": 1})
    lab.queue(64, 128, 192)
    with lab.pool(0) as pool:
        limit = time.monotonic() + 30
        while not lab.standin.calls():
            assert time.monotonic() < limit, lab.logs()
            time.sleep(0.05)
        time.sleep(0.3)
        (pid,) = pool.pids
        programs = _children(pid)
        assert programs
        os.kill(pid, signal.SIGKILL)
        limit = time.monotonic() + 5
        while any(_alive(program) for program in programs):
            assert time.monotonic() < limit, "the program of a killed runner goes on"
            time.sleep(0.05)
        while pool.pids in ([], [pid]):
            assert time.monotonic() < limit + 10
            time.sleep(0.05)
        # Its leases would run for a minute, but its process is seen to be gone.
        lab.wait(done=3)
    assert lab.rows("SELECT count(*) AS n FROM measurement WHERE outcome = 'ok'") == [{"n": 3}]


def test_stopping_gives_work_back_within_two_seconds(lab: Lab) -> None:
    lab.standin.rules({"do": "hang", "M": 128})
    lab.queue(64, 128, 192)
    pool = lab.pool(0)
    pool.start()
    limit = time.monotonic() + 30
    while not lab.standin.calls():
        assert time.monotonic() < limit, lab.logs()
        time.sleep(0.05)
    time.sleep(0.3)
    (pid,) = pool.pids
    programs = _children(pid)
    start = time.monotonic()
    pool.stop()
    assert time.monotonic() - start < 3.0
    assert not any(_alive(program) for program in programs)
    # What was measured before counts, the rest is as if never tried.
    found = lab.rows("SELECT state, attempts, count(*) AS n FROM job GROUP BY ALL ORDER BY ALL")
    assert found == [{"state": "done", "attempts": 1, "n": 1}, {"state": "pending", "attempts": 0, "n": 2}]


def test_a_missing_program_ends_the_slot_with_a_reason(lab: Lab) -> None:
    (lab.standin.folder / "hipblaslt-bench").unlink()
    lab.queue(64, 128)
    with lab.pool(0) as pool:
        limit = time.monotonic() + 30
        while pool.n_alive:
            assert time.monotonic() < limit, lab.logs()
            time.sleep(0.1)
        assert "not built" in pool.failures[0]
    outcomes = lab.rows("SELECT outcome, count(*) AS n FROM job_attempt GROUP BY ALL ORDER BY ALL")
    assert outcomes == [{"outcome": "released", "n": 1}, {"outcome": "tool_missing", "n": 1}]


def test_quarantine_is_respected(lab: Lab) -> None:
    lab.standin.rules({"do": "crash"})
    lab.queue(*[64 * n for n in range(1, 9)], max_attempts=9)
    with lab.pool(0, limit=1) as pool:
        limit = time.monotonic() + 40
        while not lab.rows("SELECT 1 AS x FROM device WHERE quarantined_at IS NOT NULL"):
            assert time.monotonic() < limit, lab.logs()
            time.sleep(0.1)
        n_calls = len(lab.standin.calls())
        time.sleep(1.5)
        assert len(lab.standin.calls()) == n_calls
        assert pool.n_alive == 1
    assert lab.states().get("done") is None


def test_an_orphan_delivers_and_ends(lab: Lab, tmp_path: Path) -> None:
    lab.standin.rules({"sleep": 0.8})
    lab.queue(64, 128)
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from geko.runners.pool import RunnerPool, Slot\n"
        "pool = RunnerPool(Path(sys.argv[1]), [Slot(0, sys.argv[2])], Path(sys.argv[3]), limit=1)\n"
        "pool.start()\n"
        "print(pool.pids[0], flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lab.wh.path), DEVICES[0], str(lab.workdir)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        runner = int(parent.stdout.readline())
        limit = time.monotonic() + 30
        while not lab.standin.calls():
            assert time.monotonic() < limit, lab.logs()
            time.sleep(0.02)
        parent.kill()
    limit = time.monotonic() + 15
    while _alive(runner):
        assert time.monotonic() < limit, lab.logs()
        time.sleep(0.05)
    assert lab.states() == {"done": 1, "pending": 1}


def test_failed_jobs_can_be_retried(lab: Lab) -> None:
    lab.standin.rules({"do": "silent", "M": 64})
    lab.queue(64, max_attempts=1)
    with lab.pool(0):
        lab.wait(failed=1)
        lab.standin.rules()
        assert retry(lab.wh, run_id=RUN) == 1
        lab.wait(done=1)


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(part) for part in path.read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False
