"""The environment of measurements: which GPUs, drivers and libraries there are, and with which settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.environment import Environment
from geko.domain.identity import canonical_json, content_id
from geko.errors import ToolError
from geko.hipblaslt import HipblasltRoot
from geko.ingest.bench_events import BANNER_START, BenchBanner, read_banner_line
from geko.runners.gpu_lock import physical_ordinal
from geko.runners.gpu_tools import Agent, Machine, read_machine, smi_facts
from geko.runners.hipblaslt_bench import UNSET
from geko.runners.process import ProcessResult, last_line, run_process

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

#: Variables of these families change what the library or the runtime does.
_FAMILIES = ("HIPBLASLT_", "TENSILE_", "ROCBLAS_", "HSA_", "HIP_", "ROCR_", "GPU_", "AMD_")
#: Which device a number means is no property of the device; paths and logs don't change times.
_NOT_IDENTITY = frozenset(
    {
        *UNSET, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HIP_PATH",
        "HIP_PLATFORM", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "HIPBLASLT_BENCH_FREQ",
        "HIPBLASLT_BENCH_FREQ_ALL",
        "HIPBLASLT_BENCH_PERF", "HIPBLASLT_BENCH_PERF_ALL",
    }
)  # fmt: skip
_PROBE_S = 180.0
# The smallest GEMM that every library has a kernel for; only the banner above its result is of interest.
_TINY = (
    "-m",
    "64",
    "-n",
    "64",
    "-k",
    "64",
    "--precision",
    "f16_r",
    "--compute_type",
    "f32_r",
    "-i",
    "1",
    "-j",
    "0",
)


@dataclass(frozen=True, slots=True)
class ProbedDevice:
    """A device and the environment that it measures in.

    Attributes:
        environment: its environment.
        ordinal: its number for the programs.
        device_id: id of table ``device``.
        host: where it is.
        serial: serial number or UUID.
        max_sclk_mhz, max_mclk_mhz, memory_gib: as the driver says.
        n_devices: visible devices of the host.
        detail: what the tools said that is in no column.
    """

    environment: Environment
    ordinal: int
    device_id: str
    host: str
    serial: str | None
    max_sclk_mhz: float | None
    max_mclk_mhz: float | None
    memory_gib: float | None
    n_devices: int | None
    detail: dict[str, Any]

    def row(self, now: datetime) -> dict[str, Any]:
        """Row of table ``device``."""
        return {
            "device_id": self.device_id,
            "environment_id": self.environment.environment_id,
            "host": self.host,
            "ordinal": self.ordinal,
            "serial": self.serial,
            "max_sclk_mhz": self.max_sclk_mhz,
            "max_mclk_mhz": self.max_mclk_mhz,
            "memory_gib": self.memory_gib,
            "detail": canonical_json(self.detail),
            "last_seen": now,
        }


def read_banner(output: str) -> BenchBanner | None:
    """Banner of a hipblaslt-bench output; None if it has none."""
    values: dict[str, Any] = {}
    line_number = 0
    for number, line in enumerate(output.splitlines(), 1):
        found = read_banner_line(line.strip())
        if found is None:
            continue
        if not values and line.startswith(BANNER_START):
            line_number = number
        values = {**found, **values}
    return BenchBanner(line=line_number, **values) if values else None


def bench_banner(
    root: HipblasltRoot, ordinal: int, env: Mapping[str, str] | None = None
) -> tuple[BenchBanner | None, ProcessResult]:
    """Run the smallest GEMM on a device for what hipblaslt-bench says about it."""
    variables = {
        key: value for key, value in (os.environ if env is None else env).items() if key not in UNSET
    }
    command: list[str | Path] = [root.require_bench(), *_TINY, "--device", str(ordinal)]
    result = run_process(command, env=variables, timeout_s=_PROBE_S)
    return read_banner(result.output), result


def count_devices(root: HipblasltRoot, env: Mapping[str, str] | None = None) -> int:
    """Number of visible devices, as hipblaslt-bench counts them.

    Raises:
        ToolError: if it can't say.
    """
    banner, result = bench_banner(root, 0, env)
    if banner is not None and banner.n_devices is not None:
        return banner.n_devices
    said = result.message or last_line(result.output) or "it printed nothing"
    raise ToolError(f"hipblaslt-bench doesn't say how many devices there are: {said}")


def probe(
    root: HipblasltRoot,
    ordinals: Sequence[int],
    *,
    env: Mapping[str, str] | None = None,
    rocm: Path | None = None,
) -> list[ProbedDevice]:
    """Probe devices.

    Args:
        root: built hipBLASLt root; a simulated one gives simulated environments, and nothing of this
            machine's GPUs is asked then.
        ordinals: device numbers as the programs take them.
        env: environment to measure in; None for that of the process.
        rocm: ROCm's folder; None for ``$ROCM_PATH``, else ``/opt/rocm``.

    Raises:
        MissingFileError: if hipblaslt-bench isn't built.
        ToolError: if a device doesn't answer; names it.
    """
    variables = dict(os.environ if env is None else env)
    root.require_bench()
    with ThreadPoolExecutor(max_workers=max(1, min(8, len(ordinals)))) as threads:
        banners = list(threads.map(lambda ordinal: bench_banner(root, ordinal, variables), ordinals))
    machine = _machine_of(root, variables, rocm)
    return [
        _probed(root, ordinal, banner, result, machine, variables)
        for ordinal, (banner, result) in zip(ordinals, banners, strict=True)
    ]


def _machine_of(root: HipblasltRoot, env: Mapping[str, str], rocm: Path | None) -> Machine:
    if not root.is_simulated:
        return read_machine(env, rocm)
    # The stand-ins of a simulated root lie in it; the real tools of this machine have nothing to say here.
    only = {**env, "PATH": ""}
    return read_machine(only, rocm or root.path, root.path / "no-driver")


def _probed(
    root: HipblasltRoot,
    ordinal: int,
    banner: BenchBanner | None,
    result: ProcessResult,
    machine: Machine,
    env: Mapping[str, str],
) -> ProbedDevice:
    if banner is None or banner.gfx is None:
        said = result.message or last_line(result.output) or "it printed nothing"
        raise ToolError(
            f"device {ordinal} doesn't answer: {said}; leave it out of --devices, or see what `geko doctor` says"
        )
    if result.outcome in ("timeout", "hang", "memory_fault"):
        raise ToolError(
            f"device {ordinal} ({banner.device_name}) is not usable: {result.message}; leave it out of --devices"
        )
    agent = _agent_of(machine, ordinal, banner, env)
    smi = machine.smi.get(agent.bdf or "", {})
    facts = smi_facts(smi)
    host = socket.gethostname()
    serial = facts["serial"] or agent.uuid
    simulated = root.is_simulated
    environment = Environment(
        simulated=simulated,
        gfx=banner.gfx,
        device_name=banner.device_name or agent.name or facts["name"],
        pci_id=facts["pci_id"] or agent.chip_id,
        cu_count=agent.cu_count or facts["cu_count"],
        partition=facts["partition"],
        driver=facts["driver"] or machine.driver,
        rocm=machine.rocm,
        hip=machine.hip,
        hipblaslt_version=banner.version,
        hipblaslt_git=banner.git,
        clock_policy=machine.perf_level.get(agent.bdf or ""),
        env_vars=relevant_variables(env),
    )
    identity = {"host": host, "ordinal": ordinal, "serial": serial, "simulated": simulated}
    detail = {
        "banner": {
            key: value for key, value in asdict(banner).items() if key != "line" and value is not None
        },
        "agent": {key: value for key, value in asdict(agent).items() if value is not None},
        "physical": physical_ordinal(ordinal, env),
        "tools": machine.tools,
    }
    return ProbedDevice(
        environment=environment,
        ordinal=ordinal,
        device_id=content_id("device", identity),
        host=host,
        serial=serial,
        max_sclk_mhz=banner.max_sclk_mhz or agent.max_clock_mhz,
        max_mclk_mhz=banner.max_mclk_mhz,
        memory_gib=agent.memory_gib or facts["memory_gib"] or _gib(banner.memory_gb),
        n_devices=banner.n_devices,
        detail=detail,
    )


def _gib(gigabytes: float | None) -> float | None:
    return None if gigabytes is None else round(gigabytes * 1e9 / 2**30, 3)


def _agent_of(machine: Machine, ordinal: int, banner: BenchBanner, env: Mapping[str, str]) -> Agent:
    """rocminfo's entry of a device. It honours ROCR_VISIBLE_DEVICES, but not HIP_VISIBLE_DEVICES."""
    name = physical_ordinal(ordinal, {"HIP_VISIBLE_DEVICES": env.get("HIP_VISIBLE_DEVICES", "")})
    by_uuid = next((agent for agent in machine.agents if agent.uuid == name), None)
    number = int(name) if name.isdigit() else -1
    found = by_uuid or (machine.agents[number] if 0 <= number < len(machine.agents) else None)
    target = (banner.gfx or "").partition(":")[0]
    if found is None or (found.gfx or "").partition(":")[0] != target:
        return Agent(gfx=banner.gfx)
    return found


def relevant_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that change what the library does, as they belong to an environment's
    identity."""
    return {
        key: env[key]
        for key in sorted(env)
        if key.startswith(_FAMILIES) and key not in _NOT_IDENTITY and not key.startswith("HIPBLASLT_LOG")
    }


def store(warehouse: Warehouse, probed: Sequence[ProbedDevice]) -> None:
    """Write environments and devices into the warehouse; a device that was seen before is brought up to
    date."""
    import pyarrow as pa

    from geko.warehouse import Statement

    now = warehouse.now()
    environments = {
        item.environment.environment_id: {
            **item.environment.row(), "detail": canonical_json(item.detail), "first_seen": now,
        }
        for item in probed
    }  # fmt: skip
    warehouse.apply(
        Statement(
            "runners/add_environments", inputs={"seen": pa.Table.from_pylist(list(environments.values()))}
        ),
        Statement("runners/refresh_devices", inputs={"seen": _device_rows(probed, now)}),
        Statement("runners/add_devices", inputs={"seen": _device_rows(probed, now)}),
        repeatable=True,
    )


def _device_rows(probed: Sequence[ProbedDevice], now: datetime) -> Any:
    import pyarrow as pa

    types = {
        "device_id": pa.string(), "environment_id": pa.string(), "host": pa.string(), "ordinal": pa.int32(),
        "serial": pa.string(), "max_sclk_mhz": pa.float64(), "max_mclk_mhz": pa.float64(),
        "memory_gib": pa.float64(), "detail": pa.string(), "last_seen": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    return pa.Table.from_pylist([item.row(now) for item in probed], schema=pa.schema(list(types.items())))
