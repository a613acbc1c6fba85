"""Small helpers under the names of the Python API: commands, devices, the tensilelite client, time stamps."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from geko.devices import parse_devices
from geko.errors import MissingFileError, ToolError
from geko.runners.tensilelite_client import build_tensilelite_client, client_key, git_state

__all__ = [
    "build_tensilelite_client",
    "client_key",
    "git_state",
    "parse_devices",
    "run_silent_command",
    "sha256_of_file",
    "timestamp",
    "workdir_name",
]

_TAIL = 4000


def run_silent_command(
    command: Sequence[str | Path], cwd: str | Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Run a program whose output nobody wants to see, unless it fails.

    Args:
        command: program and arguments.
        cwd: its working directory.
        env: its environment; None inherits.

    Raises:
        ToolError: if it can't be started or its exit status isn't 0; holds the end of what it printed.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise ToolError(f"{words[0]} can't be started: {error.strerror or error}") from None
    if done.returncode != 0:
        printed = done.stderr or done.stdout
        tail = printed.decode("utf-8", "replace")[-_TAIL:].strip()
        raise ToolError(f"{' '.join(words[:3])} failed with exit status {done.returncode}:\n{tail}")


def sha256_of_file(path: str | Path) -> str:
    """sha256 of a file's bytes, in hexadecimal.

    Raises:
        MissingFileError: if there is no such file.
    """
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as handle:
            while block := handle.read(2**20):
                digest.update(block)
    except FileNotFoundError:
        raise MissingFileError("there is no such file", path=path) from None
    return digest.hexdigest()


def timestamp(now: datetime | None = None) -> str:
    """Time stamp for names, ``20260131_235959_000123``, in local time."""
    return (now or datetime.now()).strftime("%Y%m%d_%H%M%S_%f")


def utc_timestamp(now: datetime | None = None) -> str:
    """ISO-8601 time stamp in UTC with microseconds."""
    return (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds")


def workdir_name(base: str | Path = ".", now: datetime | None = None) -> Path:
    """A folder ``geko_<timestamp>`` that isn't there yet; a suffix ``_1``, ``_2``, ... where it is."""
    folder = Path(base) / f"geko_{timestamp(now)}"
    found, number = folder, 0
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}_{number}")
    return found
