"""New warehouses as copies of a prepared file."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from warehouse_support import FakeClock

from geko.warehouse import Warehouse, resources


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "geko" / "empty"


def schema_of(path: Path) -> list[tuple[str, str, str]]:
    """Columns of all tables and views, as another program reads them."""
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
            " ORDER BY table_name, column_index"
        ).fetchall()


def open_and_close(path: Path, clock: FakeClock) -> Path:
    Warehouse.open(path, clock=clock).close()
    return path


def test_a_copy_is_like_a_file_made_from_the_texts(tmp_path: Path, cache: Path, clock: FakeClock) -> None:
    first = open_and_close(tmp_path / "first.duckdb", clock)
    (template,) = cache.glob("*.duckdb")
    stamp = template.stat().st_mtime_ns
    second = open_and_close(tmp_path / "second.duckdb", clock)
    assert template.stat().st_mtime_ns == stamp, "the template is made once"
    assert not list(tmp_path.glob(".*.tmp"))
    shutil.rmtree(cache)
    cache.write_text("in the way")
    plain = open_and_close(tmp_path / "plain.duckdb", clock)
    assert schema_of(first) == schema_of(second) == schema_of(plain)
    assert {"problem", "export_metrics"} <= {row[0] for row in schema_of(first)}


def test_a_copy_has_the_time_of_its_own_making(tmp_path: Path, cache: Path, clock: FakeClock) -> None:
    open_and_close(tmp_path / "first.duckdb", clock)
    clock.time = datetime(2030, 1, 2, tzinfo=UTC)
    with Warehouse.open(tmp_path / "second.duckdb", clock=clock) as wh:
        found = wh.sql("SELECT DISTINCT applied_at FROM schema_migration").read_all().to_pylist()
    assert found == [{"applied_at": clock.time}]


def test_a_changed_view_makes_another_template(
    tmp_path: Path, cache: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_and_close(tmp_path / "first.duckdb", clock)
    root = tmp_path / "sql"
    shutil.copytree(resources.sql_root(), root)
    monkeypatch.setattr(resources, "sql_root", lambda: root)
    (root / "views" / "99_own.sql").write_text("CREATE OR REPLACE VIEW own AS SELECT 1 AS a;")
    with Warehouse.open(tmp_path / "second.duckdb", clock=clock) as wh:
        assert wh.sql("FROM own").read_all().to_pylist() == [{"a": 1}]
    assert len(list(cache.glob("*.duckdb"))) == 2


def test_a_log_left_behind_is_not_taken_for_the_copys(tmp_path: Path, cache: Path, clock: FakeClock) -> None:
    path = open_and_close(tmp_path / "killed.duckdb", clock)
    wal = Path(f"{path}.wal")
    kept = tmp_path / "kept.wal"
    with duckdb.connect(str(path)) as con:
        con.execute("INSERT INTO workload VALUES (uuid(), 'of the killed run', now())")
        shutil.copyfile(wal, kept)
    path.unlink()
    wal.unlink(missing_ok=True)
    shutil.copyfile(kept, wal)
    with Warehouse.open(path, clock=clock) as wh:
        assert wh.sql("SELECT count(*) AS n FROM workload").read_all().to_pylist() == [{"n": 0}]


def test_a_damaged_template_is_made_again(tmp_path: Path, cache: Path, clock: FakeClock) -> None:
    open_and_close(tmp_path / "first.duckdb", clock)
    (template,) = cache.glob("*.duckdb")
    content = bytearray(template.read_bytes())
    content[len(content) // 2] ^= 1
    template.write_bytes(content)
    with Warehouse.open(tmp_path / "second.duckdb", clock=clock) as wh:
        assert wh.sql("SELECT count(*) AS n FROM workload").read_all().to_pylist() == [{"n": 0}]
    (again,) = cache.glob("*.duckdb")
    assert again.read_bytes() != bytes(content)
