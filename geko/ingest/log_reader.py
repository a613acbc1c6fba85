"""What readers of logs have in common: rows in groups become calls, and other output of the program is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from geko.ingest.calls import CallTables, add_calls
from geko.ingest.cells import RowGroup
from geko.ingest.formats import Parsed, Put, reject_table
from geko.ingest.lines import LineBatch

if TYPE_CHECKING:
    from geko.warehouse import Scratch

#: Texts of other output that are kept as rejects; more are only counted.
_OTHER_KEPT = 200
_OTHER = "no log entry: other output"
#: Files up to this size, bytes, are read as they stand when entries go over several lines.
WRAP_LIMIT = 256 << 20

#: Rewrites a group of rows, or rejects all of it and returns None.
Adapt = Callable[[RowGroup, CallTables], RowGroup | None]


class LogReader:
    """Collects the calls of a log; what an entry looks like is for the derived classes.

    Args:
        scratch: where ids are made; None to look at `groups` only.
        put: takes problems and calls in parts; None keeps them all for the result.
        adapt: rewrites groups of rows (names and defaults of another library).
        defaults: texts of fields that this source leaves out.

    Attributes:
        into: counts and rejects so far.
        n_continued: lines that look like the rest of the entry before them.
    """

    def __init__(
        self,
        scratch: Scratch | None,
        put: Put | None,
        adapt: Adapt | None,
        defaults: Mapping[str, str] | None,
    ) -> None:
        self.into = CallTables()
        self.n_continued = 0
        self._scratch = scratch
        self._put = put
        self._adapt = adapt
        self._defaults = defaults or {}
        self._kept: dict[str, list[pa.Table]] = {"problem": [], "call": []}
        self._n_other = 0
        self._n_other_kept = 0

    def groups(self, batch: LineBatch) -> Iterator[RowGroup]:
        """The rows of a batch of lines."""
        raise NotImplementedError

    def add(self, batch: LineBatch) -> None:
        """Read the entries of a batch of lines."""
        assert self._scratch is not None
        tables = add_calls(self._scratch, self.groups(batch), self.into, self._defaults)
        if tables and self._put is not None:
            self._put(tables)
            return
        for name, table in tables.items():
            self._kept[name].append(table)

    def result(self, n_lines: int) -> Parsed:
        """All that was read of a file of so many lines."""
        tables = {name: pa.concat_tables(parts) for name, parts in self._kept.items() if parts}
        if self.into.counts:
            tables["workload_call"] = self.into.count_table()
        detail = {"n_other_lines": self._n_other} if self._n_other else {}
        return Parsed(tables, reject_table(self.into.rejects), n_lines, self.into.n_rows, detail)

    def _adapted(self, group: RowGroup) -> Iterator[RowGroup]:
        read = group if self._adapt is None else self._adapt(group, self.into)
        if read is not None:
            yield read

    def _other(self, first: int, count: int, text: str) -> None:
        """Note a line that is no entry."""
        self._n_other += count
        if self._n_other_kept < _OTHER_KEPT:
            self._n_other_kept += 1
            self.into.rejects.append((first, count, _OTHER, text))
