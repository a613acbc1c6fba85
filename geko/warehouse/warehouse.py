"""The warehouse: the only door to the DuckDB file.

The first process that opens a file owns it and serves it to the others. When the owner ends, whoever needs
the file next opens it and becomes the owner; callers don't notice.

Nothing else in an owning process may open the database file, not even to read its bytes: closing that
descriptor would drop DuckDB's POSIX lock.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from geko.errors import WarehouseBusyError, WarehouseError
from geko.log import logger
from geko.warehouse.client import ConnectionLost, RemoteFile
from geko.warehouse.place import read_record, warn_if_network
from geko.warehouse.steps import Closing, Step

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse.local import LocalFile
    from geko.warehouse.maintenance import CheckFinding, PruneOptions

Clock = Callable[[], datetime]
T = TypeVar("T")

DEFAULT_WAIT_S = 10.0
_RETRY_S = 0.02
_UNKNOWN = (
    "the process that owned the warehouse ended before it answered; whether the change was made is"
    " unknown: look, then repeat it if it is missing"
)
# Two threads of one process must not both become the owner: DuckDB would let them share the file.
_opening = threading.RLock()


def utc_now() -> datetime:
    """The wall clock in UTC."""
    return datetime.now(UTC)


def default_path() -> Path:
    """``$GEKO_DB``, else ``geko.duckdb`` in the current directory."""
    return Path(os.environ.get("GEKO_DB") or "geko.duckdb")


class _Owner:
    """The file and its server, held by the owning process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        # DuckDB is loaded by who opens the file; clients of an owner do without.
        from geko.warehouse.local import LocalFile
        from geko.warehouse.maintenance import MAINTENANCE
        from geko.warehouse.server import Server

        self.file = LocalFile.open(path, clock)
        self.server = Server(self.file, MAINTENANCE)
        self.pid = os.getpid()

    def close(self) -> None:
        self.server.stop()
        self.file.close()


class Warehouse:
    """An open warehouse; made by `Warehouse.open`. All methods may be called from several threads."""

    def __init__(self, path: Path, clock: Clock, wait: float) -> None:
        self._path = path
        self._clock = clock
        self._wait = wait
        self._lock = threading.RLock()
        self._owner: _Owner | None = None
        self._remote: RemoteFile | None = None
        self._pid = os.getpid()
        self._closed = False
        self._doing: str | None = None
        _opened.add(self)

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, clock: Clock = utc_now, wait: float = DEFAULT_WAIT_S
    ) -> Warehouse:
        """Open a warehouse file, made if it is not there, or connect to the process that owns it.

        Args:
            path: the file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
            clock: tells the time of leases and of ``*_at`` columns, in UTC.
            wait: seconds to wait for a file that is locked by a process that doesn't listen (yet).

        Raises:
            WarehouseBusyError: if the owner doesn't answer in time; names its process.
            WarehouseError: if the file can't be opened.
            MigrationError: if its schema doesn't fit this version.
        """
        real = (Path(path) if path is not None else default_path()).resolve()
        warehouse = cls(real, clock, wait)
        warn_if_network(real)
        warehouse._connected()
        return warehouse

    @property
    def path(self) -> Path:
        """Real path of the file."""
        return self._path

    @property
    def is_owner(self) -> bool:
        """Whether this process owns the file now."""
        return self._owner is not None and self._pid == os.getpid()

    def now(self) -> datetime:
        """The time by this warehouse's clock, in UTC."""
        return self._clock()

    def announce(self, doing: str | None) -> None:
        """Say what this process is doing, for errors that others get (such as ``"run 1f0c: search"``)."""
        self._doing = doing
        if self._owner is not None:
            self._owner.server.announce(doing)

    def query(self, name: str, inputs: Mapping[str, pa.Table] | None = None, /, **params: Any) -> pa.Table:
        """Run the statement ``sql/queries/<name>.sql`` in a read-only transaction.

        Args:
            name: path below ``sql/queries`` without ``.sql``.
            inputs: Arrow tables that the statement reads, by the name it uses for them.
            params: values of its ``$named`` parameters.

        Returns:
            The rows; UUIDs and JSON as text, timestamps in UTC.
        """
        return self._run(lambda file: file.query(name, inputs or {}, params), repeatable=True)

    def apply(self, *steps: Step, repeatable: bool = False) -> list[pa.Table]:
        """Run all steps in one transaction; it is committed when this returns.

        Args:
            steps: what to do.
            repeatable: doing it twice does no harm, so that it is sent again when the owner ends before it
                answers.

        Returns:
            One table per step: the rows of a query, or the ``Count`` of changed rows.

        Raises:
            WarehouseError: if a step fails (nothing of the transaction is kept), or if the owner ended
                before it answered
                and the steps are not repeatable (whether they were done is unknown then).
        """
        return self._run(lambda file: file.apply(steps), repeatable=repeatable)

    def sql(self, text: str, *, write: bool = False) -> pa.RecordBatchReader:
        """Run one SELECT or EXPLAIN of the user's in a read-only transaction, at low priority.

        Args:
            text: the SQL.
            write: run any statement, in a transaction; only where no other process owns the file.

        Returns:
            The rows as they come. Ctrl-C while reading, or closing the reader, interrupts the query.

        Raises:
            UsageError: if it is not one SELECT or EXPLAIN.
            InputError: if DuckDB refuses it.
            WarehouseBusyError: for ``write`` while another process owns the file.
        """
        if write:
            return self._run(lambda file: file.sql_write(text), repeatable=False)
        return self._run(lambda file: file.sql(text), repeatable=True)

    def queue_operation(self, op: str, payload: dict[str, Any]) -> Any:
        """Run an operation of the queue; `geko.warehouse.queue` has the calls for it.

        Repeating one is safe: a claim finds the leases under its token, a result its lease.
        """

        def again() -> None:
            payload["again"] = True

        return self._run(lambda file: file.queue_operation(op, payload), repeatable=True, before_repeat=again)

    def snapshot(self, path: str | Path) -> Path:
        """Copy the whole warehouse, as it is at this moment, to a new file; work goes on meanwhile.

        Raises:
            InputError: if the target exists.
        """
        target = Path(path).resolve()
        self._maintain("snapshot", target=str(target))
        return target

    def import_(self, path: str | Path) -> dict[str, int]:
        """Add everything another warehouse knows; doing it again adds nothing.

        Args:
            path: the other file; it is only read. One of an older schema is copied and brought up to date
                first.

        Returns:
            Rows added per table.

        Raises:
            InputError: if it is no warehouse.
            WarehouseBusyError: if a process owns it (import a snapshot instead).
        """
        added: dict[str, int] = self._maintain("import", source=str(Path(path).resolve()))
        return added

    def check(self) -> list[CheckFinding]:
        """Look for what should not be: doubled ids, dangling references, stuck leases, ids that don't fit
        their rows.

        Returns:
            One finding per rule, with the number of offending rows (0 is good) and an example.
        """
        from geko.warehouse.maintenance import CheckFinding

        found = self._maintain("check", now=self.now())
        return [CheckFinding(**item) for item in found]

    def prune(self, options: PruneOptions | None = None) -> dict[str, int]:
        """Drop what can be done without; by default only count it.

        Returns:
            Rows per kind of thing that were, or would be, dropped.
        """
        from geko.warehouse.maintenance import PruneOptions

        chosen = options or PruneOptions()
        counts: dict[str, int] = self._maintain(
            "prune",
            outputs=chosen.outputs,
            attempts=chosen.attempts,
            before=chosen.before,
            dry_run=chosen.dry_run,
        )
        return counts

    def close(self) -> None:
        """Close the file. Clients of it that go on take it over."""
        with self._lock:
            self._closed = True
            owner, remote = self._owner, self._remote
            self._owner = self._remote = None
            _opened.discard(self)
        if os.getpid() != self._pid:
            return
        if remote is not None:
            remote.close()
        if owner is not None:
            # Within one process DuckDB would let a new owner in before the old one has finished.
            with _opening:
                owner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Who has the file
    # -----------------------------------------------------------------------------------------

    def _maintain(self, op: str, **params: Any) -> Any:
        def run(file: LocalFile | RemoteFile) -> Any:
            if isinstance(file, RemoteFile):
                return file.maintenance(op, params)
            from geko.warehouse.maintenance import MAINTENANCE

            return MAINTENANCE[op](file, **params)

        return self._run(run, repeatable=op != "snapshot")

    def _run(
        self,
        call: Callable[[LocalFile | RemoteFile], T],
        *,
        repeatable: bool,
        before_repeat: Callable[[], None] = lambda: None,
    ) -> T:
        while True:
            file = self._connected()
            try:
                return call(file)
            except Closing as exc:
                raise WarehouseError("the warehouse is closed") from exc
            except ConnectionLost as lost:
                self._drop(file)
                if lost.sent:
                    if not repeatable:
                        raise WarehouseError(_UNKNOWN) from lost
                    before_repeat()

    def _drop(self, file: LocalFile | RemoteFile) -> None:
        with self._lock:
            if self._remote is file:
                self._remote = None
        file.close()

    def _connected(self) -> LocalFile | RemoteFile:
        with self._lock:
            if self._closed:
                raise WarehouseError("the warehouse is closed")
            if self._owner is not None:
                return self._owner.file
            if self._remote is not None:
                return self._remote
            return self._open_file()

    def _open_file(self) -> LocalFile | RemoteFile:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                self._remote = RemoteFile.connect(self._path)
            except TimeoutError as exc:
                raise self._busy() from exc
            if self._remote is not None:
                return self._remote
            try:
                with _opening:
                    # Another thread of this process may have become the owner since we looked.
                    self._remote = RemoteFile.connect(self._path)
                    if self._remote is not None:
                        return self._remote
                    self._owner = _Owner(self._path, self._clock)
                self._owner.server.announce(self._doing)
                return self._owner.file
            except WarehouseBusyError as exc:
                if time.monotonic() >= deadline:
                    raise self._busy() from exc
                logger.debug("%s is locked; waiting", self._path)
            time.sleep(_RETRY_S)

    def _busy(self) -> WarehouseBusyError:
        record = read_record(self._path)
        who = str(record) if record is not None else "another process"
        return WarehouseBusyError(
            f"{self._path} is in use by {who}, which doesn't answer: wait, or end it (kill {record.pid})"
            if record is not None
            else f"{self._path} is in use by {who}, which is no GEKO of this user: close it there",
            pid=record.pid if record is not None else None,
        )

    def _after_fork(self) -> None:
        """In a forked child: the parent keeps the file; this object connects to it when it is used next."""
        self._lock = threading.RLock()
        owner, remote = self._owner, self._remote
        self._owner = self._remote = None
        self._pid = os.getpid()
        if owner is not None:
            owner.server.abandon()
            # Never destroyed here: DuckDB would checkpoint the parent's file and wait for threads that don't
            # exist.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
        if remote is not None:
            remote.close()


# Held until they are closed: the threads of one that nobody holds any more would still be inside DuckDB at the end.
_opened: set[Warehouse] = set()


def _forked() -> None:
    global _opening
    _opening = threading.RLock()
    for warehouse in list(_opened):
        warehouse._after_fork()


def _at_exit() -> None:
    """Close what is open: a thread inside DuckDB must not outlive the interpreter."""
    for warehouse in list(_opened):
        warehouse.close()


os.register_at_fork(after_in_child=_forked)
atexit.register(_at_exit)
