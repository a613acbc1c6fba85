"""Kernels that a runner saw: from their printed names to rows of table ``solution``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.identity import content_id
from geko.domain.kernel_name import parse_name

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

_TEXT, _INT, _BOOL = pa.string(), pa.int32(), pa.bool_()
# Column of table solution -> column that a parsed name gives it under.
_FROM_NAME: dict[str, tuple[str, pa.DataType]] = {
    "gemm_type": ("types", _TEXT),
    "operation": ("contraction", _TEXT),
    "isa": ("isa", _TEXT),
    "mt0": ("mt0", _INT),
    "mt1": ("mt1", _INT),
    "depth_u": ("depth_u", _INT),
    "mi_m": ("mi_m", _INT),
    "mi_n": ("mi_n", _INT),
    "mi_k": ("mi_k", _INT),
    "mi_b": ("mi_b", _INT),
    "miwt0": ("miwt0", _INT),
    "miwt1": ("miwt1", _INT),
    "wg0": ("wg_x", _INT),
    "wg1": ("wg_y", _INT),
    "wg2": ("wg_z", _INT),
    "gsu": ("gsu", _INT),
    "gsu_algorithm": ("gsu_algorithm", _TEXT),
    "stream_k": ("stream_k", _INT),
    "wgm": ("wgm", _INT),
    "wgm_xcc": ("wgm_xcc", _INT),
    "pgr": ("pgr", _INT),
    "plr": ("plr", _INT),
    "local_split_u": ("local_split_u", _INT),
    "vwa": ("vwa", _INT),
    "vwb": ("vwb", _INT),
    "grvwa": ("grvwa", _INT),
    "grvwb": ("grvwb", _INT),
    "stagger_u": ("stagger_u", _INT),
}
_SOLUTION = pa.schema(
    [
        ("solution_id", _TEXT),
        ("source", _TEXT),
        ("canonical", _TEXT),
        ("name", _TEXT),
        *((column, kind) for column, (_, kind) in _FROM_NAME.items()),
        ("direct_to_lds", _BOOL),
        ("direct_to_vgpr_a", _BOOL),
        ("direct_to_vgpr_b", _BOOL),
        ("custom_kernel", _TEXT),
    ]
)
_NAME = pa.schema([("solution_id", _TEXT), ("kind", _TEXT), ("name", _TEXT)])


class SolutionBook:
    """Solutions seen by one process; each is parsed once and stored once.

    The id is the content id of the tokens of the solution name, of the kernel name where only that is
    printed: the same that ingest gives to a name.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str | None, str | None], str] = {}
        self._by_index: dict[tuple[str, int], str] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._names: dict[tuple[str, str, str], None] = {}
        self._stored_rows: set[str] = set()
        self._stored_names: set[tuple[str, str, str]] = set()
        self._more: list[tuple[pa.Table, pa.Table]] = []

    def id_of(
        self, solution_name: str | None, kernel_name: str | None, library_id: str | None, index: int | None
    ) -> str | None:
        """Id of a printed solution.

        Where no name is printed, the index says it if the same library printed names under it before.

        Args:
            solution_name: name with the run-time tokens; None where it isn't printed.
            kernel_name: name of the kernel.
            library_id: the library that printed them.
            index: solution index in it.
        """
        name = solution_name or kernel_name
        if not name:
            return self._by_index.get((library_id, index)) if library_id and index is not None else None
        key = (solution_name, kernel_name)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = self._add(name, solution_name, kernel_name)
        if library_id and index is not None:
            self._by_index[library_id, index] = found
        return found

    def _add(self, name: str, solution_name: str | None, kernel_name: str | None) -> str:
        parsed = parse_name(name)
        canonical = parsed.canonical_json()
        solution_id = content_id("solution", canonical)
        if solution_id not in self._rows:
            hot = parsed.hot()
            self._rows[solution_id] = {
                "solution_id": solution_id,
                "source": "name",
                "canonical": canonical,
                "name": name,
                **{column: hot.get(token) for column, (token, _) in _FROM_NAME.items()},
                "direct_to_lds": _any_positive(hot, "direct_to_lds_a", "direct_to_lds_b"),
                "direct_to_vgpr_a": _any_positive(hot, "direct_to_vgpr_a"),
                "direct_to_vgpr_b": _any_positive(hot, "direct_to_vgpr_b"),
                "custom_kernel": name if parsed.custom else None,
            }
        for kind, text in (("solution", solution_name), ("kernel", kernel_name)):
            if text:
                self._names[solution_id, kind, text] = None
        return solution_id

    def add(self, solutions: pa.Table, names: pa.Table) -> None:
        """Take in many solutions at once.

        Args:
            solutions: rows of table ``solution``, as ingest makes them of names.
            names: rows of table ``solution_name``.
        """
        columns = {field.name: _column(solutions, field) for field in _SOLUTION}
        texts = {field.name: _column(names, field) for field in _NAME}
        self._more.append((pa.table(columns, schema=_SOLUTION), pa.table(texts, schema=_NAME)))

    def unstored(self) -> tuple[pa.Table, pa.Table]:
        """Rows of the tables ``solution`` and ``solution_name`` that were not stored yet."""
        rows = [row for key, row in self._rows.items() if key not in self._stored_rows]
        names = [key for key in self._names if key not in self._stored_names]
        single = (
            pa.Table.from_pylist(rows, schema=_SOLUTION),
            pa.Table.from_pylist([dict(zip(_NAME.names, key, strict=True)) for key in names], schema=_NAME),
        )
        if not self._more:
            return single
        parts = [single, *self._more]
        return _distinct(pa.concat_tables([p[0] for p in parts]), ["solution_id"]), _distinct(
            pa.concat_tables([p[1] for p in parts]), _NAME.names
        )

    def store(self, warehouse: Warehouse) -> None:
        """Write what is new into the warehouse; what is known there already is left alone."""
        solutions, names = self.unstored()
        if not names.num_rows and not solutions.num_rows:
            return
        from geko.warehouse.steps import Statement

        warehouse.apply(
            Statement("runners/add_solutions", inputs={"seen": solutions}),
            Statement("runners/add_solution_names", inputs={"seen": names}),
            repeatable=True,
        )
        self._stored_rows.update(self._rows)
        self._stored_names.update(self._names)
        self._more.clear()


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name not in table.column_names:
        return pa.nulls(table.num_rows, field.type)
    return table[field.name].cast(field.type)


def _distinct(table: pa.Table, key: list[str]) -> pa.Table:
    """The first row of each key, in order."""
    numbered = table.append_column("_at", pa.array(range(table.num_rows), pa.int64()))
    first = numbered.group_by(key).aggregate([("_at", "min")])["_at_min"]
    return table.take(first.take(pc.sort_indices(first)))


def _any_positive(hot: dict[str, Any], *names: str) -> bool | None:
    values = [hot.get(name) for name in names]
    known = [value > 0 for value in values if isinstance(value, (int, float))]
    if any(known):
        return True
    return False if len(known) == len(values) else None
