"""The file in this process: opening it, reading it on cursors, writing it through one thread."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from geko.errors import InputError, WarehouseBusyError, WarehouseError
from geko.warehouse.engine import Connection, configure, run_statement
from geko.warehouse.resources import statement_text
from geko.warehouse.schema import migrate
from geko.warehouse.steps import Step
from geko.warehouse.template import make_empty, new_file, stamp
from geko.warehouse.user_query import UserQuery
from geko.warehouse.writer import Writer

# A checkpoint holds up commits: make it rare, at the price of a longer replay after a crash (some 0.2 s).
CHECKPOINT_THRESHOLD = "64MB"
# DuckDB's own threads work for whoever has much to do, which is a user's query; the writing thread does its small work
# itself and must not wait for them.
POOL_NICENESS = 10


class LocalFile:
    """A database file that this process owns."""

    def __init__(self, path: Path, con: Connection, clock: Callable[[], datetime]) -> None:
        self.path = path
        self._con = con
        self._queries: weakref.WeakSet[UserQuery] = weakref.WeakSet()
        self._pool = con.cursor()
        self._n_threads: int | None = None
        self._pool_lock = threading.Lock()
        self.writer = Writer(con.cursor(), clock, self.share_threads)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], datetime]) -> LocalFile:
        """Open or make the file and bring its schema up to date.

        Args:
            path: real path.
            clock: tells the time of migrations and leases.

        Raises:
            WarehouseBusyError: if another process holds the file's lock.
            WarehouseError: if it can't be opened.
            MigrationError: if its schema doesn't fit.
        """
        con, copied = connect(path)
        try:
            configure(con)
            con.execute(f"SET GLOBAL checkpoint_threshold = '{CHECKPOINT_THRESHOLD}'")
            if copied:
                stamp(con, clock())
            else:
                migrate(con, clock(), str(path))
            file = cls(path, con, clock)
        except BaseException:
            con.close()
            raise
        file.writer.look()
        return file

    def query(self, name: str, inputs: Mapping[str, pa.Table], params: Mapping[str, Any]) -> pa.Table:
        """Run a named statement in a read-only transaction on a cursor of its own."""
        text = statement_text(name)
        with self._cursor() as cursor:
            for view, table in inputs.items():
                cursor.register(view, table)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            return run_statement(cursor, text, params, {}, f"statement {name}")

    def apply(self, steps: Sequence[Step]) -> list[pa.Table]:
        """Run steps in one transaction."""
        results: list[pa.Table] = self.writer.call("apply", list(steps))
        return results

    def queue_operation(self, op: str, payload: Mapping[str, Any]) -> Any:
        """Run an operation of the queue."""
        return self.writer.call(op, payload)

    def user_query(self, text: str) -> UserQuery:
        """Start one SELECT or EXPLAIN of the user's."""
        with self._pool_lock:
            query = UserQuery(self._con.cursor(), text)
            self._queries.add(query)
        return query

    def share_threads(self, busy: bool) -> None:
        """Give up DuckDB's own threads while others are served, or take them again.

        The small statements of the writing thread gain nothing from them, wait for them when the machine is
        full, and lose to a user's long query that has them. Nothing is changed while such a query runs:
        DuckDB would wait for it.

        Args:
            busy: runners ask for work, or a query comes from another process.
        """
        if busy == (self._n_threads is not None):
            return
        with self._pool_lock:
            if busy == (self._n_threads is not None) or any(query.is_running for query in self._queries):
                return
            if self._n_threads is None:
                ((self._n_threads,),) = self._pool.execute("SELECT current_setting('threads')").fetchall()
                self._pool.execute("SET GLOBAL threads = 1")
            else:
                with _niced():
                    self._pool.execute(f"SET GLOBAL threads = {self._n_threads}")
                self._n_threads = None

    def interrupt_stopped(self) -> None:
        """Interrupt queries that were stopped and still run."""
        for query in list(self._queries):
            query.interrupt_if_stopped()

    def sql(self, text: str) -> pa.RecordBatchReader:
        """Run one SELECT or EXPLAIN of the user's."""
        return self.user_query(text).reader()

    def sql_write(self, text: str) -> pa.RecordBatchReader:
        """Run any statement of the user's in the writer's next transaction."""

        def run(con: Connection) -> pa.Table:
            try:
                return run_statement(con, text, {}, {}, "statement")
            except WarehouseError as exc:
                raise InputError(str(exc)) from exc

        table: pa.Table = self.writer.call("run", run)
        return table.to_reader()

    def write(self, run: Callable[[Connection], Any]) -> Any:
        """Run a callable with the writing connection inside a transaction."""
        return self.writer.call("run", run)

    def read(self, run: Callable[[Connection], Any]) -> Any:
        """Run a callable with a cursor of its own, outside any transaction."""
        with self._cursor() as cursor:
            return run(cursor)

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Connection]:
        cursor = self._con.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def close(self) -> None:
        """Finish what was accepted and close the file, which also checkpoints it; queries are interrupted."""
        for query in list(self._queries):
            query.stop_and_wait()
        self.writer.stop()
        with contextlib.suppress(duckdb.Error):
            self._con.close()


def connect(path: Path) -> tuple[Connection, bool]:
    """Connect to a database file; a new one is made.

    Returns:
        The connection, and whether the file is new and has this version's schema already.

    Raises:
        WarehouseBusyError: if another process holds its lock.
        WarehouseError: if it can't be opened.
    """
    copied = False
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            copied = new_file(path)
            if not copied and not path.exists():
                make_empty(path)
        with _niced():
            return duckdb.connect(str(path)), copied
    except duckdb.IOException as exc:
        if "lock" in str(exc).lower():
            raise WarehouseBusyError(f"{path} is in use: {exc}") from exc
        raise WarehouseError(f"{path} can't be opened: {exc}") from exc
    except duckdb.Error as exc:
        raise WarehouseError(f"{path} can't be opened: {exc}") from exc
    except OSError as exc:
        raise WarehouseError(f"{path} can't be opened: {exc}") from exc


@contextlib.contextmanager
def _niced() -> Iterator[None]:
    """Make the threads that start meanwhile less important."""
    before = _threads()
    yield
    for thread in _threads() - before:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, POOL_NICENESS)


def _threads() -> set[int]:
    """Ids of this process's threads (Linux)."""
    try:
        return {int(path.name) for path in Path("/proc/self/task").iterdir()}
    except OSError:
        return set()
