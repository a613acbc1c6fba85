"""Search spaces of requests and configs out of them, in memory: nothing is read or written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from geko.config_generator import cms as schedules
from geko.config_generator import config_sections_generator as sections
from geko.config_generator.cluster_sizes import cluster
from geko.config_generator.config_merger import MergedSpace, merge
from geko.config_generator.dialect import NEWEST, Dialect, spelled_type, translate
from geko.config_generator.fork_param_generator import SizeSpace, build, profile_family
from geko.config_generator.fork_params.optimization_param import Entry, ProfileInput
from geko.config_generator.fork_params.post_processor import PostInput
from geko.config_generator.load_input_config import Request
from geko.config_generator.mi_designer import TileQuery
from geko.config_generator.output_writer import TuningConfig
from geko.config_generator.sizes import Size
from geko.errors import InputError
from geko.log import logger

#: Custom main loop schedules, see :mod:`geko.config_generator.cms`.
Kernels = Sequence[Mapping[str, Any]]


def tile_query(request: Request, size: Size) -> TileQuery:
    """What the macro-tile designer has to know about one size of a request."""
    settings, gemm, arch = request.settings, request.gemm, request.settings.arch
    kind = gemm.gemm_type
    return TileQuery(
        size=size,
        data_type=str(kind.data_type),
        compute_type=str(kind.compute_data_type),
        family=arch.mi_family,
        cus=settings.cus,
        layout=f"{kind.transA}{kind.transB}",
        mi_filter=settings.mi_filter,
        stream_k=settings.stream_k,
        subtile=settings.search_space == "subtile",
        mx=gemm.mx,
        # Scaled kernels of gfx950 are vetted as subtile kernels whatever the space.
        vetted=settings.search_space == "subtile" or (gemm.mx and arch.family == "gfx950"),
        mfma=settings.mfma,
        wavefront=arch.wavefront_size,
        rules=settings.rules,
        xcc=settings.xcc,
    )


def size_space(
    request: Request, size: Size, *, dialect: Dialect = NEWEST, cms_entries: Sequence[Entry] = ()
) -> SizeSpace:
    """Search space of one size of a request.

    Raises:
        InputError: no macro tile is left (default rules), or the tensilelite at hand has no Stream-K for the type, or knows
            none of the tiles.
    """
    settings, gemm = request.settings, request.gemm
    kind, arch = gemm.gemm_type, settings.arch
    known = dialect.checks.stream_k_types
    if settings.stream_k and dialect.checks.four_waves and sections.has_epilogues(request):
        raise InputError(
            f"the tensilelite {dialect.version} of this checkout builds no Stream-K kernels with a bias: tune with "
            "StreamK 0, or with EPILOGUES false"
        )
    if settings.stream_k and known is not None:
        letters = {sections.mapped_letter(str(item)) for item in (kind.data_type, kind.dest_data_type)}
        if not letters <= known:
            raise InputError(
                f"the tensilelite {dialect.version} of this checkout has Stream-K for {', '.join(sorted(known))} only: "
                "tune with StreamK 0", value="".join(sorted(letters)),
            )  # fmt: skip
    profile = ProfileInput(
        size=size,
        data_type=str(kind.data_type),
        dest_type=str(kind.dest_data_type),
        compute_type=str(kind.compute_data_type),
        trans_a=kind.transA,
        trans_b=kind.transB,
        arch=arch.name,
        family=arch.mi_family,
        cus=settings.cus,
        xcc=settings.xcc,
        wgm_unit=settings.wgm_unit,
        arch_cus=arch.cus,
        arch_xcc=arch.xcc,
        stream_k=settings.stream_k,
        cms=settings.cms,
        equality=settings.equality,
        size_option=settings.size_option,
        mx=gemm.mx,
        lds_bytes=arch.lds_bytes,
        rules=settings.rules,
    )
    query = tile_query(request, size)
    post = PostInput(
        profile,
        settings.search_space,
        profile_family(arch.family),
        settings.mt_du,
        settings.ignore_non_temporal,
        tuple(cms_entries),
    )
    block = gemm.mx_format[0] if gemm.mx_format is not None and query.vetted else None
    space = build(post, query, mx_block=block, checks=dialect.checks)
    # Here and not when it is written: counts, the cap on kernels and sampling costs are of what the file holds.
    params, group, left_out = translate(space.params, space.group, dialect)
    if len(space.group) and not len(group):
        raise InputError(
            f"the tensilelite {dialect.version} of this checkout knows none of the macro tiles for size {list(size)}: it "
            f"lacks {', '.join(left_out)}"
        )
    return replace(space, params=params, group=group, left_out=tuple(left_out))


def plan(
    request: Request, sizes: Sequence[Size] | None = None, *, dialect: Dialect = NEWEST, kernels: Kernels = ()
) -> tuple[list[MergedSpace], dict[Size, str]]:
    """Search spaces of a request, clustered and merged, and the sizes that had to be dropped, with the
    reason.

    Raises:
        InputError: under the original's rules, for the first size that fails.
    """
    custom = custom_entries(request, kernels)
    spaces: list[SizeSpace] = []
    dropped: dict[Size, str] = {}
    for size in sizes if sizes is not None else request.sizes:
        try:
            spaces.append(size_space(request, size, dialect=dialect, cms_entries=custom))
        except InputError as error:
            if request.settings.rules == "original":
                raise InputError(f"{request.gemm.name}, size {list(size)}: {error}") from error
            dropped[size] = str(error)
    settings = request.settings
    clusters = cluster(spaces, one_size=settings.one_size_per_config, algorithm=settings.cluster)
    return merge(clusters, settings.max_kernels, original=settings.rules == "original"), dropped


def assemble(request: Request, space: MergedSpace, stem: str, dialect: Dialect = NEWEST) -> TuningConfig:
    """Put the sections of one config together."""
    exact, notes = sections.exact_sizes(request, space.sizes)
    for size in space.sizes:
        if notes:
            space.notes[size] = (*space.notes.get(size, ()), *notes)
    problem = [
        replace(line, value=spelled_type(line.value, dialect)) if line.key.endswith("DataType") else line
        for line in sections.problem_type(request)
    ]
    problem += sections.bias_types(request, problem, dialect.fnuz)
    if not dialect.strategy:
        order = {key: index for index, key in enumerate(sections.OLD_ORDER)}
        problem.sort(key=lambda line: order.get(line.key, 4.5))
    return TuningConfig(
        stem=stem,
        gemm_name=request.gemm.name,
        global_parameters=sections.global_parameters(request, space.sizes, dialect.version),
        problem_type=problem,
        params=space.params,
        group=space.group,
        sizes=exact,
        size_names=space.sizes,
        bias_type=sections.bias_type(request),
        library_logic=sections.library_logic(request),
        backend=sections.backend(request, space),
        kernels=space.kernels,
        rules=request.settings.rules,
        left_out=list(space.left_out),
    )


def generate(
    requests: Iterable[Request], *, dialect: Dialect = NEWEST, kernels: Kernels = ()
) -> Iterable[TuningConfig]:
    """Configs of all requests in memory, in one process; sizes that fail are logged and left out."""
    counters: Counter[str] = Counter()
    for request in requests:
        merged, dropped = plan(request, dialect=dialect, kernels=kernels)
        for size, reason in dropped.items():
            logger.warning("%s %s dropped: %s", request.gemm.name, list(size), reason)
        for space in merged:
            name = request.gemm.name
            yield assemble(request, space, f"{name}_{counters[name]}", dialect)
            counters[name] += 1


def custom_entries(request: Request, kernels: Kernels) -> list[Entry]:
    """Entries of the schedules that suit a request."""
    kind = request.gemm.gemm_type
    if not kernels or not request.settings.cms:
        return []
    return schedules.entries(kernels, str(kind.data_type), kind.transA, kind.transB)
