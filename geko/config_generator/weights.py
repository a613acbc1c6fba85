"""Sampling costs of macro tiles for Ductile: entry i is drawn with probability proportional to exp(-0.25 *
cost_i)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from geko.config_generator.config_merger import MergedSpace
from geko.config_generator.fork_params.mi_group import tile_of
from geko.config_generator.mi_designer import MI_COLUMNS
from geko.config_generator.sizes import Size

#: Ductile's factor in the exponent.
BETA = 0.25


def granularity(frame: pl.DataFrame, size: Size, cus: int) -> pl.DataFrame:
    """Columns ``t`` (macro tiles per CU) and ``g`` (total granularity) of entries for one size."""
    m, n, batch, _ = size
    col = pl.col
    base = frame.select("mt0", "mt1", "waves", "lsu", "gsu").with_columns(
        pl.Series("cus", [cus] * frame.height, dtype=pl.Int64),
        (m / col("mt0")).alias("n0"),
        (n / col("mt1")).alias("n1"),
    )
    base = base.with_columns(
        (
            (col("n0").ceil() * col("n1").ceil()).cast(pl.Int64)
            * batch
            * col("gsu")
            * col("lsu")
            / col("cus")
        ).alias("t")
    )
    waves = pl.min_horizontal(pl.lit(1.0), (col("t") + 1).floor() * (col("waves") * col("lsu")) / 4)
    edge = col("n0") / col("n0").ceil() * (col("n1") / col("n1").ceil())
    return base.select("t", "gsu", (edge * (col("t") / col("t").ceil()) * waves).alias("g"))


def costs(space: MergedSpace, cus: int, *, priority: bool, spread: bool) -> list[float] | None:
    """Cost of every entry of group dimension 0, in order; None when there is nothing to weigh.

    The cost of an entry for a size is its rounds over the CUs plus the idle part of the last round, with
    granularity as a tie-break, relative to the best entry; over several sizes the mean is taken.

    Args:
        space: the config's entries and sizes.
        cus: compute units.
        priority: custom schedules cost as little as the best entry.
        spread: entries that differ only in DepthU or load widths share the probability of their macro tile.
    """
    frame = _rows(space)
    custom = len(space.group.cms)
    favoured = custom if priority else 0
    if frame.height - favoured <= 1 or not space.sizes:
        return None
    total: pl.Series | None = None
    for size in space.sizes:
        cost = _cost(granularity(frame, size, cus))
        relative = cost / cost[favoured:].min()
        total = relative if total is None else total + relative
    assert total is not None
    mean = total / len(space.sizes)
    if favoured:
        least = mean[favoured:].min()
        mean = pl.concat([pl.Series([least] * favoured, dtype=pl.Float32), mean[favoured:]])
    offsets = _shares(space, custom, spread)
    if offsets is not None:
        mean = (mean + offsets).cast(pl.Float32)
    return mean.to_list()


def _rows(space: MergedSpace) -> pl.DataFrame:
    frame = space.group.frame.select("mt0", "mt1", "waves", "lsu", "gsu")
    if not space.group.cms:
        return frame
    rows = []
    for entry in space.group.cms:
        instruction = entry["MatrixInstruction"]
        rows.append((*tile_of(instruction), instruction[7] * instruction[8], 1, 1))
    return pl.concat([pl.DataFrame(rows, schema=frame.schema, orient="row"), frame])


def _cost(values: pl.DataFrame) -> pl.Series:
    low, high = int(values["gsu"].min()), int(values["gsu"].max())  # type: ignore[arg-type]
    span = max(float(high - low), 1e-12)
    col = pl.col
    rounds = col("t").ceil()
    share = 1 - (col("gsu") - low) / span
    cost = rounds + (rounds - col("t")) + 1e-3 * (1 - col("g")) + 1e-11 * share
    return values.select(cost.cast(pl.Float32).alias("cost"))["cost"]


def _shares(space: MergedSpace, custom: int, spread: bool) -> pl.Series | None:
    """ln(n) / beta for each of n entries of one macro tile that differ in cluster shape (or, if asked, in
    anything)."""
    frame, names = space.group.frame, space.group.parameters
    if "ClusterDim" in names and not spread:
        keys = [*MI_COLUMNS, "lsu", *(name for name in names if name != "ClusterDim")]
    elif spread and names:
        keys = [*MI_COLUMNS, "lsu", *(name for name in names if name == "GlobalSplitU")]
    else:
        return None
    count = frame.select(pl.len().over(keys).alias("n"))["n"]
    if not (count > 1).any():
        return None
    offsets = [math.log(value) / BETA for value in count.to_list()]
    return pl.Series([0.0] * custom + offsets, dtype=pl.Float32)


def population(lengths: Sequence[int]) -> int | None:
    """Ductile's population for a search space: 512, fewer for small ones, None below 3 combinations."""
    combinations = math.prod(length for length in lengths if length > 1)
    if combinations >= 512:
        return 512
    if combinations < 3:
        return None
    return min(combinations, max(3, combinations - 1))
