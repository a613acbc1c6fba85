"""An in-memory database with the warehouse's schema, macros and statements, for work outside the file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from geko.errors import InputError, WarehouseError
from geko.warehouse.engine import configure, run_statement, run_step, translated
from geko.warehouse.resources import statement_text
from geko.warehouse.schema import create_macros, migrate
from geko.warehouse.steps import Step


class Scratch:
    """A private database in memory.

    Args:
        threads: threads DuckDB may use; None for all cores.
        memory_limit: such as ``"1GiB"``; None for DuckDB's default.
        schema: make tables and views too; without them it opens ten times faster, for statements that read
            nothing but their inputs.
    """

    def __init__(
        self, threads: int | None = None, memory_limit: str | None = None, *, schema: bool = True
    ) -> None:
        self.con = duckdb.connect(":memory:")
        configure(self.con)
        if threads is not None:
            self.con.execute(f"SET threads = {int(threads)}")
        if memory_limit is not None:
            self.con.execute("SET memory_limit = $limit", {"limit": memory_limit})
        if schema:
            migrate(self.con, datetime.now(UTC), "the scratch database")
        else:
            create_macros(self.con)

    def query(self, name: str, inputs: Mapping[str, pa.Table] | None = None, /, **params: Any) -> pa.Table:
        """Run ``sql/queries/<name>.sql`` and return its rows."""
        return run_statement(self.con, statement_text(name), params, inputs or {}, f"statement {name}")

    def apply(self, *steps: Step) -> list[pa.Table]:
        """Run steps in one transaction."""
        self.con.execute("BEGIN TRANSACTION")
        try:
            results = [run_step(self.con, step) for step in steps]
        except BaseException:
            self.con.execute("ROLLBACK")
            raise
        self.con.execute("COMMIT")
        return results

    def sql(self, text: str, inputs: Mapping[str, pa.Table] | None = None, /, **params: Any) -> pa.Table:
        """Run any SQL text; for tests and one-off parsing.

        Raises:
            InputError: if DuckDB refuses it.
        """
        try:
            return run_statement(self.con, text, params, inputs or {}, "statement")
        except WarehouseError as exc:
            raise InputError(str(exc)) from exc

    def execute(self, text: str) -> None:
        """Run SQL text for its effect (ATTACH, CREATE TABLE, COPY)."""
        try:
            self.con.execute(text)
        except duckdb.Error as exc:
            raise translated(exc, "statement") from exc

    def close(self) -> None:
        """Free the database."""
        self.con.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
