"""The statements of `geko status` and `geko jobs list`, on rows made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.errors import UsageError
from geko.warehouse import Append, Warehouse, queue
from geko.warehouse.warehouse import utc_now

NOW = utc_now()
RUN, ENVIRONMENT = content_id("test", "run"), content_id("test", "environment")
DEVICES = [content_id("test", f"device {n}") for n in range(4)]


def job(name: str, kind: str, state: str, outcome: str | None, age: timedelta, **more: Any) -> dict[str, Any]:
    return {
        "job_id": content_id("test", name), "kind": kind, "state": state, "outcome": outcome, "priority": 0.0, "cost_s": 1.0,
        "batch_key": "", "run_id": RUN, "protocol_id": content_id("test", "protocol"), "environment_id": ENVIRONMENT,
        "attempts": 1, "max_attempts": 3, "alone": False, "timeout_s": 60.0, "updated_at": NOW - age, "device_id": None,
        **more,
    }  # fmt: skip


JOBS = [
    job("a", "baseline", "done", "ok", timedelta(hours=30)),
    job("b", "baseline", "done", "no_solution", timedelta(hours=29)),
    job("c", "screen", "done", "ok", timedelta(minutes=10)),
    job("d", "screen", "failed", "crash", timedelta(minutes=5)),
    job("e", "screen", "leased", None, timedelta(minutes=1), device_id=DEVICES[0]),
    job("f", "screen", "pending", None, timedelta(minutes=1)),
    job("g", "screen", "pending", None, timedelta(minutes=1)),
]


def device(n: int, **more: Any) -> dict[str, Any]:
    row = {
        "device_id": DEVICES[n],
        "environment_id": ENVIRONMENT,
        "host": "h",
        "ordinal": n,
        "last_seen": NOW,
    }
    return {**row, "quarantined_at": None, "quarantine_reason": None, **more}


def attempt(name: str, n: int, outcome: str) -> dict[str, Any]:
    return {
        "job_id": content_id("test", name), "attempt": n, "token": content_id("test", f"{name}{n}"), "runner": "r",
        "device_id": DEVICES[0], "ended_at": NOW, "outcome": outcome, "late": False, "message": f"{outcome} {n}",
    }  # fmt: skip


def runner(n: int, seen: datetime, ended: datetime | None) -> dict[str, Any]:
    return {
        "runner": f"r{n}",
        "device_id": DEVICES[n],
        "started_at": NOW,
        "last_seen": seen,
        "ended_at": ended,
    }


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    run = {
        "run_id": RUN, "kind": "search", "state": "running", "stage": "search", "simulated": False, "options": "{}",
        "n_starts": 2, "started_at": NOW - timedelta(hours=30), "environment_id": ENVIRONMENT,
    }  # fmt: skip
    environment = {
        "environment_id": ENVIRONMENT, "simulated": False, "device_name": "MI300X", "identity": "{}", "first_seen": NOW,
    }  # fmt: skip
    tables = {
        "run": [run],
        "job": JOBS,
        "run_job": [{"run_id": RUN, "job_id": row["job_id"]} for row in JOBS],
        "environment": [environment],
        "device": [
            device(0), device(1), device(2, quarantined_at=NOW, quarantine_reason="5 crashes"), device(3),
        ],
        "runner": [
            runner(0, NOW, None), runner(1, NOW, None), runner(2, NOW, NOW), runner(3, NOW - timedelta(hours=1), None),
        ],
        "job_attempt": [
            attempt("c", 1, "crash"), attempt("c", 2, "ok"), attempt("d", 1, "crash"), attempt("b", 1, "no_solution"),
            attempt("e", 1, "released"),
        ],
    }  # fmt: skip
    with Warehouse.open(tmp_path_factory.mktemp("status") / "w.duckdb") as opened:
        opened.apply(*(Append(name, pa.Table.from_pylist(rows)) for name, rows in tables.items()))
        yield opened


def test_progress_counts_as_the_run_does(warehouse: Warehouse) -> None:
    rows = warehouse.query("status/progress", now=NOW).to_pylist()
    assert [(r["jobs"], r["n_completed"], r["n_failed"], r["n_running"], r["n_left"]) for r in rows] == [
        ("baseline", 1, 1, 0, 0),
        ("screen", 1, 1, 1, 3),
    ]


def test_time_left_goes_by_what_ended_lately(warehouse: Warehouse) -> None:
    baseline, screen = warehouse.query("status/progress", now=NOW).to_pylist()
    assert baseline["eta_s"] is None
    # Two ended in the last ten minutes, three are left.
    assert screen["eta_s"] == pytest.approx(900, abs=1)


def test_devices(warehouse: Warehouse) -> None:
    rows = warehouse.query("status/devices", now=NOW).to_pylist()
    assert [(r["device"], r["state"], r["n_ok"], r["n_failed"]) for r in rows] == [
        (0, "working: 1 screen", 2, 2), (1, "waiting", 0, 0), (2, "quarantined", 0, 0), (3, "no runner", 0, 0),
    ]  # fmt: skip
    assert rows[2]["reason"] == "5 crashes"
    assert {r["gpu"] for r in rows} == {"MI300X"}


@pytest.mark.parametrize(
    ("kind", "state", "n", "expected"),
    [
        (None, None, 100, ["leased", "failed", "pending", "pending", "done", "done", "done"]),
        ("baseline", None, 100, ["done", "done"]),
        (None, "pending", 1, ["pending"]),
        ("baseline", "failed", 100, []),
    ],
)
def test_jobs(kind: str | None, state: str | None, n: int, expected: list[str], warehouse: Warehouse) -> None:
    rows = warehouse.query("status/jobs", run_id=RUN, kind=kind, state=state, n=n).to_pylist()
    assert [row["state"] for row in rows] == expected


def test_jobs_have_the_message_of_their_last_attempt(warehouse: Warehouse) -> None:
    rows = warehouse.query("status/jobs", run_id=None, kind="screen", state="done", n=10).to_pylist()
    assert [row["message"] for row in rows] == ["ok 2"]


def test_runs_and_verdicts(warehouse: Warehouse, tmp_path: Path) -> None:
    (row,) = warehouse.query("status/runs").to_pylist()
    assert (row["run"], row["state"], row["device"], row["starts"], row["kept"]) == (
        RUN[:8],
        "running",
        "MI300X",
        2,
        0,
    )
    assert warehouse.query("status/verdicts").num_rows == 0


def test_jobs_are_found_by_the_start_of_their_ids(warehouse: Warehouse) -> None:
    ids = sorted(str(row["job_id"]) for row in JOBS)
    assert queue.find_jobs(warehouse, [ids[2][:10], ids[0].upper(), ids[2]]) == [ids[0], ids[2], ids[2]]
    with pytest.raises(UsageError, match="0 jobs have an id that starts with 'zz'"):
        queue.find_jobs(warehouse, ["zz"])
    with pytest.raises(UsageError, match=f"{len(ids)} jobs have an id that starts with ''"):
        queue.find_jobs(warehouse, [""])
