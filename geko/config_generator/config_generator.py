"""Generate tuning configs: requests in, YAML files (and scripts, log, per-size table) out."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from geko.config_generator import cms as schedules
from geko.config_generator.cluster_sizes import cluster
from geko.config_generator.config_merger import MergedSpace, merge
from geko.config_generator.dialect import Dialect, detect, named
from geko.config_generator.fork_params.optimization_param import Entry
from geko.config_generator.load_input_config import Request
from geko.config_generator.output_writer import (
    render,
    run_all_script,
    shell_script,
)
from geko.config_generator.shared_utils import config_hash, spread
from geko.config_generator.sizes import Size
from geko.config_generator.spaces import Kernels, assemble, custom_entries, size_space
from geko.errors import InputError
from geko.fsio import write_text_atomic
from geko.hipblaslt import HipblasltRoot
from geko.log import logger


@dataclass(frozen=True, slots=True)
class SizeRow:
    """What became of one size.

    Attributes:
        gemm: GEMM name.
        m, n, batch, k: size.
        status: ``"kept"`` or ``"dropped"``.
        reason: why it was dropped, or what was done to keep it; empty when nothing was.
        tiles: macro-tile entries of this size.
        kernels: kernels of the config's full product.
        config: file stem of the config, empty when dropped.
    """

    gemm: str
    m: int
    n: int
    batch: int
    k: int
    status: str
    reason: str
    tiles: int
    kernels: int
    config: str


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One written config.

    Attributes:
        stem: file name without suffix.
        path: file, empty in a dry run.
        sha256: hash of the content without comments.
        gemm: GEMM name.
        arch, backend, search_space, rules: settings.
        sizes: sizes in the file.
        tiles: entries of the macro-tile dimension.
        kernels: kernels of the full product.
        left_out: what the tensilelite at hand doesn't know: parameters, and values (``name=value``).
    """

    stem: str
    path: str
    sha256: str
    gemm: str
    arch: str
    backend: str
    search_space: str
    rules: str
    sizes: list[Size]
    tiles: int
    kernels: int
    left_out: list[str]


@dataclass(slots=True)
class Report:
    """Result of a generation: configs, and one row for every size."""

    configs: list[ConfigRow] = field(default_factory=list)
    sizes: list[SizeRow] = field(default_factory=list)

    @property
    def dropped(self) -> list[SizeRow]:
        """Sizes without a config."""
        return [row for row in self.sizes if row.status == "dropped"]

    def table(self) -> str:
        """The per-size table as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(SizeRow.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in self.sizes)
        return out.getvalue()


class NoConfigError(InputError):
    """Not a single size could be kept; ``report`` says why for each."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


#: Called with the number of sizes that are done, and of all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Task:
    """One config to be made: a request with its own sizes, and the number in its file name."""

    request: Request
    sizes: tuple[Size, ...]
    stem: str
    folder: str | None
    dialect: Dialect
    kernels: tuple[Entry, ...]


def run(
    requests: Sequence[Request],
    output_path: str | Path,
    *,
    write_shell_scripts: bool = True,
    hipblaslt_path: str | Path | None = None,
    era: str | None = None,
    client: str | Path | None = None,
    kernels: Kernels | None = None,
    dry_run: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Write the configs of all requests to a folder.

    Files: ``<name>_<i>.yaml`` and, with scripts, ``<name>_<i>.sh`` and ``run_<name>_all.sh``; beside the
    folder ``Config_<name>.log``; in it ``sizes.csv`` with one row for every size.

    Args:
        requests: from :func:`geko.config_generator.load_input_config.load_requests`.
        output_path: folder; made when missing. Other files in it are left as they are.
        write_shell_scripts: write the scripts too; without ``hipblaslt_path`` they take the checkout from the
            variable GEKO_HIPBLASLT_PATH.
        hipblaslt_path: checkout whose tensilelite's spelling is used, and whose program the scripts call.
        era: spelling by name instead, see :func:`geko.config_generator.dialect.named`.
        client: prebuilt tensilelite client for the scripts.
        kernels: custom main loop schedules, see :mod:`geko.config_generator.cms`; None for those of the checkout.
        dry_run: work everything out and write nothing.
        jobs: processes; chosen by the number of sizes when left out.
        progress: called with the number of sizes that are done, and of all.

    Returns:
        What was written, and what became of each size.

    Raises:
        NoConfigError: not a single size could be kept.
        InputError: under the original's rules, a size could not be kept.
    """
    folder = Path(output_path)
    dialect = _dialect(era, hipblaslt_path, requests)
    if dialect.fnuz:
        _warn_of_ocp(requests)
    if kernels is None:
        types = {str(request.gemm.gemm_type.data_type) for request in requests if request.settings.cms}
        wanted = hipblaslt_path is not None and types & schedules.DTYPE_CLASS.keys()
        kernels = schedules.registry(hipblaslt_path) if wanted and hipblaslt_path is not None else ()
    report = Report()
    counters: Counter[str] = Counter()
    n_sizes = sum(len(request.sizes) for request in requests)
    for request in requests:
        name = request.gemm.name
        start = counters[name]
        custom = tuple(custom_entries(request, kernels))
        target = None if dry_run else str(folder)
        if request.settings.one_size_per_config:
            tasks = [
                _Task(request, (size,), f"{name}_{start + index}", target, dialect, custom)
                for index, size in enumerate(request.sizes)
            ]
            results = []
            for made in spread(_make_single, tasks, jobs):
                results.append(made)
                if progress is not None:
                    progress(len(report.sizes) + len(results), n_sizes)
            results = _renumbered(results, name, start, target)
        else:
            results = _make_merged(request, name, start, target, dialect, custom)
        for config, rows in results:
            if config is not None:
                report.configs.append(config)
                counters[name] += 1
            report.sizes += rows
    if not report.configs:
        first = next((row.reason for row in report.dropped), "no sizes")
        raise NoConfigError(f"no config could be made: {first}", report)
    _warn_of(report.dropped)
    left = sorted({item for config in report.configs for item in config.left_out})
    if left:
        logger.warning(
            "left out, since the tensilelite %s at hand doesn't know them: %s",
            dialect.version,
            ", ".join(left),
        )
    if not dry_run:
        _finish(report, folder, write_shell_scripts, hipblaslt_path, client, requests)
    return report


def write_table(report: Report, folder: Path, others: Sequence[SizeRow]) -> None:
    """Write ``sizes.csv`` with the sizes, too, that never came to the generator, and say why they didn't."""
    if others:
        _warn_of(others)
        write_text_atomic(folder / "sizes.csv", Report(sizes=[*report.sizes, *others]).table())


def _warn_of(dropped: Sequence[SizeRow]) -> None:
    for row in dropped:
        logger.warning(
            "%s [%d, %d, %d, %d] dropped: %s", row.gemm, row.m, row.n, row.batch, row.k, row.reason
        )


def _dialect(era: str | None, hipblaslt: str | Path | None, requests: Sequence[Request]) -> Dialect:
    """Spelling of the checkout, or the one that was asked for; a backend that the checkout lacks is refused."""
    found = detect(hipblaslt)
    if not found.ductile and any(request.settings.backend == "ductile" for request in requests):
        raise InputError(
            f"the tensilelite {found.version} of this checkout has no genetic algorithm (Ductile), and would build every "
            "combination of the config: tune with --backend tensile, or name a newer checkout", path=hipblaslt,
        )  # fmt: skip
    asked = named(era)
    return found if asked is None else replace(asked, version=found.version)


def _warn_of_ocp(requests: Sequence[Request]) -> None:
    """gfx942 has 8-bit floats of the fnuz kind alone: hipBLASLt chooses no kernel of the others there (and hipblaslt-bench
    reads f8_r as f8_fnuz_r), though its instructions multiply their bits."""
    names = {
        request.gemm.name
        for request in requests
        if request.settings.arch.family == "gfx942"
        and re.search(r"[FB]8(?!N)", str(request.gemm.gemm_type.data_type))
    }
    if names:
        logger.warning(
            "%s: hipBLASLt has 8-bit floats of the fnuz kind alone on gfx942, and will not choose these kernels; write "
            "F8N and B8N", ", ".join(sorted(names)),
        )  # fmt: skip


_Made = tuple[ConfigRow | None, list[SizeRow]]


def _make_single(tasks: list[_Task]) -> list[_Made]:
    return [_make(task) for task in tasks]


def _make(task: _Task) -> _Made:
    request, (size,) = task.request, task.sizes
    try:
        space = size_space(request, size, dialect=task.dialect, cms_entries=task.kernels)
    except InputError as error:
        if request.settings.rules == "original":
            raise InputError(f"{request.gemm.name}, size {list(size)}: {error}") from None
        return None, [SizeRow(request.gemm.name, *size, "dropped", str(error), 0, 0, "")]
    (merged,) = merge([[space]], request.settings.max_kernels, original=request.settings.rules == "original")
    return _write(request, merged, task.stem, task.folder, task.dialect)


def _make_merged(
    request: Request, name: str, start: int, folder: str | None, dialect: Dialect, custom: Sequence[Entry]
) -> list[_Made]:
    spaces, lost = [], []
    for size in request.sizes:
        try:
            spaces.append(size_space(request, size, dialect=dialect, cms_entries=custom))
        except InputError as error:
            if request.settings.rules == "original":
                raise InputError(f"{name}, size {list(size)}: {error}") from error
            lost.append(SizeRow(name, *size, "dropped", str(error), 0, 0, ""))
    settings = request.settings
    clusters = cluster(spaces, one_size=False, algorithm=settings.cluster)
    merged = merge(clusters, settings.max_kernels, original=settings.rules == "original")
    out: list[_Made] = [
        _write(request, space, f"{name}_{start + index}", folder, dialect)
        for index, space in enumerate(merged)
    ]
    return [*out, (None, lost)] if lost else out


def _write(request: Request, space: MergedSpace, stem: str, folder: str | None, dialect: Dialect) -> _Made:
    config = assemble(request, space, stem, dialect)
    text = render(config)
    path = ""
    if folder is not None:
        target = Path(folder) / f"{stem}.yaml"
        write_text_atomic(target, text)
        path = str(target)
    settings, name = request.settings, request.gemm.name
    row = ConfigRow(
        stem,
        path,
        config_hash(text),
        name,
        settings.arch.name,
        settings.backend,
        settings.search_space,
        settings.rules,
        space.sizes,
        len(space.group),
        space.kernels,
        config.left_out,
    )
    sizes = []
    for size, tiles in zip(space.sizes, space.mi_counts, strict=True):
        notes = list(space.notes.get(size, ()))
        if space.trimmed:
            notes.append(f"{space.trimmed} entries beyond the cap on kernels left out")
        if not tiles:
            notes.append("no macro tile passes the filters")
        sizes.append(SizeRow(name, *size, "kept", "; ".join(notes), tiles, space.kernels, stem))
    return row, sizes


def _renumbered(results: list[_Made], name: str, start: int, folder: str | None) -> list[_Made]:
    """Close the gaps that dropped sizes leave in the numbering of the files."""
    if all(config is not None for config, _ in results):
        return results
    out: list[_Made] = []
    index = start
    for config, rows in results:
        if config is not None:
            stem = f"{name}_{index}"
            if stem != config.stem:
                config, rows = _renamed(config, rows, stem, folder)
            index += 1
        out.append((config, rows))
    return out


def _renamed(
    config: ConfigRow, rows: list[SizeRow], stem: str, folder: str | None
) -> tuple[ConfigRow, list[SizeRow]]:
    path = ""
    if folder is not None:
        old, new = Path(config.path), Path(folder) / f"{stem}.yaml"
        text = old.read_text(encoding="utf-8").replace(
            f"# End of {config.stem}.yaml", f"# End of {stem}.yaml"
        )
        write_text_atomic(new, text)
        old.unlink()
        path = str(new)
    moved = ConfigRow(**{**_fields(config), "stem": stem, "path": path})
    return moved, [SizeRow(**{**_fields(row), "config": stem}) for row in rows]


def _fields(row: ConfigRow | SizeRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _finish(
    report: Report,
    folder: Path,
    scripts: bool,
    hipblaslt: str | Path | None,
    client: str | Path | None,
    requests: Sequence[Request],
) -> None:
    write_text_atomic(folder / "sizes.csv", report.table())
    by_name: dict[str, list[ConfigRow]] = {}
    for config in report.configs:
        by_name.setdefault(config.gemm, []).append(config)
    tiles = {(row.config, (row.m, row.n, row.batch, row.k)): row.tiles for row in report.sizes}
    for name, configs in by_name.items():
        lines = []
        for config in configs:
            lines += [f" ==== {config.stem}", f" #kernels {config.kernels}"]
            lines += [f" # MIs for {size}: {tiles.get((config.stem, size), 0)}" for size in config.sizes]
        write_text_atomic(folder.parent / f"Config_{name}.log", "\n".join(lines) + "\n")
        written = {config.stem for config in configs}
        stale = sorted(path.name for path in folder.glob(f"{name}_*.yaml") if path.stem not in written)
        if stale:
            logger.warning("%s holds %d configs of earlier runs, such as %s", folder, len(stale), stale[0])
    if not scripts:
        return
    tensile = None if hipblaslt is None else HipblasltRoot(Path(hipblaslt).resolve())
    envs = {request.gemm.name: dict(request.settings.arch.env) for request in requests}
    built = Path(client) if client is not None else None
    for name, configs in by_name.items():
        for config in configs:
            _script(folder / f"{config.stem}.sh", shell_script(config.stem, tensile, built, envs[name]))
        _script(folder / f"run_{name}_all.sh", run_all_script(name, [config.stem for config in configs]))


def _script(path: Path, text: str) -> None:
    write_text_atomic(path, text)
    path.chmod(0o755)


@functools.cache
def template() -> str:
    """Text of the commented template ``geko/config_generator/config.yaml``."""
    from importlib import resources

    return resources.files("geko.config_generator").joinpath("config.yaml").read_text(encoding="utf-8")
