"""Cost of a job (claim and result of 20 rows) with a long queue compared with a short one, side by side.

    python benchmarks/bench_job_cost.py              100,000 jobs queued against 1,000

Both warehouses are open at once and worked on in turn, so that a busy machine slows both down alike. CPU
time of this process is shown beside wall time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from bench_queue import DEVICE, fill, rows

from geko.warehouse import Warehouse
from geko.warehouse import queue as jobs


def one_turn(wh: Warehouse, n: int, limit: int) -> tuple[float, float]:
    """Wall and CPU milliseconds a job over ``n`` claims of ``limit`` jobs."""
    measured = rows(20)
    wall, cpu, done = time.perf_counter(), time.process_time(), 0
    for _ in range(n):
        claims = jobs.claim(wh, "runner", DEVICE, limit=limit)
        jobs.complete(
            wh,
            [
                jobs.JobResult(c.job_id, c.attempt, c.token, "runner", DEVICE, "ok", measurements=measured)
                for c in claims
            ],
        )
        done += len(claims)
    return (time.perf_counter() - wall) * 1e3 / done, (time.process_time() - cpu) * 1e3 / done


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", type=int, default=1_000)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--limit", type=int, default=1)
    args = parser.parse_args()
    n_claims = max(1, 40 // args.limit)
    with tempfile.TemporaryDirectory() as folder:
        short = Warehouse.open(Path(folder) / "short.duckdb")
        long = Warehouse.open(Path(folder) / "long.duckdb")
        fill(short, args.short)
        fill(long, args.long)
        times: dict[str, list[tuple[float, float]]] = {"short": [], "long": []}
        for turn in range(args.turns):
            # Turned about, so that neither is always the first after a pause.
            order = [("short", short), ("long", long)]
            for name, wh in order if turn % 2 else order[::-1]:
                times[name].append(one_turn(wh, n_claims, args.limit))
        short.close()
        long.close()
    wall = {name: statistics.median(item[0] for item in found) for name, found in times.items()}
    cpu = {name: statistics.median(item[1] for item in found) for name, found in times.items()}
    for name, n in (("short", args.short), ("long", args.long)):
        print(f"{n:7d} jobs queued: {wall[name]:7.2f} ms a job, {cpu[name]:7.2f} ms CPU")
    print(f"ratio {wall['long'] / wall['short']:.2f} (CPU {cpu['long'] / cpu['short']:.2f})")


if __name__ == "__main__":
    main()
