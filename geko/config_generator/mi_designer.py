"""Matrix instructions and macro tiles for one GEMM: enumeration, filters and ranking, on whole columns.

Tiles are ranked by predicted time (:mod:`geko.config_generator.tile_model`), under the original's rules by granularity.

A candidate is the 9-number ``MatrixInstruction`` of tensilelite,
``[M, N, K, B, MIBlockM, WTM, WTN, WGM, WGN]``: instruction shape, wave tile (instructions a wave along M and
N) and waves of a workgroup along M and N. MIBlockM is always 1. The macro tile is ``MT0 x MT1`` with
``MT0 = M * WTM * WGM`` and ``MT1 = N * B * WTN * WGN`` (elements).

A record is a candidate with a local split of K (``lsu``, waves that share a tile) and a global one (``gsu``,
workgroups that share a tile).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from geko.config_generator.constants import (
    AREA_CAP,
    AREA_CAP_SUBTILE,
    COMPUTE_BYTES,
    GSU_WORKSPACE_LIMIT,
    LSU_BYTE_LIMIT,
    MAX_GSU,
    MAX_MACRO_TILE,
    MIN_K_PER_GSU,
    MIN_MACRO_TILE,
    WAVES,
    RuleSet,
)
from geko.config_generator.instructions import allowed, enumeration_order, smallest
from geko.config_generator.sizes import Size
from geko.config_generator.tile_model import NEAR_BEST, TileModel, machine

#: Columns that hold the nine numbers of a MatrixInstruction, in order (MIBlockM is always 1).
MI_COLUMNS = ("im", "in", "ik", "ib", "wtm", "wtn", "wgm", "wgn")


@dataclass(frozen=True, slots=True)
class TileQuery:
    """What the designer has to know about a GEMM and its chip.

    Attributes:
        size: ``(M, N, B, K)``.
        data_type: Tensile data type of A and B.
        compute_type: Tensile type of the accumulator.
        family: key of the instruction table.
        cus: compute units.
        layout: two letters, transposes of A and B.
        mi_filter: 0 none, 1 moderate, 2 aggressive.
        stream_k: persistent kernels, which need no global split.
        subtile: wider tiles of the subtile search space.
        mx: block-scaled operands.
        vetted: entries are checked as subtile kernels, one per DepthU (subtile space, scaled kernels of
        gfx950).
        mfma: one instruction ``(M, N, K, B)`` instead of the family's list.
        max_tile: largest macro tile a side.
        wavefront: lanes of a wave.
        rules: see ``docs/tuning-configs.md``.
        local_split: waves may split K among them; subtile kernels can't.
        without: names of first-level rules that are left out, such as ``R6``.
        xcc: accelerator complexes; those of the full chip when 0.
    """

    size: Size
    data_type: str
    compute_type: str
    family: str
    cus: int
    layout: str = "TN"
    mi_filter: int = 2
    stream_k: bool = False
    subtile: bool = False
    mx: bool = False
    vetted: bool = False
    mfma: tuple[int, ...] | None = None
    max_tile: int = MAX_MACRO_TILE
    wavefront: int = 64
    rules: RuleSet = "default"
    local_split: bool = True
    without: tuple[str, ...] = ()
    xcc: int = 0

    @property
    def model(self) -> TileModel:
        """The model of a tile's time."""
        chip = machine(self.family, self.data_type, self.cus, self.xcc)
        return TileModel(chip, self.data_type, self.layout, self.stream_k)


@dataclass(frozen=True, slots=True)
class Design:
    """Result of :func:`design`.

    Attributes:
        entries: one row per group entry, best first. Columns: :data:`MI_COLUMNS`, ``mt0``, ``mt1``, ``lsu``,
        ``gsu``,
            ``tiles`` (workgroups), ``rounds`` (workgroups per CU), ``gran`` (total granularity, 0..1),
            ``predicted`` (time in cycles, see :class:`geko.config_generator.tile_model.TileModel`; not under the
            original's rules, which also count a local split as workgroups), ``wg0``, ``wg1``, ``threads``.
        level1, level2, after_gsu: records after each filter.
        relaxed: which filters were loosened because nothing was left, empty when none.
    """

    entries: pl.DataFrame
    level1: int
    level2: int
    after_gsu: int
    relaxed: tuple[str, ...] = ()


def candidates(
    family: str,
    data_type: str,
    *,
    subtile: bool = False,
    mfma: tuple[int, ...] | None = None,
    max_tile: int = MAX_MACRO_TILE,
    rules: RuleSet = "default",
) -> pl.DataFrame:
    """All macro tiles of a data type, in enumeration order, before any size is known.

    Returns:
        Frame with ``idx``, :data:`MI_COLUMNS`, ``mt0``, ``mt1``, ``waves``.
    """
    if mfma is not None:
        mfma = tuple(mfma)
    return _candidates(family, data_type, subtile, mfma, max_tile, rules)


@functools.lru_cache(maxsize=64)
def _candidates(
    family: str, data_type: str, subtile: bool, mfma: tuple[int, ...] | None, max_tile: int, rules: RuleSet
) -> pl.DataFrame:
    if mfma is None:
        allowed(family, data_type, rules)  # a type that can't be tuned is an error of its own
    cap = (AREA_CAP_SUBTILE if subtile else AREA_CAP)[data_type]
    width = COMPUTE_BYTES[data_type]
    rows: list[tuple[int, ...]] = []
    for one in enumeration_order(family, data_type, mfma, rules):
        for wgm, wgn in WAVES:
            lsu_max = max(1, 4 // wgm // wgn)
            step0, step1 = one.m * wgm, one.n * one.blocks * wgn
            for wtm in range(-(-MIN_MACRO_TILE // step0), max_tile // step0 + 1):
                mt0 = step0 * wtm
                for wtn in range(-(-MIN_MACRO_TILE // step1), max_tile // step1 + 1):
                    area = mt0 * step1 * wtn
                    if area > cap:
                        break
                    if lsu_max > 1 and area * width * lsu_max > LSU_BYTE_LIMIT:
                        break
                    rows.append((one.m, one.n, one.k, one.blocks, wtm, wtn, wgm, wgn, mt0, step1 * wtn))
    schema = dict.fromkeys((*MI_COLUMNS, "mt0", "mt1"), pl.Int64)
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("idx")
    return frame.with_columns(pl.col("idx").cast(pl.Int64), (pl.col("wgm") * pl.col("wgn")).alias("waves"))


@functools.lru_cache(maxsize=64)
def _with_lsu(
    family: str, data_type: str, subtile: bool, mfma: tuple[int, ...] | None, max_tile: int, rules: RuleSet
) -> pl.DataFrame:
    """Candidates times the local splits that their waves leave room for (1, 2 or 4 waves of a workgroup in
    all)."""
    frame = _candidates(family, data_type, subtile, mfma, max_tile, rules)
    return (
        frame.join(pl.DataFrame({"lsu": [1, 2, 4]}, schema={"lsu": pl.Int64}), how="cross")
        .filter(pl.col("waves") * pl.col("lsu") <= 4)
        .sort("idx", "lsu")
        .with_row_index("pair")
    )


Check = tuple[str, str, pl.Expr]


def candidate_checks(query: TileQuery, small: tuple[int, int]) -> list[Check]:
    """Rules of the first level that look only at the candidate: (name, why, expression that is true for a
    reject)."""
    m, n, _, _ = query.size
    col = pl.col
    checks: list[Check] = []
    if query.mi_filter > 0:
        share = 2 if query.stream_k else 1
        if m >= 16 and n >= 16:
            checks.append(("R1", "a 4-row instruction is for problems with M or N below 16", col("im") == 4))
        if m * n > 65536 and m >= 64 and n >= 64:
            checks.append(("R2", "large problems need 4 waves in a workgroup", col("waves") != 4))
        low: list[pl.Expr] = []
        if m < small[0]:
            low.append(col("mt0") > small[0])
        if n < small[1]:
            low.append(col("mt1") > small[1])
        if low:
            checks.append(("R3", "M or N is below the smallest tile: only that tile is of use", _any(low)))
        high: list[pl.Expr] = []
        if m >= small[0]:
            high.append((col("mt0") > 16) & (col("mt0") // share > m))
        if n >= small[1]:
            high.append((col("mt1") > 16) & (col("mt1") // share > n))
        if high:
            checks.append(("R4", "the macro tile is larger than the problem", _any(high)))
    if query.mx and query.vetted:
        checks.append(
            (
                "R5",
                "scaled subtile kernels need even wave tiles",
                (col("wtm") % 2 == 1) | (col("wtn") % 2 == 1),
            )
        )
    return [check for check in checks if check[0] not in query.without]


def split_checks(query: TileQuery) -> list[Check]:
    """Rules of the first level that look at a local split too."""
    col = pl.col
    checks: list[Check] = []
    if query.mi_filter > 0:
        checks.append((
            "R6",
            "a workgroup with fewer than 4 waves is only of use with the smallest wave tile",
            (col("waves") * col("lsu") < 4) & ((col("wtm") > 1) | (col("wtn") > 1)),
        ))  # fmt: skip
    if not query.stream_k:
        load = col("mt0") * col("mt1") * col("lsu") * COMPUTE_BYTES[query.data_type]
        limit = load >= LSU_BYTE_LIMIT if query.layout == "NT" else load > LSU_BYTE_LIMIT
        checks.append(("R9", "the local split's partial sums don't fit LDS", (col("lsu") > 1) & limit))
    return [check for check in checks if check[0] not in query.without]


def level1(query: TileQuery, small: tuple[int, int] | None = None) -> pl.DataFrame:
    """Records that pass the first filter, in enumeration order, with their granularity.

    Args:
        query: the GEMM.
        small: smallest tile steps, taken from the instruction table when left out.
    """
    m, n, batch, k = query.size
    if small is None:
        small = smallest(query.family, query.data_type, query.mfma, query.rules)
    frame = _with_lsu(query.family, query.data_type, query.subtile, query.mfma, query.max_tile, query.rules)
    if not query.local_split:
        frame = frame.filter(pl.col("lsu") == 1)
    rejects = [expr for _, _, expr in candidate_checks(query, small) + split_checks(query)]
    if rejects:
        frame = frame.filter(~_any(rejects))
    most = max(k // MIN_K_PER_GSU, 1)
    if not query.stream_k:
        # Partial sums of the global split go through workspace; one workgroup a tile needs none.
        per_split = m * n * batch * COMPUTE_BYTES.get(query.compute_type, 4)
        most = max(1, min(most, GSU_WORKSPACE_LIMIT // per_split))
    if query.rules == "default":
        most = min(most, MAX_GSU)
    col = pl.col
    # Real divisions in the order of the formulas: results are compared with 1.0 exactly.
    frame = frame.with_columns(
        (m / col("mt0")).alias("n0"),
        (n / col("mt1")).alias("n1"),
    ).with_columns(
        (col("n0") / col("n0").ceil() * (col("n1") / col("n1").ceil())).alias("edge"),
        (col("n0").ceil() * col("n1").ceil()).cast(pl.Int64).mul(batch * 1).mul(col("lsu")).alias("base"),
    )
    # The CUs are a column on purpose: polars divides by a number through its reciprocal, which rounds
    # differently.
    splits = pl.DataFrame(
        {"gsu": range(1, most + 1), "cus": [query.cus] * most}, schema=dict.fromkeys(("gsu", "cus"), pl.Int64)
    )
    frame = frame.join(splits, how="cross").with_columns((col("base") * col("gsu")).alias("tiles"))
    frame = frame.with_columns((col("tiles") / col("cus")).alias("rounds"))
    if query.mi_filter > 0 and not (m < small[0] and n < small[1]):
        frame = frame.filter((col("rounds") < 2) | (col("waves") >= 4))  # R7
    full = col("rounds") / col("rounds").ceil()
    waves = pl.min_horizontal(pl.lit(1.0), (col("rounds") + 1).floor() * (col("waves") * col("lsu")) / 4)
    frame = frame.with_columns((col("edge") * full * waves).alias("gran"))
    frame = frame.drop("n0", "n1", "edge", "base", "cus")
    # A perfect split ends the search for a larger one.
    exact = frame.filter(col("gran") == 1.0)
    if exact.is_empty():
        return frame.drop("pair")
    first = exact.group_by("pair").agg(col("gsu").min().alias("exact"))
    frame = frame.join(first, on="pair", how="left", maintain_order="left")
    return frame.filter(col("exact").is_null() | (col("gsu") <= col("exact"))).drop("exact", "pair")


def level2(query: TileQuery, records: pl.DataFrame) -> pl.DataFrame:
    """Records that pass the second filter: near the best granularity and the fewest rounds over all CUs.

    The default rules also keep those that are predicted to be near the fastest: the filter alone drops many tiles that
    are measured to be the best (see docs/tuning-configs.md).
    """
    if records.is_empty():
        return records
    m, n, _, _ = query.size
    fewest = int(records["tiles"].min())  # type: ignore[arg-type]
    best = float(records["gran"].max())  # type: ignore[arg-type]
    least = math.ceil(fewest / query.cus)
    limit = least + 1 if least > 2 else least + 2
    col, rounds = pl.col, pl.col("rounds").ceil()
    drop: list[pl.Expr] = []
    if best == 1.0:
        drop.append(col("gran") < (0.85 if m * n >= 65536 else 0.5))
    if best > 0.2:
        drop.append(col("gran") < 0.5 * best)
    if fewest >= 0.15 * query.cus:
        drop.append((rounds > limit) & (col("mt0") * col("mt1") < 65536))
    if fewest < 0.09 * query.cus:
        drop.append(rounds > 3 + least)
    if fewest < 0.15 * query.cus:
        drop.append(rounds > 5 + least)
    if not drop:
        return records
    if query.rules == "original":
        return records.filter(~_any(drop))
    kept = records.filter(~_any(drop))
    keys = ["idx", "lsu"]
    if query.stream_k:
        # Without a global split the records of a tile are one.
        records, kept = (some.unique(keys, keep="first", maintain_order=True) for some in (records, kept))
    else:
        keys.append("gsu")
    records = records.with_columns(query.model.times(records, query.size))
    near = col("predicted") <= (1 + NEAR_BEST) * col("predicted").min()
    marks = kept.select(*keys, pl.lit(True).alias("kept"))
    records = records.with_columns(near.alias("near")).join(marks, on=keys, how="left", maintain_order="left")
    return records.filter(col("near") | col("kept")).drop("near", "kept")


def design(query: TileQuery) -> Design:
    """Choose and rank the macro tiles of one GEMM.

    With the default rules an empty result never comes back while a candidate exists: filters are loosened
    step by step and named in ``relaxed``. With the original rules it can be empty.

    Raises:
        InputError: the data type has no instruction on this family.
    """
    first, second, relaxed = _filtered(query)
    ranked = _by_granularity(query, second) if query.rules == "original" else _by_time(query, second)
    after_gsu = ranked.height
    col = pl.col
    if query.rules == "original" and query.data_type == "I8":
        # Only the original's int8 list holds an instruction twice.
        ranked = ranked.unique(
            [*MI_COLUMNS, "lsu", *(() if query.stream_k else ("gsu",))], keep="first", maintain_order=True
        )
    ranked = ranked.with_columns((col("im") * col("wgm")).alias("wg0")).with_columns(
        (col("waves") * query.wavefront // col("wg0")).alias("wg1"),
        (col("waves") * query.wavefront * col("lsu")).alias("threads"),
    )
    return Design(ranked, first.height, second.height, after_gsu, relaxed)


def _by_time(query: TileQuery, records: pl.DataFrame) -> pl.DataFrame:
    """Fastest first, granularity and enumeration order as tie-breaks; with the workgroups that there really are."""
    m, n, batch, _ = query.size
    col = pl.col
    if query.stream_k:
        records = records.unique(["idx", "lsu"], keep="first", maintain_order=True)
        records = records.with_columns(pl.lit(1, pl.Int64).alias("gsu"))
    if "predicted" not in records.columns:
        records = records.with_columns(query.model.times(records, query.size))
    n0, n1 = m / col("mt0"), n / col("mt1")
    records = records.with_columns(
        ((n0.ceil() * n1.ceil()).cast(pl.Int64) * batch * col("gsu")).alias("tiles")
    ).with_columns((col("tiles") / query.cus).alias("rounds"))
    waves = pl.min_horizontal(pl.lit(1.0), (col("rounds") + 1).floor() * (col("waves") * col("lsu")) / 4)
    full = col("rounds") / col("rounds").ceil()
    records = records.with_columns((n0 / n0.ceil() * (n1 / n1.ceil()) * full * waves).alias("gran"))
    return records.sort("predicted", -col("gran"), maintain_order=True)


def _by_granularity(query: TileQuery, records: pl.DataFrame) -> pl.DataFrame:
    """Fewest rounds first, fuller ones before emptier ones, then granularity and the larger split."""
    col = pl.col
    ranked = records.with_columns(
        col("rounds").ceil().alias("_a"),
        (1 - col("rounds")).alias("_b"),
        (1 - col("gran")).alias("_c"),
        (-col("gsu")).alias("_d"),
    ).sort("_a", "_b", "_c", "_d", maintain_order=True)
    ranked = ranked.drop("_a", "_b", "_c", "_d")
    return ranked.unique(["idx", "lsu"], keep="first", maintain_order=True) if query.stream_k else ranked


def _filtered(query: TileQuery) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    first = level1(query)
    second = level2(query, first) if query.mi_filter >= 2 else first
    if not second.is_empty() or query.rules == "original":
        return first, second, ()
    small = (16, 16)
    steps: list[tuple[str, Callable[[], pl.DataFrame]]] = [
        ("smallest tile 16x16", lambda: level1(query, small)),
        ("MI_FILTER 1", lambda: level1(replace(query, mi_filter=1), small)),
        ("MI_FILTER 0", lambda: level1(replace(query, mi_filter=0))),
    ]
    names: list[str] = []
    for name, attempt in steps:
        names.append(name)
        first = attempt()
        if not first.is_empty():
            break
    return first, first, tuple(names)


def _any(exprs: list[pl.Expr]) -> pl.Expr:
    combined = exprs[0]
    for expr in exprs[1:]:
        combined = combined | expr
    return combined
