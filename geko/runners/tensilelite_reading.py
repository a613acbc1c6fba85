"""What a tuning run says about its kernels: measurement and validation rows out of the client's log and tables.

One row per kernel, size and bias type of each call of the client. A kernel that only stands in a result table (its
line was cut off, or the log was lost) gets its row from there. Everything works on whole columns: a run has
thousands of kernels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from geko.domain.identity import content_id
from geko.errors import InputError
from geko.ingest.results import Numbered, Results, numbered
from geko.ingest.tensile_csv import read_table
from geko.ingest.tensile_log import read_log
from geko.runners.base import MEASUREMENTS, VALIDATIONS
from geko.runners.tensilelite_spec import TuneSpec

# "Solution Skipped (…): NAME", and with hipBLASLt 0.12 " Skip Slow Solution: NAME".
_SKIPPED = re.compile(
    r"^\d+,(\d+/\d+),(\d+)/\d+, ?(?:Solution Skipped|Skip Slow Solution)[^:\n]*: (\S+)$", re.MULTILINE
)
_BUILT = re.compile(r"^# Actual Solutions: (\d+) / (\d+) after KernelWriter", re.MULTILINE)
_SIZE = ("m", "n", "batch", "k")
_SAME = ("solution_name", *_SIZE, "protocol", "outcome", "us")


@dataclass(frozen=True, slots=True)
class TuneReading:
    """Results of a tuning run.

    Attributes:
        measurements, validations: rows; None without any.
        solutions, names: rows of tables ``solution`` and ``solution_name``.
        counts: measurement rows by outcome.
        notes: what could not be used, for people.
    """

    measurements: pa.Table | None
    validations: pa.Table | None
    solutions: pa.Table | None = None
    names: pa.Table | None = None
    counts: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_timed(self) -> int:
        """Kernels with a time that may be used: passed, or not checked."""
        return self.counts.get("ok", 0) + self.counts.get("not_checked", 0)


def with_failure(reading: TuneReading, outcome: str, message: str | None, spec: TuneSpec) -> TuneReading:
    """Add a row that says how the run ended: for the size it was at, and for those that it didn't get to.

    Args:
        reading: what could be read.
        outcome: of the job, as column ``measurement.outcome`` has it.
        message: goes into ``extra``.
        spec: the job.
    """
    extra = json.dumps({"message": message}) if message else None
    seen = [] if reading.measurements is None else reading.measurements["problem_id"].to_pylist()
    at = dict.fromkeys(seen[-1:]) | dict.fromkeys(item for item in spec.problem_ids if item not in set(seen))
    rows = [{"problem_id": problem, "outcome": outcome, "extra": extra} for problem in at]
    more = pa.Table.from_pylist(rows, schema=MEASUREMENTS)
    table = more if reading.measurements is None else pa.concat_tables([reading.measurements, more])
    return replace(reading, measurements=table)


def build_notes(text: str) -> list[str]:
    """What the build steps of a log say about kernels that came to nothing."""
    counts = [(int(kept), int(before)) for kept, before in _BUILT.findall(text)]
    lost = sum(before - kept for kept, before in counts)
    return [f"{lost} of {sum(before for _, before in counts)} kernels could not be built"] if lost else []


def read_outputs(text: str, tables: Sequence[Path], spec: TuneSpec) -> TuneReading:
    """Read a run's log and result tables.

    Args:
        text: what Tensile and its client printed.
        tables: ``00_Final.csv`` or its copies.
        spec: the job: its sizes name the problems.
    """
    notes = build_notes(text)
    log = read_log(text)
    if log.rejects:
        notes.append(
            f"{len(log.rejects)} lines of the client could not be read, the first: {log.rejects[0][1]}"
        )
    rows = _with_skipped(_tidy(log), text, spec)
    for path in tables:
        # The client opens its table at the start: an empty one says what the end of the log says.
        if path.stat().st_size:
            rows = _with_table(rows, path, notes)
    rows, unknown = _of_job(rows, spec)
    if unknown:
        notes.append(f"{unknown} rows are of sizes that the job doesn't know")
    if not len(rows):
        return TuneReading(None, None, notes=tuple(notes))
    iters = spec.setting("EnqueuesPerSync", 1) * spec.setting("SyncsPerBenchmark", 1)
    rows = rows.with_columns(iters=pl.lit(iters), cold_iters=pl.lit(spec.setting("NumWarmups", 0)))
    return _tables(Results(rows, log.environments, log.protocols), rows["problem_id"], notes)


def _tidy(log: Results) -> pl.DataFrame:
    """Rows of the log: solutions that were passed over are skipped, and times of zero are none."""
    bias = pl.DataFrame(
        {
            "protocol": pl.Series(range(len(log.protocols)), dtype=pl.Int32),
            "_way": pl.Series(
                [json.dumps(item.extra, separators=(",", ":"))[1:-1] for item in log.protocols],
                dtype=pl.String,
            ),
        }
    )
    timed = pl.col("us").is_finite() & (pl.col("us") > 0)
    passed_over = (pl.col("outcome") == "not_checked") & ~timed.fill_null(False)
    rows = log.rows.join(bias, on="protocol", how="left", maintain_order="left")
    rest = (
        pl.when(pl.col("extra").is_null())
        .then(pl.lit("}"))
        .otherwise(pl.lit(",") + pl.col("extra").str.slice(1))
    )
    return rows.with_columns(
        outcome=pl.when(passed_over).then(pl.lit("skipped")).otherwise("outcome"),
        check_outcome=pl.when(pl.col("check_outcome").is_in(["passed", "failed"])).then("check_outcome"),
        us=pl.when(timed).then("us"),
        gflops=pl.when(timed).then("gflops"),
        extra=pl.when(pl.col("_way").fill_null("") != "")
        .then(pl.lit("{") + pl.col("_way") + rest)
        .otherwise("extra"),
    ).drop("_way")


def _with_skipped(rows: pl.DataFrame, text: str, spec: TuneSpec) -> pl.DataFrame:
    """Add the solutions that the client passed over as too slow: its lines name no size, only the problem's number.

    The size is that of other lines with the same number, else the job's own where it has one.
    """
    found = list(_SKIPPED.finditer(text))
    if not found:
        return rows
    number = pl.col("extra").str.extract(r'"problem-progress":"([^"]*)"')
    places = rows.select(*_SIZE, place=number).unique("place", keep="first", maintain_order=True)
    alone = spec.sizes[0] if len(spec.sizes) == 1 else (None,) * 4
    skipped = pl.DataFrame(
        {
            "place": [match[1] for match in found],
            "solution_index": [int(match[2]) for match in found],
            "solution_name": [match[3] for match in found],
        },
        schema={"place": pl.String, "solution_index": pl.Int64, "solution_name": pl.String},
    ).join(places, on="place", how="left", maintain_order="left")
    skipped = skipped.with_columns(
        **{name: pl.coalesce(name, pl.lit(alone[at], pl.Int64)) for at, name in enumerate(_SIZE)},
        outcome=pl.lit("skipped"),
        extra=pl.lit('{"problem-progress":"') + pl.col("place") + pl.lit('"}'),
        protocol=pl.lit(0, pl.Int32),
        environment=pl.lit(0, pl.Int32),
    ).drop("place")
    return pl.concat([rows, skipped], how="diagonal_relaxed")


def _with_table(rows: pl.DataFrame, path: Path, notes: list[str]) -> pl.DataFrame:
    """Add the kernels of a result table that have no line."""
    try:
        found = read_table(path.read_text(encoding="utf-8", errors="replace").splitlines(), path).rows
    except (InputError, OSError, pl.exceptions.PolarsError) as error:
        notes.append(f"a result table can't be read: {error}")
        return rows
    key = ["solution_name", *_SIZE]
    text = {"solution_name": pl.col("solution_name").cast(pl.String).str.strip_chars()}
    known = rows.select(key).with_columns(**text) if len(rows) else None
    found = found.with_columns(**text)
    # Rates of a table are the best over its calls, without a word about checks.
    new = found if known is None else found.join(known, on=key, how="anti")
    if not len(new):
        return rows
    notes.append(f"{len(new)} results stand in {path.name} alone")
    new = new.with_columns(
        outcome=pl.when(pl.col("outcome") == "ok").then(pl.lit("not_checked")).otherwise("outcome"),
        protocol=pl.lit(0, pl.Int32),
        environment=pl.lit(0, pl.Int32),
    )
    return pl.concat([rows.with_columns(**text), new.select(rows.columns)], how="vertical_relaxed")


def _of_job(rows: pl.DataFrame, spec: TuneSpec) -> tuple[pl.DataFrame, int]:
    """Rows of the job's sizes with their problem, and how many are of other sizes; repeated lines count once."""
    problems = pl.DataFrame(
        {
            **{name: [size[at] for size in spec.sizes] for at, name in enumerate(_SIZE)},
            "problem_id": list(spec.problem_ids),
        },
        schema={**dict.fromkeys(_SIZE, pl.Int64), "problem_id": pl.String},
    ).unique(_SIZE, keep="first", maintain_order=True)
    joined = rows.join(problems, on=_SIZE, how="left", maintain_order="left")
    known = joined.filter(pl.col("problem_id").is_not_null())
    # A generation that was cut off and timed again prints the same times only in a simulation.
    distinct = known.unique(
        [name for name in _SAME if name in known.columns], keep="last", maintain_order=True
    )
    return distinct, len(joined) - len(known)


def _tables(results: Results, problems: pl.Series, notes: list[str]) -> TuneReading:
    parts = numbered(Results(results.rows.drop("problem_id"), results.environments, results.protocols))
    canonical = parts.solutions["canonical"].to_list()
    solution_ids = pl.Series(
        "solution_id", [content_id("solution", text) for text in canonical], dtype=pl.String
    )
    # Rows keep their order through numbering: the problems of the job fit by position.
    rows = parts.rows.with_columns(
        problem_id=problems,
        solution_id=solution_ids.gather(parts.rows["solution_no"]) if len(solution_ids) else pl.lit(None),
    )
    checked = rows.filter(pl.col("check_outcome").is_not_null()).with_columns(outcome="check_outcome")
    counts = {str(name): int(count) for name, count in rows["outcome"].value_counts().iter_rows()}
    return TuneReading(
        measurements=_typed(rows, MEASUREMENTS),
        validations=_typed(checked, VALIDATIONS) if len(checked) else None,
        solutions=_solutions(parts, solution_ids),
        names=parts.names.with_columns(solution_id=solution_ids.gather(parts.names["solution_no"]))
        .select("solution_id", "kind", "name").unique(maintain_order=True).to_arrow(),
        counts=dict(sorted(counts.items())),
        notes=tuple(notes),
    )  # fmt: skip


def _solutions(parts: Numbered, ids: pl.Series) -> pa.Table:
    frame = parts.solutions.drop("solution_no").with_columns(solution_id=ids, source=pl.lit("name"))
    return frame.unique("solution_id", keep="first", maintain_order=True).to_arrow()


def _typed(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema; those that a tuning run doesn't say are null."""
    table = rows.select([name for name in schema.names if name in rows.columns]).to_arrow()
    columns: dict[str, Any] = {
        column.name: table[column.name].cast(column.type)
        if column.name in table.column_names
        else pa.nulls(table.num_rows, column.type)
        for column in schema
    }
    return pa.table(columns, schema=schema)
