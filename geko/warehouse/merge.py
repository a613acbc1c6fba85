"""Adding what another warehouse knows; ids come from content, so that the same row has the same id there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from geko.errors import InputError, UsageError, WarehouseBusyError
from geko.log import logger
from geko.warehouse.engine import Connection, configure, quoted, translated
from geko.warehouse.local import LocalFile, connect
from geko.warehouse.resources import statement_text
from geko.warehouse.schema import migrate, missing_migrations

# What makes a row the same row; a table that is not here is compared by all its columns.
_KEYS: dict[str, tuple[str, ...]] = {
    "problem": ("problem_id",),
    "environment": ("environment_id",),
    "device": ("device_id",),
    "protocol": ("protocol_id",),
    "solution": ("solution_id",),
    "library": ("library_id",),
    "logic_header": ("library_id",),
    "library_member": ("library_id", "path"),
    "ingest_file": ("file_id",),
    "ingest_reject": ("file_id", "line"),
    "call": ("call_id",),
    "workload": ("workload_id",),
    "workload_call": ("file_id", "call_id"),
    "run": ("run_id",),
    "run_problem": ("run_id", "problem_id"),
    "job": ("job_id",),
    "job_spec": ("job_id",),
    "job_attempt": ("job_id", "attempt", "token"),
    "measurement": ("measurement_id",),
    "validation": ("validation_id",),
    "output": ("output_id",),
    "selection": ("run_id", "problem_id"),
    "confirmation": ("run_id", "problem_id", "solution_id"),
    "tuning_config": ("config_id",),
    "tuning_config_problem": ("config_id", "problem_id"),
    "run_config": ("run_id", "config_id", "file_name"),
    "run_size": ("run_id", "seq"),
    "tuning_job": ("job_id",),
    "tuning_output": ("job_id", "attempt", "path"),
    "tuning_progress": ("job_id", "attempt", "reported_at"),
}
# The schema's own tables, and processes of another time and place.
_SKIPPED = frozenset({"schema_migration", "schema_object", "runner"})
# Work that is going on elsewhere goes on there.
_ROWS = {
    "job": "state IN ('done', 'failed', 'dead')",
    "job_spec": "job_id IN (SELECT job_id FROM geko_import.job WHERE state IN ('done', 'failed', 'dead'))",
    "run_job": "job_id IN (SELECT job_id FROM geko_import.job WHERE state IN ('done', 'failed', 'dead'))",
}
_REPLACED = {
    "job": " REPLACE (NULL AS token, NULL AS lease_until)",
    "run": " REPLACE (if(state = 'running', 'interrupted', state) AS state)",
}


def import_file(file: LocalFile, source: str) -> dict[str, int]:
    """Add the rows of another warehouse that are not here yet, in one transaction.

    Args:
        file: the open file.
        source: real path of the other; it is only read.

    Returns:
        Rows added per table.

    Raises:
        InputError: if the source is missing or no warehouse.
        UsageError: if it is this file.
        WarehouseBusyError: if a process owns it.
        MigrationError: if a newer version made it.
    """
    path = Path(source)
    if not path.is_file():
        raise InputError("there is no such file", path=path)
    if path.resolve() == file.path:
        raise UsageError("a warehouse can't be imported into itself")
    with _readable(path) as readable:
        file.read(
            lambda con: con.execute(f"ATTACH {quoted(str(readable))} AS geko_import (READ_ONLY)") and None
        )
        try:
            added: dict[str, int] = file.write(_add_all)
        finally:
            file.read(lambda con: con.execute("DETACH geko_import") and None)
    return added


def _add_all(con: Connection) -> dict[str, int]:
    try:
        added = {}
        for table in _tables(con):
            count = con.execute(_insert_text(con, table)).fetchall()[0][0]
            if count:
                added[table] = int(count)
        con.execute(statement_text("db/import_done_jobs"))
        return added
    except duckdb.Error as exc:
        raise translated(exc, "import") from exc


def _tables(con: Connection) -> list[str]:
    rows = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'geko_import' AND NOT internal"
        " ORDER BY table_name"
    ).fetchall()
    return [row[0] for row in rows if row[0] not in _SKIPPED]


def _insert_text(con: Connection, table: str) -> str:
    keys = _KEYS.get(table)
    if keys is None:
        described = con.execute(f'DESCRIBE geko_import."{table}"').fetchall()
        keys = tuple(str(row[0]) for row in described)
    same = " AND ".join(f'o."{key}" IS NOT DISTINCT FROM t."{key}"' for key in keys)
    wanted = _ROWS.get(table, "true")
    return (
        f'INSERT INTO "{table}" BY NAME SELECT *{_REPLACED.get(table, "")} FROM geko_import."{table}" AS o'
        f' WHERE {wanted} AND NOT EXISTS (FROM "{table}" AS t WHERE {same})'
    )


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """The file itself, or a temporary copy of this version's schema."""
    with tempfile.TemporaryDirectory(prefix="geko-import-") as folder:
        try:
            with duckdb.connect() as con:
                con.execute(f"ATTACH {quoted(str(path))} AS looked_at (READ_ONLY)")
                con.execute("USE looked_at")
                known = con.execute(
                    "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'looked_at'"
                    " AND table_name = 'schema_migration'"
                ).fetchall()[0][0]
                if not known:
                    raise InputError("this is no GEKO warehouse", path=path)
                missing = missing_migrations(con, str(path))
        except duckdb.IOException as exc:
            if "lock" in str(exc).lower():
                raise WarehouseBusyError(
                    f"{path} is open in another process: import a snapshot of it (geko db snapshot), or wait"
                ) from exc
            raise InputError(f"this is no DuckDB file that can be read: {exc}", path=path) from exc
        except duckdb.Error as exc:
            raise InputError(f"this file can't be read: {exc}", path=path) from exc
        if not missing:
            yield path
            return
        logger.info("%s lacks %d migration(s): a copy is brought up to date", path, len(missing))
        copy = Path(folder) / "copy.duckdb"
        for suffix in ("", ".wal"):
            part = Path(f"{path}{suffix}")
            if part.exists():
                shutil.copyfile(part, f"{copy}{suffix}")
        with connect(copy)[0] as con:
            configure(con)
            migrate(con, datetime.now(UTC), str(path))
        yield copy
