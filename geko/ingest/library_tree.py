"""Folders of Tensile library logic into the warehouse: each file a library, each folder a library of these.

A file is known by its content, so a folder that was read before costs no more than the hashes of its files, and of a
changed folder only the changed files are read.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geko.domain.identity import canonical_json, content_id
from geko.errors import InputError
from geko.fsio import require_file
from geko.ingest.dispatch import FileReport, State, ingest
from geko.ingest.formats import TABLES, Parsed
from geko.ingest.hashing import content_sha256
from geko.ingest.library_files import FORMAT, distinct_solutions
from geko.ingest.library_worker import parse_files
from geko.ingest.store import SourceFile
from geko.library.crew import cores
from geko.log import logger
from geko.warehouse import Statement, Step

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

_HEAD = 64 << 10
_SUFFIXES = frozenset((".yaml", ".yml"))
# So much is stored in one transaction.
_BATCH_BYTES = 32 << 20
_BATCH_FILES = 400
_TELL_S = 2.0


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What became of one folder.

    Attributes:
        path: as given.
        library_id: of the library that the folder is; None when it holds no logic.
        state: ``new`` or ``known`` (the same files were read before); ``refused`` without any logic.
        n_files: logic files in it.
        n_new: of those, files that had not been read before.
        n_refused: files in it that could not be read; the library is without them.
    """

    path: Path
    library_id: str | None
    state: str
    n_files: int = 0
    n_new: int = 0
    n_refused: int = 0


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What became of everything that was given.

    Attributes:
        files: a report per file, folder by folder, each sorted by its path.
        folders: a report per folder, in the order given.
    """

    files: list[FileReport]
    folders: list[FolderReport]

    @property
    def refused(self) -> list[FileReport]:
        """Files that could not be read."""
        return [report for report in self.files if report.state == "refused"]

    def rows(self) -> list[dict[str, Any]]:
        """The folders, files that were given by themselves, and all refused files, as rows to print."""
        inside = {
            report.path
            for folder in self.folders
            for report in self.files
            if folder.path in report.path.parents
        }
        rows = [
            {
                "path": str(folder.path), "state": folder.state, "files": folder.n_files, "new": folder.n_new,
                "refused": folder.n_refused, "library": folder.library_id, "message": "",
            }
            for folder in self.folders
        ]  # fmt: skip
        for report in self.files:
            refused = report.state == "refused"
            if report.path in inside and not refused:
                continue
            logic = report.kind == FORMAT.kind and report.sha256 is not None and not refused
            rows.append(
                {
                    "path": str(report.path), "state": report.state, "files": 1, "new": int(report.state == "new"),
                    "refused": int(refused),
                    "library": content_id("library", str(report.sha256)) if logic else None,
                    "message": report.message,
                }
            )  # fmt: skip
        return rows


def ingest_libraries(
    warehouse: Warehouse,
    paths: Iterable[str | Path],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TreeReport:
    """Read library logic: folders with all files below them, or single files.

    Every logic file is a library of its own, known by its content; a folder is a library whose members they are
    (``library_member``). ``MatchTable.yaml`` becomes the index table of its build. The result depends on neither the
    number of processes nor the order in which files are found.

    Args:
        warehouse: where to.
        paths: folders or files.
        workers: processes that read; None sizes them to cores and work, 0 reads in this process.
        progress: called with the bytes read so far and in all.

    Raises:
        MissingFileError: a path is not there; nothing is read then.
        InputError: a folder holds no YAML file.
        ToolError: a reading process ended in the middle of its work; what was stored stays, the same command goes on.
    """
    roots = [Path(path) for path in paths]
    found = {root: _files_of(root) for root in roots}
    everything = sorted({path for files in found.values() for path in files})
    logic = [path for path in everything if _is_logic(path)]
    others = sorted(set(everything) - set(logic))
    reports = {report.path: report for report in ingest(warehouse, others)} if others else {}
    reports |= _ingest_logic(warehouse, logic, workers, progress)
    files: dict[Path, FileReport] = {}
    for root in roots:
        files |= {path: reports[path] for path in found[root]}
    folders = [_put_folder(warehouse, root, found[root], reports) for root in roots if root.is_dir()]
    return TreeReport(list(files.values()), folders)


def _files_of(root: Path) -> list[Path]:
    if not root.is_dir():
        require_file(root)
        return [root]
    files = [path for path in root.rglob("*") if path.suffix.lower() in _SUFFIXES and path.is_file()]
    for path in files:
        require_file(path)
    if not files:
        raise InputError("no YAML file below this folder: is it a folder of library logic?", path=root)
    return sorted(files)


def _is_logic(path: Path) -> bool:
    with path.open("rb") as handle:
        return FORMAT.sniff(handle.read(_HEAD), path) > 0


def _ingest_logic(
    warehouse: Warehouse,
    paths: Sequence[Path],
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> dict[Path, FileReport]:
    with ThreadPoolExecutor(min(8, cores())) as pool:
        hashes = list(pool.map(content_sha256, paths))
    sources = [
        SourceFile(path, digest, path.stat().st_size, FORMAT.kind, FORMAT.version)
        for path, digest in zip(paths, hashes, strict=True)
    ]
    wanted = pa.table({"file_id": pa.array([source.file_id for source in sources], pa.string())})
    rows = warehouse.query("ingest/known_files", {"wanted": wanted}).to_pylist()
    known = {str(row["file_id"]): row for row in rows}
    # Of files with the same content the first is read.
    fresh: dict[str, SourceFile] = {}
    for source in sources:
        if source.file_id not in known:
            fresh.setdefault(source.file_id, source)
    states = _read(warehouse, list(fresh.values()), workers, progress)
    reports = {}
    for source in sources:
        row = known.get(source.file_id)
        if row is not None:
            report = _report(source, "known", row["n_rows"], row["n_rejects"])
        else:
            answer = states[source.file_id]
            if isinstance(answer, str):
                report = FileReport(source.path, "refused", source.kind, sha256=source.sha256, message=answer)
            else:
                report = _report(source, "new" if fresh[source.file_id] is source else "known", *answer)
        reports[source.path] = report
    return reports


def _report(source: SourceFile, state: State, n_rows: int, n_rejects: int) -> FileReport:
    return FileReport(
        source.path, state, source.kind, source.file_id, source.sha256, n_rows=n_rows, n_rejects=n_rejects
    )


def _read(
    warehouse: Warehouse,
    sources: Sequence[SourceFile],
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> dict[str, tuple[int, int] | str]:
    """Rows and rejects of each file, or why it is refused; what was understood is stored in batches."""
    states: dict[str, tuple[int, int] | str] = {}
    total = sum(source.n_bytes for source in sources)
    done = 0
    batch: list[tuple[SourceFile, Parsed]] = []
    batch_bytes = 0
    start = told = time.monotonic()
    answers = parse_files(
        [(source.path, source.sha256) for source in sources], [source.n_bytes for source in sources], workers
    )
    for source, answer in zip(sources, answers, strict=True):
        done += source.n_bytes
        if isinstance(answer, str):
            states[source.file_id] = answer
        else:
            n_rejects = 0 if answer.rejects is None else answer.rejects.num_rows
            states[source.file_id] = (answer.n_rows, n_rejects)
            batch.append((source, answer))
            batch_bytes += source.n_bytes
            if batch_bytes >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                _store(warehouse, batch)
                batch, batch_bytes = [], 0
        if progress is not None:
            progress(done, total)
        now = time.monotonic()
        if now - told >= _TELL_S:
            told = now
            left = (now - start) * (total - done) / done if done else 0
            logger.info(
                "library logic: %d of %d files, %.0f of %.0f MB, about %.0f s left",
                len(states),
                len(sources),
                done / 1e6,
                total / 1e6,
                left,
            )
    _store(warehouse, batch)
    return states


def _store(warehouse: Warehouse, batch: Sequence[tuple[SourceFile, Parsed]]) -> None:
    if not batch:
        return
    files = pa.Table.from_pylist(
        [
            {
                "file_id": source.file_id,
                "sha256": source.sha256,
                "kind": source.kind,
                "parser_version": source.version,
                "path": str(source.path),
                "n_bytes": source.n_bytes,
                "n_rows": parsed.n_rows,
                "n_rejects": 0 if parsed.rejects is None else parsed.rejects.num_rows,
                "detail": canonical_json(dict(parsed.detail)),
            }
            for source, parsed in batch
        ]
    )
    now = warehouse.now()
    steps: list[Step] = [
        Statement(f"library/supersede_{name}", {}, {"rows": files}) for name in ("rejects", "files")
    ]
    for name in TABLES:
        parts = [parsed.tables[name] for _, parsed in batch if name in parsed.tables]
        if not parts:
            continue
        rows = pa.concat_tables(parts)
        if name == "solution":
            rows = distinct_solutions(rows)
        params = {"now": now} if name == "library" else {}
        steps.append(Statement(f"ingest/put_{name}", params, {"rows": rows}))
    rejects = [
        parsed.rejects.append_column(
            "file_id", pa.array([source.file_id] * parsed.rejects.num_rows, pa.string())
        )
        for source, parsed in batch
        if parsed.rejects is not None
    ]
    if rejects:
        steps.append(Statement("library/put_rejects", {}, {"rows": pa.concat_tables(rejects)}))
    steps.append(Statement("library/put_files", {"now": now}, {"rows": files}))
    warehouse.apply(*steps, repeatable=True)


def _put_folder(
    warehouse: Warehouse, root: Path, files: Sequence[Path], reports: dict[Path, FileReport]
) -> FolderReport:
    members = [
        (path, reports[path])
        for path in files
        if reports[path].kind == FORMAT.kind and reports[path].state != "refused"
    ]
    refused = [path for path in files if reports[path].state == "refused"]
    if not members:
        return FolderReport(root, None, "refused", n_refused=len(refused))
    digests = sorted(str(report.sha256) for _, report in members)
    digest = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    library_id = content_id("library", digest)
    rows = pa.table(
        {
            "library_id": pa.array([library_id] * len(members), pa.string()),
            "member_id": pa.array(
                [content_id("library", str(report.sha256)) for _, report in members], pa.string()
            ),
            "path": pa.array([path.relative_to(root).as_posix() for path, _ in members], pa.string()),
        }
    )
    known = warehouse.query("library/known_folder", library_id=library_id)["known"][0].as_py()
    detail = {"refused": [path.relative_to(root).as_posix() for path in refused]} if refused else {}
    params = {
        "library_id": library_id,
        "name": root.resolve().name,
        "digest": digest,
        "path": str(root.absolute()),
        "detail": canonical_json(detail),
        "now": warehouse.now(),
    }
    warehouse.apply(
        Statement("library/put_folder", params, {"members": rows}),
        Statement("ingest/put_library_member", {}, {"rows": rows}),
        repeatable=True,
    )
    return FolderReport(
        root,
        library_id,
        "known" if known else "new",
        n_files=len(members),
        n_new=sum(report.state == "new" for _, report in members),
        n_refused=len(refused),
    )
