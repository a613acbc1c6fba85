"""Runners that join work in progress from another shell: ``geko runner``."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from geko.devices import is_all, parse_devices
from geko.errors import InputError, Interrupted
from geko.hipblaslt import HipblasltRoot, find_root
from geko.log import logger
from geko.runners.pool import RunnerPool, Slot
from geko.runners.probe import count_devices, probe, store
from geko.warehouse import Warehouse

_TICK_S = 0.5


def join(
    db: str | Path,
    devices: str | Sequence[int],
    *,
    hipblaslt: str | Path | None = None,
    kinds: Sequence[str] | None = None,
    workdir: str | Path | None = None,
    idle_s: float | None = None,
    verbose: int = 1,
) -> None:
    """Work on the jobs of a warehouse until stopped.

    Args:
        db: the warehouse; usually owned by the process whose run is joined.
        devices: device list as on the command line, or numbers.
        hipblaslt: hipBLASLt root to probe the devices with; None for that of the open jobs, else the checkout found.
        kinds: job kinds to take; None for all.
        workdir: folder for the runners' files and logs; None for a temporary one.
        idle_s: end when no job was open for so many seconds; None waits for ever.
        verbose: log level of the runners.

    Raises:
        InputError: the devices don't belong to the environment of the open jobs.
        ToolError: a device doesn't answer, or no runner is left.
        Interrupted: SIGINT or SIGTERM; the work in hand went back.
    """
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(Warehouse.open(db))
        folder = Path(workdir) if workdir else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        open_jobs = warehouse.query("runners/open_jobs").to_pylist()
        root = _root_of(open_jobs, hipblaslt)
        ordinals = parse_devices(devices, count_devices(root) if is_all(devices) else None)
        probed = probe(root, ordinals)
        store(warehouse, probed)
        wanted = {row["environment_id"] for row in open_jobs}
        fitting = [item for item in probed if not wanted or item.environment.environment_id in wanted]
        if not fitting:
            first = probed[0].environment
            raise InputError(
                "these devices are of another environment than the open jobs (GPU, driver, ROCm, hipBLASLt "
                'build, clocks and variables must be the same); `geko sql "FROM environment"` shows them',
                value=f"{first.device_name} {first.gfx}, ROCm {first.rocm}, hipBLASLt {first.hipblaslt_git}",
            )
        slots = [Slot(item.ordinal, item.device_id) for item in fitting]
        pool = RunnerPool(
            warehouse.path, slots, folder, kinds=kinds, simulated=root.is_simulated, verbose=verbose
        )
        stop = stack.enter_context(_stop_on_signals())
        stack.enter_context(pool)
        logger.info("%d runners have joined; Ctrl-C ends them", len(slots))
        _wait(warehouse, pool, stop, idle_s)


def _root_of(open_jobs: Sequence[dict[str, object]], hipblaslt: str | Path | None) -> HipblasltRoot:
    if hipblaslt is not None:
        return find_root(hipblaslt, built=True)
    roots = [Path(str(row["root"])) for row in open_jobs if row["root"]]
    here = next((root for root in roots if root.is_dir()), None)
    return HipblasltRoot(here) if here is not None else find_root(built=True)


def _wait(warehouse: Warehouse, pool: RunnerPool, stop: threading.Event, idle_s: float | None) -> None:
    idle = 0.0
    while not stop.wait(_TICK_S):
        pool.require_alive()
        if idle_s is None:
            continue
        idle = 0.0 if warehouse.query("runners/open_jobs").num_rows else idle + _TICK_S
        if idle >= idle_s:
            return
    raise Interrupted("the runners were stopped; their work went back to the queue")


@contextlib.contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
