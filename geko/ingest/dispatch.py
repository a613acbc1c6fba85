"""Ingest of files: recognise, skip what is known, parse, store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from geko.domain.identity import canonical_json
from geko.errors import InputError
from geko.fsio import require_file
from geko.ingest.formats import Format, Parsed, PartFormat, load, recognise
from geko.ingest.hashing import content_sha256
from geko.ingest.store import SourceFile, has_calls, put_file, put_identities, workload_steps
from geko.warehouse import Statement

if TYPE_CHECKING:
    from geko.warehouse import Scratch, Step, Warehouse

_HEAD = 64 << 10
_LONG_HEAD = 4 << 20
#: Larger files are stored in parts, by formats that can.
_PARTS_ABOVE = 64 << 20

_ROWS_VERSION = 1

State = Literal["new", "known", "refused"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file.

    Attributes:
        path: as given.
        state: ``new``; ``known`` (its content was ingested before, only its workload is new); ``refused``.
        kind: name of the format; None if none fits.
        file_id: id of the file; None if refused.
        sha256: hash of its content.
        n_lines: lines of the file; None for binary formats.
        n_rows: rows that were understood.
        n_rejects: lines that were not.
        workload: the workload it is part of now; None if it holds no calls.
        message: why it was refused, in one sentence; empty otherwise.
    """

    path: Path
    state: State
    kind: str | None = None
    file_id: str | None = None
    sha256: str | None = None
    n_lines: int | None = None
    n_rows: int = 0
    n_rejects: int = 0
    workload: str | None = None
    message: str = ""


def ingest(
    warehouse: Warehouse,
    paths: Iterable[str | Path],
    *,
    kind: str = "auto",
    workload: str | None = None,
    applied: bool = False,
    progress: Callable[[FileReport], None] | None = None,
) -> list[FileReport]:
    """Read files into the warehouse.

    A file is known by its content: reading it again changes nothing, but makes it part of ``workload``.

    Args:
        warehouse: where to.
        paths: files, any mixture of formats.
        kind: name of a format; ``"auto"`` recognises each file by its content.
        workload: name of the workload that the files with calls become part of; None gives each its own,
            named after the file without its last suffix.
        applied: the files only prove what an application used: they become part of no workload, and the GPU in them is
            no reason to look at a workload's times there. A file that was ingested before stays what it is.
        progress: called with each report as it is made.

    Returns:
        One report per file, in the order given.

    Raises:
        MissingFileError: a path is no file; nothing is read then.
        InputError: a folder, a pipe, or a file that may not be read; nothing is read then.
        UsageError: an unknown ``kind``.
    """
    files = [Path(path) for path in paths]
    for path in files:
        require_file(path)
    forced = None if kind == "auto" else load(kind)
    formats = [forced or recognised(path) for path in files]
    reports: list[FileReport] = []
    with _LazyScratch() as scratch:
        if _surely_new(warehouse, files):
            scratch.warm()
        sources = _sources(files, formats)
        known = _known(warehouse, [source for source in sources if source is not None])
        for path, form, source in zip(files, formats, sources, strict=True):
            name = workload if workload is not None else path.stem or path.name
            if form is None or source is None:
                report = FileReport(path, "refused", message=_no_format(path))
            elif source.file_id in known:
                report = _link_known(warehouse, source, known[source.file_id], None if applied else name)
            else:
                report = _read(warehouse, scratch, form, source, None if applied else name)
                if report.state == "new":
                    known[source.file_id] = {
                        "n_lines": report.n_lines,
                        "n_rows": report.n_rows,
                        "n_rejects": report.n_rejects,
                        "has_calls": report.workload is not None,
                        "is_applied": applied,
                    }
            reports.append(report)
            if progress is not None:
                progress(report)
    return reports


def ingest_rows(
    warehouse: Warehouse, rows: Sequence[Mapping[str, Any]], *, origin: str, workload: str
) -> FileReport:
    """Take rows that come from no file (``--inline``, the Python API) into the warehouse.

    They are known by their content like a file.

    Args:
        warehouse: where to.
        rows: fields in the terms of hipBLASLt's logs, as :func:`geko.ingest.inline.inline_rows` makes them.
        origin: where they come from; stands in column ``path``.
        workload: name of the workload.

    Raises:
        InputError: a row is no GEMM; nothing is stored then.
    """
    text = "".join(canonical_json(dict(row)) + "\n" for row in rows)
    digest = hashlib.sha256(text.encode()).hexdigest()
    source = SourceFile(Path(origin), digest, len(text.encode()), "rows", _ROWS_VERSION)
    known = _known(warehouse, [source])
    if source.file_id in known:
        return _link_known(warehouse, source, known[source.file_id], workload)
    from geko.ingest.row_tables import parsed_rows

    with _LazyScratch() as scratch:
        numbers = range(1, len(rows) + 1)
        parsed = parsed_rows(rows, text.splitlines(), numbers, scratch.get(), n_lines=len(rows))
    if parsed.rejects is not None:
        first = parsed.rejects.slice(0, 1).to_pylist()[0]
        raise InputError(first["reason"], path=origin, line=first["line"], value=first["text"])
    put_file(warehouse, source, parsed, workload)
    return _report_new(source, parsed, workload)


class _LazyScratch:
    """Makes the scratch database when something is really parsed."""

    def __init__(self) -> None:
        self._scratch: Scratch | None = None
        self._making: Thread | None = None

    def __enter__(self) -> _LazyScratch:
        return self

    def warm(self) -> None:
        """Begin to make it, and to load what parsers need, while files are being hashed."""
        self._making = Thread(target=self._make, name="geko-ingest-warm")
        self._making.start()

    def _make(self) -> None:
        import polars  # noqa: F401 - the parsers need it

        import geko.ingest.problem_columns  # noqa: F401
        from geko.warehouse import Scratch

        self._scratch = Scratch(schema=False)

    def get(self) -> Scratch:
        """The database; made when first asked for."""
        if self._making is not None:
            self._making.join()
            self._making = None
        if self._scratch is None:
            self._make()
        assert self._scratch is not None
        return self._scratch

    def __exit__(self, *exc: object) -> None:
        if self._making is not None:
            self._making.join()
        if self._scratch is not None:
            self._scratch.close()


class _PutBehind:
    """Stores a part while the next one is being parsed; at most one waits, so that memory stays bounded."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._pool = ThreadPoolExecutor(1)
        self._running: Future[None] | None = None

    def __call__(self, tables: Mapping[str, pa.Table]) -> None:
        self._wait()
        self._running = self._pool.submit(put_identities, self._warehouse, tables)

    def _wait(self) -> None:
        if self._running is not None:
            self._running.result()
            self._running = None

    def __enter__(self) -> _PutBehind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._wait()
        finally:
            self._pool.shutdown()


def recognised(path: Path) -> Format | None:
    """The format of a file by its beginning; None where no reader knows it."""
    with path.open("rb") as handle:
        head = handle.read(_HEAD)
        form = recognise(head, path)
        if form is None and len(head) == _HEAD:
            form = recognise(head + handle.read(_LONG_HEAD - _HEAD), path)
    return form


def _surely_new(warehouse: Warehouse, files: Sequence[Path]) -> bool:
    """Whether there is a large file of a size that no known file has."""
    sizes = [size for path in files if (size := path.stat().st_size) > _PARTS_ABOVE]
    if not sizes:
        return False
    wanted = pa.table({"n_bytes": pa.array(sizes, pa.int64())})
    found = warehouse.query("ingest/known_sizes", {"wanted": wanted})["n_bytes"].to_pylist()
    return not set(sizes) <= set(found)


def _no_format(path: Path) -> str:
    if path.stat().st_size == 0:
        return "it is empty"
    with path.open("rb") as handle:
        head = handle.read(_HEAD)
    if not head.strip():
        return "it holds nothing but white space"
    for start, what in _OTHER_FILES.items():
        if head.startswith(start):
            return f"it is {what.format(path=path)}"
    if head[8:12] == b"DUCK":
        return f"it is a DuckDB file: if it is a warehouse, use geko db import {path}"
    kind = "a binary file" if b"\0" in head else "a file"
    return (
        f"it is {kind} of no format that GEKO reads: see docs/ingest.md for the list, "
        "or name one with `geko ingest --kind`"
    )


#: First bytes of files that people take for a log -> what they are and what to do.
_OTHER_FILES = {
    b"\x1f\x8b": "compressed with gzip: unpack it first (gunzip -k {path})",
    b"\xfd7zXZ": "compressed with xz: unpack it first (unxz -k {path})",
    b"BZh": "compressed with bzip2: unpack it first (bunzip2 -k {path})",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first (unzstd {path})",
    b"PK\x03\x04": "a zip archive: unpack it first (unzip {path})",
    b"\xff\xfe": "UTF-16 text: convert it first (iconv -f UTF-16 -t UTF-8 {path} > FILE)",
    b"\xfe\xff": "UTF-16 text: convert it first (iconv -f UTF-16 -t UTF-8 {path} > FILE)",
}


def _sources(files: Sequence[Path], formats: Sequence[Format | None]) -> list[SourceFile | None]:
    """Hash the files; large ones use all cores, small ones are hashed side by side."""
    wanted = [path for path, form in zip(files, formats, strict=True) if form is not None]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        hashes = dict(zip(wanted, pool.map(content_sha256, wanted), strict=True))
    return [
        None if form is None else SourceFile(path, hashes[path], path.stat().st_size, form.kind, form.version)
        for path, form in zip(files, formats, strict=True)
    ]


def _known(warehouse: Warehouse, sources: Sequence[SourceFile]) -> dict[str, dict[str, object]]:
    if not sources:
        return {}
    wanted = pa.table({"file_id": pa.array([source.file_id for source in sources], pa.string())})
    rows = warehouse.query("ingest/known_files", {"wanted": wanted}).to_pylist()
    return {str(row.pop("file_id")): row for row in rows}


def _link_known(
    warehouse: Warehouse, source: SourceFile, row: dict[str, object], workload: str | None
) -> FileReport:
    steps: list[Step] = []
    if workload is not None and row["is_applied"]:
        steps.append(Statement("ingest/clear_applied", {"file_id": source.file_id}))
    if workload is not None and row["has_calls"]:
        steps += workload_steps(warehouse, workload, source.file_id)
    if steps:
        warehouse.apply(*steps, repeatable=True)
    return FileReport(
        source.path,
        "known",
        source.kind,
        source.file_id,
        source.sha256,
        row["n_lines"],  # type: ignore[arg-type]
        row["n_rows"],  # type: ignore[arg-type]
        row["n_rejects"],  # type: ignore[arg-type]
        workload if row["has_calls"] else None,
    )


def _read(
    warehouse: Warehouse, scratch: _LazyScratch, form: Format, source: SourceFile, workload: str | None
) -> FileReport:
    try:
        if source.n_bytes > _PARTS_ABOVE and isinstance(form, PartFormat):
            with _PutBehind(warehouse) as put:
                parsed = form.parse_in_parts(source.path, scratch.get(), put)
        else:
            parsed = form.parse(source.path, scratch.get())
    except InputError as error:
        return FileReport(source.path, "refused", form.kind, sha256=source.sha256, message=str(error))
    put_file(warehouse, source, parsed, workload)
    return _report_new(source, parsed, workload)


def _report_new(source: SourceFile, parsed: Parsed, workload: str | None) -> FileReport:
    n_rejects = 0 if parsed.rejects is None else sum(parsed.rejects["n_lines"].to_pylist())
    return FileReport(
        source.path,
        "new",
        source.kind,
        source.file_id,
        source.sha256,
        parsed.n_lines,
        parsed.n_rows,
        n_rejects,
        workload if has_calls(parsed) else None,
    )
