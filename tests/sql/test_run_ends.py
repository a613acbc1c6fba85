"""How runs end: the last word is that of the process that finished."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.warehouse import Append, Statement
from geko.warehouse.scratch import Scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN = content_id("test", "run")


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
def test_the_state_of_a_run(ends: list[str], state: str) -> None:
    row = {
        "run_id": RUN, "kind": "search", "state": "running", "simulated": True, "n_starts": 1, "options": "{}",
        "started_at": NOW, "pid": 1,
    }  # fmt: skip
    with Scratch(threads=1) as scratch:
        scratch.apply(Append("run", pa.Table.from_pylist([row])))
        for end in ends:
            scratch.apply(
                Statement("run/end_run", {"run_id": RUN, "state": end, "summary": "{}", "now": NOW})
            )
        assert scratch.sql("SELECT state, pid FROM run").to_pylist() == [{"state": state, "pid": None}]
