"""Arrow rows for statements that are executed in every transaction of the queue.

Registering a table as a view and taking it back costs as much as a small statement. Here a view stays: it reads an object
that hands out the rows of the moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from geko.warehouse.engine import Connection
from geko.warehouse.resources import statement_text


class _Feed:
    """What DuckDB scans: the rows of the moment, always of one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.empty = schema.empty_table()
        self.rows = self.empty

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)


class FedStatements:
    """Runs statements that have no parameters, only inputs.

    Inputs keep their names on the connection, so that no other statement on it may use these names.

    Args:
        con: the connection; used by one thread at a time.
    """

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._feeds: dict[str, _Feed] = {}

    def run(self, name: str, inputs: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
        """Execute ``sql/queries/<name>.sql``.

        Raises:
            duckdb.Error: if it fails; `forget` is to be called after the rollback.
        """
        for view, rows in inputs.items():
            feed = self._feeds.get(view)
            if feed is None or feed.empty.schema != rows.schema:
                feed = self._feeds[view] = _Feed(rows.schema)
                self._con.register(view, feed)
            feed.rows = rows
        try:
            return self._con.execute(statement_text(name)).fetchall()
        finally:
            for view in inputs:
                self._feeds[view].rows = self._feeds[view].empty

    def forget(self) -> None:
        """Register anew: a transaction was undone, and with it the views that were made in it."""
        self._feeds.clear()
