"""Files: written so that a reader sees the old content or the new, never half of it; checked before they are read; locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from geko.errors import InputError, Interrupted, MissingFileError

_POLL_S = 0.2


def require_file(path: str | Path) -> None:
    """Check that a path is a file that can be read as often as it takes.

    Raises:
        MissingFileError: there is nothing.
        InputError: it is a folder or a pipe, or may not be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError("this is a folder: name its files, such as FOLDER/*", path=path)
        if not path.exists():
            raise MissingFileError("there is no such file", path=path)
        if not path.is_file():
            raise InputError(
                "this is no regular file, and a pipe can't be read twice: write it to a file", path=path
            )
        path.open("rb").close()
    except OSError as error:
        if isinstance(error, MissingFileError):
            raise
        raise InputError(
            f"this file can't be read: {error.strerror}; give its reader the right to (chmod +r)", path=path
        ) from error


def require_folder(path: str | Path) -> None:
    """Check that a path is a folder.

    Raises:
        MissingFileError: there is nothing.
        InputError: it is something else.
    """
    if Path(path).is_dir():
        return
    if not Path(path).exists():
        raise MissingFileError("there is no such folder", path=path)
    raise InputError("this is no folder: name the folder that holds the files", path=path)


@contextlib.contextmanager
def atomic_writer(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary sibling of ``path`` and move it into place when the block ends well.

    Args:
        path: the file to write; missing parent directories are made.
        mode: ``"w"`` (UTF-8 text, ``\\n`` line ends) or ``"wb"``.

    Yields:
        The open temporary file. When the block raises, it is removed and ``path`` stays as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = "b" not in mode
    try:
        fd, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with os.fdopen(
            fd, mode, encoding="utf-8" if text else None, newline="\n" if text else None
        ) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        # mkstemp makes files that only the owner can read: give the mode a plain open() would.
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        if isinstance(error, OSError) and error.filename in (None, name):
            # A full disk doesn't say where, and the temporary file says nothing to who asked for the other.
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


def write_text_atomic(path: str | Path, text: str) -> None:
    """Write UTF-8 text to ``path`` atomically."""
    with atomic_writer(path, "w") as handle:
        handle.write(text)


def write_bytes_atomic(path: str | Path, data: bytes) -> None:
    """Write bytes to ``path`` atomically."""
    with atomic_writer(path, "wb") as handle:
        handle.write(data)


@contextlib.contextmanager
def file_lock(
    path: str | Path, stop: threading.Event | None = None, what: str | None = None
) -> Iterator[int]:
    """Hold the lock of a file, which is made if it is not there.

    Args:
        path: the lock file; missing parent directories are made.
        stop: ends the waiting when it is set.
        what: what is waited for, for the error; the path if not given.

    Yields:
        A descriptor. A program that inherits it keeps the lock until it ends.

    Raises:
        Interrupted: ``stop`` was set before the lock was free.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    waiter = stop or threading.Event()
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if waiter.wait(_POLL_S):
                    raise Interrupted(f"stopped while waiting for {what or path}") from None
        yield handle
    finally:
        os.close(handle)
