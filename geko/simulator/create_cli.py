"""The TensileCreateLibrary stand-in: checks library logic as the real program would and "builds" it.

Nothing is compiled: the ``.dat`` holds the condensed logic and says that it is simulated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geko.errors import GekoError, InputError
from geko.fsio import write_bytes_atomic, write_text_atomic
from geko.simulator import faults
from geko.simulator.config import Config
from geko.simulator.library import architecture, condense, dump_tables, match_table

#: Version of tensilelite that the stand-in plays; logic of another major or a later minor version is refused.
TENSILE_VERSION = (4, 33, 0)
_REQUIRED_TYPE = ("DataType", "DestDataType", "ComputeDataType", "TransposeA", "TransposeB")
_REQUIRED_SOLUTION = ("SolutionIndex", "MacroTile0", "MacroTile1", "DepthU", "GlobalSplitU", "ISA")


def check_logic(logic: Any, path: Path) -> None:
    """Check list-form library logic.

    Raises:
        InputError: names the element that is missing or wrong.
    """
    if not isinstance(logic, list) or len(logic) not in (12, 13):
        length = len(logic) if isinstance(logic, list) else type(logic).__name__
        raise InputError("library logic must be a list of 12 elements", path=path, value=length)
    if not isinstance(logic[0], Mapping) or "MinimumRequiredVersion" not in logic[0]:
        raise InputError("element 0 must be {MinimumRequiredVersion: …}", path=path, value=logic[0])
    version = _version(logic[0]["MinimumRequiredVersion"], path)
    if version[0] != TENSILE_VERSION[0] or version > TENSILE_VERSION:
        have = ".".join(map(str, TENSILE_VERSION))
        raise InputError(f"logic needs another version than {have}", path=path, value=version)
    kinds: tuple[tuple[int, type | tuple[type, ...], str], ...] = (
        (1, str, "schedule name"),
        (2, (str, Mapping), "architecture"),
        (3, list, "device names"),
        (4, Mapping, "problem type"),
        (5, list, "solutions"),
        (11, str, "library type"),
    )
    for index, kind, what in kinds:
        if not isinstance(logic[index], kind):
            raise InputError(f"element {index} must be the {what}", path=path, value=logic[index])
    _need(logic[4], _REQUIRED_TYPE, "problem type", path)
    if not logic[5]:
        raise InputError("no solutions", path=path)
    indices = set()
    for position, solution in enumerate(logic[5]):
        if not isinstance(solution, Mapping):
            raise InputError(f"solution {position} is not a mapping", path=path, value=solution)
        _need(solution, _REQUIRED_SOLUTION, f"solution {position}", path)
        if solution["SolutionIndex"] in indices:
            raise InputError("SolutionIndex occurs twice", path=path, value=solution["SolutionIndex"])
        indices.add(solution["SolutionIndex"])
    for entry in logic[7] or []:
        well_formed = (
            isinstance(entry, list)
            and len(entry) == 2
            and isinstance(entry[0], list)
            and len(entry[0]) in (4, 8)
            and all(isinstance(x, int) and not isinstance(x, bool) for x in entry[0])
            and isinstance(entry[1], list)
            and len(entry[1]) == 2
        )
        if not well_formed:
            raise InputError(
                "a size must be [[4 or 8 integers], [index, efficiency]]", path=path, value=entry
            )
        if entry[1][0] not in indices:
            raise InputError("a size names a solution that the file doesn't hold", path=path, value=entry)


def _need(mapping: Mapping[str, Any], names: Iterable[str], what: str, path: Path) -> None:
    missing = [name for name in names if name not in mapping]
    if missing:
        raise InputError(f"{what} lacks {', '.join(missing)}", path=path)


def _version(text: Any, path: Path) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in str(text).split("."))
    except ValueError:
        raise InputError("MinimumRequiredVersion must read like 4.33.0", path=path, value=text) from None


def condense_folder(
    folder: Path, arch: str, yaml_path: str | None = None
) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """Load and check all logic of one architecture below ``folder``, in order of path.

    Args:
        folder: with ``**/*.yaml`` or ``**/*.yml``.
        arch: gfx target or schedule name; logic of other architectures is passed over.
        yaml_path: folder of PyYAML, for programs started without site packages.

    Returns:
        The condensed tables, and (logic file, local index) for each global solution index.
    """
    if yaml_path is not None and yaml_path not in sys.path:
        sys.path.append(yaml_path)
    from geko.library import logic_yaml

    reader = logic_yaml.LogicReader("tensile")
    tables: list[dict[str, Any]] = []
    entries: list[tuple[str, int]] = []
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        logic = logic_yaml.read_with(reader, logic_yaml.read_bytes(path), path)
        if isinstance(logic, Mapping):
            continue  # dict-form logic and other settings files: not of this version
        check_logic(logic, path)
        if arch not in (architecture(logic)[0], logic[1]):
            continue
        # Below the folder: the built library must not depend on where its logic lay.
        tables.append(condense(logic, path.relative_to(folder).as_posix(), len(entries)))
        entries += [(str(path), local) for local in range(len(logic[5]))]
    return tables, entries


def main(argv: Sequence[str], root: Path) -> int:
    """Entry point; returns the exit status, 1 with a message on stderr when the logic can't be built."""
    parser = argparse.ArgumentParser(prog="TensileCreateLibrary", allow_abbrev=False)
    parser.add_argument("LogicPath")
    parser.add_argument("OutputPath")
    parser.add_argument("RuntimeLanguage", choices=["OCL", "HIP", "HSA"])
    parser.add_argument("--code-object-version", default="4", choices=["4", "5", "V4", "V5", "default"])
    parser.add_argument("--library-format", default="msgpack", choices=["yaml", "msgpack", "msgpack-indexed"])
    parser.add_argument("--architecture", default="all")
    parser.add_argument("--jobs", "-j", type=int, default=-1)
    parser.add_argument("--logic-filter", default="*")
    for flag in (
        "--no-generate-solution-table",
        "--no-lazy-library-loading",
        "--no-compress",
        "--keep-build-tmp",
    ):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--experimental", action="store_true")
    options = parser.parse_args(list(argv))
    try:
        return _build(options, Config.load(root), root)
    except GekoError as error:
        sys.stderr.write(f"Tensile::FATAL: {error}\n")
        return 1


def _build(options: argparse.Namespace, config: Config, root: Path) -> int:
    rule = faults.Faults(root, "TensileCreateLibrary").strike({"logic": options.LogicPath})
    if rule is not None:
        faults.die(rule)
    folder, out = Path(options.LogicPath), Path(options.OutputPath)
    if not folder.is_absolute():
        raise InputError("LogicPath must be absolute", value=str(folder))
    if not folder.is_dir():
        raise InputError("LogicPath doesn't exist", path=folder)
    arch = config.device.arch if options.architecture == "all" else options.architecture
    sys.stdout.write(f"# TensileCreateLibrary (simulated)\n# LogicPath: {folder}\n# Architecture: {arch}\n")
    tables, entries = condense_folder(folder, arch, config.yaml_path)
    if not tables:
        raise InputError(f"no library logic for {arch}", path=folder)
    gfx = tables[0]["arch"]
    target = out / "library" / gfx
    write_bytes_atomic(target / f"TensileLibrary_lazy_{gfx}.dat", dump_tables(tables, gfx))
    note = f"simulated code object of {len(entries)} kernels: no machine code\n".encode()
    write_bytes_atomic(target / f"Kernels.so-000-{gfx}.hsaco", note)
    if not options.no_generate_solution_table:
        # Like the real program: into the current directory, not beside the library.
        write_text_atomic(Path.cwd() / "MatchTable.yaml", match_table(entries))
    sys.stdout.write(
        f"# {len(tables)} logic files, {len(entries)} solutions\n# Tensile Library Writer DONE\n"
    )
    return 0
