"""Reading tensilelite tuning configs, whoever wrote them: what they tune, how large they are, how they time.

A config is four sections: ``GlobalParameters``, ``BenchmarkProblems`` (a list of ``[ProblemType, steps]``),
``LibraryLogic`` and, for Ductile, ``Backend``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geko.config_generator.sizes import Size
from geko.domain.arch import get_arch, supported_archs
from geko.domain.dtypes import canonical_scale_code, default_scale_type
from geko.domain.gemm import GemmConfig, GemmType
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.errors import InputError

#: Line before which a config tells its problem type, and after which come its search space and sizes.
_STEPS = "  - InitialSolutionParameters"
#: Data patterns of the client by number; others keep their number.
_INITIALIZATION = {
    0: "zero",
    1: "one",
    2: "two",
    3: "rand_int",
    8: "serial",
    12: "trig_float",
    16: "rand_narrow",
}
_MX_LETTERS = ("E8", "F8", "E5M3")


@dataclass(frozen=True, slots=True)
class ConfigFacts:
    """What a tuning config says.

    Attributes:
        gemm: type and MX format, with the sizes of the file.
        arch: key of the arch table: the first whose names of library logic are those of the file.
        backend: ``"ductile"`` or ``"tensile"``.
        dialect: ``"streamk"`` (an integer) or ``"strategy"``; None where no parameter tells.
        tiles: entries of the macro-tile dimension.
        kernels: kernels of the full product.
        protocol: how its kernels are timed.
    """

    gemm: GemmConfig
    arch: str
    backend: str
    dialect: str | None
    tiles: int
    kernels: int
    protocol: Protocol

    @property
    def sizes(self) -> list[Size]:
        """Sizes ``(M, N, B, K)`` in the order of the file."""
        return [(int(m), int(n), int(b), int(k)) for m, n, b, k in self.gemm.sizes]

    def problems(self) -> list[Problem]:
        """The plain problem of each size: packed, without epilogue, alpha one, beta zero."""
        return plain_problems(self.gemm)


def plain_problems(gemm: GemmConfig) -> list[Problem]:
    """The problem that stands for each size when kernels are tuned: packed, no epilogue, K in whole MX blocks.

    Library logic knows a GEMM by its types, transposes and sizes alone.
    """
    kind, fmt = gemm.gemm_type, gemm.mx_format
    scale = 0 if fmt is None else canonical_scale_code(*fmt)
    block = 1 if fmt is None else fmt[0]
    compute = str(kind.compute_type)
    dtype = str(kind.c_type)
    return [
        Problem(
            kind.transA, kind.transB, int(m), int(n), int(b), -(-int(k) // block) * block,
            str(kind.a_type), str(kind.b_type), dtype, dtype, compute, scale_type=default_scale_type(compute),
            scale_a=scale, scale_b=scale,
        )
        for m, n, b, k in gemm.sizes
    ]  # fmt: skip


def read_config(text: str, path: str | Path | None = None) -> ConfigFacts:
    """Read a whole config.

    Args:
        text: the YAML text.
        path: where it stands, for messages.

    Raises:
        InputError: not YAML, or not a tensilelite config with sizes of one GEMM type.
    """
    data = _load(text, path)
    problem_type, steps = _problem(data, path)
    fork = _merged(steps.get("ForkParameters"))
    groups = fork.pop("Groups", None) or []
    constants = _merged(steps.get("BenchmarkCommonParameters"))
    final = _merged(steps.get("BenchmarkFinalParameters"))
    tiles = _tiles(groups, fork)
    lengths = [len(values) for values in fork.values() if isinstance(values, list)] + [
        len(group) for group in groups
    ]
    kernels = math.prod(length for length in lengths if length > 1)
    names = {*fork, *constants, *(key for group in groups for entry in group for key in entry)}
    dialect = "streamk" if "StreamK" in names else "strategy" if "TileProcessingStrategy" in names else None
    sizes = _sizes(final.get("ProblemSizes"), path)
    return _facts(data, problem_type, sizes, tiles, kernels, dialect, path)


def read_head(
    text: str, sizes: Sequence[Size], tiles: int, kernels: int, dialect: str | None, arch: str | None = None
) -> ConfigFacts:
    """Facts of a config whose search space is known already: a tenth of the time of :func:`read_config`.

    Args:
        text: a config as :func:`geko.config_generator.output_writer.render` wrote it.
        sizes: its sizes.
        tiles: entries of its macro-tile dimension.
        kernels: kernels of its full product.
        dialect: spelling of its Stream-K parameters.
        arch: key of the arch table, where it is known.
    """
    lines = text.splitlines(keepends=True)
    cut = next(index for index, line in enumerate(lines) if line.startswith(_STEPS))
    tail = next(index for index in range(len(lines) - 1, cut, -1) if lines[index].startswith("LibraryLogic:"))
    # Sampling costs of the macro tiles: thousands of numbers that say nothing here.
    end = next((index for index in range(tail, len(lines)) if lines[index].strip() == "weights:"), len(lines))
    data = _load("".join([*lines[:cut], "  - {}\n", *lines[tail:end]]), None)
    problem_type, _ = _problem(data, None)
    return _facts(data, problem_type, list(sizes), tiles, kernels, dialect, None, arch)


def _load(text: str, path: str | Path | None) -> dict[str, Any]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError(f"not YAML: {getattr(error, 'problem', error)}", path=path, line=line) from error
    if not isinstance(data, dict) or "BenchmarkProblems" not in data:
        raise InputError("no tensilelite tuning config: it has no BenchmarkProblems", path=path)
    return data


def _problem(data: Mapping[str, Any], path: str | Path | None) -> tuple[dict[str, Any], dict[str, Any]]:
    problems = data["BenchmarkProblems"]
    if (
        not isinstance(problems, list)
        or not problems
        or not isinstance(problems[0], list)
        or len(problems[0]) < 2
    ):
        raise InputError("BenchmarkProblems must be a list of [ProblemType, steps]", path=path)
    if len(problems) > 1 or len(problems[0]) > 2:
        raise InputError(
            "the config holds several problem types or several groups of steps: give each a file of its own",
            path=path,
        )
    problem_type, steps = problems[0]
    if not isinstance(problem_type, dict) or not isinstance(steps or {}, dict):
        raise InputError("BenchmarkProblems must be a list of [ProblemType, steps]", path=path)
    return problem_type, steps or {}


def _merged(entries: Any) -> dict[str, Any]:
    """A list of one-key mappings as one mapping."""
    found: dict[str, Any] = {}
    for entry in entries or []:
        if isinstance(entry, dict):
            found.update(entry)
    return found


def _tiles(groups: Sequence[Any], fork: Mapping[str, Any]) -> int:
    for group in groups:
        if any("MatrixInstruction" in entry for entry in group):
            return len(group)
    return len(fork.get("MatrixInstruction") or [])


def _sizes(entries: Any, path: str | Path | None) -> list[Size]:
    sizes: list[Size] = []
    for entry in entries or []:
        exact = entry.get("Exact") if isinstance(entry, dict) else None
        if exact is None:
            raise InputError("only ProblemSizes with Exact sizes can be tuned", path=path, value=entry)
        numbers = list(exact)[:4]
        if len(numbers) != 4 or not all(isinstance(number, int) and number > 0 for number in numbers):
            raise InputError("an Exact size is [M, N, batch, K] of positive integers", path=path, value=exact)
        m, n, batch, k = numbers
        sizes.append((m, n, batch, k))
    if not sizes:
        raise InputError("the config has no ProblemSizes: there is nothing to tune", path=path)
    return sizes


def _facts(
    data: Mapping[str, Any],
    problem_type: Mapping[str, Any],
    sizes: Sequence[Size],
    tiles: int,
    kernels: int,
    dialect: str | None,
    path: str | Path | None,
    arch: str | None = None,
) -> ConfigFacts:
    try:
        gemm = _gemm(problem_type, sizes)
    except KeyError as error:
        raise InputError(f"the problem type lacks {error.args[0]}", path=path) from None
    except InputError as error:
        raise InputError(f"the problem type can't be tuned: {error}", path=path) from error
    backend_section = data.get("Backend") or {}
    name = str(backend_section.get("Name") or backend_section.get("name") or "tensile").lower()
    if name not in ("ductile", "tensile"):
        raise InputError("Backend must name Ductile or Tensile", path=path, value=name)
    logic = data.get("LibraryLogic") or {}
    globals_ = data.get("GlobalParameters") or {}
    config = backend_section.get("Config") or {}
    return ConfigFacts(
        gemm=gemm,
        arch=arch or _arch(logic, path),
        backend=name,
        dialect=dialect,
        tiles=tiles,
        kernels=kernels,
        protocol=protocol_of(globals_, problem_type, config.get("n_elements_to_validate")),
    )


def _gemm(problem_type: Mapping[str, Any], sizes: Sequence[Size]) -> GemmConfig:
    letter = str(problem_type["DataType"])
    dest = str(problem_type.get("DestDataType", letter))
    compute = str(problem_type.get("ComputeDataType", dest))
    a, b = (str(problem_type.get(f"DataType{side}", letter)) for side in "AB")
    if (a, b) != (letter, letter) and letter not in ("B",):
        letter = a if a == b else a + b
    if str(problem_type.get("F32XdlMathOp", "")).upper() == "X":
        letter = "X"
    transposes = [_transpose(problem_type, side) for side in "AB"]
    gemm = GemmType(
        transposes[0], transposes[1], data_type=letter, dest_data_type=dest, compute_data_type=compute
    )
    block = int(problem_type.get("MXBlockA") or 0)
    scale = str(problem_type.get("DataTypeMXSA") or "E8")
    if scale not in _MX_LETTERS:
        raise InputError(f"DataTypeMXSA must be one of {', '.join(_MX_LETTERS)}", value=scale)
    mx: dict[str, Any] = {"mx": True, "mx_block": block, "mx_scale_type": scale} if block else {}
    return GemmConfig(gemm, [list(size) for size in sizes], **mx)


def _transpose(problem_type: Mapping[str, Any], side: str) -> str:
    if problem_type.get(f"ComplexConjugate{side}"):
        return "C"
    return "T" if problem_type.get(f"Transpose{side}") else "N"


def _arch(logic: Mapping[str, Any], path: str | Path | None) -> str:
    name, schedule = str(logic.get("ArchitectureName", "")), str(logic.get("ScheduleName", ""))
    for key in supported_archs():
        arch = get_arch(key)
        if arch.logic_architecture == name and schedule in ("", arch.schedule_name, arch.logic_architecture):
            return key
    raise InputError(
        f"LibraryLogic names no known architecture; known are {', '.join(supported_archs())}",
        path=path,
        value=name or schedule,
    )


def protocol_of(
    parameters: Mapping[str, Any], problem_type: Mapping[str, Any], validated: int | None = None
) -> Protocol:
    """How the tensilelite client times the kernels of a config.

    Args:
        parameters: ``GlobalParameters``; what is missing has the default of tensilelite.
        problem_type: epilogue and beta that the client runs with.
        validated: elements that Ductile validates at its end.
    """
    flags = {
        key: problem_type[key]
        for key in ("UseBias", "Activation", "ActivationType", "UseScaleAB", "UseScaleAlphaVec", "UseBeta")
        if problem_type.get(key)
    }
    number = parameters.get("DataInitTypeA", 3)
    return Protocol(
        harness="tensilelite-client",
        role="tune",
        timer="gpu" if parameters.get("KernelTime", False) else "cpu",
        iteration_rule="fixed",
        iters=int(parameters.get("EnqueuesPerSync", 1)),
        cold_iters=int(parameters.get("NumWarmups", 0)),
        rotating_mib=int(parameters.get("RotatingBufferSize", 0)),
        flush=False,
        initialization=_INITIALIZATION.get(number, str(number)),
        extra={
            "beta": parameters.get("DataInitTypeBeta", 2),
            "validated": parameters.get("NumElementsToValidate", 128) if validated is None else validated,
            "precise": bool(parameters.get("PreciseKernelTime", True)),
            "problem_type": flags,
        },
    )
