"""From a source of problems to a workload in the warehouse."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geko.domain.identity import content_id
from geko.errors import InputError, UsageError
from geko.log import logger

if TYPE_CHECKING:
    from geko.runs.options import Source
    from geko.warehouse import Warehouse


_GENERATOR_KEY = re.compile(r"^(?:- )?\s*(?:TRANSA|DataType|SIZE_OPTION|GemmProblems|Sizes)\s*:")
_OTHER_OPTION = re.compile(r"^(?:- )?\s*SIZE_OPTION\s*:\s*['\"]?[12]\b", re.MULTILINE)
_ARCH_KEY = re.compile(r"^(?:- )?\s*ARCH\s*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoadedWorkload:
    """A workload that a run can stand on.

    Attributes:
        workload_id: row of table ``workload``.
        name: its name.
        stem: name for files that are made from it.
        digest: hash of its problems and counts; files and order don't matter.
        n_problems: distinct problems.
        n_calls: calls in total.
        input_path: the file it came from, where there is one.
        input_sha256: hash of what was ingested.
    """

    workload_id: str
    name: str
    stem: str
    digest: str
    n_problems: int
    n_calls: int
    input_path: Path | None
    input_sha256: str | None


def load_source(warehouse: Warehouse, source: Source, arch: str | None = None) -> LoadedWorkload:
    """Ingest what a source names, if it isn't known yet, and look at the workload that it makes.

    Args:
        warehouse: where to.
        source: log files, a list, words of one GEMM, or the name of a workload.
        arch: target for MX formats of lists and inline GEMMs.

    Raises:
        InputError: a file can't be read as a workload, or holds no usable GEMM.
        UsageError: the named workload doesn't exist.
    """
    if source.kind == "list":
        require_list(source.paths[0])
    if source.kind == "list" and (made := _generated_sizes(warehouse, source.paths[0], arch)) is not None:
        return made
    if source.kind == "workload":
        name, first = str(source.name), None
        stem = re.sub(r"[^\w.@+-]+", "_", name).lstrip(".") or "workload"
    elif source.kind == "inline":
        name, stem, first = _load_inline(warehouse, source.words, arch), "synthetic_workload", None
    else:
        name, stem, first = _load_files(warehouse, source)
    workload = known_workload(warehouse, content_id("workload", name), name, stem, first)
    if not workload.n_problems:
        if source.kind == "workload":
            known = ", ".join(warehouse.query("run/workload_names")["name"].to_pylist()) or "none"
            raise UsageError(f"there is no workload {name!r} in {warehouse.path}; known: {known}")
        raise InputError("no GEMM was found in it", path=first or name)
    return workload


def known_workload(
    warehouse: Warehouse, workload_id: str, name: str, stem: str, input_path: Path | None
) -> LoadedWorkload:
    """A workload of the warehouse; one that isn't there has no problems.

    Args:
        warehouse: where it is.
        workload_id: row of table ``workload``.
        name: its name.
        stem: name for files that are made from it.
        input_path: the file it came from.
    """
    row = warehouse.query("run/workload_digest", workload_id=workload_id).to_pylist()[0]
    return LoadedWorkload(
        workload_id,
        name,
        stem,
        row["digest"],
        row["n_problems"],
        row["n_calls"],
        input_path,
        row["input_sha256"],
    )


def require_list(path: Path) -> None:
    """Refuse a ``--list`` file that holds no GEMMs in any form, with what is wrong with it.

    Raises:
        MissingFileError: no such file.
        InputError: nothing in it can be read.
    """
    from geko.fsio import require_file
    from geko.ingest.dispatch import recognised
    from geko.ingest.gemm_list import why_no_list

    require_file(path)
    if recognised(path) is None:
        raise InputError(why_no_list(path), path=path)


def is_generator_file(path: Path) -> bool:
    """Whether a list file is a YAML of the config generator (mappings), no list of tuples."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(_GENERATOR_KEY.match(line) for line in lines)


def names_arch(path: Path) -> bool:
    """Whether a generator file names the architecture that it is for."""
    return _ARCH_KEY.search(path.read_text(encoding="utf-8", errors="replace")) is not None


def _generated_sizes(warehouse: Warehouse, path: Path, arch: str | None) -> LoadedWorkload | None:
    """The workload of a generator file whose sizes are a grid or come from a log; None for a plain list."""
    if not is_generator_file(path) or not _OTHER_OPTION.search(
        path.read_text(encoding="utf-8", errors="replace")
    ):
        return None
    from geko.config_generator.load_input_config import load_requests
    from geko.runs.tune_requests import generator_workload

    # Where the file names no architecture, the grid is that of the one that is imitated or asked for.
    return generator_workload(warehouse, path, load_requests(path, arch=None if names_arch(path) else arch))


def _load_inline(warehouse: Warehouse, words: tuple[str, ...], arch: str | None) -> str:
    from geko.ingest.dispatch import ingest_rows
    from geko.ingest.inline import inline_rows

    name = f"inline {' '.join(words)}"
    ingest_rows(warehouse, inline_rows(words, arch), origin=name, workload=name)
    return name


def _load_files(warehouse: Warehouse, source: Source) -> tuple[str, str, Path]:
    from geko.fsio import require_file
    from geko.ingest.dispatch import ingest
    from geko.ingest.hashing import content_sha256

    first = source.paths[0]
    for path in source.paths:
        require_file(path)
    hashes = sorted(content_sha256(path) for path in source.paths)
    digest = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    # The content is part of the name: another log under the same file name is another workload.
    name = source.name or f"{first.stem}@{digest[:8]}"
    for report in ingest(warehouse, source.paths, workload=name):
        if report.state == "refused":
            raise InputError(report.message, path=report.path)
        if report.workload is None:
            raise InputError(f"it holds no workload but {report.kind}", path=report.path)
        if report.n_rejects:
            logger.warning(
                "%s: %d line(s) could not be read; see table ingest_reject", report.path, report.n_rejects
            )
    return name, first.stem, first
