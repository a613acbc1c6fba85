"""One library logic file as an object, in whichever of its layouts it was written.

List layout: 9 to 13 elements by position, as Tensile's LibraryIO writes it; dict layout: the same
things by name. In either one ``Solutions`` is a list, or a mapping ``{SolutionDefaults, Solutions}``;
solutions hold all their parameters or only the differences from the defaults. What isn't understood is
carried through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import GekoError, InputError
from geko.fsio import require_folder
from geko.library import logic_yaml

if TYPE_CHECKING:
    from geko.library.check import Finding

_FIELDS = (
    "MinimumRequiredVersion",
    "ScheduleName",
    "ArchitectureName",
    "DeviceNames",
    "ProblemType",
    "Solutions",
    "IndexOrder",
    "ExactLogic",
    "RangeLogic",
    "TileSelectionIndices",
    "PerfMetric",
    "LibraryType",
    "DefaultSolution",
)
_REQUIRED_KEYS = ("ArchitectureName", "ProblemType", "Solutions", "LibraryType")
_LEAST_LENGTH = 9

Solution = dict[str, Any]
Size = list[Any]  # [[M, N, B, K(, ldd, ldc, lda, ldb)], [solution index, efficiency]]


class Library:
    """A Tensile kernel library: header, problem type, solutions and the sizes that select them.

    Args:
        data: the file's content as read (kept and changed in place, never copied).
        name: file name, such as ``gfx950_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml``.
        path: where it was read, for messages.

    Raises:
        InputError: the content is no library logic.
    """

    def __init__(self, data: list[Any] | dict[str, Any], name: str, path: Path | None = None) -> None:
        self.data = data
        self.name = name
        self.path = path
        self._check_layout()

    # layout

    @property
    def layout(self) -> str:
        """``"list"`` or ``"dict"``."""
        return "list" if isinstance(self.data, list) else "dict"

    def _check_layout(self) -> None:
        where = self.path or self.name
        if isinstance(self.data, list):
            if len(self.data) < _LEAST_LENGTH:
                raise InputError(
                    f"no library logic: a list of at least {_LEAST_LENGTH} elements is needed",
                    path=where,
                    value=len(self.data),
                )
        elif isinstance(self.data, dict):
            missing = [key for key in _REQUIRED_KEYS if key not in self.data]
            if missing:
                raise InputError(f"no library logic: missing {', '.join(missing)}", path=where)
        else:
            raise InputError("no library logic: neither a list nor a mapping", path=where)
        for field, kinds in (
            ("ProblemType", dict),
            ("Solutions", (list, dict)),
            ("IndexOrder", (list, type(None))),
            ("ExactLogic", (list, type(None))),
            ("DefaultSolution", (dict, type(None))),
        ):
            value = self.get(field)
            if not isinstance(value, kinds):
                raise InputError(f"no library logic: {field} has the wrong type", path=where, value=value)
        if not all(isinstance(solution, dict) for solution in self.solutions):
            raise InputError("no library logic: a solution is not a mapping", path=where)

    def _position(self, field: str) -> int:
        position = _FIELDS.index(field)
        # Files of 2023 have one more null before the metric, and no DefaultSolution.
        if position >= 10 and self._extra_null():
            return position + 1
        return position

    def _extra_null(self) -> bool:
        data = self.data
        return len(data) == 13 and isinstance(data, list) and data[10] is None and isinstance(data[12], str)

    def get(self, field: str, default: Any = None) -> Any:
        """Header value by its dict-layout name (``ScheduleName``, ``PerfMetric``, ...)."""
        if isinstance(self.data, dict):
            return self.data.get(field, default)
        position = self._position(field)
        return self.data[position] if position < len(self.data) else default

    def set(self, field: str, value: Any) -> None:
        """Set a header value by its dict-layout name; a short list is filled up with nulls."""
        if isinstance(self.data, dict):
            self.data[field] = value
            return
        position = self._position(field)
        while len(self.data) <= position:
            self.data.append(None)
        self.data[position] = value

    # header

    @property
    def architecture(self) -> str:
        """Architecture name, such as ``gfx942``."""
        value = self.get("ArchitectureName")
        if isinstance(value, dict):
            value = value.get("Architecture")
        return str(value)

    @property
    def cu_count(self) -> int | None:
        """CU count that the logic is meant for, or None for the architecture's default."""
        value = self.get("ArchitectureName")
        count = value.get("CUCount") if isinstance(value, dict) else self._dict_value("CUCount")
        return count if isinstance(count, int) else None

    def _dict_value(self, key: str) -> Any:
        return self.data.get(key) if isinstance(self.data, dict) else None

    @property
    def schedule(self) -> str:
        """ScheduleName, such as ``aquavanjaram``; the architecture where there is none."""
        return str(self.get("ScheduleName") or self.architecture)

    @property
    def problem_type(self) -> dict[str, Any]:
        """ProblemType mapping of the header."""
        value: dict[str, Any] = self.get("ProblemType")
        return value

    @property
    def library_type(self) -> str | None:
        """``Equality``, ``GridBased``, ``FreeSize``, ``Prediction``, ...; None in old files."""
        value = self.get("LibraryType")
        return None if value is None else str(value)

    @property
    def perf_metric(self) -> str | None:
        """Unit of the efficiencies: ``DeviceEfficiency`` stands for GFLOP/s."""
        value = self.get("PerfMetric")
        return None if value is None else str(value)

    # solutions

    @property
    def default_solution(self) -> Solution:
        """Parameters that solutions leave out; empty when each holds all of its own."""
        block = self.get("Solutions")
        if isinstance(block, dict):
            return block.get("SolutionDefaults") or {}
        return self.get("DefaultSolution") or {}

    @property
    def solutions(self) -> list[Solution]:
        """The solutions as stored (differences from :attr:`default_solution`)."""
        block = self.get("Solutions")
        if isinstance(block, dict):
            block = block.get("Solutions") or []
        return block or []

    @solutions.setter
    def solutions(self, value: list[Solution]) -> None:
        block = self.get("Solutions")
        if isinstance(block, dict):
            block["Solutions"] = value
        else:
            self.set("Solutions", value)

    def full_solution(self, position: int) -> Solution:
        """All parameters of one solution, defaults filled in; a new mapping.

        Args:
            position: place in :attr:`solutions`.
        """
        return {**self.default_solution, **self.solutions[position]}

    # sizes

    @property
    def sizes(self) -> list[Size]:
        """ExactLogic: ``[[M, N, batch, K], [solution index, efficiency]]`` each; a size may have 8 numbers,
        the last four then are ldd, ldc, lda, ldb. Empty for null."""
        return self.get("ExactLogic") or []

    @sizes.setter
    def sizes(self, value: list[Size]) -> None:
        self.set("ExactLogic", list(value))

    @property
    def has_other_logic(self) -> bool:
        """True when solutions are also selected by something else than ExactLogic (ranges, tile selection, no
        table at all): such a file's solutions can't be dropped or renumbered by looking at ExactLogic."""
        return not self.sizes or any(self.get(key) for key in ("RangeLogic", "TileSelectionIndices"))

    # changing in place; the pure forms are in geko.library.operations

    def copy(self) -> Library:
        """A library of its own: changing one leaves the other."""
        return Library(logic_yaml.copy_value(self.data), self.name, self.path)

    def check(self) -> list[Finding]:
        """Everything wrong with indices, names and sizes; see :func:`geko.library.check.check`."""
        from geko.library.check import check

        return check(self)

    def trim(self) -> Library:
        """Keep the best entry of each size, drop unused solutions, renumber; in place. Returns self."""
        from geko.library import edit

        edit.trim_in_place(self)
        return self

    def add_epilogues(self) -> Library:
        """Make the kernels serve bias and activation calls, too; in place. Returns self."""
        from geko.library import edit

        edit.add_epilogues_in_place(self)
        return self

    def create_bench_input(
        self, output_dir: str | Path, verify: bool = False, **options: Any
    ) -> tuple[Path, Path | None]:
        """Write hipblaslt-bench input for all sizes; options as in
        :func:`geko.library.bench_input.create_bench_input`."""
        from geko.library.bench_input import create_bench_input

        return create_bench_input(self, output_dir, verify=verify, **options)

    def solutions_frame(self) -> Any:
        """The solutions as a frame (polars, or pandas under ``GEKO_FRAMES=pandas``), a row each; columns as
        :data:`geko.library.rows.SOLUTION_SCHEMA`."""
        from geko.frames import to_frame
        from geko.library.rows import solution_rows

        return to_frame(solution_rows(self))

    def sizes_frame(self) -> Any:
        """The sizes as a frame (polars, or pandas under ``GEKO_FRAMES=pandas``), a row each; columns as
        :data:`geko.library.rows.ENTRY_SCHEMA`."""
        from geko.frames import to_frame
        from geko.library.rows import entry_rows

        return to_frame(entry_rows(self))

    def dumps(self) -> str:
        """The library as YAML text."""
        return logic_yaml.dumps(self.data)

    def dump(self, output_dir: str | Path) -> Path:
        """Write the library under its name into a directory, atomically.

        Returns:
            The file.
        """
        path = Path(output_dir) / self.name
        logic_yaml.dump(self.data, path)
        return path

    def __repr__(self) -> str:
        return f"<Library {self.name}: {len(self.solutions)} solutions, {len(self.sizes)} sizes>"


class LibraryCollection:
    """Several libraries, in the order given.

    Args:
        libraries: the libraries; two of one name are refused, since one file would overwrite the other.
    """

    def __init__(self, libraries: list[Library]) -> None:
        seen: dict[str, Library] = {}
        for library in libraries:
            if library.name in seen:
                first = seen[library.name].path or library.name
                raise InputError(
                    f"two libraries of one name, the other is {first}", path=library.path or library.name
                )
            seen[library.name] = library
        self.libraries = list(libraries)

    def __iter__(self) -> Iterator[Library]:
        return iter(self.libraries)

    def __len__(self) -> int:
        return len(self.libraries)

    def __getitem__(self, key: int | str) -> Library:
        if isinstance(key, int):
            return self.libraries[key]
        for library in self.libraries:
            if library.name == key:
                return library
        raise KeyError(key)

    @property
    def names(self) -> list[str]:
        """File names."""
        return [library.name for library in self.libraries]

    def copy(self) -> LibraryCollection:
        """A collection of its own."""
        return LibraryCollection([library.copy() for library in self.libraries])

    def trim(self) -> LibraryCollection:
        """:meth:`Library.trim` on each. Returns self."""
        for library in self.libraries:
            library.trim()
        return self

    def add_epilogues(self) -> LibraryCollection:
        """:meth:`Library.add_epilogues` on each. Returns self."""
        for library in self.libraries:
            library.add_epilogues()
        return self

    def create_bench_input(
        self, output_dir: str | Path, verify: bool = False, **options: Any
    ) -> list[tuple[Path, Path | None]]:
        """:meth:`Library.create_bench_input` on each; the files in order."""
        return [
            library.create_bench_input(output_dir, verify=verify, **options) for library in self.libraries
        ]

    def dump(self, output_dir: str | Path) -> list[Path]:
        """Write each library into a directory; the files in order."""
        return [library.dump(output_dir) for library in self.libraries]

    def __repr__(self) -> str:
        return f"<LibraryCollection of {len(self.libraries)}>"


def load_library(path: str | Path) -> Library:
    """Read one library logic file.

    Args:
        path: the YAML file.

    Raises:
        MissingFileError: no such file.
        InputError: it isn't YAML, or isn't library logic.
    """
    path = Path(path)
    return Library(logic_yaml.load(path), path.name, path)


def load_collection(
    directory: str | Path, pattern: str = "*.yaml", *, workers: int | None = None
) -> LibraryCollection:
    """Read the library logic files of a directory.

    Args:
        directory: the directory.
        pattern: which files, by name or with ``**/`` in front in all folders below.
        workers: processes that read; None sizes them to the cores and the work, 0 reads in this process.

    Returns:
        The libraries, sorted by path.

    Raises:
        MissingFileError: no such directory.
        InputError: no file matches, or one of them can't be read.
    """
    directory = Path(directory)
    require_folder(directory)
    paths = [
        path for path in sorted(directory.glob(pattern)) if path.name != "MatchTable.yaml" and path.is_file()
    ]
    if not paths:
        raise InputError(f"no library logic file matches {pattern}", path=directory)
    from geko.library.crew import read_all

    files, sizes = [(str(path),) for path in paths], [path.stat().st_size for path in paths]
    libraries = []
    for path, data in zip(paths, read_all("geko.library.crew:read_data", files, sizes, workers), strict=True):
        if isinstance(data, GekoError):
            raise data
        libraries.append(Library(data, path.name, path))
    return LibraryCollection(libraries)
