"""Measured rows of any source on their way into the warehouse.

A parser of results makes one frame with a row per result: the columns of table ``problem``, of table
``measurement`` and of table ``validation``, the names of the kernel, and the numbers of its environment and
protocol. Everything here works on whole columns; what is the same in many rows (problem, solution) is made
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from geko.domain.arch import Product, fastest_product, find_product
from geko.domain.environment import Environment
from geko.domain.kernel_name import parse_names
from geko.domain.protocol import Protocol
from geko.errors import InputError
from geko.ingest.formats import Parsed, reject_table
from geko.ingest.hashing import content_sha256
from geko.ingest.problem_columns import PROBLEM_SCHEMA

if TYPE_CHECKING:
    from geko.warehouse import Scratch

#: Columns of a result besides those of its problem; all may be absent but ``environment`` and ``protocol``.
RESULT_SCHEMA: dict[str, Any] = {
    "line": pl.Int64,  # in the source, 1-based
    "environment": pl.Int32,  # index into Results.environments
    "protocol": pl.Int32,  # index into Results.protocols
    "solution_name": pl.String,
    "kernel_name": pl.String,
    "canonical": pl.String,  # canonical JSON of a solution whose name alone doesn't identify it
    "solution_index": pl.Int64,
    "rank": pl.Int32,
    "winner_echo": pl.Boolean,
    "outcome": pl.String,
    "us": pl.Float64,
    "gflops": pl.Float64,
    "gbps": pl.Float64,
    "iters": pl.Int32,
    "cold_iters": pl.Int32,
    "n_samples": pl.Int32,
    "spread": pl.Float64,
    "sclk_mhz": pl.Float64,
    "mclk_mhz": pl.Float64,
    "workspace": pl.Int64,
    "measured_at": pl.Datetime("us", "UTC"),
    "check_outcome": pl.String,  # outcome of a validation; null: none was made
    "norm_error": pl.Float64,
    "atol": pl.String,
    "rtol": pl.String,
    "extra": pl.String,
}


@dataclass(slots=True)
class Results:
    """What one source holds.

    Attributes:
        rows: columns of ``PROBLEM_SCHEMA`` and ``RESULT_SCHEMA``.
        environments, protocols: what the rows' numbers mean.
        rejects: (line, reason, text) of what could not be read.
        detail: what the format carries besides rows.
    """

    rows: pl.DataFrame
    environments: list[Environment]
    protocols: list[Protocol]
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)


def results_of(
    frame: pl.DataFrame,
    environments: Sequence[Environment],
    protocols: Sequence[Protocol],
    rejects: Sequence[tuple[int, str, str]] = (),
    detail: dict[str, Any] | None = None,
) -> Results:
    """Complete a frame of results and judge its times.

    Args:
        frame: as :func:`geko.ingest.problem_columns.with_problem_columns` gives it, with any of the columns
            of ``RESULT_SCHEMA``; rows with a ``reason`` become rejects. An ``outcome`` that is given stays,
            unless it is ``ok`` and the time is impossible.
        environments, protocols: what the numbers in ``environment`` and ``protocol`` (0 when absent) mean.
        rejects: what was found unreadable before.
        detail: kept with the file.
    """
    bad = frame.filter(pl.col("reason").is_not_null()) if "reason" in frame.columns else frame.clear()
    if len(bad):
        frame = frame.filter(pl.col("reason").is_null())
    defaults = {"environment": 0, "protocol": 0, "outcome": "ok"}
    columns = [
        pl.col(name).cast(dtype)
        if name in frame.columns
        else pl.lit(defaults.get(name), dtype=dtype).alias(name)
        for name, dtype in RESULT_SCHEMA.items()
    ]
    rows = judged(frame.select(*PROBLEM_SCHEMA, *columns), environments)
    found = [*rejects, *_rejected(bad)]
    return Results(rows, list(environments), list(protocols), found, detail or {})


def _rejected(bad: pl.DataFrame) -> list[tuple[int, str, str]]:
    if not len(bad):
        return []
    shown = [name for name in ("trans_a", "trans_b", "m", "n", "batch", "k", "us") if name in bad.columns]
    lines = bad["line"].to_list() if "line" in bad.columns else [0] * len(bad)
    texts = bad.select(pl.struct(shown).struct.json_encode().alias("text"))["text"].to_list()
    return list(zip(lines, bad["reason"].to_list(), texts, strict=True))


def _product(environment: Environment) -> Product | None:
    """The GPU model, or the fastest of its target: its peak bounds every real rate from above."""
    product = find_product(environment.device_name) if environment.device_name else None
    if product is None and environment.arch:
        try:
            return fastest_product(environment.arch)
        except InputError:
            return None
    return product


def judged(rows: pl.DataFrame, environments: Sequence[Environment]) -> pl.DataFrame:
    """Give impossible times an outcome that never wins; the time stays as it was printed.

    Impossible is a time that is not finite, not above zero, or that needs more than the device's matrix peak
    (:mod:`geko.domain.arch`); 2 % above the peak are let through, as clocks differ. The reason is put into
    ``extra``.
    """
    kinds = ("environment", "a_type", "b_type", "compute_type")
    distinct = rows.select(kinds).unique(maintain_order=True)
    products = [_product(environment) for environment in environments]
    peaks = [
        product.peak(a_type, b_type, compute_type) if (product := products[number]) is not None else None
        for number, a_type, b_type, compute_type in distinct.iter_rows()
    ]
    limits = distinct.with_columns(peak=pl.Series(peaks, dtype=pl.Float64) * 1000)
    rows = rows.join(limits, on=kinds, how="left", maintain_order="left", nulls_equal=True)
    size = ("m", "n", "k", "batch")
    rate = (
        pl.lit(2e-3)
        * pl.fold(pl.lit(1.0), lambda a, b: a * b, [pl.col(c).cast(pl.Float64) for c in size])
        / pl.col("us")
    )
    ok = pl.col("outcome") == "ok"
    broken = ~pl.col("us").is_finite() | (pl.col("us") <= 0)
    reason = (
        pl.when(ok & broken)
        .then(pl.concat_str(pl.lit("time of "), pl.col("us").cast(pl.String), pl.lit(" us is none")))
        .when(ok & (rate > pl.col("peak") * 1.02))
        .then(
            pl.concat_str(
                rate.round(0).cast(pl.Int64, strict=False).cast(pl.String),
                pl.lit(" GFLOP/s is above the peak of the device, "),
                pl.col("peak").round(0).cast(pl.Int64).cast(pl.String),
            )
        )
    )
    rows = rows.with_columns(_reason=reason)
    item = pl.concat_str(pl.lit('{"invalid":"'), pl.col("_reason"), pl.lit('"'))
    rest = (
        pl.when(pl.col("extra").is_null())
        .then(pl.lit("}"))
        .otherwise(pl.lit(",") + pl.col("extra").str.slice(1))
    )
    return rows.with_columns(
        outcome=pl.when(pl.col("_reason").is_not_null()).then(pl.lit("parse_error")).otherwise("outcome"),
        extra=pl.when(pl.col("_reason").is_not_null()).then(item + rest).otherwise("extra"),
    ).drop("_reason", "peak")


#: Columns of table ``solution`` that the parsed name has under other names, and under the same.
_RENAMED: dict[str, str] = {
    "gemm_type": "types",
    "operation": "contraction",
    "wg0": "wg_x",
    "wg1": "wg_y",
    "wg2": "wg_z",
}
_SAME = (
    "isa", "mt0", "mt1", "depth_u", "mi_m", "mi_n", "mi_k", "mi_b", "miwt0", "miwt1", "gsu", "gsu_algorithm",
    "stream_k", "wgm", "wgm_xcc", "pgr", "plr", "local_split_u", "vwa", "vwb", "grvwa", "grvwb", "stagger_u",
)  # fmt: skip


def parsed(
    results: Results, path: Path, scratch: Scratch, *, kind: str, n_lines: int | None = None
) -> Parsed:
    """The rows of the warehouse's tables.

    Args:
        results: what the file holds.
        path: the file; the ids of measurements are made of its content and the row's number.
        scratch: hashes the identities.
        kind: name of the format.
        n_lines: lines of the file.
    """
    source = f"{kind}:{content_sha256(path)}"
    return Parsed(
        tables=tables_of(results, source, scratch),
        rejects=reject_table([(line, 1, reason, text) for line, reason, text in results.rejects]),
        n_lines=n_lines,
        n_rows=len(results.rows),
        detail=results.detail,
    )


@dataclass(frozen=True, slots=True)
class Numbered:
    """Rows with their problems and solutions apart, each under a number.

    Attributes:
        problems: ``problem_no`` and the columns of table ``problem`` less its id.
        solutions: ``solution_no`` and the columns of table ``solution`` less its id and source.
        names: ``solution_no``, ``kind``, ``name``.
        rows: ``row_no``, ``problem_no``, ``solution_no`` and the other columns of ``RESULT_SCHEMA``.
    """

    problems: pl.DataFrame
    solutions: pl.DataFrame
    names: pl.DataFrame
    rows: pl.DataFrame

    def inputs(self) -> dict[str, pa.Table]:
        """Inputs of the statements in ``sql/queries/ingest_results``."""
        return {
            "problems": self.problems.to_arrow(),
            "solutions": self.solutions.select("solution_no", "canonical").to_arrow(),
            "results": self.rows.select(
                "row_no", "line", "problem_no", "solution_no", "solution_index", "environment"
            ).to_arrow(),
        }


def numbered(results: Results) -> Numbered:
    """Take problems and solutions out of the rows."""
    rows = results.rows
    names = list(PROBLEM_SCHEMA)
    problems = rows.select(names).unique(maintain_order=True).with_row_index("problem_no")
    rows = rows.join(problems, on=names, how="left", maintain_order="left", nulls_equal=True).drop(names)
    # Names are long and few are distinct: encode them once, then go by their codes.
    only = rows["canonical"].null_count() == rows["kernel_name"].null_count() == len(rows)
    key = pl.col("solution_name") if only else pl.coalesce("canonical", "solution_name", "kernel_name")
    rows = rows.with_columns(_key=key.cast(pl.Categorical).to_physical())
    solutions = (
        rows.lazy()
        .filter(pl.col("_key").is_not_null())
        .group_by("_key", maintain_order=True)
        .agg(pl.col("solution_name", "kernel_name", "canonical").drop_nulls().first())
        .with_columns(pl.col("solution_name").cast(pl.String))
        .collect()
        .with_row_index("solution_no")
    )
    rows = (
        rows.drop("solution_name", "kernel_name", "canonical")
        .join(solutions.select("_key", "solution_no"), on="_key", how="left", maintain_order="left")
        .drop("_key")
        .with_row_index("row_no")
    )
    return Numbered(problems, _solutions(solutions), _names(solutions), rows)


def tables_of(results: Results, source: str, scratch: Scratch) -> dict[str, pa.Table]:
    """Rows by table name, ids as texts.

    Args:
        results: the rows.
        source: names the content that they were read from; the same source gives the same ids.
        scratch: hashes the identities.
    """
    parts = numbered(results)
    inputs = parts.inputs()
    problem_ids = scratch.query("ingest_results/problem_ids", inputs)
    solution_ids = scratch.query("ingest_results/solution_ids", inputs)
    ids = {
        "problem": problem_ids["problem_id"].combine_chunks(),
        "solution": solution_ids["solution_id"].combine_chunks(),
        "environment": pa.array([item.environment_id for item in results.environments], pa.string()),
        "protocol": pa.array([item.protocol_id for item in results.protocols], pa.string()),
    }
    # Sorted so that the ids of environment, protocol and problem take next to no room in the file.
    rows = parts.rows.sort("environment", "protocol", "problem_no", "row_no")
    measured = rows.filter(pl.col("outcome").is_not_null())
    checked = rows.filter(pl.col("check_outcome").is_not_null())
    checks = checked.drop("outcome").rename({"check_outcome": "outcome"})
    problem = parts.problems.drop("problem_no").to_arrow().append_column("problem_id", ids["problem"])
    solution = parts.solutions.drop("solution_no").to_arrow().append_column("solution_id", ids["solution"])
    names = parts.names.with_columns(
        solution_id=pl.Series(ids["solution"]).gather(parts.names["solution_no"])
    )
    tables = {
        "environment": _distinct([item.row() for item in results.environments], "environment_id"),
        "protocol": _distinct([item.row() for item in results.protocols], "protocol_id"),
        "problem": problem,
        "solution": _first_of_each(solution.append_column("source", pa.repeat("name", solution.num_rows))),
        "solution_name": names.select("solution_id", "kind", "name").unique(maintain_order=True).to_arrow(),
        "measurement": _evidence("measurement", measured, _MEASURED, ids, source, scratch),
        "validation": _evidence("validation", checks, _CHECKED, ids, source, scratch),
    }
    return {name: table for name, table in tables.items() if table.num_rows}


_MEASURED = (
    "rank", "winner_echo", "solution_index", "outcome", "us", "gflops", "gbps", "iters", "cold_iters",
    "n_samples", "spread", "sclk_mhz", "mclk_mhz", "workspace", "measured_at", "extra",
)  # fmt: skip
_CHECKED = ("solution_index", "outcome", "norm_error", "atol", "rtol", "measured_at")


def _evidence(
    kind: str,
    rows: pl.DataFrame,
    columns: tuple[str, ...],
    ids: dict[str, pa.Array],
    source: str,
    scratch: Scratch,
) -> pa.Table:
    """Rows of table ``measurement`` or ``validation``; repeated ids are dictionary columns, cast once each."""
    numbers = {"numbers": rows.select("row_no").to_arrow()}
    own = scratch.query("ingest_results/row_ids", numbers, source=source, kind=kind)["id"]
    result = {f"{kind}_id": own}
    for name, number in _NUMBERS.items():
        indices = rows[number].cast(pl.Int32).to_arrow()
        result[f"{name}_id"] = pa.DictionaryArray.from_arrays(indices, ids[name])
    table = rows.select(columns).to_arrow()
    return pa.table(result | dict(zip(table.column_names, table.columns, strict=True)))


_NUMBERS = {
    "problem": "problem_no",
    "solution": "solution_no",
    "environment": "environment",
    "protocol": "protocol",
}


def _first_of_each(solutions: pa.Table) -> pa.Table:
    """One row an id: names that differ only in what is no part of the identity are one solution."""
    frame: pl.DataFrame = pl.from_arrow(solutions)  # type: ignore[assignment]
    return frame.unique("solution_id", keep="first", maintain_order=True).to_arrow()


def _solutions(solutions: pl.DataFrame) -> pl.DataFrame:
    """Columns of table ``solution`` from the parsed names."""
    given = solutions.with_columns(name=pl.coalesce("solution_name", "kernel_name"))
    found = parse_names(given["name"].drop_nulls()).rename({"canonical": "parsed"})
    joined = given.join(found, on="name", how="left", maintain_order="left")
    return joined.select(
        "solution_no",
        "name",
        *_SAME,
        **{column: pl.col(token) for column, token in _RENAMED.items()},
        direct_to_lds=(pl.col("direct_to_lds_a") > 0) | (pl.col("direct_to_lds_b") > 0),
        direct_to_vgpr_a=pl.col("direct_to_vgpr_a") > 0,
        direct_to_vgpr_b=pl.col("direct_to_vgpr_b") > 0,
        custom_kernel=pl.when(pl.col("custom")).then("name"),
        canonical=pl.coalesce("canonical", "parsed"),
    )


def _names(solutions: pl.DataFrame) -> pl.DataFrame:
    kinds = (("solution", "solution_name"), ("kernel", "kernel_name"))
    return pl.concat(
        solutions.filter(pl.col(column).is_not_null()).select("solution_no", kind=pl.lit(kind), name=column)
        for kind, column in kinds
    )


def _distinct(rows: list[dict[str, Any]], key: str) -> pa.Table:
    return pa.Table.from_pylist(list({row[key]: row for row in rows}.values()))
