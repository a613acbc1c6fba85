"""Claims and results per second of many runner processes, side by side with one runner and with plain SQL.

    python benchmarks/bench_queue.py                 32 processes, 20 measurement rows a result, some 10 s
    python benchmarks/bench_queue.py --limit 8       each claim asks for 8 jobs, as runners that batch do

Plain SQL is what a program would do on its own connection: one UPDATE for the claim, one for the result and
an executemany of the rows, each result in one transaction. The rate is bounded by how soon the disk confirms a
commit (TMPDIR says where the files lie) and by the processors that others leave; CPU time a result depends on neither.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.warehouse import Append, Warehouse
from geko.warehouse import queue as jobs

ENVIRONMENT_ROW = Environment(simulated=True, device_name="bench")
PROTOCOL_ROW = Protocol(harness="bench", role="baseline")
PROBLEM_ROW = Problem("N", "N", 64, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
DEVICE, RUN = content_id("device", "bench"), content_id("run", "bench")
ENVIRONMENT, PROTOCOL = ENVIRONMENT_ROW.environment_id, PROTOCOL_ROW.protocol_id
PROBLEM = PROBLEM_ROW.problem_id


def store_references(wh: Warehouse) -> None:
    """Store what jobs refer to, so that `check` has nothing to say."""
    rows = pa.Table.from_pylist
    wh.apply(
        Append("environment", rows([{**ENVIRONMENT_ROW.row(), "first_seen": wh.now()}])),
        Append("protocol", rows([PROTOCOL_ROW.row()])),
        Append("problem", rows([{"problem_id": PROBLEM, **asdict(PROBLEM_ROW)}])),
    )


def fill(wh: Warehouse, n: int, max_attempts: int = 3) -> None:
    """Store a device and queue ``n`` jobs."""
    wh.apply(
        Append(
            "device",
            pa.table(
                {
                    "device_id": [DEVICE],
                    "environment_id": [ENVIRONMENT],
                    "host": ["bench"],
                    "ordinal": pa.array([0], pa.int32()),
                    "last_seen": [wh.now()],
                }
            ),
        )
    )
    table = pa.table(
        {
            "job_id": [str(uuid.uuid4()) for _ in range(n)],
            "kind": ["baseline"] * n,
            "batch_key": ["bench"] * n,
            "problem_id": [PROBLEM] * n,
            "protocol_id": [PROTOCOL] * n,
            "environment_id": [ENVIRONMENT] * n,
            "timeout_s": [60.0] * n,
            "cost_s": [float(i % 97) for i in range(n)],
            "spec": ['{"harness": "bench"}'] * n,
            "max_attempts": pa.array([max_attempts] * n, pa.int32()),
        }
    )
    jobs.enqueue(wh, RUN, table)


def rows(n: int) -> pa.Table:
    """Measurement rows of one result."""
    return pa.table(
        {
            "outcome": ["ok"] * n,
            "us": [10.0 + i for i in range(n)],
            "gflops": [1e5] * n,
            "rank": pa.array(range(n), pa.int32()),
            "solution_index": pa.array(range(n), pa.int64()),
            "iters": pa.array([100] * n, pa.int32()),
        }
    )


def work(wh: Warehouse, name: str, seconds: float, limit: int, measured: pa.Table, waits: list[float]) -> int:
    """Claim and complete for some seconds; returns the number of results."""
    end, done = time.monotonic() + seconds, 0
    claims: list[jobs.Claim] = []
    while time.monotonic() < end:
        results = [
            jobs.JobResult(c.job_id, c.attempt, c.token, name, DEVICE, "ok", measurements=measured)
            for c in claims
        ]
        done += len(results)
        start = time.perf_counter()
        _, claims = jobs.complete_and_claim(wh, results, name, DEVICE, limit=limit)
        waits.append(time.perf_counter() - start)
        if not claims:
            break
    return done


def _runner(path: str, nr: int, seconds: float, limit: int, n_rows: int, signals: Any) -> None:
    ready, go, results = signals
    with Warehouse.open(path) as wh:
        measured = rows(n_rows)
        ready.release()
        go.wait()
        waits: list[float] = []
        cpu = time.process_time()
        done = work(wh, f"runner-{nr}", seconds, limit, measured, waits)
        results.put((done, waits, time.process_time() - cpu))


@dataclass(frozen=True)
class Rate:
    """What a crew of runners achieved.

    Attributes:
        per_s: results per second.
        p99_ms: 99th percentile of a claim.
        owner_ms, runner_ms: CPU milliseconds a result in the owner and in the runners.
    """

    per_s: float
    p99_ms: float
    owner_ms: float
    runner_ms: float

    def __str__(self) -> str:
        return (
            f"{self.per_s:8.0f} results/s   claim p99 {self.p99_ms:6.1f} ms   CPU a result: owner {self.owner_ms:.2f} ms,"
            f" runner {self.runner_ms:.2f} ms"
        )


def many(path: Path, n_processes: int, seconds: float, limit: int, n_rows: int, n_jobs: int) -> Rate:
    """Claims and results of many processes."""
    context = multiprocessing.get_context("spawn")
    with Warehouse.open(path) as wh:
        fill(wh, n_jobs)
        ready, go, results = context.Semaphore(0), context.Event(), context.Queue()
        signals = (ready, go, results)
        processes = [
            context.Process(target=_runner, args=(str(path), nr, seconds, limit, n_rows, signals))
            for nr in range(n_processes)
        ]
        for process in processes:
            process.start()
        for _ in processes:
            ready.acquire()
        start, cpu = time.perf_counter(), time.process_time()
        go.set()
        found = [results.get() for _ in processes]
        elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu
        for process in processes:
            process.join()
        waits = sorted(wait for _, own, _ in found for wait in own)
        n = sum(done for done, _, _ in found)
        p99 = waits[int(0.99 * (len(waits) - 1))] * 1e3
        return Rate(n / elapsed, p99, cpu / n * 1e3, sum(item[2] for item in found) / n * 1e3)


def plain(path: Path, seconds: float, n_rows: int) -> float:
    """Results per second of plain SQL on one connection."""
    con = duckdb.connect(str(path))
    end, done, start = time.monotonic() + seconds, 0, time.perf_counter()
    while time.monotonic() < end:
        token = str(uuid.uuid4())
        con.execute(
            "UPDATE job SET state = 'leased', token = $token WHERE job_id = ("
            "SELECT job_id FROM job WHERE state = 'pending' ORDER BY priority DESC, cost_s DESC LIMIT 1)",
            {"token": token},
        )
        con.execute("BEGIN")
        con.execute("UPDATE job SET state = 'done' WHERE token = $token", {"token": token})
        con.executemany(
            "INSERT INTO measurement"
            " (measurement_id, problem_id, environment_id, protocol_id, outcome, us, rank)"
            " VALUES (?, ?, ?, ?, 'ok', ?, ?)",
            [(str(uuid.uuid4()), PROBLEM, ENVIRONMENT, PROTOCOL, 10.0, i) for i in range(n_rows)],
        )
        con.execute("COMMIT")
        done += 1
    rate = done / (time.perf_counter() - start)
    con.close()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--limit", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=40_000)
    args = parser.parse_args()
    common = (args.seconds, args.limit, args.rows, args.jobs)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        one = many(place / "one.duckdb", 1, *common)
        full = many(place / "many.duckdb", args.processes, *common)
        with Warehouse.open(place / "plain.duckdb") as wh:
            fill(wh, 4000)
        naive = plain(place / "plain.duckdb", args.seconds, args.rows)
    print(f"plain SQL, one connection      {naive:8.0f} results/s")
    print(f"1 runner process               {one}")
    print(f"{args.processes} runner processes            {full}")
    print(f"ratio to plain SQL {full.per_s / naive:.1f}, to one runner {full.per_s / one.per_s:.1f}")


if __name__ == "__main__":
    main()
