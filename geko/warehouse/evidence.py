"""Rows that results leave behind: attempts, outputs, measurements and validations.

The rows of all results of a transaction go in together, one statement a table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from geko.domain.identity import content_id
from geko.warehouse.feed import FedStatements

_TEXT = pa.string()
_TIME = pa.timestamp("us", "UTC")
_RESULT_FIELDS: dict[str, pa.DataType] = {
    "job_id": _TEXT,
    "attempt": pa.int32(),
    "token": _TEXT,
    "runner": _TEXT,
    "device_id": _TEXT,
    "outcome": _TEXT,
    "message": _TEXT,
    "command": _TEXT,
    "exit_code": pa.int32(),
    "started_at": _TIME,
}
# What every input of queue/add_measurements has; more columns come with the results.
_MEASURED = pa.schema(
    [("problem_id", _TEXT), ("library_id", _TEXT), ("outcome", _TEXT), ("measured_at", _TIME)]
)
_START = {"measured": _MEASURED, "validated": _MEASURED.append(pa.field("extra", _TEXT))}
_STATEMENTS = {"measured": "queue/add_measurements", "validated": "queue/add_validations"}


@dataclass(slots=True)
class Verdict:
    """A row of queue/judge, and what is done with the result."""

    r: int
    job_id: str | None
    run_id: str | None
    problem_id: str | None
    library_id: str | None
    protocol_id: str | None
    environment_id: str | None
    accepted: bool
    new_state: str
    retry_ms: int | None
    stored: bool = True
    answer: str = "accepted"


class Evidence:
    """Stores what came with results.

    Args:
        fed: runs the statements of every transaction.
        rows: runs any other statement with its parameters.
    """

    def __init__(self, fed: FedStatements, rows: Callable[..., list[tuple[Any, ...]]]) -> None:
        self._fed = fed
        self._rows = rows
        # Columns that results came with so far: rows without them get NULLs, so that the view stays.
        self._schemas = dict(_START)

    def forget(self) -> None:
        """A transaction was undone: what it brought is not to be expected again."""
        self._schemas = dict(_START)

    def store(
        self,
        payloads: Sequence[Mapping[str, Any]],
        results: Sequence[Mapping[str, Any]],
        verdicts: Sequence[Verdict],
        now: datetime,
    ) -> None:
        """Store the rows of all results.

        Args:
            payloads: the requests, with the tables ``measured`` and ``validated``.
            results: those of all requests in order.
            verdicts: one per result.
            now: time by the owner's clock.
        """
        self._store_attempts(results, verdicts, now)
        for view, name in _STATEMENTS.items():
            rows = self._with_job_columns(payloads, view, results, verdicts, now)
            if rows is not None and rows.num_rows:
                self._fed.run(name, {view: rows})

    def _store_attempts(
        self, results: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict], now: datetime
    ) -> None:
        stored = [verdict for verdict in verdicts if verdict.stored]
        if not stored:
            return
        items = [results[verdict.r] for verdict in stored]
        columns = {
            name: pa.array([item.get(name) for item in items], kind) for name, kind in _RESULT_FIELDS.items()
        }
        columns["output_id"] = pa.array(self._store_outputs(items), _TEXT)
        columns["late"] = pa.array([not verdict.accepted for verdict in stored])
        columns["ended_at"] = pa.array([now] * len(items), _TIME)
        self._fed.run("queue/add_attempts", {"attempted": pa.table(columns)})

    def _store_outputs(self, results: Sequence[Mapping[str, Any]]) -> list[str | None]:
        ids: list[str | None] = []
        found: dict[str, tuple[str, int, str]] = {}
        for item in results:
            text = item.get("output")
            if text is None:
                ids.append(None)
                continue
            data = text.encode()
            sha256 = hashlib.sha256(data).hexdigest()
            output_id = content_id("output", sha256)
            ids.append(output_id)
            found[output_id] = (sha256, len(data), text)
        if found:
            columns = list(zip(*found.values(), strict=True))
            names = ("sha256", "n_bytes", "texts")
            self._rows(
                "queue/add_outputs",
                None,
                output_ids=list(found),
                **{name: list(column) for name, column in zip(names, columns, strict=True)},
            )
        return ids

    def _with_job_columns(
        self,
        payloads: Sequence[Mapping[str, Any]],
        view: str,
        results: Sequence[Mapping[str, Any]],
        verdicts: Sequence[Verdict],
        now: datetime,
    ) -> pa.Table | None:
        """The rows of all requests, with the columns that follow from their results and jobs."""
        parts: list[pa.Table] = []
        of_result: list[int] = []
        ordinals: list[int] = []
        base = 0
        for payload in payloads:
            part = payload.get(view)
            if part is not None and part.num_rows:
                parts.append(part)
                for at, n in enumerate(payload[f"n_{view}"], base):
                    of_result += [at] * n
                    ordinals += range(n)
            base += len(payload["results"])
        if not parts:
            return None
        table = _united(self._schemas[view], parts)
        of_job = _of_jobs(results, verdicts, now)
        own = [field for field in table.schema if field.name not in of_job and field.name != "ordinal"]
        self._schemas[view] = pa.schema(own)
        # In one piece: DuckDB would take each client's few rows by themselves.
        columns = {field.name: table[field.name].combine_chunks() for field in own}
        r = pa.array(of_result, pa.int32())
        columns |= {name: values.take(r) for name, values in of_job.items()}
        rows = pa.table({**columns, "ordinal": pa.array(ordinals, pa.int32())})
        if not all(verdict.stored for verdict in verdicts):
            rows = rows.filter(pa.array([verdict.stored for verdict in verdicts]).take(r))
        return rows


def _united(known: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    """All rows, with the known columns too; a column whose types can't be united goes its own way."""
    try:
        return pa.concat_tables([known.empty_table(), *parts], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        table = pa.concat_tables(parts, promote_options="permissive")
    for field in known:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def _of_jobs(
    results: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict], now: datetime
) -> dict[str, pa.Array]:
    """Columns that follow from results and their jobs, one value per result."""
    return {
        "job_id": pa.array([verdict.job_id for verdict in verdicts], _TEXT),
        "run_id": pa.array([verdict.run_id for verdict in verdicts], _TEXT),
        "job_problem_id": pa.array([verdict.problem_id for verdict in verdicts], _TEXT),
        "job_library_id": pa.array([verdict.library_id for verdict in verdicts], _TEXT),
        "protocol_id": pa.array([verdict.protocol_id for verdict in verdicts], _TEXT),
        "environment_id": pa.array([verdict.environment_id for verdict in verdicts], _TEXT),
        "late": pa.array([not verdict.accepted for verdict in verdicts], pa.bool_()),
        "attempt": pa.array([item["attempt"] for item in results], pa.int32()),
        "device_id": pa.array([item.get("device_id") for item in results], _TEXT),
        "token": pa.array([item["token"] for item in results], _TEXT),
        "now_at": pa.array([now] * len(results), _TIME),
    }
