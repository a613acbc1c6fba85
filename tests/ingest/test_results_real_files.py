"""Every real file of the data folder: read with the expected counts, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from geko.ingest import ingest
from geko.warehouse import Warehouse

#: Folder or file -> kind, and rows and rejects of each file in the order of the names.
EXPECTED: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "aiter_csv/aiter_*tuned*gemm*.csv": (
        "aiter",
        [
            (1470, 0), (399, 0), (26, 0), (579, 0), (66, 0), (26, 0), (232, 0), (442, 0), (260, 0), (156, 0), (158, 0),
        ],
    ),
    "aiter_csv/primus*": ("aiter", [(9, 0), (11, 0)]),
    "bench_stdout/[cdpz]*": (
        "bench-stdout",
        [(1, 0)] * 7 + [(0, 1), (0, 1), (221, 0)] + [(1, 0)] * 6,
    ),
    "bench_stdout/rocblas*": ("bench-stdout", [(0, 9)]),
    "bench_stdout/hipblaslt266*": ("tensile-log", [(1, 0)]),
    "tuning_override_txt/docs*": ("bench-stdout", [(1, 0)]),
    "tuning_override_txt/primus*": ("hipblaslt-tuning", [(12, 0)]),
    "tunableop_csv/*": ("tunableop", [(1, 0), (19, 0), (6, 0), (2, 0), (14, 0)]),
    "tensile_csv/*": ("tensile-csv", [(840, 0), (90, 0), (992, 0), (90, 0), (464, 0), (90, 0)]),
    "tensile_log/*": ("tensile-log", [(193, 0), (173, 0), (188, 0)]),
    "tuning_reports/*.report.md": ("tuning-report", [(3, 0)] * 4),
    "tuning_reports/zy00_comparison_report.csv": ("tuning-comparison", [(329, 0)]),
    "matchtable/*": ("match-table", [(27, 0), (27, 0), (17, 0)]),
}  # fmt: skip
REFUSED = (
    "aiter_csv/aiter_model_configs_llama70B_untuned_gemm.csv",  # names no data types
    "tensile_misc/*",
    "trace_log/*",
    "tuning_reports/*.log",
    "tuning_reports/zy00_dispatch_gap_README.md",
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with Warehouse.open(tmp_path / "w.duckdb") as opened:
        yield opened


@pytest.mark.parametrize("pattern", EXPECTED)
def test_results_go_in(shared: Path, warehouse: Warehouse, pattern: str) -> None:
    kind, counts = EXPECTED[pattern]
    files = sorted((shared / "data").glob(pattern))
    files = [path for path in files if path.name not in {Path(name).name for name in REFUSED}]
    reports = ingest(warehouse, files)
    assert [(report.kind, report.n_rows, report.n_rejects) for report in reports] == [
        (kind, *pair) for pair in counts
    ]
    impossible = warehouse.sql(
        "SELECT count(*) AS n FROM timing WHERE us <= 0 OR NOT isfinite(us)"
    ).read_all()
    assert impossible["n"].to_pylist() == [0]


def test_library_logic_goes_in(shared: Path, warehouse: Warehouse) -> None:
    reports = ingest(warehouse, sorted((shared / "data/library_logic").rglob("*.yaml")))
    assert {report.kind for report in reports} == {"library-logic"}
    assert len(reports) == 24 and sum(report.n_rows for report in reports) == 1693
    (count,) = (
        warehouse.sql("SELECT count(*) AS n FROM library WHERE kind = 'logic'").read_all()["n"].to_pylist()
    )
    assert count == 23  # two of the files have the same content


@pytest.mark.parametrize("pattern", REFUSED)
def test_the_rest_is_refused_with_a_sentence(shared: Path, warehouse: Warehouse, pattern: str) -> None:
    files = sorted((shared / "data").glob(pattern))
    assert files
    for report in ingest(warehouse, files):
        assert report.state == "refused" and len(report.message.split()) > 3
    assert warehouse.sql("SELECT count(*) AS n FROM ingest_file").read_all()["n"].to_pylist() == [0]


@pytest.mark.slow
def test_half_a_million_candidates(shared: Path, warehouse: Warehouse) -> None:
    reports = ingest(warehouse, sorted((shared / "data/mi350x").glob("*.parquet")))
    assert [report.n_rows for report in reports] == [154, 543_694]
    rows = warehouse.sql(
        "SELECT outcome, count(*) AS n FROM measurement GROUP BY outcome ORDER BY n DESC"
    ).read_all()
    assert rows.to_pylist() == [{"outcome": "ok", "n": 535_056}, {"outcome": "verify_failed", "n": 8792}]
    both = """
        SELECT count(*) AS n FROM (
            SELECT problem_id FROM timing GROUP BY problem_id HAVING count(DISTINCT protocol_id) = 2)
    """
    assert warehouse.sql(both).read_all()["n"].to_pylist()[0] > 100
    failed = """
        SELECT count(*) AS n FROM measurement AS m JOIN timing AS t USING (measurement_id) WHERE m.outcome <> 'ok'
    """
    assert warehouse.sql(failed).read_all()["n"].to_pylist() == [0]
