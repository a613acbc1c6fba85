"""Running one external program: output into a spool file, time limits, clean end of its whole process group.

The program gets a session of its own, so that a signal from the terminal doesn't reach it and everything that
it starts can be ended together. Where asked for, the kernel ends it when this process dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from geko.ingest.bench_events import read_event

#: Larger outputs are cut in the middle when they are kept (see :func:`cap_output`).
KEPT_BYTES = 64 * 2**20
#: A program that prints more than this is ended: it would fill the disk.
MOST_BYTES = 2**30
_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1
_MEMORY_FAULT_TAIL = 200
_MISSING = re.compile(
    r"error while loading shared libraries|No such file or directory|command not found|not found$", re.M
)
# Signals with which a program ends itself or is ended by the kernel; a shell reports them as 128 + number.
_FATAL = frozenset(
    int(number)
    for number in (
        signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGKILL,
        signal.SIGTERM, signal.SIGTRAP, signal.SIGSYS,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What became of a program.

    Attributes:
        outcome: ``ok`` (exit 0), ``crash`` (signal or another exit status), ``hang`` (no output for the stall
            time), ``timeout``, ``memory_fault`` (it ended badly and its output says so), ``tool_missing`` (it
            could not be started), ``released`` (ended on request), ``lost`` (its exit status is unknown).
        exit_code: as the shell gives it, 128 + signal number for a signal; None if it never started.
        output: standard output and standard error together; bytes that are no UTF-8, and NULs, are replaced.
        started_at: UTC, the moment of its start.
        seconds: how long it ran.
        message: one sentence about a bad end, None after a good one.
        command: what was run, as one would type it, with the variables that were set for it.
    """

    outcome: str
    exit_code: int | None
    output: str
    started_at: datetime
    seconds: float
    message: str | None
    command: str


def run_process(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    shown_env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    spool_dir: Path | None = None,
    log: Path | None = None,
    tick: Callable[[], object] | None = None,
    timeout_s: float | None = None,
    restart_timeout: re.Pattern[bytes] | None = None,
    stall_s: float | None = None,
    grace_s: float = 5.0,
    stop: threading.Event | None = None,
    should_stop: Callable[[], bool] | None = None,
    pass_fds: Sequence[int] = (),
    die_with_parent: bool = False,
    most_bytes: int = MOST_BYTES,
) -> ProcessResult:
    """Run a program to its end, or to its limits.

    Args:
        command: program and arguments; no shell is involved.
        env: complete environment; None inherits.
        shown_env: variables to show in front of ``ProcessResult.command``.
        cwd: its working directory.
        spool_dir: where its output is collected; None for the system's temporary folder.
        log: file that its output is added to, for others to follow; it stays.
        tick: called some ten times a second; another answer than before is a sign of life, as output is.
        timeout_s: seconds from its start; None for no limit.
        restart_timeout: output that matches starts ``timeout_s`` anew (one limit per job of a batch).
        stall_s: seconds without new output after which it is taken to hang; None for never.
        grace_s: seconds between SIGTERM and SIGKILL.
        stop: ends it when set; ``should_stop`` is asked for the same some ten times a second.
        pass_fds: descriptors it inherits (a lock that must live as long as the program).
        die_with_parent: the kernel kills it when the caller ends (Linux only). The caller must be the main
            thread: the kernel watches the thread, not the process.
        most_bytes: it is ended when it has printed more.
    """
    words = [str(word) for word in command]
    shown = " ".join(
        [*(f"{key}={shlex.quote(value)}" for key, value in (shown_env or {}).items()), shlex.join(words)]
    )
    started_at, start = datetime.now(UTC), time.monotonic()
    with _spool(log, spool_dir) as spool:
        begin = spool.seek(0, os.SEEK_END)
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=spool,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
                preexec_fn=_die_with_parent() if die_with_parent else None,
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = f"{words[0]} can't be started: {getattr(error, 'strerror', None) or error}"
            return ProcessResult("tool_missing", None, "", started_at, 0.0, reason, shown)
        watch = _Watch(spool.fileno(), timeout_s, restart_timeout, stall_s, most_bytes, begin, tick)
        try:
            verdict = watch.wait(process, stop, should_stop)
        except BaseException:
            end_group(process, grace_s=min(grace_s, 1.0))
            raise
        code = end_group(process, grace_s=grace_s if verdict else 0.0)
        seconds = time.monotonic() - start
        spool.seek(begin)
        output = _text(spool.read())
    outcome, message, exit_code = _classify(verdict, code, output, watch)
    return ProcessResult(outcome, exit_code, output, started_at, seconds, message, shown)


def _spool(log: Path | None, folder: Path | None) -> IO[bytes]:
    if log is not None:
        return log.open("a+b")
    return tempfile.TemporaryFile(prefix="geko-", suffix=".out", dir=folder)


class _Watch:
    """Waits for a process and says why it has to be ended, if it has to."""

    def __init__(
        self,
        fd: int,
        timeout_s: float | None,
        restart: re.Pattern[bytes] | None,
        stall_s: float | None,
        most_bytes: int,
        begin: int = 0,
        tick: Callable[[], object] | None = None,
    ) -> None:
        self.fd, self.begin, self.tick = fd, begin, tick
        self.sign: object = None
        self.timeout_s, self.restart, self.stall_s, self.most_bytes = timeout_s, restart, stall_s, most_bytes
        self.size = begin
        self.tail = b""
        self.since = self.grown = time.monotonic()

    def wait(
        self,
        process: subprocess.Popen[bytes],
        stop: threading.Event | None,
        should_stop: Callable[[], bool] | None,
    ) -> str | None:
        """None when the process ended by itself, else the reason to end it."""
        with _ended(process) as ended:
            while not ended(_POLL_S):
                if (stop is not None and stop.is_set()) or (should_stop is not None and should_stop()):
                    return "stop"
                now = time.monotonic()
                self._look(now)
                if self.tick is not None and (sign := self.tick()) != self.sign:
                    self.sign, self.grown = sign, now
                if self.size - self.begin > self.most_bytes:
                    return "flood"
                if self.timeout_s is not None and now - self.since > self.timeout_s:
                    return "timeout"
                if self.stall_s is not None and now - self.grown > self.stall_s:
                    return "hang"
        return None

    def _look(self, now: float) -> None:
        size = os.fstat(self.fd).st_size
        if size == self.size:
            return
        self.grown = now
        if self.restart is not None and self.timeout_s is not None:
            new = os.pread(self.fd, min(size - self.size, 2**20), max(self.size, size - 2**20))
            # A match may stand across two looks: the end of the last one is looked at again.
            if self.restart.search(self.tail + new):
                self.since = now
                self.tail = b""
            else:
                self.tail = new[-64:]
        self.size = size


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]):  # type: ignore[no-untyped-def]
    """A function that waits up to so many seconds for the end, without collecting the exit status."""
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):

        def poll(seconds: float) -> bool:
            time.sleep(min(seconds, 0.02))
            info = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return info is not None

        yield poll
        return
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        yield lambda seconds: bool(poller.poll(seconds * 1000))
    finally:
        os.close(fd)


def end_group(process: subprocess.Popen[bytes], *, grace_s: float = 5.0) -> int | None:
    """End a process that leads a group, and all of the group: SIGTERM, after ``grace_s`` SIGKILL.

    A process that has ended is only collected; what it left behind in its group is killed.

    Returns:
        Its return code (negative for a signal), None if another part of the program collected it.
    """
    if process.returncode is not None:
        return process.returncode
    if not _has_ended(process) and grace_s > 0:
        _signal_group(process.pid, signal.SIGTERM)
        with _ended(process) as ended:
            limit = time.monotonic() + grace_s
            while not ended(max(0.0, min(_POLL_S, limit - time.monotonic()))) and time.monotonic() < limit:
                pass
    # While the leader isn't collected, its number can't be given to another group.
    _signal_group(process.pid, signal.SIGKILL)
    try:
        return process.wait(timeout=30)
    except (subprocess.TimeoutExpired, ChildProcessError):
        return None


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _die_with_parent() -> Callable[[], None] | None:
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (AttributeError, OSError):
        return None
    parent = os.getpid()

    def set_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return set_signal


def _classify(
    verdict: str | None, code: int | None, output: str, watch: _Watch
) -> tuple[str, str | None, int | None]:
    exit_code = None if code is None else 128 - code if code < 0 else code
    if verdict == "stop":
        return "released", "ended on request", exit_code
    if verdict == "timeout":
        return "timeout", f"ended at its limit of {watch.timeout_s:g} s", exit_code
    if verdict == "hang":
        return "hang", f"ended after {watch.stall_s:g} s without output", exit_code
    if verdict == "flood":
        return "crash", f"ended after it had printed {watch.size - watch.begin} bytes", exit_code
    if exit_code is None:
        return "lost", "its exit status was collected elsewhere", None
    if exit_code == 0:
        return "ok", None, 0
    number = exit_code - 128 if exit_code > 128 and exit_code - 128 in _FATAL else None
    how = f"ended by {signal.Signals(number).name}" if number is not None else f"exit status {exit_code}"
    fault = memory_fault_line(output)
    if fault is not None:
        return "memory_fault", f"{how}: {fault}", exit_code
    if exit_code in (126, 127) and _MISSING.search(output[-4000:]):
        return "tool_missing", f"{how}: {last_line(output)}", exit_code
    return "crash", crash_message(how, output), exit_code


def crash_message(how: str, text: str) -> str:
    """What is said of a crash: how it ended, and the last line of what was printed.

    Args:
        how: the message of a crash, or its first part.
        text: the output, or the part of it that is about the problem in question.
    """
    first = re.match(r"ended by \w+|exit status \d+", how)
    if first is None:
        return how
    last = last_line(text)
    return f"{first[0]}: {last}" if last else first[0]


def memory_fault_line(output: str) -> str | None:
    """The line near the end of an output that reports an illegal memory access of the GPU."""
    for line in reversed(output.splitlines()[-_MEMORY_FAULT_TAIL:]):
        text = line.strip()
        if text and read_event(0, text, -1).kind == "memory_fault":
            return text[:300]
    return None


def last_line(output: str) -> str:
    """The last line with text in it, shortened."""
    for line in reversed(output[-4000:].splitlines()):
        if line.strip():
            return line.strip()[:300]
    return ""


def cap_output(text: str, limit: int = KEPT_BYTES) -> str:
    """Keep an output of any usual size whole; cut a larger one in the middle, with a line that says how much.

    Args:
        text: the output.
        limit: most characters that are kept.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    cut = len(text) - 2 * half
    mark = f"[... {cut} characters cut out by GEKO: the output is longer than {limit} ...]"
    return f"{text[:half]}\n{mark}\n{text[-half:]}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "\ufffd").replace("\r\n", "\n")
