"""DuckDB connections: making them, running statements on them, and turning their errors into ours.

The calls used here exist in duckdb 1.5 and 2.0 alike.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from geko.errors import GekoError, InputError, Interrupted, UsageError, WarehouseError
from geko.warehouse.resources import statement_text
from geko.warehouse.steps import Append, Statement, Step

Connection = duckdb.DuckDBPyConnection

# Files made with it open in duckdb 1.5 too.
STORAGE_VERSION = "v1.5.0"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ALLOWED_QUERIES = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_SELECT = duckdb.StatementType.SELECT


def quoted(text: str) -> str:
    """An SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def configure(con: Connection) -> None:
    """Settings that every connection to a warehouse has: UTC, and no Python variables as tables."""
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    con.execute("SET GLOBAL python_enable_replacements = false")
    con.execute("SET GLOBAL preserve_insertion_order = true")


def translated(exc: duckdb.Error, what: str) -> GekoError:
    """Our error for one of DuckDB's.

    Args:
        exc: the error.
        what: the statement or table it happened in.
    """
    if isinstance(exc, duckdb.InterruptException):
        return Interrupted(f"{what} was interrupted")
    return WarehouseError(f"{what}: {exc}")


def run_statement(
    con: Connection, text: str, params: Mapping[str, Any], inputs: Mapping[str, pa.Table], what: str
) -> pa.Table:
    """Run one statement with its inputs registered on this connection.

    Returns:
        Rows of a query; for any other statement the rows it reports (``Count``, or those of RETURNING).
    """
    registered: list[str] = []
    try:
        for name, table in inputs.items():
            con.register(name, table)
            registered.append(name)
        arguments = dict(params) if params else None
        if con.extract_statements(text)[0].type == _SELECT:
            return con.sql(text, params=arguments).to_arrow_table()
        con.execute(text, arguments)
        if not con.description:
            return pa.table({})
        names = [str(column[0]) for column in con.description]
        rows = con.fetchall()
        return pa.table(
            {name: [_plain(row[at]) for row in rows] for at, name in enumerate(names)}
            if rows
            else {name: pa.array([], pa.null()) for name in names}
        )
    except duckdb.Error as exc:
        raise translated(exc, what) from exc
    finally:
        unregister(con, registered)


def unregister(con: Connection, names: Iterable[str]) -> None:
    """Forget inputs; in a failed transaction that is refused, and its end forgets them."""
    for name in names:
        with contextlib.suppress(duckdb.Error):
            con.unregister(name)


def run_step(con: Connection, step: Step) -> pa.Table:
    """Run one step of a transaction on its connection."""
    if isinstance(step, Statement):
        what = f"statement {step.name}"
        return run_statement(con, statement_text(step.name), step.params, step.inputs, what)
    if isinstance(step, Append):
        return append_rows(con, step.table, step.rows)
    raise UsageError(f"a step is an Append or a Statement, not {type(step).__name__}")


def append_rows(con: Connection, table: str, rows: pa.Table) -> pa.Table:
    """Insert Arrow rows into a table by column name; returns the count."""
    if not _IDENTIFIER.match(table):
        raise UsageError(f"not a table name: {table!r}")
    text = f'INSERT INTO "{table}" BY NAME SELECT * FROM appended_rows'
    return run_statement(con, text, {}, {"appended_rows": rows}, f"append to {table}")


def check_one_query(con: Connection, text: str) -> None:
    """Refuse anything but exactly one SELECT or EXPLAIN, by DuckDB's own parser.

    Raises:
        InputError: if the text can't be parsed.
        UsageError: if it is something else.
    """
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as exc:
        raise InputError(str(exc)) from exc
    if not statements:
        raise UsageError("there is no SQL to run: give one SELECT or EXPLAIN")
    if len(statements) != 1:
        raise UsageError(f"one SELECT or EXPLAIN at a time, please; this is {len(statements)} statements")
    kind = statements[0].type
    if kind not in _ALLOWED_QUERIES:
        name = str(kind).rpartition(".")[2]
        raise UsageError(f"only SELECT and EXPLAIN are run here, not {name}; changes need --write")


def _plain(value: Any) -> Any:
    return str(value) if type(value).__name__ == "UUID" else value
