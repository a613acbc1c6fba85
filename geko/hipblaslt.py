"""The hipBLASLt checkout: where it is, whether it is built, and where its programs and logic files lie.

Folder layout: hipBLASLt 0.10 to 1.4 in the ROCm/hipBLASLt and ROCm/rocm-libraries repositories. In 2026 tensilelite's
package was renamed from ``Tensile`` to ``tensilelite``, and its programs became commands of ``python -m tensilelite``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from geko.errors import MissingFileError

ROOT_VARIABLE = "GEKO_HIPBLASLT_PATH"
_RELEASE = "build/release"
# Newer builds put the clients directly into the folder, older ones into staging/.
_BENCH = ("clients/hipblaslt-bench", "clients/staging/hipblaslt-bench")
#: Folder of tensilelite's Python package, below the root: before and after it was renamed.
TENSILE_PACKAGES = ("tensilelite/Tensile", "tensilelite/tensilelite")
# Programs that the renamed package knows as commands (tensilelite/cli.py).
_TENSILE_COMMANDS = {"Tensile": "run", "TensileCreateLibrary": "create-library"}
# Where a build keeps the compiled package rocisa.
_ROCISA_BUILDS = ("build/release", "build", "build_tmp")
_VERSION = re.compile(r"^__version__ *= *[\"'](\d+\.\d+\.\d+)", re.MULTILINE)
_MATCH_TABLES = ("device-library/MatchTable.yaml", "library/MatchTable.yaml", "MatchTable.yaml")
_STOCK_LIBRARIES = ("device-library/library", "Tensile/library", "library")
_LOGIC = (
    "library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full",
    "tensilelite/Tensile/Logic/asm_full",
    "Tensile/Logic/asm_full",
)
_THREE_WAYS = (
    f"name it with --hipblaslt PATH, set {ROOT_VARIABLE}, or run geko from inside the checkout "
    "(projects/hipblaslt of ROCm/rocm-libraries)"
)


@dataclass(frozen=True, slots=True)
class HipblasltRoot:
    """A hipBLASLt checkout.

    Attributes:
        path: its root, the folder that holds ``tensilelite/``.
    """

    path: Path

    @property
    def release(self) -> Path:
        """Folder of the release build."""
        return self.path / _RELEASE

    @property
    def is_built(self) -> bool:
        """Whether there is a release build."""
        return self.release.is_dir()

    @property
    def is_simulated(self) -> bool:
        """Whether it was made by the simulator: its times are no measurements."""
        return (self.path / "simulator.json").is_file()

    @property
    def bench(self) -> Path | None:
        """hipblaslt-bench; None if it isn't built."""
        return _first_file(self.release, _BENCH)

    def require_bench(self) -> Path:
        """hipblaslt-bench.

        Raises:
            MissingFileError: if it isn't built.
        """
        found = self.bench
        if found is None:
            raise MissingFileError(
                f"hipblaslt-bench is not built: neither {' nor '.join(_BENCH)} is in it; "
                "build hipBLASLt with its clients (./install.sh -dc, or `invoke build --clients`)",
                path=self.release,
            )
        return found

    def tensile_program(self, name: str) -> Path:
        """Path of a program of tensilelite, such as ``TensileMergeLibrary``; where it should be if it isn't there."""
        places = [self.path / package / "bin" / name for package in TENSILE_PACKAGES]
        return next((path for path in places if path.is_file()), places[0])

    def tensile_command(self, name: str) -> list[str]:
        """How to call a program of tensilelite: its path, or ``python -m tensilelite WORD`` where that took its place.

        It wants :meth:`tensile_python_path` in ``PYTHONPATH``.

        Args:
            name: such as ``"Tensile"``.

        Raises:
            MissingFileError: neither is there.
        """
        program = self.tensile_program(name)
        if program.is_file():
            return [str(program.absolute())]
        word = _TENSILE_COMMANDS.get(name)
        if word is not None and (self.path / TENSILE_PACKAGES[1] / "cli.py").is_file():
            return [sys.executable, "-m", "tensilelite", word]
        places = " nor ".join(f"{package}/bin/{name}" for package in TENSILE_PACKAGES)
        raise MissingFileError(
            f"this hipBLASLt checkout has no {name}: neither {places}"
            + (f", nor python -m tensilelite {word}" if word is not None else "")
            + " is there; update the checkout (git checkout -- tensilelite), or name another one with --hipblaslt",
            path=self.path,
        )

    def tensile_python_path(self, inherited: str = "", *, build: Path | None = None) -> str:
        """Value of ``PYTHONPATH`` for programs of tensilelite: its package, the compiled ``rocisa`` of the build, and
        what was there before.

        Args:
            inherited: the value so far.
            build: folder of another build, such as that of the tensilelite client, which makes ``rocisa`` where it isn't
                installed; looked at first.
        """
        places = [self.path / "tensilelite"]
        for base in (*([build] if build is not None else []), *(self.path / name for name in _ROCISA_BUILDS)):
            found = base / "tensilelite/rocisa"
            places += [path for path in (found, found / "lib") if path.is_dir()]
        return os.pathsep.join(
            part for part in (*(str(path.absolute()) for path in places), inherited) if part
        )

    @property
    def tensile_package(self) -> Path | None:
        """Folder of tensilelite's Python package; None where there is none to read (a stand-in)."""
        return next(
            (
                path
                for name in TENSILE_PACKAGES
                if (path := self.path / name).joinpath("__init__.py").is_file()
            ),
            None,
        )

    @property
    def has_ductile(self) -> bool:
        """Whether its tensilelite has the genetic algorithm, see :func:`tensile_has_ductile`."""
        package = self.tensile_package
        return package is None or tensile_has_ductile(package)

    @property
    def match_table(self) -> Path | None:
        """MatchTable.yaml of the built library, which names the logic file of each solution index; None
        without one."""
        return _first_file(self.release, _MATCH_TABLES)

    def stock_library(self, target: str | None = None) -> Path | None:
        """Folder with the built kernels of the stock library; before hipBLASLt 1.0 all targets share one.

        Args:
            target: gfx target such as ``"gfx942"``; None for the first there is.
        """
        for name in _STOCK_LIBRARIES:
            base = self.release / name
            folders = sorted(base.glob(f"{target or 'gfx*'}"))
            folder = next((item for item in folders if item.is_dir()), None)
            if folder is not None:
                return folder
            if (
                any(base.glob(f"TensileLibrary*{target or 'gfx'}*"))
                or (base / "TensileLibrary.dat").is_file()
            ):
                return base
        return None

    def logic_dir(self, schedule: str, library_type: str | None = None) -> Path | None:
        """Folder of the library logic of a schedule; None if the checkout has none.

        Args:
            schedule: schedule name or target, such as ``"aquavanjaram"`` or ``"gfx950"``.
            library_type: a folder below it, such as ``"Equality"``.
        """
        for name in _LOGIC:
            base = self.path / name / schedule
            if base.is_dir():
                if library_type is None:
                    return base
                return next((path for path in sorted(base.rglob(library_type)) if path.is_dir()), None)
        return None


def tensile_version(package: Path) -> str | None:
    """Version of a tensilelite, such as ``"4.33.0"``; None where its package doesn't say.

    Args:
        package: folder of its Python package.
    """
    try:
        text = (package / "__init__.py").read_text(encoding="utf-8")
    except OSError:
        return None
    found = _VERSION.search(text)
    return None if found is None else found[1]


def tensile_has_ductile(package: Path) -> bool:
    """Whether a tensilelite has the genetic algorithm. One without (before 2026) passes over the section ``Backend`` of a
    config and builds every combination.

    Args:
        package: folder of its Python package; where it holds no ``__init__.py`` nothing is known, and the answer is yes.
    """
    if not (package / "__init__.py").is_file():
        return True
    return (package / "ductile").is_dir() or (package.parent / "ductile").is_dir()


def find_root(
    explicit: str | Path | None = None,
    *,
    anchor: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    built: bool = False,
) -> HipblasltRoot:
    """Find the hipBLASLt checkout.

    Args:
        explicit: what the user named with ``--hipblaslt``; nothing else is tried then.
        anchor: file or folder whose ancestors are searched last; None for this package.
        env: environment to read ``GEKO_HIPBLASLT_PATH`` from; None for that of the process.
        built: a release build is needed.

    Raises:
        MissingFileError: if there is none, or it isn't built; the text says what to do.
    """
    variables = os.environ if env is None else env
    given = variables.get(ROOT_VARIABLE)
    if explicit is not None:
        root = _checked(Path(explicit), "--hipblaslt")
    elif given:
        root = _checked(Path(given), ROOT_VARIABLE)
    else:
        start = Path(anchor) if anchor is not None else Path(__file__)
        found = next(_roots_above(start), None)
        if found is None:
            raise MissingFileError(
                f"no hipBLASLt checkout found: {_THREE_WAYS}; without a GPU, use --simulate"
            )
        root = HipblasltRoot(found)
    if built and not root.is_built:
        raise MissingFileError(
            f"this hipBLASLt checkout is not built: it has no {_RELEASE}; run ./install.sh -dc in it",
            path=root.path,
        )
    return root


def try_find_root(
    explicit: str | Path | None = None,
    *,
    anchor: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> HipblasltRoot | None:
    """As :func:`find_root`, None where there is no checkout."""
    try:
        return find_root(explicit, anchor=anchor, env=env)
    except MissingFileError:
        return None


def _checked(path: Path, source: str) -> HipblasltRoot:
    full = path.expanduser().absolute()
    if not full.is_dir():
        raise MissingFileError(f"the hipBLASLt path of {source} does not exist; {_THREE_WAYS}", path=full)
    for candidate in (full, full / "projects/hipblaslt"):
        if (candidate / "tensilelite").is_dir():
            return HipblasltRoot(candidate)
    raise MissingFileError(
        f"no hipBLASLt checkout ({source}): it has no folder tensilelite/; {_THREE_WAYS}", path=full
    )


def _roots_above(start: Path) -> Iterator[Path]:
    for folder in (start.absolute(), *start.absolute().parents):
        for candidate in (folder, folder / "projects/hipblaslt"):
            if (candidate / "tensilelite").is_dir():
                yield candidate


def _first_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def library_path(custom: str | Path) -> Path:
    """What ``HIPBLASLT_TENSILE_LIBPATH`` has to name for a library that TensileCreateLibrary made.

    Args:
        custom: its output folder, the ``library`` folder in it, or a ``gfx*`` folder in that.

    Returns:
        The first ``library/gfx*`` folder, else ``library``, else the path itself.
    """
    path = Path(custom)
    for base in (path / "library", path):
        folders = sorted(folder for folder in base.glob("gfx*") if folder.is_dir())
        if folders:
            return folders[0]
    return path / "library" if (path / "library").is_dir() else path


def is_built_library(custom: str | Path) -> bool:
    """Whether a folder holds a library that the runtime can load (``TensileLibrary*.dat``, packed or not)."""
    base = library_path(custom)
    patterns = (
        "TensileLibrary*.dat",
        "TensileLibrary*.dat.zlib",
        "TensileLibrary*.yaml",
        "*/TensileLibrary*.dat*",
    )
    return any(next(base.glob(pattern), None) is not None for pattern in patterns)
