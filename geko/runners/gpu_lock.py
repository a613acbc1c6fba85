"""One user at a time on a GPU: a lock file per host and device.

The lock belongs to the open file, so that a program which inherits the descriptor keeps the GPU locked
until it has ended, even when its runner was killed. Tensile takes the same lock with its own library
(``--client-lock``). It covers the processes of one user; other users' are not seen.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from geko.errors import Interrupted
from geko.log import logger
from geko.warehouse.place import make_private_folder, runtime_folder

_POLL_S = 0.1
#: Seconds of waiting after which a message says so, and seconds between messages.
_SAY_AFTER_S, _SAY_EVERY_S = 1.0, 60.0


def physical_ordinal(ordinal: int, env: Mapping[str, str]) -> str:
    """Name of the device that a number means under the runtime's visibility variables.

    HIP_VISIBLE_DEVICES counts within what ROCR_VISIBLE_DEVICES leaves. Entries may be numbers or
    ``GPU-<uuid>``.

    Args:
        ordinal: number as the programs take it.
        env: their environment.
    """
    number, name = ordinal, str(ordinal)
    for variable in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        entries = [item.strip() for item in env.get(variable, "").split(",") if item.strip()]
        if not entries:
            continue
        if number >= len(entries):
            return f"{variable}[{number}]"
        name = entries[number]
        if not name.isdigit():
            return name
        number = int(name)
    return name


class GpuLock:
    """Lock of one device of this host.

    Args:
        device: what :func:`physical_ordinal` gives.
        folder: where the lock file lies; None for the user's runtime folder.
    """

    def __init__(self, device: str, folder: Path | None = None) -> None:
        self.device = device
        host = socket.gethostname()
        digest = hashlib.sha256(f"{host}:{device}".encode()).hexdigest()[:8]
        safe = "".join(char if char.isalnum() else "-" for char in device)[:24]
        if folder is None:
            folder = runtime_folder()
            make_private_folder(folder)
        self.path = folder / f"gpu-{safe}-{digest}.lock"
        self._fd: int | None = None

    @property
    def fd(self) -> int | None:
        """Descriptor while the lock is held, for programs to inherit."""
        return self._fd

    def acquire(self, stop: threading.Event | None = None, timeout_s: float | None = None) -> None:
        """Wait for the lock.

        Raises:
            Interrupted: if ``stop`` is set, or the time is over, before it is free.
        """
        if self._fd is not None:
            return
        fd = self._open()
        start = time.monotonic()
        say_at = start + _SAY_AFTER_S
        try:
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self._is_current(fd):
                        break
                    # Another program's lock library removed the file when it was done: this lock excludes nobody.
                    os.close(fd)
                    fd = self._open()
                    continue
                except BlockingIOError:
                    pass
                now = time.monotonic()
                if now >= say_at:
                    say_at = now + _SAY_EVERY_S
                    logger.info("GPU %s is in use by %s: waiting for it", self.device, self._holder(fd))
                if (stop is not None and stop.is_set()) or (
                    timeout_s is not None and now - start >= timeout_s
                ):
                    raise Interrupted(f"stopped while waiting for GPU {self.device}")
                if stop is not None:
                    stop.wait(_POLL_S)
                else:
                    time.sleep(_POLL_S)
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _is_current(self, fd: int) -> bool:
        """Whether a descriptor is of the file that others open under this name."""
        try:
            return os.path.samestat(os.fstat(fd), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back; it is free once no program holds it any more."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    @staticmethod
    def _holder(fd: int) -> str:
        pid = os.pread(fd, 32, 0).decode(errors="replace").strip()
        return f"process {pid}" if pid else "another process"
