"""Items over devices and slots in threads: the scheduler for scripts. Runs of GEKO use the queue instead."""

from __future__ import annotations

from geko.concurrency.runner import Runner, Worker
from geko.concurrency.utils import parallel_for, wait_process_or_stop

__all__ = ["Runner", "Worker", "parallel_for", "wait_process_or_stop"]
