"""Migrations, macros and views."""

from __future__ import annotations

import gzip
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from warehouse_support import FakeClock

from geko.domain.problem import Problem
from geko.errors import GekoError, MigrationError, WarehouseError
from geko.warehouse import Scratch, Warehouse, resources, schema

DATA = Path(__file__).parent / "data"


@pytest.fixture
def own_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of ``sql/`` that a test may change."""
    root = tmp_path / "sql"
    shutil.copytree(resources.sql_root(), root)
    monkeypatch.setattr(resources, "sql_root", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return root


def names(wh: Warehouse, kind: str) -> set[str]:
    found = wh.sql(f"SELECT name FROM schema_object WHERE kind = '{kind}'").read_all()
    return set(found.column(0).to_pylist())


def test_a_new_file_has_every_migration(make: Callable[..., Warehouse], clock: FakeClock) -> None:
    wh = make("new.duckdb")
    rows = (
        wh.sql("SELECT name, sha256, applied_at FROM schema_migration ORDER BY name").read_all().to_pylist()
    )
    assert [(row["name"], row["sha256"]) for row in rows] == [
        (file.name, file.sha256) for file in resources.sql_files("migrations")
    ]
    wh.close()
    with duckdb.connect(str(wh.path)) as con:
        tags = con.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'new'").fetchall()
    assert "v1.5.0" in str(tags)


def test_a_newer_file_is_refused(make: Callable[..., Warehouse]) -> None:
    wh = make()
    wh.sql("INSERT INTO schema_migration VALUES ('9999_future', 'x', now(), '9.9')", write=True)
    wh.close()
    with pytest.raises(MigrationError, match=r"9999_future.*pip install -U geko"):
        Warehouse.open(wh.path)


def test_a_changed_migration_is_refused(make: Callable[..., Warehouse], own_sql: Path) -> None:
    wh = make()
    wh.close()
    path = own_sql / "migrations" / "0001_identity_tables.sql"
    path.write_text(path.read_text() + "-- changed\n")
    with pytest.raises(MigrationError, match=r"0001_identity_tables.*geko db import"):
        Warehouse.open(wh.path)


def test_a_failing_migration_leaves_nothing(make: Callable[..., Warehouse], own_sql: Path) -> None:
    wh = make()
    wh.close()
    bad = own_sql / "migrations" / "8000_bad.sql"
    bad.write_text("CREATE TABLE half (a INTEGER); INSERT INTO half SELECT error('boom');")
    with pytest.raises(MigrationError, match=r"8000_bad.*boom"):
        Warehouse.open(wh.path)
    bad.write_text("CREATE TABLE whole (a INTEGER);")
    with Warehouse.open(wh.path) as again:
        tables = again.sql("SELECT table_name FROM duckdb_tables()").read_all().column(0).to_pylist()
    assert "whole" in tables
    assert "half" not in tables


def test_edited_views_are_made_again_and_removed_ones_dropped(
    make: Callable[..., Warehouse], own_sql: Path
) -> None:
    views = own_sql / "views"
    # Named so that the one that is needed comes later.
    (views / "a_first.sql").write_text("CREATE OR REPLACE VIEW a_first AS SELECT a + 1 AS b FROM b_second;")
    (views / "b_second.sql").write_text("CREATE OR REPLACE VIEW b_second AS SELECT twice_of(2) AS a;")
    (own_sql / "macros" / "twice_of.sql").write_text("CREATE OR REPLACE MACRO twice_of(x) AS 2 * x;")
    wh = make()
    assert wh.sql("FROM a_first").read_all().to_pylist() == [{"b": 5}]
    wh.close()
    (own_sql / "macros" / "twice_of.sql").write_text("CREATE OR REPLACE MACRO twice_of(x) AS 20 * x;")
    with Warehouse.open(wh.path) as again:
        assert again.sql("FROM a_first").read_all().to_pylist() == [{"b": 41}]
    (views / "a_first.sql").unlink()
    (views / "b_second.sql").write_text("CREATE OR REPLACE VIEW b_second AS SELECT 7 AS a;")
    (own_sql / "macros" / "twice_of.sql").unlink()
    with Warehouse.open(wh.path) as again:
        assert again.sql("FROM b_second").read_all().to_pylist() == [{"a": 7}]
        assert "a_first" not in names(again, "view")
        assert "twice_of" not in names(again, "macro")
        for text in ("FROM a_first", "SELECT twice_of(1)"):
            with pytest.raises(Exception, match="does not exist"):
                again.sql(text)


def test_a_broken_view_is_named(make: Callable[..., Warehouse], own_sql: Path) -> None:
    (own_sql / "views" / "zz_bad.sql").write_text("CREATE OR REPLACE VIEW zz_bad AS FROM no_such_table;")
    with pytest.raises(MigrationError, match=r"zz_bad\.sql.*no_such_table"):
        make()


def test_a_circle_of_views_is_named(make: Callable[..., Warehouse], own_sql: Path) -> None:
    for name, other in (("za", "zb"), ("zb", "za")):
        (own_sql / "views" / f"{name}.sql").write_text(f"CREATE OR REPLACE VIEW {name} AS FROM {other};")
    with pytest.raises(MigrationError, match="circle"):
        make()


def test_ids_are_the_same_in_python_and_sql() -> None:
    with Scratch() as scratch:
        problems = [
            Problem("N", "T", 1, 2, 3, 4, "f8_r", "f8_r", "bf16_r", "bf16_r", "f32_r"),
            Problem(
                "T",
                "N",
                8,
                8,
                1,
                8,
                "i8_r",
                "i8_r",
                "i32_r",
                "i32_r",
                "i32_r",
                bias_type="f32_r",
                lda=9,
                stride_d=1,
            ),
        ]
        for problem in problems:
            columns = ", ".join(
                f"{'NULL' if value is None else repr(value)} AS {name}"
                for name, value in ((name, getattr(problem, name)) for name in problem.__dataclass_fields__)
            )
            row = scratch.sql(
                f"SELECT content_id('problem', problem_text(p)) AS id FROM (SELECT {columns}) AS p"
            )
            assert row.to_pylist() == [{"id": problem.problem_id}]


def test_scratch_has_schema_and_transactions() -> None:
    with Scratch(threads=1, memory_limit="512MiB") as scratch:
        scratch.execute("CREATE TEMP TABLE own (a INTEGER)")
        assert scratch.sql("SELECT count(*) AS n FROM problem").to_pylist() == [{"n": 0}]
        assert scratch.query("queue/devices").num_rows == 0
        with pytest.raises(WarehouseError):
            scratch.execute("CREATE TABLE problem (a INTEGER)")


def test_released_schemas_are_upgraded(tmp_path: Path, clock: FakeClock) -> None:
    """Files as they were made by each released schema open in this version with all their rows."""
    files = sorted(DATA.glob("schema_*.duckdb.gz"))
    assert files
    for file in files:
        copy = tmp_path / file.stem
        copy.write_bytes(gzip.decompress(file.read_bytes()))
        with Warehouse.open(copy, clock=clock) as wh:
            assert wh.sql("SELECT count(*) AS n FROM measurement").read_all().to_pylist() == [{"n": 5}]
            assert {finding.rule for finding in wh.check() if finding.n} == set()
            known = wh.sql("SELECT sha256 FROM schema_object").read_all().column(0).to_pylist()
            assert schema.objects_hash() in known


def test_importing_the_package_stays_light() -> None:
    code = (
        "import geko.errors, geko.domain.problem, sys;"
        "print(any(m in sys.modules for m in ('duckdb', 'pyarrow')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_client_loads_no_duckdb(make: Callable[..., Warehouse]) -> None:
    """A runner works with a file that another process owns, and never opens it."""
    wh = make()
    code = (
        "import sys, geko.runners.main;"
        "from geko.warehouse import Warehouse;"
        f"wh = Warehouse.open({str(wh.path)!r});"
        "print(wh.is_owner, wh.query('queue/devices').num_rows, 'duckdb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "0", "False"]


def test_processes_of_geko_load_no_numpy() -> None:
    code = (
        "import sys; from geko.frames import without_numpy; without_numpy();"
        "import duckdb, polars as pl, pyarrow as pa;"
        "con = duckdb.connect(); con.register('t', pl.from_arrow(pa.table({'a': [1, 2]})).to_arrow());"
        "print(con.sql('SELECT sum(a) AS s FROM t').to_arrow_table().to_pylist()[0]['s']);"
        "print(*({'numpy', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """No room for the first views: an error that says so, and the next try on a disk with room works."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(GekoError) as caught:
            Warehouse.open(tmp_path / "full.duckdb").close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "internal" not in str(caught.value).lower() and "rollback" not in str(caught.value)
    with Warehouse.open(tmp_path / "full.duckdb") as wh:
        assert [finding for finding in wh.check() if finding.n] == []
