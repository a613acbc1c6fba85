"""The error tree of GEKO.

    GekoError                     exit 1: one line that says what to do
    ├── UsageError                exit 2: the command line or an argument is wrong
    ├── InputError                a file or value that the user gave can't be used; names file, line, value, remedy
    ├── ToolError                 an external program failed or is missing (hipblaslt-bench, TensileCreateLibrary)
    ├── WarehouseError
    │   ├── WarehouseBusyError    another process owns the file and doesn't answer
    │   └── MigrationError        the file's schema and this version don't fit
    └── RunFailedError            a run ended without a result
    Interrupted                   exit 130: the user stopped the run; everything done so far is kept

Some classes also derive from the built-in error that a caller of the Python API would expect to catch.
"""

from __future__ import annotations

from pathlib import Path


class GekoError(Exception):
    """Base of all errors that GEKO raises on purpose.

    Attributes:
        exit_code: exit status of the command line for this error.
    """

    exit_code = 1


class UsageError(GekoError, ValueError):
    """A command line or an argument that makes no sense."""

    exit_code = 2


class InputError(GekoError, ValueError):
    """Input that can't be used.

    Args:
        message: what is wrong and what to do about it.
        path: the file it stands in.
        line: 1-based line number in that file.
        value: the offending text (shortened for display).
    """

    def __init__(
        self, message: str, *, path: str | Path | None = None, line: int | None = None, value: object = None
    ) -> None:
        self.path = path
        self.line = line
        self.value = value
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        shown = "" if value is None else f" (got {_short(value)})"
        super().__init__(f"{where}{message}{shown}")


class MissingFileError(InputError, FileNotFoundError):
    """A file or directory that the user named does not exist."""


class ToolError(GekoError, ValueError):
    """An external program is missing or failed; the message holds the end of what it printed."""


class WarehouseError(GekoError):
    """The warehouse file can't be used as asked."""


class WarehouseBusyError(WarehouseError):
    """Another process owns the warehouse and does not answer.

    Args:
        message: what was tried and what to do.
        pid: process id of the owner, where known.
    """

    def __init__(self, message: str, pid: int | None = None) -> None:
        self.pid = pid
        super().__init__(message)


class MigrationError(WarehouseError):
    """The schema of the file is newer than this version, or a migration failed."""


class RunFailedError(GekoError, ValueError):
    """A run ended without any usable result."""


class Interrupted(GekoError):
    """The user stopped the run (Ctrl-C, SIGTERM); all acknowledged results are kept."""

    exit_code = 130


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
