"""The runner processes of a run: one per device slot, started again when they crash, stopped together.

Each process is a session of its own, so that Ctrl-C in the terminal reaches the run and not its runners;
the run then stops them. When the run itself is killed they notice that their parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from geko.errors import ToolError
from geko.log import logger
from geko.runners.main import EXIT_GAVE_UP, EXIT_TOOL_MISSING

_TICK_S = 0.2
_BACKOFF_S = (0.5, 30.0)
#: A process that lived so long had started well: the back-off begins anew.
_HEALTHY_S = 60.0


@dataclass(frozen=True, slots=True)
class Slot:
    """One place to run.

    Attributes:
        ordinal: device number as the programs take it.
        device_id: row of table ``device``.
    """

    ordinal: int
    device_id: str


@dataclass(slots=True)
class _Worker:
    slot: Slot
    name: str
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    crashes: int = 0
    not_before: float = 0.0
    ended: str | None = None
    log: Path | None = None


@dataclass(slots=True)
class RunnerPool:
    """Starts, watches and stops runner processes.

    Attributes:
        db: the warehouse.
        slots: where to run.
        workdir: folder for the runners' files and logs.
        kinds: job kinds to claim, None for all.
        simulated: the runners work for simulated roots only.
        limit, max_cost_s: size of a claim, see :class:`geko.runners.main.Options`.
        stall_s: seconds without output that count as a hang.
        max_crashes: crashes in a row after which a slot is given up.
        verbose: log level of the runners; they write into ``runner-<device>.log`` in ``workdir``.
        env: environment of the runners; None inherits.
    """

    db: Path
    slots: Sequence[Slot]
    workdir: Path
    kinds: Sequence[str] | None = None
    simulated: bool = False
    limit: int = 16
    max_cost_s: float = 30.0
    stall_s: float | None = 300.0
    max_crashes: int = 5
    verbose: int = 1
    env: Mapping[str, str] | None = None
    _workers: list[_Worker] = field(default_factory=list, init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)
    _watcher: threading.Thread | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def start(self) -> None:
        """Start all processes; returns at once."""
        if self._watcher is not None:
            return
        self.workdir.mkdir(parents=True, exist_ok=True)
        host = socket.gethostname()
        numbers: dict[int, int] = {}
        for slot in self.slots:
            number = numbers[slot.ordinal] = numbers.get(slot.ordinal, -1) + 1
            suffix = f".{number}" if number else ""
            name = f"{host}:{slot.ordinal}{suffix}:{os.getpid()}"
            log = self.workdir / f"runner-{slot.ordinal}{suffix}.log"
            self._workers.append(_Worker(slot, name, log=log))
        for worker in self._workers:
            self._spawn(worker)
        self._watcher = threading.Thread(target=self._watch, name="geko-pool", daemon=True)
        self._watcher.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop all processes: SIGTERM, so that they give their work back; after the timeout SIGKILL."""
        self._stopping.set()
        with self._lock:
            running = [w.process for w in self._workers if w.process is not None and w.process.poll() is None]
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + timeout_s
        for process in running:
            try:
                process.wait(max(0.0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        if self._watcher is not None:
            self._watcher.join(timeout_s)

    @property
    def n_alive(self) -> int:
        """Processes that run, or wait for their next start."""
        return sum(worker.ended is None for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of those that run now."""
        return [w.process.pid for w in self._workers if w.process is not None and w.process.poll() is None]

    @property
    def failures(self) -> list[str]:
        """Why slots were given up."""
        return [worker.ended for worker in self._workers if worker.ended]

    def require_alive(self) -> None:
        """Check that somebody still works.

        Raises:
            ToolError: if every slot was given up; says why.
        """
        if self._workers and not self.n_alive:
            raise ToolError("no runner is left: " + "; ".join(dict.fromkeys(self.failures)))

    def __enter__(self) -> RunnerPool:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def command(self, slot: Slot, name: str) -> list[str]:
        """Command line of one runner process."""
        words = [
            sys.executable, "-m", "geko.runners", "--db", str(self.db), "--device", str(slot.ordinal),
            "--device-id", slot.device_id, "--name", name, "--parent", str(os.getpid()),
            "--limit", str(self.limit), "--max-cost", str(self.max_cost_s), "--stall", str(self.stall_s or 0),
            "--verbose", str(self.verbose), "--workdir", str(self.workdir),
            "--cpu-threads", str(max(1, (os.cpu_count() or 1) // max(1, len(self.slots)))),
        ]  # fmt: skip
        if self.kinds is not None:
            words += ["--kinds", ",".join(self.kinds)]
        if self.simulated:
            words.append("--simulated")
        return words

    def _spawn(self, worker: _Worker) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            env = dict(os.environ if self.env is None else self.env)
            # The package may be run from a checkout that is not installed.
            package = str(Path(__file__).resolve().parents[2])
            env["PYTHONPATH"] = os.pathsep.join(part for part in (package, env.get("PYTHONPATH", "")) if part)
            assert worker.log is not None
            with worker.log.open("ab") as log:
                worker.process = subprocess.Popen(
                    self.command(worker.slot, worker.name),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=env,
                    start_new_session=True,
                )
            worker.started = time.monotonic()

    def _watch(self) -> None:
        while not self._stopping.wait(_TICK_S):
            now = time.monotonic()
            for worker in self._workers:
                if worker.ended is not None or self._stopping.is_set():
                    continue
                if worker.process is None:
                    if now >= worker.not_before:
                        self._spawn(worker)
                    continue
                code = worker.process.poll()
                if code is not None:
                    self._ended(worker, code, now)

    def _ended(self, worker: _Worker, code: int, now: float) -> None:
        worker.process = None
        last = _last_line(worker.log)
        if code == EXIT_TOOL_MISSING:
            worker.ended = f"device {worker.slot.ordinal}: its program is missing ({last})"
            logger.error("runner of %s", worker.ended)
            return
        worker.crashes = 1 if now - worker.started > _HEALTHY_S else worker.crashes + 1
        if code == EXIT_GAVE_UP:
            worker.ended = f"device {worker.slot.ordinal}: {last}"
            logger.error("given up: %s", worker.ended)
            return
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        if worker.crashes > self.max_crashes:
            worker.ended = (
                f"device {worker.slot.ordinal}: its runner ended {worker.crashes} times ({how}: {last})"
            )
            logger.error("given up: %s", worker.ended)
            return
        pause = min(_BACKOFF_S[0] * 2 ** (worker.crashes - 1), _BACKOFF_S[1])
        worker.not_before = now + pause
        logger.warning(
            "the runner of device %d ended (%s); started again in %.1f s", worker.slot.ordinal, how, pause
        )


def _last_line(path: Path | None) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path is not None else ""
    except OSError:
        text = ""
    return next((line.strip()[:300] for line in reversed(text.splitlines()) if line.strip()), "no message")
