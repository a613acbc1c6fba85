"""Waiting for processes, and a parallel map."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from geko.log import logger
from geko.runners.process import end_group

A = TypeVar("A")
B = TypeVar("B")


def wait_process_or_stop(
    process: subprocess.Popen[bytes],
    stop_event: threading.Event,
    name: str,
    poll: float = 1.0,
    terminate_timeout: float = 30.0,
    progress_path: str | Path | None = None,
    stall_timeout: float = 0.0,
) -> bool:
    """Wait for a process; end it on request, or when it makes no progress.

    The process must lead a group of its own (``start_new_session=True``): SIGTERM goes to all of the
    group, and after ``terminate_timeout`` SIGKILL.

    Args:
        process: the process.
        stop_event: ends it when set.
        name: for messages.
        poll: longest time between two looks, in seconds.
        terminate_timeout: seconds between SIGTERM and SIGKILL.
        progress_path: file that grows while it works.
        stall_timeout: seconds without a change of that file after which it is ended; 0 for never.

    Returns:
        True if it was ended for want of progress; a stop on request is no stall.
    """
    path = Path(progress_path) if progress_path is not None else None
    last, since = _state(path), time.monotonic()
    interval = min(poll, 0.2) if stall_timeout <= 0 else min(poll, 0.2, stall_timeout / 4)
    while True:
        try:
            process.wait(interval)
            return False
        except subprocess.TimeoutExpired:
            pass
        if stop_event.is_set():
            logger.info("%s is stopped", name)
            end_group(process, grace_s=terminate_timeout)
            return False
        if path is None or stall_timeout <= 0:
            continue
        now = _state(path)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > stall_timeout:
            logger.warning("%s made no progress for %g s and is stopped", name, stall_timeout)
            end_group(process, grace_s=terminate_timeout)
            return True


def _state(path: Path | None) -> tuple[int, int] | None:
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_size, status.st_mtime_ns)


def parallel_for(function: Callable[[A], B], items: Iterable[A], n_jobs: int = 64) -> list[B]:
    """Call a function for each item in several processes; results in the order of the items.

    Few items, or one process, are done here: starting processes would cost more.

    Args:
        function: a function that can be pickled.
        items: its arguments.
        n_jobs: most processes; never more than there are cores or items.
    """
    import os

    work = list(items)
    processes = min(n_jobs, len(work), os.cpu_count() or 1)
    if processes <= 1:
        return [function(item) for item in work]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(function, work))
