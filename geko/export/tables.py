"""The result tables of a run as CSV and JSON, under the original's names and columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from geko.export.record import record_files
from geko.fsio import write_bytes_atomic, write_text_atomic

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Warehouse

#: Columns that only runs with ``--bench-freq`` have.
_CLOCKS = ("lowest_avg_freq", "avg_MCLK")
_TABLES = {
    "summary": ".",
    "gemms": ".",
    "winners": ".",
    "raw_results": "results",
    "final_results": "results",
    "dashboard": "results",
}
#: Written where they have rows.
_IF_ANY = ("new_solutions",)
_FILE_NAMES = {"dashboard": "dashboard_data.csv"}


def csv_text(rows: pa.Table) -> str:
    """Rows as CSV with a header line; floats in their shortest exact form, nulls empty."""
    import polars as pl

    frame = pl.DataFrame(rows)
    empty = [name for name in _CLOCKS if name in frame.columns and frame[name].null_count() == frame.height]
    return frame.drop(empty).write_csv()


def metrics_text(warehouse: Warehouse, run_id: str) -> str:
    """The document of ``metrics.json`` of a run, as JSON."""
    return str(warehouse.query("export/metrics", run_id=run_id)["document"][0].as_py())


def export_tables(
    warehouse: Warehouse, run_id: str, folder: Path, *, flat: bool = False, metrics: str | None = None
) -> list[Path]:
    """Write the tables of a run.

    Args:
        warehouse: where the run is.
        run_id: the run.
        folder: where to.
        flat: all into the folder itself; otherwise results go into ``results/``.
        metrics: the run's `metrics_text`, where it is known.

    Returns:
        The files: ``summary.csv``, ``gemms.csv``; for a search also ``winners.csv``, ``raw_results.csv``,
        ``final_results.csv``, ``dashboard_data.csv`` and ``metrics.json``; where there are any, ``new_solutions.csv``.
    """
    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    written: list[tuple[str, Path]] = []
    for name, place in _TABLES.items():
        if run["kind"] == "bench" and name not in ("summary", "gemms"):
            continue
        path = folder / ("." if flat else place) / _FILE_NAMES.get(name, f"{name}.csv")
        write_text_atomic(path, csv_text(warehouse.query(f"export/{name}", run_id=run_id)))
        written.append((name, path))
    for name in () if run["kind"] == "bench" else _IF_ANY:
        rows = warehouse.query(f"export/{name}", run_id=run_id)
        if rows.num_rows:
            path = folder / ("." if flat else "results") / f"{name}.csv"
            write_text_atomic(path, csv_text(rows))
            written.append((name, path))
    if run["kind"] != "bench":
        path = folder / ("." if flat else "results") / "metrics.json"
        document = json.loads(metrics or metrics_text(warehouse, run_id))
        write_text_atomic(path, json.dumps(document, indent=2) + "\n")
        written.append(("metrics", path))
    return record_files(warehouse, run_id, run["simulated"], written)


def export_parquet(warehouse: Warehouse, run_id: str, folder: Path) -> list[Path]:
    """Write the tables of a run, and every timed candidate, as Parquet.

    Args:
        warehouse: where the run is.
        run_id: the run.
        folder: where to.

    Returns:
        The files: those of `export_tables` as ``.parquet``, and ``timings.parquet`` with each sample of the run.
    """
    import io

    import pyarrow.parquet as pq

    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    names = ["summary", "gemms"] if run["kind"] == "bench" else [*_TABLES, *_IF_ANY]
    written = []
    for name in [*names, "timings"]:
        rows = warehouse.query(f"export/{name}", run_id=run_id)
        if name in _IF_ANY and not rows.num_rows:
            continue
        buffer = io.BytesIO()
        pq.write_table(rows, buffer, compression="zstd")
        path = folder / f"{name}.parquet"
        write_bytes_atomic(path, buffer.getvalue())
        written.append((f"{name}.parquet", path))
    return record_files(warehouse, run_id, run["simulated"], written)
