"""The SQL files: where they lie, their text and their hashes."""

from __future__ import annotations

import functools
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from geko.errors import WarehouseError

TRACE_VARIABLE = "GEKO_TRACE_SQL"


@dataclass(frozen=True)
class SqlFile:
    """One file below ``sql/``.

    Attributes:
        name: path below its folder without ``.sql``, such as ``queue/claim`` or ``0001_identity_tables``.
        text: its content.
    """

    name: str
    text: str

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@functools.cache
def sql_root() -> Path:
    """Folder ``sql``: of the checkout, or ``geko/_sql`` of an installed wheel.

    Raises:
        WarehouseError: if neither is there.
    """
    package = Path(__file__).resolve().parent.parent
    for candidate in (package.parent / "sql", package / "_sql"):
        if (candidate / "migrations").is_dir():
            return candidate
    raise WarehouseError(f"the SQL files of GEKO are missing beside {package}: install the package again")


def sql_files(folder: str) -> list[SqlFile]:
    """All SQL files below ``sql/<folder>``, sorted by name; those that did not change since are not read again."""
    root = sql_root() / folder
    found = []
    for place, _, names in os.walk(root):
        for name in names:
            if name.endswith(".sql"):
                path = os.path.join(place, name)  # noqa: PTH118 - at every opening of a warehouse, where pathlib is slow
                state = os.stat(path)  # noqa: PTH116
                found.append((path, state.st_mtime_ns, state.st_size))
    return list(_read(root, tuple(sorted(found))))


@functools.lru_cache(maxsize=16)
def _read(root: Path, found: tuple[tuple[str, int, int], ...]) -> tuple[SqlFile, ...]:
    """Files by path, time of change and size."""
    paths = sorted(Path(path) for path, _, _ in found)
    return tuple(
        SqlFile(path.relative_to(root).with_suffix("").as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
    )


@functools.cache
def statement_text(name: str) -> str:
    """Text of the statement ``sql/queries/<name>.sql``.

    Raises:
        WarehouseError: if there is no such statement.
    """
    root = sql_root() / "queries"
    path = root / f"{name}.sql"
    if ".." in name or not path.is_file():
        raise WarehouseError(f"there is no statement {name!r} (looked for {path})")
    _trace(name)
    return path.read_text(encoding="utf-8")


def _trace(name: str) -> None:
    """Note the first use of a statement in the file named by ``$GEKO_TRACE_SQL``, for the tests' coverage."""
    target = os.environ.get(TRACE_VARIABLE)
    if target:
        with Path(target).open("a", encoding="utf-8") as handle:
            handle.write(f"{name}\n")
