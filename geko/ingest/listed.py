"""Problems that a tuned table's untuned sister lists, as calls of a workload: each line is one call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from geko.ingest.results import Results, numbered

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch


def with_listed(parsed: Parsed, listed: Results, scratch: Scratch) -> Parsed:
    """Add the calls of listed problems to what else a file holds.

    Args:
        parsed: tables of the rest of the file.
        listed: problems; environments and times of theirs are not looked at.
        scratch: hashes the identities.
    """
    parts = numbered(listed)
    inputs = parts.inputs()
    ids = scratch.query("ingest_results/problem_ids", inputs)["problem_id"]
    problems = parts.problems.drop("problem_no").to_arrow().append_column("problem_id", ids)
    rows = scratch.query("ingest_results/calls", inputs)
    known = parsed.tables.get("problem")
    tables = dict(parsed.tables)
    tables["problem"] = (
        problems if known is None else pa.concat_tables([known, problems.select(known.column_names)])
    )
    tables["call"] = rows.select(["call_id", "problem_id", "fields"])
    counts = rows.select(["call_id", "n_lines", "first_line"])
    tables["workload_call"] = counts.append_column("call_count", counts["n_lines"])
    if not parsed.n_rows:
        for name in ("environment", "protocol"):
            tables.pop(name, None)
    return replace(parsed, tables=tables, n_rows=parsed.n_rows + len(listed.rows))
