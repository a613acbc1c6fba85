"""Tables that parsers may fill but that no common format fills: stored once by their ids. Large files go in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from geko.domain.identity import content_id
from geko.ingest import dispatch
from geko.ingest.store import put_identities
from geko.warehouse import Warehouse

ROWS: dict[str, dict[str, Any]] = {
    "device": {
        "device_id": content_id("test", "device"), "environment_id": content_id("test", "environment"), "host": "h",
        "ordinal": 3,
    },
    "output": {"output_id": content_id("test", "output"), "sha256": "ab", "n_bytes": 2, "text": "hi"},
    "solution_alias": {
        "alias_id": content_id("test", "alias"), "solution_id": content_id("test", "solution"), "evidence": "user",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_with_an_id_are_stored_once(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        for _ in range(2):
            put_identities(warehouse, {name: pa.Table.from_pylist([row, row])})
        columns = ", ".join(f"{column}::VARCHAR AS {column}" for column in row)
        stored = warehouse.sql(f'SELECT {columns} FROM "{name}"').read_all().to_pylist()
    assert stored == [{column: str(value) for column, value in row.items()}]


def test_a_large_file_is_known_again_by_its_content(
    repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_PARTS_ABOVE", 100)
    text = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8")
    first, second, third = (tmp_path / f"{n}.yaml" for n in range(3))
    first.write_text(text)
    second.write_text(text)
    third.write_text(text.replace("call_count: 256", "call_count: 257", 1))
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        states = [dispatch.ingest(warehouse, [path])[0].state for path in (first, second, third, first)]
        (row,) = warehouse.sql("SELECT count(*) AS n FROM ingest_file").read_all().to_pylist()
    assert states == ["new", "known", "new", "known"]
    assert row["n"] == 2
