"""Time and size of the report of a run with many shapes, beside the Markdown form of the same rows.

python benchmarks/bench_report.py [--shapes 1000]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from geko.report import write_report
from geko.warehouse import Warehouse

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made_run import MadeRun, gemm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=1000)
    shapes = parser.parse_args().shapes
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder, Warehouse.open(Path(folder) / "report.duckdb") as warehouse:
        run = MadeRun(warehouse)
        for number in range(shapes):
            ratio = rng.lognormvariate(0.05, 0.1)
            run.winner(
                gemm(16 * (number + 1)),
                share=100 / shapes,
                ratio=ratio,
                low=ratio * 0.98,
                high=ratio * 1.02,
                kept=ratio > 1.03,
            )
        run.flush()
        for _ in range(2):
            times = {}
            for form in ("markdown", "html"):
                start = time.perf_counter()
                path = write_report(warehouse, run.run_id, Path(folder) / f"report.{form}", form=form)
                times[form] = time.perf_counter() - start
            print(
                f"{shapes} shapes: page {times['html']:.2f} s, {path.stat().st_size / 1e6:.2f} MB; "
                f"Markdown {times['markdown']:.2f} s; "
                f"ratio {times['html'] / times['markdown']:.1f}"
            )


if __name__ == "__main__":
    main()
