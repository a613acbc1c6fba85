"""How well macro tiles are ranked and sampled: predicted times beside the original's costs, on measured data.

    python benchmarks/bench_tile_ranking.py [--candidates candidates.parquet] [--logic FOLDER]

Both take measured data of real GPUs, and are left out without it:

- Timed candidates of MI350X (gfx950, Stream-K, bf16): best measured time of each macro tile and instruction of a shape.
- Library logic of gfx942 (data-parallel), files as hipBLASLt ships them: the tile that won each size when AMD tuned it.

Only the half of the sizes is judged that the model's constants were not fitted on; a hash of the size decides. ``--fit``
searches the constants anew on the other half, and prints them.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from geko.config_generator import tile_model, weights
from geko.config_generator.mi_designer import MI_COLUMNS, TileQuery, design, level1
from geko.config_generator.sizes import Size
from geko.config_generator.tile_model import Constants, TileModel
from geko.domain.kernel_name import parse_names
from geko.errors import InputError
from geko.library import logic_yaml
from geko.library.model import Library

TILE = [*MI_COLUMNS, "lsu"]
DRAWS = (20, 100, 512)
#: Numbers of Tensile's DataType that are tuned here, as in the designer.
KINDS = {4: "H", 7: "B", 11: "F8N"}
GRID: dict[str, list[float]] = {
    "overlap": [0.05, 0.1, 0.15, 0.2, 0.25, 0.35], "wide_instruction": [0.82, 0.85, 0.88, 0.91, 0.95],
    "narrow_loads": [0.25, 0.3, 0.35, 0.4, 0.5, 0.7], "transposed_lds": [1.0, 1.25, 1.5, 2.0],
    "spill": [1, 2, 4, 8, 12], "fixup": [2000, 4000, 8000, 12000], "launch": [2000, 4000, 8000, 12000, 16000],
}  # fmt: skip


def fitted_on(*size: int) -> bool:
    """Whether a size belongs to the half that constants are fitted on."""
    return hashlib.sha256(repr(size).encode()).digest()[0] % 2 == 0


@dataclasses.dataclass
class Case:
    """One size: the entries of its config, and what was measured.

    Attributes:
        query: the GEMM and its size.
        entries: columns of a design, one row an entry.
        cost: the original's cost of each entry, by its own kept split.
        truth: ``us`` of each entry, or ``won`` (true for the tile that won).
    """

    query: TileQuery
    entries: pl.DataFrame
    cost: pl.Series
    truth: pl.Series

    def times(self, constants: Constants | None = None) -> pl.Series:
        """Predicted times of the entries."""
        model: TileModel = self.query.model
        if constants is not None:
            model = dataclasses.replace(model, constants=constants)
        return model.times(self.entries, self.query.size)


def original_cost(entries: pl.DataFrame, size: Size, cus: int) -> pl.Series:
    """The original's sampling cost of each entry, relative to the best."""
    cost = weights._cost(weights.granularity(entries, size, cus)).cast(pl.Float64)
    return cost / cost.min()


def draw_chances(cost: pl.Series) -> pl.Series:
    """Chance of each entry under Ductile's exp(-0.25 * cost)."""
    wanted = (-weights.BETA * cost).exp()
    return wanted / wanted.sum()


# --- timed candidates


def timed(path: Path, judged: bool) -> Iterator[Case]:
    """Cases of the timed candidates: those entries of the original's MI_FILTER 1 that were measured."""
    frame = pl.read_parquet(path).filter(pl.col("status") == "PASSED")
    frame = frame.join(
        parse_names(frame["solution_name"]), left_on="solution_name", right_on="name", suffix="_named"
    )
    frame = frame.with_columns(
        pl.concat_str("trans_a", "trans_b").alias("layout"),
        (pl.col("mt0") // (pl.col("mi_m") * pl.col("miwt0"))).alias("wgm"),
        (pl.col("mt1") // (pl.col("mi_n") * pl.col("miwt1"))).alias("wgn"),
    ).rename({"mi_m": "im", "mi_n": "in", "miwt0": "wtm", "miwt1": "wtn", "local_split_u": "lsu"})
    shape, tile = ["layout", "m", "n", "batch", "k"], ["im", "in", "wtm", "wtn", "wgm", "wgn", "lsu"]
    best = frame.group_by(*shape, *tile).agg(pl.col("time_us").min().alias("us"))
    best = best.cast(dict.fromkeys(tile, pl.Int64))
    for key, group in best.sort(*shape).group_by(shape, maintain_order=True):
        layout, m, n, batch, k = key
        if fitted_on(m, n, k) == judged:
            continue
        query = TileQuery((m, n, batch, k), "B", "S", "gfx950", 256, str(layout), mi_filter=1, stream_k=True)
        old = design(dataclasses.replace(query, rules="original")).entries
        old = old.with_columns(original_cost(old, query.size, query.cus).alias("cost"))
        found = old.join(group.select(*tile, "us"), on=tile, how="inner", maintain_order="left")
        yield Case(query, found, found["cost"], found["us"])


def filtered_out(cases: list[Case]) -> dict[int, float]:
    """Share of the cases whose best measured entry the original's filter drops, per MI_FILTER."""
    lost = {}
    for level in (1, 2):
        count = 0
        for case in cases:
            kept = design(dataclasses.replace(case.query, mi_filter=level, rules="original")).entries
            best = case.entries.filter(case.truth == case.truth.min())
            count += best.join(kept, on=TILE, how="semi").is_empty()
        lost[level] = count / len(cases)
    return lost


def judge_timed(cases: list[Case]) -> None:
    """Print rank correlation, regret and draws of both rankings on timed candidates."""
    entries = [case.entries.height for case in cases]
    tiles = [case.entries.select("mt0", "mt1").n_unique() for case in cases]
    print(
        f"\ntimed candidates: {len(cases)} shapes that the constants were not fitted on, {min(entries)} to {max(entries)} "
        f"entries each ({min(tiles)} to {max(tiles)} macro tiles)"
    )
    rows: dict[str, dict[str, float]] = {"original": {}, "predicted": {}, "uniform": {}}
    for name, row in rows.items():
        sums: dict[str, list[float]] = {}
        for case in cases:
            slower = case.truth / case.truth.min() - 1
            times = case.times()
            score = {"original": case.cost, "predicted": times}.get(name)
            chance = {"original": draw_chances(case.cost), "predicted": weights.probabilities(times)}.get(
                name
            )
            if score is not None:
                sums.setdefault("Spearman", []).append(_spearman(score, case.truth))
                sums.setdefault("Kendall", []).append(_kendall(score, case.truth))
                for top in (1, 3, 5):
                    value = float(slower.gather(score.arg_sort()[:top]).min())
                    sums.setdefault(f"best of top {top}, slower %", []).append(100 * value)
            if chance is None:
                chance = pl.Series([1 / case.entries.height] * case.entries.height)
            for within in (0.02, 0.05):
                hit = float(chance.filter(slower <= within).sum())
                sums.setdefault(f"draws to within {within:.0%}", []).append(1 / hit)
        row.update({key: sum(values) / len(values) for key, values in sums.items()})
    _table(rows)
    lost = filtered_out(cases)
    print(f"best measured entry dropped by the original's MI_FILTER 1: {lost[1]:.1%}, by 2: {lost[2]:.1%}")


# --- winners of shipped logic


def winners(folder: Path) -> Iterator[tuple[TileQuery, dict[str, int]]]:
    """Sizes of gfx942 library logic with the tile that won."""
    for path in sorted(folder.rglob("*.yaml")):
        try:
            library = Library(logic_yaml.load(path), path.name)
            kind = KINDS.get(library.problem_type["DataType"])
            sparse = library.problem_type.get("Sparse", 0)
        except (InputError, KeyError, TypeError):
            continue
        parts = "/".join(path.parts[-3:])
        partition = "cu/" in parts or "cu_" in parts.removeprefix("gfx942_")
        if library.architecture != "gfx942" or library.cu_count or partition or kind is None or sparse:
            continue
        solutions = {}
        for position in range(len(library.solutions)):
            solution = library.full_solution(position)
            solutions[solution["SolutionIndex"]] = solution
        layout = "".join("T" if library.problem_type[f"Transpose{side}"] else "N" for side in "AB")
        for size, (index, *_) in library.sizes:
            won = solutions[index]
            if (
                len(won.get("MatrixInstruction", ())) < 4
                or won.get("StreamK", 0)
                or won.get("GlobalSplitU", 1) < 1
            ):
                continue
            tile = dict(zip(("im", "in", "ik", "ib"), won["MatrixInstruction"], strict=False))
            tile["wtm"], tile["wtn"] = won["MIWaveTile"]
            tile["wgm"], tile["wgn"] = won["MIWaveGroup"]
            tile["lsu"], tile["gsu"] = won["WorkGroup"][2], won["GlobalSplitU"]
            yield TileQuery(tuple(size[:4]), kind, "S", "gfx942", 304, layout), tile


def judge_winners(found: list[tuple[TileQuery, dict[str, int]]]) -> None:
    """Print for both rule sets where the winners stand among the entries of the config."""
    print(
        f"\nwinners of library logic: {len(found)} sizes that the constants were not fitted on; an entry counts when its "
        "instruction, waves, local and global split are the winner's"
    )
    passed = sum(not _hit(level1(query), tile).is_empty() for query, tile in found)
    print(f"winner kept by the rules R1 to R9 (MI_FILTER 1): {passed / len(found):.1%}")
    rows: dict[str, dict[str, float]] = {}
    for name in ("original", "default"):
        kept, ranks, chances, uniform, counts = 0, [], [], [], []
        for query, tile in found:
            query = dataclasses.replace(query, rules=name)
            entries = design(query).entries
            if name == "original":
                chance = (
                    draw_chances(original_cost(entries, query.size, query.cus))
                    if entries.height
                    else pl.Series()
                )
            else:
                chance = weights.probabilities(entries["predicted"])
            hit = _hit(entries.with_row_index("place").with_columns(chance.alias("chance")), tile)
            kept += hit.height > 0
            counts.append(entries.height)
            uniform.append(1 / entries.height if hit.height else 0.0)
            chances.append(hit["chance"][0] if hit.height else 0.0)
            ranks.append(hit["place"][0] if hit.height else math.inf)
        row = {"winner kept %": 100 * kept / len(found), "entries (median)": sorted(counts)[len(counts) // 2]}
        for top in (1, 5, 20):
            row[f"in top {top} %"] = 100 * sum(rank < top for rank in ranks) / len(ranks)
        for draws in DRAWS:
            row[f"drawn in {draws} %"] = 100 * sum(1 - (1 - p) ** draws for p in chances) / len(chances)
        rows[name] = row
        rows[f"{name}, uniform"] = {key: row[key] for key in list(row)[:2]} | {
            f"drawn in {draws} %": 100 * sum(1 - (1 - p) ** draws for p in uniform) / len(uniform)
            for draws in DRAWS
        }
    _table(rows)


def _hit(entries: pl.DataFrame, tile: dict[str, int]) -> pl.DataFrame:
    return entries.filter(pl.all_horizontal(pl.col(key) == value for key, value in tile.items()))


# --- the search for the constants


def fit(cases: list[Case], won: list[Case]) -> None:
    """Coordinate search for the constants on the fitting half.

    What is made small: squared error of the logarithm of predicted times (relative within each shape, weight 60), less
    the mean logarithm of the winners' chance against uniform sampling.
    """

    def loss(constants: Constants, temperature: float) -> float:
        weights.TEMPERATURE = temperature
        errors: list[float] = []
        for case in cases:
            ratio = case.times(constants).log() - case.truth.log()
            errors += ((ratio - ratio.mean()) ** 2).to_list()
        gains = []
        for case in won:
            chance = weights.probabilities(case.times(constants)).filter(case.truth)
            gains.append(math.log(chance.sum() * case.entries.height))
        squared = sum(errors) / len(errors) if errors else 0.0
        return 60 * squared - (sum(gains) / len(gains) if gains else 0.0)

    constants, temperature = tile_model.FITTED, weights.TEMPERATURE
    least = loss(constants, temperature)
    print(f"start: {least:.4f} with {len(cases)} shapes and {len(won)} winners")
    for name, values in {**GRID, "temperature": [0.03, 0.05, 0.07, 0.1]}.items():
        for value in values:
            tried = constants if name == "temperature" else dataclasses.replace(constants, **{name: value})
            warmth = value if name == "temperature" else temperature
            now = loss(tried, warmth)
            if now < least - 1e-3:
                constants, temperature, least = tried, warmth, now
        print(f"after {name}: {least:.4f}", flush=True)
    print(constants, f"temperature {temperature}")


def won_cases(found: list[tuple[TileQuery, dict[str, int]]]) -> Iterator[Case]:
    """The winners as cases; sizes whose winner the filters drop say nothing about probabilities."""
    for query, tile in found:
        entries = design(query).entries
        truth = entries.select(won=pl.all_horizontal(pl.col(key) == value for key, value in tile.items()))[
            "won"
        ]
        if truth.any() and entries.height >= 3:
            yield Case(query, entries, truth.cast(pl.Float64), truth)


def _spearman(one: pl.Series, two: pl.Series) -> float:
    value = pl.select(pl.corr(one.rank(), two.rank())).item()
    return 0.0 if value is None or math.isnan(value) else value


def _kendall(one: pl.Series, two: pl.Series) -> float:
    """Concordant less discordant pairs, over all pairs that differ in the measured time."""
    frame = pl.DataFrame({"a": one, "b": two}).with_row_index("i")
    pairs = frame.join(frame, how="cross", suffix="_2").filter(pl.col("i") < pl.col("i_2"))
    signs = pairs.select(
        ((pl.col("a") - pl.col("a_2")).sign() * (pl.col("b") - pl.col("b_2")).sign()).alias("s")
    )
    return float(signs["s"].mean() or 0.0)  # type: ignore[arg-type]


def _table(rows: dict[str, dict[str, float]]) -> None:
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    width = max(map(len, columns))
    print(" " * width, *(f"{name:>18}" for name in rows))
    for column in columns:
        cells = [
            f"{round(row[column], 3) + 0.0:18.3f}" if column in row else f"{'':18}" for row in rows.values()
        ]
        print(f"{column:{width}}", *cells)


def main() -> None:
    """Print one table for each source of data."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--candidates", type=Path, help="timed candidates of MI350X, a Parquet file")
    parser.add_argument("--logic", type=Path, help="folder of gfx942 library logic")
    parser.add_argument(
        "--fit", action="store_true", help="search the constants on the other half of the sizes"
    )
    options: Any = parser.parse_args()
    cases: list[Case] = []
    found: list[tuple[TileQuery, dict[str, int]]] = []
    if options.candidates is not None and options.candidates.is_file():
        cases = list(timed(options.candidates, judged=not options.fit))
    else:
        print(f"timed candidates: left out, no such file: {options.candidates} (--candidates)")
    if options.logic is not None and options.logic.is_dir():
        found = list(winners(options.logic))
    if options.fit:
        # fp8 is kept for the judgement: a type that the fit has never seen.
        fitting = [(query, tile) for query, tile in found if query.data_type != "F8N" and _fits(query)]
        fit(cases, list(won_cases(fitting)))
        return
    if cases:
        judge_timed(cases)
    if not found:
        print(f"winners of library logic: left out, no logic of gfx942 in {options.logic} (--logic)")
        return
    judge_winners([(query, tile) for query, tile in found if query.data_type != "F8N" and not _fits(query)])
    unseen = [(query, tile) for query, tile in found if query.data_type == "F8N"]
    if unseen:
        print("\nfp8, which no constant was fitted on:", end="")
        judge_winners(unseen)


def _fits(query: TileQuery) -> bool:
    m, n, batch, k = query.size
    return fitted_on(m, n, k, batch)


if __name__ == "__main__":
    main()
