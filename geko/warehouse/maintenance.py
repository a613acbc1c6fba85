"""Snapshot, check and prune, run by the owner of the file; import is in a module of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from geko.errors import InputError
from geko.log import logger
from geko.warehouse.engine import STORAGE_VERSION, Connection, quoted, translated
from geko.warehouse.local import LocalFile
from geko.warehouse.merge import import_file
from geko.warehouse.steps import Statement

_CHECKS = ("db/check_unique", "db/check_references", "db/check_queue", "db/check_ids")
_CHECKPOINT_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Result of one rule.

    Attributes:
        rule: what must hold.
        n: rows that break it.
        example: one of them.
    """

    rule: str
    n: int
    example: str | None


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """What to drop.

    Attributes:
        outputs: texts of programs whose attempts all succeeded; their hashes stay.
        attempts: attempts that were given back or lost.
        before: only what is older; None for any age.
        dry_run: count only.
    """

    outputs: bool = True
    attempts: bool = False
    before: datetime | None = None
    dry_run: bool = True


def snapshot(file: LocalFile, target: str) -> None:
    """Copy the file with ``COPY FROM DATABASE``, which reads one state while writes go on.

    Raises:
        InputError: if the target exists.
        WarehouseError: if it can't be written.
    """
    if Path(target).exists():
        raise InputError("there is a file already: name another, or remove it", path=target)
    part = Path(f"{target}.{os.getpid()}.part")

    def run(con: Connection) -> None:
        name = con.execute("SELECT current_database()").fetchall()[0][0].replace('"', '""')
        con.execute(f"ATTACH {quoted(str(part))} AS geko_snapshot (STORAGE_VERSION '{STORAGE_VERSION}')")
        try:
            con.execute(f'COPY FROM DATABASE "{name}" TO geko_snapshot')
        finally:
            con.execute("DETACH geko_snapshot")

    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        file.read(run)
        part.rename(target)
    except duckdb.Error as exc:
        raise translated(exc, f"snapshot to {target}") from exc
    except OSError as exc:
        raise InputError(f"the snapshot can't be written: {exc}", path=target) from exc
    finally:
        part.unlink(missing_ok=True)


def check(file: LocalFile, now: datetime) -> list[dict[str, Any]]:
    """Run all rules; each gives its name, the number of rows that break it, and one of them."""
    return [row for name in _CHECKS for row in _rule_rows(file, name, now)]


def _rule_rows(file: LocalFile, name: str, now: datetime) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = file.query(
        name, {}, {"now": now} if name == "db/check_queue" else {}
    ).to_pylist()
    return rows


def prune(
    file: LocalFile, outputs: bool, attempts: bool, before: datetime | None, dry_run: bool
) -> dict[str, int]:
    """Drop what can be done without, or count it."""
    wanted = {"outputs": outputs, "attempts": attempts}
    (counts,) = file.query("db/prune_count", {}, {"before": before}).to_pylist()
    chosen = {name: int(counts[name]) for name, want in wanted.items() if want}
    if not dry_run:
        file.apply([Statement(f"db/prune_{name}", {"before": before}) for name in chosen])
        _checkpoint(file)
    return chosen


def _checkpoint(file: LocalFile) -> None:
    """Give the space back at once, if the writer has a pause; else DuckDB's next checkpoint does."""
    end = time.monotonic() + _CHECKPOINT_WAIT_S
    while True:
        try:
            file.read(lambda con: con.execute("CHECKPOINT") and None)
            return
        except duckdb.TransactionException:
            if time.monotonic() > end:
                logger.info("the file is busy: its free space is given back at the next checkpoint")
                return
            time.sleep(0.05)


MAINTENANCE: Mapping[str, Callable[..., Any]] = {
    "snapshot": snapshot,
    "import": import_file,
    "check": check,
    "prune": prune,
}
