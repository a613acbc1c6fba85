"""The tensilelite client: built once for its sources, GPU targets and ROCm, and used by every tuning job.

``invoke build-client --build-dir D [--gpu-targets T]`` in ``tensilelite/``, as in hipBLASLt 1.0 and later. A tensilelite
before that has no such task (no ``tasks.py``) and builds the client itself, with CMake in every output folder, unless it
is told of a prebuilt one: it is called with a config without problems, which does that and nothing else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from geko.errors import Interrupted, MissingFileError, ToolError
from geko.fsio import file_lock, write_text_atomic
from geko.hipblaslt import HipblasltRoot
from geko.log import logger
from geko.runners.gpu_tools import rocm_folder
from geko.runners.process import run_process

CLIENT = "tensilelite/client/tensilelite-client"
#: Where builds leave the client, newest first.
_CLIENTS = (CLIENT, "client/tensilelite-client", "client/tensile_client")
_OWN_CONFIG = "client.yaml"
_KEY_FILE = "hash.txt"
_TAIL = 4000
#: A build that prints nothing for so long hangs: seconds.
_STALL_S = 1800.0


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


def default_build_dir(root: HipblasltRoot, gpu_targets: str | None, env: Mapping[str, str]) -> Path:
    """Where a client is built when nobody names a folder.

    One folder for each state of the sources, in the user's cache; a simulated root keeps its own.
    """
    if root.is_simulated:
        return root.path / "build_tmp"
    base = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "geko" / "tensilelite-client" / client_key(root.path, gpu_targets, env)[:16]


def build_tensilelite_client(
    hipblaslt: str | Path,
    build_dir: str | Path,
    gpu_targets: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    stop: threading.Event | None = None,
    die_with_parent: bool = False,
) -> Path:
    """Build the tensilelite client, unless ``build_dir`` holds one of the same sources, targets and ROCm.

    Several processes may ask for one folder: one builds, the others wait for it.

    Args:
        hipblaslt: hipBLASLt root.
        build_dir: folder of the build; emptied before a new build.
        gpu_targets: targets with semicolons between them; None for the build's default.
        env: environment of the build; None inherits.
        stop: ends the build, or the waiting for it, when set.
        die_with_parent: the build is killed when this process dies; only from its main thread.

    Returns:
        The client program.

    Raises:
        MissingFileError: if ``hipblaslt`` has no tensilelite.
        ToolError: if the package ``invoke`` is missing, or the build fails.
        Interrupted: if ``stop`` was set.
    """
    root = HipblasltRoot(Path(hipblaslt))
    source = root.path / "tensilelite"
    if not source.is_dir():
        raise MissingFileError("no hipBLASLt checkout: it has no folder tensilelite/", path=hipblaslt)
    folder = Path(build_dir).absolute()
    key_file = folder / _KEY_FILE
    variables = dict(os.environ if env is None else env)
    if root.is_simulated:
        variables["ROCM_PATH"] = str(root.path / "rocm")
    key = client_key(hipblaslt, gpu_targets, variables)
    with file_lock(folder.with_name(f".{folder.name}.lock"), stop, "the tensilelite client"):
        client = _client_in(folder)
        if client is not None and key_file.is_file() and key_file.read_text(encoding="utf-8").strip() == key:
            logger.info("the tensilelite client in %s is up to date", folder)
            return client
        command = _build_command(root, folder, gpu_targets)
        if folder.exists():
            _remove_build(folder)
        rocm = rocm_folder(variables)
        variables["ROCM_PATH"] = str(rocm)
        paths = [str(rocm / "bin"), str(rocm / "llvm/bin"), variables.get("PATH", "")]
        variables["PATH"] = os.pathsep.join(part for part in paths if part)
        if not has_tasks(root):
            variables["PYTHONPATH"] = root.tensile_python_path(variables.get("PYTHONPATH", ""))
            folder.mkdir(parents=True)
            write_text_atomic(folder / _OWN_CONFIG, "BenchmarkProblems:\n")
        logger.info("building the tensilelite client in %s", folder)
        result = run_process(
            command, cwd=source, env=variables, stop=stop, stall_s=_STALL_S, die_with_parent=die_with_parent
        )
        if result.outcome == "released":
            raise Interrupted("stopped while the tensilelite client was built")
        if result.outcome != "ok":
            tail = result.output[-_TAIL:].strip()
            raise ToolError(f"the tensilelite client can't be built: {result.message}:\n{tail}")
        client = _client_in(folder)
        if client is None:
            raise ToolError(f"the build ended well, but there is no {' or '.join(_CLIENTS)} in {folder}")
        write_text_atomic(key_file, key + "\n")
    return client


def _client_in(folder: Path) -> Path | None:
    return next((folder / name for name in _CLIENTS if (folder / name).is_file()), None)


def has_tasks(root: HipblasltRoot) -> bool:
    """Whether its client is built by ``invoke``: tensilelite of hipBLASLt 1.0 and later."""
    return root.is_simulated or (root.path / "tensilelite/tasks.py").is_file()


def _build_command(root: HipblasltRoot, folder: Path, gpu_targets: str | None) -> list[str]:
    if not has_tasks(root):
        run = [*root.tensile_command("Tensile"), str(folder / _OWN_CONFIG), str(folder / "run")]
        return [*run, "--client-build-path", str(folder)]
    command = [*_invoke(root), "build-client", "--build-dir", str(folder)]
    return command + (["--gpu-targets", gpu_targets] if gpu_targets else [])


def _invoke(root: HipblasltRoot) -> list[str]:
    own = root.path / "bin/invoke"
    if root.is_simulated:
        return [str(own)]
    if importlib.util.find_spec("invoke") is None:
        raise ToolError("building the tensilelite client needs the package invoke: pip install invoke")
    return [sys.executable, "-m", "invoke"]


def _remove_build(folder: Path) -> None:
    """Empty a build folder; one that doesn't look like a build is left alone."""
    known = {_KEY_FILE, _OWN_CONFIG, "tensilelite", "CMakeCache.txt", "CMakeFiles"}
    names = {path.name for path in folder.iterdir()}
    if names and not names & known:
        raise ToolError(
            f"{folder} holds something else than a client build: name another folder, or empty it"
        )
    shutil.rmtree(folder)
