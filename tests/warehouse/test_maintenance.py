"""Snapshot, import, check, prune."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from warehouse_support import ENVIRONMENT, RUN, Bench, FakeClock, job_id, store_basics

from geko.errors import InputError, MigrationError, UsageError, WarehouseBusyError
from geko.warehouse import Append, PruneOptions, Statement, Warehouse
from geko.warehouse import queue as jobs
from geko.warehouse.merge import _KEYS, _SKIPPED


def counts(wh: Warehouse) -> dict[str, int]:
    tables = wh.sql("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1").read_all()
    return {
        name: wh.sql(f'SELECT count(*) FROM "{name}"').read_all().column(0)[0].as_py()
        for name in tables.column(0).to_pylist()
    }


def done_work(bench: Bench) -> None:
    bench.enqueue(3)
    for claim in bench.claim(limit=2):
        bench.finish(claim, n_rows=5, output=f"text of {claim.job_id}")


def test_a_snapshot_is_a_whole_warehouse(
    bench: Bench, make: Callable[..., Warehouse], tmp_path: Path
) -> None:
    done_work(bench)
    target = bench.wh.snapshot(tmp_path / "copies" / "snap.duckdb")
    with pytest.raises(InputError, match="already"):
        bench.wh.snapshot(target)
    expected = counts(bench.wh)
    with Warehouse.open(target) as copy:
        assert counts(copy) == expected
        assert copy.sql("SELECT count(*) FROM timing").read_all().num_rows == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["snap.duckdb"]


def test_an_import_adds_once(bench: Bench, make: Callable[..., Warehouse], tmp_path: Path) -> None:
    done_work(bench)
    bench.wh.apply(
        Append("workload", pa.table({"workload_id": [RUN], "name": ["w"], "created_at": [bench.clock.time]}))
    )
    source = bench.wh.snapshot(tmp_path / "source.duckdb")
    target = make("target.duckdb")
    added = target.import_(source)
    assert added["measurement"] == 10
    assert added["job"] == 2  # the pending one is the other's business
    assert added["workload"] == 1
    assert target.import_(source) == {}
    assert sum(finding.n for finding in target.check()) == 0
    assert [row["state"] for row in target.sql("SELECT DISTINCT state FROM job").read_all().to_pylist()] == [
        "done"
    ]


def test_what_was_done_elsewhere_is_not_done_again(
    bench: Bench, make: Callable[..., Warehouse], tmp_path: Path
) -> None:
    bench.enqueue(3)
    source = bench.wh.snapshot(tmp_path / "other.duckdb")
    other = make("other.duckdb")
    (claim,) = jobs.claim(other, "r", bench.wh.query("queue/devices")["device_id"][0].as_py())
    jobs.complete(other, [jobs.JobResult(claim.job_id, claim.attempt, claim.token, "r", None, "ok")])
    other.close()
    bench.wh.import_(source)
    assert bench.rows(f"SELECT state, outcome FROM job WHERE job_id = '{job_id(2)}'") == [
        {"state": "done", "outcome": "ok"}
    ]
    assert [claim.job_id for claim in bench.claim(limit=3)] == [job_id(1), job_id(0)]


def test_what_can_not_be_imported(bench: Bench, make: Callable[..., Warehouse], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        bench.wh.import_(bench.path)
    (tmp_path / "text.duckdb").write_text("no database")
    with pytest.raises(InputError, match=r"text\.duckdb"):
        bench.wh.import_(tmp_path / "text.duckdb")
    duckdb.connect(str(tmp_path / "foreign.duckdb")).close()
    with pytest.raises(InputError, match="no GEKO warehouse"):
        bench.wh.import_(tmp_path / "foreign.duckdb")
    newer = bench.wh.snapshot(tmp_path / "newer.duckdb")
    with duckdb.connect(str(newer)) as con:
        con.execute(
            "INSERT INTO schema_migration"
            " SELECT '9999_future', sha256, applied_at, '9' FROM schema_migration LIMIT 1"
        )
    with pytest.raises(MigrationError, match="9999_future"):
        bench.wh.import_(newer)


def test_a_warehouse_that_is_open_elsewhere_is_not_imported(bench: Bench, tmp_path: Path) -> None:
    source = bench.wh.snapshot(tmp_path / "busy.duckdb")
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(WarehouseBusyError, match="snapshot"):
            bench.wh.import_(source)
        process.communicate()


def test_every_table_has_a_rule_for_imports(bench: Bench) -> None:
    """A table without keys is compared by all columns, which is right only for tables that are all key."""
    tables = set(counts(bench.wh)) - _SKIPPED
    by_all_columns = tables - set(_KEYS)
    assert set(_KEYS) <= tables
    assert by_all_columns <= {
        "arch_peak",
        "export_file",
        "library_entry",
        "library_solution",
        "run_job",
        "solution_alias",
        "solution_name",
        "workload_file",
    }


def test_a_sound_warehouse_has_no_findings(bench: Bench) -> None:
    done_work(bench)
    findings = bench.wh.check()
    assert [finding for finding in findings if finding.n] == []
    assert len({finding.rule for finding in findings}) == len(findings) > 20


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("INSERT INTO measurement FROM measurement LIMIT 1", "unique measurement"),
        ("INSERT INTO problem FROM problem", "unique problem"),
        ("DELETE FROM environment", "reference measurement.environment_id"),
        ("DELETE FROM job_spec", "reference job has a spec"),
        (
            "UPDATE job SET state = 'leased', token = uuid() WHERE state = 'pending'",
            "leased jobs have a token and a time",
        ),
        ("UPDATE job SET token = uuid() WHERE state = 'done'", "only leased jobs have a token"),
        ("UPDATE job SET lease_until = '2020-01-01', token = uuid(), state = 'leased'", "leases end"),
        ("DELETE FROM job_attempt", "done jobs have an accepted attempt"),
        ("UPDATE problem SET m = m + 1", "id fits content of problem"),
        ("UPDATE output SET text = 'other'", "id fits content of output"),
    ],
)
def test_damage_is_found(
    make: Callable[..., Warehouse], clock: FakeClock, tmp_path: Path, damage: str, rule: str
) -> None:
    wh = make()
    store_basics(wh)
    done_work(Bench(wh, wh, clock, tmp_path / "w.duckdb"))
    wh.sql(damage, write=True)
    found = {finding.rule: finding for finding in wh.check() if finding.n}
    assert rule in found
    assert found[rule].example is not None


def test_prune_counts_first_and_keeps_evidence(bench: Bench) -> None:
    done_work(bench)
    (claim,) = bench.claim()
    bench.finish(claim, "crash", output="stack trace")
    bench.clock.move(10)
    jobs.release(bench.wh, "r", [bench.claim()[0].token])
    everything = PruneOptions(attempts=True)
    assert bench.wh.prune(everything) == {"outputs": 2, "attempts": 1}
    assert bench.value("SELECT count(*) FROM output WHERE text <> ''") == 3
    old = PruneOptions(attempts=True, before=bench.clock.time, dry_run=False)
    assert bench.wh.prune(old) == {"outputs": 2, "attempts": 0}
    assert bench.rows("SELECT text FROM output WHERE text <> ''") == [{"text": "stack trace"}]
    assert bench.wh.prune(PruneOptions(attempts=True, outputs=False, dry_run=False)) == {"attempts": 1}
    assert bench.value("SELECT count(*) FROM job_attempt") == 3
    assert sum(finding.n for finding in bench.wh.check()) == 0
    assert bench.value("SELECT count(*) FROM measurement") == 10


def test_a_lease_that_is_a_little_late_is_no_finding(bench: Bench) -> None:
    bench.enqueue(1)
    bench.claim()
    bench.clock.move(100)
    assert [finding.rule for finding in bench.wh.check() if finding.n] == []
    assert ENVIRONMENT.simulated
    bench.wh.apply(Statement("queue/end_runner", {"runner": "runner-0", "now": bench.clock.time}))
