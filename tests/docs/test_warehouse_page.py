"""docs/warehouse.md describes the warehouse as it is, and its queries run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from docs_support import SmallRun

from geko.warehouse import Warehouse

PAGE = Path(__file__).resolve().parents[2] / "docs" / "warehouse.md"
TEXT = PAGE.read_text(encoding="utf-8")
SQL_BLOCKS = re.findall(r"^```sql\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
_COLUMNS = """
SELECT t.table_type, c.table_name, list(c.column_name ORDER BY c.ordinal_position) AS columns
FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_catalog, table_schema, table_name)
WHERE t.table_catalog = current_database() GROUP BY ALL"""


@pytest.fixture(scope="module")
def small_warehouse(small_run: SmallRun) -> Iterator[Warehouse]:
    with Warehouse.open(small_run.db) as warehouse:
        yield warehouse


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """Columns of a fresh warehouse: ``BASE TABLE`` or ``VIEW`` → name → columns."""
    with Warehouse.open(tmp_path_factory.mktemp("fresh") / "fresh.duckdb") as warehouse:
        rows = warehouse.sql(_COLUMNS).read_all().to_pylist()
    found: dict[str, dict[str, list[str]]] = {"BASE TABLE": {}, "VIEW": {}}
    for row in rows:
        found[row["table_type"]][row["table_name"]] = row["columns"]
    return found


def _chapter(name: str) -> str:
    return TEXT.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


def _described(chapter: str) -> dict[str, list[str]]:
    """Columns as the page lists them, by table or view; ``columns of `x` `` stands for those of x."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^#### ", chapter, flags=re.MULTILINE)[1:]:
        title = re.match(r"`(\w+)`", section)
        assert title, section.splitlines()[0]
        names: list[str] = []
        table = section.split("| column | meaning |\n", 1)[1]
        for row in table.splitlines():
            if not row.startswith("| "):
                continue
            cell, meaning = row.strip("| ").split(" | ", 1)
            assert meaning.strip(), row
            if other := re.match(r"columns of `(\w+)`", cell):
                without = re.findall(r"`([^`]+)`", meaning)
                names += [name for name in _all_described()[other[1]] if name not in without]
            else:
                names += re.findall(r"`([^`]+)`", cell)
        found[title[1]] = names
        _known.update(found)
    return found


_known: dict[str, list[str]] = {}


def _all_described() -> dict[str, list[str]]:
    return _known


@pytest.mark.parametrize(("chapter", "kind"), [("Tables", "BASE TABLE"), ("Views", "VIEW")])
def test_every_column_is_on_the_page_and_no_other(
    chapter: str, kind: str, schema: dict[str, dict[str, list[str]]]
) -> None:
    described = _described(_chapter(chapter))
    assert set(described) == set(schema[kind])
    twice = {name: [c for c, n in Counter(columns).items() if n > 1] for name, columns in described.items()}
    assert not any(twice.values()), twice
    for name, columns in schema[kind].items():
        assert set(described[name]) == set(columns), name


def test_every_macro_is_on_the_page_with_its_parameters(small_warehouse: Warehouse) -> None:
    rows = small_warehouse.sql(
        "SELECT function_name, parameters FROM duckdb_functions() WHERE NOT internal AND function_type LIKE '%macro%'"
        " AND database_name = current_database()"
    ).read_all()
    made = {row["function_name"]: row["parameters"] for row in rows.to_pylist()}
    described = {
        name: parameters.split(", ")
        for row in _chapter("Macros").splitlines()
        if row.startswith("| `")
        for name, parameters in re.findall(r"`(\w+)\(([^)]*)\)`", row.split(" | ")[0])
    }
    assert described == made


def test_every_state_and_outcome_is_on_the_page(repo_root: Path) -> None:
    jobs = (repo_root / "sql/migrations/0003_run_and_job_tables.sql").read_text()
    evidence = (repo_root / "sql/migrations/0004_evidence_tables.sql").read_text()

    def allowed(text: str, column: str) -> set[str]:
        lists = re.findall(rf"\b{column}\s+VARCHAR NOT NULL CHECK \({column} IN \(([^)]*)\)\)", text)
        return set(re.findall(r"'(\w+)'", "".join(lists)))

    states = _chapter("Job states")
    assert allowed(jobs, "state") - {"running", "finished", "interrupted"} == set(
        re.findall(r"^\| `(\w+)`", states, re.MULTILINE)
    )
    outcomes = set(re.findall(r"`(\w+)`", _chapter("Outcomes")))
    wanted = allowed(jobs, "outcome") | (allowed(evidence, "outcome") - {"passed", "failed", "error"})
    assert len(wanted) > 10
    assert outcomes == wanted


def test_every_class_of_a_shape_is_on_the_page(repo_root: Path) -> None:
    text = (repo_root / "sql/views/60_run_decision.sql").read_text()
    classes = set(re.findall(r"(?:THEN|ELSE) '(\w+)'$", text, re.MULTILINE))
    section = TEXT.split("#### `run_decision`", 1)[1].split("| column |", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == classes


# What may well be empty on a small simulated run: no failures, one environment, nothing beyond a peak.
_MAY_BE_EMPTY = ("> 1.02 * k.peak_gflops", "QUALIFY count(*) OVER")


def test_there_are_ten_questions() -> None:
    numbers = re.findall(r"^### (\d+)\. ", TEXT, re.MULTILINE)
    assert numbers == [str(n) for n in range(1, 11)]
    assert len(SQL_BLOCKS) >= 14


@pytest.mark.parametrize("block", SQL_BLOCKS, ids=lambda text: re.sub(r"\W+", " ", text)[:40])
def test_queries_run_and_find_something(block: str, small_warehouse: Warehouse) -> None:
    rows = small_warehouse.sql(block).read_all()
    if not any(mark in block for mark in _MAY_BE_EMPTY):
        assert rows.num_rows > 0, block


def _rows(warehouse: Warehouse, mark: str) -> list[dict[str, object]]:
    (block,) = [block for block in SQL_BLOCKS if mark in block]
    table: pa.Table = warehouse.sql(block).read_all()
    return table.to_pylist()


def test_shares_add_up(small_warehouse: Warehouse, small_run: SmallRun) -> None:
    rows = _rows(small_warehouse, "running_pct")
    timed = [verdict for verdict in small_run.result.table["verdict"].to_pylist() if verdict != "no_solution"]
    assert len(rows) == len(timed) > 3
    assert sum(float(str(row["share_pct"])) for row in rows) == pytest.approx(100)
    assert rows[-1]["running_pct"] == pytest.approx(100)


def test_the_shape_without_kernel_is_on_the_table(small_warehouse: Warehouse) -> None:
    rows = _rows(small_warehouse, "could_save_pct")
    assert ("HHS_TN", "no_solution") in {(row["type"], row["class"]) for row in rows}


def test_verdicts_say_simulated(small_warehouse: Warehouse, small_run: SmallRun) -> None:
    rows = _rows(small_warehouse, "s.ratio_low")
    assert len(rows) == small_run.result.table.num_rows > 3
    assert all(row["simulated"] for row in rows)


def test_rejected_lines_are_named(small_warehouse: Warehouse) -> None:
    rows = _rows(small_warehouse, "lines_like_it")
    assert [row["line"] for row in rows] == [None, 2], (
        "the log of the run is whole, the other has a broken line"
    )
