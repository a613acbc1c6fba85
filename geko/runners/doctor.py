"""What is there and what is missing for a run on this machine, with the remedy for each."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from geko.errors import GekoError, MissingFileError
from geko.hipblaslt import HipblasltRoot, find_root
from geko.runners.gpu_tools import find_tool, read_machine, rocm_folder
from geko.runners.probe import bench_banner
from geko.runners.tensilelite_client import has_tasks

State = Literal["ok", "missing", "warn"]

#: Modules that tensilelite's programs import, where its requirements.txt isn't there.
_TENSILELITE = ("joblib", "msgpack", "packaging", "yaml")
_MODULE_OF = {"pyyaml": "yaml", "dataclasses": "dataclasses", "msgpack-python": "msgpack"}
_LITTLE_DISK_GIB = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Attributes:
        name: what was looked at.
        state: ``ok``; ``missing`` where a run needs it; ``warn`` where something works less well.
        what: what was found.
        remedy: what to do; empty when it is ok.
    """

    name: str
    state: State
    what: str
    remedy: str = ""


def doctor(
    hipblaslt: str | Path | None = None,
    db: str | Path | None = None,
    *,
    anchor: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    rocm: Path | None = None,
) -> list[Check]:
    """Look at everything that a run needs. Changes nothing; runs rocminfo, amd-smi and one tiny GEMM.

    Args:
        hipblaslt: root that the user named.
        db: the warehouse; None for ``$GEKO_DB``, else ``geko.duckdb``.
        anchor: where the search for a checkout starts, see :func:`geko.hipblaslt.find_root`.
        env: environment; None for that of the process.
        rocm: ROCm's folder; None for ``$ROCM_PATH``, else ``/opt/rocm``.
    """
    variables = dict(os.environ if env is None else env)
    checks = list(_root_checks(hipblaslt, anchor, variables))
    root = _root(hipblaslt, anchor, variables)
    checks += _machine_checks(variables, rocm, root)
    if root is not None:
        checks += _bench_checks(root, variables)
        checks += _tensilelite_checks(root)
    checks += _file_checks(Path(db or variables.get("GEKO_DB") or "geko.duckdb"))
    return checks


def _root(
    hipblaslt: str | Path | None, anchor: str | Path | None, env: Mapping[str, str]
) -> HipblasltRoot | None:
    try:
        return find_root(hipblaslt, anchor=anchor, env=env)
    except GekoError:
        return None


def _root_checks(
    hipblaslt: str | Path | None, anchor: str | Path | None, env: Mapping[str, str]
) -> Iterator[Check]:
    try:
        root = find_root(hipblaslt, anchor=anchor, env=env)
    except GekoError as error:
        text = str(error)
        yield Check(
            "hipBLASLt root",
            "missing",
            text,
            "git clone https://github.com/ROCm/rocm-libraries and name projects/hipblaslt with --hipblaslt "
            "or GEKO_HIPBLASLT_PATH; without a GPU, use --simulate",
        )
        return
    note = " (simulated)" if root.is_simulated else ""
    yield Check("hipBLASLt root", "ok", f"{root.path}{note}")
    if root.is_built:
        yield Check("hipBLASLt build", "ok", str(root.release))
    else:
        yield Check("hipBLASLt build", "missing", f"no {root.release}", f"cd {root.path} && ./install.sh -dc")
    table = root.match_table
    if table is not None:
        yield Check("MatchTable", "ok", str(table))
    elif root.is_built:
        yield Check(
            "MatchTable",
            "warn",
            f"no MatchTable.yaml below {root.release}",
            "build the device library with its solution table: winners are traced to logic files by it",
        )


def _machine_checks(env: Mapping[str, str], rocm: Path | None, root: HipblasltRoot | None) -> Iterator[Check]:
    if root is not None and root.is_simulated:
        yield Check("ROCm", "ok", "not needed: the root is simulated")
        return
    folder = rocm or rocm_folder(env)
    machine = read_machine(env, folder)
    if machine.rocm:
        yield Check("ROCm", "ok", f"{machine.rocm} in {folder}, HIP {machine.hip or 'unknown'}")
    else:
        yield Check(
            "ROCm", "missing", f"no {folder}/.info/version", "install ROCm, or set ROCM_PATH to where it is"
        )
    if machine.driver:
        yield Check("GPU driver", "ok", f"amdgpu {machine.driver}")
    elif machine.agents:
        yield Check("GPU driver", "ok", "in the kernel; its version is not known")
    else:
        yield Check("GPU driver", "missing", "no amdgpu module is loaded", "install amdgpu-dkms and reboot")
    if machine.agents:
        names = ", ".join(
            f"{at}: {agent.name} {agent.gfx} {agent.cu_count} CUs" for at, agent in enumerate(machine.agents)
        )
        yield Check("GPUs", "ok", names)
    else:
        yield Check("GPUs", "missing", _no_gpu(env), "without a GPU, use --simulate")
    if find_tool("amd-smi", env, folder) is None:
        yield Check(
            "amd-smi",
            "warn",
            "not found: serial, partition and clock policy stay unknown",
            "install amd-smi-lib",
        )
    else:
        policy = ", ".join(sorted(set(machine.perf_level.values()))) or "unknown"
        yield Check("amd-smi", "ok", f"clock policy: {policy}")


def _no_gpu(env: Mapping[str, str]) -> str:
    hidden = [
        f"{name}={env[name]}" for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if name in env
    ]
    device = Path("/dev/kfd")
    if hidden:
        return f"rocminfo lists none ({', '.join(hidden)})"
    if device.exists() and not os.access(device, os.R_OK | os.W_OK):
        return f"{device} can't be opened: this user is not in the groups render and video"
    return "rocminfo lists none"


def _bench_checks(root: HipblasltRoot, env: Mapping[str, str]) -> Iterator[Check]:
    if root.bench is None:
        yield Check(
            "hipblaslt-bench",
            "missing",
            f"not below {root.release}/clients",
            f"cd {root.path} && ./install.sh -dc  (-c builds the clients)",
        )
        return
    banner, result = bench_banner(root, 0, env)
    if banner is None or banner.version is None:
        said = result.message or "it printed no version"
        yield Check(
            "hipblaslt-bench", "missing", f"{root.bench}: {said}", f"run it by hand: {result.command}"
        )
        return
    device = (
        f"{banner.n_devices} devices, 0: {banner.device_name} {banner.gfx}" if banner.gfx else "no device"
    )
    what = f"version {banner.version} ({banner.git}), {device}"
    if banner.gfx is None or result.outcome in ("timeout", "memory_fault", "hang"):
        said = result.message or "it found no device"
        yield Check("hipblaslt-bench", "missing", f"{what}: {said}", f"run it by hand: {result.command}")
    else:
        yield Check("hipblaslt-bench", "ok", what)


def _tensilelite_checks(root: HipblasltRoot) -> Iterator[Check]:
    yield _program_check(root, "TensileCreateLibrary", "missing", "libraries can't be built for comparison")
    merge = root.tensile_program("TensileMergeLibrary")
    if merge.is_file():
        yield Check(merge.name, "ok", str(merge))
    else:
        yield Check(merge.name, "warn", f"no {merge}", "merge with `geko library merge`, which does the same")
    yield from _tuning_checks(root)
    absent = [name for name in _required_modules(root) if importlib.util.find_spec(name) is None]
    if absent and not root.is_simulated:
        remedy = f"pip install -r {root.path / 'tensilelite/requirements.txt'}"
        yield Check("tensilelite's Python modules", "missing", f"not importable: {', '.join(absent)}", remedy)
    else:
        yield Check("tensilelite's Python modules", "ok", "all importable")


def _tuning_checks(root: HipblasltRoot) -> Iterator[Check]:
    """What only new kernels need."""
    yield _program_check(root, "Tensile", "warn", "new kernels can't be tuned")
    needed = {"filelock": "jobs of one GPU wait for each other"}
    if has_tasks(root):
        needed["invoke"] = "builds the tensilelite client"
    for name, purpose in needed.items():
        if root.is_simulated or importlib.util.find_spec(name) is not None:
            yield Check(name, "ok", purpose)
        else:
            why = f"not importable: nothing can be tuned without it ({purpose})"
            yield Check(name, "warn", why, f"pip install {name}")


def _program_check(root: HipblasltRoot, name: str, otherwise: State, loss: str) -> Check:
    try:
        return Check(name, "ok", " ".join(root.tensile_command(name)))
    except MissingFileError:
        remedy = f"update the checkout: git -C {root.path} checkout -- tensilelite"
        return Check(name, otherwise, f"no {root.tensile_program(name)}: {loss}", remedy)


def _required_modules(root: HipblasltRoot) -> list[str]:
    try:
        text = (root.path / "tensilelite/requirements.txt").read_text(encoding="utf-8")
    except OSError:
        return list(_TENSILELITE)
    names = []
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w.-]*)", line)
        if match is not None:
            name = match[1].lower()
            names.append(_MODULE_OF.get(name, name.replace("-", "_")))
    return names


def _file_checks(db: Path) -> Iterator[Check]:
    from geko.warehouse.place import network_filesystem, read_record

    full = db.expanduser().resolve()
    folder = next(path for path in (full.parent, *full.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free / 2**30
    state: State = "ok" if free >= _LITTLE_DISK_GIB else "warn"
    remedy = "" if state == "ok" else "free some space, or put the warehouse elsewhere with --db"
    yield Check("disk", state, f"{free:.1f} GiB free in {folder}", remedy)
    kind = network_filesystem(full)
    if kind is not None:
        yield Check(
            "file system",
            "warn",
            f"{folder} is on {kind}: file locks can fail there",
            "put the warehouse on a local disk with --db or GEKO_DB, and copy a snapshot",
        )
    if not os.access(folder, os.W_OK):
        yield Check("warehouse", "missing", f"{folder} can't be written to", "name another file with --db")
    elif full.exists():
        owner = read_record(full)
        suffix = f", last opened by {owner}" if owner is not None else ""
        yield Check("warehouse", "ok", f"{full}, {full.stat().st_size / 2**20:.1f} MiB{suffix}")
    else:
        yield Check("warehouse", "ok", f"{full} is made by the first command that writes")
