"""Tuning reports in Markdown, one shape each, and the comparison table that sums them up.

A report holds a whole hipblaslt-bench output, and the times of the tuned Tensile kernel and of
hipblasLtMatmul timed by a program of its own; a table ``comparison_report.csv`` has the three times of many
shapes. The three harnesses differ by some 10 % on one kernel: each has its own protocol. M and N of both are
row-major: hipBLASLt's m is their N. Types are those of the kernel names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from geko.domain.environment import Environment
from geko.domain.kernel_name import parse_name
from geko.domain.protocol import Protocol
from geko.ingest.bench_results import bench_results
from geko.ingest.bench_stdout import parse_bench_text
from geko.ingest.problem_columns import PROBLEM_SCHEMA, with_problem_columns
from geko.ingest.results import RESULT_SCHEMA, Results, parsed, results_of
from geko.ingest.tensile_names import with_gemm_of_names
from geko.ingest.text_columns import read_table_cells
from geko.ingest.timings_parquet import CLIENT

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_API = Protocol("hipblaslt-api", "import", iteration_rule="unknown")
_BENCH = Protocol("hipblaslt-bench", "import", iteration_rule="unknown")
_HARNESSES = (("tensile", "winner", CLIENT), ("api", "kernel", _API), ("bench", "kernel", _BENCH))
_NEEDED = {
    "trans",
    "M",
    "N",
    "K",
    "tensile_time_us",
    "tensile_winner",
    "api_time_us",
    "api_kernel",
    "bench_time_us",
}
_PARAMETER = re.compile(r"^\| (Trans \(ABC\)|M|N|K) \| (\w+) \|", re.MULTILINE)
_TIME = re.compile(r"^\| \**(Tensile tuned|API bench)[^|]*\| *([\d.]+) *\| *([\d.]+) *\|", re.MULTILINE)
_KERNEL = re.compile(r"^- \*\*(Tensile winner|API bench)[^*]*\*\*: `([^`]+)`", re.MULTILINE)


class TuningReport:
    """Format of a Markdown report."""

    kind = "tuning-report"
    version = 1
    title = "tuning report of one shape (Markdown)"

    def sniff(self, head: bytes, path: Path) -> float:
        """Its headings and a result header."""
        return 1.0 if b"\n## hipblaslt-bench" in head and b"transA,transB," in head else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read the output in it and the two other times."""
        text = path.read_text(encoding="utf-8", errors="replace")
        return parsed(read_report(text), path, scratch, kind=self.kind, n_lines=text.count("\n"))


class ComparisonTable:
    """Format of the table over all shapes."""

    kind = "tuning-comparison"
    version = 1
    title = "comparison table of tuning reports"

    def sniff(self, head: bytes, path: Path) -> float:
        """A header line with its column names."""
        names = head.partition(b"\n")[0].decode("utf-8", "replace").split(",")
        return 1.0 if {name.strip() for name in names} >= _NEEDED else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read up to three times a row; empty ones (a failed tuning) are left out."""
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return parsed(read_comparison(lines), path, scratch, kind=self.kind, n_lines=len(lines))


def read_report(text: str) -> Results:
    """Results of a report: those of its hipblaslt-bench output, and up to two more."""
    results = bench_results(parse_bench_text(text))
    # The report's own lines are no output of the program.
    results.rejects = []
    size = dict(_PARAMETER.findall(text))
    kernels = dict(_KERNEL.findall(text))
    times = {name: (float(tflops), float(us)) for name, tflops, us in _TIME.findall(text)}
    winner = kernels.get("Tensile winner")
    named = (("Tensile tuned", winner), ("API bench", kernels.get("API bench")))
    rows = [
        (kernel, times[name][0] * 1000, times[name][1], protocol)
        for protocol, (name, kernel) in enumerate(named)
        if name in times and kernel
    ]
    if not rows or len(size) != 4:
        return results
    schema = {"solution_name": pl.String, "gflops": pl.Float64, "us": pl.Float64, "protocol": pl.Int32}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    trans = size["Trans (ABC)"]
    frame = frame.with_columns(
        trans_a=pl.lit(trans[0]),
        trans_b=pl.lit(trans[1]),
        m=pl.lit(int(size["N"])),
        n=pl.lit(int(size["M"])),
        k=pl.lit(int(size["K"])),
    )
    more = results_of(
        with_problem_columns(with_gemm_of_names(frame, "solution_name")),
        results.environments[:1],
        [CLIENT, _API],
    )
    shifted = more.rows.with_columns(pl.col("protocol") + len(results.protocols))
    rows_of_both = pl.concat([results.rows, shifted.select(*PROBLEM_SCHEMA, *RESULT_SCHEMA)])
    return Results(
        rows_of_both,
        results.environments,
        [*results.protocols, *more.protocols],
        more.rejects,
        results.detail,
    )


def read_comparison(lines: list[str]) -> Results:
    """Results of a comparison table."""
    frame, rejects = read_table_cells(lines)
    kept = ["line", "trans", "M", "N", "K"]
    parts = [
        frame.filter(pl.col(f"{harness}_time_us") != "").select(
            *kept,
            us=pl.col(f"{harness}_time_us").cast(pl.Float64, strict=False),
            gflops=pl.col(f"{harness}_tflops").cast(pl.Float64, strict=False) * 1000,
            solution_name=f"{harness}_{name}",
            protocol=pl.lit(number, dtype=pl.Int32),
        )
        for number, (harness, name, _) in enumerate(_HARNESSES)
        if f"{harness}_{name}" in frame.columns
    ]
    rows = pl.concat(parts)
    named = rows["solution_name"].drop_nulls()
    isa = parse_name(named[0]).hot()["isa"] if len(named) else None
    rows = with_gemm_of_names(rows, "solution_name").with_columns(
        trans_a=pl.col("trans").str.slice(0, 1),
        trans_b=pl.col("trans").str.slice(1, 1),
        m=pl.col("N").cast(pl.Int64, strict=False),
        n=pl.col("M").cast(pl.Int64, strict=False),
        k=pl.col("K").cast(pl.Int64, strict=False),
    )
    protocols = [protocol for _, _, protocol in _HARNESSES]
    return results_of(with_problem_columns(rows), [Environment(simulated=False, gfx=isa)], protocols, rejects)


FORMAT = TuningReport()
COMPARISON = ComparisonTable()
