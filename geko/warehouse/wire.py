"""Messages between the owner of a file and its clients.

A frame is ``GEKO``, the length of the header (4 bytes, big-endian), the length of the bodies (8 bytes), a
JSON header and Arrow IPC streams. ``header["tables"]`` lists name and length of each stream in order. Both
ends run as one user on one machine, and the socket is open to that user only.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from geko import errors
from geko.errors import GekoError, WarehouseBusyError, WarehouseError

PREFIX = struct.Struct("!4sIQ")
MAGIC = b"GEKO"
VERSION = 2
_TIME = "$time"
# Bodies of less than this are copied behind the header and sent with it.
_SMALL = 1 << 16


def encode(
    header: Mapping[str, Any], tables: Mapping[str, pa.Table] | None = None
) -> list[bytes | memoryview]:
    """Bytes of a frame, in parts."""
    bodies: list[pa.Buffer] = []
    names: list[tuple[str, int]] = []
    for name, table in (tables or {}).items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue()
        bodies.append(body)
        names.append((name, body.size))
    text = _ENCODER.encode({**header, "tables": names}).encode()
    # Arrow wants its buffers at multiples of 8 bytes.
    text += b" " * (-len(text) % 64)
    n_bytes = sum(size for _, size in names)
    start = PREFIX.pack(MAGIC, len(text), n_bytes) + text
    if n_bytes < _SMALL:
        return [b"".join([start, *bodies])]
    return [start, *(memoryview(body) for body in bodies)]


def lengths(prefix: bytes | bytearray | memoryview) -> tuple[int, int]:
    """Lengths of header and bodies from the first 16 bytes of a frame.

    Raises:
        WarehouseError: if this is no frame.
    """
    magic, header, bodies = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WarehouseError("what came over the warehouse's socket is no message of GEKO")
    return header, bodies


def decode(
    payload: bytes | bytearray | memoryview, header_length: int
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Header and tables of a frame without its prefix; the tables use the payload's memory."""
    view = memoryview(payload)
    header: dict[str, Any] = _DECODER.decode(str(view[:header_length], "utf-8"))
    tables = {}
    at = header_length
    for name, size in header.pop("tables"):
        with pa.ipc.open_stream(pa.py_buffer(view[at : at + size])) as reader:
            tables[name] = reader.read_all()
        at += size
    return header, tables


def error_to_json(exc: BaseException) -> dict[str, Any]:
    """An error as it travels: class, text and the attributes that callers read."""
    found: dict[str, Any] = {"class": type(exc).__name__, "text": str(exc)}
    for name in ("pid", "path", "line", "value"):
        value = getattr(exc, name, None)
        if value is not None:
            found[name] = value if isinstance(value, int) else str(value)
    if not isinstance(exc, GekoError):
        found["class"], found["text"] = "WarehouseError", f"{type(exc).__name__}: {exc}"
    return found


def error_from_json(found: Mapping[str, Any]) -> GekoError:
    """The error that travelled, as the class it was."""
    kind = getattr(errors, str(found["class"]), WarehouseError)
    if not (isinstance(kind, type) and issubclass(kind, GekoError)):
        kind = WarehouseError
    # Built without the constructor: it would add file and line to the text a second time.
    exc = kind.__new__(kind, found["text"])
    Exception.__init__(exc, found["text"])
    if issubclass(kind, errors.InputError):
        exc.path, exc.line, exc.value = found.get("path"), found.get("line"), found.get("value")  # type: ignore[attr-defined]
    if issubclass(kind, WarehouseBusyError):
        exc.pid = found.get("pid")  # type: ignore[attr-defined]
    return exc


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    if isinstance(value, (date, UUID, Path)):
        return str(value)
    raise TypeError(f"{type(value).__name__} can't be a parameter")


def _from_json(found: dict[str, Any]) -> Any:
    return datetime.fromisoformat(found[_TIME]) if len(found) == 1 and _TIME in found else found


# Made once: json.dumps and json.loads make one for every call with options.
_ENCODER = json.JSONEncoder(default=_to_json, separators=(",", ":"))
_DECODER = json.JSONDecoder(object_hook=_from_json)
