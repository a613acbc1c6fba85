"""One user at a time on a GPU."""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from pathlib import Path

import pytest

from geko.errors import Interrupted
from geko.runners.gpu_lock import GpuLock, physical_ordinal


@pytest.mark.parametrize(
    ("ordinal", "env", "device"),
    [
        (1, {}, "1"),
        (1, {"HIP_VISIBLE_DEVICES": "4,6"}, "6"),
        (0, {"HIP_VISIBLE_DEVICES": "1", "ROCR_VISIBLE_DEVICES": "2,5"}, "5"),
        (0, {"ROCR_VISIBLE_DEVICES": "GPU-abc"}, "GPU-abc"),
        (3, {"HIP_VISIBLE_DEVICES": "4,6"}, "HIP_VISIBLE_DEVICES[3]"),
    ],
)
def test_which_device_a_number_means(ordinal: int, env: dict[str, str], device: str) -> None:
    assert physical_ordinal(ordinal, env) == device


def test_the_second_waits_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, other = GpuLock("0", tmp_path), GpuLock("0", tmp_path), GpuLock("1", tmp_path)
    first.acquire()
    other.acquire()
    threading.Timer(1.5, first.release).start()
    start = time.monotonic()
    logging.getLogger("GEKO").propagate = True
    with caplog.at_level(logging.INFO, "GEKO"):
        second.acquire()
    assert 1.0 < time.monotonic() - start < 4.0
    assert "GPU 0 is in use by process" in caplog.text
    second.release()
    other.release()


def test_waiting_can_be_stopped(tmp_path: Path) -> None:
    first, second = GpuLock("0", tmp_path), GpuLock("0", tmp_path)
    first.acquire()
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Interrupted):
        second.acquire(stop)
    with pytest.raises(Interrupted):
        second.acquire(timeout_s=0.0)
    first.release()
    second.acquire(timeout_s=0.0)
    second.release()


def test_a_program_that_inherits_the_lock_keeps_the_gpu(tmp_path: Path) -> None:
    first, second = GpuLock("0", tmp_path), GpuLock("0", tmp_path)
    first.acquire()
    assert first.fd is not None
    with subprocess.Popen(["/bin/sleep", "30"], pass_fds=[first.fd]) as program:
        first.release()
        with pytest.raises(Interrupted):
            second.acquire(timeout_s=0.3)
        program.kill()
    second.acquire(timeout_s=2.0)
    second.release()


def test_a_lock_file_that_was_removed_meanwhile_locks_nobody(tmp_path: Path) -> None:
    """Lock libraries may remove the file at their release: whoever waited on it must look again."""
    first, second, third = (GpuLock("0", tmp_path) for _ in range(3))
    first.acquire()
    waiter = threading.Thread(target=second.acquire)
    waiter.start()
    time.sleep(0.3)
    first.path.unlink()
    third.acquire(timeout_s=5.0)
    first.release()
    time.sleep(0.3)
    assert waiter.is_alive(), "the second holds a file that nobody else sees"
    third.release()
    waiter.join(5)
    assert second.fd is not None
    with pytest.raises(Interrupted):
        third.acquire(timeout_s=0.2)
    second.release()


def test_the_lock_of_tensile_is_the_same(tmp_path: Path) -> None:
    filelock = pytest.importorskip("filelock")
    ours = GpuLock("0", tmp_path)
    with filelock.FileLock(str(ours.path)), pytest.raises(Interrupted):
        ours.acquire(timeout_s=0.3)
    ours.acquire(timeout_s=2.0)
    with pytest.raises(filelock.Timeout):
        filelock.FileLock(str(ours.path)).acquire(timeout=0.3)
    ours.release()
