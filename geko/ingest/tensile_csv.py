"""Tensile's result tables ``00_Final.csv`` and ``*_CSVWinner.csv``: a row per size, a column of GFLOP/s per
kernel.

The column called ``GFlops`` holds the number of the problem. Sizes are m, n, batch, k (SizeI, SizeJ, SizeK,
SizeL), column-major; transposes and types stand in the kernels' names. A size that ran with two bias types
has two rows. The time of a kernel is that of its rate (TotalFlops / GFLOP/s); of the winner it is printed.
Rates that are nan, zero or negative belong to kernels that failed or were skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from geko.domain.environment import Environment
from geko.domain.kernel_name import parse_name
from geko.errors import InputError
from geko.ingest.problem_columns import with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.tensile_names import with_gemm_of_names
from geko.ingest.text_columns import read_table_cells
from geko.ingest.timings_parquet import CLIENT

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_SIZES = {"SizeI": "m", "SizeJ": "n", "SizeK": "batch", "SizeL": "k"}
_LDS = {"LDA": "lda", "LDB": "ldb", "LDC": "ldc", "LDD": "ldd"}
_HEAD = ("GFlops", *_SIZES, *_LDS, "TotalFlops")


class TensileCsv:
    """Format of Tensile's result tables."""

    kind = "tensile-csv"
    version = 1
    title = "Tensile result table (00_Final.csv, CSVWinner.csv)"

    def sniff(self, head: bytes, path: Path) -> float:
        """The header line's first columns."""
        start = head[:400].decode("utf-8", "replace").replace(" ", "")
        return 1.0 if start.startswith("GFlops,SizeI,SizeJ,") else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read every rate of every kernel."""
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        results = read_table(lines, path)
        return parsed(results, path, scratch, kind=self.kind, n_lines=len(lines))


def read_table(lines: list[str], path: Path | None = None) -> Results:
    """Results of a table; kernels without a rate in a row (an empty cell) are left out.

    Raises:
        InputError: if columns are missing, or a size has no batch and summation index.
    """
    frame, rejects = read_table_cells(lines)
    missing = [name for name in _HEAD if name not in frame.columns]
    if missing:
        raise InputError(f"a Tensile result table has the columns {', '.join(missing)}", path=path)
    kernels = [name for name in frame.columns if "_MT" in name or name.startswith(("Cijk_", "Custom_"))]
    rest = [name for name in frame.columns if name not in {*kernels, *_HEAD, "line"}]
    flops = pl.col("TotalFlops").cast(pl.Float64, strict=False)
    long = frame.unpivot(kernels, index=["line", *_HEAD], variable_name="solution_name", value_name="rate")
    rate = pl.col("rate").cast(pl.Float64, strict=False)
    long = long.filter(pl.col("rate") != "").with_columns(gflops=rate, us=flops / rate / 1e3)
    order = pl.DataFrame(
        {"solution_name": kernels, "solution_index": range(len(kernels))},
        schema={"solution_name": pl.String, "solution_index": pl.Int64},
    )
    long = long.join(order, on="solution_name", how="left", maintain_order="left")
    long = _with_winners(long, frame, rest)
    timed = pl.col("gflops").is_finite() & (pl.col("gflops") > 0)
    long = long.with_columns(
        *(
            pl.col(name).cast(pl.Int64, strict=False).alias(column)
            for name, column in (_SIZES | _LDS).items()
        ),
        outcome=pl.when(timed).then(pl.lit("ok")).otherwise(pl.lit("unsupported")),
        us=pl.when(timed).then("us"),
        extra=pl.coalesce("extra", pl.lit('{"problem_index":"') + pl.col("GFlops") + '"}'),
    )
    long = with_gemm_of_names(long, "solution_name").rename(
        {"name_trans_a": "trans_a", "name_trans_b": "trans_b"}
    )
    isa = parse_name(kernels[0]).hot()["isa"] if kernels else None
    environment = Environment(simulated=False, gfx=isa)
    long = with_problem_columns(long.sort("line", "solution_index", maintain_order=True))
    return results_of(long, [environment], [CLIENT], rejects, {"kernels": len(kernels), "sizes": len(frame)})


def _with_winners(long: pl.DataFrame, frame: pl.DataFrame, rest: list[str]) -> pl.DataFrame:
    """Give the winner of each row its printed time, and add winners whose own column was cut away."""
    if "WinnerName" not in frame.columns:
        return long.with_columns(extra=pl.lit(None, dtype=pl.String))
    notes = [
        pl.when(pl.col(name) != "").then(pl.lit(f'"{name}":"') + pl.col(name) + '"')
        for name in rest
        if not name.startswith("Winner")
    ]
    index = pl.lit('{"problem_index":"') + pl.col("GFlops") + pl.lit('","winner":"1"')
    more = pl.concat_str(notes, separator=",", ignore_nulls=True) if notes else pl.lit("")
    winners = frame.filter(pl.col("WinnerName") != "").select(
        "line", *_HEAD,
        solution_name="WinnerName",
        winner_us=pl.col("WinnerTimeUS").cast(pl.Float64, strict=False),
        winner_gflops=pl.col("WinnerGFlops").cast(pl.Float64, strict=False),
        winner_index=pl.col("WinnerIdx").cast(pl.Int64, strict=False),
        extra=index + pl.when(more != "").then(pl.lit(",") + more).otherwise(pl.lit("")) + pl.lit("}"),
    )  # fmt: skip
    key = ["line", "solution_name"]
    long = long.join(winners.drop(_HEAD), on=key, how="left", maintain_order="left")
    long = long.with_columns(us=pl.coalesce("winner_us", "us")).drop(
        "winner_us", "winner_gflops", "winner_index"
    )
    cut = winners.join(long.select(key), on=key, how="anti").rename(
        {"winner_us": "us", "winner_gflops": "gflops", "winner_index": "solution_index"}
    )
    return pl.concat([long, cut], how="diagonal")


FORMAT = TensileCsv()
