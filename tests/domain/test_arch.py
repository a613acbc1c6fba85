"""The architecture table."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geko.domain import arch as arch_module
from geko.domain.arch import (
    canonical_arch,
    fastest_product,
    find_product,
    get_arch,
    mx_scale_code,
    products,
    supported_archs,
)
from geko.errors import InputError

# arch, CUs, XCC, schedule, logic architecture, device names, MX scale code
TABLE = [
    ("gfx950", 256, 8, "gfx950", "gfx950", ("Device 75a0",), 1001),
    ("gfx950_128cu", 128, 4, "gfx950", "gfx950", ("Device 75a0",), 1001),
    ("gfx942", 304, 8, "aquavanjaram", "gfx942", ("Device 0049", "Device 0050"), 0),
    ("gfx942_80cu", 80, 4, "aquavanjaram", "gfx942", ("Device 0049", "Device 0050"), 0),
    ("gfx942_38cu", 38, 8, "aquavanjaram", "gfx942", ("Device 0049", "Device 0050"), 0),
    ("gfx942_20cu", 20, 4, "aquavanjaram", "gfx942", ("Device 0049", "Device 0050"), 0),
    ("gfx942_228cu", 228, 6, "aquavanjaram", "gfx942", ("Device 0049", "Device 0050"), 0),
    ("gfx1250", 256, 8, "gfx1250", "gfx1250", ("Device 73f0",), 3),
    ("gfx1250_96cu", 96, 3, "gfx1250", "gfx1250", ("Device 75c7",), 3),
    ("gfx1250_192cu", 192, 6, "gfx1250", "gfx1250", ("Device 75c7",), 3),
    ("gfx1250-strict", 256, 8, "gfx1250-strict", "gfx1250-strict", ("Device 73f0",), 3),
    ("gfx1250-strict_96cu", 96, 3, "gfx1250-strict", "gfx1250-strict", ("Device 75c7",), 3),
    ("gfx1250-strict_192cu", 192, 6, "gfx1250-strict", "gfx1250-strict", ("Device 75c7",), 3),
]


@pytest.mark.parametrize(("name", "cus", "xcc", "schedule", "logic", "devices", "mx"), TABLE)
def test_table(
    name: str, cus: int, xcc: int, schedule: str, logic: str, devices: tuple[str, ...], mx: int
) -> None:
    arch = get_arch(name)
    assert (arch.cus, arch.xcc, arch.schedule_name, arch.logic_architecture) == (cus, xcc, schedule, logic)
    assert (arch.device_names, arch.mx_scale_code, arch.has_mx) == (devices, mx, mx != 0)
    assert arch.mx_block == (32 if mx else None)


def test_table_is_complete() -> None:
    assert set(supported_archs()) == {row[0] for row in TABLE}


def test_hardware_facts() -> None:
    assert [get_arch(name).lds_bytes for name in ("gfx942", "gfx950", "gfx1250")] == [65536, 163840, 327680]
    assert [get_arch(name).wavefront_size for name in ("gfx942", "gfx950", "gfx1250")] == [64, 64, 32]
    assert get_arch("gfx942_38cu").isa == (9, 4, 2)
    assert get_arch("gfx942").fnuz_fp8 and not get_arch("gfx950").fnuz_fp8
    assert get_arch("gfx950").cms and not get_arch("gfx1250").cms


@pytest.mark.parametrize("suffix", ["", "_96cu", "_192cu"])
def test_retired_names_warn(suffix: str) -> None:
    with pytest.warns(DeprecationWarning, match="deprecated"):
        assert canonical_arch(f"gfx1250v0{suffix}") == f"gfx1250-strict{suffix}"
    assert canonical_arch(f"gfx1250{suffix}") == f"gfx1250{suffix}"


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"gfx942_228cu.*got 'gfx90a'"):
        canonical_arch("gfx90a")


def test_environment_of_processes_only_on_strict() -> None:
    assert dict(get_arch("gfx1250-strict_96cu").env) == {"HSA_DISABLE_GFX12_STRICT": "0"}
    assert not get_arch("gfx1250").env and not get_arch("gfx950").env


def test_mx_codes_by_architecture() -> None:
    assert mx_scale_code(32, "E8", "gfx950_128cu") == 1001
    assert mx_scale_code(32, "E8", "gfx1250") == 3
    assert mx_scale_code(32, "E8") == mx_scale_code(32, "E8", "gfx7") == 3
    assert mx_scale_code(16, "F8", "gfx950") == mx_scale_code(16, "F8", "gfx1250") == 6
    with pytest.raises(InputError, match="MX is not supported on ARCH 'gfx942_80cu'"):
        mx_scale_code(32, "E8", "gfx942_80cu")


def test_peaks_follow_from_rate_per_clock() -> None:
    per_clock = {
        "MI300X": {"f64": 256, "f32": 256, "xf32": 1024, "f16": 2048, "bf16": 2048, "f8": 4096, "i8": 4096},
        "MI350X": {"f64": 128, "f32": 256, "f16": 4096, "bf16": 4096, "f8": 8192, "f6": 16384, "f4": 16384},
    }
    per_clock["MI325X"] = per_clock["MI300A"] = per_clock["MI300X"]
    per_clock["MI355X"] = per_clock["MI350X"]
    assert {product.name for product in products()} == set(per_clock)
    for product in products():
        for kind, flops in per_clock[product.name].items():
            expected = flops * product.cus * product.max_clock_mhz * 1e-6
            assert product.peak_tflops[kind] == pytest.approx(expected, rel=1e-3), (product.name, kind)


def test_peak_of_type_pairs() -> None:
    mi350x = find_product("AMD Instinct MI350X gfx950:sramecc+:xnack-")
    assert mi350x is not None and mi350x is find_product("0x75a0") and mi350x is find_product("Device 75a0")
    assert mi350x.peak("bf16_r") == 2306.9
    assert mi350x.peak("f8_r", "bf16_r") == 2306.9  # the slower type decides
    assert mi350x.peak("f4_r") == 9227.5
    assert mi350x.peak("f32_r", "f32_r", "c_f32_fast_bf16_r") == 2306.9
    assert mi350x.peak("f32_r", "f32_r", "c_xf32_r") == 769.0
    assert mi350x.peak("posit8") is None
    assert find_product("NVIDIA H100") is None


def test_physical_limit() -> None:
    mi350x = find_product("MI350X")
    assert mi350x is not None
    flops = 2 * 8192**3
    least = mi350x.least_time_us(flops, "bf16_r")
    assert least == pytest.approx(476.6, abs=0.1)
    half = mi350x.least_time_us(flops, "bf16_r", cus=128)
    assert half == pytest.approx(2 * 476.6, abs=0.2)
    assert mi350x.least_time_us(flops, "posit8") is None


def test_fastest_product_bounds_all_of_a_target() -> None:
    assert getattr(fastest_product("gfx950_128cu"), "name", None) == "MI355X"
    assert getattr(fastest_product("gfx942_80cu"), "name", None) == "MI300X"
    assert fastest_product("gfx1250") is None


class _Point:
    """An installed entry point, as importlib.metadata gives them."""

    name = value = "new"

    def __init__(self, target: object) -> None:
        self._target = target

    def load(self) -> object:
        return self._target


FAMILY: dict[str, Any] = {
    "family": "gfx1300",
    "isa": [13, 0, 0],
    "schedule_name": "gfx1300",
    "logic_architecture": "gfx1300",
    "mi_family": "MI99",
    "wavefront_size": 32,
    "lds_bytes": 1024,
    "device_names": ["Device 0001"],
    "variant": [{"name": "gfx1300", "cus": 4, "xcc": 1}],
}


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def install(target: object) -> None:
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [_Point(target)])
        arch_module._tables.cache_clear()

    yield install
    arch_module._tables.cache_clear()


def test_plug_in_mapping_function_and_file(plug_in: Any, tmp_path: Path) -> None:
    toml = tmp_path / "new.toml"
    toml.write_text(
        'family="gfx1300"\nisa=[13,0,0]\nschedule_name="s"\nlogic_architecture="l"\nmi_family="m"\n'
        'wavefront_size=32\nlds_bytes=1024\ndevice_names=[]\n[[variant]]\nname="gfx1300"\ncus=4\nxcc=1\n',
        encoding="utf-8",
    )
    for target in (FAMILY, lambda: FAMILY, str(toml)):
        plug_in(target)
        assert get_arch("gfx1300").cus == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "unknown keys: colour"),
        ({"variant": [{"name": "gfx1300", "cus": 4}]}, "xcc"),
        ({"variant": [{"name": "gfx950", "cus": 4, "xcc": 1}]}, "gfx950 is already defined"),
    ],
)
def test_broken_plug_in_says_what_is_wrong(plug_in: Any, change: dict[str, Any], message: str) -> None:
    plug_in({**FAMILY, **change})
    with pytest.raises(InputError, match=message):
        supported_archs()


def test_plug_in_file_that_is_missing(plug_in: Any, tmp_path: Path) -> None:
    plug_in(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="can't read the architecture table"):
        supported_archs()
