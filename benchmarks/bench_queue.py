"""Claims and results per second of many runner processes, side by side with one runner and with plain SQL.

    python benchmarks/bench_queue.py                 32 processes, 20 measurement rows a result, some 10 s
    python benchmarks/bench_queue.py --limit 8       each claim asks for 8 jobs, as runners that batch do

Plain SQL is what a program would do on its own connection: one UPDATE for the claim, one for the result and
an executemany of the rows, each result in one transaction.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import uuid
from pathlib import Path

import duckdb
import pyarrow as pa

from geko.domain.identity import content_id
from geko.warehouse import Append, Warehouse
from geko.warehouse import queue as jobs

DEVICE, ENVIRONMENT = content_id("device", "bench"), content_id("environment", "bench")
PROTOCOL, RUN, PROBLEM = (
    content_id("protocol", "bench"),
    content_id("run", "bench"),
    content_id("problem", "bench"),
)


def fill(wh: Warehouse, n: int) -> None:
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
    while time.monotonic() < end:
        start = time.perf_counter()
        claims = jobs.claim(wh, name, DEVICE, limit=limit)
        waits.append(time.perf_counter() - start)
        if not claims:
            break
        jobs.complete(
            wh,
            [
                jobs.JobResult(c.job_id, c.attempt, c.token, name, DEVICE, "ok", measurements=measured)
                for c in claims
            ],
        )
        done += len(claims)
    return done


def _runner(path: str, nr: int, seconds: float, limit: int, n_rows: int, ready, go, results) -> None:  # type: ignore[no-untyped-def]
    with Warehouse.open(path) as wh:
        measured = rows(n_rows)
        ready.release()
        go.wait()
        waits: list[float] = []
        done = work(wh, f"runner-{nr}", seconds, limit, measured, waits)
        results.put((done, waits))


def many(
    path: Path, n_processes: int, seconds: float, limit: int, n_rows: int, n_jobs: int
) -> tuple[float, float]:
    """Results per second of many processes, and the 99th percentile of a claim in ms."""
    context = multiprocessing.get_context("spawn")
    with Warehouse.open(path) as wh:
        fill(wh, n_jobs)
        ready, go, results = context.Semaphore(0), context.Event(), context.Queue()
        arguments = (str(path),)
        processes = [
            context.Process(target=_runner, args=(*arguments, nr, seconds, limit, n_rows, ready, go, results))
            for nr in range(n_processes)
        ]
        for process in processes:
            process.start()
        for _ in processes:
            ready.acquire()
        start = time.perf_counter()
        go.set()
        found = [results.get() for _ in processes]
        elapsed = time.perf_counter() - start
        for process in processes:
            process.join()
        waits = sorted(wait for _, own in found for wait in own)
        return sum(done for done, _ in found) / elapsed, waits[int(0.99 * (len(waits) - 1))] * 1e3


def plain(path: Path, seconds: float, n_rows: int) -> float:
    """Results per second of plain SQL on one connection."""
    con = duckdb.connect(str(path))
    end, done, start = time.monotonic() + seconds, 0, time.perf_counter()
    while time.monotonic() < end:
        token = str(uuid.uuid4())
        con.execute(
            "UPDATE job SET state = 'leased', token = $token WHERE job_id = (SELECT job_id FROM job WHERE state ="
            " 'pending' ORDER BY priority DESC, cost_s DESC LIMIT 1)",
            {"token": token},
        )
        con.execute("BEGIN")
        con.execute("UPDATE job SET state = 'done' WHERE token = $token", {"token": token})
        con.executemany(
            "INSERT INTO measurement (measurement_id, problem_id, environment_id, protocol_id, outcome, us, rank)"
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
        one, one_p99 = many(place / "one.duckdb", 1, *common)
        full, full_p99 = many(place / "many.duckdb", args.processes, *common)
        with Warehouse.open(place / "plain.duckdb") as wh:
            fill(wh, 4000)
        naive = plain(place / "plain.duckdb", args.seconds, args.rows)
    print(f"plain SQL, one connection      {naive:8.0f} results/s")
    print(f"1 runner process               {one:8.0f} results/s   claim p99 {one_p99:6.1f} ms")
    print(
        f"{args.processes} runner processes            {full:8.0f} results/s   claim p99 {full_p99:6.1f} ms"
    )
    print(f"ratio to plain SQL {full / naive:.1f}, to one runner {full / one:.1f}")


if __name__ == "__main__":
    main()
