"""What a command costs before it does anything: help, a new warehouse, a query on a million measurements, a runner.

    python benchmarks/bench_startup.py [--db FILE] [--tries 5]

Every figure is a new process, the best of the tries; wall time and the CPU time of the process stand side by side,
because only the second keeps its meaning on a busy machine. Beside each stands the ratio to a Python that does
nothing but load DuckDB and pyarrow. Without ``--db`` a warehouse of 1,000,000 made-up measurements is filled first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GEKO = [sys.executable, str(ROOT / "bin" / "geko")]
WINNERS = (
    "SELECT problem_id, arg_min(solution_id, us) AS solution_id, min(us) AS us FROM timing GROUP BY problem_id"
    " ORDER BY us DESC LIMIT 5"
)
OPEN = "from geko.warehouse import Warehouse; import sys; Warehouse.open(sys.argv[1]).close()"
N_ROWS = 1_000_000


def cost(command: Sequence[str], env: dict[str, str] | None = None) -> tuple[float, float]:
    """Wall and CPU seconds of a process.

    Raises:
        SystemExit: if it fails.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawn(
        command[0], list(command), {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}, file_actions=quiet
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime


def filled(folder: Path) -> Path:
    """A warehouse of made-up timings; returns its path."""
    sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
    from bench_ingest_parquet import made

    from geko.ingest import ingest
    from geko.warehouse import Warehouse

    path = folder / "million.duckdb"
    with Warehouse.open(path) as warehouse:
        (report,) = ingest(warehouse, [made(folder, N_ROWS) / "candidates.parquet"])
    assert report.n_rows == N_ROWS, report
    return path


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", type=Path, help="a warehouse to ask instead of a made-up one")
    parser.add_argument("--tries", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = options.db or filled(folder)
        new = folder / "new.duckdb"

        def nothing() -> None:
            """Nothing to prepare."""

        def no_file() -> None:
            new.unlink(missing_ok=True)

        python = [sys.executable, "-c"]
        cache = {"XDG_CACHE_HOME": str(folder / "cache")}
        # Not a folder: nothing can be kept in it.
        no_cache = {"XDG_CACHE_HOME": os.devnull}
        cases: list[tuple[str, list[str], dict[str, str], Callable[[], None]]] = [
            ("DuckDB and pyarrow alone", [*python, "import duckdb, pyarrow"], {}, nothing),
            ("geko --help", [*GEKO, "--help"], {}, nothing),
            ("new warehouse, from the SQL", [*python, OPEN, str(new)], no_cache, no_file),
            ("new warehouse, from the copy", [*python, OPEN, str(new)], cache, no_file),
            ("known warehouse", [*python, OPEN, str(new)], cache, nothing),
            ("geko sql, winners", [*GEKO, "sql", "--db", str(asked), WINNERS], {}, nothing),
            ("a runner loads", [sys.executable, "-m", "geko.runners", "--help"], {}, nothing),
        ]
        base = 0.0
        print(f"{'':32s} {'wall s':>8s} {'CPU s':>8s} {'ratio':>8s}")
        for title, command, env, prepare in cases:
            best = [float("inf"), float("inf")]
            for _ in range(options.tries):
                prepare()
                best = [min(pair) for pair in zip(best, cost(command, env), strict=True)]
            base = base or best[1]
            print(f"{title:32s} {best[0]:8.2f} {best[1]:8.2f} {best[1] / base:8.2f}")


if __name__ == "__main__":
    main()
