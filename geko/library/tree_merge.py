"""Merging tuned logic into an existing tree, as TensileMergeLibrary does, with a minimal textual change.

What a merge means is taken over from the tool of hipBLASLt 0.12.1: same entries, same
solutions, same numbers. Different on purpose: files without a size table keep their solutions; untouched
text stays byte for byte; a merged file is written atomically; everything that happened to a size is
listed. docs/library.md has the whole list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from geko.errors import InputError
from geko.fsio import require_folder, write_bytes_atomic, write_text_atomic
from geko.library import logic_yaml
from geko.library.build import logic_files
from geko.library.check import repair as repair_in_place
from geko.library.check import require_sound
from geko.library.combine import SolutionPool, sanitize
from geko.library.model import Library, Size, Solution
from geko.library.yaml_writer import LogicWriter

_INDEX_LINE = re.compile(r"(?<=SolutionIndex: )\d+(?=\s*$)", re.M)


@dataclass(frozen=True)
class SizeChange:
    """What a merge did with one size.

    Attributes:
        size: M, N, batch, K (and leading dimensions).
        action: ``added``, ``replaced``, ``kept``.
        before: efficiency in the original; None for an added size.
        after: efficiency in the incoming file.
        reused: the solution was there already.
    """

    size: tuple[int, ...]
    action: str
    before: float | None
    after: float
    reused: bool = False


@dataclass
class FileMerge:
    """What a merge did with one file.

    Attributes:
        name: file name.
        action: ``merged``, ``copied`` (no original of that name), ``unchanged``, ``repaired`` (nothing else).
        changes: per incoming size.
        solutions_added: number of new solutions.
        solutions_removed: number of original solutions that no size uses any more (or never used).
        text: the merged file.
        repaired: what was put right in either file, one line each.
    """

    name: str
    action: str
    changes: list[SizeChange] = field(default_factory=list)
    solutions_added: int = 0
    solutions_removed: int = 0
    text: str = ""
    repaired: list[str] = field(default_factory=list)


def merge(
    original_dir: str | Path,
    new_dir: str | Path,
    output_dir: str | Path | None = None,
    *,
    force: bool = True,
    no_eff: bool = False,
    trim_size: bool = True,
    repair: bool = False,
    dry_run: bool = False,
) -> list[FileMerge]:
    """Merge the logic files of one tree into those of another, by file name.

    Args:
        original_dir: the tree to merge into; not changed unless it is the output.
        new_dir: the tuned files.
        output_dir: where merged files go; None = into ``original_dir``, each over its original.
        force: a new entry replaces an old one even where its efficiency is not higher.
        no_eff: store efficiency 0.0 for new entries.
        trim_size: cut sizes of 8 numbers to M, N, batch, K; of those that are equal then, the first stays.
        repair: put right what is unsound in either file instead of refusing it; the reports tell.
        dry_run: write nothing.

    Returns:
        One report a new file, sorted by name.

    Raises:
        MissingFileError: a directory is missing.
        InputError: two originals of one name, unequal problem types, unsound logic, or the output is ``new_dir``.
            Nothing is written then.
    """
    originals: dict[str, list[Path]] = {}
    if output_dir is not None and Path(output_dir).resolve() == Path(new_dir).resolve():
        raise InputError("the output is the folder of the tuned logic, which would be lost", path=output_dir)
    require_folder(original_dir)
    for path in sorted(Path(original_dir).glob("**/*.yaml")):
        originals.setdefault(path.name, []).append(path)
    reports: list[tuple[FileMerge, Path, bytes | None]] = []
    taken: dict[str, Path] = {}
    for new in logic_files(new_dir):
        if new.name in taken:
            raise InputError(f"two new files of one name, the other is {taken[new.name]}", path=new)
        taken[new.name] = new
        found = originals.get(new.name, [])
        if len(found) > 1:
            shown = ", ".join(map(str, found))
            raise InputError(f"several originals could be merged into: {shown}; name the folder", path=new)
        out_dir = Path(original_dir if output_dir is None else output_dir)
        if not found:
            reports.append((FileMerge(new.name, "copied"), out_dir / new.name, new.read_bytes()))
            continue
        report = merge_files(found[0], new, force=force, no_eff=no_eff, trim_size=trim_size, repair=repair)
        target = found[0] if output_dir is None else out_dir / new.name
        reports.append((report, target, None))
    for report, target, data in sorted(reports, key=lambda item: item[0].name) if not dry_run else []:
        if data is not None:
            write_bytes_atomic(target, data)
        else:
            write_text_atomic(target, report.text)
    return sorted((report for report, _, _ in reports), key=lambda report: report.name)


def merge_files(
    original: str | Path,
    new: str | Path,
    *,
    force: bool = True,
    no_eff: bool = False,
    trim_size: bool = True,
    repair: bool = False,
) -> FileMerge:
    """Merge one logic file into another; writes nothing.

    Args:
        original: the file to merge into.
        new: the tuned file.
        force: see :func:`merge`.
        no_eff: see :func:`merge`.
        trim_size: see :func:`merge`.
        repair: see :func:`merge`; a repaired original is written anew as a whole.

    Returns:
        The report with the merged text.

    Raises:
        InputError: unequal problem types or unsound logic.
    """
    original, new = Path(original), Path(new)
    text = logic_yaml.decode(logic_yaml.read_bytes(original), original)
    base = Library(logic_yaml.loads(text, name=original), original.name, original)
    incoming = Library(logic_yaml.load(new), new.name, new)
    repaired = repair_in_place(base) if repair else []
    if repaired:
        text = base.dumps()
    repaired += repair_in_place(incoming) if repair else []
    for library in (base, incoming):
        require_sound(library, allow=("name-missing",))
    _require_same_type(base, incoming)
    report = _merge(base, incoming, text, force=force, no_eff=no_eff, trim_size=trim_size)
    report.repaired = repaired
    if repaired and report.action == "unchanged":
        report.action = "repaired"
    return report


def _require_same_type(base: Library, incoming: Library) -> None:
    ours, theirs = base.problem_type, incoming.problem_type
    for key in sorted(ours.keys() & theirs.keys()):
        if ours[key] != theirs[key]:
            raise InputError(
                f"ProblemType.{key} is {theirs[key]!r}, the original {base.path} has {ours[key]!r}",
                path=incoming.path,
            )
    if base.get("ArchitectureName") != incoming.get("ArchitectureName"):
        theirs, ours = incoming.get("ArchitectureName"), base.get("ArchitectureName")
        raise InputError(f"is for {theirs}, the original {base.path} for {ours}", path=incoming.path)


def _first_of_cut(sizes: list[Size]) -> list[Size]:
    """Sizes cut to 4 numbers; a cut size that is there already (cut or in short form) is dropped."""
    short = {tuple(size) for size, _ in sizes if len(size) < 8}
    kept: list[Size] = []
    for size, rest in sizes:
        key = tuple(size[:-4]) if len(size) >= 8 else tuple(size)
        if len(size) >= 8:
            if key in short:
                continue
            short.add(key)
        kept.append([list(key), rest])
    return kept


def _merge(
    base: Library, incoming: Library, text: str, *, force: bool, no_eff: bool, trim_size: bool
) -> FileMerge:
    report = FileMerge(base.name, "merged")
    if not base.sizes and not incoming.sizes:
        report.action, report.text = "unchanged", text
        return report
    cut = _first_of_cut if trim_size else list
    sizes: list[Size] = [[size, list(rest)] for size, rest in cut(base.sizes)]
    old = len(base.solutions)
    complete = [base.full_solution(n) for n in range(old)] if base.default_solution else base.solutions
    pool = SolutionPool()
    changed: set[int] = set()
    in_use = {entry[1][0] for entry in sizes}
    for place, solution in enumerate(complete):
        staggered = _sanitized(solution)
        if staggered is not solution:
            changed.add(place)
        # Like the real tool: a solution that no size of the original uses is not there to be reused.
        pool.append(staggered, reusable=base.has_other_logic or place in in_use)
    first = {tuple(size): place for place, (size, _) in reversed(list(enumerate(sizes)))}
    for size, (index, *rest) in cut(incoming.sizes):
        key, efficiency = tuple(size), rest[0]
        solution = _sanitized(incoming.full_solution(index))
        spot = first.get(key)
        before = None if spot is None else sizes[spot][1][1]
        if before is not None and not force and efficiency <= before:
            report.changes.append(SizeChange(key, "kept", before, efficiency))
            continue
        held = pool.find(solution)
        number = pool.append(dict(solution)) if held is None else held
        entry = [number, 0.0 if no_eff else efficiency]
        if spot is None:
            first[key] = len(sizes)
            sizes.append([list(size), entry])
        else:
            sizes[spot][1] = entry
        action = "added" if spot is None else "replaced"
        report.changes.append(SizeChange(key, action, before, efficiency, held is not None))
    used = set(range(len(pool.solutions))) if base.has_other_logic else {entry[1][0] for entry in sizes}
    kept = [place for place in range(len(pool.solutions)) if place in used]
    report.solutions_added = sum(place >= old for place in kept)
    report.solutions_removed = sum(place not in used for place in range(old))
    number_of = {place: number for number, place in enumerate(kept)}
    final: list[Size] = [[size, [number_of[index], *rest]] for size, (index, *rest) in sizes]
    _write_text(base, text, report, pool.solutions, kept, changed, old, final)
    return report


def _sanitized(solution: Solution) -> Solution:
    if solution.get("StaggerU") != 0:
        return solution
    copy = dict(solution)
    sanitize(copy)
    return solution if copy == solution and copy.keys() == solution.keys() else copy


def _write_text(
    base: Library,
    text: str,
    report: FileMerge,
    solutions: list[Solution],
    kept: list[int],
    changed: set[int],
    old: int,
    sizes: list[Size],
) -> None:
    """The merged file: text of the original where nothing changed."""
    pieces = _Pieces.cut(text, old) if base.layout == "list" and not base.default_solution else None
    final = []
    for number, place in enumerate(kept):
        solution = dict(solutions[place])
        solution["SolutionIndex"] = number
        final.append(solution)
    if pieces is None:
        base.solutions, base.sizes = final, sizes
        if base.default_solution:
            block = base.get("Solutions")
            if isinstance(block, dict):
                block["SolutionDefaults"] = {}
            else:
                base.set("DefaultSolution", {})
        report.text = base.dumps()
        return
    writer = LogicWriter()
    parts = []
    for number, place in enumerate(kept):
        own = pieces.solutions[place] if place < old and place not in changed else None
        if own is not None:
            own, count = _INDEX_LINE.subn(str(number), own, count=1)
            if count != 1:
                own = None
        parts.append(own if own is not None else writer.item_text(final[number], 2)[2:])
    old_rows = {row.strip(): row for row in pieces.sizes}
    rows = []
    for entry in sizes:
        row = writer.item_text(entry, 2)[2:]
        rows.append(old_rows.get(row.strip(), row))
    body = "- " + "  ".join(parts) if parts else "- []\n"
    table = "- " + "  ".join(rows) if rows else "- []\n"
    merged = pieces.head + body + pieces.middle + table + pieces.tail
    report.text = merged
    if merged == text:
        report.action = "unchanged"


@dataclass
class _Pieces:
    """A list-form file cut at its solutions and sizes; joined again it is the file."""

    head: str
    solutions: list[str]
    middle: str
    sizes: list[str]
    tail: str

    @classmethod
    def cut(cls, text: str, count: int) -> _Pieces | None:
        """None when the file is not laid out in the usual way."""
        starts = [match.start() for match in re.finditer(r"^- ", text, re.M)]
        if len(starts) < 9:
            return None
        block, table = text[starts[5] : starts[6]], text[starts[7] : starts[8]]
        solutions = _items(block)
        sizes = _items(table) if table.startswith("- - ") else []
        if len(solutions) != count or not block.startswith("- - "):
            return None
        if "".join(["- ", "  ".join(solutions)]) != block:
            return None
        return cls(text[: starts[5]], solutions, text[starts[6] : starts[7]], sizes, text[starts[8] :])


def _items(block: str) -> list[str]:
    """Items of a block behind its first dash, each up to the next, without the blanks before it."""
    parts = block[2:].split("\n  - ")
    last = len(parts) - 1
    return [("- " if n else "") + part + ("\n" if n < last else "") for n, part in enumerate(parts)]
