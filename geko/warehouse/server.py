"""The owner's side of the socket: one thread moves bytes, the writer writes, other threads read."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from geko.errors import WarehouseBusyError, WarehouseError
from geko.log import logger
from geko.warehouse import wire
from geko.warehouse.local import LocalFile
from geko.warehouse.place import (
    OwnerRecord,
    make_private_folder,
    record_path,
    socket_paths,
    this_process,
    write_record,
)
from geko.warehouse.queue_owner import OPERATIONS
from geko.warehouse.steps import Append, Statement, Step
from geko.warehouse.user_query import UserQuery
from geko.warehouse.writer import Request

_MAX_UNSENT = 8 << 20
_READERS = 4


class Connection:
    """One client: bytes that came in part, bytes still to be sent, and its running query."""

    def __init__(self, sock: socket.socket, wake: Callable[[Connection], None]) -> None:
        self.sock = sock
        self.query: UserQuery | None = None
        self.is_runner = False
        # As this process sees it, which may be in another container; None if it can't.
        self.pid: int | None = None
        self.closed = False
        self._wake = wake
        self._unsent: deque[memoryview] = deque()
        self._n_unsent = 0
        self._changed = threading.Condition()
        self._buffer = bytearray(wire.PREFIX.size)
        self._filled = 0
        self._header_length: int | None = None

    def receive(self) -> list[tuple[bytearray, int]] | None:
        """Frames that are complete now; None when the client is gone."""
        frames: list[tuple[bytearray, int]] = []
        while True:
            try:
                n = self.sock.recv_into(memoryview(self._buffer)[self._filled :])
            except BlockingIOError:
                return frames
            except OSError:
                return None
            if n == 0:
                return None
            self._filled += n
            if self._filled < len(self._buffer):
                continue
            if self._header_length is None:
                self._header_length, bodies = wire.lengths(self._buffer)
                self._buffer = bytearray(self._header_length + bodies)
            else:
                frames.append((self._buffer, self._header_length))
                self._header_length = None
                self._buffer = bytearray(wire.PREFIX.size)
                self._filled = 0
                # A client waits for its answer before it asks again; what comes sooner wakes the selector anew.
                return frames
            self._filled = 0

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Send without ever waiting; what doesn't fit is sent when the client has read."""
        with self._changed:
            if self.closed:
                return
            self._unsent.extend(memoryview(part) for part in parts)
            self._n_unsent += sum(len(part) for part in parts)
            self._flush()
            if self._unsent:
                self._wake(self)

    def flush(self) -> bool:
        """Send on; whether something is left."""
        with self._changed:
            self._flush()
            self._changed.notify_all()
            return bool(self._unsent)

    def wait_for_client(self) -> bool:
        """Wait until the client has read most of what was sent; False when it is gone."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self._n_unsent < _MAX_UNSENT)
            return not self.closed

    def close(self) -> None:
        """Close the socket and stop the running query."""
        with self._changed:
            self.closed = True
            self._unsent.clear()
            self._n_unsent = 0
            self._changed.notify_all()
        self.sock.close()
        if self.query is not None:
            self.query.stop()

    def _flush(self) -> None:
        while self._unsent and not self.closed:
            part = self._unsent[0]
            try:
                n = self.sock.send(part)
            except BlockingIOError:
                return
            except OSError:
                # The receiving side notices the end and closes.
                self._unsent.clear()
                self._n_unsent = 0
                return
            self._n_unsent -= n
            if n == len(part):
                self._unsent.popleft()
            else:
                self._unsent[0] = part[n:]


class Server:
    """Serves a file to this user's other processes.

    Args:
        file: the open file.
        maintenance: operations by name that get the file and the request's header (snapshot, import, check,
            prune).
    """

    def __init__(self, file: LocalFile, maintenance: Mapping[str, Callable[..., Any]]) -> None:
        self._file = file
        self._maintenance = maintenance
        self._selector = selectors.DefaultSelector()
        self._connections: set[Connection] = set()
        # Clients for whom bytes wait that didn't fit into the socket.
        self._unsent: deque[Connection] = deque()
        self._stopping = False
        self._pid = os.getpid()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="geko-read")
        self._wake_out, self._wake_in = socket.socketpair()
        for sock in (self._wake_in, self._wake_out):
            sock.setblocking(False)
        self.record: OwnerRecord = this_process()
        self.path: Path | None = None
        self._listener = self._listen()
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        if self._listener is not None:
            self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._loop, name="geko-socket", daemon=True)
        self._thread.start()

    def _listen(self) -> socket.socket | None:
        """Bind the first place that works; the holder of the file's lock may replace an old socket."""
        for path in socket_paths(self._file.path):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                if path.parent != self._file.path.parent:
                    make_private_folder(path.parent)
                temporary = path.with_suffix(f".{os.getpid()}")
                temporary.unlink(missing_ok=True)
                listener.bind(str(temporary))
                temporary.chmod(0o600)
                listener.listen(128)
                listener.setblocking(False)
                write_record(path, self.record)
                temporary.replace(path)
            except OSError as exc:
                listener.close()
                logger.debug("can't listen at %s: %s", path, exc)
                continue
            self.path = path
            return listener
        logger.warning(
            "no other process can use %s while this one runs: no place for a socket", self._file.path
        )
        return None

    def announce(self, run: str | None) -> None:
        """Say in the owner's record what is going on."""
        self.record = this_process(run)
        if self.path is not None:
            with contextlib.suppress(OSError):
                write_record(self.path, self.record)

    def stop(self) -> None:
        """Stop listening, let the writer finish, say goodbye to the clients."""
        self._stopping = True
        if self.path is not None:
            # First: a client that comes now waits for the lock instead of for an answer.
            for path in (self.path, record_path(self.path)):
                path.unlink(missing_ok=True)
        self._file.writer.stop()
        self._wake()
        self._thread.join()
        self._readers.shutdown(wait=True, cancel_futures=True)

    def abandon(self) -> None:
        """Close the sockets in a forked child, which must not answer for its parent."""
        for sock in (self._listener, self._wake_in, self._wake_out):
            if sock is not None:
                sock.close()
        for connection in self._connections:
            connection.sock.close()

    # The thread that moves bytes
    # ------------------------------------------------------------------------------

    def _wake(self, unsent: Connection | None = None) -> None:
        if unsent is not None:
            self._unsent.append(unsent)
        with contextlib.suppress(OSError):
            self._wake_in.send(b"x")

    def _loop(self) -> None:
        while not self._stopping:
            for key, events in self._selector.select(timeout=0.5):
                if key.fileobj is self._wake_out:
                    with contextlib.suppress(BlockingIOError):
                        self._wake_out.recv(4096)
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    self._serve(key.data, events)
            self._watch_unsent()
            self._file.interrupt_stopped()
        self._finish()

    def _finish(self) -> None:
        for connection in list(self._connections):
            if connection.query is not None:
                # Rows of a query, which may have no end: their thread would hold the connection for as long as nobody reads.
                connection.closed = True
            else:
                # Answers of the last transaction still go out.
                connection.sock.setblocking(True)
                connection.sock.settimeout(1.0)
                with contextlib.suppress(OSError):
                    connection.flush()
            connection.close()
        self._connections.clear()
        self._selector.close()
        for sock in (self._listener, self._wake_in, self._wake_out):
            if sock is not None:
                sock.close()

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        pid, uid = _peer(sock)
        if uid not in (os.getuid(), 0):
            sock.close()
            return
        sock.setblocking(False)
        connection = Connection(sock, self._wake)
        connection.pid = pid
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _watch_unsent(self) -> None:
        while self._unsent:
            connection = self._unsent.popleft()
            if connection in self._connections:
                self._selector.modify(
                    connection.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, connection
                )

    def _serve(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE and not connection.flush():
            self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        if not events & selectors.EVENT_READ:
            return
        try:
            frames = connection.receive()
        except WarehouseError as exc:
            logger.debug("a client is dropped: %s", exc)
            frames = None
        if frames is None:
            self._selector.unregister(connection.sock)
            self._connections.discard(connection)
            connection.close()
            if connection.is_runner:
                # It may have been killed with jobs in hand.
                self._file.writer.look_soon()
            return
        for payload, header_length in frames:
            self._dispatch(connection, payload, header_length)

    def _dispatch(self, connection: Connection, payload: bytearray, header_length: int) -> None:
        try:
            header, tables = wire.decode(payload, header_length)
            op = header["op"]
            if op in OPERATIONS:
                connection.is_runner = True
                arguments = {**header["payload"], **tables, "pid": connection.pid}
                self._write(connection, op, arguments, lambda result: ({"result": result}, None))
            elif op == "apply":
                self._write(connection, op, _steps(header["steps"], tables), _numbered_tables)
            elif op == "sql":
                threading.Thread(target=self._stream, args=(connection, header), daemon=True).start()
            else:
                self._readers.submit(self._read, connection, header, tables)
        except Exception as exc:
            _send_error(connection, exc)

    def _write(
        self,
        connection: Connection,
        op: str,
        payload: Any,
        shape: Callable[[Any], tuple[dict[str, Any], dict[str, pa.Table] | None]],
    ) -> None:
        def answer(result: Any, error: BaseException | None) -> None:
            if error is not None:
                _send_error(connection, error)
                return
            header, tables = shape(result)
            connection.send(wire.encode(header, tables))

        self._file.writer.submit(Request(op, payload, answer))

    # Threads that read
    # ----------------------------------------------------------------------------------------

    def _read(self, connection: Connection, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        try:
            op = header["op"]
            if op == "query":
                table = self._file.query(header["name"], tables, header["params"])
                connection.send(wire.encode({}, {"rows": table}))
            elif op == "hello":
                connection.send(wire.encode({"version": wire.VERSION, "pid": os.getpid()}))
            elif op == "sql_write":
                raise WarehouseBusyError(
                    f"--write needs the file for itself, but {self.record} has it open: wait, or stop it",
                    pid=os.getpid(),
                )
            elif op in self._maintenance:
                result = self._maintenance[op](self._file, **header["params"])
                connection.send(wire.encode({"result": result}))
            else:
                raise WarehouseError(
                    f"the owner of the warehouse knows no {op!r}: it runs another version of GEKO"
                )
        except Exception as exc:
            _send_error(connection, exc)

    def _stream(self, connection: Connection, header: dict[str, Any]) -> None:
        try:
            self._file.share_threads(True)
            query = self._file.user_query(header["text"])
            connection.query = query
            if connection.closed:
                query.stop()
            batches = query.batches()
            connection.send(wire.encode({"more": True}, {"rows": query.schema.empty_table()}))
            for batch in batches:
                if not connection.wait_for_client():
                    query.stop()
                    return
                connection.send(wire.encode({"more": True}, {"rows": pa.Table.from_batches([batch])}))
            connection.send(wire.encode({"more": False}))
        except Exception as exc:
            _send_error(connection, exc)
        finally:
            connection.query = None


def _send_error(connection: Connection, exc: BaseException) -> None:
    error = wire.error_to_json(exc)
    error["again"] = type(exc).__name__ == "Closing"
    connection.send(wire.encode({"error": error}))


def _steps(described: Sequence[Mapping[str, Any]], tables: Mapping[str, pa.Table]) -> list[Step]:
    steps: list[Step] = []
    for at, item in enumerate(described):
        own = {name.partition("/")[2]: table for name, table in tables.items() if name.startswith(f"{at}/")}
        if "table" in item:
            steps.append(Append(item["table"], own["rows"]))
        else:
            steps.append(Statement(item["name"], item["params"], own))
    return steps


def _numbered_tables(results: Sequence[pa.Table]) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    return {}, {str(at): table for at, table in enumerate(results)}


def _peer(sock: socket.socket) -> tuple[int | None, int]:
    """Process and user at the other end; the socket's mode already keeps other users out."""
    try:
        found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except (OSError, AttributeError):
        return None, os.getuid()
    pid, uid, _ = struct.unpack("3i", found)
    return pid or None, uid
