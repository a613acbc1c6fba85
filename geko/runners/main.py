"""A runner process: claims jobs for one device, runs them, delivers the results.

    python -m geko.runners --db FILE --device N [--device-id ID] [--kinds baseline,screen] [--parent PID]

SIGTERM and SIGINT end it within seconds: the program it runs is killed, its leases go back. When its
parent is gone it finishes what it runs, delivers that, and ends. Exit status 3: its program is missing; 4: its
jobs failed one after another; a restart is of no use in both cases.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geko.errors import GekoError, Interrupted, WarehouseBusyError, WarehouseError
from geko.log import logger, setup_logging
from geko.runners.base import RunContext, Runner, answer
from geko.runners.gpu_lock import GpuLock, physical_ordinal
from geko.warehouse.queue import (
    Claim,
    JobResult,
    claim,
    complete,
    complete_and_claim,
    end_runner,
    heartbeat,
    release,
    store_files,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Warehouse

EXIT_TOOL_MISSING = 3
#: Its jobs failed one after another: the device is at fault, and a restart is of no use.
EXIT_GAVE_UP = 4
HEARTBEAT_S = 5.0
#: Seconds of delivering before results are given up, while nobody answers.
DELIVER_S = 120.0
#: Seconds that a runner without a parent may go on with what it runs.
ORPHAN_S = 30.0
_IDLE_S = (0.02, 0.5)
_SELF_LOCKING = frozenset({"tune"})


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a runner process.

    Attributes:
        db: the warehouse.
        device: device number as the programs take it.
        device_id: row of table ``device``.
        name: name of the runner.
        kinds: job kinds to claim; None for all that its runners know.
        limit: most jobs of one claim; ``max_cost_s``: most seconds of device time of one claim.
        parent: process whose end ends this one.
        simulated: it works for simulated roots only.
        workdir: folder for input files and spooled output.
        stall_s: seconds without output that count as a hang.
        once: end when there is nothing to claim, instead of waiting for more.
        cpu_threads: processors that its programs may use for building; None for all.
    """

    db: Path
    device: int
    device_id: str
    name: str
    kinds: tuple[str, ...] | None = None
    limit: int = 16
    max_cost_s: float = 30.0
    parent: int | None = None
    simulated: bool = False
    workdir: Path = field(default_factory=Path.cwd)
    stall_s: float | None = 300.0
    once: bool = False
    cpu_threads: int | None = None


def runner_for(harness: str) -> Runner | None:
    """The runner of a harness; None if there is none."""
    if harness == "hipblaslt-bench":
        from geko.runners.hipblaslt_bench import HipblasltBenchRunner

        return HipblasltBenchRunner()
    if harness == "tensilelite":
        from geko.runners.tensilelite import TensileliteRunner

        return TensileliteRunner()
    return None


class RunnerProcess:
    """The claim loop.

    Args:
        options: what to do.
        warehouse: open warehouse.
        runners: gives the runner of a harness.
    """

    def __init__(
        self,
        options: Options,
        warehouse: Warehouse,
        runners: Callable[[str], Runner | None] = runner_for,
    ) -> None:
        self.options = options
        self.warehouse = warehouse
        self.stop = threading.Event()
        self.drain = threading.Event()
        self._runners = runners
        self._known: dict[str, Runner | None] = {}
        # Claimed together with the last delivery.
        self._next: list[Claim] = []
        self._tokens: set[str] = set()
        self._valid: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        # Simulated GPUs are nobody's: any number of runners may share one.
        self._gpu = None if options.simulated else GpuLock(physical_ordinal(options.device, os.environ))
        self.context = RunContext(
            ordinal=options.device,
            device_id=options.device_id,
            runner=options.name,
            workdir=options.workdir,
            stop=self.stop,
            simulated=options.simulated,
            stall_s=options.stall_s,
            abandoned=self._all_lost,
            die_with_parent=threading.current_thread() is threading.main_thread(),
            slot=_slot_of(options.name),
            cpu_threads=options.cpu_threads,
            progress=self._report,
        )

    def run(self) -> int:
        """Work until told to stop; returns the exit status."""
        beat = threading.Thread(target=self._heartbeats, name="geko-heartbeat", daemon=True)
        beat.start()
        status = 0
        idle = _IDLE_S[0]
        try:
            while not self.stop.is_set() and not self.drain.is_set():
                n, status = self._once()
                if status or (n == 0 and self.options.once):
                    break
                if n == 0:
                    self._give_gpu_back()
                    self.stop.wait(idle)
                    idle = min(2 * idle, _IDLE_S[1])
                else:
                    idle = _IDLE_S[0]
        except Interrupted:
            pass
        finally:
            self._ended.set()
            self._give_gpu_back()
            self._release_rest()
            with contextlib.suppress(GekoError):
                end_runner(self.warehouse, self.options.name)
        return status

    def _once(self) -> tuple[int, int]:
        """Claim, run and deliver once: number of claims, and an exit status if the process must end."""
        if self._gpu is not None and not self._shares_gpu_always():
            self._gpu.acquire(self.stop)
            self.context.inherit_fds = () if self._gpu.fd is None else (self._gpu.fd,)
        claims, self._next = self._next or self._claim(), []
        if not claims:
            return 0, 0
        self._hold(claims)
        missing = False
        try:
            groups = _by_harness(claims)
            for nr, group in enumerate(groups, 1):
                results = self._run_group(*group)
                lacking = next((item for item in results if item.outcome == "tool_missing"), None)
                if lacking is not None:
                    missing = True
                    logger.error("%s", lacking.message)
                self._deliver(results, go_on=nr == len(groups) and not missing and self._goes_on())
        finally:
            self._release_rest()
        if self.context.give_up is not None:
            logger.error("runner %s gives up: %s", self.options.name, self.context.give_up)
            return len(claims), EXIT_GAVE_UP
        return len(claims), EXIT_TOOL_MISSING if missing else 0

    def _shares_gpu_always(self) -> bool:
        """It claims nothing but jobs whose programs lock the GPU themselves."""
        return self.options.kinds is not None and set(self.options.kinds) <= _SELF_LOCKING

    def _report(self, rows: pa.Table) -> None:
        """Store how far a job is; not being able to costs nothing but the news."""
        from geko.warehouse.steps import Append

        try:
            self.warehouse.apply(Append("tuning_progress", rows))
        except GekoError as error:
            logger.warning("how far a job is could not be stored: %s", error)

    def _goes_on(self) -> bool:
        return not (self.stop.is_set() or self.drain.is_set() or self.context.give_up is not None)

    def _wish(self) -> tuple[Any, ...]:
        """What it claims: arguments of `claim`."""
        options = self.options
        return options.name, options.device_id, options.kinds, options.limit, options.max_cost_s

    def _claim(self) -> list[Claim]:
        return claim(self.warehouse, *self._wish(), ordinal=self.options.device)

    def _hold(self, claims: Sequence[Claim]) -> None:
        """These leases get heartbeats, and go back if it comes to that."""
        with self._lock:
            self._tokens = {item.token for item in claims}
            self._valid = set(self._tokens)

    def _run_group(self, harness: str, claims: Sequence[Claim]) -> list[JobResult]:
        runner = self._known.setdefault(harness, self._runners(harness))
        if runner is None:
            why = f"this version of GEKO has no runner for {harness!r}"
            return [answer(item, self.context, "unsupported", why) for item in claims]
        if getattr(runner, "shares_gpu", False):
            self._give_gpu_back()
            self.context.inherit_fds = ()
        try:
            return runner.run(claims, self.context)
        except Exception as error:  # a fault of ours must not cost the other jobs their device
            logger.exception("runner %s failed", harness)
            why = f"the runner failed: {type(error).__name__}: {error}"
            return [answer(item, self.context, "lost", why) for item in claims]

    def _deliver(self, results: Sequence[JobResult], go_on: bool = False) -> None:
        """Store results; kept up while the owner of the file changes.

        Args:
            results: what came of the last jobs.
            go_on: claim the next jobs in the same message.
        """
        start = time.monotonic()
        limit = start + DELIVER_S
        pause = 0.05
        while True:
            try:
                self.context.solutions.store(self.warehouse)
                store_files(self.warehouse, results)
                if go_on:
                    answers, self._next = complete_and_claim(
                        self.warehouse, results, *self._wish(), ordinal=self.options.device
                    )
                else:
                    answers = complete(self.warehouse, results)
                break
            except WarehouseError as error:
                if not isinstance(error, WarehouseBusyError) and pause > 0.2:
                    answers = self._deliver_singly(results)
                    break
                if time.monotonic() > (min(limit, start + 5.0) if self.stop.is_set() else limit):
                    logger.error("%d results could not be delivered: %s", len(results), error)
                    raise
                logger.warning("results are kept back for now: %s", error)
                time.sleep(pause)
                pause = min(2 * pause, 2.0)
        with self._lock:
            self._tokens -= {result.token for result in results}
            fresh = {item.token for item in self._next}
            self._tokens |= fresh
            self._valid |= fresh
        late = answers.count("late")
        if late:
            logger.warning("%d of %d results came after their lease had ended", late, len(results))

    def _deliver_singly(self, results: Sequence[JobResult]) -> list[Literal["accepted", "late"]]:
        """Store what the warehouse takes; a result that it refuses goes in without its rows."""
        answers: list[Literal["accepted", "late"]] = []
        for result in results:
            try:
                store_files(self.warehouse, [result])
                answers += complete(self.warehouse, [result])
            except WarehouseError as error:
                logger.error("the rows of job %s were refused: %s", result.job_id, error)
                message = f"its rows were refused: {error}; first outcome: {result.outcome}"
                bare = replace(
                    result, outcome="parse_error", message=message, measurements=None, validations=None
                )
                answers += complete(self.warehouse, [bare])
        return answers

    def _release_rest(self) -> None:
        with self._lock:
            kept = {item.token for item in self._next} if not self._ended.is_set() else set()
            tokens = sorted(self._tokens - kept)
            self._tokens = kept
        if tokens:
            with contextlib.suppress(GekoError):
                release(self.warehouse, self.options.name, tokens)

    def _give_gpu_back(self) -> None:
        if self._gpu is not None:
            self._gpu.release()

    def _all_lost(self) -> bool:
        with self._lock:
            return bool(self._tokens) and not self._valid & self._tokens

    def _heartbeats(self) -> None:
        last_beat, orphan_since = 0.0, None
        while not self._ended.wait(0.25):
            if self.options.parent is not None and os.getppid() != self.options.parent:
                if orphan_since is None:
                    orphan_since = time.monotonic()
                    logger.warning("runner %s: its parent is gone, it ends with this work", self.options.name)
                    self.drain.set()
                elif time.monotonic() - orphan_since > ORPHAN_S:
                    self.stop.set()
            with self._lock:
                tokens = sorted(self._tokens)
            if time.monotonic() - last_beat < HEARTBEAT_S or not tokens:
                continue
            last_beat = time.monotonic()
            try:
                valid = heartbeat(self.warehouse, self.options.name, tokens, device_id=self.options.device_id)
            except GekoError as error:
                logger.debug("heartbeat failed: %s", error)
                continue
            with self._lock:
                self._valid -= set(tokens) - set(valid)


def _slot_of(name: str) -> int:
    """Number of a runner among those of its device, which stands in its name: ``host:0.2:pid``."""
    match = re.search(r":\d+\.(\d+):\d+$", name)
    return int(match[1]) if match else 0


def _by_harness(claims: Sequence[Claim]) -> list[tuple[str, list[Claim]]]:
    groups: dict[str, list[Claim]] = {}
    for item in claims:
        try:
            harness = str(json.loads(item.spec).get("harness") or "hipblaslt-bench")
        except (ValueError, AttributeError):
            harness = "hipblaslt-bench"  # it refuses what it can't read
        groups.setdefault(harness, []).append(item)
    return list(groups.items())


def parse_options(arguments: Sequence[str] | None = None) -> tuple[Options, int]:
    """Options and verbosity from a command line."""
    parser = argparse.ArgumentParser(prog="python -m geko.runners", description="A GEKO runner process.")
    add = parser.add_argument
    add("--db", type=Path, required=True, help="the warehouse")
    add("--device", type=int, required=True, help="device number as the programs take it")
    add("--device-id", help="row of table device; looked up by host and number otherwise")
    add("--name", help="name of the runner")
    add("--kinds", help="job kinds to claim, with commas")
    add("--limit", type=int, default=16, help="most jobs of one claim")
    add("--max-cost", type=float, default=30.0, help="most seconds of device time of one claim")
    add("--parent", type=int, help="process whose end ends this one")
    add("--simulated", action="store_true", help="work for simulated roots only")
    add("--workdir", type=Path, help="folder for input files and spooled output")
    add("--stall", type=float, default=300.0, help="seconds without output that count as a hang, 0 for never")
    add("--once", action="store_true", help="end when there is nothing to claim")
    add("--cpu-threads", type=int, help="processors that its programs may use for building; all otherwise")
    add("-v", "--verbose", type=int, default=1, help="0, 1 or 2")
    given = parser.parse_args(arguments)
    import socket
    import tempfile

    name = given.name or f"{socket.gethostname()}:{given.device}:{os.getpid()}"
    options = Options(
        db=given.db,
        device=given.device,
        device_id=given.device_id or "",
        name=name,
        kinds=tuple(part for part in given.kinds.split(",") if part) if given.kinds else None,
        limit=given.limit,
        max_cost_s=given.max_cost,
        parent=given.parent,
        simulated=given.simulated,
        workdir=given.workdir or Path(tempfile.gettempdir()) / f"geko-runner-{os.getpid()}",
        stall_s=given.stall or None,
        once=given.once,
        cpu_threads=given.cpu_threads,
    )
    return options, given.verbose


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the process."""
    options, verbose = parse_options(arguments)
    setup_logging(verbose)
    process: list[RunnerProcess] = []
    early = threading.Event()

    def end(number: int, frame: Any) -> None:
        early.set()
        for item in process:
            item.context.grace_s = 1.0
            item.stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    options.workdir.mkdir(parents=True, exist_ok=True)
    from geko.warehouse.warehouse import Warehouse

    try:
        with Warehouse.open(options.db) as warehouse:
            if not options.device_id:
                options = _with_device(options, warehouse)
            worker = RunnerProcess(options, warehouse)
            process.append(worker)
            if early.is_set():
                worker.stop.set()
            return worker.run()
    except GekoError as error:
        logger.error("runner %s: %s", options.name, error)
        return error.exit_code
    finally:
        with contextlib.suppress(OSError):
            options.workdir.rmdir()


def _with_device(options: Options, warehouse: Warehouse) -> Options:
    import socket

    from geko.errors import InputError

    rows = warehouse.query(
        "runners/device_by_ordinal", None, host=socket.gethostname(), ordinal=options.device,
        simulated=options.simulated,
    ).to_pylist()  # fmt: skip
    if not rows:
        raise InputError(
            "the warehouse doesn't know this device; start the runner with `geko runner`, which probes it",
            value=options.device,
        )
    return replace(options, device_id=rows[0]["device_id"])


if __name__ == "__main__":
    raise SystemExit(main())
