"""How runs end: the last word is that of the process that finished."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.warehouse import Append, Statement
from geko.warehouse.scratch import Scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    """One database for all runs: binding its views takes most of the time."""
    with Scratch(threads=1) as opened:
        yield opened


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        (["finished"], "finished"),
        (["interrupted"], "interrupted"),
        (["finished", "interrupted"], "finished"),
        (["interrupted", "finished"], "finished"),
        (["finished", "failed"], "failed"),
    ],
)
def test_the_state_of_a_run(scratch: Scratch, ends: list[str], state: str) -> None:
    run_id = content_id("run", ends)
    row = {
        "run_id": run_id, "kind": "search", "state": "running", "simulated": True, "n_starts": 1, "options": "{}",
        "started_at": NOW, "pid": 1,
    }  # fmt: skip
    scratch.apply(Append("run", pa.Table.from_pylist([row])))
    for end in ends:
        scratch.apply(Statement("run/end_run", {"run_id": run_id, "state": end, "summary": "{}", "now": NOW}))
    found = scratch.sql(f"SELECT state, pid FROM run WHERE run_id = '{run_id}'").to_pylist()
    assert found == [{"state": state, "pid": None}]
