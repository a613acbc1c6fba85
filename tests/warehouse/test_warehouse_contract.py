"""What every Warehouse object does, whether its process owns the file or not."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from warehouse_support import DEVICES, Bench, problem

from geko.errors import InputError, UsageError, WarehouseBusyError, WarehouseError
from geko.warehouse import Append, Statement


def alias(n: int = 1, name: str = "x") -> pa.Table:
    return pa.table({"alias_id": [DEVICES[0]] * n, "solution_id": [DEVICES[1]] * n, "evidence": [name] * n})


def test_rows_come_back_as_text_and_utc(bench: Bench) -> None:
    (row,) = bench.rows("SELECT problem_id, m, grouped FROM problem")
    assert row == {"problem_id": problem().problem_id, "m": 64, "grouped": False}
    (seen,) = bench.rows("SELECT DISTINCT last_seen FROM device")
    assert seen["last_seen"] == bench.clock.time
    assert bench.value("SELECT problem_id = content_id('problem', problem_text(p)) FROM problem AS p") is True


def test_all_steps_or_none(bench: Bench) -> None:
    with pytest.raises(WarehouseError, match="no_such_table"):
        bench.wh.apply(Append("solution_alias", alias()), Append("no_such_table", alias()))
    assert bench.value("SELECT count(*) FROM solution_alias") == 0
    counts = bench.wh.apply(Append("solution_alias", alias(3)), Append("solution_alias", alias(2)))
    assert [table.column(0)[0].as_py() for table in counts] == [3, 2]
    assert bench.value("SELECT count(*) FROM solution_alias") == 5


def test_a_column_that_the_table_lacks_is_an_error(bench: Bench) -> None:
    with pytest.raises(WarehouseError, match="wrong"):
        bench.wh.apply(Append("solution_alias", pa.table({"wrong": [1]})))
    with pytest.raises(UsageError, match="not a table name"):
        bench.wh.apply(Append('job"; DROP TABLE job; --', alias()))


def test_named_statements(bench: Bench) -> None:
    table = bench.wh.query("queue/devices")
    assert sorted(table["device_id"].to_pylist()) == sorted(DEVICES)
    bench.wh.apply(
        Statement("queue/quarantine", {"device_ids": [DEVICES[0]], "now": bench.clock.time, "reason": "test"})
    )
    (row,) = bench.rows(
        "SELECT quarantined_at, quarantine_reason FROM device WHERE quarantined_at IS NOT NULL"
    )
    assert row == {"quarantined_at": bench.clock.time, "quarantine_reason": "test"}
    with pytest.raises(WarehouseError, match="no statement"):
        bench.wh.query("queue/nothing")
    with pytest.raises(WarehouseError, match="no statement"):
        bench.wh.query("../migrations/0001_identity_tables")


def test_query_is_read_only(bench: Bench) -> None:
    with pytest.raises(WarehouseError, match="read-only"):
        bench.wh.query("queue/lift_quarantine", device_ids=None)


def test_inputs_are_seen_only_by_their_statement(bench: Bench) -> None:
    printed = {"output_ids": [DEVICES[0]], "sha256": ["s"], "n_bytes": [1], "texts": ["t"]}
    bench.wh.apply(Statement("queue/add_outputs", printed), Statement("queue/add_outputs", printed))
    assert bench.value("SELECT count(*) FROM output") == 1
    with pytest.raises(InputError):
        bench.wh.sql("FROM appended_rows")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS a",
        "FROM problem SELECT m",
        "WITH a AS (SELECT 1) FROM a",
        "VALUES (1)",
        "DESCRIBE problem",
        "SHOW TABLES",
        "SUMMARIZE problem",
        "EXPLAIN SELECT 1",
        "SELECT 1; ",
    ],
)
def test_queries_of_the_user(bench: Bench, text: str) -> None:
    assert bench.wh.sql(text).read_all().num_rows >= 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("DELETE FROM job", UsageError),
        ("SELECT 1; SELECT 2", UsageError),
        ("SELECT 1; DROP TABLE job", UsageError),
        ("", UsageError),
        ("COPY problem TO 'x.csv'", UsageError),
        ("ATTACH 'x.duckdb'", UsageError),
        ("SET threads = 1", UsageError),
        ("SELEC", InputError),
        ("SELECT nothing FROM problem", InputError),
        ("SELECT error(concat('boom', range)) FROM range(3)", InputError),
    ],
)
def test_anything_else_is_refused(bench: Bench, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bench.wh.sql(text).read_all()
    assert bench.value("SELECT count(*) FROM problem") == 1


def test_explain_analyze_can_not_write(bench: Bench) -> None:
    with pytest.raises(InputError, match="read-only"):
        bench.wh.sql("EXPLAIN ANALYZE DELETE FROM problem").read_all()
    assert bench.value("SELECT count(*) FROM problem") == 1


def test_python_variables_are_no_tables(bench: Bench) -> None:
    secret = pa.table({"a": [1]})
    with pytest.raises(InputError, match="secret"):
        bench.wh.sql("FROM secret")
    assert secret.num_rows == 1


def test_large_results_stream(bench: Bench) -> None:
    reader = bench.wh.sql("SELECT range AS a, repeat('x', 100) AS b FROM range(500_000)")
    total = rows = 0
    for batch in reader:
        rows += batch.num_rows
        total += pc.sum(batch.column("a")).as_py()
    assert (rows, total) == (500_000, 500_000 * 499_999 // 2)


def test_a_reader_may_be_left_early(bench: Bench) -> None:
    reader = bench.wh.sql("SELECT a.range FROM range(100_000) AS a, range(100_000) AS b")
    assert reader.read_next_batch().num_rows > 0
    reader.close()
    del reader
    assert bench.value("SELECT 1") == 1


def test_parameters_of_all_kinds(bench: Bench) -> None:
    bench.enqueue(2)
    assert bench.wh.query("queue/progress", run_id=DEVICES[0]).num_rows == 0
    moment = datetime(2026, 1, 1, 11, 0, tzinfo=UTC)
    assert bench.wh.apply(Statement("db/prune_attempts", {"before": moment}))[0].column(0)[0].as_py() == 0


def test_writing_sql_is_for_the_owner_alone(bench: Bench) -> None:
    text = "INSERT INTO solution_alias SELECT device_id, device_id, 'u' FROM device"
    if bench.wh.is_owner:
        assert bench.wh.sql(text, write=True).read_all().column(0)[0].as_py() == 3
        with pytest.raises(InputError, match="no_such_table"):
            bench.wh.sql("DELETE FROM no_such_table", write=True)
    else:
        with pytest.raises(WarehouseBusyError, match="--write") as caught:
            bench.wh.sql(text, write=True)
        assert caught.value.pid is not None
        assert bench.value("SELECT count(*) FROM solution_alias") == 0


def test_errors_keep_their_class_and_attributes(bench: Bench) -> None:
    with pytest.raises(InputError) as caught:
        bench.wh.import_(bench.path.parent / "missing.duckdb")
    assert str(caught.value).count("missing.duckdb") == 1
    assert str(caught.value.path).endswith("missing.duckdb")


def test_a_closed_warehouse_says_so(bench: Bench) -> None:
    bench.wh.close()
    with pytest.raises(WarehouseError, match="closed"):
        bench.wh.query("queue/devices")
    bench.wh.close()


def test_both_see_what_the_other_wrote(bench: Bench) -> None:
    bench.wh.apply(Append("solution_alias", alias()))
    assert bench.other.sql("SELECT count(*) FROM solution_alias").read_all().column(0)[0].as_py() == 1
