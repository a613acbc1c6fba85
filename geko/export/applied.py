"""Proof that deployed winners are used: an application's log, or bench output, against what a run decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geko.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Warehouse


@dataclass(frozen=True)
class Applied:
    """Which winners of a run were used.

    Attributes:
        rows: a row per kept shape. ``state`` is ``applied``, ``applied (by index)``, ``partly applied``, ``other kernel``,
            ``no evidence`` or ``not called``; ``why`` says what is behind it. What needs a look comes first.
        summary: how many winners are in which state, and why, in one line.
        exit_code: 0 if winners were called and all of these with their kernel, as far as the log tells; 1 if another
            kernel ran, or no call shows a winner.
    """

    rows: pa.Table
    summary: str
    exit_code: int


def verify_applied(warehouse: Warehouse, run_id: str, logs: Sequence[str | Path]) -> Applied:
    """Which kept kernels of a run the application really ran.

    The logs become part of the warehouse, but of no workload. Best are hipBLASLt logs of mask 128, which name solution and
    kernel; logs of mask 64 with an index, and hipblaslt-bench output, tell as much as they hold.

    Args:
        warehouse: where the run is.
        run_id: the run whose winners were deployed.
        logs: of the application, one per process.

    Raises:
        UsageError: the run kept nothing.
        InputError: a log can't be read, or holds no calls and no results.
    """
    from geko.ingest import ingest

    reports = ingest(warehouse, logs, applied=True)
    for report in reports:
        if report.state == "refused":
            # Most reasons start with the file already.
            raise InputError(
                report.message, path=None if report.message.startswith(str(report.path)) else report.path
            )
    file_ids = [report.file_id for report in reports]
    rows = warehouse.query("export/applied", run_id=run_id, file_ids=file_ids)
    if not rows.num_rows:
        raise UsageError(f"run {run_id[:8]} kept no kernel: none can be in use")
    counts = warehouse.query("export/applied_summary", {"rows": rows}).to_pylist()[0]
    return Applied(rows, counts["summary"], 0 if counts["is_proven"] else 1)
