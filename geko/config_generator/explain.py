"""``geko mi``: the macro tiles of one GEMM, best first, and what became of all the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from geko.config_generator.load_input_config import Request, requests_for
from geko.config_generator.mi_designer import MI_COLUMNS
from geko.config_generator.mi_report import explain
from geko.config_generator.schema import no_problem_keys, one_arch, parse_assignments
from geko.config_generator.sizes import Size
from geko.config_generator.spaces import size_space, tile_query
from geko.domain.dtypes import TENSILE_TO_TOKEN
from geko.domain.gemm import GemmConfig, GemmType
from geko.errors import InputError, UsageError

_TRANSPOSES = ("N", "T", "C")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is tried for one GEMM.

    Attributes:
        request: type and settings.
        size: ``(M, N, B, K)``.
        chosen: rows of the tiles that are tried, best first.
        others: rows of the tiles that are not, with the reason.
        entries: entries of the config's macro-tile dimension; a tile has one per depth and load width.
        kernels: kernels of the config's full product.
        notes: what was done to keep this size alive.
        failure: why no config can be made; None as a rule.
    """

    request: Request
    size: Size
    chosen: list[dict[str, Any]]
    others: list[dict[str, Any]]
    entries: int
    kernels: int
    notes: tuple[str, ...]
    failure: str | None

    def summary(self) -> list[str]:
        """Counts and reasons, a line each."""
        m, n, batch, k = self.size
        settings = self.request.settings
        lines = [
            f"{self.request.gemm.name} {m}x{n}x{k} batch {batch} on {settings.arch.name} ({settings.cus} CUs, "
            f"{'Stream-K' if settings.stream_k else 'data-parallel'}, {settings.search_space} space, MI_FILTER "
            f"{settings.mi_filter}): {len(self.chosen)} macro tiles of {len(self.chosen) + len(self.others)}"
        ]
        if self.failure is not None:
            lines.append(f"no config: {self.failure}")
        else:
            lines.append(f"the config has {self.entries} entries of them and {self.kernels} kernels in all")
        lines += [f"note: {note}" for note in self.notes]
        lines += [
            f"{count:6d}  {reason}"
            for reason, count in Counter(row["reason"] for row in self.others).most_common()
        ]
        return lines


def explain_tiles(
    size: Sequence[int], gemm_name: str, arch: str, settings: Sequence[str] = (), rules: str = "default"
) -> Explanation:
    """Work out which macro tiles are tried for a GEMM.

    Args:
        size: M, N, batch, K.
        gemm_name: type, such as ``BBS_TN`` or ``F8BS_MXE8B32_TN``.
        arch: architecture.
        settings: ``KEY=VALUE`` texts.
        rules: ``default`` or ``original``.

    Raises:
        InputError: an unknown type or architecture, or a type that can't be tuned on it.
        UsageError: unknown rules, or settings that name another GEMM or architecture.
    """
    if rules not in ("default", "original"):
        raise UsageError(f"--rules is default or original, not {rules}")
    gemm = parse_gemm_name(gemm_name, [list(size)])
    overrides = parse_assignments(settings)
    one_arch(overrides, arch)
    no_problem_keys(overrides)
    (request,) = requests_for(
        [gemm],
        arch=arch,
        overrides=overrides,
        rules=cast(Literal["default", "original"], rules),
    )
    exact = request.sizes[0]
    failure, space = None, None
    try:
        space = size_space(request, exact)
    except InputError as error:
        failure = str(error)
    frame = explain(tile_query(request, exact), space.design if space is not None else None)
    rows = [_row(row) for row in frame.iter_rows(named=True)]
    chosen = [row for row in rows if row["rank"] is not None]
    others = [{**row, "rank": None} for row in rows if row["rank"] is None]
    if space is None:
        return Explanation(request, exact, chosen, others, 0, 0, (), failure)
    n_entries = len(space.group)
    return Explanation(
        request, exact, chosen, others, n_entries, space.params.count(n_entries), tuple(space.notes), None
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    im, inn, ik, ib, wtm, wtn, wgm, wgn = (row[name] for name in MI_COLUMNS)
    return {
        "rank": row["rank"],
        "macro tile": f"{row['mt0']}x{row['mt1']}",
        "MatrixInstruction": f"[{im}, {inn}, {ik}, {ib}, 1, {wtm}, {wtn}, {wgm}, {wgn}]",
        "waves": wgm * wgn,
        "LSU": row["lsu"],
        "GSU": row["gsu"],
        "predicted time": None if row["predicted"] is None else round(row["predicted"], 3),
        "granularity %": None if row["gran"] is None else round(100 * row["gran"], 2),
        "reason": row["reason"],
    }


def parse_gemm_name(name: str, sizes: list[list[int]]) -> GemmConfig:
    """A GEMM type by its name, with sizes.

    Args:
        name: letters of the inputs, the output and the accumulator, ``_``, an MX format if there is one, and the transposes.
        sizes: sizes ``[M, N, B, K]``.

    Raises:
        InputError: the name can't be read.
    """
    form = "a GEMM type reads like BBS_TN, F8B8SS_NT or F8BS_MXE8B32_TN"
    letters, *middle, transposes = name.split("_") if "_" in name else (name, "")
    if len(transposes) != 2 or any(letter not in _TRANSPOSES for letter in transposes) or len(middle) > 1:
        raise InputError(form, value=name)
    found: list[GemmType] = []
    for compute in TENSILE_TO_TOKEN:
        rest = letters.removesuffix(compute)
        if rest == letters:
            continue
        for dest in TENSILE_TO_TOKEN:
            data = rest.removesuffix(dest)
            if not data or data == rest:
                continue
            try:
                found.append(GemmType.from_tensile(transposes[0], transposes[1], data, dest, compute))
            except InputError:
                continue
    distinct = list(dict.fromkeys(found))
    if len(distinct) != 1:
        raise InputError(f"{form}; letters are {', '.join(TENSILE_TO_TOKEN)}", value=name)
    if not middle:
        return GemmConfig(distinct[0], sizes)
    scale, mark, block = middle[0].removeprefix("MX").partition("B")
    if not middle[0].startswith("MX") or not mark or not block.isdigit():
        raise InputError(form, value=name)
    return GemmConfig(distinct[0], sizes, True, int(block), scale)
