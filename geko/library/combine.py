"""Libraries made from others: tuning outputs merged, solutions picked by index, sizes picked by a frame of
results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from geko.errors import InputError
from geko.fsio import require_folder
from geko.library import edit, logic_yaml
from geko.library.check import require_sound
from geko.library.frames import require_columns, to_polars
from geko.library.model import Library, LibraryCollection, Size, Solution, load_library
from geko.library.sources import LogicFinder, Source
from geko.log import logger

_SIZE = ("m", "n", "batch_count", "k")
_INDEX_ORDER = [2, 3, 0, 1]
#: Fields of a solution that say where it stands or how it is called, not what it is (as the real merge tool
#: sees it).
_PLACE_KEYS = ("SolutionIndex", "SolutionNameMin")
#: Cheap to hash and different for most solutions; equality decides.
_BUCKET_KEYS = ("KernelNameMin", "DepthU", "GlobalSplitU", "WorkGroupMapping", "StaggerU", "StaggerUStride")


def same_kernel(a: Solution, b: Solution) -> bool:
    """Equal in everything but place and solution name."""
    return _without_place(a) == _without_place(b)


def _without_place(solution: Solution) -> Solution:
    return {key: value for key, value in solution.items() if key not in _PLACE_KEYS}


def sanitize(solution: Solution) -> None:
    """Parameters that mean nothing without StaggerU are 0 then; in place."""
    if solution.get("StaggerU") == 0:
        solution["StaggerUMapping"] = 0
        solution["StaggerUStride"] = 0
        solution["_staggerStrideShift"] = 0


class SolutionPool:
    """Solutions under new numbers, each content once."""

    def __init__(self, solutions: Iterable[Solution] = ()) -> None:
        self.solutions: list[Solution] = []
        self._buckets: dict[tuple[Any, ...], list[int]] = {}
        for solution in solutions:
            self.add(solution)

    def find(self, solution: Solution) -> int | None:
        """Number of the solution of equal content, or None."""
        for number in self._buckets.get(_bucket(solution), ()):
            if same_kernel(self.solutions[number], solution):
                return number
        return None

    def add(self, solution: Solution) -> int:
        """Number of the solution, which is taken in if none of its content is there.

        Args:
            solution: becomes part of the pool; its SolutionIndex is set.
        """
        number = self.find(solution)
        return self.append(solution) if number is None else number

    def append(self, solution: Solution, *, reusable: bool = True) -> int:
        """Take a solution in, whether its content is there or not; :meth:`find` finds it only if reusable."""
        number = solution["SolutionIndex"] = len(self.solutions)
        self.solutions.append(solution)
        if reusable:
            self._buckets.setdefault(_bucket(solution), []).append(number)
        return number


def _bucket(solution: Solution) -> tuple[Any, ...]:
    return tuple(
        value if isinstance(value := solution.get(key), (str, int)) else None for key in _BUCKET_KEYS
    )


def _cut(sizes: list[Size]) -> list[Size]:
    return [[size[:4], rest] for size, rest in sizes]


def _major(library: Library) -> int:
    version = library.get("MinimumRequiredVersion")
    if isinstance(version, dict):
        version = version.get("MinimumRequiredVersion")
    head = str(version or "0").split(".")[0]
    return int(head) if head.isdigit() else 0


def merge_solutions(
    input_dir: str | Path,
    epilogues: bool = True,
    pattern: str = "**/3_LibraryLogic/*.yaml",
    trim_size: bool = True,
) -> LibraryCollection:
    """Merge the logic files that tuning runs left, by file name.

    Args:
        input_dir: where the runs lie.
        epilogues: make the kernels serve bias and activation calls
            (:func:`geko.library.edit.add_epilogues_in_place`).
        pattern: which files below it.
        trim_size: cut sizes of 8 numbers to M, N, batch, K; of those that then are equal the best efficiency
            wins.

    Returns:
        One trimmed library a name, sorted by name; the same whatever order the files were found in.

    Raises:
        MissingFileError: no such directory.
        InputError: no file matches, or files of one name have different problem types or architectures.
    """
    root = Path(input_dir)
    require_folder(root)
    groups: dict[str, list[Path]] = {}
    for path in sorted(path for path in root.glob(pattern) if path.is_file()):
        groups.setdefault(path.name, []).append(path)
    if not groups:
        raise InputError(f"no library logic matches {pattern}", path=root)
    merged = []
    for name in sorted(groups):
        library = _concatenate([load_library(path) for path in groups[name]])
        if trim_size:
            library.sizes = _cut(library.sizes)
        library.trim()
        if epilogues:
            library.add_epilogues()
        merged.append(library)
    return LibraryCollection(merged)


def _concatenate(libraries: list[Library]) -> Library:
    base, *others = libraries
    for library in libraries:
        require_sound(library, allow=("name-missing",))
    same_defaults = all(library.default_solution == base.default_solution for library in others)
    for other in others:
        for field in ("ProblemType", "ArchitectureName"):
            if other.get(field) != base.get(field):
                raise InputError(
                    f"{field} differs from that of {base.path}: files of one name must agree to be merged",
                    path=other.path,
                )
    solutions: list[Solution] = []
    sizes: list[Size] = []
    for library in libraries:
        shift = len(solutions)
        for place, stored in enumerate(library.solutions):
            solution = stored if same_defaults else library.full_solution(place)
            solution["SolutionIndex"] = len(solutions)
            if _major(base) >= 5:
                solution.pop("ProblemType", None)
            sanitize(solution)
            solutions.append(solution)
        sizes.extend([size, [index + shift, *rest]] for size, (index, *rest) in library.sizes)
    if not same_defaults:
        _clear_defaults(base)
    base.solutions = solutions
    if sizes:
        base.sizes = sizes
    return base


def _clear_defaults(library: Library) -> None:
    block = library.get("Solutions")
    if isinstance(block, dict):
        block["SolutionDefaults"] = {}
    elif library.get("DefaultSolution") is not None:
        library.set("DefaultSolution", {})


def extract_solutions(
    winners_df: Any, match_table: Any, logic_root: str | Path | None = None
) -> LibraryCollection:
    """Make libraries of the solutions that a search found best.

    Args:
        winners_df: frame with ``solutionIdx`` (index in the built library) and ``m, n, batch_count, k``; left
            as it is.
        match_table: MatchTable.yaml of that build, or the table that
            :func:`geko.library.match_table.load_match_table` gave.
        logic_root: where the logic files lie, when the paths in the table don't hold on this machine; they
            are then found by name there or beside the table.

    Returns:
        One library a logic file name, library type and CU count: list form, IndexOrder [2, 3, 0, 1],
        DeviceEfficiency, Equality, every solution complete, sizes sorted, efficiency 0.0 (unknown). Where
        Equality and another type of one name both win, the other's file name ends in its type.

    Raises:
        InputError: a column is missing, an index is not in the table, a logic file can't be found or doesn't
            hold the solution.
    """
    frame = to_polars(winners_df)
    require_columns(frame, ["solutionIdx"], "Missing 'solutionIdx' field")
    require_columns(frame, _SIZE, "missing fields: {missing}")
    finder = LogicFinder(match_table, logic_root)
    rows = frame.select(*_SIZE, "solutionIdx").cast(pl.Int64).unique().sort(*_SIZE, "solutionIdx").rows()
    groups: dict[tuple[str, str, str], _Extract] = {}
    for m, n, batch, k, index in rows:
        source = finder.source(index)
        key = (source.library.name, source.library.library_type or "", _header_key(source.library))
        groups.setdefault(key, _Extract(source.library)).take(source, [m, n, batch, k])
    return LibraryCollection(_named_apart(groups))


def _header_key(library: Library) -> str:
    return json.dumps(library.get("ArchitectureName"), sort_keys=True)


def _named_apart(groups: dict[tuple[str, str, str], _Extract]) -> list[Library]:
    taken: set[str] = set()
    libraries = []
    # Equality first: it keeps the plain name.
    for key in sorted(groups, key=lambda key: (key[0], key[1] != "Equality", key[1], len(key[2]), key[2])):
        library = groups[key].library()
        if library.name in taken:
            path = Path(library.name)
            library.name = f"{path.stem}_{key[1]}{path.suffix}"
            if library.name in taken:
                library.name = f"{path.stem}_{key[1]}_{library.cu_count or library.architecture}{path.suffix}"
        taken.add(library.name)
        libraries.append(library)
    return sorted(libraries, key=lambda library: library.name)


class _Extract:
    """One library in the making."""

    def __init__(self, template: Library) -> None:
        self._template = template
        self._pool = SolutionPool()
        self._sizes: dict[tuple[int, ...], int] = {}

    def take(self, source: Source, size: list[int]) -> None:
        header = self._template.problem_type
        if source.library.problem_type != header:
            raise InputError(
                f"ProblemType differs from that of {self._template.path}, a file of the same name and type",
                path=source.library.path,
            )
        number = self._pool.add(source.solution())
        held = self._sizes.setdefault(tuple(size), number)
        if held != number:
            logger.warning(
                "%s: size %s has more than one winner, that with the lowest index is kept",
                source.library.name,
                size,
            )

    def library(self) -> Library:
        template = self._template
        data = [
            logic_yaml.copy_value(_version(template)),
            template.schedule,
            _arch_value(template),
            logic_yaml.copy_value(template.get("DeviceNames")),
            logic_yaml.copy_value(template.problem_type),
            self._pool.solutions,
            list(_INDEX_ORDER),
            [[list(size), [number, 0.0]] for size, number in self._sizes.items()],
            None,
            None,
            "DeviceEfficiency",
            "Equality",
        ]
        return Library(data, template.name)


def _version(library: Library) -> Any:
    version = library.get("MinimumRequiredVersion")
    return version if isinstance(version, dict) else {"MinimumRequiredVersion": version or "4.33.0"}


def _arch_value(library: Library) -> Any:
    value = library.get("ArchitectureName")
    if isinstance(value, dict) or library.cu_count is None:
        return logic_yaml.copy_value(value)
    return {"Architecture": value, "CUCount": library.cu_count}


def from_dataframe(df: Any, lib_dir: str | Path, type_override: str | None = None) -> LibraryCollection:
    """Keep the sizes that a frame names, and the solutions that they use.

    Args:
        df: frame with ``lib`` (file name) and ``m, n, batch_count, k``.
        lib_dir: where those files are.
        type_override: new LibraryType, such as ``Equality``.

    Returns:
        One library a file named, sorted by name; sizes and solutions in the order of the file.

    Raises:
        InputError: a column or a size is missing.
        MissingFileError: a file is missing.
    """
    frame = to_polars(df)
    require_columns(frame, ["lib"], "the frame must contain the lib column")
    require_columns(frame, _SIZE, "missing fields: {missing}")
    libraries = []
    for name, wanted in _wanted(frame):
        library = load_library(Path(lib_dir) / name)
        require_sound(library, allow=("name-missing",))
        _require_sizes(library, wanted)
        sizes = [entry for entry in library.sizes if tuple(entry[0][:4]) in wanted]
        used = SolutionPool()
        number = {}
        for index in sorted({entry[1][0] for entry in sizes}):
            number[index] = used.add(library.solutions[index])
        library.solutions = used.solutions
        library.sizes = [[size, [number[index], *rest]] for size, (index, *rest) in sizes]
        if type_override is not None:
            library.set("LibraryType", type_override)
        libraries.append(library)
    return LibraryCollection(libraries)


def _wanted(frame: pl.DataFrame) -> list[tuple[str, set[tuple[int, ...]]]]:
    rows = frame.select("lib", *_SIZE).unique()
    wanted: dict[str, set[tuple[int, ...]]] = {}
    for name, *size in rows.rows():
        wanted.setdefault(str(name), set()).add(tuple(int(number) for number in size))
    return sorted(wanted.items())


def _require_sizes(library: Library, wanted: set[tuple[int, ...]]) -> None:
    missing = sorted(wanted - {tuple(entry[0][:4]) for entry in library.sizes})
    if missing:
        raise InputError(
            f"{len(missing)} sizes [m, n, batch_count, k] are not in the library",
            path=library.path,
            value=missing[0],
        )


def from_full_dataframe(
    df: Any, lib_dir: str | Path, match_table: Any, logic_root: str | Path | None = None
) -> LibraryCollection:
    """Libraries with every size that was tried: the tuned solution where it won, the reference's where not.

    Args:
        df: frame with ``lib``, ``m, n, batch_count, k``, ``winner`` (``tuned`` or ``reference``) and
            ``solutionIdx_reference`` (index in the reference library).
        lib_dir: the tuned libraries.
        match_table: MatchTable of the reference library (path or table).
        logic_root: see :func:`extract_solutions`.

    Returns:
        One library a file named, sorted by name. A reference solution comes with all its parameters, under
        the problem type of the tuned library; its efficiency is 0.0 (unknown).

    Raises:
        InputError: a column, a size or an index is missing, a winner is neither word, or a reference solution
            is of other data types than the library.
    """
    frame = to_polars(df)
    require_columns(frame, ["lib"], "the frame must contain the lib column")
    require_columns(frame, [*_SIZE, "winner"], "missing fields: {missing}")
    require_columns(
        frame, ["solutionIdx_reference"], "the frame must contain the solutionIdx_reference column"
    )
    unknown = set(frame["winner"].unique()) - {"tuned", "reference"}
    if unknown:
        raise InputError(
            "Unknown winner type: winner is tuned or reference", value=sorted(map(str, unknown))[0]
        )
    finder = LogicFinder(match_table, logic_root)
    rows = (
        frame.select("lib", *_SIZE, "winner", "solutionIdx_reference").unique().sort("lib", *_SIZE, "winner")
    )
    by_lib: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in rows.rows():
        by_lib.setdefault(str(name), []).append(tuple(rest))
    libraries = []
    for name in sorted(by_lib):
        library = load_library(Path(lib_dir) / name)
        require_sound(library, allow=("name-missing",))
        _require_sizes(library, {tuple(row[:4]) for row in by_lib[name] if row[4] == "tuned"})
        _fill(library, by_lib[name], finder)
        libraries.append(library)
    return LibraryCollection(libraries)


def _fill(library: Library, rows: list[tuple[Any, ...]], finder: LogicFinder) -> None:
    held = {tuple(entry[0][:4]): entry for entry in edit.best_sizes(library.sizes)}
    pool = SolutionPool()
    sizes: list[Size] = []
    done: set[tuple[int, ...]] = set()
    # "reference" sorts before "tuned": where a size stands twice, the stock solution is the safe one.
    for *numbers, winner, index in rows:
        size = tuple(int(number) for number in numbers)
        if size in done:
            logger.warning(
                "%s: size %s stands twice with different winners, reference kept", library.name, list(size)
            )
            continue
        done.add(size)
        if winner == "tuned":
            stored, (position, *rest) = held[size]
            sizes.append([stored, [pool.add(library.solutions[position]), *rest]])
        else:
            if index is None:
                raise InputError(f"no reference solution index for size {list(size)}", path=library.path)
            sizes.append([list(size), [pool.add(_adopted(library, finder.source(int(index)))), 0.0]])
    library.solutions, library.sizes = pool.solutions, sizes


#: Fields of ProblemType that a kernel can't be moved across.
_FIXED = (
    *("DataType", "DataTypeA", "DataTypeB", "DestDataType", "ComputeDataType", "F32XdlMathOp"),
    *("TransposeA", "TransposeB", "ComplexConjugateA", "ComplexConjugateB", "MXBlockA", "MXBlockB"),
    *("SwizzleTensorA", "SwizzleTensorB", "Sparse", "GroupedGemm", "OperationType"),
)


def _adopted(library: Library, source: Source) -> Solution:
    """A solution of another file, complete, in the form that this library's solutions have."""
    header = library.problem_type
    for field in _FIXED:
        ours, theirs = header.get(field), source.library.problem_type.get(field)
        if ours is not None and theirs is not None and ours != theirs:
            raise InputError(
                f"the reference solution's {field} is {theirs!r}, the library {library.name} has {ours!r}",
                path=source.library.path,
            )
    solution = source.solution()
    solution.pop("ProblemType", None)
    if any("ProblemType" in own for own in library.solutions):
        solution["ProblemType"] = logic_yaml.copy_value(header)
    return solution
