"""Real tuning results of an MI350X: failed candidates never win, and another harness is no faster kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from verdict_support import NOW, uid

from geko.diff import diff
from geko.ingest import ingest
from geko.warehouse import Warehouse


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    folder = shared / "data" / "mi350x"
    if not folder.is_dir():
        pytest.skip(f"no MI350X results at {folder}")
    return folder


@pytest.fixture(scope="module", params=[1.0, 0.1], ids=["as_measured", "failed_ones_ten_times_faster"])
def mi350x(
    data: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Warehouse]:
    """The shapes with most timed failures,
    and all baselines; in the second variant what failed would win everywhere."""
    frame = pl.read_parquet(data / "candidates.parquet")
    failed = (pl.col("status") != "PASSED") & pl.col("time_us").is_finite()
    baseline = pl.read_parquet(data / "baseline.parquet")
    usable = frame.filter(failed & pl.col("shape_id").is_in(baseline["shape_id"].to_list()))
    most = usable.group_by("shape_id").len().sort("len", "shape_id", descending=True).head(4)
    assert most.height == 4
    chosen = frame.filter(pl.col("shape_id").is_in(most["shape_id"].to_list())).with_columns(
        pl.when(failed).then(pl.col("time_us") * request.param).otherwise(pl.col("time_us")).alias("time_us")
    )
    path = tmp_path_factory.mktemp("mi350x") / "candidates.parquet"
    chosen.write_parquet(path)
    with Warehouse.open(path.parent / "m.duckdb") as warehouse:
        for report in ingest(warehouse, [path, data / "baseline.parquet"]):
            assert report.state != "refused", report.message
        yield warehouse


def rows(warehouse: Warehouse, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = warehouse.sql(text).read_all().to_pylist()
    return found


def test_failed_candidates_never_win(mi350x: Warehouse) -> None:
    failed = rows(
        mi350x,
        """SELECT problem_id, count(*) AS n FROM measurement
           WHERE outcome = 'verify_failed' AND us > 0 AND isfinite(us) GROUP BY problem_id""",
    )
    assert len(failed) == 4
    winners = rows(
        mi350x,
        """SELECT w.problem_id, w.us, count(*) FILTER (WHERE m.outcome = 'ok') AS n_ok, count(*) AS n
           FROM evidence_winner AS w
           JOIN protocol AS t ON t.protocol_id = w.protocol_id AND t.harness <> 'hipblaslt-bench'
           JOIN measurement AS m ON m.problem_id = w.problem_id AND m.protocol_id = w.protocol_id AND m.us = w.us
           GROUP BY ALL""",
    )
    assert len(winners) == 4
    assert all(row["n_ok"] == row["n"] for row in winners)


def test_the_winner_of_a_run_is_none_of_them(mi350x: Warehouse) -> None:
    """The same samples as those of a search: the views of a run leave the failed ones out as well."""
    mi350x.sql(
        f"""INSERT INTO run BY NAME SELECT '{uid("run")}'::UUID AS run_id, 'search' AS kind, 'm' AS label,
        'running' AS state,
            false AS simulated, environment_id, 1 AS n_starts, '{{"rule": "interval"}}' AS options,
            '{NOW}'::TIMESTAMPTZ AS started_at
            FROM measurement LIMIT 1""",
        write=True,
    ).read_all()
    mi350x.sql(
        f"""INSERT INTO run_problem BY NAME SELECT '{uid("run")}'::UUID AS run_id, problem_id, 1 AS seq,
        1 AS call_count, true AS kept
            FROM (SELECT DISTINCT problem_id FROM measurement)""",
        write=True,
    ).read_all()
    for kind in ("baseline", "screen"):
        mi350x.sql(
            f"""INSERT INTO job BY NAME SELECT '{uid(kind)}'::UUID AS job_id, '{kind}' AS kind,
            'done' AS state, 0 AS priority, 1 AS cost_s,
                'b' AS batch_key, protocol_id, environment_id, 1 AS attempts, 1 AS max_attempts,
                false AS alone, 9 AS timeout_s,
                'ok' AS outcome, '{NOW}'::TIMESTAMPTZ AS updated_at FROM measurement LIMIT 1""",
            write=True,
        ).read_all()
        mi350x.sql(f"INSERT INTO run_job VALUES ('{uid('run')}', '{uid(kind)}')", write=True).read_all()
    # Where they come from stays in file_id.
    mi350x.sql(
        "UPDATE protocol SET role = if(harness = 'hipblaslt-bench', 'baseline', 'screen')", write=True
    ).read_all()
    mi350x.sql(
        f"""UPDATE measurement SET job_id = if(protocol_id IN (SELECT protocol_id FROM protocol WHERE role = 'baseline'),
            '{uid("baseline")}', '{uid("screen")}')::UUID""",
        write=True,
    ).read_all()
    winners = rows(
        mi350x,
        """SELECT w.problem_id, count(m.measurement_id) AS n_failed FROM run_winner AS w
           LEFT JOIN measurement AS m ON m.measurement_id = w.measurement_id AND m.outcome <> 'ok' GROUP BY ALL""",
    )
    assert len(winners) == 4 and all(row["n_failed"] == 0 for row in winners)
    # Faster by the other harness, but not a pair, so neither kept nor a ratio.
    verdicts = rows(mi350x, "SELECT class, ratio FROM run_decision")
    assert len(verdicts) >= 4
    assert {row["class"] for row in verdicts} <= {"undecided", "same_kernel", "device_fault"}
    assert all(row["ratio"] is None for row in verdicts)


def test_the_difference_of_two_harnesses_is_no_uplift(mi350x: Warehouse) -> None:
    naive = rows(
        mi350x,
        """SELECT median(b.us / c.us) AS ratio FROM
           (SELECT problem_id, min(us) AS us FROM timing WHERE harness = 'hipblaslt-bench' GROUP BY problem_id) AS b
           JOIN (SELECT problem_id,
           min(us) AS us FROM timing WHERE harness <> 'hipblaslt-bench' GROUP BY problem_id) AS c USING (problem_id)""",
    )
    assert naive[0]["ratio"] is not None and abs(naive[0]["ratio"] - 1) > 0.01, "the harnesses differ"
    harnesses = rows(
        mi350x, "SELECT problem_id, count(DISTINCT harness) AS n FROM timing GROUP BY problem_id HAVING n > 1"
    )
    assert len(harnesses) == 4, "shapes that both timed"
    for view in ("run_pair", "run_confirm_pair", "run_uplift"):
        assert rows(mi350x, f"FROM {view}") == []
    (environment,) = {
        str(row["e"])
        for row in rows(
            mi350x, "SELECT DISTINCT environment_id AS e FROM timing WHERE harness <> 'hipblaslt-bench'"
        )
    }
    others = {
        str(row["e"])
        for row in rows(
            mi350x, "SELECT DISTINCT environment_id AS e FROM timing WHERE harness = 'hipblaslt-bench'"
        )
    }
    for other in others - {environment}:
        shapes = diff(mi350x, other, environment).shapes.to_pylist()
        assert {row["class"] for row in shapes if row["us_a"] and row["us_b"]} <= {"no common protocol"}
        assert all(row["ratio"] is None for row in shapes)
