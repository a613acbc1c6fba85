"""The thread scheduler for scripts."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from geko.concurrency import Runner, Worker, parallel_for, wait_process_or_stop
from geko.errors import Interrupted, RunFailedError, UsageError


class Recorder:
    """Makes workers that note what they do."""

    def __init__(self, fails: Any = (), seconds: float = 0.0) -> None:
        self.fails, self.seconds = fails, seconds
        self.started: list[Any] = []
        self.places: dict[Any, tuple[int, int]] = {}
        self.busy: dict[int, int] = {}
        self.most: dict[int, int] = {}
        self.torn_down: list[Any] = []
        self.lock = threading.Lock()

    def __call__(
        self,
        item: Any,
        device: int,
        slot: int,
        stop: threading.Event,
        output: queue.Queue[tuple[bool, Any]],
    ) -> Worker:
        recorder = self

        class Recorded(Worker):
            def setup(self) -> None:
                with recorder.lock:
                    recorder.started.append(item)
                    recorder.places[item] = (device, slot)
                    recorder.busy[device] = recorder.busy.get(device, 0) + 1
                    recorder.most[device] = max(recorder.most.get(device, 0), recorder.busy[device])

            def run(self) -> bool:
                stop.wait(recorder.seconds)
                if item == "raises":
                    raise RuntimeError("broken")
                return item not in recorder.fails

            def teardown(self) -> None:
                with recorder.lock:
                    recorder.busy[device] -= 1
                    recorder.torn_down.append(item)

        return Recorded(item, device, slot, stop, output)


def test_all_items_over_devices_and_slots() -> None:
    work = Recorder(seconds=0.05)
    done = Runner(list(range(12)), work, [3, 5], n_slots=2)()
    assert sorted(done) == list(range(12))
    assert work.most == {3: 2, 5: 2}
    assert {work.places[0], work.places[1]} == {(3, 0), (5, 0)}


def test_largest_first() -> None:
    work = Recorder()
    Runner([3, 9, 1, 7], work, [0], estimate_workload_fn=float)()
    assert work.started == [9, 7, 3, 1]


def test_failures_are_listed_and_the_rest_is_done(tmp_path: Path) -> None:
    work = Recorder(fails={"b"})
    log = tmp_path / "failed_jobs.log"
    runner = Runner(["a", "b", "raises", "c"], work, [0], failed_log=log)
    assert runner() == ["a", "c"] and runner.failed == ["b", "raises"]
    assert log.read_text() == "b\nraises\n"
    assert work.torn_down == ["a", "b", "raises", "c"]
    assert Runner(["a"], Recorder(), [0], failed_log=log)() == ["a"]
    assert not log.exists()


def test_a_dead_device_does_not_eat_the_queue() -> None:
    work = Recorder(fails=range(20))
    runner = Runner(list(range(20)), work, [0], abort_after_consecutive_failures=3)
    with pytest.raises(RunFailedError, match="3 failures in a row, the last at 2: 17 items"):
        runner()
    assert work.started == [0, 1, 2]


def test_a_success_in_between_resets_the_count() -> None:
    work = Recorder(fails={0, 1, 3, 4})
    assert Runner(list(range(6)), work, [0], abort_after_consecutive_failures=3)() == [2, 5]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    work = Recorder(seconds=30)
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
    start = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        Runner(list(range(5)), work, [0, 1])()
    assert caught.value.exit_code == 130
    assert time.monotonic() - start < 5 and len(work.started) == 2
    assert sorted(work.torn_down) == sorted(work.started)
    assert signal.getsignal(number) is before


def test_active_workers_are_told() -> None:
    seen: list[list[Any]] = []
    Runner([1, 2], Recorder(), [0], job_logger_fn=lambda active: seen.append([w.item for w in active]))()
    assert seen == [[1], [], [2], []]


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match="n_slots"):
        Runner([1], Recorder(), [0], n_slots=0)
    with pytest.raises(UsageError, match="device"):
        Runner([1], Recorder(), [])


def _start(text: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sh", "-c", text], start_new_session=True)


def test_waiting_for_a_process() -> None:
    with _start("exit 4") as process:
        assert wait_process_or_stop(process, threading.Event(), "x") is False
    assert process.returncode == 4


def test_a_stop_is_no_stall_and_ends_in_a_kill() -> None:
    stop = threading.Event()
    stop.set()
    with _start("trap '' TERM; while :; do sleep 0.1; done") as process:
        time.sleep(0.2)
        start = time.monotonic()
        assert wait_process_or_stop(process, stop, "x", terminate_timeout=0.3) is False
    assert process.returncode == -signal.SIGKILL and time.monotonic() - start < 3


def test_a_stalled_process_is_ended_and_a_busy_one_is_not(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with _start(f"for i in 1 2 3 4 5; do echo $i >> {log}; sleep 0.2; done") as process:
        assert (
            wait_process_or_stop(process, threading.Event(), "x", progress_path=log, stall_timeout=0.7)
            is False
        )
    assert process.returncode == 0
    with _start(f"echo 1 >> {log}; sleep 60") as process:
        assert (
            wait_process_or_stop(process, threading.Event(), "x", progress_path=log, stall_timeout=0.5)
            is True
        )
    assert process.returncode == -signal.SIGTERM


def test_parallel_for_keeps_the_order() -> None:
    assert parallel_for(abs, [-3, 2, -1]) == [3, 2, 1]
    assert parallel_for(abs, [-3]) == [3] and parallel_for(abs, []) == []
