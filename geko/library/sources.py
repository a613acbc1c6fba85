"""From a global solution index to the solution in its logic file, by way of a MatchTable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from geko.errors import InputError
from geko.library import logic_yaml
from geko.library.match_table import load_match_table
from geko.library.model import Library, Solution, load_library


@dataclass(frozen=True)
class Source:
    """One solution in its logic file.

    Attributes:
        library: the file.
        position: the solution's place in it.
    """

    library: Library
    position: int

    def solution(self) -> Solution:
        """A copy with all parameters, defaults filled in."""
        return dict(logic_yaml.copy_value(self.library.full_solution(self.position)))


class LogicFinder:
    """Finds solutions by their index in one build.

    Args:
        match_table: MatchTable.yaml of the build, or its rows (:data:`geko.library.match_table.SCHEMA`).
        logic_root: folder of the logic files, for a table whose paths don't hold here.
    """

    def __init__(self, match_table: str | Path | pa.Table, logic_root: str | Path | None = None) -> None:
        self._roots = [] if logic_root is None else [Path(logic_root)]
        self._name = "the MatchTable"
        if isinstance(match_table, (str, Path)):
            self._name = str(match_table)
            self._roots.append(Path(match_table).resolve().parent)
            match_table = load_match_table(match_table)
        indices = match_table.column("solution_index").to_pylist()
        self._row = {index: row for row, index in enumerate(indices)}
        self._files = match_table.column("logic_file")
        self._locals = match_table.column("local_index")
        self._libraries: dict[str, Library] = {}
        self._below: dict[str, list[Path]] | None = None

    def source(self, index: int) -> Source:
        """The solution with this global index.

        Raises:
            InputError: the index is not in the table, its file can't be found, or the file doesn't hold the
                solution.
        """
        row = self._row.get(index)
        if row is None:
            raise InputError(
                f"Reference solution index {index} not found in MatchTable: is it of the measured build?",
                path=self._name,
            )
        written: str = self._files[row].as_py()
        library = self._libraries.get(written)
        if library is None:
            library = self._libraries[written] = load_library(self._find(written))
        position: int = self._locals[row].as_py()
        if not 0 <= position < len(library.solutions):
            raise InputError(
                f"solution {index} should be number {position} in it: the file is not the one that was built",
                path=library.path,
                value=len(library.solutions),
            )
        return Source(library, position)

    def _find(self, written: str) -> Path:
        path = Path(written)
        if path.is_file():
            return path
        if self._below is None:
            self._below = {}
            seen: set[Path] = set()
            for root in self._roots:
                for found in sorted(root.glob("**/*.yaml")):
                    real = found.resolve()
                    if real not in seen:
                        seen.add(real)
                        self._below.setdefault(found.name, []).append(found)
        candidates = self._below.get(path.name, [])
        if not candidates:
            raise InputError(
                f"logic file {written} is not there, nor one of its name; name the logic root",
                path=self._name,
            )
        # Several files of one name: the one whose folders agree with the path as written, from the end.
        shared = [_common_tail(path, candidate) for candidate in candidates]
        best = max(shared)
        if shared.count(best) > 1:
            same = ", ".join(str(c) for c, n in zip(candidates, shared, strict=True) if n == best)
            raise InputError(
                f"logic file {written} is not there, and several could be it: {same}", path=self._name
            )
        return candidates[shared.index(best)]


def _common_tail(a: Path, b: Path) -> int:
    count = 0
    for left, right in zip(reversed(a.parts), reversed(b.parts), strict=False):
        if left != right:
            break
        count += 1
    return count
