"""Architectures: what a tuning run and a roofline must know about a GPU, as data.

One TOML file a family in ``geko/domain/archs``. A new architecture is one more file there, or an entry point
of the group ``geko.archs`` in another package: it loads to the path of such a file, to its parsed mapping, or
to a function that returns one of these.
"""

from __future__ import annotations

import functools
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.domain.dtypes import BY_COMPUTE, BY_TOKEN, canonical_scale_code, normalise_compute
from geko.errors import InputError
from geko.log import logger

ENTRY_POINT_GROUP = "geko.archs"
DEFAULT_ARCH = "gfx950"


@dataclass(frozen=True)
class Arch:
    """One architecture as the tools name it, a partition such as ``gfx942_80cu`` included.

    Attributes:
        name: the key, such as ``gfx950_128cu``.
        family: the family whose table it stands in.
        cus: compute units (work-group processors on gfx1250).
        xcc: accelerator complexes that share the CUs.
        isa: instruction set as Tensile writes it, ``(9, 5, 0)``.
        schedule_name: first name of a library-logic file (``aquavanjaram``).
        logic_architecture: ``ArchitectureName`` of library logic, and the compiler target.
        device_names: device list of library logic.
        mi_family: which allow-list of matrix instructions applies.
        wavefront_size: lanes of a wavefront.
        lds_bytes: LDS of one compute unit in bytes.
        mx_scale_code: ``scaleA`` code of 32-element E8 scales; 0 where there is no block scaling.
        mx_block: default MX block; ``None`` where there is no block scaling.
        fnuz_fp8: fp8 is fnuz, and the client renames ``f8_r`` to ``f8_fnuz_r``.
        stream_k_default: tuning uses Stream-K kernels unless told otherwise.
        cms: custom main loop schedules exist.
        subtile: the subtile search space exists.
        env: environment variables that each process on this GPU needs.
        lds_bytes_per_clock: bytes between LDS and the registers of one compute unit, a clock cycle.
        load_bytes_per_clock: bytes that one compute unit takes from its L2, a clock cycle.
        l2_bytes_per_clock: bytes that the L2 of one accelerator complex gives, a clock cycle.
        cache_gb_per_s: bandwidth of the last-level cache of the whole GPU in GB/s (10^9 bytes).
    """

    name: str
    family: str
    cus: int
    xcc: int
    isa: tuple[int, int, int]
    schedule_name: str
    logic_architecture: str
    device_names: tuple[str, ...]
    mi_family: str
    wavefront_size: int
    lds_bytes: int
    mx_scale_code: int = 0
    mx_block: int | None = None
    fnuz_fp8: bool = False
    stream_k_default: bool = False
    cms: bool = False
    subtile: bool = False
    lds_bytes_per_clock: float = 128
    load_bytes_per_clock: float = 64
    l2_bytes_per_clock: float = 2048
    cache_gb_per_s: float = 17200
    env: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def has_mx(self) -> bool:
        """Whether block scaled (MX) GEMMs exist."""
        return self.mx_scale_code != 0

    @property
    def target(self) -> str:
        """gfx target without partition, ``gfx950`` of ``gfx950_128cu``."""
        return self.name.partition("_")[0]


@dataclass(frozen=True)
class Product:
    """Peak figures of one GPU model, for rooflines and for telling impossible measurements.

    Attributes:
        name: model, such as ``MI350X``.
        arch: its architecture when not partitioned.
        pci_ids: PCI device ids, hexadecimal without ``0x``.
        cus: compute units.
        max_clock_mhz: highest engine clock in MHz.
        hbm_gb_per_s: peak bandwidth of the memory in GB/s (10^9 bytes).
        memory_gb: size of the memory in GB.
        peak_tflops: class of input type -> dense matrix peak in TFLOP/s.
    """

    name: str
    arch: str
    pci_ids: tuple[str, ...]
    cus: int
    max_clock_mhz: float
    hbm_gb_per_s: float
    memory_gb: float
    peak_tflops: Mapping[str, float] = field(hash=False)

    def peak(self, a_type: str, b_type: str | None = None, compute_type: str = "f32_r") -> float | None:
        """Matrix peak in TFLOP/s for a pair of input types; ``None`` where no figure is known.

        Mixed inputs run at the rate of the slower type; a compute type that converts the inputs (``xf32_r``,
        ``f32_fast_bf16_r``) runs at the rate of what they become.
        """
        compute = BY_COMPUTE.get(normalise_compute(compute_type))
        if compute is not None and compute.peak_class:
            return self.peak_tflops.get(compute.peak_class)
        rates = []
        for token in (a_type, a_type if b_type is None else b_type):
            dtype = BY_TOKEN.get(token)
            rate = None if dtype is None else self.peak_tflops.get(dtype.peak_class)
            if rate is None:
                return None
            rates.append(rate)
        return min(rates)

    def least_time_us(
        self,
        flops: float,
        a_type: str,
        b_type: str | None = None,
        compute_type: str = "f32_r",
        cus: int | None = None,
    ) -> float | None:
        """Physical limit: the shortest time in µs for ``flops``; a shorter time is a bad measurement.

        Only arithmetic counts: a GEMM that stays in a cache can beat the bandwidth of the memory.

        Args:
            flops: real floating-point operations.
            a_type: type of A.
            b_type: type of B, that of A when left out.
            compute_type: compute type, with or without ``c_``.
            cus: compute units in use when the GPU is partitioned; all when left out.
        """
        peak = self.peak(a_type, b_type, compute_type)
        if peak is None:
            return None
        return flops / (peak * 1e6 * ((cus or self.cus) / self.cus))


@dataclass(frozen=True)
class _Tables:
    archs: dict[str, Arch]
    products: dict[str, Product]
    aliases: dict[str, str]


_FAMILY_KEYS = frozenset(Arch.__dataclass_fields__) - {"name", "cus", "xcc", "env"}


def _read(source: object) -> dict[str, Any]:
    if callable(source):
        source = source()
    if isinstance(source, Mapping):
        return dict(source)
    path = Path(str(source))
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"can't read the architecture table: {error}", path=path) from error


def _add(tables: _Tables, data: Mapping[str, Any], origin: str) -> None:
    known = {key: data[key] for key in _FAMILY_KEYS & data.keys()}
    unknown = data.keys() - _FAMILY_KEYS - {"variant", "product", "runtime_env", "deprecated_aliases"}
    if unknown:
        raise InputError(f"architecture table has unknown keys: {', '.join(sorted(unknown))}", path=origin)
    env = {str(key): str(value) for key, value in data.get("runtime_env", {}).items()}
    try:
        for variant in data["variant"]:
            merged = {**known, **variant, "env": env}
            merged["isa"] = tuple(merged["isa"])
            merged["device_names"] = tuple(merged["device_names"])
            arch = Arch(**merged)
            if arch.name in tables.archs:
                raise InputError(f"architecture {arch.name} is already defined", path=origin)
            tables.archs[arch.name] = arch
        for entry in data.get("product", ()):
            product = Product(**{**entry, "pci_ids": tuple(entry["pci_ids"])})
            tables.products[product.name] = product
    except (KeyError, TypeError) as error:
        raise InputError(f"architecture table lacks or misspells a field: {error}", path=origin) from error
    tables.aliases.update(data.get("deprecated_aliases", {}))


@functools.cache
def _tables() -> _Tables:
    from importlib import metadata, resources  # slow to import, and often not needed

    tables = _Tables({}, {}, {})
    folder = resources.files("geko.domain.archs")
    files = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    families = [(tomllib.loads(entry.read_text(encoding="utf-8")), entry.name) for entry in files]
    for data, name in sorted(families, key=lambda item: (item[0]["isa"], item[1])):
        _add(tables, data, name)
    for point in sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        _add(tables, _read(point.load()), f"entry point {point.name} ({point.value})")
    return tables


def supported_archs() -> tuple[str, ...]:
    """Names of all architectures, plug-ins included."""
    return tuple(_tables().archs)


def canonical_arch(name: str) -> str:
    """Current name of an architecture; a retired one is rewritten and warned about.

    Args:
        name: such as ``gfx950`` or the retired ``gfx1250v0_96cu``.

    Raises:
        InputError: unknown name.
    """
    tables = _tables()
    if name in tables.aliases:
        current = tables.aliases[name]
        message = f"architecture {name} is deprecated: use {current}"
        logger.warning(message)  # Python hides deprecation warnings of library code from the user
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return current
    if name not in tables.archs:
        raise InputError(f"unknown architecture; supported are {', '.join(tables.archs)}", value=name)
    return name


def get_arch(name: str) -> Arch:
    """The architecture of a (possibly retired) name.

    Raises:
        InputError: unknown name.
    """
    return _tables().archs[canonical_arch(name)]


def products() -> tuple[Product, ...]:
    """All GPU models with known peaks."""
    return tuple(_tables().products.values())


def find_product(device: str) -> Product | None:
    """GPU model of a device text, by model name or PCI id; ``None`` when it is not in the table.

    Args:
        device: such as ``AMD Instinct MI350X gfx950:sramecc+:xnack-``, ``MI300X`` or ``0x75a0``.
    """
    words = device.replace("_", " ").replace("/", " ").split()
    text = device.strip().lower().removeprefix("device ").removeprefix("0x")
    for product in products():
        if product.name in words or text in product.pci_ids:
            return product
    return None


def fastest_product(arch: str) -> Product | None:
    """The model with the highest clock that has this architecture's target.

    Its peaks bound every device of the target from above, for results that don't name their GPU model.
    """
    target = get_arch(arch).target
    matching = [product for product in products() if get_arch(product.arch).target == target]
    return max(matching, key=lambda product: product.cus * product.max_clock_mhz, default=None)


def mx_scale_code(block: int, scale_type: str, arch: str | None = None) -> int:
    """``scaleA`` / ``scaleB`` code of an MX format on an architecture.

    Args:
        block: 16 or 32 elements a scale.
        scale_type: E8, F8 or E5M3.
        arch: architecture; the canonical code when left out or unknown.

    Raises:
        InputError: the architecture has no block scaling, or there is no such format.
    """
    code = canonical_scale_code(block, scale_type)
    known = _tables().archs.get(arch) if arch else None
    if known is None:
        return code
    if not known.has_mx:
        raise InputError(f"MX is not supported on ARCH '{arch}'")
    return known.mx_scale_code if (block, scale_type) == (32, "E8") else code
