"""Where the owner of a file listens, how it is named in errors, and whether the file lies on a network."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import stat
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from geko.fsio import write_text_atomic
from geko.log import logger

# sun_path holds 108 bytes on Linux and 104 elsewhere, with the final NUL.
_MAX_SOCKET_PATH = 100
_NETWORK_FILESYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p"})


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """Who owns a file.

    Attributes:
        pid: process id; host: where it runs.
        command: its command line.
        run: what it is doing, where it said so.
    """

    pid: int
    host: str
    command: str
    run: str | None = None

    def __str__(self) -> str:
        doing = f", {self.run}" if self.run else ""
        return f"process {self.pid} on {self.host} ({self.command}{doing})"


def this_process(run: str | None = None) -> OwnerRecord:
    """Record of this process."""
    return OwnerRecord(os.getpid(), socket.gethostname(), " ".join(sys.argv)[:200] or "python", run)


def process_is_gone(pid: int) -> bool:
    """Whether no such process of this host is left, or only its exit status."""
    try:
        # The state follows the name in parentheses, which may hold anything; see proc(5).
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def socket_paths(file: Path) -> list[Path]:
    """Where the owner of a file may listen, best first: beside the file, else in a private folder of the
    user.

    Args:
        file: real path of the file.
    """
    beside = Path(f"{file}.sock")
    digest = hashlib.sha256(os.fsencode(file)).hexdigest()[:24]
    private = runtime_folder() / f"{digest}.sock"
    return [path for path in (beside, private) if len(os.fsencode(path)) <= _MAX_SOCKET_PATH]


def make_private_folder(path: Path) -> None:
    """Make the user's private folder. One that others can only read becomes private; one that they could write to is
    refused.

    Raises:
        PermissionError: if it belongs to somebody else or is open to others.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(
            errno.EACCES,
            "this is not a private folder of this user: remove it, or name others with XDG_RUNTIME_DIR and TMPDIR",
            str(path),
        )
    if status.st_mode & 0o077:
        path.chmod(0o700)


def runtime_folder() -> Path:
    """Where sockets and locks of this user lie; it may have to be made (`make_private_folder`)."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "geko" if base and Path(base).is_dir() else Path(f"/tmp/geko-{os.getuid()}")


def record_path(socket_path: Path) -> Path:
    """File beside the socket that says who listens."""
    return socket_path.with_suffix(".owner")


def write_record(socket_path: Path, record: OwnerRecord) -> None:
    """Say who owns the file."""
    write_text_atomic(record_path(socket_path), json.dumps(asdict(record)) + "\n")


def read_record(file: Path) -> OwnerRecord | None:
    """Who owned the file last, as far as it is known."""
    for path in socket_paths(file):
        try:
            return OwnerRecord(**json.loads(record_path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue
    return None


def network_filesystem(path: Path, mountinfo: str | None = None) -> str | None:
    """Type of the network file system that a path lies on, or None.

    Args:
        path: real path of a file or of one that is to be made.
        mountinfo: text of ``/proc/self/mountinfo`` (see proc(5)); None reads it.
    """
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    best, kind = "", None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].replace("\\040", " ") if left.count(" ") >= 4 else ""
        inside = point and (point == "/" or str(path) == point or str(path).startswith(point + "/"))
        if inside and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind if kind in _NETWORK_FILESYSTEMS else None


def warn_if_network(path: Path) -> None:
    """Warn when the file lies on a network file system, where locks and fsync don't hold."""
    kind = network_filesystem(path)
    if kind is not None:
        logger.warning(
            "%s lies on a network file system (%s), where file locks can fail: keep the warehouse on a local"
            " disk (--db or GEKO_DB) and copy a snapshot instead",
            path,
            kind,
        )
