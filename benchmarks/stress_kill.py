"""Kills owners and runners at random moments and checks that nothing is lost, doubled or stuck.

    python benchmarks/stress_kill.py                 5 rounds
    python benchmarks/stress_kill.py --full          50 rounds

Runner processes claim and complete jobs of 20 measurement rows; a client runs a cross join of some 10 s
through `sql` over and over. Each round kills, with SIGKILL, the process that owns the file, or a runner,
or both, and starts others. The runners write down what was acknowledged before they go on. In the end
every acknowledged result must be in the file exactly once, every job must be done at most once, and no
lease may be left. Exit status 1 if not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_queue import DEVICE, fill, rows, store_references

from geko.errors import GekoError
from geko.warehouse import Warehouse, place
from geko.warehouse import queue as jobs

LEASE_S = 3.0
N_ROWS = 20
CROSS_JOIN = "SELECT count(*) FROM range(40_000) AS a, range({n}) AS b WHERE (a.range * b.range) % 7 = 3"


def run_owner(path: str) -> None:
    """Own the file, or wait as a client for the owner to go."""
    wh = Warehouse.open(path, wait=30)
    while True:
        wh.query("queue/devices")
        time.sleep(0.05)


def run_runner(path: str, name: str, log: str) -> None:
    """Claim, complete, and write down what was acknowledged."""
    wh = Warehouse.open(path, wait=30)
    measured = rows(N_ROWS)
    with Path(log).open("a", encoding="utf-8", buffering=1) as out:
        while True:
            start = time.perf_counter()
            claims = jobs.claim(wh, name, DEVICE, lease_s=LEASE_S)
            out.write(f"claim {(time.perf_counter() - start) * 1e3:.2f} {time.time():.3f}\n")
            for c in claims:
                result = jobs.JobResult(
                    c.job_id, c.attempt, c.token, name, DEVICE, "ok", measurements=measured
                )
                (answer,) = jobs.complete(wh, [result])
                out.write(f"{answer} {c.job_id} {c.token}\n")
            if not claims:
                time.sleep(0.1)


def run_sql(path: str, seconds: float) -> None:
    """Keep the owner busy with a user's query of about this length."""
    n = 20_000
    while True:
        try:
            with Warehouse.open(path, wait=30) as wh:
                start = time.perf_counter()
                wh.sql(CROSS_JOIN.format(n=n)).read_all()
                n = max(1000, int(n * seconds / (time.perf_counter() - start)))
        except GekoError:
            continue


class Crew:
    """The processes, each started again when it was killed."""

    def __init__(self, path: Path, folder: Path, n_runners: int) -> None:
        self.path, self.folder = path, folder
        self.n_started = 0
        self.processes: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        for role in ["owner", *["runner"] * n_runners, "sql"]:
            self.start(role)
            if role == "owner":
                time.sleep(1.0)

    def start(self, role: str) -> None:
        self.n_started += 1
        log = self.folder / f"log-{self.n_started}"
        process = subprocess.Popen(
            [sys.executable, __file__, "--role", role, "--db", str(self.path), "--log", str(log)]
        )
        self.processes[process.pid] = (role, process)

    def kill(self, pid: int) -> str:
        role, process = self.processes.pop(pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return role

    def of(self, role: str) -> list[int]:
        return [pid for pid, (own, _) in self.processes.items() if own == role]

    def died(self) -> list[str]:
        return [role for role, process in self.processes.values() if process.poll() is not None]


def verify(path: Path, folder: Path) -> list[str]:
    """What is wrong; empty if nothing is."""
    acknowledged: list[tuple[str, str]] = []
    for log in folder.glob("log-*"):
        for line in log.read_text(encoding="utf-8").splitlines():
            answer, _, rest = line.partition(" ")
            if answer == "accepted" and rest.count(" ") == 1:
                acknowledged.append((rest.split()[0], rest.split()[1]))
    wrong: list[str] = []
    time.sleep(LEASE_S + 1.5)
    with Warehouse.open(path, wait=30) as wh:
        jobs.claim(wh, "last", DEVICE, kinds=["nothing"])
        found = wh.sql(
            "SELECT job_id, token, count(*) AS n FROM job_attempt"
            " WHERE outcome = 'ok' AND NOT late GROUP BY ALL"
        )
        stored = {(row["job_id"], row["token"]): row["n"] for row in found.read_all().to_pylist()}
        lost = [item for item in acknowledged if item not in stored]
        doubled = [item for item, n in stored.items() if n > 1] + [
            item for item in set(acknowledged) if acknowledged.count(item) > 1 and len(acknowledged) < 5000
        ]
        twice = len(stored) - len({job for job, _ in stored})
        n_rows = (
            wh.sql("SELECT count(*) FROM measurement WHERE outcome = 'ok'").read_all().column(0)[0].as_py()
        )
        n_leased = wh.sql("SELECT count(*) FROM job WHERE state = 'leased'").read_all().column(0)[0].as_py()
        n_done = wh.sql("SELECT count(*) FROM job WHERE state = 'done'").read_all().column(0)[0].as_py()
        findings = [f"{finding.rule}: {finding.n}" for finding in wh.check() if finding.n]
    print(
        f"{len(acknowledged)} results acknowledged, {len(stored)} stored, {n_done} jobs done, {n_rows} rows"
    )
    for text, bad in (
        (f"{len(lost)} acknowledged results lost", lost),
        (f"{len(doubled)} results doubled", doubled),
        (f"{twice} jobs done twice", twice),
        (f"{n_rows} rows instead of {N_ROWS * len(stored)}", n_rows != N_ROWS * len(stored)),
        (f"{n_leased} leases stuck", n_leased),
        (f"{n_done} jobs done but {len(stored)} results", n_done != len(stored)),
        (f"check: {findings}", findings),
    ):
        if bad:
            wrong.append(text)
    return wrong


def claim_times(folder: Path, calm: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Milliseconds of all claims, and of those in the calm phase, sorted."""
    found = [
        (float(line.split()[1]), float(line.split()[2]))
        for log in folder.glob("log-*")
        for line in log.read_text(encoding="utf-8").splitlines()
        if line.startswith("claim ") and line.count(" ") == 2
    ]
    inside = [took for took, at in found if calm[0] <= at <= calm[1]]
    return sorted(took for took, _ in found), sorted(inside)


def percentile(times: list[float], p: float) -> float:
    """The ``p``-quantile of sorted times."""
    return times[int(p * (len(times) - 1))] if times else float("nan")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="50 rounds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runners", type=int, default=4)
    parser.add_argument("--calm", type=float, default=8.0, help="seconds without kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role")
    parser.add_argument("--db")
    parser.add_argument("--log")
    args = parser.parse_args()
    if args.role == "owner":
        run_owner(args.db)
    elif args.role == "runner":
        run_runner(args.db, f"runner-{os.getpid()}", args.log)
    elif args.role == "sql":
        run_sql(args.db, 10.0)
    choice = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "stress.duckdb"
        with Warehouse.open(path) as wh:
            store_references(wh)
            fill(wh, 50_000, max_attempts=1000)
        crew = Crew(path, folder, args.runners)
        killed: list[str] = []
        # First a while without kills: what a claim takes beside the cross join.
        time.sleep(4.0)
        calm = time.time(), time.time() + args.calm
        time.sleep(args.calm)
        try:
            for _ in range(50 if args.full else args.rounds):
                time.sleep(choice.uniform(0.5, 3.0))
                victims = choice.choice(["owner", "owner", "runner", "both"])
                record = place.read_record(path)
                pids = set()
                if victims in ("owner", "both") and record is not None and record.pid in crew.processes:
                    pids.add(record.pid)
                if victims in ("runner", "both"):
                    pids.add(choice.choice(crew.of("runner")))
                for pid in pids:
                    role = crew.kill(pid)
                    killed.append(f"{role}{' (owning)' if record is not None and pid == record.pid else ''}")
                    crew.start(role)
            time.sleep(2.0)
            died = crew.died()
        finally:
            for pid in list(crew.processes):
                crew.kill(pid)
        wrong = [f"processes died by themselves: {died}"] if died else []
        wrong += verify(path, folder)
        times, calm_times = claim_times(folder, calm)
        counts = ", ".join(f"{killed.count(what)} {what}" for what in sorted(set(killed)))
        print(f"killed: {counts}")
        print(
            f"claims beside a cross join, no kills: {len(calm_times)}, p50 {percentile(calm_times, 0.5):.1f} ms,"
            f" p99 {percentile(calm_times, 0.99):.1f} ms"
        )
        print(
            f"all claims: {len(times)}, p50 {percentile(times, 0.5):.1f} ms, p99 {percentile(times, 0.99):.1f} ms,"
            f" longest (an owner died) {times[-1]:.0f} ms"
        )
        print("nothing lost, nothing doubled, no stuck lease" if not wrong else "\n".join(wrong))
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
