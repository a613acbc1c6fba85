"""Sampling costs of macro tiles for Ductile: entry i is drawn with probability proportional to exp(-0.25 *
cost_i).

By default the costs are worked out backwards from the probabilities that are wanted, which come from predicted times
(:func:`costs`). Those of the original's rules count rounds over the CUs (:func:`original_costs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from geko.config_generator.config_merger import MergedSpace
from geko.config_generator.fork_params.mi_group import tile_of
from geko.config_generator.mi_designer import MI_COLUMNS
from geko.config_generator.sizes import Size
from geko.config_generator.tile_model import TileModel

#: Ductile's factor in the exponent.
BETA = 0.25

#: A tile that is predicted to take this share longer than another is drawn e times less often. Fitted together with
#: the model's constants; about the error of the model.
TEMPERATURE = 0.05

#: Share of the draws that goes to all tiles alike, whatever is predicted: a tile gets at least 1/20 of its share
#: under uniform sampling.
EXPLORATION = 0.05

#: Digits of a cost: far finer than anything that sampling could tell, and the same on every machine.
_DIGITS = 4

_TILE = (*MI_COLUMNS, "lsu", "gsu")


def costs(space: MergedSpace, model: TileModel, *, priority: bool) -> list[float] | None:
    """Cost of every entry of group dimension 0, in order; None when there is nothing to weigh.

    A tile gets the probability that :func:`probabilities` gives for its predicted times, the mean over the sizes, and
    its entries (depths, load widths, cluster shapes) share it equally. A custom schedule counts as a tile of its own.
    The likeliest tile costs 1.

    Args:
        space: the config's entries and sizes.
        model: predicts times.
        priority: custom schedules cost as little as the likeliest tile.
    """
    custom = len(space.group.cms)
    favoured = custom if priority else 0
    alone = len(space.sizes) == 1 and not custom  # then the times that the tiles were ranked by
    frame = _rows(space, [*_TILE, "mt0", "mt1", "waves", *(["predicted"] if alone else [])])
    if frame.height - favoured <= 1 or not space.sizes:
        return None
    frame = frame.with_columns(pl.int_range(-custom, pl.len() - custom).clip(None, 0).alias("schedule"))
    keys = [*_TILE, "schedule"]
    facts = [name for name in frame.columns if name not in keys]
    units = frame.group_by(keys, maintain_order=True).agg(pl.len().alias("entries"), pl.col(facts).first())
    others = units[favoured:]
    total = pl.Series([0.0] * others.height)
    for size in space.sizes:
        total = total + probabilities(others["predicted"] if alone else model.times(others, size))
    likeliest = float(total.max())  # type: ignore[arg-type]
    cost = 1 + (likeliest / total).log() / BETA
    units = units.with_columns(pl.concat([pl.Series([1.0] * favoured, dtype=pl.Float64), cost]).alias("cost"))
    units = units.with_columns((pl.col("cost") + pl.col("entries").log() / BETA).round(_DIGITS))
    found = frame.join(units.select(*keys, "cost"), on=keys, how="left", maintain_order="left")
    return found["cost"].to_list()


def probabilities(times: pl.Series) -> pl.Series:
    """Chance of each tile to be drawn: exp(-(t / fastest - 1) / TEMPERATURE), mixed with uniform sampling.

    Args:
        times: predicted times, in any unit.
    """
    fastest = float(times.min())  # type: ignore[arg-type]
    wanted = (-(times / fastest - 1) / TEMPERATURE).exp()
    return wanted / wanted.sum() * (1 - EXPLORATION) + EXPLORATION / times.len()


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


def original_costs(space: MergedSpace, cus: int, *, priority: bool) -> list[float] | None:
    """As :func:`costs`, the original's.

    The cost of an entry for a size is its rounds over the CUs plus the idle part of the last round, with
    granularity as a tie-break, relative to the best entry; over several sizes the mean is taken.

    Args:
        space: the config's entries and sizes.
        cus: compute units.
        priority: custom schedules cost as little as the best entry.
    """
    frame = _rows(space, ["mt0", "mt1", "waves", "lsu", "gsu"])
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
    offsets = _shares(space, custom)
    if offsets is not None:
        mean = (mean + offsets).cast(pl.Float32)
    return mean.to_list()


def _rows(space: MergedSpace, columns: list[str]) -> pl.DataFrame:
    """Columns of all entries, those of custom schedules first."""
    frame = space.group.frame.select(columns)
    if not space.group.cms:
        return frame
    rows = []
    for entry in space.group.cms:
        instruction = entry["MatrixInstruction"]
        mt0, mt1 = tile_of(instruction)
        values = [*instruction[:4], *instruction[5:], mt0, mt1, instruction[7] * instruction[8], 1, 1]
        rows.append(dict(zip((*MI_COLUMNS, "mt0", "mt1", "waves", "lsu", "gsu"), values, strict=True)))
    return pl.concat([pl.DataFrame(rows).select(columns).cast(frame.schema), frame])


def _cost(values: pl.DataFrame) -> pl.Series:
    low, high = int(values["gsu"].min()), int(values["gsu"].max())  # type: ignore[arg-type]
    span = max(float(high - low), 1e-12)
    col = pl.col
    rounds = col("t").ceil()
    share = 1 - (col("gsu") - low) / span
    cost = rounds + (rounds - col("t")) + 1e-3 * (1 - col("g")) + 1e-11 * share
    return values.select(cost.cast(pl.Float32).alias("cost"))["cost"]


def _shares(space: MergedSpace, custom: int) -> pl.Series | None:
    """ln(n) / beta for each of n entries of one macro tile that differ in cluster shape."""
    frame, names = space.group.frame, space.group.parameters
    if "ClusterDim" not in names:
        return None
    keys = [*MI_COLUMNS, "lsu", *(name for name in names if name != "ClusterDim")]
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
