"""Building a library with TensileCreateLibrary."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geko.errors import InputError, ToolError
from geko.fsio import require_folder, write_text_atomic
from geko.hipblaslt import HipblasltRoot
from geko.library.model import Library, load_library

TOOL = "TensileCreateLibrary"
STAMP = "geko_build.json"
MATCH_TABLE = "MatchTable.yaml"
_TAIL = 4000


def logic_files(lib_dir: str | Path) -> list[Path]:
    """The logic files below a directory, sorted.

    Raises:
        MissingFileError: no such directory.
        InputError: it holds none.
    """
    root = Path(lib_dir)
    require_folder(root)
    files = sorted(path for path in root.glob("**/*.yaml") if path.is_file() and path.name != MATCH_TABLE)
    if not files:
        raise InputError(f"No valid libraries found in '{root}'")
    return files


def library_content_hash(paths: Iterable[str | Path]) -> str:
    """Hash of a set of files by content alone: neither names nor order matter.

    Args:
        paths: the files.

    Returns:
        sha256 in hex, over the sorted sha256 of the files.
    """
    digests = []
    for path in paths:
        with Path(path).open("rb") as handle:
            digests.append(hashlib.file_digest(handle, "sha256").hexdigest())
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def build_architecture(libraries: Iterable[Library]) -> str:
    """Architecture argument for TensileCreateLibrary: the schedule where it names a variant of the
    architecture (``gfx1250-strict``), else the architecture.

    Raises:
        InputError: the libraries are for more than one.
    """
    by_arch: dict[str, str] = {}
    for library in libraries:
        arch, schedule = library.architecture, library.schedule
        if schedule.startswith(arch):
            arch = schedule
        by_arch.setdefault(arch, library.name)
    if len(by_arch) != 1:
        shown = ", ".join(f"{arch} ({name})" for arch, name in sorted(by_arch.items()))
        raise InputError(f"logic of several architectures can't be built at once: {shown}; build each apart")
    return next(iter(by_arch))


@dataclass(frozen=True)
class Build:
    """A built library.

    Attributes:
        path: the output directory.
        architecture: what it was built for.
        match_table: MatchTable.yaml of this very build; None when the tool wrote none.
        code_dir: directory of the ``.dat`` and code object files, for HIPBLASLT_TENSILE_LIBPATH.
        hipblaslt: the checkout whose TensileCreateLibrary built it, where that is known.
    """

    path: Path
    architecture: str
    match_table: Path | None
    code_dir: Path
    hipblaslt: Path | None = None


def create(
    hipblaslt_path: str | Path,
    lib_dir: str | Path,
    output_dir: str | Path,
    version: str = "5",
    *,
    timeout: float | None = 7200.0,
    jobs: int | None = None,
    extra_args: Iterable[str] = (),
    stop_requested: Callable[[], None] | None = None,
) -> Build:
    """Build a library with TensileCreateLibrary of the checkout.

    The tool runs in a scratch directory inside the output, so that the MatchTable.yaml which it writes to its
    working directory is that of this build, whatever else is built at the same time.

    Args:
        hipblaslt_path: hipBLASLt checkout.
        lib_dir: directory of the logic files, all of one architecture.
        output_dir: where to; made if absent.
        version: code object version.
        timeout: seconds until the tool is ended; None waits for ever.
        jobs: processes of the tool; None leaves it to the tool.
        extra_args: further options of the tool.
        stop_requested: asked some ten times a second; what it raises ends the tool.

    Returns:
        What was built. ``geko_build.json`` beside it says from what.

    Raises:
        MissingFileError: the tool or the directory is missing.
        InputError: no logic files, or several architectures.
        ToolError: the tool failed, ran too long or left no library; holds the end of its output.
    """
    root = HipblasltRoot(Path(hipblaslt_path).resolve())
    tool = root.tensile_command(TOOL)
    files = logic_files(lib_dir)
    architecture = build_architecture(load_library(path) for path in files)
    content = library_content_hash(files)
    out = Path(output_dir).resolve()
    out.mkdir(parents=True, exist_ok=True)
    (out / STAMP).unlink(missing_ok=True)
    command = [
        *tool,
        *_version_options(root, str(version), architecture),
        "--library-format",
        "msgpack",
        "--architecture",
        architecture,
        *(() if jobs is None else ("--jobs", str(jobs))),
        *extra_args,
        str(Path(lib_dir).resolve()),
        str(out),
        "HIP",
    ]
    with tempfile.TemporaryDirectory(prefix=".build-", dir=out) as scratch:
        env = dict(os.environ)
        env["PYTHONPATH"] = root.tensile_python_path(env.get("PYTHONPATH", ""))
        _run(command, Path(scratch), env, timeout, stop_requested)
        written = Path(scratch) / MATCH_TABLE
        match_table: Path | None = None
        if written.is_file():
            match_table = out / MATCH_TABLE
            written.replace(match_table)
        else:
            (out / MATCH_TABLE).unlink(missing_ok=True)
    code_dirs = _code_dirs(out)
    if not code_dirs:
        raise ToolError(
            f"TensileCreateLibrary ended well but left no TensileLibrary*.dat below {out}/library"
        )
    write_text_atomic(
        out / STAMP,
        json.dumps(
            {
                "content_sha256": content,
                "architecture": architecture,
                "hipblaslt": str(root.path),
                "command": command,
            },
            indent=1,
        )
        + "\n",
    )
    return Build(out, architecture, match_table, code_dirs[0], root.path)


# Where the tool's options stand: one module before 2025, a package after.
_TOOL_SOURCES = ("TensileCreateLibrary/ParseArguments.py", "TensileCreateLibrary.py")
_OPTION = re.compile(r"""["'](--[\w-]+)["']""")


def _version_options(root: HipblasltRoot, version: str, architecture: str) -> list[str]:
    """Options whose spelling and default changed with the tool: code object version, and lazy loading.

    A runtime built for lazy loading reads ``TensileLibrary_lazy_<arch>.dat`` and nothing else, one that isn't reads
    ``TensileLibrary.dat``. Lazy loading is hipBLASLt's default, but was an option of the tool until 2025. What the runtime
    wants is told by the stock library of the build.
    """
    package = root.tensile_package
    sources = [package / name for name in _TOOL_SOURCES] if package is not None else []
    text = next((path.read_text(encoding="utf-8") for path in sources if path.is_file()), "")
    options = set(_OPTION.findall(text))
    if re.search(r"""["']V5["']""", text) and not re.search(r"""["']5["']""", text):
        version = f"V{version.removeprefix('V')}"
    found = ["--code-object-version", version]
    stock = root.stock_library(architecture)
    names = [] if stock is None else [path.name for path in stock.glob("TensileLibrary*")]
    lazy = not names or any(name.startswith("TensileLibrary_lazy") for name in names)
    if lazy and "--lazy-library-loading" in options:
        return [*found, "--merge-files", "--separate-architectures", "--lazy-library-loading"]
    if not lazy and "--no-lazy-library-loading" in options:
        return [*found, "--no-lazy-library-loading"]
    return found


def _run(
    command: list[str],
    cwd: Path,
    env: dict[str, str],
    timeout: float | None,
    stop_requested: Callable[[], None] | None,
) -> None:
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = _wait(process, timeout, stop_requested)
        except BaseException as error:
            # The tool starts compilers of its own: end them all.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise ToolError(
                    f"TensileCreateLibrary ran longer than {timeout:g} s and was ended"
                ) from error
            raise
        if code != 0:
            output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
            tail = output.read().decode(errors="replace").strip()
            how = (
                f"failed with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
            )
            raise ToolError(
                f"TensileCreateLibrary {how}" + (f":\n{tail}" if tail else ", and printed nothing")
            )


def _wait(
    process: subprocess.Popen[bytes], timeout: float | None, stop_requested: Callable[[], None] | None
) -> int:
    limit = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        try:
            return process.wait(max(0.0, min(0.1, limit - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= limit:
                raise
        if stop_requested is not None:
            stop_requested()


def _code_dirs(output_dir: Path) -> list[Path]:
    """Directories of built libraries; compressed ``.dat.zlib`` counts like ``.dat``."""
    found = [*output_dir.glob("library/**/*.dat"), *output_dir.glob("library/**/*.dat.zlib")]
    return sorted({path.parent for path in found})


def is_built(output_dir: str | Path, lib_dir: str | Path | None = None) -> bool:
    """Whether a directory holds a built library, and one of just these logic files.

    Args:
        output_dir: where :func:`create` built.
        lib_dir: the logic files that it should be built from; None asks only for any build.

    Returns:
        False when there is no ``.dat`` or ``.dat.zlib``, or when the logic files changed since (or nothing
        says from what it was built).
    """
    out = Path(output_dir)
    if not _code_dirs(out):
        return False
    if lib_dir is None:
        return True
    try:
        stamp: Any = json.loads((out / STAMP).read_text())
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(stamp, dict) and stamp.get("content_sha256") == library_content_hash(
        logic_files(lib_dir)
    )


def built(output_dir: str | Path, lib_dir: str | Path) -> Build | None:
    """The build that a directory holds, if it is one of just these logic files.

    Args:
        output_dir: where :func:`create` built.
        lib_dir: the logic files that it should be built from.

    Returns:
        None when it has to be built (again). Which compiler built it is not asked.
    """
    out = Path(output_dir).resolve()
    if not is_built(out, lib_dir):
        return None
    stamp: dict[str, Any] = json.loads((out / STAMP).read_text())
    table = out / MATCH_TABLE
    checkout = stamp.get("hipblaslt")
    return Build(
        out,
        str(stamp["architecture"]),
        table if table.is_file() else None,
        _code_dirs(out)[0],
        Path(str(checkout)) if checkout else None,
    )
