"""The warehouse: the only door to the DuckDB file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from geko.warehouse.local import LocalFile
from geko.warehouse.steps import Step

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock in UTC."""
    return datetime.now(UTC)


def default_path() -> Path:
    """``$GEKO_DB``, else ``geko.duckdb`` in the current directory."""
    return Path(os.environ.get("GEKO_DB") or "geko.duckdb")


class Warehouse:
    """An open warehouse; made by `Warehouse.open`."""

    def __init__(self, file: LocalFile) -> None:
        self._file = file

    @classmethod
    def open(cls, path: str | Path | None = None, *, clock: Clock = utc_now) -> Warehouse:
        """Open a warehouse file; it is made if it is not there.

        Args:
            path: the file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
            clock: tells the time of leases and of ``*_at`` columns, in UTC.

        Raises:
            WarehouseError: if the file can't be opened.
            MigrationError: if its schema does not fit this version.
        """
        return cls(LocalFile.open(Path(path) if path is not None else default_path(), clock))

    @property
    def path(self) -> Path:
        """Real path of the file."""
        return self._file.path

    def query(self, name: str, inputs: Mapping[str, pa.Table] | None = None, /, **params: Any) -> pa.Table:
        """Run the statement ``sql/queries/<name>.sql`` in a read-only transaction.

        Args:
            name: path below ``sql/queries`` without ``.sql``.
            inputs: Arrow tables that the statement reads, by the name it uses for them.
            params: values of its ``$named`` parameters.

        Returns:
            The rows; UUIDs and JSON as text, timestamps in UTC.
        """
        return self._file.query(name, inputs or {}, params)

    def apply(self, *steps: Step) -> list[pa.Table]:
        """Run all steps in one transaction; it is committed when this returns.

        Returns:
            One table per step: the rows of a query, or the ``Count`` of changed rows.
        """
        return self._file.apply(steps)

    def sql(self, text: str, *, write: bool = False) -> pa.RecordBatchReader:
        """Run one SELECT or EXPLAIN of the user's in a read-only transaction.

        Args:
            text: the SQL.
            write: run any statements, in one transaction; only where no other process owns the file.
        """
        return self._file.sql(text, write)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
