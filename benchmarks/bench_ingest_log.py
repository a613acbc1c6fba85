"""Ingest of a large profile log against PyYAML's C loader, side by side.

    python benchmarks/bench_ingest_log.py [--lines 1000000] [--dir DIR]

Writes logs of the form that hipBLASLt writes (mask 64): one with 2,309 distinct lines that repeat, one in
which all lines differ. Every ingest is a new process with a new warehouse, its start-up counted; the log is in
the page cache. CSafeLoader reads a sample of the same lines in turns with it, and the best of three counts for
both. Printed are lines per second, the ratio, and the peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DISTINCT = 2309
SAMPLE = 3000
TRIES = 3
ROOT = Path(__file__).resolve().parent.parent
CHILD = """
import resource, sys, json
from geko.frames import without_numpy
without_numpy()  # as the command line does
from geko.ingest import ingest
from geko.warehouse import Warehouse
with Warehouse.open(sys.argv[1]) as warehouse:
    (report,) = ingest(warehouse, [sys.argv[2]], workload="bench")
    (row,) = warehouse.sql("SELECT sum(call_count)::BIGINT AS calls, sum(n_lines)::BIGINT AS lines,"
                           " count(*) AS n FROM workload_call").read_all().to_pylist()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"state": report.state, "rows": report.n_rows, "peak": peak, **row}))
"""


def line(rng: random.Random, m: int) -> str:
    """One entry with the 37 keys of ROCm 6.4."""
    n, k = rng.randrange(1, 2000) * 8, rng.randrange(1, 2000) * 8
    trans_a, trans_b = rng.choice((("T", "N"), ("N", "N"), ("N", "T")))
    lda, ldb = (m if trans_a == "N" else k), (k if trans_b == "N" else n)
    return (
        f"- {{function: matmul, M: {m}, N: {n}, K: {k}, lda: {lda}, ldb: {ldb}, ldc: {m}, ldd: {m},"
        " stride_a: 0, stride_b: 0, stride_c: 0, stride_d: 0, alpha: 1.000000, beta: 0.000000,"
        f" transA: {trans_a}, transB: {trans_b}, batch_count: 1, scaleA: 0, scaleB: 0,"
        " scaleAlpha_vector: false, gradient: false, use_e: false, bias_vector: false, bias_source: d,"
        " a_type: bf16_r, b_type: bf16_r, c_type: bf16_r, d_type: bf16_r, scale_type: f32_r,"
        " bias_type: f32_r, compute_type: c_f32_r,"
        " activation_type: none, flush: false, rotating: 512, cold_iters: 0, iters: 0,"
        f" call_count: {rng.randrange(1, 500)}}}\n"
    )


def write_logs(folder: Path, count: int) -> tuple[Path, Path]:
    """The repeating and the distinct log."""
    rng = random.Random(7)
    pool = [line(rng, rng.randrange(1, 2000) * 8 + number) for number in range(DISTINCT)]
    repeating, distinct = folder / "repeating.yaml", folder / "distinct.yaml"
    with repeating.open("w") as handle:
        handle.writelines(rng.choice(pool) for _ in range(count))
    with distinct.open("w") as handle:
        handle.writelines(line(rng, number + 1) for number in range(count))
    os.sync()  # writing back the logs must not be part of what is timed
    return repeating, distinct


def yaml_rate(path: Path) -> float:
    """Lines per second of CSafeLoader over the first lines of a log."""
    import yaml

    with path.open() as handle:
        text = "".join(next(handle) for _ in range(SAMPLE))
    start = time.perf_counter()
    rows = yaml.load(text, Loader=yaml.CSafeLoader)
    seconds = time.perf_counter() - start
    assert len(rows) == SAMPLE
    return SAMPLE / seconds


def ingest_in_child(database: Path, log: Path) -> tuple[float, dict[str, float]]:
    """Seconds with start-up, and what the child says."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(database), str(log)],
        env=env,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return time.perf_counter() - start, json.loads(done.stdout)


def compare(name: str, log: Path, count: int, folder: Path, wanted: float) -> None:
    database = folder / f"{name}.duckdb"
    with log.open("rb") as handle:
        while handle.read(1 << 24):
            pass
    rate, seconds = 0.0, float("inf")
    for _ in range(TRIES):
        # The best of each side counts, taken in turns, so that both saw the same machine.
        database.unlink(missing_ok=True)
        rate = max(rate, yaml_rate(log))
        taken, found = ingest_in_child(database, log)
        seconds = min(seconds, taken)
    assert found["state"] == "new", found
    assert found["rows"] == found["lines"] == count, found
    again, known = ingest_in_child(database, log)
    assert known["state"] == "known", known
    assert known["calls"] == found["calls"], known
    # One byte changed, size and time as before.
    times = (log.stat().st_atime_ns, log.stat().st_mtime_ns)
    with log.open("r+b") as handle:
        handle.seek(log.stat().st_size // 2)
        at = handle.tell() + handle.read(4096).index(b"trans")
        handle.seek(at)
        handle.write(b"X")
    os.utime(log, ns=times)
    _, changed = ingest_in_child(database, log)
    assert changed["state"] == "new", changed
    size = log.stat().st_size / 1e6
    ours = count / seconds
    print(f"{name}: {count:,} lines, {size:.0f} MB, {found['n']:,} distinct calls")
    print(f"  first ingest {seconds:6.2f} s  {ours:11,.0f} lines/s  peak {found['peak']:.2f} GiB")
    print(f"  CSafeLoader            {rate:11,.0f} lines/s  ratio {ours / rate:.0f} (wanted {wanted:.0f})")
    print(f"  again        {again:6.2f} s  peak {known['peak']:.2f} GiB; a changed byte was noticed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument(
        "--dir", type=Path, default=None, help="where to write the logs; default: a temporary folder"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = Path(name)
        repeating, distinct = write_logs(folder, options.lines)
        compare("repeating", repeating, options.lines, folder, 300)
        compare("distinct", distinct, options.lines, folder, 25)


if __name__ == "__main__":
    main()
