"""What the command line prints about libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from geko.errors import InputError
from geko.fsio import require_file
from geko.library.check import check, require_sound
from geko.library.check import repair as repair_in_place
from geko.library.frames import require_columns
from geko.library.model import Library, load_library
from geko.library.prune import MEASURED_COLUMNS, prune_measured
from geko.library.rows import solution_ids
from geko.library.tree_merge import FileMerge

_DIFFERENCES = pa.schema([(name, pa.string()) for name in ("what", "change", "name", "a", "b")])


def describe(path: str | Path) -> dict[str, Any]:
    """Header, counts and findings of one logic file; ``unsound`` lists what `check` finds."""
    library = load_library(path)
    return {
        "file": library.name, "layout": library.layout, "arch": library.architecture, "cu_count": library.cu_count,
        "schedule": library.schedule, "type": library.library_type, "metric": library.perf_metric,
        "solutions": len(library.solutions), "sizes": len(library.sizes),
        "unsound": [finding.message for finding in check(library)],
    }  # fmt: skip


def as_lines(described: dict[str, Any]) -> list[dict[str, str]]:
    """The same for people: a row a field that has a value, and a row a finding."""
    return [
        {"field": name, "value": str(each)}
        for name, value in described.items()
        for each in (value if isinstance(value, list) else [value])
        if each is not None
    ]


def compare(a: str | Path, b: str | Path) -> pa.Table:
    """Header fields, sizes and solutions in which two logic files differ.

    Returns:
        A row each: ``what`` (``header``, ``size``, ``solutions``), ``change`` (``gone``, ``new``, ``changed``; of a size
        that both have ``solution`` or ``efficiency``), ``name`` (field, or M, N, batch, K), ``a`` and ``b`` (value of the
        field, efficiency of the size, number of solutions that only one file has).
    """
    first, second = load_library(a), load_library(b)
    heads = [_header(library) for library in (first, second)]
    rows = [
        _difference("header", "changed", name, *(head.get(name, "absent") for head in heads))
        for name in sorted(heads[0].keys() | heads[1].keys())
        if heads[0].get(name) != heads[1].get(name)
    ]
    sides = []
    for library in (first, second):
        ids = dict(enumerate(solution_ids(library)))
        entries = {tuple(size): (ids.get(index), *rest) for size, (index, *rest) in library.sizes}
        sides.append((entries, set(ids.values())))
    (left, left_ids), (right, right_ids) = sides
    rows += [
        _difference("size", "gone", list(size), left[size][1], None)
        for size in sorted(left.keys() - right.keys())
    ]
    rows += [
        _difference("size", "new", list(size), None, right[size][1])
        for size in sorted(right.keys() - left.keys())
    ]
    for size in sorted(left.keys() & right.keys()):
        if left[size] != right[size]:
            change = "efficiency" if left[size][0] == right[size][0] else "solution"
            rows.append(_difference("size", change, list(size), left[size][1], right[size][1]))
    if gone := len(left_ids - right_ids):
        rows.append(_difference("solutions", "gone", None, gone, None))
    if new := len(right_ids - left_ids):
        rows.append(_difference("solutions", "new", None, None, new))
    return pa.Table.from_pylist(rows, schema=_DIFFERENCES)


def _difference(what: str, change: str, name: object, a: object, b: object) -> dict[str, str | None]:
    values = {"name": name, "a": a, "b": b}
    return {"what": what, "change": change} | {
        key: None if value is None else str(value) for key, value in values.items()
    }


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
