"""Snapshot, import, check and prune, run by the owner of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from geko.errors import InputError
from geko.warehouse.engine import STORAGE_VERSION, Connection, quoted, translated
from geko.warehouse.local import LocalFile


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
        outputs: texts of programs whose attempts succeeded.
        attempts: attempts that were given back or lost.
        before: only what is older; None for any age.
        dry_run: count only.
    """

    outputs: bool = True
    attempts: bool = False
    before: datetime | None = None
    dry_run: bool = True


def snapshot(file: LocalFile, target: str) -> None:
    """Copy the file with ``COPY FROM DATABASE``, which reads one state while writes go on."""
    if Path(target).exists():
        raise InputError("there is a file already: name another, or remove it", path=target)

    def run(con: Connection) -> None:
        part = f"{target}.part"
        Path(part).unlink(missing_ok=True)
        Path(part).parent.mkdir(parents=True, exist_ok=True)
        name = con.execute("SELECT current_database()").fetchall()[0][0].replace('"', '""')
        try:
            con.execute(f"ATTACH {quoted(part)} AS geko_snapshot (STORAGE_VERSION '{STORAGE_VERSION}')")
            try:
                con.execute(f'COPY FROM DATABASE "{name}" TO geko_snapshot')
            finally:
                con.execute("DETACH geko_snapshot")
        except duckdb.Error as exc:
            Path(part).unlink(missing_ok=True)
            raise translated(exc, "snapshot") from exc
        Path(part).rename(target)

    file.read(run)


MAINTENANCE: Mapping[str, Callable[..., Any]] = {"snapshot": snapshot}
