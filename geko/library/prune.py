"""The fewest solutions that keep a library's speed: a greedy cover."""

from __future__ import annotations

from typing import Any

import polars as pl

from geko.errors import InputError, UsageError
from geko.library import edit
from geko.library.frames import require_columns, to_polars
from geko.library.model import Library

_SIZE = ("m", "n", "batch_count", "k")
#: Columns of a dense run.
MEASURED_COLUMNS = (*_SIZE, "local_index", "gflops")


def gemm_tolerance(mean_flops: float, tol: float, scale_tol: bool = True) -> float:
    """Efficiency that may be lost on GEMMs of this size: small ones, whose times are noisy, may lose more.

    Args:
        mean_flops: floating-point operations, mean over the GEMMs of a cluster.
        tol: tolerance for 2 GFLOP and more, such as 0.02.
        scale_tol: let smaller GEMMs have up to 2.5 times that, at most ``tol`` + 0.03.
    """
    ratio = mean_flops / 2e9
    if not scale_tol or ratio >= 1:
        return tol
    x = 1 / ratio - 1 if ratio > 0 else float("inf")
    factor = 2.5 if x == float("inf") else 1 + 1.5 * x / (x + 9)
    return min(tol * factor, tol + 0.03)


def cluster_keys() -> tuple[str, ...]:
    """Parameters whose values make a cluster of similar kernels."""
    return ("MacroTile0", "MacroTile1", "DepthU")


def greedy_cover(covers: dict[int, set[int]], wanted: set[int]) -> list[int]:
    """Solutions that cover all GEMMs: each time the one that covers most of the rest, the lowest of equals.

    Raises:
        InputError: a GEMM is covered by none.
    """
    left = set(wanted)
    picked = []
    while left:
        best = min(covers, key=lambda number: (-len(covers[number] & left), number), default=None)
        if best is None or not covers[best] & left:
            raise InputError(f"{len(left)} GEMMs have no measured solution", value=min(left))
        picked.append(best)
        left -= covers[best]
    return sorted(picked)


def prune_measured(
    library: Library,
    measured: Any,
    *,
    cluster: bool = True,
    tol: float = 0.02,
    scale_tol: bool = True,
    other_keys: tuple[str, ...] = (),
) -> Library:
    """Cut a library's solutions to those needed to stay within the tolerance on every size.

    Args:
        library: the library; left as it is.
        measured: frame of a dense run: ``m, n, batch_count, k, local_index`` (position), ``gflops``.
        cluster: cover each (MacroTile0, MacroTile1, DepthU, other_keys) on its own, as the original does.
        tol: efficiency that may be lost.
        scale_tol: see :func:`gemm_tolerance`.
        other_keys: further parameters that make a cluster.

    Returns:
        A library whose sizes point to the best of the solutions kept, efficiency as measured.

    Raises:
        InputError: a column is missing, a size wasn't measured, or a position doesn't exist.
        UsageError: ``tol`` is no fraction.
    """
    if not 0 <= tol < 1:
        raise UsageError(f"the tolerance is a fraction from 0 to below 1, not {tol}")
    frame = to_polars(measured)
    require_columns(frame, MEASURED_COLUMNS, "missing fields: {missing}")
    count = len(library.solutions)
    keys = (*cluster_keys(), *other_keys) if cluster else ()
    groups = [str([library.full_solution(n).get(key) for key in keys]) for n in range(count)]
    if frame.filter(~pl.col("local_index").is_between(0, count - 1)).height:
        raise InputError("a measured local_index is not in the library", path=library.path or library.name)
    best = frame.group_by(*_SIZE, "local_index").agg(pl.col("gflops").max()).filter(pl.col("gflops") > 0)
    best = best.with_columns(
        pl.col("local_index")
        .replace_strict(list(range(count)), groups, return_dtype=pl.String)
        .alias("group"),
        (2.0 * pl.col("m") * pl.col("n") * pl.col("batch_count") * pl.col("k")).alias("flops"),
    )
    kept: set[int] = set()
    for _, part in sorted(best.group_by("group"), key=lambda item: str(item[0])):
        gemms = part.select(*_SIZE, "flops").unique().sort(*_SIZE).with_row_index("gemm")
        tolerance = gemm_tolerance(float(gemms["flops"].sum()) / gemms.height, tol, scale_tol)
        near = part.join(gemms, on=list(_SIZE)).filter(
            pl.col("gflops") / pl.col("gflops").max().over("gemm") > 1 - tolerance
        )
        covers: dict[int, set[int]] = {}
        for number, gemm in near.select("local_index", "gemm").rows():
            covers.setdefault(number, set()).add(gemm)
        kept |= set(greedy_cover(covers, set(gemms["gemm"])))
    final = best.filter(pl.col("local_index").is_in(sorted(kept))).sort(
        "gflops", "local_index", descending=[True, False]
    )
    table = {
        tuple(row[:4]): row[4:] for row in reversed(final.select(*_SIZE, "local_index", "gflops").rows())
    }
    pruned = library.copy()
    missing = [entry[0] for entry in pruned.sizes if tuple(entry[0][:4]) not in table]
    if missing:
        raise InputError(
            f"{len(missing)} sizes were not measured", path=library.path or library.name, value=missing[0]
        )
    pruned.sizes = [[entry[0], [*table[tuple(entry[0][:4])]]] for entry in edit.best_sizes(pruned.sizes)]
    pruned.trim()
    return pruned
