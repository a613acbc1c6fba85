"""Is a library's logic sound: indices, names, sizes? And the repair of what can be repaired.

Which solution a size means: Tensile's merge tool goes by the solution's position, its build by the
SolutionIndex stored in it. Where both agree there is no question; where they don't, the file is refused
unless the user asks for a repair.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from geko.errors import InputError
from geko.library.model import Library, Size

_NAMED = ("SolutionNameMin", "KernelNameMin", "BaseName", "CustomKernelName")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a library.

    Attributes:
        code: ``index-missing``, ``index-twice``, ``index-order``, ``index-dangling``, ``name-missing``,
            ``size-form``.
        message: what and where.
        repair: what ``--repair`` does about it.
    """

    code: str
    message: str
    repair: str


def size_ok(entry: Any) -> bool:
    """Whether an entry of ExactLogic is ``[[M, N, batch, K, ...], [index, efficiency]]``."""
    match entry:
        case [[*size], [int(), *rest]]:
            numbers = [*size, *rest[:1]]
            return len(size) >= 4 and all(
                isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers
            )
        case _:
            return False


def check(library: Library) -> list[Finding]:
    """Everything that is wrong with indices, names and sizes.

    Args:
        library: the library; not changed.

    Returns:
        The findings; empty when it is sound.
    """
    solutions, sizes = library.solutions, library.sizes
    indices = [solution.get("SolutionIndex") for solution in solutions]
    numbers = [index for index in indices if type(index) is int]
    missing = [place for place, index in enumerate(indices) if type(index) is not int]
    twice = sorted(index for index, count in Counter(numbers).items() if count > 1)
    moved = [place for place, index in enumerate(indices) if index != place]
    default_name = any(library.default_solution.get(key) for key in _NAMED)
    nameless = [n for n, own in enumerate(solutions) if not (default_name or any(map(own.get, _NAMED)))]
    malformed = [n for n, entry in enumerate(sizes) if not size_ok(entry)]
    known = set(range(len(solutions))) if missing or twice else set(numbers)
    dangling = sorted({entry[1][0] for entry in sizes if size_ok(entry) and entry[1][0] not in known})
    by_position = "numbered by position"
    found = [
        (missing, "index-missing", f"no SolutionIndex at positions {_some(missing)}", by_position),
        (twice, "index-twice", f"SolutionIndex {_some(twice)} stands twice", by_position),
        (
            [] if missing or twice else moved,
            "index-order",
            f"SolutionIndex is not the position at {_some(moved)}",
            f"{by_position}, sizes follow",
        ),
        (nameless, "name-missing", f"no name at positions {_some(nameless)}", "named after its content"),
        (malformed, "size-form", f"sizes {_some(malformed)} are not [[M, N, B, K], [index, eff]]", "dropped"),
        (
            dangling,
            "index-dangling",
            f"sizes point to SolutionIndex {_some(dangling)}, which is not there",
            "dropped, as the build drops them",
        ),
    ]
    return [Finding(code, message, repair) for where, code, message, repair in found if where]


def _some(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")


def require_sound(library: Library, *, allow: tuple[str, ...] = ()) -> None:
    """Refuse a library that is not sound.

    Args:
        library: the library.
        allow: codes that don't matter to the caller.

    Raises:
        InputError: names the findings and how to repair them.
    """
    bad = [finding for finding in check(library) if finding.code not in allow]
    if bad:
        raise InputError(
            f"unsound library logic: {'; '.join(finding.message for finding in bad)}; repair it with --repair",
            path=library.path or library.name,
        )


def repair(library: Library) -> list[str]:
    """Put right what can be put right, in place.

    Args:
        library: the library; SolutionIndex becomes the position everywhere.

    Returns:
        What was done, one line each; empty when nothing was wrong.
    """
    findings = check(library)
    codes = {finding.code for finding in findings}
    done = [f"{library.name}: {found.message}: {found.repair}" for found in findings]
    by_position = bool(codes & {"index-missing", "index-twice"})
    solutions = library.solutions
    if by_position:
        number = {place: place for place in range(len(solutions))}
    else:
        number = {solution["SolutionIndex"]: place for place, solution in enumerate(solutions)}
    if codes & {"index-missing", "index-twice", "index-order"}:
        for place, solution in enumerate(solutions):
            solution["SolutionIndex"] = place
    if codes & {"index-order", "size-form", "index-dangling"}:
        library.sizes = [
            _renumbered(entry, number) for entry in library.sizes if size_ok(entry) and entry[1][0] in number
        ]
    if "name-missing" in codes:
        _name(library)
    return done


def _name(library: Library) -> None:
    """Give solutions without a name one that follows from their content, so that it is the same everywhere."""
    from geko.library.rows import solution_ids

    stem = library.name.removesuffix(".yaml")
    for solution, solution_id in zip(library.solutions, solution_ids(library), strict=True):
        if not any({**library.default_solution, **solution}.get(key) for key in _NAMED):
            solution["SolutionNameMin"] = f"{stem}_{solution_id.replace('-', '')[:12]}"


def _renumbered(entry: Size, number: dict[int, int]) -> Size:
    size, (index, *rest) = entry
    return [size, [number[index], *rest]]
