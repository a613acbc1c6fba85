"""Worker and Runner: one thread per item, at most so many slots per device."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from geko.errors import Interrupted, RunFailedError, UsageError
from geko.fsio import write_text_atomic
from geko.log import logger

_POLL_S = 0.2


class Worker:
    """Work on one item; override :meth:`run`, and :meth:`setup` and :meth:`teardown` where needed.

    Args:
        item: what to work on.
        device: device number.
        slot_id: slot on that device, from 0.
        stop_event: set when work is to end.
        output_queue: gets ``(success, item)``.
    """

    def __init__(
        self,
        item: Any,
        device: int,
        slot_id: int,
        stop_event: threading.Event,
        output_queue: queue.Queue[tuple[bool, Any]],
    ) -> None:
        self.item = item
        self.device = device
        self.slot_id = slot_id
        self.stop_event = stop_event
        self.output_queue = output_queue

    def setup(self) -> None:
        """Before :meth:`run`."""

    def run(self) -> bool:
        """Do the work; returns whether it succeeded."""
        raise NotImplementedError

    def teardown(self) -> None:
        """After :meth:`run`, also after an error."""

    def __call__(self) -> None:
        """Set up, run and tear down; an error counts as a failure and is logged."""
        success = False
        try:
            try:
                self.setup()
                success = bool(self.run())
            finally:
                self.teardown()
        except Exception:
            success = False
            logger.exception("work on %s failed", self.item)
        finally:
            self.output_queue.put((success, self.item))


class Runner:
    """Runs a worker for each item.

    Args:
        items: the items.
        worker_impl: subclass of :class:`Worker`, or what makes one from the same arguments.
        devices: device numbers.
        n_slots: items at a time on one device.
        estimate_workload_fn: gives an item's cost; the largest start first. None keeps the order.
        job_logger_fn: called with the active workers at each change.
        abort_after_consecutive_failures: start nothing more after so many failures in a row; 0 for never.
        failed_log: file that lists the failed items, one per line; removed when there are none. None
            writes none.

    Attributes:
        completed, failed: items that are finished.
    """

    def __init__(
        self,
        items: Sequence[Any],
        worker_impl: Callable[..., Worker],
        devices: Sequence[int],
        n_slots: int = 1,
        estimate_workload_fn: Callable[[Any], float] | None = None,
        job_logger_fn: Callable[[list[Worker]], None] | None = None,
        abort_after_consecutive_failures: int = 0,
        failed_log: str | Path | None = None,
    ) -> None:
        if n_slots < 1:
            raise UsageError(f"n_slots must be at least 1, not {n_slots}")
        if not devices:
            raise UsageError("at least one device is needed")
        self.items = list(items)
        if estimate_workload_fn is not None:
            self.items.sort(key=estimate_workload_fn, reverse=True)
        self.worker_impl = worker_impl
        self.devices = list(devices)[: max(1, len(self.items))]
        self.n_slots = n_slots
        self.job_logger_fn = job_logger_fn
        self.abort_after = abort_after_consecutive_failures
        self.failed_log = Path(failed_log) if failed_log is not None else None
        self.stop_event = threading.Event()
        self.completed: list[Any] = []
        self.failed: list[Any] = []

    def __call__(self) -> list[Any]:
        """Run all items.

        Returns:
            The items that succeeded, in the order they ended. Compare it with what you asked for.

        Raises:
            Interrupted: after SIGINT or SIGTERM, once the active workers have ended.
            RunFailedError: after too many failures in a row; names the last item.
        """
        done: queue.Queue[tuple[bool, Any]] = queue.Queue()
        waiting = list(reversed(self.items))
        active: dict[int, Worker] = {}
        in_a_row = 0
        with self._signals():
            while waiting or active:
                aborted = self.abort_after > 0 and in_a_row >= self.abort_after
                while waiting and not aborted and not self.stop_event.is_set():
                    place = self._free(list(active.values()))
                    if place is None:
                        break
                    worker = self.worker_impl(waiting.pop(), *place, self.stop_event, done)
                    active[id(worker.item)] = worker
                    threading.Thread(target=worker, name=f"geko-{place[0]}-{place[1]}", daemon=True).start()
                    self._tell(active)
                if not active:
                    break
                try:
                    success, item = done.get(timeout=_POLL_S)
                except queue.Empty:
                    continue
                active.pop(id(item), None)
                in_a_row = 0 if success else in_a_row + 1
                (self.completed if success else self.failed).append(item)
                self._write_failed()
                self._tell(active)
                logger.debug("n_completed=%d n_failed=%d", len(self.completed), len(self.failed))
        if self.stop_event.is_set():
            raise Interrupted(f"stopped after {len(self.completed)} of {len(self.items)} items")
        if waiting:
            raise RunFailedError(
                f"{in_a_row} failures in a row, the last at {self.failed[-1]}: {len(waiting)} items were not"
                " started"
            )
        return self.completed

    def stop(self) -> None:
        """Start nothing more, and ask the active workers to end."""
        self.stop_event.set()

    def _free(self, active: list[Worker]) -> tuple[int, int] | None:
        """The device with the fewest active items, and its lowest free slot."""
        used: dict[int, set[int]] = {device: set() for device in self.devices}
        for worker in active:
            used[worker.device].add(worker.slot_id)
        device = min(self.devices, key=lambda number: len(used[number]))
        free = [slot for slot in range(self.n_slots) if slot not in used[device]]
        return (device, free[0]) if free else None

    def _tell(self, active: dict[int, Worker]) -> None:
        if self.job_logger_fn is not None:
            self.job_logger_fn(list(active.values()))

    def _write_failed(self) -> None:
        if self.failed_log is None:
            return
        if self.failed:
            write_text_atomic(self.failed_log, "".join(f"{item}\n" for item in self.failed))
        else:
            self.failed_log.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM stop the run; handlers can only be set in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            logger.warning("%s: no new work is started", signal.Signals(number).name)
            self.stop_event.set()

        before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
