"""Environment probe and doctor, over stand-in programs and over texts in the tools' own form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from geko.errors import ToolError
from geko.hipblaslt import HipblasltRoot
from geko.runners.doctor import Check, doctor
from geko.runners.gpu_tools import parse_rocminfo, parse_smi, read_machine, smi_facts
from geko.runners.probe import count_devices, probe, relevant_variables, store
from geko.simulator import make_root
from geko.warehouse import Warehouse

ROCMINFO = """\
ROCk module version 6.10.5 is loaded
=====================
HSA System Attributes
=====================
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 9654 96-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          AMD EPYC 9654 96-Core Processor
  Device Type:             CPU
  Compute Unit:            192
  Max Clock Freq. (MHz):   3707
  BDFID:                   0
*******
Agent 2
*******
  Name:                    gfx942
  Uuid:                    GPU-11aa22bb33cc44dd
  Marketing Name:          AMD Instinct MI300X
  Vendor Name:             AMD
  Device Type:             GPU
  Cache Info:
    L1:                      32(0x20) KB
  Chip ID:                 29857(0x74a1)
  Cacheline Size:          64(0x40)
  Max Clock Freq. (MHz):   2100
  BDFID:                   3328
  Compute Unit:            304
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    201310208(0xbffc000) KB
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-
*******
Agent 3
*******
  Name:                    gfx942
  Uuid:                    GPU-5566
  Marketing Name:          AMD Instinct MI300X
  Device Type:             GPU
  Chip ID:                 29857(0x74a1)
  BDFID:                   4352
  Compute Unit:            304
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
*** Done ***
"""
SMI = """\
WARNING: User is missing the following required groups: render, video.
[
    {
        "gpu": 0,
        "asic": {"market_name": "AMD Instinct MI300X", "device_id": "0x74a1", "asic_serial": "0x1B2F",
                 "rev_id": "0x00", "num_compute_units": 304, "target_graphics_version": "gfx942"},
        "bus": {"bdf": "0000:11:00.0"},
        "driver": {"name": "amdgpu", "version": "6.10.5"},
        "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}},
        "partition": {"compute_partition": "SPX", "memory_partition": "NPS1"}
    },
    {
        "gpu": 1,
        "asic": {"market_name": "AMD Instinct MI300X", "device_id": "0x74a1", "asic_serial": "0x77AA",
                 "num_compute_units": "N/A"},
        "bus": {"bdf": "0000:0d:00.0"},
        "driver": {"name": "amdgpu", "version": "6.10.5"},
        "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}},
        "partition": {"accelerator_partition": "CPX", "memory_partition": "NPS4"}
    }
]
"""
METRIC = '[{"gpu": 0, "perf_level": "AMDSMI_DEV_PERF_LEVEL_AUTO"}, {"gpu": 1, "perf_level": "MANUAL"}]'


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> HipblasltRoot:
    return HipblasltRoot(make_root(tmp_path_factory.mktemp("root") / "hipblaslt", arch="gfx942", devices=4))


@pytest.fixture
def rocm(tmp_path: Path) -> Path:
    """A ROCm folder whose tools print the texts above."""
    folder = tmp_path / "rocm"
    (folder / "bin").mkdir(parents=True)
    (folder / ".info").mkdir()
    (folder / ".info/version").write_text("6.3.1-48\n")
    (tmp_path / "info.txt").write_text(ROCMINFO)
    (tmp_path / "smi.json").write_text(SMI)
    tools = {
        "rocminfo": f"cat {tmp_path}/info.txt",
        "amd-smi": f"case $1 in static) cat {tmp_path}/smi.json;; metric) echo '{METRIC}';; *) exit 2;; esac",
        "hipconfig": "printf 6.3.42134-a9a80e791",
    }
    for name, text in tools.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return folder


def test_rocminfo_lists_gpus_only() -> None:
    first, second = parse_rocminfo(ROCMINFO)
    assert (first.gfx, first.name, first.cu_count) == (
        "gfx942:sramecc+:xnack-",
        "AMD Instinct MI300X",
        304,
    )
    assert (first.bdf, first.chip_id, first.uuid) == ("0000:0d:00.0", "74a1", "GPU-11aa22bb33cc44dd")
    assert first.memory_gib == pytest.approx(191.98, abs=0.01)
    assert (second.bdf, second.max_clock_mhz) == ("0000:11:00.0", None)
    assert parse_rocminfo("") == parse_rocminfo("rocminfo: command failed") == []


def test_amd_smi_of_old_and_new_versions() -> None:
    old = parse_smi(SMI)
    assert [smi_facts(item)["serial"] for item in old] == ["0x1B2F", "0x77AA"]
    assert [smi_facts(item)["partition"] for item in old] == ["SPX/NPS1", "CPX/NPS4"]
    assert [smi_facts(item)["cu_count"] for item in old] == [304, None]
    body = SMI[SMI.index("[") :]
    assert parse_smi('{"gpu_data": ' + body + "}") == old
    assert parse_smi("amd-smi: no devices found") == [] and parse_smi('{"broken":') == []
    assert smi_facts({}) == dict.fromkeys(smi_facts(old[0]))


def test_tools_are_joined_by_pci_address(rocm: Path) -> None:
    machine = read_machine({"PATH": os.environ["PATH"]}, rocm)
    assert (machine.rocm, machine.hip, machine.driver) == ("6.3.1-48", "6.3.42134-a9a80e791", "6.10.5")
    # amd-smi lists them in another order than the runtime.
    assert [machine.smi[agent.bdf or ""]["gpu"] for agent in machine.agents] == [1, 0]
    assert machine.perf_level == {"0000:11:00.0": "auto", "0000:0d:00.0": "manual"}


def test_probe_of_a_real_looking_machine(standin: Any, rocm: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HIP_VISIBLE_DEVICES": "1,0",
        "HIPBLASLT_LOG_MASK": "64",
        "HSA_XNACK": "0",
    }
    _answer_any_command(standin)
    root = HipblasltRoot(standin.root)
    first, second = probe(root, [0, 1], env=env, rocm=rocm)
    # Device 0 is the runtime's second one.
    assert (first.serial, first.environment.partition, first.environment.clock_policy) == (
        "0x1B2F",
        "SPX/NPS1",
        "auto",
    )
    assert (second.serial, second.environment.partition) == ("0x77AA", "CPX/NPS4")
    environment = first.environment
    assert not environment.simulated
    assert (environment.gfx, environment.cu_count, environment.pci_id) == (
        "gfx942:sramecc+:xnack-",
        304,
        "74a1",
    )
    assert (environment.rocm, environment.driver, environment.hipblaslt_version) == (
        "6.3.1-48",
        "6.10.5",
        "100200",
    )
    # Which devices are visible and what is logged is no part of the identity; what changes times is.
    assert environment.env_vars == {"HSA_XNACK": "0"}
    assert first.environment.environment_id != second.environment.environment_id
    assert first.device_id != second.device_id
    assert first.n_devices == 2 and first.max_sclk_mhz == 2100


def test_missing_tools_leave_gaps(standin: Any, tmp_path: Path) -> None:
    _answer_any_command(standin)
    (found,) = probe(HipblasltRoot(standin.root), [0], env={"PATH": "/nowhere"}, rocm=tmp_path / "none")
    environment = found.environment
    assert (environment.rocm, environment.hip, environment.cu_count, found.serial) == (None, None, None, None)
    assert environment.device_name == "AMD Instinct MI300X" and found.memory_gib == pytest.approx(
        191.9, abs=0.1
    )


def test_a_dead_device_is_named(standin: Any, tmp_path: Path) -> None:
    program = standin.folder / "hipblaslt-bench"
    program.write_text(
        '#!/bin/sh\nfor last; do :; done\n[ "$last" = 1 ] && { echo "hipErrorInvalidDevice" >&2; exit 1; }\n'
        'echo "hipBLASLt version: 1"\necho "Device ID 0 : AMD X gfx942"\n'
    )
    root = HipblasltRoot(standin.root)
    with pytest.raises(ToolError, match=r"device 1 doesn't answer.*hipErrorInvalidDevice"):
        probe(root, [0, 1], env={"PATH": os.environ["PATH"]}, rocm=tmp_path)
    with pytest.raises(ToolError, match="doesn't say how many devices"):
        count_devices(root, {"PATH": os.environ["PATH"]})


def test_simulated_probe(simulated: HipblasltRoot) -> None:
    assert count_devices(simulated) == 4
    devices = probe(simulated, [0, 1, 3])
    assert len({item.device_id for item in devices}) == 3
    environments = {item.environment.environment_id: item.environment for item in devices}
    assert len(environments) == 1, "equal GPUs are one environment"
    (environment,) = environments.values()
    assert environment.simulated and environment.arch == "gfx942" and environment.cu_count
    assert "simulated" in (environment.device_name or "")
    assert environment.rocm == "7.0.2" and environment.clock_policy == "auto"


def test_probed_devices_go_into_the_warehouse_once(simulated: HipblasltRoot, tmp_path: Path) -> None:
    devices = probe(simulated, [0, 1])
    with Warehouse.open(tmp_path / "w.duckdb") as wh:
        store(wh, devices)
        wh.sql("UPDATE device SET quarantined_at = now() WHERE ordinal = 1", write=True).read_all()
        store(wh, devices)
        rows = wh.sql(
            "SELECT ordinal, d.environment_id = e.environment_id AS same, quarantined_at IS NOT NULL AS bad,"
            " e.simulated"
            " FROM device d JOIN environment e USING (environment_id) ORDER BY ordinal"
        ).read_all()
        assert rows.to_pylist() == [
            {"ordinal": 0, "same": True, "bad": False, "simulated": True},
            {"ordinal": 1, "same": True, "bad": True, "simulated": True},
        ]
        found = wh.query(
            "runners/device_by_ordinal", None, host=devices[0].host, ordinal=1, simulated=True
        ).to_pylist()
        assert [row["device_id"] for row in found] == [devices[1].device_id]


def test_variables_of_the_identity() -> None:
    env = {
        "PATH": "/bin", "ROCBLAS_LAYER": "4", "HIPBLASLT_LOG_FILE": "x", "HIPBLASLT_TENSILE_LIBPATH": "/l",
        "TENSILE_DB": "1", "HIP_VISIBLE_DEVICES": "0", "AMD_SERIALIZE_KERNEL": "3",
    }  # fmt: skip
    assert relevant_variables(env) == {"AMD_SERIALIZE_KERNEL": "3", "ROCBLAS_LAYER": "4", "TENSILE_DB": "1"}


def by_name(checks: list[Check]) -> dict[str, Check]:
    assert len({check.name for check in checks}) == len(checks)
    assert all(bool(check.remedy) == (check.state != "ok") for check in checks)
    return {check.name: check for check in checks}


def test_doctor_on_an_empty_machine(tmp_path: Path) -> None:
    checks = by_name(
        doctor(db=tmp_path / "w.duckdb", anchor=tmp_path, env={"PATH": "/nowhere"}, rocm=tmp_path / "none")
    )
    assert checks["hipBLASLt root"].state == "missing" and "--simulate" in checks["hipBLASLt root"].remedy
    assert checks["ROCm"].state == checks["GPUs"].state == "missing"
    assert checks["warehouse"].state == "ok"
    assert not list(tmp_path.iterdir()), "the doctor changes nothing"


def test_doctor_on_a_checkout_that_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "hipblaslt/tensilelite").mkdir(parents=True)
    checks = by_name(doctor(tmp_path / "hipblaslt", tmp_path / "w.duckdb", env={"PATH": ""}, rocm=tmp_path))
    assert checks["hipBLASLt root"].state == "ok"
    assert checks["hipBLASLt build"].state == checks["hipblaslt-bench"].state == "missing"
    assert checks["TensileCreateLibrary"].state == "missing"
    assert checks["Tensile"].state == "warn" and "tuned" in checks["Tensile"].what, "only tuning needs it"
    assert "install.sh" in checks["hipBLASLt build"].remedy
    assert "filelock" in checks and "invoke" not in checks, (
        "a tensilelite without tasks builds its client itself"
    )
    (tmp_path / "hipblaslt/tensilelite/tasks.py").touch()
    again = by_name(doctor(tmp_path / "hipblaslt", tmp_path / "w.duckdb", env={"PATH": ""}, rocm=tmp_path))
    assert "invoke" in again


def test_doctor_on_a_simulated_root(simulated: HipblasltRoot, tmp_path: Path) -> None:
    checks = by_name(doctor(simulated.path, tmp_path / "w.duckdb"))
    assert checks["Tensile"].state == checks["invoke"].state == "ok"
    assert "(simulated)" in checks["hipBLASLt root"].what
    assert checks["hipblaslt-bench"].state == "ok" and "100200" in checks["hipblaslt-bench"].what
    assert "4 devices" in checks["hipblaslt-bench"].what
    assert checks["TensileCreateLibrary"].state == "ok"


def test_doctor_on_a_machine_with_gpus(standin: Any, rocm: Path, tmp_path: Path) -> None:
    _answer_any_command(standin)
    checks = by_name(doctor(standin.root, tmp_path / "w.duckdb", env={"PATH": os.environ["PATH"]}, rocm=rocm))
    assert checks["ROCm"].what.startswith("6.3.1-48")
    assert checks["GPUs"].what.count("AMD Instinct MI300X") == 2
    assert checks["amd-smi"].what == "clock policy: auto, manual"
    assert checks["hipblaslt-bench"].state == "ok"
    assert checks["MatchTable"].state == "warn"


def _answer_any_command(standin: Any) -> None:
    """Let the stand-in print its banner for single-shape command lines, too."""
    program = standin.folder / "hipblaslt-bench"
    program.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'echo "hipBLASLt version: 100200"\necho "hipBLASLt git version: abc123"\n'
        'echo "Query device success: there are 2 devices. (Target device ID is $last)"\n'
        'echo "Device ID $last : AMD Instinct MI300X gfx942:sramecc+:xnack-"\n'
        'echo "with 206.1 GB memory, max. SCLK 2100 MHz, max. MCLK 1300 MHz, compute capability 9.4"\n'
    )
