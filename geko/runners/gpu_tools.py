"""What rocminfo, amd-smi and the ROCm installation say about the GPUs; nothing here fails when a tool is
missing.

Forms read: rocminfo of ROCm 5 to 7 (indented ``Key:  value`` lines under ``Agent N``), ``amd-smi static
--json`` and ``amd-smi metric --perf-level --json`` (a list, or
``{"gpu_data": [...]}``; values plain or ``{"value", "unit"}``).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geko.log import logger
from geko.runners.process import last_line, run_process

_AGENT = re.compile(r"^Agent (\d+)\s*$")
_ISA = re.compile(r"amdgcn-amd-amdhsa--(gfx\S+)")
_TOOL_S = 30.0
_UNKNOWN = frozenset({"", "n/a", "none", "unknown", "unset"})


@dataclass(frozen=True, slots=True)
class Agent:
    """A GPU as rocminfo lists it.

    Attributes:
        gfx: target with features; ``name`` the marketing name.
        uuid: ``GPU-...``; ``chip_id`` the PCI device id in hexadecimal.
        bdf: PCI address, ``0000:05:00.0``.
        cu_count: compute units; ``max_clock_mhz`` the highest engine clock; ``memory_gib`` the largest pool.
    """

    gfx: str | None = None
    name: str | None = None
    uuid: str | None = None
    chip_id: str | None = None
    bdf: str | None = None
    cu_count: int | None = None
    max_clock_mhz: float | None = None
    memory_gib: float | None = None


@dataclass(slots=True)
class Machine:
    """What the tools of one machine say.

    Attributes:
        agents: GPUs in rocminfo's order, which is that of the runtime.
        smi: one mapping per GPU of amd-smi, by PCI address.
        perf_level: clock policy per PCI address.
        rocm, hip, driver: versions.
        tools: path of each tool that was found.
    """

    agents: list[Agent] = field(default_factory=list)
    smi: dict[str, dict[str, Any]] = field(default_factory=dict)
    perf_level: dict[str, str] = field(default_factory=dict)
    rocm: str | None = None
    hip: str | None = None
    driver: str | None = None
    tools: dict[str, str] = field(default_factory=dict)


def read_machine(
    env: Mapping[str, str], rocm: Path | None = None, driver_file: Path | None = None
) -> Machine:
    """Ask all tools.

    Args:
        env: environment to run them in.
        rocm: ROCm's folder; None for ``$ROCM_PATH``, else ``/opt/rocm``.
        driver_file: text file with the driver's version; None for that of the kernel module.
    """
    folder = rocm or rocm_folder(env)
    machine = Machine()
    for name in ("rocminfo", "amd-smi", "hipconfig"):
        found = find_tool(name, env, folder)
        if found is not None:
            machine.tools[name] = found
    machine.agents = parse_rocminfo(_output(machine, ["rocminfo"], env))
    static = parse_smi(_output(machine, ["amd-smi", "static", "--json"], env))
    machine.smi = {_bdf_of(item): item for item in static if _bdf_of(item)}
    order = [_bdf_of(item) for item in static]
    machine.agents = _with_smi_addresses(machine.agents, order)
    for at, item in enumerate(
        parse_smi(_output(machine, ["amd-smi", "metric", "--perf-level", "--json"], env))
    ):
        level = _text(item.get("perf_level"))
        gpu = item.get("gpu", at)
        if level and isinstance(gpu, int) and gpu < len(order):
            machine.perf_level[order[gpu]] = level.lower().removeprefix("amdsmi_dev_perf_level_")
    machine.rocm = _first_line(folder / ".info/version")
    if machine.rocm is None:
        versions = parse_smi(_output(machine, ["amd-smi", "version", "--json"], env))
        machine.rocm = next((text for item in versions if (text := _text(item.get("rocm_version")))), None)
    machine.hip = last_line(_output(machine, ["hipconfig", "--version"], env)) or None
    drivers = (_text(_dig(item, "driver", "version")) for item in static)
    module = driver_file or Path("/sys/module/amdgpu/version")
    machine.driver = next((text for text in drivers if text), None) or _first_line(module)
    return machine


def rocm_folder(env: Mapping[str, str]) -> Path:
    """Folder of the ROCm installation."""
    return Path(env.get("ROCM_PATH") or "/opt/rocm")


def find_tool(name: str, env: Mapping[str, str], rocm: Path) -> str | None:
    """Path of a tool: of this ROCm, else of PATH."""
    own = rocm / "bin" / name
    return str(own) if os.access(own, os.X_OK) and own.is_file() else shutil.which(name, path=env.get("PATH"))


def parse_rocminfo(text: str) -> list[Agent]:
    """GPUs of a rocminfo listing, in order."""
    found: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    domain = 0
    for line in text.splitlines():
        if _AGENT.match(line.strip()):
            current, domain = {}, 0
            found.append(current)
            continue
        if current is None:
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not value:
            continue
        isa = _ISA.search(line)
        if isa is not None and "generic" not in isa[1]:
            current.setdefault("gfx", isa[1])
        elif key == "Name":
            current.setdefault("name", value)
        elif key == "Marketing Name":
            current["marketing"] = value
        elif key == "Uuid":
            current["uuid"] = value
        elif key == "Device Type":
            current["type"] = value
        elif key == "Chip ID":
            current["chip_id"] = _hexadecimal(value)
        elif key == "Compute Unit":
            current["cu_count"] = _integer(value)
        elif key == "Max Clock Freq. (MHz)":
            current["max_clock_mhz"] = _integer(value)
        elif key == "Domain":
            domain = _integer(value) or 0
            current["domain"] = domain
        elif key == "BDFID":
            current["bdfid"] = _integer(value)
        elif key == "Size" and "KB" in value:
            size = _integer(value)
            if size is not None and "memory_kb" in current:
                current["memory_kb"] = max(size, current["memory_kb"])
            elif size is not None:
                current["memory_kb"] = size
    return [_agent(item) for item in found if item.get("type") == "GPU"]


def _with_smi_addresses(agents: list[Agent], addresses: Sequence[str]) -> list[Agent]:
    """Agents whose address amd-smi doesn't know (partitions, virtual machines) take the one at their place.

    Only where both list equally many GPUs.
    """
    if len(agents) != len(addresses):
        return agents
    return [
        agent if agent.bdf in addresses else replace(agent, bdf=address)
        for agent, address in zip(agents, addresses, strict=True)
    ]


def _agent(item: Mapping[str, Any]) -> Agent:
    bdfid = item.get("bdfid")
    bdf = None
    if bdfid is not None:
        bdf = f"{item.get('domain', 0):04x}:{bdfid >> 8:02x}:{(bdfid >> 3) & 31:02x}.{bdfid & 7}"
    memory = item.get("memory_kb")
    return Agent(
        gfx=item.get("gfx") or item.get("name"),
        name=item.get("marketing"),
        uuid=item.get("uuid") if str(item.get("uuid", "")).startswith("GPU-") else None,
        chip_id=item.get("chip_id"),
        bdf=bdf,
        cu_count=item.get("cu_count"),
        max_clock_mhz=item.get("max_clock_mhz"),
        memory_gib=None if memory is None else round(memory / 2**20, 3),
    )


def parse_smi(text: str) -> list[dict[str, Any]]:
    """GPUs of an amd-smi JSON output; empty for anything else. Warnings before the JSON are skipped."""
    starts = [at for at in (text.find("["), text.find("{")) if at >= 0]
    if not starts:
        return []
    try:
        found = json.loads(text[min(starts) :])
    except ValueError:
        logger.debug("amd-smi printed no JSON: %s", text[:200])
        return []
    if isinstance(found, Mapping):
        found = found.get("gpu_data", [found])
    return [dict(item) for item in found if isinstance(item, Mapping)] if isinstance(found, Sequence) else []


def smi_facts(item: Mapping[str, Any]) -> dict[str, Any]:
    """What ``amd-smi static`` says about one GPU; None where it says nothing.

    Returns:
        ``name``, ``pci_id``, ``serial``, ``cu_count``, ``partition`` (compute/memory, as ``SPX/NPS1``),
        ``driver``, ``memory_gib``.
    """
    compute = _text(_dig(item, "partition", "accelerator_partition")) or _text(
        _dig(item, "partition", "compute_partition")
    )
    memory = _text(_dig(item, "partition", "memory_partition"))
    size = _dig(item, "vram", "size")
    value = size.get("value") if isinstance(size, Mapping) else None
    return {
        "name": _text(_dig(item, "asic", "market_name")),
        "pci_id": _hexadecimal(_text(_dig(item, "asic", "device_id")) or ""),
        "serial": _text(_dig(item, "asic", "asic_serial")),
        "cu_count": _integer(str(_dig(item, "asic", "num_compute_units"))),
        "partition": "/".join(part for part in (compute, memory) if part) or None,
        "driver": _text(_dig(item, "driver", "version")),
        "memory_gib": round(value / 1024, 3) if isinstance(value, (int, float)) else None,
    }


def _output(machine: Machine, words: list[str], env: Mapping[str, str]) -> str:
    program = machine.tools.get(words[0])
    if program is None:
        return ""
    result = run_process([program, *words[1:]], env=env, timeout_s=_TOOL_S, grace_s=1.0)
    if result.outcome != "ok":
        logger.debug("%s: %s", result.command, result.message)
        return ""
    return result.output


def _bdf_of(item: Mapping[str, Any]) -> str:
    text = (_text(_dig(item, "bus", "bdf")) or "").lower()
    return text if text.count(":") == 2 else f"0000:{text}" if text else ""


def _dig(item: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(item, Mapping):
            return None
        item = item.get(key)
    return item


def _text(value: Any) -> str | None:
    text = "" if value is None or isinstance(value, Mapping) else str(value).strip()
    return None if text.lower() in _UNKNOWN else text


def _integer(text: str) -> int | None:
    match = re.match(r"-?\d+", text)
    return int(match[0]) if match else None


def _hexadecimal(text: str) -> str | None:
    match = re.search(r"0x([0-9a-fA-F]+)", text)
    return match[1].lower() if match else None


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[0].strip() or None
    except (OSError, IndexError):
        return None
