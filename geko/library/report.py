"""What the command line prints about libraries, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from geko.errors import InputError
from geko.fsio import require_file
from geko.library.check import check, require_sound
from geko.library.check import repair as repair_in_place
from geko.library.frames import require_columns
from geko.library.model import Library, load_library
from geko.library.prune import MEASURED_COLUMNS, prune_measured
from geko.library.rows import solution_ids
from geko.library.tree_merge import FileMerge


def describe(path: str | Path) -> str:
    """Header, counts and findings of one logic file."""
    library = load_library(path)
    cu = "" if library.cu_count is None else f", {library.cu_count} CUs"
    lines = [
        f"{library.name}: {library.layout} layout, {library.architecture}{cu}, schedule {library.schedule}",
        f"type {library.library_type}, metric {library.perf_metric}",
        f"{len(library.solutions)} solutions, {len(library.sizes)} sizes",
        *(f"unsound: {finding.message}" for finding in check(library)),
    ]
    return "\n".join(lines)


def compare(a: str | Path, b: str | Path) -> str:
    """Header fields, sizes and solutions in which two logic files differ, one line each."""
    first, second = load_library(a), load_library(b)
    heads = [_header(library) for library in (first, second)]
    header = [
        f"~ {name}: {heads[0].get(name, 'absent')} -> {heads[1].get(name, 'absent')}"
        for name in sorted(heads[0].keys() | heads[1].keys())
        if heads[0].get(name) != heads[1].get(name)
    ]
    sides = []
    for library in (first, second):
        ids = dict(enumerate(solution_ids(library)))
        entries = {tuple(size): (ids.get(index), *rest) for size, (index, *rest) in library.sizes}
        sides.append((entries, set(ids.values())))
    (left, left_ids), (right, right_ids) = sides
    lines = header + [f"- {list(size)}" for size in sorted(left.keys() - right.keys())]
    lines += [f"+ {list(size)}" for size in sorted(right.keys() - left.keys())]
    for size in sorted(left.keys() & right.keys()):
        if left[size] != right[size]:
            what = "efficiency" if left[size][0] == right[size][0] else "solution"
            lines.append(f"~ {list(size)} {what}: {left[size][1]} -> {right[size][1]}")
    lines.append(f"{len(left_ids - right_ids)} solutions gone, {len(right_ids - left_ids)} new")
    return "\n".join(lines)


def _header(library: Library) -> dict[str, object]:
    """What a library is for: target, type, metric, and the fields of its ProblemType."""
    return {
        "architecture": library.architecture,
        "CUs": library.cu_count,
        "library type": library.library_type,
        "metric": library.perf_metric,
        **{f"ProblemType.{key}": value for key, value in library.problem_type.items()},
    }


def describe_merge(reports: Iterable[FileMerge]) -> str:
    """Every size that a merge touched, with both efficiencies."""
    lines = []
    for report in reports:
        lines += report.repaired
        counts = f"{report.solutions_added} solutions added, {report.solutions_removed} removed"
        if report.action == "copied":
            counts = "there was no file of this name to merge into"
        lines.append(f"{report.name}: {report.action}, {counts}")
        for change in report.changes:
            before = "none" if change.before is None else f"{change.before:g}"
            lines.append(f"  {change.action} {list(change.size)} {before} -> {change.after:g}")
    return "\n".join(lines)


def trim_files(files: Iterable[str | Path], output_dir: str | Path, *, repair: bool = False) -> str:
    """Trim files into a directory; what was repaired and written, one line each."""
    return _changed(files, output_dir, Library.trim, repair)


def epilogue_files(files: Iterable[str | Path], output_dir: str | Path, *, repair: bool = False) -> str:
    """Give files epilogues; what was repaired and written, one line each."""
    return _changed(files, output_dir, Library.add_epilogues, repair)


def _distinct(files: Iterable[str | Path]) -> list[Path]:
    """The files, refused when two of them would be written to one."""
    paths = [Path(file) for file in files]
    taken: dict[str, Path] = {}
    for file in paths:
        other = taken.setdefault(file.name, file)
        if other.absolute() != file.absolute():
            raise InputError(
                f"two files of one name would be written to one, the other is {other}", path=file
            )
    return paths


def _changed(
    files: Iterable[str | Path], output_dir: str | Path, change: Callable[[Library], Library], repair: bool
) -> str:
    lines = []
    paths = _distinct(files)
    for file in paths:
        library = load_library(file)
        if repair:
            lines += repair_in_place(library)
        else:
            require_sound(library, allow=("index-dangling", "name-missing"))
        lines.append(str(change(library).dump(output_dir)))
    return "\n".join(lines)


def prune_file(
    file: str | Path, measured: str | Path, output_dir: str | Path, tol: float, *, repair: bool = False
) -> str:
    """Prune a file by a CSV or Parquet of a dense run."""
    source = Path(measured)
    require_file(source)
    try:
        frame = pl.read_parquet(source) if source.suffix == ".parquet" else pl.read_csv(source)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"not readable as times of a dense run: {error}", path=source) from error
    try:
        require_columns(frame, MEASURED_COLUMNS, "missing fields: {missing}")
    except InputError as error:
        raise InputError(str(error), path=source) from None
    words = [name for name in MEASURED_COLUMNS if not frame.schema[name].is_numeric()]
    if words:
        raise InputError(f"not all numbers: {', '.join(words)}", path=source)
    library = load_library(file)
    lines = repair_in_place(library) if repair else []
    pruned = prune_measured(library, frame, tol=tol)
    pruned.dump(output_dir)
    return "\n".join(
        [*lines, f"{pruned.name}: {len(library.solutions)} -> {len(pruned.solutions)} solutions"]
    )


def bench_files(
    files: Iterable[str | Path], output_dir: str | Path, *, verify: bool, duration: float, beta: bool
) -> str:
    """Write hipblaslt-bench input of files; the files written, one a line."""
    paths = [
        path
        for file in _distinct(files)
        for path in load_library(file).create_bench_input(output_dir, verify, duration=duration, beta=beta)
        if path is not None
    ]
    return "\n".join(map(str, paths))
