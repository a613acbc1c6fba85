"""Trimming a library and giving it epilogues."""

from __future__ import annotations

import re
from typing import Any

from geko.library.check import require_sound
from geko.library.model import Library, LibraryCollection, Size
from geko.log import logger

#: Tensile DataType numbers whose kernels get no epilogues: f64 and the complex types.
_NO_EPILOGUE = frozenset({1, 2, 3})
#: Bias types: Tensile DataType number -> letter in names.
_BIAS_LETTERS = {0: "S", 4: "H", 7: "B"}
_NAME_KEYS = ("BaseName", "KernelNameMin", "SolutionNameMin")
_OLD_SUFFIX = re.compile(r"_(?:Bias[A-Z]*|HA_?[A-Z]*|SABV?|SAV)(?=_|$)")


def best_sizes(sizes: list[Size]) -> list[Size]:
    """One entry a size, that with the highest efficiency; the first of equals. Order kept."""
    best: dict[tuple[Any, ...], Size] = {}
    for entry in sizes:
        key = tuple(entry[0])
        held = best.get(key)
        if held is None or entry[1][1] > held[1][1]:
            best[key] = entry
    return list(best.values())


def trim_in_place(library: Library) -> None:
    """Keep the best entry of each size, drop solutions that no size uses, renumber.

    Libraries that select without a size table (FreeSize, Prediction, ranges, tile selection) keep their
    solutions. Sizes and solutions stay in their order, so that trimming a trimmed library changes nothing.

    Args:
        library: changed in place.

    Raises:
        InputError: SolutionIndex is missing, not unique or not the position; sizes are malformed. Sizes that
            point to no solution are dropped with a warning.
    """
    require_sound(library, allow=("index-dangling", "name-missing"))
    if not library.sizes:
        return
    known = range(len(library.solutions))
    kept = [entry for entry in library.sizes if entry[1][0] in known]
    if len(kept) < len(library.sizes):
        logger.warning(
            "%s: %d sizes that point to no solution dropped", library.name, len(library.sizes) - len(kept)
        )
    sizes = best_sizes(kept)
    if len(sizes) < len(kept):
        logger.info("%s: %d duplicate sizes dropped", library.name, len(kept) - len(sizes))
    if library.has_other_logic:
        library.sizes = sizes
        return
    used = sorted({entry[1][0] for entry in sizes})
    library.solutions, library.sizes = renumber(library.solutions, sizes, used)


def renumber(
    solutions: list[dict[str, Any]], sizes: list[Size], used: list[int]
) -> tuple[list[dict[str, Any]], list[Size]]:
    """Only the used solutions, numbered from 0, and the sizes that follow them.

    Args:
        solutions: by position; those kept get their new SolutionIndex in place.
        sizes: entries whose index is a position.
        used: positions to keep, in the order wanted.
    """
    number = {old: new for new, old in enumerate(used)}
    kept = [solutions[old] for old in used]
    for new, solution in enumerate(kept):
        solution["SolutionIndex"] = new
    return kept, [[size, [number[index], *rest]] for size, (index, *rest) in sizes]


def bias_types(problem_type: dict[str, Any]) -> list[int] | None:
    """Bias types (Tensile DataType numbers) that epilogues get; None when the kernel gets no epilogues.

    8-bit and smaller outputs take f32, f16 and bf16 biases; f32, f16 and bf16 outputs take their own type and
    f32. Kernels in f64 or complex types, and integer outputs, for which Tensile names no bias type, stay as
    they are.
    """
    data, dest = problem_type.get("DataType"), problem_type.get("DestDataType")
    if data in _NO_EPILOGUE or not isinstance(dest, int):
        return None
    if dest > 10:
        return [0, 4, 7]
    return sorted({0, dest}) if dest in _BIAS_LETTERS else None


def add_epilogues_in_place(library: Library) -> None:
    """Make kernels that were tuned as plain GEMMs serve calls with bias and activation, too.

    Args:
        library: changed in place: problem type, ActivationFuncCall, names and file name. Doing it twice
            changes nothing.
    """
    problem_type = library.problem_type
    types = bias_types(problem_type)
    if types is None:
        logger.info("%s: its data types have no epilogues, left as it is", library.name)
        return
    scale_ab = problem_type.get("UseScaleAB") or ""
    is_mx = bool(problem_type.get("MXBlockA") or problem_type.get("MXBlockB"))
    if not is_mx and max(problem_type.get("DataType", 0), problem_type["DestDataType"]) > 10:
        scale_ab = "Scalar"
    new = {
        "Activation": True,
        "ActivationType": "hipblaslt_all",
        "UseBias": 1,
        "BiasDataTypeList": types,
        "UseScaleAlphaVec": 1,
        **({"UseScaleAB": scale_ab} if scale_ab or "UseScaleAB" in problem_type else {}),
    }
    problem_type.update(new)
    scale = {"Scalar": "_SAB", "Vector": "_SABV"}.get(scale_ab, "")
    suffix = f"_Bias{''.join(_BIAS_LETTERS[number] for number in types)}_HAS{scale}_SAV"
    for solution in [library.default_solution, *library.solutions]:
        # Tensile checks that the copy in a solution agrees with the header.
        if isinstance(solution.get("ProblemType"), dict):
            solution["ProblemType"].update(new, BiasDataTypeList=list(types))
        for key in _NAME_KEYS:
            if isinstance(solution.get(key), str):
                solution[key] = _with_suffix(solution[key], suffix)
    if "ActivationFuncCall" in library.default_solution:
        library.default_solution["ActivationFuncCall"] = False
    for solution in library.solutions:
        if "ActivationFuncCall" in solution or "ActivationFuncCall" not in library.default_solution:
            solution["ActivationFuncCall"] = False
    library.name = _with_suffix(library.name, suffix)


def _with_suffix(name: str, suffix: str) -> str:
    head, mark, tail = name.partition("_UserArgs")
    if not mark:
        return name
    return f"{_OLD_SUFFIX.sub('', head)}{suffix}{mark}{tail}"


def trim(library: Library | LibraryCollection) -> Any:
    """A trimmed copy; see :func:`trim_in_place`."""
    return library.copy().trim()


def add_epilogues(library: Library | LibraryCollection) -> Any:
    """A copy with epilogues; see :func:`add_epilogues_in_place`."""
    return library.copy().add_epilogues()
