"""A simulated warehouse imported into a measured one: both stay what they are, and nothing pairs across environments."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from search_support import Searched

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.export import export_run, resolve_run
from geko.warehouse import Warehouse

#: Views that decide, each with run_id.
DECIDING = (
    "run_timing", "run_baseline", "run_contribution", "run_candidate", "run_winner", "run_pair", "run_arm", "run_uplift",
    "run_check", "run_decision", "export_summary", "export_winners", "export_raw_results",
)  # fmt: skip


@dataclass(frozen=True)
class Both:
    """One warehouse with the same search twice: measured, and simulated."""

    wh: Warehouse
    measured: str
    simulated: str
    alone: dict[str, list[dict[str, Any]]]


def as_if_measured(db: Path) -> str:
    """Turn a simulated warehouse into one as a machine with GPUs would have left it; returns its environment's id.

    The ids of blocks stay: not even they may make a pair across environments.
    """
    environment = Environment(
        simulated=False, gfx="gfx942:sramecc+:xnack-", device_name="AMD Instinct MI300X", cu_count=304
    )
    with duckdb.connect(str(db)) as con:
        names = con.execute(
            """SELECT t.table_name, c.column_name FROM duckdb_tables() AS t JOIN duckdb_columns() AS c USING (table_name)
               WHERE c.column_name IN ('environment_id', 'run_id', 'simulated', 'job_id', 'device_id', 'measurement_id',
                                       'validation_id')"""
        ).fetchall()
        for table, column in names:
            if column == "environment_id":
                con.execute(f'UPDATE "{table}" SET environment_id = ? ', [environment.environment_id])
            elif column == "simulated":
                con.execute(f'UPDATE "{table}" SET simulated = false')
            else:
                # Ids follow from the environment: another one gives other ids.
                con.execute(
                    f"UPDATE \"{table}\" SET {column} = md5(concat({column}, 'measured'))::UUID WHERE {column} IS NOT NULL"
                )
        con.execute("UPDATE environment SET device_name = 'AMD Instinct MI300X', identity = '{}'")
    return environment.environment_id


def rows(wh: Warehouse, view: str, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        wh.sql(f"FROM {view} WHERE run_id = '{run_id}' ORDER BY ALL").read_all().to_pylist()
    )
    return found


@pytest.fixture(scope="module")
def both(pointed: Searched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    base = tmp_path_factory.mktemp("mixed")
    shutil.copyfile(pointed.db, base / "measured.duckdb")
    as_if_measured(base / "measured.duckdb")
    simulated = pointed.result.run_id
    with Warehouse.open(base / "measured.duckdb") as wh:
        measured = (
            wh.sql(f"SELECT md5(concat('{simulated}'::UUID, 'measured'))::UUID::VARCHAR AS r")
            .read_all()["r"][0]
            .as_py()
        )
        alone = {view: rows(wh, view, measured) for view in DECIDING}
        added = wh.import_(pointed.db)
        assert added["measurement"] > 0 and added["environment"] == 1
        assert wh.import_(pointed.db) == {}, "imported twice"
        yield Both(wh, measured, simulated, alone)


@pytest.mark.parametrize("view", DECIDING)
def test_the_measured_run_decides_as_before(both: Both, view: str) -> None:
    assert both.alone[view] and rows(both.wh, view, both.measured) == both.alone[view]
    assert len(rows(both.wh, view, both.simulated)) == len(both.alone[view])


def test_no_run_has_timings_of_two_environments(both: Both) -> None:
    found = both.wh.sql(
        """SELECT run_id, count(DISTINCT environment_id) AS n, count(DISTINCT simulated) AS kinds
           FROM run_timing GROUP BY run_id"""
    ).read_all().to_pylist()  # fmt: skip
    assert len(found) >= 2 and all(row["n"] == row["kinds"] == 1 for row in found)


@pytest.mark.parametrize(
    "view", ["run_decision", "run_winner", "run_baseline", "run_candidate", "timing", "selection"]
)
def test_views_say_which_is_which(both: Both, view: str) -> None:
    run = "" if view == "timing" else "JOIN run AS r USING (run_id)"
    wrong = "e.simulated" if view == "timing" else "r.simulated"
    environment = "JOIN environment AS e USING (environment_id)" if view == "timing" else ""
    found = both.wh.sql(
        f"SELECT v.simulated, {wrong} AS truth, count(*) AS n FROM {view} AS v {run} {environment} GROUP BY ALL"
    ).read_all().to_pylist()  # fmt: skip
    assert {(row["simulated"], row["truth"]) for row in found} == {(True, True), (False, False)}


def test_exports_of_both_say_what_they_are(both: Both, tmp_path: Path) -> None:
    for run_id, word in ((both.measured, "false"), (both.simulated, "true")):
        export_run(both.wh, "csv", resolve_run(both.wh, run_id), tmp_path / word)
        for name in ("summary", "winners", "raw_results", "final_results", "dashboard_data"):
            lines = (tmp_path / word / f"{name}.csv").read_text(encoding="utf-8").splitlines()
            at = lines[0].split(",").index("simulated")
            assert lines[1:] and {line.split(",")[at - len(lines[0].split(","))] for line in lines[1:]} == {
                word
            }, name
        assert f'"simulated": {word}' in (tmp_path / word / "metrics.json").read_text(encoding="utf-8")


def test_the_same_key_under_another_environment_is_another_job() -> None:
    """What a search asks for on GPUs is never answered by simulated work."""
    real, simulated = (
        Environment(simulated=flag, gfx="gfx942", device_name="MI300X") for flag in (False, True)
    )
    assert real.environment_id != simulated.environment_id
    assert content_id("x", real.environment_id) != content_id("x", simulated.environment_id)
