"""Output of the Tensile client and of the Tensile run around it: a comma-separated row per kernel and size.

    0,1/1,205/419,Contraction_l_Alik_Bljk_Cijk_Dijk,"(128,32,1,8)",BFloat16,0,None,Cijk_...,PASSED,6.7,9.1,...

Sizes are m, n, batch, k, column-major; transposes and types stand in the kernels' names. Rows are printed
among other lines, sometimes without the header that names their columns. A run whose exit code is not zero
still holds good rows. The bias type is part of the protocol: the client runs every kernel with the epilogue
it was built for.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from geko.domain.environment import Environment
from geko.domain.protocol import Protocol
from geko.ingest.problem_columns import map_distinct, with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.tensile_names import with_gemm_of_names
from geko.ingest.text_columns import extra_json, read_cells
from geko.ingest.timings_parquet import OUTCOMES

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_COLUMNS = (
    "run", "problem-progress", "solution-progress", "operation", "problem-sizes", "bias-type", "factor-dim",
    "activation-type", "solution", "validation", "time-us", "gflops", "empty", "total-gran", "tiles-per-cu",
    "num-cus", "tile0-gran", "tile1-gran", "cu-gran", "wave-gran", "mem-read-bytes", "mem-write-bytes",
    "temp-edge", "clock-sys", "clock-soc", "clock-mem", "fan-rpm", "hardware-samples", "enqueue-time",
)  # fmt: skip
#: Columns by their number, where no header was printed: clients of 2023 had no factor-dim.
_BY_WIDTH = {
    len(_COLUMNS): _COLUMNS,
    len(_COLUMNS) - 1: tuple(name for name in _COLUMNS if name != "factor-dim"),
}
_ROW = re.compile(r'^\d+,\d+/\d+,\d+/\d+,[^,"]*,"\([\d, ]*\)",')
_SNIFF = re.compile(
    rb'^(?:run,problem-progress,solution-progress|\d+,\d+/\d+,\d+/\d+,[^,"\n]*,"\()', re.MULTILINE
)
_SIZES = re.compile(r'"\(([^)]*)\)"')
_COMMA = "\x1f"
_KEPT = (
    "run", "problem-progress", "solution-progress", "total-gran", "tiles-per-cu", "num-cus", "tile0-gran",
    "tile1-gran", "cu-gran", "wave-gran", "mem-read-bytes", "mem-write-bytes", "temp-edge", "clock-soc",
    "fan-rpm", "hardware-samples",
)  # fmt: skip
_FACTS = {
    "isa": re.compile(r"with ISA: (gfx\w+)"),
    "hip": re.compile(r"Found hipcc version (\S+)"),
    "started": re.compile(r"Date & Time: (\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)"),
    "tensile": re.compile(r"^#\s+Tensile v(\S+)", re.MULTILINE),
    "skipped": re.compile(r"#+ (\d+) solutions were skipped in total"),
    "exit": re.compile(r"^clientExit=(\d+)", re.MULTILINE),
}


class TensileLog:
    """Format of Tensile client output."""

    kind = "tensile-log"
    version = 1
    title = "Tensile client log"

    def sniff(self, head: bytes, path: Path) -> float:
        """The header of the rows, or a row, or the banner of a Tensile run."""
        if _SNIFF.search(head):
            return 1.0
        return 0.6 if b"#  Tensile v" in head and b"OutputPath:" in head else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read all rows."""
        text = path.read_text(encoding="utf-8", errors="replace")
        return parsed(read_log(text), path, scratch, kind=self.kind, n_lines=text.count("\n"))


def read_log(text: str) -> Results:
    """Results of a log; rows that are cut off are rejects, other lines are not looked at."""
    parts: dict[tuple[str, ...], tuple[list[int], list[str]]] = {}
    rejects: list[tuple[int, str, str]] = []
    names: tuple[str, ...] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line[:1].isdecimal():
            if line.startswith("run,problem-progress,"):
                names = tuple(name.strip() for name in line.split(","))
            continue
        if not _ROW.match(line):
            continue
        row = _SIZES.sub(lambda match: match[1].replace(",", _COMMA), line.rstrip(), count=1)
        width = row.count(",") + 1
        columns = names if names is not None and len(names) == width else _BY_WIDTH.get(width)
        if columns is None:
            rejects.append((number, "a row of the Tensile client that is cut off", line))
            continue
        numbers, rows = parts.setdefault(columns, ([], []))
        numbers.append(number)
        rows.append(row)
    frames = [
        pl.DataFrame(
            {"line": numbers}
            | {
                name: pl.Series(name, cell, dtype=pl.String)
                for name, cell in zip(columns, read_cells(rows, len(columns)), strict=True)
            }
        )
        for columns, (numbers, rows) in parts.items()
    ]
    facts = {name: match[1] for name, pattern in _FACTS.items() if (match := pattern.search(text))}
    return _results(pl.concat(frames, how="diagonal") if frames else None, rejects, facts)


def _results(
    frame: pl.DataFrame | None, rejects: list[tuple[int, str, str]], facts: dict[str, str]
) -> Results:
    environment = Environment(simulated=False, gfx=facts.get("isa"), hip=facts.get("hip"))
    if frame is None:
        blank: dict[str, list[str]] = {name: [] for name in ("trans_a", "trans_b", "a_type", "compute_type")}
        empty = pl.DataFrame(
            {**blank, "m": [], "n": [], "k": []},
            schema={**dict.fromkeys(blank, pl.String), **dict.fromkeys(("m", "n", "k"), pl.Int64)},
        )
        return results_of(with_problem_columns(empty), [environment], [], rejects, {**facts})
    absent = [name for name in _COLUMNS if name not in frame.columns]
    frame = frame.with_columns(pl.lit("", dtype=pl.String).alias(name) for name in absent).sort("line")
    way = ["bias-type", "factor-dim", "activation-type"]
    ways = frame.select(way).unique(maintain_order=True).with_row_index("protocol")
    protocols = [_protocol(dict(zip(way, row, strict=True))) for row in ways.select(way).iter_rows()]
    frame = frame.join(ways, on=way, how="left", maintain_order="left")
    frame = with_gemm_of_names(frame, "solution").rename(
        {"name_trans_a": "trans_a", "name_trans_b": "trans_b"}
    )
    sizes = pl.col("problem-sizes").str.split(_COMMA)
    started = _time(facts.get("started"))
    enqueued = pl.col("enqueue-time").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_zone="UTC")
    outcome = map_distinct(frame, "validation", lambda text: OUTCOMES.get(text.upper(), "not_checked"))
    outcome_text = outcome.alias("outcome")
    extra = extra_json({name: frame[name].to_arrow().cast("string") for name in _KEPT}, len(frame))
    frame = frame.with_columns(
        outcome_text,
        **{
            name: sizes.list.get(at, null_on_oob=True).str.strip_chars().cast(pl.Int64, strict=False)
            for at, name in enumerate(("m", "n", "batch", "k"))
        },
        us=pl.col("time-us").cast(pl.Float64, strict=False),
        gflops=pl.col("gflops").cast(pl.Float64, strict=False),
        solution_name="solution",
        solution_index=pl.col("solution-progress").str.split("/").list.first().cast(pl.Int64, strict=False),
        sclk_mhz=pl.col("clock-sys").cast(pl.Float64, strict=False),
        mclk_mhz=pl.col("clock-mem").cast(pl.Float64, strict=False),
        measured_at=pl.coalesce(
            enqueued.cast(pl.Datetime("us", "UTC")), pl.lit(started, dtype=pl.Datetime("us", "UTC"))
        ),
        extra=pl.Series(extra, dtype=pl.String),
    )
    check = {"ok": "passed", "verify_failed": "failed", "not_checked": "not_checked"}
    frame = frame.with_columns(
        check_outcome=pl.col("outcome").replace_strict(check, default="error", return_dtype=pl.String)
    )
    return results_of(with_problem_columns(frame), [environment], protocols, rejects, {**facts})


def _protocol(way: dict[str, Any]) -> Protocol:
    given = {name.replace("-", "_"): text for name, text in way.items() if text}
    return Protocol("tensilelite-client", "import", timer="gpu", iteration_rule="unknown", extra=given)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.strptime(text, "%d/%m/%Y %H:%M:%S").replace(tzinfo=UTC)


FORMAT = TensileLog()
