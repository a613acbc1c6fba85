"""Processes that are gone: their leases come back and their runs are interrupted, without waiting for a timeout."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from warehouse_support import DEVICES, RUN, Bench, job_table, store_basics

from geko.domain.identity import content_id
from geko.errors import UsageError
from geko.warehouse import Append, Statement, Warehouse
from geko.warehouse import queue as jobs
from geko.warehouse.place import process_is_gone
from geko.warehouse.policy import QueuePolicy

CLAIM = """
import sys, time
from geko.warehouse import Warehouse, queue
wh = Warehouse.open(sys.argv[1])
claims = queue.claim(wh, "victim", sys.argv[2], limit=2)
print(len(claims), flush=True)
time.sleep(600)
"""


def run_row(name: str, pid: int, host: str, wh: Warehouse) -> dict[str, object]:
    return {
        "run_id": content_id("run", name), "kind": "search", "label": name, "state": "running", "stage": "baseline",
        "simulated": True, "options": "{}", "pid": pid, "host": host, "n_starts": 1, "started_at": wh.now(),
    }  # fmt: skip


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_process_that_only_waits_for_its_parent_is_gone() -> None:
    assert not process_is_gone(os.getpid())
    assert not process_is_gone(1)
    assert process_is_gone(dead_process())
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        assert not process_is_gone(process.pid)
        process.kill()
        limit = time.monotonic() + 20
        while not process_is_gone(process.pid):
            assert time.monotonic() < limit
        process.wait()


def test_a_killed_runner_gives_its_jobs_back_at_once(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with Warehouse.open(path) as wh:
        store_basics(wh)
        jobs.enqueue(wh, RUN, job_table(2, max_attempts=[1, 3]))
        command = [sys.executable, "-c", CLAIM, str(path), DEVICES[0]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "2\n"
            victim.send_signal(signal.SIGKILL)
            limit = time.monotonic() + 30  # of the 60 s that the leases last
            while wh.sql("FROM job WHERE state = 'leased'").read_all().num_rows:
                assert time.monotonic() < limit
                time.sleep(0.02)
        # It has cost an attempt, and one of the jobs had no more.
        assert wh.sql("SELECT state, attempts, outcome FROM job ORDER BY cost_s").read_all().to_pylist() == [
            {"state": "failed", "attempts": 1, "outcome": "lost"},
            {"state": "pending", "attempts": 1, "outcome": "lost"},
        ]
        attempts = wh.sql("SELECT DISTINCT runner, outcome, message FROM job_attempt").read_all().to_pylist()
        assert attempts == [
            {"runner": "victim", "outcome": "lost", "message": "the runner's process is gone"}
        ]
        ended = wh.sql("SELECT ended_at IS NOT NULL AS ended FROM runner").read_all().to_pylist()
        assert ended == [{"ended": True}]
        (claim,) = jobs.claim(wh, "next", DEVICES[1])
        assert claim.attempt == 2


def test_leases_of_living_runners_and_of_other_hosts_stay(bench: Bench) -> None:
    bench.enqueue(2)
    bench.claim()
    elsewhere = {
        "runner": "far",
        "device_id": DEVICES[1],
        "token": RUN,
        "pid": dead_process(),
        "host": "elsewhere",
    }
    assert len(bench.wh.queue_operation("claim", elsewhere)) == 1
    bench.clock.move(5)
    assert bench.claim() == []
    assert bench.value("SELECT count(*) FROM job WHERE state = 'leased'") == 2


def test_a_runner_in_another_container_is_no_dead_process(bench: Bench) -> None:
    # Its number there says nothing here: the kernel tells which process has connected.
    bench.enqueue(1)
    told = {
        "runner": "boxed",
        "device_id": DEVICES[0],
        "token": RUN,
        "pid": dead_process(),
        "host": socket.gethostname(),
    }
    client = bench.other if bench.wh.is_owner else bench.wh
    assert len(client.queue_operation("claim", told)) == 1
    bench.clock.move(5)
    assert bench.claim() == []
    assert bench.value("SELECT state FROM job") == "leased"


def test_a_run_whose_process_is_gone_is_interrupted(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    here = socket.gethostname()
    wh = make()
    dead = dead_process()
    rows = [
        run_row("dead", dead, here, wh),
        run_row("alive", os.getpid(), here, wh),
        run_row("far", dead, "elsewhere", wh),
    ]
    wh.apply(Append("run", pa.Table.from_pylist(rows)))
    wh.close()
    # Whoever opens the file next sees it at once.
    again = make()
    found = (
        again.sql("SELECT label, state, ended_at IS NULL AS open FROM run ORDER BY label")
        .read_all()
        .to_pylist()
    )
    assert found == [
        {"label": "alive", "state": "running", "open": True},
        {"label": "dead", "state": "interrupted", "open": False},
        {"label": "far", "state": "running", "open": True},
    ]


def test_variables_set_the_numbers_of_the_queue() -> None:
    assert QueuePolicy.from_environment({}) == QueuePolicy()
    given = {
        "GEKO_LEASE_S": "7.5",
        "GEKO_BACKOFF_S": "0",
        "GEKO_MAX_BACKOFF_S": "3",
        "GEKO_QUARANTINE_AFTER": "2",
    }
    expected = QueuePolicy(lease_s=7.5, backoff_s=0.0, max_backoff_s=3.0, quarantine_after=2)
    assert QueuePolicy.from_environment(given) == expected
    for name, text in (
        ("GEKO_LEASE_S", "0.5"), ("GEKO_LEASE_S", "soon"), ("GEKO_BACKOFF_S", "-1"), ("GEKO_MAX_BACKOFF_S", "inf"),
        ("GEKO_QUARANTINE_AFTER", "2.5"), ("GEKO_QUARANTINE_AFTER", "0"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=name):
            QueuePolicy.from_environment({name: text})


def test_a_warehouse_takes_the_numbers_from_its_owner(
    make: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEKO_LEASE_S", "7")
    monkeypatch.setenv("GEKO_QUARANTINE_AFTER", "1")
    wh = make()
    store_basics(wh)
    jobs.enqueue(wh, RUN, job_table(1))
    (claim,) = jobs.claim(wh, "r", DEVICES[0])
    (row,) = (
        wh.sql("SELECT date_diff('second', updated_at, lease_until) AS s FROM job").read_all().to_pylist()
    )
    assert row["s"] == 7
    jobs.complete(wh, [jobs.JobResult(claim.job_id, claim.attempt, claim.token, "r", DEVICES[0], "hang")])
    reasons = wh.sql("SELECT quarantine_reason FROM device WHERE quarantined_at IS NOT NULL").read_all()
    assert reasons.column(0).to_pylist() == ["1 failures in a row, the last: hang"]


def test_retry_and_cancel_asked_again_count_what_they_did(bench: Bench) -> None:
    bench.enqueue(3, max_attempts=1)
    bench.finish(bench.claim()[0], "crash")
    what = {"run_id": RUN, "job_ids": None, "now": bench.wh.now()}
    again = Statement("queue/retry", {**what, "outcomes": [], "more": 3})
    assert [bench.wh.apply(again)[0].column(0)[0].as_py() for _ in range(2)] == [1, 1]
    bench.clock.move(1)
    assert jobs.retry(bench.wh, run_id=RUN) == 0
    cancel = Statement("queue/cancel", {**what, "now": bench.wh.now()})
    assert [bench.wh.apply(cancel)[0].column(0)[0].as_py() for _ in range(2)] == [3, 3]
    bench.clock.move(1)
    assert jobs.cancel(bench.wh, run_id=RUN) == 0


def test_retry_lifts_quarantines(bench: Bench) -> None:
    bench.enqueue(1)
    bench.wh.apply(
        Statement("queue/quarantine", {"device_ids": [DEVICES[0]], "now": bench.clock.time, "reason": "test"})
    )
    assert bench.claim() == []
    bench.clock.move(1)
    assert jobs.retry(bench.wh, run_id=RUN) == 0
    assert bench.value("SELECT count(*) FROM device WHERE quarantined_at IS NOT NULL") == 0
    assert len(bench.claim()) == 1
