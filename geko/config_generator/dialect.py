"""How the tensilelite at hand spells things, read from its sources without importing them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import Entry, ForkParam, ForkSpace
from geko.errors import InputError
from geko.hipblaslt import TENSILE_PACKAGES, tensile_has_ductile, tensile_version

_TABLE_FILES = ("Common/ValidParameters.py", "Common/GlobalParameters.py", "Common.py")
_STREAM_K = {"StreamK": 3, "DataParallel": 3, "None": 0}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spelling of a tensilelite version.

    Attributes:
        strategy: Stream-K is ``TileProcessingStrategy`` and ``WorkAssignment``; before, an integer
        ``StreamK``.
        known: names of its kernel parameters; None when it wasn't looked at, then all names are written.
        four_waves: its Stream-K kernels need four waves a workgroup.
        version: its version. One refuses configs of another major version, and of a later minor one.
        ductile: it has the genetic algorithm.
    """

    strategy: bool = True
    known: frozenset[str] | None = None
    four_waves: bool = False
    version: str = "5.0.0"
    ductile: bool = True


NEWEST = Dialect()
STREAM_K_INTEGER = Dialect(strategy=False)


def named(era: str | None) -> Dialect | None:
    """Dialect of a name: ``"C"`` or ``"strategy"`` the newest, ``"A"``, ``"B"`` or ``"streamk"`` the older
    ones.

    Raises:
        InputError: another name.
    """
    if era is None:
        return None
    if era.upper() in ("A", "B", "STREAMK"):
        return STREAM_K_INTEGER
    if era.upper() in ("C", "STRATEGY"):
        return NEWEST
    raise InputError("a config spelling is A, B or streamk (integers), C or strategy (names)", value=era)


def detect(hipblaslt: str | Path | None) -> Dialect:
    """Dialect of a hipBLASLt checkout; the newest one where none is found.

    Args:
        hipblaslt: root of the checkout, or a tensilelite folder.
    """
    if hipblaslt is None:
        return NEWEST
    root = Path(hipblaslt)
    packages = (*TENSILE_PACKAGES, *(name.partition("/")[2] for name in TENSILE_PACKAGES))
    for base in (*(root / name for name in packages), root):
        texts = [
            (base / name).read_text(encoding="utf-8") for name in _TABLE_FILES if (base / name).is_file()
        ]
        names = frozenset().union(*(_names(text) for text in texts))
        if names:
            waves = base / "SolutionStructs.py"
            four = waves.is_file() and "MIWaveGroup0*MIWaveGroup1=4" in waves.read_text(encoding="utf-8")
            version = tensile_version(base) or NEWEST.version
            strategy = "TileProcessingStrategy" in names
            return Dialect(strategy, names, four, version, tensile_has_ductile(base))
    return NEWEST


def _names(text: str) -> frozenset[str]:
    """Keys of the dictionary ``validParameters``, wherever it is assigned."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        named_so = any(isinstance(target, ast.Name) and target.id == "validParameters" for target in targets)
        if named_so and isinstance(node.value, ast.Dict):
            keys = node.value.keys
            names.update(
                key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
    return frozenset(names)


def translate(params: ForkSpace, group: MiGroup, dialect: Dialect) -> tuple[ForkSpace, MiGroup, list[str]]:
    """Axes and entries in the spelling of a tensilelite.

    Returns:
        Axes, macro-tile entries, and the names that this tensilelite doesn't know and that were left out.
    """
    params = params.copy()
    cms = [dict(entry) for entry in group.cms]
    if not dialect.strategy:
        params.params = [new for old in params.params if (new := _old_param(old)) is not None]
        params.groups = [_distinct([_old_entry(entry) for entry in entries]) for entries in params.groups]
        cms = [_old_entry(entry) for entry in cms]
    if dialect.known is None:
        return params, MiGroup(group.frame, cms), []
    unknown = {param.name for param in params.params} | {
        name for entries in params.groups for e in entries for name in e
    }
    unknown |= set(group.parameters) | {name for entry in cms for name in entry}
    unknown -= dialect.known
    params.params = [param for param in params.params if param.name not in unknown]
    params.groups = [
        _distinct(
            [{name: value for name, value in entry.items() if name not in unknown} for entry in entries]
        )
        for entries in params.groups
    ]
    params.groups = [entries for entries in params.groups if entries != [{}]]
    frame = group.frame.drop([name for name in group.parameters if name in unknown])
    cms = [{name: value for name, value in entry.items() if name not in unknown} for entry in cms]
    return params, MiGroup(frame, cms), sorted(unknown)


def _old_param(param: ForkParam) -> ForkParam | None:
    if param.name == "WorkAssignment":
        return None
    if param.name == "TileProcessingStrategy":
        return ForkParam(
            "StreamK", list(dict.fromkeys(_STREAM_K[value] for value in param.values)), param.active
        )
    if param.name == "PersistentXCCMapping":
        return ForkParam("StreamKXCCMapping", param.values, param.active)
    return param


def _old_entry(entry: Entry) -> Entry:
    out: dict[str, Any] = {}
    for name, value in entry.items():
        if name == "WorkAssignment":
            continue
        if name == "TileProcessingStrategy":
            out["StreamK"] = _STREAM_K[value]
            if value == "DataParallel":
                out["StreamKForceDPOnly"] = 1
        elif name == "PersistentXCCMapping":
            out["StreamKXCCMapping"] = value
        else:
            out[name] = value
    return out


def _distinct(entries: list[Entry]) -> list[Entry]:
    return list({repr(sorted(entry.items())): entry for entry in entries}.values())
