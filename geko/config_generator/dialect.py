"""How the tensilelite at hand spells things, read from its sources without importing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from geko.candidates.validity import NEWEST_CHECKS, Checks
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import Entry, ForkParam, ForkSpace
from geko.config_generator.tables import Table, canonical, read_table
from geko.errors import InputError
from geko.hipblaslt import TENSILE_PACKAGES, tensile_has_ductile, tensile_version

_TABLE_FILES = ("Common/ValidParameters.py", "Common/GlobalParameters.py", "Common.py")
# Matrix instructions are looked up in a list of wave tiles up to so many; newer versions have -1 in place of the list.
_LISTED = re.compile(r"""["']MatrixInstruction["'] *: *(?!-1)\w""")
_WAVE_TILE = re.compile(r"^validTT *= *(\d+)", re.MULTILINE)
_STREAM_K = {"StreamK": 3, "DataParallel": 3, "None": 0}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spelling of a tensilelite version.

    Attributes:
        strategy: Stream-K is ``TileProcessingStrategy`` and ``WorkAssignment``; before, an integer
        ``StreamK``.
        known: its kernel parameters with their legal values; None when it wasn't looked at, then everything is written.
        checks: what it checks otherwise than the newest.
        version: its version. One refuses configs of another major version, and of a later minor one.
        ductile: it has the genetic algorithm.
        fnuz: 8-bit floats of the fnuz kind have letters of their own; before 1.0, F8 and B8 meant what the chip has.
    """

    strategy: bool = True
    known: Table | None = None
    checks: Checks = NEWEST_CHECKS
    version: str = "5.0.0"
    ductile: bool = True
    fnuz: bool = True


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
        names = read_table(texts)
        if names:
            version = tensile_version(base) or NEWEST.version
            strategy = "TileProcessingStrategy" in names
            return Dialect(
                strategy, names, _checks(base, texts), version, tensile_has_ductile(base), _has_fnuz(base)
            )  # fmt: skip
    return NEWEST


#: Where the letters of data types stand: to 0.12, and after.
_TYPE_FILES = ("TensileInstructions/DataType.py", "Common/DataType.py")


def _has_fnuz(package: Path) -> bool:
    path = next((package / name for name in _TYPE_FILES if (package / name).is_file()), None)
    return path is None or re.search(r"""["']F8N["']""", path.read_text(encoding="utf-8")) is not None


def spelled_type(letters: str, dialect: Dialect) -> str:
    """Letters of a data type, such as ``"F8N"`` or ``"F8NB8N"``, as a tensilelite spells them."""
    return letters if dialect.fnuz or "8" not in letters else letters.replace("N", "")


def _checks(package: Path, tables: list[str]) -> Checks:
    """What the solution code of a tensilelite of before 2025 (one module) asks for; later ones ask for none of it."""
    path = package / "SolutionStructs.py"
    code = path.read_text(encoding="utf-8") if path.is_file() else ""
    path = package / "KernelWriter.py"
    writer = path.read_text(encoding="utf-8") if code and path.is_file() else ""
    listed = any(_LISTED.search(text) for text in tables)
    most = next((int(found[1]) for text in tables if (found := _WAVE_TILE.search(text))), None)
    return Checks(
        four_waves="MIWaveGroup0*MIWaveGroup1=4" in code,
        wave_tile=most if listed else None,
        vgpr_row="MIWaveGroup[1] and MatrixInstBN should be 1 for DirectToVgprA" in code,
        mixed_sums=not writer or "totalMixedAgprs" in writer,
        stream_k_types=frozenset("SHB") if "for DataType not yet supported with StreamK" in code else None,
    )


def translate(params: ForkSpace, group: MiGroup, dialect: Dialect) -> tuple[ForkSpace, MiGroup, list[str]]:
    """Axes and entries in the spelling of a tensilelite.

    Returns:
        Axes, macro-tile entries, and what this tensilelite doesn't know and that was left out: names, and values
        (``name=value``).
    """
    params = params.copy()
    cms = [dict(entry) for entry in group.cms]
    if not dialect.strategy:
        params.params = [new for old in params.params if (new := _old_param(old)) is not None]
        params.groups = [_distinct([_old_entry(entry) for entry in entries]) for entries in params.groups]
        cms = [_old_entry(entry) for entry in cms]
    if dialect.known is None:
        return params, MiGroup(group.frame, cms), []
    left: set[str] = set()
    group = MiGroup(_small_wave_tiles(group.frame, dialect.checks.wave_tile, left), cms)
    kept = []
    for param in params.params:
        values = _allowed(param.name, param.values, dialect.known, left)
        if values:
            kept.append(ForkParam(param.name, values, param.active))
    params.params = kept
    params.groups = [_entries(entries, dialect.known, left) for entries in params.groups]
    params.groups = [entries for entries in params.groups if entries not in ([], [{}])]
    return (
        params,
        MiGroup(_tiles(group, dialect.known, left), _entries(cms, dialect.known, left)),
        sorted(left),
    )


def _allowed(name: str, values: list[Any], known: Table, left: set[str]) -> list[Any]:
    """Values that the table has, as it has them; what it hasn't goes to ``left``."""
    if name not in known:
        left.add(name)
        return []
    found = []
    for value in values:
        given = canonical(known[name], value)
        if given is None:
            left.add(f"{name}={value}")
        else:
            found.append(given[0])
    return list({(type(value), repr(value)): value for value in found}.values())


def _entries(entries: list[Entry], known: Table, left: set[str]) -> list[Entry]:
    """Entries without the parameters that the table hasn't; an entry with a value that it hasn't is no kernel of its."""
    made = []
    for entry in entries:
        out: Entry = {}
        for name, value in entry.items():
            values = _allowed(name, [value], known, left)
            if not values and name in known:
                break
            if values:
                out[name] = values[0]
        else:
            made.append(out)
    return _distinct(made)


def _tiles(group: MiGroup, known: Table, left: set[str]) -> pl.DataFrame:
    """As for entries, on the columns of the macro-tile entries; what was left out may have been all that told two apart."""
    frame = group.frame
    before = len(left)
    for name in group.parameters:
        if name not in known:
            left.add(name)
            frame = frame.drop(name)
            continue
        legal = known[name]
        if legal is None or frame.schema[name].is_nested():
            continue
        values = frame[name].drop_nulls().unique().to_list()
        good = {value: given[0] for value in values if (given := canonical(legal, value)) is not None}
        left |= {f"{name}={value}" for value in values if value not in good}
        if len(good) < len(values):
            frame = frame.filter(pl.col(name).is_null() | pl.col(name).is_in(list(good)))
        if any(type(new) is not type(old) for old, new in good.items()):
            frame = frame.with_columns(
                pl.Series(name, [None if value is None else good[value] for value in frame[name].to_list()])
            )
    if len(left) > before:
        frame = frame.unique(MiGroup(frame).key, keep="first", maintain_order=True)
    return frame


def _small_wave_tiles(frame: pl.DataFrame, most: int | None, left: set[str]) -> pl.DataFrame:
    """Macro tiles without those whose wave tile the list of instructions doesn't hold: one of them would end the run."""
    if most is None:
        return frame
    good = frame.filter((pl.col("wtm") <= most) & (pl.col("wtn") <= most))
    if good.height < frame.height:
        left.add(f"MatrixInstruction with a wave tile above {most}")
    return good


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
