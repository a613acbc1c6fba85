"""The sections of a tuning config around its search space: global parameters, problem type, library,
backend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from geko.config_generator.config_merger import MergedSpace
from geko.config_generator.constants import (
    AREA_CAP,
    AREA_CAP_SUBTILE,
    COMPLEX_TYPES,
    DATA_BYTES,
    VALIDATION_ELEMENTS,
)
from geko.config_generator.load_input_config import Request
from geko.config_generator.sizes import Size
from geko.config_generator.tile_model import TileModel, machine
from geko.config_generator.weights import costs, original_costs, population

#: (threshold on M*N*K*B, enqueues): the first threshold above the size counts.
_ENQUEUES = ((33_554_432, 200), (536_870_912, 30), (8_589_934_592, 20))


@dataclass(frozen=True, slots=True)
class Line:
    """One key of a section; ``active`` False writes it as a comment."""

    key: str
    value: Any
    active: bool = True


def enqueues(size: Size, element_bytes: int, area_cap: int, cus: int) -> int:
    """Kernel launches a measurement: more for short kernels, and for small types whose problems don't fill
    the chip."""
    m, n, batch, k = size
    base = next((count for limit, count in _ENQUEUES if m * n * k * batch < limit), 10)
    if m * n * batch < area_cap * cus * 10:
        if element_bytes == 1:
            return math.ceil(3.5 * base)
        if element_bytes == 2:
            return 2 * base
    return base


def iterations(size: Size) -> int:
    """Iterations that keep a measurement of Ductile near constant in time."""
    m, n, batch, k = size
    return max(round((431 - 0.015 * (m + n + k)) / batch), 5)


def launch_counts(
    sizes: list[Size], backend: str, element_bytes: int, area_cap: int, cus: int
) -> tuple[int, int]:
    """(EnqueuesPerSync, NumWarmups) of a config."""
    base = max(enqueues(size, element_bytes, area_cap, cus) for size in sizes)
    if backend != "ductile":
        return base, base
    per_size = max(iterations(size) for size in sizes)
    launches = int(0.75 * max(per_size, base))
    return launches, int(0.75 * max(per_size, launches))


def area_cap(request: Request) -> int:
    """Largest macro-tile area of the request's type and space."""
    table = AREA_CAP_SUBTILE if request.settings.search_space == "subtile" else AREA_CAP
    return table[str(request.gemm.gemm_type.data_type)]


def global_parameters(request: Request, sizes: list[Size], version: str = "5.0.0") -> list[Line]:
    """``GlobalParameters`` in writing order.

    Args:
        request: what is tuned.
        sizes: sizes of the config.
        version: of the tensilelite that is to read it.
    """
    settings, kind = request.settings, str(request.gemm.gemm_type.data_type)
    launches, warmups = launch_counts(
        sizes, settings.backend, DATA_BYTES[kind], area_cap(request), settings.cus
    )
    tensile = settings.backend == "tensile"
    integer = kind == "I8"
    pairs: list[tuple[str, Any]] = [
        ("MinimumRequiredVersion", version),
        ("SleepPercent", 0 if tensile else 50),
        ("EnqueuesPerSync", launches),
        ("NumWarmups", warmups),
        ("KernelTime", True),
        ("NumElementsToValidate", 0),
        ("DataInitTypeBeta", 1 if settings.epilogues else 0),
        ("DataInitTypeAlpha", 1),
        ("DataInitTypeA", 3 if integer else 12),
        ("DataInitTypeB", 3 if integer else 13),
        ("DataInitTypeC", 3 if integer else 12),
        ("DataInitTypeD", 3 if integer else 12),
        ("DataInitTypeScaleAlphaVec", 3 if integer else 12),
        ("DataInitSeed", 1),
        ("CSVExportWinner", True),
        ("CSVMergeSameProblemID", True),
        ("PreciseKernelTime", False),
        ("Device", 0),
        ("SkipSlowSolutionRatio", 0.0),
        ("#PrintSolutionRejectionReason", True),
        ("KeepBuildTmp", False),
        ("RotatingBufferSize", 0 if settings.search_space == "subtile" else 1024),
        ("UseEffLike", False),
    ]
    if request.gemm.mx:
        pairs += [("DataInitTypeMXSA", 3), ("DataInitTypeMXSB", 3)]
        if settings.arch.family == "gfx950":
            pairs.append(("MXScaleFormat", 1))
    return [Line(key.lstrip("#"), value, not key.startswith("#")) for key, value in pairs]


def mapped_letter(letter: str) -> str:
    """Tensile letter that a problem type names: tf32 is S with a math option, its bf16 emulation B."""
    return {"X": "S", "X1": "B"}.get(letter, letter)


def has_epilogues(request: Request) -> bool:
    """Whether bias, activation and scale fields are in force."""
    kind = request.gemm.gemm_type
    doubles = kind.data_type == "D" and kind.dest_data_type == "D"
    return request.settings.epilogues and not doubles and kind.data_type not in COMPLEX_TYPES


def problem_type(request: Request) -> list[Line]:
    """``ProblemType`` in writing order."""
    gemm, settings = request.gemm, request.settings
    kind = gemm.gemm_type
    letter, dest, compute = (str(x) for x in (kind.data_type, kind.dest_data_type, kind.compute_data_type))
    on = has_epilogues(request)
    gfx1250_mx = gemm.mx and settings.arch.family.startswith("gfx1250")
    mixed = letter != compute and letter not in ("X", "X1")
    lines = [Line("OperationType", "GEMM"), Line("DataType", mapped_letter(letter))]
    if letter == "X1":
        lines += [Line("DataTypeA", "S"), Line("DataTypeB", "S")]
    lines += [
        Line("DestDataType", mapped_letter(dest)),
        Line("ComputeDataType", mapped_letter(compute)),
        Line("HighPrecisionAccumulate", mixed),
    ]
    if gemm.mx_format is not None:
        block, scale = gemm.mx_format
        lines += [Line("MXBlockA", block), Line("MXBlockB", block)]
        if scale != "E8":
            lines += [Line("DataTypeMXSA", scale), Line("DataTypeMXSB", scale)]
    if not (gfx1250_mx and settings.equality):
        lines.append(Line("UseScaleAlphaVec", 1, on))
    if "8" in letter + dest and not gfx1250_mx:
        lines.append(Line("UseScaleAB", "Scalar", on))
    lines += [Line("TransposeA", kind.transA != "N"), Line("TransposeB", kind.transB != "N")]
    if letter in COMPLEX_TYPES:
        lines += [
            Line("ComplexConjugateA", kind.transA == "C"),
            Line("ComplexConjugateB", kind.transB == "C"),
        ]
    lines += [
        Line("UseBeta", True),
        Line("UseBias", 1, on),
        Line("Activation", True, on),
        Line("ActivationHPA", True, on),
        Line("ActivationType", "hipblaslt_all", on),
        Line("Batched", True),
    ]
    if letter == "X":
        lines.append(Line("F32XdlMathOp", "X"))
    return lines


#: Order of the problem type's keys before Stream-K became a strategy.
OLD_ORDER = (
    "OperationType",
    "DataType",
    "DestDataType",
    "ComputeDataType",
    "HighPrecisionAccumulate",
    "TransposeA",
    "TransposeB",
    "UseBeta",
    "Activation",
    "ActivationHPA",
    "ActivationType",
    "UseScaleAlphaVec",
    "UseBias",
    "UseScaleAB",
    "Batched",
    "F32XdlMathOp",
)


def bias_type(request: Request) -> str | None:
    """Type of the bias vector in benchmarks; None without epilogues."""
    if not has_epilogues(request):
        return None
    kind = request.gemm.gemm_type
    if request.gemm.mx or kind.data_type == "X1":
        return "S"
    letter = mapped_letter(str(kind.data_type))
    if "8" in letter:
        letter = mapped_letter(str(kind.dest_data_type))
        if "8" in letter:
            return "S"
    return letter


def bias_types(request: Request, problem: list[Line], newer: bool) -> list[Line]:
    """``BiasDataTypeList`` where tensilelite's default won't do: to 0.12 it holds the type of A and B, and kernels that load
    a bias of an 8-bit float can't be written.

    Args:
        request: what is tuned.
        problem: the problem type so far.
        newer: the tensilelite is of a later version.
    """
    letters = str(request.gemm.gemm_type.data_type)
    if newer or "8" not in letters or "I" in letters or not has_epilogues(request):
        return []
    given = {line.key: str(line.value) for line in problem}
    kept = [given[key] for key in ("ComputeDataType", "DestDataType") if "8" not in given[key]]
    return [Line("BiasDataTypeList", list(dict.fromkeys(kept)))]


def exact_sizes(request: Request, sizes: list[Size]) -> tuple[list[Size], list[str]]:
    """Sizes to benchmark, and remarks.

    K of a block-scaled problem is a whole number of blocks. The original rounds it up and tunes another size
    than the one asked for without a word; by default the rounding is noted, and the kernel is filed under both
    (:func:`geko.export.tuned_logic.merged_logic`).
    """
    fmt = request.gemm.mx_format
    if fmt is None:
        return list(sizes), []
    out, notes = [], []
    for m, n, batch, k in sizes:
        rounded = -(-k // fmt[0]) * fmt[0]
        if rounded != k:
            notes.append(
                f"K {k} is tuned as {rounded}, a whole number of MX blocks of {fmt[0]}; the kernel is filed under both"
            )
        out.append((m, n, batch, rounded))
    return list(dict.fromkeys(out)), notes


def library_logic(request: Request) -> dict[str, Any]:
    """``LibraryLogic``: names under which the winners are filed."""
    arch = request.settings.arch
    logic: dict[str, Any] = {
        "ScheduleName": arch.schedule_name,
        "ArchitectureName": arch.logic_architecture,
        "DeviceNames": list(arch.device_names),
    }
    if request.settings.rules == "default" and request.settings.equality:
        logic["LibraryType"] = "Equality"
    return logic


def backend(request: Request, space: MergedSpace) -> dict[str, Any]:
    """``Backend``: the tuner and, for Ductile, its budget and the sampling costs of the macro tiles."""
    settings = request.settings
    if settings.backend == "tensile":
        return {"Name": "Tensile"}
    config: dict[str, Any] = {
        "soo": settings.macrotile_opt,
        "n_elements_to_validate": VALIDATION_ELEMENTS[settings.validation_profile],
    }
    if settings.arch.family.startswith("gfx1250") and settings.search_space == "generic":
        config.update(pop_size=512, auto_pop_size=False, n_gen=30)
    else:
        lengths = [len(param.values) for param in space.params.params if param.active]
        lengths += [len(group) for group in space.params.groups] + [len(space.group)]
        size = population(lengths)
        if size is not None:
            config["pop_size"] = size
    if settings.rules == "original":
        weights = original_costs(space, settings.cus, priority=settings.cms_priority)
    else:
        kind = request.gemm.gemm_type
        chip = machine(settings.arch.mi_family, str(kind.data_type), settings.cus, settings.xcc)
        layout = f"{kind.transA}{kind.transB}"
        model = TileModel(chip, str(kind.data_type), layout, settings.stream_k)
        weights = costs(space, model, priority=settings.cms_priority)
    if weights is not None:
        config["weights"] = [{"group_0": weights}]
    return {"Name": "Ductile", "Config": config}
