"""Bringing a database to this version: migrations once each, macros and views whenever they changed."""

from __future__ import annotations

import contextlib
import graphlib
import hashlib
import re
from datetime import datetime

import duckdb

from geko import __version__
from geko.errors import MigrationError
from geko.warehouse.engine import Connection
from geko.warehouse.resources import SqlFile, sql_files

_OBJECT_NAME = re.compile(
    r"^\s*CREATE\s+OR\s+REPLACE\s+(VIEW|MACRO)\s+\"?([A-Za-z_][A-Za-z0-9_]*)", re.IGNORECASE | re.MULTILINE
)
_COMMENT = re.compile(r"--[^\n]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOOTSTRAP = """
CREATE TABLE IF NOT EXISTS schema_migration (
    name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL,
    geko_version VARCHAR NOT NULL);
CREATE TABLE IF NOT EXISTS schema_object (
    kind VARCHAR NOT NULL, name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL);
"""


def migrate(con: Connection, now: datetime, place: str = "the warehouse") -> list[str]:
    """Apply missing migrations, each in its own transaction, then macros and views if they changed.

    Args:
        con: connection to the database.
        now: time written to ``schema_migration``.
        place: how errors call the database.

    Returns:
        Names of the migrations applied.

    Raises:
        MigrationError: if the file is of a newer version, a migration in it was changed, or one fails.
    """
    pending = _pending(con, place)
    for file in pending:
        _in_transaction(con, file, now)
    _refresh_objects(con)
    return [file.name for file in pending]


def create_macros(con: Connection) -> None:
    """Make the macros alone, in a database that is thrown away."""
    _create_all(con, sql_files("macros"))


def missing_migrations(con: Connection, place: str = "the warehouse") -> list[str]:
    """Names of the migrations that a database lacks.

    Raises:
        MigrationError: as for `migrate`.
    """
    return [file.name for file in _pending(con, place)]


def _pending(con: Connection, place: str) -> list[SqlFile]:
    known = {file.name: file for file in sql_files("migrations")}
    try:
        done = dict(con.execute("SELECT name, sha256 FROM schema_migration").fetchall())
    except duckdb.CatalogException:
        done = {}  # a new database
    unknown = sorted(done.keys() - known.keys())
    if unknown:
        raise MigrationError(
            f"{place} has migration {unknown[-1]}, which GEKO {__version__} doesn't know: it"
            " was made by a newer version; update GEKO (pip install -U geko) or use another --db"
        )
    changed = sorted(name for name, sha256 in done.items() if known[name].sha256 != sha256)
    if changed:
        raise MigrationError(
            f"{place} was made with another text of migration {changed[0]} than GEKO {__version__} has: use"
            " the version that made it, or make a new file and `geko db import` the old one"
        )
    return [file for name, file in sorted(known.items()) if name not in done]


def _in_transaction(con: Connection, file: SqlFile, now: datetime) -> None:
    con.execute("BEGIN TRANSACTION")
    try:
        con.execute(_BOOTSTRAP)
        con.execute(file.text)
        con.execute(
            "INSERT INTO schema_migration VALUES ($name, $sha256, $now, $version)",
            {"name": file.name, "sha256": file.sha256, "now": now, "version": __version__},
        )
        con.execute("COMMIT")
    except duckdb.Error as exc:
        _roll_back(con)
        raise MigrationError(f"migration {file.name} failed and was undone: {exc}") from exc


def _roll_back(con: Connection) -> None:
    """End a failed transaction; a commit that failed (a full disk) has ended it already."""
    with contextlib.suppress(duckdb.Error):
        con.execute("ROLLBACK")


def objects_hash() -> str:
    """One hash over the texts of all macros and views."""
    texts = [f"{kind}\n{file.name}\n{file.text}" for kind in ("macros", "views") for file in sql_files(kind)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _refresh_objects(con: Connection) -> None:
    """Make all macros and views again if the text of any of them changed."""
    wanted = objects_hash()
    old = con.execute("SELECT kind, name, sha256 FROM schema_object").fetchall()
    if any(kind == "all" and sha256 == wanted for kind, _, sha256 in old):
        return
    con.execute("BEGIN TRANSACTION")
    try:
        for kind, name, _ in old:
            if kind in ("view", "macro"):
                _drop(con, kind, name)
        con.execute("DELETE FROM schema_object")
        made = _create_all(con, sql_files("macros")) + _create_all(con, sql_files("views"))
        for kind, name, sha256 in [*made, ("all", "all", wanted)]:
            con.execute(
                "INSERT INTO schema_object VALUES ($kind, $name, $sha256)",
                {"kind": kind, "name": name, "sha256": sha256},
            )
        con.execute("COMMIT")
    except duckdb.Error as exc:
        _roll_back(con)
        raise MigrationError(f"the views could not be made, and nothing was changed: {exc}") from exc
    except MigrationError:
        _roll_back(con)
        raise


def _drop(con: Connection, kind: str, name: str) -> None:
    """Drop what an older version made; what the text now makes is made again right after."""
    if kind == "view":
        con.execute(f'DROP VIEW IF EXISTS "{name}"')
        return
    for row in con.execute(
        "SELECT DISTINCT function_type FROM duckdb_functions() WHERE function_name = $name AND NOT internal",
        {"name": name},
    ).fetchall():
        con.execute(f'DROP MACRO {"TABLE " if row[0] == "table_macro" else ""}"{name}"')


def _create_all(con: Connection, files: list[SqlFile]) -> list[tuple[str, str, str]]:
    """Create each after those that it names."""
    made: list[tuple[str, str, str]] = []
    for file in _in_order(files):
        try:
            con.execute(file.text)
        except duckdb.Error as exc:
            raise MigrationError(f"{file.name}.sql can't be created: {exc}") from exc
        made += [(kind.lower(), name, file.sha256) for kind, name in _OBJECT_NAME.findall(file.text)]
    return made


def _in_order(files: list[SqlFile]) -> list[SqlFile]:
    """Files sorted so that what a text names comes before it; by name where that leaves a choice.

    Raises:
        MigrationError: if they name each other in a circle.
    """
    maker = {name: file.name for file in files for _, name in _OBJECT_NAME.findall(file.text)}
    by_name = {file.name: file for file in files}
    needs: dict[str, set[str]] = {}
    for file in files:
        words = set(_WORD.findall(_COMMENT.sub("", file.text)))
        needs[file.name] = {maker[word] for word in words & maker.keys()} - {file.name}
    ordered: list[SqlFile] = []
    sorter = graphlib.TopologicalSorter(needs)
    try:
        sorter.prepare()
    except graphlib.CycleError as exc:
        raise MigrationError(
            f"these SQL files name each other in a circle: {', '.join(exc.args[1])}"
        ) from exc
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += [by_name[name] for name in ready]
        sorter.done(*ready)
    return ordered
