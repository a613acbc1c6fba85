"""Makes ``schema_NNNN.duckdb.gz``: a small warehouse of the newest migration.

    python tests/warehouse/data/make_schema_file.py

Run it once when a schema is released, and never again for it: the file stands for what users have.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

from warehouse_support import Bench, FakeClock, store_basics  # noqa: E402

from geko.warehouse import Warehouse  # noqa: E402
from geko.warehouse.engine import STORAGE_VERSION  # noqa: E402
from geko.warehouse.resources import sql_files  # noqa: E402


def main() -> None:
    clock = FakeClock()
    target = HERE / f"schema_{sql_files('migrations')[-1].name[:4]}.duckdb.gz"
    if target.exists():
        raise SystemExit(f"{target} exists: a released schema does not change")
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "full.duckdb", Path(folder) / "small.duckdb"
        with Warehouse.open(path, clock=clock) as wh:
            store_basics(wh)
            bench = Bench(wh, wh, clock, path)
            bench.enqueue(2)
            bench.finish(bench.claim()[0], n_rows=5, output="text")
            bench.finish(bench.claim()[0], "no_solution")
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{path}' AS whole (READ_ONLY)")
            con.execute(f"ATTACH '{small}' AS small (STORAGE_VERSION '{STORAGE_VERSION}', BLOCK_SIZE 16384)")
            con.execute("COPY FROM DATABASE whole TO small")
        target.write_bytes(gzip.compress(small.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
