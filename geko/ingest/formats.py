"""The frame of ingest: what a source format is, what its parser returns, and the list of all formats.

A format is known by its content, never by its name. Its parser turns one file into Arrow tables of the
warehouse. Storing them is the business of :mod:`geko.ingest.store` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from geko.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Scratch

#: Reject texts are cut after this many characters.
REJECT_CHARS = 2000


class Format(Protocol):
    """One source format; modules of :mod:`geko.ingest` offer theirs as ``FORMAT``.

    Attributes:
        kind: its name in ``ingest_file.kind`` and ``--kind``, such as ``"hipblaslt-log"``.
        version: raised whenever the parser reads files differently, so that they are read anew.
        title: what it is, in a few words for messages.
    """

    kind: str
    version: int
    title: str

    def sniff(self, head: bytes, path: Path) -> float:
        """How sure it is, from 0 (no) to 1, that a file with this beginning is of the format.

        Args:
            head: the first bytes of the file (64 KiB, or 4 MiB when nothing was found in those).
            path: to look at more of the content (Parquet reads its footer); names prove nothing.
        """
        ...

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a file.

        Args:
            path: the file.
            scratch: in-memory database with the macros, schema and statements of the warehouse.

        Raises:
            InputError: if the file as a whole can't be used; single bad lines are rejects.
        """
        ...


@runtime_checkable
class PartFormat(Format, Protocol):
    """A format whose files may be larger than memory: rows with an identity are put as they come."""

    def parse_in_parts(self, path: Path, scratch: Scratch, put: Put) -> Parsed:
        """As ``parse``, but ``problem``, ``call`` and the like go to ``put`` in parts, each at once stored.

        What is returned makes the file known; parts of a file that failed half-way are harmless, as nothing
        points at them.
        """
        ...


#: Stores rows of tables with an identity.
Put = Callable[[Mapping[str, "pa.Table"]], None]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file holds.

    Attributes:
        tables: rows by table name (see :data:`TABLES`) with its columns but ``file_id``; ids as text.
        rejects: columns ``line`` (1-based, first), ``n_lines``, ``reason``, ``text``; None for none.
        n_lines: lines of the file, None for binary formats.
        n_rows: rows that were understood.
        detail: what the format carries besides rows (validators, banner, versions); JSON values.
    """

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    rejects: pa.Table | None = None
    n_lines: int | None = None
    n_rows: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)


#: Tables that a parser may fill, in the order they are stored. Rows of a table with an identity are inserted
#: only where that id is absent; the others belong to the file and are appended, with its ``file_id`` where
#: they have one (columns ``ingested_at``, ``first_seen`` and ``last_seen`` are filled in).
TABLES: tuple[str, ...] = (
    "environment",
    "device",
    "protocol",
    "library",
    "logic_header",
    "library_member",
    "problem",
    "solution",
    "solution_name",
    "solution_alias",
    "library_solution",
    "library_entry",
    "call",
    "workload_call",
    "measurement",
    "validation",
    "output",
)

#: Modules with a ``FORMAT`` (or another name after a colon), in the order in which equal scores are decided.
MODULES: dict[str, str] = {
    "hipblaslt-log": "geko.ingest.hipblaslt_log",
    "hipblaslt-csv": "geko.ingest.hipblaslt_csv",
    "rocblas-log": "geko.ingest.rocblas_log",
    "bench-commands": "geko.ingest.bench_commands",
    "gemm-list": "geko.ingest.gemm_list",
    "bench-yaml": "geko.ingest.bench_yaml",
    "bench-stdout": "geko.ingest.bench_results",
    "tuning-report": "geko.ingest.tuning_report",
    "tuning-comparison": "geko.ingest.tuning_report:COMPARISON",
    "hipblaslt-tuning": "geko.ingest.override",
    "tensile-csv": "geko.ingest.tensile_csv",
    "tensile-log": "geko.ingest.tensile_log",
    "tunableop": "geko.ingest.tunableop",
    "aiter": "geko.ingest.aiter",
    "transformer-engine": "geko.ingest.transformer_engine",
    "timings-parquet": "geko.ingest.timings_parquet",
    "library-logic": "geko.ingest.library_files",
    "match-table": "geko.ingest.library_files:MATCH_TABLE",
}


def kinds() -> tuple[str, ...]:
    """Names of all formats."""
    return tuple(MODULES)


def load(kind: str) -> Format:
    """The format of a name.

    Raises:
        UsageError: for a name that no format has.
    """
    if kind not in MODULES:
        raise UsageError(f"there is no format {kind!r}; choose auto or one of: {', '.join(MODULES)}")
    module, _, name = MODULES[kind].partition(":")
    form: Format = getattr(import_module(module), name or "FORMAT")
    return form


def recognise(head: bytes, path: Path, among: Callable[[], tuple[str, ...]] = kinds) -> Format | None:
    """The format whose ``sniff`` is the surest, None if all say no."""
    best: Format | None = None
    best_score = 0.0
    for kind in among():
        form = load(kind)
        score = form.sniff(head, path)
        if score > best_score:
            best, best_score = form, score
        if best_score >= 1.0:
            break
    return best


def reject_table(rows: list[tuple[int, int, str, str]]) -> pa.Table | None:
    """Rejects from (line, n_lines, reason, text), texts cut, in the order of the lines; None for none."""
    if not rows:
        return None
    import pyarrow as pa

    ordered = sorted(rows)
    return pa.table(
        {
            "line": pa.array([row[0] for row in ordered], pa.int64()),
            "n_lines": pa.array([row[1] for row in ordered], pa.int64()),
            "reason": pa.array([row[2] for row in ordered], pa.string()),
            "text": pa.array([row[3][:REJECT_CHARS] for row in ordered], pa.string()),
        }
    )
