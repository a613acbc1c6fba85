"""Small helpers under the names of the Python API: commands, devices, the tensilelite client, time stamps."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from geko.devices import parse_devices
from geko.errors import MissingFileError, ToolError
from geko.fsio import write_text_atomic
from geko.log import logger

__all__ = [
    "build_tensilelite_client",
    "client_key",
    "parse_devices",
    "run_silent_command",
    "sha256_of_file",
    "timestamp",
    "workdir_name",
]

_CLIENT = "tensilelite/client/tensilelite-client"
_KEY_FILE = "hash.txt"
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


def git_state(path: str | Path) -> dict[str, str]:
    """Commit of the checkout that holds a folder, and a digest of its uncommitted changes.

    Returns:
        ``commit`` and ``dirty`` (empty for a clean tree); both empty where git can't say.
    """
    git = shutil.which("git")
    if git is None:
        return {"commit": "", "dirty": ""}

    def ask(*words: str) -> bytes | None:
        done = subprocess.run(
            [git, "-C", str(path), "-c", "core.quotepath=off", *words], capture_output=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    if commit is None:
        return {"commit": "", "dirty": ""}
    # Only what is below the folder: a monorepo holds much that has nothing to do with it.
    changed, status = ask("diff", "HEAD", "--", "."), ask("status", "--porcelain", "--", ".")
    dirty = (changed or b"") + (status or b"")
    return {"commit": commit.decode().strip(), "dirty": hashlib.sha256(dirty).hexdigest() if dirty else ""}


def client_key(hipblaslt: str | Path, gpu_targets: str | None, env: Mapping[str, str] | None = None) -> str:
    """What a built client depends on: sources (commit and changes of tensilelite), GPU targets, ROCm, Python.

    Args:
        hipblaslt: hipBLASLt root.
        gpu_targets: such as ``"gfx942"``; None for the build's default.
        env: environment to read ``ROCM_PATH`` from.
    """
    from geko.runners.gpu_tools import rocm_folder

    source = Path(hipblaslt) / "tensilelite"
    state = git_state(source)
    if not state["commit"]:
        state["commit"] = _digest_of_sources(source)
    rocm = rocm_folder(os.environ if env is None else env)
    version = rocm / ".info/version"
    found = {
        **state,
        "gpu_targets": gpu_targets or "",
        "rocm": version.read_text(encoding="utf-8").strip() if version.is_file() else str(rocm),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _digest_of_sources(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            status = path.stat()
            digest.update(f"{path.relative_to(folder)}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def build_tensilelite_client(
    hipblaslt: str | Path,
    build_dir: str | Path,
    gpu_targets: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
) -> Path:
    """Build the tensilelite client, unless ``build_dir`` holds one of the same sources, targets and ROCm.

    Args:
        hipblaslt: hipBLASLt root.
        build_dir: folder of the build; emptied before a new build.
        gpu_targets: targets with semicolons between them; None for the build's default.
        env: environment of the build; None inherits.

    Returns:
        The client program.

    Raises:
        MissingFileError: if ``hipblaslt`` has no tensilelite.
        ToolError: if the package ``invoke`` is missing, or the build fails.
    """
    source = Path(hipblaslt) / "tensilelite"
    if not source.is_dir():
        raise MissingFileError("no hipBLASLt checkout: it has no folder tensilelite/", path=hipblaslt)
    folder = Path(build_dir).absolute()
    client, key_file = folder / _CLIENT, folder / _KEY_FILE
    key = client_key(hipblaslt, gpu_targets, env)
    if client.is_file() and key_file.is_file() and key_file.read_text(encoding="utf-8").strip() == key:
        logger.info("the tensilelite client in %s is up to date", folder)
        return client
    if importlib.util.find_spec("invoke") is None:
        raise ToolError("building the tensilelite client needs the package invoke: pip install invoke")
    if folder.exists():
        _remove_build(folder)
    variables = dict(os.environ if env is None else env)
    rocm = Path(variables.get("ROCM_PATH") or "/opt/rocm")
    variables["ROCM_PATH"] = str(rocm)
    paths = [str(rocm / "bin"), str(rocm / "llvm/bin"), variables.get("PATH", "")]
    variables["PATH"] = os.pathsep.join(part for part in paths if part)
    command = [sys.executable, "-m", "invoke", "build-client", "--build-dir", str(folder)]
    if gpu_targets:
        command += ["--gpu-targets", gpu_targets]
    logger.info("building the tensilelite client in %s", folder)
    run_silent_command(command, cwd=source, env=variables)
    if not client.is_file():
        raise ToolError(f"the build ended well, but there is no {client}")
    write_text_atomic(key_file, key + "\n")
    return client


def _remove_build(folder: Path) -> None:
    """Empty a build folder; one that doesn't look like a build is left alone."""
    known = {_KEY_FILE, "tensilelite", "CMakeCache.txt", "CMakeFiles"}
    names = {path.name for path in folder.iterdir()}
    if names and not names & known:
        raise ToolError(
            f"{folder} holds something else than a client build: name another folder, or empty it"
        )
    shutil.rmtree(folder)
