"""What a run needs of the process it runs in: a folder for its files, and signals that stop it cleanly."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from geko.errors import Interrupted, UsageError


def new_workdir(parent: Path | None = None, now: datetime | None = None) -> Path:
    """Name of a new working directory: ``geko_<YYYYmmdd_HHMMSS_ffffff>``, with a number if that is taken."""
    base = (parent or Path.cwd()) / (now or datetime.now()).strftime("geko_%Y%m%d_%H%M%S_%f")
    path, number = base, 0
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}_{number}")
    return path


def require_writable(folder: Path) -> None:
    """Make a working directory, and try whether files can be written into it: better now than after the measurements.

    Raises:
        UsageError: it can't be made, or not be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
    except OSError as error:
        raise UsageError(f"--workdir {folder} can't be written to: {error.strerror}") from error


@contextmanager
def stop_signals() -> Iterator[Any]:
    """Turn SIGINT and SIGTERM into a clean stop between two polls; the handlers are restored afterwards."""
    stop = threading.Event()

    def requested() -> None:
        if stop.is_set():
            raise Interrupted("stopped")

    if threading.current_thread() is not threading.main_thread():
        yield requested
        return

    def handler(signum: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield requested
        requested()
    finally:
        for number, old in before.items():
            signal.signal(number, old)
