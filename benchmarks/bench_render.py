"""Rows of `geko sql` as JSON and CSV: columns at a time, against one row after another with the standard library.

    python benchmarks/bench_render.py [ROWS]

Prints seconds and rows per second of both, side by side in one run, and the ratio.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from geko.cli.render import render
from geko.warehouse import Scratch

QUERY = """
SELECT uuid()::VARCHAR AS problem_id, range AS m, range % 7 AS kind, range * 1.5e-3 AS time_us,
       if(range % 11 = 0, NULL, 0.5) AS share, range % 2 = 0 AS kept,
       concat('Cijk_Alik_Bljk_BBS_BH_MT', range % 999) AS solution, TIMESTAMPTZ '2026-01-01' + to_seconds(range) AS at
FROM range({rows})
"""


def row_by_row(table: pa.Table, form: str) -> None:
    """What a program without columns does."""
    rows = (row for batch in table.to_batches() for row in batch.to_pylist())
    if form == "json":
        sys.stdout.write("[" + ",\n".join(json.dumps(row, default=str) for row in rows) + "]\n")
        return
    writer = csv.DictWriter(sys.stdout, table.schema.names)
    writer.writeheader()
    writer.writerows(rows)


def seconds(write: Callable[[pa.Table, str], None], table: pa.Table, form: str, target: Path) -> float:
    """Time to write a table to a file, in seconds."""
    with target.open("w", encoding="utf-8") as handle, contextlib.redirect_stdout(handle):
        start = time.perf_counter()
        write(table, form)
        return time.perf_counter() - start


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with Scratch() as scratch:
        table = scratch.sql(QUERY.format(rows=n_rows))
    with TemporaryDirectory() as folder:
        target = Path(folder) / "rows"
        for form in ("json", "csv"):
            slow, fast = (seconds(write, table, form, target) for write in (row_by_row, render))
            print(
                f"{form:4}  {n_rows} rows: by rows {slow:.2f} s, by columns {fast:.2f} s"
                f" ({n_rows / fast:,.0f} rows/s), ratio {slow / fast:.1f}"
            )


if __name__ == "__main__":
    main()
