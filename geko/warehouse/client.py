"""The file in another process: requests over the owner's socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from geko.errors import WarehouseError
from geko.warehouse import wire
from geko.warehouse.place import socket_paths
from geko.warehouse.steps import Append, Statement, Step

_HELLO_S = 10.0


class ConnectionLost(Exception):
    """The owner is gone.

    Attributes:
        sent: the whole request had been sent, so that it may have been executed.
    """

    def __init__(self, sent: bool) -> None:
        self.sent = sent
        super().__init__("the owner of the warehouse is gone")


class RemoteFile:
    """A database file that another process owns. Each call has its own socket; threads don't wait."""

    def __init__(self, path: Path, place: Path, first: socket.socket) -> None:
        self.path = path
        self._place = place
        self._idle: list[socket.socket] = [first]
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def connect(cls, path: Path) -> RemoteFile | None:
        """Connect to the owner of a file; None if nobody listens.

        Args:
            path: real path of the file.

        Raises:
            TimeoutError: if the owner accepts but doesn't answer.
        """
        for place in socket_paths(path):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(_HELLO_S)
            try:
                sock.connect(str(place))
                sock.sendall(b"".join(wire.encode({"op": "hello"})))
                header, _ = _receive(sock)
            except TimeoutError:
                sock.close()
                raise
            except (OSError, ConnectionLost):
                sock.close()
                continue
            if header.get("version") != wire.VERSION:
                sock.close()
                raise WarehouseError("the process that owns the warehouse runs another version of GEKO")
            sock.settimeout(None)
            return cls(path, place, sock)
        return None

    def query(self, name: str, inputs: Mapping[str, pa.Table], params: Mapping[str, Any]) -> pa.Table:
        """Run a named statement in a read-only transaction of the owner."""
        _, tables = self._call({"op": "query", "name": name, "params": dict(params)}, inputs)
        return tables["rows"]

    def apply(self, steps: Sequence[Step]) -> list[pa.Table]:
        """Run steps in one transaction of the owner."""
        described: list[dict[str, Any]] = []
        sent: dict[str, pa.Table] = {}
        for at, step in enumerate(steps):
            if isinstance(step, Append):
                described.append({"table": step.table})
                sent[f"{at}/rows"] = step.rows
            elif isinstance(step, Statement):
                described.append({"name": step.name, "params": dict(step.params)})
                sent |= {f"{at}/{name}": table for name, table in step.inputs.items()}
        _, tables = self._call({"op": "apply", "steps": described}, sent)
        return [tables[str(at)] for at in range(len(described))]

    def queue_operation(self, op: str, payload: Mapping[str, Any]) -> Any:
        """Run an operation of the queue."""
        tables = {name: value for name, value in payload.items() if isinstance(value, pa.Table)}
        plain = {name: value for name, value in payload.items() if name not in tables}
        header, _ = self._call({"op": op, "payload": plain}, tables)
        return header["result"]

    def maintenance(self, op: str, params: Mapping[str, Any]) -> Any:
        """Run a snapshot, an import, a check or a prune in the owner."""
        header, _ = self._call({"op": op, "params": dict(params)}, {})
        return header["result"]

    def sql_write(self, text: str) -> pa.RecordBatchReader:
        """Ask for a change, which an owner refuses to make for others."""
        self._call({"op": "sql_write", "text": text}, {})
        raise WarehouseError("the owner of the warehouse allowed a change that it should refuse")

    def sql(self, text: str) -> pa.RecordBatchReader:
        """Run one SELECT or EXPLAIN of the user's in the owner; leaving the iteration interrupts it there."""
        sock = self._take()
        try:
            _send(sock, wire.encode({"op": "sql", "text": text}))
            header, tables = _receive(sock)
            _raise_error(header)
        except BaseException:
            sock.close()
            raise
        schema = tables["rows"].schema
        return pa.RecordBatchReader.from_batches(schema, self._batches(sock))

    def _batches(self, sock: socket.socket) -> Iterator[pa.RecordBatch]:
        try:
            while True:
                try:
                    header, tables = _receive(sock)
                except ConnectionLost as lost:
                    raise WarehouseError(
                        "the process that owns the warehouse ended in mid-query: ask again"
                    ) from lost
                _raise_error(header)
                if not header["more"]:
                    break
                yield from tables["rows"].to_batches()
        except BaseException:
            sock.close()
            raise
        self._give(sock)

    def close(self) -> None:
        """Close the sockets; the owner goes on."""
        with self._lock:
            self._closed = True
            for sock in self._idle:
                sock.close()
            self._idle.clear()

    def _call(
        self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        parts = wire.encode(header, tables)
        sock = self._take()
        try:
            _send(sock, parts)
            answer, answered = _receive(sock)
        except BaseException:
            # An answer that nobody waits for must not reach the next request.
            sock.close()
            raise
        self._give(sock)
        _raise_error(answer)
        return answer, answered

    def _take(self) -> socket.socket:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(str(self._place))
        except OSError as exc:
            sock.close()
            raise ConnectionLost(sent=False) from exc
        return sock

    def _give(self, sock: socket.socket) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(sock)
                return
        sock.close()


def _send(sock: socket.socket, parts: Sequence[bytes | memoryview]) -> None:
    try:
        for part in parts:
            sock.sendall(part)
    except OSError as exc:
        raise ConnectionLost(sent=False) from exc


def _receive(sock: socket.socket) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    header_length, bodies = wire.lengths(_exactly(sock, wire.PREFIX.size))
    return wire.decode(_exactly(sock, header_length + bodies), header_length)


def _exactly(sock: socket.socket, n: int) -> bytearray:
    buffer = bytearray(n)
    view = memoryview(buffer)
    filled = 0
    while filled < n:
        try:
            got = sock.recv_into(view[filled:])
        except TimeoutError:
            raise
        except OSError as exc:
            raise ConnectionLost(sent=True) from exc
        if got == 0:
            raise ConnectionLost(sent=True)
        filled += got
    return buffer


def _raise_error(header: Mapping[str, Any]) -> None:
    error = header.get("error")
    if error is None:
        return
    if error.get("again"):
        raise ConnectionLost(sent=False)
    raise wire.error_from_json(error)
