"""A user's query: a cursor and a thread of its own, read-only, of low priority, interruptible."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterator

import duckdb
import pyarrow as pa

from geko.errors import InputError, Interrupted
from geko.warehouse.engine import Connection, check_one_query

# The writer and the GPU programs go first: a long query only takes what they leave.
NICENESS = 15
BATCH_ROWS = 65_536
_END = object()


def lower_priority(niceness: int) -> None:
    """Make the calling thread less important; only Linux has priorities per thread."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class UserQuery:
    """One SELECT or EXPLAIN, run in a thread of its own.

    Args:
        cursor: a cursor for this query alone; it is closed at the end.
        text: the SQL.

    Raises:
        InputError: if DuckDB can't parse it; errors of execution come from `schema` and `batches`.
        UsageError: if it is something else than one SELECT or EXPLAIN.
    """

    def __init__(self, cursor: Connection, text: str) -> None:
        self._cursor = cursor
        self._text = text
        self._stopped = False
        self._batches: queue.Queue[object] = queue.Queue(maxsize=4)
        try:
            check_one_query(cursor, text)
        except BaseException:
            cursor.close()
            raise
        self._schema: pa.Schema | None = None
        self._thread = threading.Thread(target=self._work, name="geko-sql", daemon=True)
        self._thread.start()

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows; waits for it, which may take as long as the query."""
        if self._schema is None:
            self._schema = self._next()
        return self._schema

    def _next(self) -> object:
        try:
            while True:
                # A timeout lets the main thread notice Ctrl-C on every platform.
                with contextlib.suppress(queue.Empty):
                    item = self._batches.get(timeout=1.0)
                    break
        except BaseException:
            self.stop()
            raise
        if isinstance(item, BaseException):
            raise item
        return item

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; ending the iteration early stops the query."""
        try:
            _ = self.schema
            while (item := self._next()) is not _END:
                yield item
        finally:
            self.stop()

    def reader(self) -> pa.RecordBatchReader:
        """The rows as a reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    @property
    def is_running(self) -> bool:
        """Whether its thread still works."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Interrupt the query; harmless when it has ended."""
        self._stopped = True
        self.interrupt_if_stopped()

    def interrupt_if_stopped(self) -> None:
        """Interrupt again: an interruption just before DuckDB starts is forgotten by it."""
        if self._stopped and self._thread.is_alive():
            with contextlib.suppress(duckdb.Error):
                self._cursor.interrupt()

    def stop_and_wait(self) -> None:
        """End the query and its thread, which must not be inside DuckDB when the process ends."""
        self.stop()
        while self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(0.05)
            self.interrupt_if_stopped()

    def _work(self) -> None:
        lower_priority(NICENESS)
        try:
            self._run()
        except duckdb.InterruptException:
            self._put(Interrupted("the query was interrupted"))
        except duckdb.Error as exc:
            self._put(Interrupted("the query was interrupted") if self._stopped else InputError(str(exc)))
        except BaseException as exc:
            self._put(exc)
        else:
            self._put(_END)
        finally:
            with contextlib.suppress(duckdb.Error):
                self._cursor.close()

    def _run(self) -> None:
        self._cursor.execute("BEGIN TRANSACTION READ ONLY")
        if self._stopped:
            return
        reader = self._cursor.sql(self._text).to_arrow_reader(BATCH_ROWS)
        self._put(reader.schema)
        for batch in reader:
            if self._stopped:
                raise Interrupted("the query was interrupted")
            self._put(batch)
        reader.close()

    def _put(self, item: object) -> None:
        while not self._stopped:
            with contextlib.suppress(queue.Full):
                self._batches.put(item, timeout=0.2)
                return
