"""Ingest of half a million timed candidates out of Parquet: time, size of the warehouse and the winners query.

    python benchmarks/bench_ingest_parquet.py [FOLDER with candidates.parquet and baseline.parquet]

Without the folder (or with ``--rows N``) a table of the same form is made. The same rows are also loaded with plain
DuckDB into one flat table, side by side: the price of identities, parsed kernel names and judged times.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from geko.ingest import ingest
from geko.warehouse import Warehouse

WINNERS = """
SELECT problem_id, arg_min(solution_id, us) AS solution_id, min(us) AS us
FROM timing WHERE harness = 'tensilelite-client' GROUP BY problem_id
"""


def made(folder: Path, n_rows: int) -> Path:
    """Write tables of the published form with made-up times; returns the folder."""
    rng = random.Random(7)
    names = [
        f"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{mt0}x{mt1}x{depth}_MI16x16x1_SN_GRVWA8_GRVWB8_GSU{gsu}_GSUAMB_"
        f"ISA950_MIWT4_4_PGR{pgr}_PLR1_SU{su}_SK0_VWA{vw}_VWB{vw}_WG64_4_1_WGM{wgm}"
        for mt0 in (64, 128, 192, 256)
        for mt1 in (64, 128, 192, 256)
        for depth in (32, 64, 128)
        for gsu in (1, 2, 4)
        for pgr in (1, 2)
        for su in (0, 8, 32)
        for vw in (1, 2, 4, 8)
        for wgm in (1, 4, 8, 16)
    ]
    shapes = [(2 ** rng.randint(9, 15), 2 ** rng.randint(9, 15), 2 ** rng.randint(9, 14)) for _ in range(135)]
    start = datetime(2026, 3, 20)
    picks = [rng.randrange(len(shapes)) for _ in range(n_rows)]
    kernels = [rng.randrange(len(names)) for _ in range(n_rows)]
    times = [2 * m * n * k / rng.uniform(2e8, 1.2e9) for m, n, k in (shapes[pick] for pick in picks)]
    flops = [2 * shapes[pick][0] * shapes[pick][1] * shapes[pick][2] for pick in picks]
    pl.DataFrame(
        {
            "shape_id": [f"made_{pick}" for pick in picks],
            "trans_a": "T",
            "trans_b": "N",
            "m": [shapes[pick][0] for pick in picks],
            "n": [shapes[pick][1] for pick in picks],
            "batch": 1,
            "k": [shapes[pick][2] for pick in picks],
            "solution_index": kernels,
            "solution_name": [names[kernel] for kernel in kernels],
            "status": ["FAILED" if rng.random() < 0.016 else "PASSED" for _ in picks],
            "time_us": [round(us, 3) for us in times],
            "gflops": [float(f"{work / us / 1e3:.6g}") for work, us in zip(flops, times, strict=True)],
            "measured_at": [start + timedelta(seconds=at) for at in range(n_rows)],
        }
    ).write_parquet(folder / "candidates.parquet")
    return folder


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", type=int, default=543_694, help="rows to make up when no folder is given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or made(Path(place), options.rows)
        files = [
            folder / name for name in ("candidates.parquet", "baseline.parquet") if (folder / name).exists()
        ]
        database = Path(place) / "warehouse.duckdb"
        started = time.perf_counter()
        with Warehouse.open(database) as warehouse:
            reports = ingest(warehouse, files)
        took = time.perf_counter() - started
        rows = sum(report.n_rows for report in reports)
        print(f"ingest of {rows:,} rows with open and close: {took:.2f} s, {rows / took:,.0f} rows/s")
        print(
            f"warehouse: {database.stat().st_size / 1e6:.1f} MB, Parquet: {files[0].stat().st_size / 1e6:.1f} MB"
        )
        with Warehouse.open(database) as warehouse:
            warehouse.sql("SELECT count(*) FROM measurement").read_all()
            started = time.perf_counter()
            winners = warehouse.sql(WINNERS).read_all()
            print(f"winners of {winners.num_rows} problems: {(time.perf_counter() - started) * 1000:.0f} ms")
            started = time.perf_counter()
            again = ingest(warehouse, files)
            known = [report.state for report in again]
            print(f"the same files again: {time.perf_counter() - started:.2f} s ({', '.join(known)})")
        started = time.perf_counter()
        plain = Path(place) / "plain.duckdb"
        with duckdb.connect(str(plain)) as con:
            con.execute(f"CREATE TABLE flat AS SELECT * FROM read_parquet('{files[0]}')")
        flat = time.perf_counter() - started
        print(
            f"plain DuckDB, one flat table: {flat:.2f} s, {plain.stat().st_size / 1e6:.1f} MB; ratio {took / flat:.1f}"
        )


if __name__ == "__main__":
    main()
