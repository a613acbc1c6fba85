"""Published figures of the GPUs that the simulator stands in for.

Sources: the AMD Instinct MI300X, MI300A and MI350X data sheets (compute units, peak engine clock, memory size
and bandwidth, peak matrix TFLOPS) and the CDNA 3 and CDNA 4 white papers (matrix FLOP per clock and CU,
Infinity Cache size and bandwidth, LDS per CU). Peak rate = CUs × FLOP/clock/CU × clock, for example
304 × 2048 × 2.1 GHz = 1307 TFLOPS for bf16 on MI300X. The names of CU-count variants are those of
hipBLASLt's logic folders; their bandwidths are the full GPU's times the share of dies, unless published.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

#: hipBLASLt type token -> (Tensile's DataType number in library logic, bytes an element).
TYPES: dict[str, tuple[int, float]] = {
    "f32_r": (0, 4),
    "f64_r": (1, 8),
    "f16_r": (4, 2),
    "i32_r": (6, 4),
    "bf16_r": (7, 2),
    "i8_r": (8, 1),
    "xf32_r": (10, 4),
    "f8_fnuz_r": (11, 1),
    "bf8_fnuz_r": (12, 1),
    "f8_r": (15, 1),
    "bf8_r": (16, 1),
    "f6_r": (19, 0.75),
    "bf6_r": (20, 0.75),
    "f4_r": (21, 0.5),
}


@dataclass(frozen=True, slots=True)
class Device:
    """What the time model and the printed banner need to know of one GPU.

    Attributes:
        arch: logic architecture name such as ``"gfx942"``.
        name: marketing name.
        pci_id: PCI device id.
        cus: compute units; ``xccs`` dies they lie on.
        sclk_mhz, mclk_mhz: peak engine and memory clock.
        memory_gb: memory size in 10^9 bytes; ``hbm_gbs`` its peak bandwidth in GB/s.
        mall_mib, mall_gbs: Infinity Cache size (MiB) and peak bandwidth (GB/s).
        lds_bytes: LDS of one CU.
        matrix_flops: FLOP per clock and CU by class of the input type.
        capability: what the runtime prints as compute capability.
    """

    arch: str
    name: str
    pci_id: str
    cus: int
    xccs: int
    sclk_mhz: int
    mclk_mhz: int
    memory_gb: float
    hbm_gbs: float
    mall_mib: int
    mall_gbs: float
    lds_bytes: int
    matrix_flops: dict[str, int]
    capability: str

    @property
    def target(self) -> str:
        """The target with its features, such as ``"gfx942:sramecc+:xnack-"``."""
        return f"{self.arch}:sramecc+:xnack-"


_CDNA3 = {"f64": 256, "f32": 256, "xf32": 1024, "16": 2048, "8": 4096}
_CDNA4 = {"f64": 128, "f32": 256, "xf32": 256, "16": 4096, "8": 8192, "4": 16384}

_MI300X = Device(
    "gfx942",
    "AMD Instinct MI300X",
    "0x74a1",
    304,
    8,
    2100,
    1300,
    206.1,
    5300.0,
    256,
    17200.0,
    65536,
    _CDNA3,
    "9.4",
)
_MI350X = Device(
    "gfx950",
    "AMD Instinct MI350X",
    "0x75a0",
    256,
    8,
    2200,
    1900,
    309.2,
    8000.0,
    256,
    17200.0,
    163840,
    _CDNA4,
    "9.5",
)


def _part(whole: Device, cus: int, xccs: int, name: str | None = None, pci_id: str | None = None) -> Device:
    share = xccs / whole.xccs
    return replace(
        whole,
        cus=cus,
        xccs=xccs,
        name=name or whole.name,
        pci_id=pci_id or whole.pci_id,
        memory_gb=round(whole.memory_gb * share, 1),
        hbm_gbs=whole.hbm_gbs * share,
        mall_mib=max(1, int(whole.mall_mib * share)),
        mall_gbs=whole.mall_gbs * share,
    )


DEVICES: dict[str, Device] = {
    "gfx942": _MI300X,
    "gfx942_228cu": replace(
        _part(_MI300X, 228, 6, "AMD Instinct MI300A", "0x74a0"),
        memory_gb=137.4,
        hbm_gbs=5300.0,
        mall_mib=256,
        mall_gbs=17200.0,
    ),
    "gfx942_80cu": replace(_part(_MI300X, 80, 4, "AMD Instinct MI308X", "0x74a2"), hbm_gbs=5300.0),
    "gfx942_38cu": _part(_MI300X, 38, 1),
    "gfx942_20cu": replace(_part(_MI300X, 20, 1, "AMD Instinct MI308X", "0x74a2")),
    "gfx950": _MI350X,
    "gfx950_128cu": _part(_MI350X, 128, 4),
}


def type_class(a_type: str, b_type: str, compute_type: str) -> str:
    """Class of the matrix instruction for these input types: ``f64 f32 xf32 16 8 4``."""
    if "xf32" in compute_type:
        return "xf32"
    widest = max(TYPES.get(a_type, (0, 4.0))[1], TYPES.get(b_type, (0, 4.0))[1])
    if widest >= 8:
        return "f64"
    if widest >= 4:
        # f32 data multiplied as bf16 or f16 ("fast" compute types) use the 16-bit instructions.
        return "16" if "bf16" in compute_type or "f16" in compute_type else "f32"
    if widest >= 2:
        return "16"
    return "8" if widest >= 1 else "4"
