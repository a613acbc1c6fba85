"""A process that forgets to close its warehouse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from geko.warehouse import Warehouse
wh = Warehouse.open(sys.argv[1])
client = Warehouse.open(sys.argv[1])
reader = client.sql("SELECT a.range FROM range(10_000_000) AS a, range(10_000_000) AS b")
reader.read_next_batch()
wh.sql("INSERT INTO solution_alias SELECT uuid(), uuid(), 'x'", write=True)
"""


def test_the_end_of_a_process_closes_its_warehouses(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert (done.returncode, done.stderr) == (0, "")
    # Closed well: checkpointed, and no socket is left.
    assert [item.name for item in tmp_path.iterdir()] == ["w.duckdb"]
