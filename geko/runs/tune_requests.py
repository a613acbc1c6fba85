"""What a tuning run asks the config generator for: GEMM types with the sizes that matter, and the settings of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.config_generator.config_generator import SizeRow
from geko.config_generator.load_input_config import (
    Request,
    effective,
    load_requests,
    problems_from_rows,
    requests_for,
)
from geko.config_generator.read_config import plain_problems
from geko.config_generator.schema import check_key, no_problem_keys, one_arch
from geko.domain.gemm import GemmConfig, GemmType
from geko.domain.identity import canonical_json, content_id
from geko.errors import InputError, UsageError

if TYPE_CHECKING:
    from geko.runs.options import Source
    from geko.runs.source import LoadedWorkload
    from geko.runs.tune_options import TuneOptions
    from geko.warehouse import Warehouse

_TYPES = ("transA", "transB", "a_type", "b_type", "c_type", "compute_type")


@dataclass(frozen=True, slots=True)
class TuningInput:
    """The input of a tuning run.

    Attributes:
        workload: its problems and their weights.
        requests: of a generator file, with the settings of each; empty where the workload alone says what to tune.
        settings_digest: hash of the file's settings; None without a file.
    """

    workload: LoadedWorkload
    requests: tuple[Request, ...] = ()
    settings_digest: str | None = None


@dataclass(slots=True)
class Wanted:
    """What configs are made for.

    Attributes:
        requests: GEMM types with sizes and settings.
        dropped: sizes that can't be tuned, with the reason.
    """

    requests: list[Request] = field(default_factory=list)
    dropped: list[SizeRow] = field(default_factory=list)


def load_input(warehouse: Warehouse, source: Source, options: TuneOptions) -> TuningInput:
    """Read the source of a tuning run.

    A generator file is read with all its keys; every other source is a workload.

    Args:
        warehouse: where the problems go.
        source: as of every run.
        options: architecture and settings that win over the file's.

    Raises:
        InputError: a file can't be read, or has unknown keys or wrong values.
        UsageError: no architecture is named.
    """
    from geko.runs.source import is_generator_file, load_source, names_arch, require_list

    one_arch(options.settings, options.arch)
    arch = options.arch or (options.simulate.arch if options.simulate is not None else None)
    if source.kind == "list" and is_generator_file(source.paths[0]):
        requests = load_requests(
            source.paths[0],
            arch=options.arch if names_arch(source.paths[0]) else arch,
            overrides=options.generator_values(),
            rules=options.rules,
        )
        _one_arch(requests)
        settings = [[request.gemm.name, request.gemm.sizes, effective(request)] for request in requests]
        digest = hashlib.sha256(canonical_json(_without_lines(settings)).encode()).hexdigest()
        return TuningInput(generator_workload(warehouse, source.paths[0], requests), tuple(requests), digest)
    if source.kind == "list":
        require_list(source.paths[0])
    if arch is None:
        raise UsageError("--arch is required: the GPU to tune for, such as --arch gfx950")
    check_key("ARCH", arch, source="--arch")  # once, not with every GEMM
    no_problem_keys(options.settings)
    return TuningInput(load_source(warehouse, source, arch))


def _without_lines(settings: list[list[Any]]) -> list[list[Any]]:
    """Settings without where they stood: moving a line or a file changes nothing."""
    return [
        [name, sizes, {key: text.partition("  (")[0] for key, text in values.items()}]
        for name, sizes, values in settings
    ]


def generator_workload(warehouse: Warehouse, path: Path, requests: Sequence[Request]) -> LoadedWorkload:
    """The sizes of a generator file as a workload: each counts once."""
    from geko.ingest.dispatch import ingest_rows
    from geko.ingest.inline import config_rows
    from geko.runs.source import known_workload

    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for request in requests:
        for row in config_rows(request.gemm, request.settings.arch.name):
            rows.setdefault(tuple(row.values()), row)
    digest = hashlib.sha256(canonical_json(list(rows.values())).encode()).hexdigest()
    name = f"{path.stem}@{digest[:8]}"
    ingest_rows(warehouse, list(rows.values()), origin=str(path), workload=name)
    return known_workload(warehouse, content_id("workload", name), name, path.stem, path)


def _one_arch(requests: Sequence[Request]) -> None:
    archs = list(dict.fromkeys(request.settings.arch.name for request in requests))
    if len(archs) > 1:
        raise InputError(
            f"the file names several architectures ({', '.join(archs)}): tune for one at a time, with --arch"
        )


def wanted(
    kept: Iterable[Mapping[str, Any]],
    given: TuningInput,
    options: TuneOptions,
    arch: str,
) -> Wanted:
    """Requests for the GEMMs that a run keeps.

    Args:
        kept: rows of ``tune/kept_rows``.
        given: the input.
        options: settings.
        arch: key of the arch table.

    Raises:
        InputError: settings that don't go together; under the original's rules also a GEMM that can't be tuned.
    """
    out = Wanted()
    usable: list[Mapping[str, Any]] = []
    for row in kept:
        reason = row["reason"] or _why_not(row)
        if reason is None:
            usable.append(row)
        elif options.rules == "original" and not row["reason"]:
            raise InputError(reason, value=row["gemm"])
        else:
            size = (row["M"], row["N"], row["batch_count"], row["K"])
            out.dropped.append(SizeRow(row["gemm"], *size, "dropped", reason, 0, 0, ""))
    if given.requests:
        wanted_ids = {
            problem.problem_id for gemm in problems_from_rows(usable) for problem in plain_problems(gemm)
        }
        for request in given.requests:
            plain = plain_problems(request.gemm)
            sizes = [
                size
                for size, problem in zip(request.gemm.sizes, plain, strict=True)
                if problem.problem_id in wanted_ids
            ]
            if sizes:
                out.requests.append(replace(request, gemm=replace(request.gemm, sizes=sizes)))
        return out
    values = options.generator_values()
    for gemm in problems_from_rows(usable, values):
        try:
            out.requests += requests_for([gemm], arch=arch, overrides=values, rules=options.rules)
        except InputError as error:
            if options.rules == "original":
                raise
            out.dropped += _dropped(gemm, str(error))
    return out


def _dropped(gemm: GemmConfig, reason: str) -> list[SizeRow]:
    return [SizeRow(gemm.name, m, n, b, k, "dropped", reason, 0, 0, "") for m, n, b, k in gemm.sizes]


def _why_not(row: Mapping[str, Any]) -> str | None:
    """Why the types of a GEMM can't be tuned; None when they can."""
    try:
        GemmType.from_hipblaslt(*(row[name] for name in _TYPES))
        problems_from_rows([row])
    except InputError as error:
        return str(error)
    return None
