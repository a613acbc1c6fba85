"""The file in this process: opening it and running transactions on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from geko.errors import InputError, WarehouseError
from geko.warehouse.engine import (
    STORAGE_VERSION,
    Connection,
    check_one_query,
    configure,
    quoted,
    run_statement,
    run_step,
    translated,
)
from geko.warehouse.resources import statement_text
from geko.warehouse.schema import migrate
from geko.warehouse.steps import Step


class LocalFile:
    """A database file that this process owns."""

    def __init__(self, path: Path, con: Connection, clock: Callable[[], datetime]) -> None:
        self.path = path
        self.clock = clock
        self._con = con
        self._writer = con.cursor()
        self._write_lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, clock: Callable[[], datetime]) -> LocalFile:
        """Open or make the file and bring its schema up to date."""
        real = path.resolve()
        con = connect(real)
        try:
            configure(con)
            migrate(con, clock(), str(path))
        except BaseException:
            con.close()
            raise
        return cls(real, con, clock)

    def query(self, name: str, inputs: Mapping[str, pa.Table], params: Mapping[str, Any]) -> pa.Table:
        """Run a named statement in a read-only transaction on a cursor of its own."""
        text = statement_text(name)
        cursor = self._con.cursor()
        try:
            for view, table in inputs.items():
                cursor.register(view, table)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            return run_statement(cursor, text, params, {}, f"statement {name}")
        finally:
            cursor.close()

    def apply(self, steps: Iterable[Step]) -> list[pa.Table]:
        """Run steps in one transaction."""
        with self._write_lock:
            con = self._writer
            con.execute("BEGIN TRANSACTION")
            try:
                results = [run_step(con, step) for step in steps]
            except BaseException:
                con.execute("ROLLBACK")
                raise
            try:
                con.execute("COMMIT")
            except duckdb.Error as exc:
                raise translated(exc, "commit") from exc
            return results

    def sql(self, text: str, write: bool) -> pa.RecordBatchReader:
        """Run the user's SQL."""
        cursor = self._con.cursor()
        try:
            if not write:
                check_one_query(cursor, text)
            cursor.execute("BEGIN TRANSACTION" if write else "BEGIN TRANSACTION READ ONLY")
            try:
                if write:
                    table = run_statement(cursor, text, {}, {}, "statement")
                    cursor.execute("COMMIT")
                else:
                    table = cursor.sql(text).to_arrow_table()
            except duckdb.Error as exc:
                raise InputError(str(exc)) from exc
            return table.to_reader()
        finally:
            cursor.close()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
        self._con.close()


def connect(path: Path) -> Connection:
    """Connect to a database file; a new one is made in a format that duckdb 1.5 reads.

    Raises:
        WarehouseError: if it can't be opened.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with duckdb.connect(":memory:") as maker:
                maker.execute(f"ATTACH {quoted(str(path))} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
        return duckdb.connect(str(path))
    except duckdb.Error as exc:
        raise WarehouseError(f"{path} can't be opened: {exc}") from exc
