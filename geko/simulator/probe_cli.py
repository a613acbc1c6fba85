"""Stand-ins for rocminfo, amd-smi and hipconfig: the parts of their output that describe the machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geko.simulator import faults
from geko.simulator.config import DRIVER_VERSION, HIP_VERSION, ROCM_VERSION, Config
from geko.simulator.devices import Device

TOOLS = ("rocminfo", "amd-smi", "hipconfig")
_RULE = "*******"


def main(tool: str, argv: Sequence[str], root: Path) -> int:
    """Entry point of the three programs."""
    config = Config.load(root)
    rule = faults.Faults(root, tool).strike({"arguments": " ".join(argv)})
    if rule is not None:
        faults.die(rule)
    if tool == "rocminfo":
        sys.stdout.write(rocminfo(config))
        return 0
    if tool == "hipconfig":
        sys.stdout.write(hipconfig(argv))
        return 0
    text = amd_smi(config, argv)
    if text is None:
        sys.stderr.write(f"amd-smi: command not simulated: {' '.join(argv)}\n")
        return 2
    sys.stdout.write(text)
    return 0


def _agent(number: int, rows: Sequence[tuple[str, Any]]) -> str:
    body = "".join(f"  {name + ':':<25}{value:<35}\n" for name, value in rows)
    return f"{_RULE}                  \nAgent {number}                  \n{_RULE}                  \n{body}"


def rocminfo(config: Config) -> str:
    """Text of ``rocminfo``: one CPU agent, then one agent for each GPU with its ISA."""
    device = config.device
    text = (
        "ROCk module version 6.14.14 is loaded\n"
        "=====================    \nHSA System Attributes    \n=====================    \n"
        "Runtime Version:         1.18\nRuntime Ext Version:     1.11\n"
        "System Timestamp Freq.:  1000.000000MHz\n"
        "Machine Model:           LARGE                              \n"
        "System Endianness:       LITTLE                             \n\n"
        "==========               \nHSA Agents               \n==========               \n"
    )
    text += _agent(
        1,
        [
            ("Name", "Simulated CPU"),
            ("Uuid", "CPU-XX"),
            ("Marketing Name", "Simulated CPU"),
            ("Vendor Name", "CPU"),
            ("Node", 0),
            ("Device Type", "CPU"),
            ("Compute Unit", 1),
        ],
    )
    for index in range(config.devices):
        rows: list[tuple[str, Any]] = [
            ("Name", device.arch),
            ("Uuid", f"GPU-{config.digest[:8]}{index:08x}"),
            ("Marketing Name", f"{device.name} (simulated)"),
            ("Vendor Name", "AMD"),
            ("Feature", "KERNEL_DISPATCH"),
            ("Profile", "BASE_PROFILE"),
            ("Node", index + 1),
            ("Device Type", "GPU"),
            ("Chip ID", f"{int(device.pci_id, 16)}({device.pci_id})"),
            ("Max Clock Freq. (MHz)", device.sclk_mhz),
            ("BDFID", _bus(index) << 8),
            ("Compute Unit", device.cus),
            ("SIMDs per CU", 4),
            ("Wavefront Size", "64(0x40)"),
            ("Num XCC", device.xccs),
        ]
        text += _agent(index + 2, rows)
        size = int(device.memory_gb * 1e9) // 1024
        text += "  Pool Info:               \n    Pool 1                   \n"
        text += "      Segment:                 GLOBAL; FLAGS: COARSE GRAINED      \n"
        text += f"      Size:                    {size}({size:#x}) KB\n"
        text += "  ISA Info:                \n    ISA 1                    \n"
        text += f"      Name:                    amdgcn-amd-amdhsa--{device.target}\n"
    return text + "*** Done ***             \n"


def hipconfig(argv: Sequence[str]) -> str:
    """Text of ``hipconfig`` for ``--version``, ``--rocmpath``, ``--platform`` or ``--full``."""
    if "--version" in argv or "-v" in argv:
        return HIP_VERSION
    if "--rocmpath" in argv or "-R" in argv:
        return f"/opt/rocm-{ROCM_VERSION}"
    if "--platform" in argv or "-P" in argv:
        return "amd"
    return (
        f"HIP version: {HIP_VERSION}\n\n==hipconfig\nHIP_PATH           :/opt/rocm-{ROCM_VERSION}\n"
        f"ROCM_PATH          :/opt/rocm-{ROCM_VERSION}\nHIP_COMPILER       :clang\nHIP_PLATFORM       :amd\n"
        "HIP_RUNTIME        :rocclr\n"
    )


def amd_smi(config: Config, argv: Sequence[str]) -> str | None:
    """Text of ``amd-smi version|list|static|partition|metric``, JSON with ``--json``; None for others."""
    command = next((word for word in argv if not word.startswith("-")), "")
    device = config.device
    if command == "version":
        rows = {
            "tool": "AMDSMI Tool",
            "version": "26.0.2+simulated",
            "amdsmi_library_version": "26.0.2",
            "rocm_version": ROCM_VERSION,
            "amdgpu_version": DRIVER_VERSION,
        }
        if "--json" in argv:
            return json.dumps([rows], indent=4) + "\n"
        return (
            f"AMDSMI Tool: 26.0.2+simulated | AMDSMI Library version: 26.0.2 | "
            f"ROCm version: {ROCM_VERSION} | "
            f"amdgpu version: {DRIVER_VERSION}\n"
        )
    makers = {"list": _listed, "static": _static, "partition": _partition, "metric": _metric}
    if command not in makers:
        return None
    gpus = [{"gpu": index, **makers[command](config, device, index)} for index in range(config.devices)]
    if "--json" in argv:
        body: Any = gpus if command == "list" else {"gpu_data": gpus}
        return json.dumps(body, indent=4) + "\n"
    return "\n".join(_plain(gpu) for gpu in gpus)


def _bus(index: int) -> int:
    return 5 + 3 * index


def _bdf(index: int) -> str:
    return f"0000:{_bus(index):02x}:00.0"


def _listed(config: Config, device: Device, index: int) -> dict[str, Any]:
    return {
        "bdf": _bdf(index),
        "uuid": f"{config.digest[:8]}-0000-1000-80{index:02x}-simulated",
        "kfd_id": 1000 + index,
        "node_id": index + 1,
        "partition_id": 0,
    }


def _static(config: Config, device: Device, index: int) -> dict[str, Any]:
    return {
        "asic": {
            "market_name": f"{device.name} (simulated)",
            "vendor_id": "0x1002",
            "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
            "device_id": device.pci_id,
            "rev_id": "0x00",
            "asic_serial": f"0x{config.digest[:8]}{index:08X}",
            "oam_id": index,
            "num_compute_units": device.cus,
            "target_graphics_version": device.arch,
        },
        "bus": {"bdf": _bdf(index), "pcie_interface_version": "Gen 5", "slot_type": "OAM"},
        "driver": {"name": "amdgpu", "version": DRIVER_VERSION},
        "vram": {"type": "HBM3", "size": {"value": int(device.memory_gb * 1e9) // 1048576, "unit": "MB"}},
        "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
        "process_isolation": "Disabled",
        "limit": {"max_power": {"value": 750, "unit": "W"}},
    }


def _partition(config: Config, device: Device, index: int) -> dict[str, Any]:
    return {"memory": "NPS1", "accelerator_type": "SPX", "accelerator_profile_index": 0, "partition_id": 0}


def _metric(config: Config, device: Device, index: int) -> dict[str, Any]:
    return {
        "clock": {
            "gfx_0": {
                "clk": {"value": 132, "unit": "MHz"},
                "max_clk": {"value": device.sclk_mhz, "unit": "MHz"},
            }
        },
        "temperature": {"hotspot": {"value": 41 + index % 3, "unit": "C"}},
        "perf_level": "AMDSMI_DEV_PERF_LEVEL_AUTO",
    }


def _plain(gpu: dict[str, Any]) -> str:
    lines = [f"GPU: {gpu['gpu']}"]
    _indent({k: v for k, v in gpu.items() if k != "gpu"}, 4, lines)
    return "\n".join(lines) + "\n"


def _indent(mapping: dict[str, Any], depth: int, lines: list[str]) -> None:
    for key, value in mapping.items():
        if isinstance(value, dict) and set(value) == {"value", "unit"}:
            lines.append(f"{' ' * depth}{key.upper()}: {value['value']} {value['unit']}")
        elif isinstance(value, dict):
            lines.append(f"{' ' * depth}{key.upper()}:")
            _indent(value, depth + 4, lines)
        else:
            lines.append(f"{' ' * depth}{key.upper()}: {value}")
