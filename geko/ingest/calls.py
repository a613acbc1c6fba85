"""Workload rows of any source into the tables ``problem``, ``call`` and ``workload_call``.

What a row means is decided here and in :mod:`geko.ingest.problem_columns`, once for all sources. Ids are made
in SQL (``sql/queries/ingest/call_ids.sql``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.ingest.cells import RowGroup
from geko.ingest.fields import Column, read_field, text_scalar
from geko.ingest.lines import LineBatch

if TYPE_CHECKING:
    import polars as pl

    from geko.warehouse import Scratch

#: Fields without which a row is no GEMM.
REQUIRED = ("transA", "transB", "M", "N", "K", "a_type", "b_type", "c_type", "compute_type")

# Field of a log -> column of the problem, or of what it is made from.
_COLUMNS = {
    "transA": "trans_a", "transB": "trans_b", "M": "m", "N": "n", "K": "k", "batch_count": "batch",
    "a_type": "a_type", "b_type": "b_type", "c_type": "c_type", "d_type": "d_type",
    "compute_type": "compute_type", "scale_type": "scale_type",
    "scaleA": "scale_a", "scaleB": "scale_b", "scaleC": "scale_c", "scaleD": "scale_d",
    "swizzleA": "swizzle_a", "swizzleB": "swizzle_b", "scaleAlpha_vector": "scale_alpha_vector",
    "gradient": "gradient", "bias_vector": "bias_vector", "bias_type": "bias_type",
    "bias_source": "bias_source",
    "activation_type": "activation", "aux_type": "aux_type", "use_e": "use_e",
    "alpha": "alpha", "beta": "beta", "alphai": "alphai", "betai": "betai",
    "lda": "lda", "ldb": "ldb", "ldc": "ldc", "ldd": "ldd",
    "stride_a": "stride_a", "stride_b": "stride_b", "stride_c": "stride_c", "stride_d": "stride_d",
}  # fmt: skip
_KEPT_APART = frozenset(("call_count",))


@dataclass(slots=True)
class CallTables:
    """What has been read so far.

    Attributes:
        counts: rows of ``workload_call`` (call_id, call_count, n_lines, first_line).
        rejects: (line, n_lines, reason, text).
        n_rows: lines of the file that were understood.
    """

    counts: list[pa.Table] = field(default_factory=list)
    rejects: list[tuple[int, int, str, str]] = field(default_factory=list)
    n_rows: int = 0

    def reject(self, lines: LineBatch, reasons: str | pa.Array) -> None:
        """Note lines that could not be read."""
        texts = [reasons] * len(lines) if isinstance(reasons, str) else reasons.to_pylist()
        columns = (lines.first_line.to_pylist(), lines.n_lines.to_pylist(), texts, lines.texts())
        self.rejects += zip(*columns, strict=True)

    def count_table(self) -> pa.Table:
        """All counts; a call may have several rows, as a file may be read in parts."""
        return pa.concat_tables(self.counts) if self.counts else pa.table({})


def add_calls(
    scratch: Scratch,
    groups: Iterable[RowGroup],
    into: CallTables,
    defaults: Mapping[str, str] | None = None,
) -> dict[str, pa.Table]:
    """Turn rows into calls.

    Args:
        scratch: where ids are made.
        groups: rows as read.
        into: takes counts and rejects.
        defaults: texts of fields that a source leaves out, by name.

    Returns:
        Rows of ``problem`` and ``call``; empty if there were none.
    """
    import polars as pl

    from geko.ingest.problem_columns import PROBLEM_SCHEMA, with_problem_columns

    typed = [part for group in groups if (part := _typed(group, into, defaults or {})) is not None]
    if not typed:
        return {}
    # The long texts stay outside of the frame: copying them costs more than all else done there.
    fields = pa.concat_arrays([part.fields for part in typed]) if len(typed) > 1 else typed[0].fields
    raw = pl.concat([part.frame for part in typed], how="diagonal").with_row_index("row")
    # alpha and beta are also columns of the call itself.
    rows = with_problem_columns(raw.with_columns(call_alpha=pl.col("alpha"), call_beta=pl.col("beta")))
    bad = rows.filter(pl.col("reason").is_not_null())
    if len(bad):
        texts = [text for part in typed for text in part.lines.texts()]
        for row, line, count, reason in bad.select("row", "first_line", "n_lines", "reason").iter_rows():
            into.rejects.append((line, count, reason, texts[row]))
        rows = rows.filter(pl.col("reason").is_null())
    into.n_rows += int(rows["n_lines"].sum())
    return _identified(scratch, rows, fields, into, tuple(PROBLEM_SCHEMA))


def _identified(
    scratch: Scratch, rows: pl.DataFrame, fields: pa.Array, into: CallTables, columns: tuple[str, ...]
) -> dict[str, pa.Table]:
    """Give rows their ids; count calls, keep each problem and call once."""
    import polars as pl

    def with_fields(frame: pl.DataFrame, names: tuple[str, ...]) -> pa.Table:
        whole = len(frame) == len(fields)
        taken = fields if whole else fields.take(frame["row"].to_arrow())
        return frame.select(names).to_arrow().append_column("fields", taken)

    ids = scratch.query("ingest/call_ids", {"raw_calls": with_fields(rows, columns)})
    rows = pl.concat([rows, pl.DataFrame(pl.from_arrow(ids))], how="horizontal")
    into.counts.append(
        rows.group_by("call_id", maintain_order=True)
        .agg(
            call_count=(pl.col("call_count") * pl.col("n_lines")).sum(),
            n_lines=pl.col("n_lines").sum(),
            first_line=pl.col("first_line").min(),
        )
        .to_arrow()
    )
    problems = rows.unique("problem_id", keep="first", maintain_order=True)
    calls = rows.unique("call_id", keep="first", maintain_order=True)
    calls = calls.select(
        "row", "call_id", "problem_id", "solution_index", alpha="call_alpha", beta="call_beta"
    )
    call_columns = ("call_id", "problem_id", "alpha", "beta", "solution_index")
    return {
        "problem": problems.select("problem_id", *columns).to_arrow(),
        "call": with_fields(calls, call_columns),
    }


@dataclass(frozen=True, slots=True)
class _Typed:
    """Rows of one group: problem columns (texts as logged), canonical JSON, and the lines they come from."""

    frame: pl.DataFrame
    fields: pa.Array
    lines: LineBatch


def _typed(group: RowGroup, into: CallTables, defaults: Mapping[str, str]) -> _Typed | None:
    """Typed rows of one group; bad ones become rejects."""
    import polars as pl

    lines = group.lines
    columns = {name: read_field(name, column) for name, column in group.columns.items()}
    given = dict(columns)
    for name, text in defaults.items():
        given[name] = _filled(name, given.get(name), text, len(lines))
    reason = _reasons(given, len(lines))
    data: dict[str, pa.Array] = {
        column: given[name].value for name, column in _COLUMNS.items() if name in given
    }
    fields = _canonical(
        [columns[name].item for name in sorted(columns) if name not in _KEPT_APART], len(lines)
    )
    data |= {"n_lines": lines.n_lines, "first_line": lines.first_line}
    one = pa.repeat(pa.scalar(1, pa.int64()), len(lines))
    data["call_count"] = pc.fill_null(given["call_count"].value, 1) if "call_count" in given else one
    index = given.get("solution_index")
    data["solution_index"] = index.value if index else pa.nulls(len(lines), pa.int64())
    data["grouped"] = _grouped(given, len(lines))
    if reason is not None:
        bad = pc.is_valid(reason)
        into.reject(lines.filter(bad), reason.filter(bad))
        good = pc.invert(bad)
        data = {name: column.filter(good) for name, column in data.items()}
        fields, lines = fields.filter(good), lines.filter(good)
        if not len(lines):
            return None
    frame = pl.from_arrow(pa.table(data))
    assert isinstance(frame, pl.DataFrame)
    return _Typed(_meaning(frame), fields, lines)


def _meaning(frame: pl.DataFrame) -> pl.DataFrame:
    """What only logs say in their own way: switches for what follows, complex factors, sizes of 0."""
    import polars as pl

    new: dict[str, Any] = {}
    for name in ("alpha", "beta"):
        if name not in frame.columns:
            new[name] = pl.lit(1.0 if name == "alpha" else 0.0)
        if f"{name}i" in frame.columns:
            imaginary = pl.col(f"{name}i").fill_null(0.0) != 0
            new[f"{name}_class"] = pl.when(imaginary).then(pl.lit("other"))
    for name in ("lda", "ldb", "ldc", "ldd"):
        if name in frame.columns:
            new[name] = pl.when(pl.col(name) > 0).then(pl.col(name))
    for name in ("stride_a", "stride_b", "stride_c", "stride_d"):
        if name in frame.columns:
            new[name] = pl.when(pl.col(name) >= 0).then(pl.col(name))
    d_type = pl.coalesce("d_type", "c_type") if "d_type" in frame.columns else pl.col("c_type")
    if "use_e" in frame.columns:
        named = pl.col("aux_type") if "aux_type" in frame.columns else pl.lit(None, dtype=pl.String)
        unsaid = named.is_null() | named.is_in(["default", "invalid"])
        new["aux_type"] = pl.when(pl.col("use_e")).then(pl.when(unsaid).then(d_type).otherwise(named))
    else:
        new["aux_type"] = pl.lit(None, dtype=pl.String)
    if "bias_vector" not in frame.columns:
        new["bias_vector"] = pl.lit(False)
    return frame.with_columns(**new).drop("use_e", "alphai", "betai", strict=False)


def _filled(name: str, column: Column | None, text: str, count: int) -> Column:
    default = read_field(name, pa.array([text], pa.large_string()).dictionary_encode())
    if column is None:
        value = pa.repeat(default.value[0], count)
        return Column(value, pa.nulls(count, pa.large_string()), None)
    absent = pc.is_null(column.value)
    if column.reason is not None:
        absent = pc.and_(absent, pc.is_null(column.reason))
    return Column(pc.if_else(absent, default.value[0], column.value), column.item, column.reason)


def _reasons(columns: Mapping[str, Column], count: int) -> pa.Array | None:
    """Why rows can't be used: the first wrong value, else the first missing field; None if all can."""
    found: list[pa.Array] = [column.reason for column in columns.values() if column.reason is not None]
    nothing = text_scalar(None)
    for name in REQUIRED:
        missing = text_scalar(f"the field {name} is missing")
        if name not in columns:
            found.append(pa.repeat(missing, count))
        elif columns[name].value.null_count:
            found.append(pc.if_else(pc.is_null(columns[name].value), missing, nothing))
    counts = columns["call_count"].value if "call_count" in columns else None
    if counts is not None and (pc.min(counts).as_py() or 0) < 0:
        negative = pc.fill_null(pc.less(counts, 0), False)
        found.append(pc.if_else(negative, text_scalar("call_count is negative"), nothing))
    return pc.coalesce(*found) if found else None


def _canonical(items: list[pa.Array | pa.Scalar], count: int) -> pa.Array:
    """Canonical JSON objects of their ``"name":value`` items, which come sorted by name."""
    parts: list[pa.Array | pa.Scalar] = []
    for item in items:
        if isinstance(item, pa.Scalar) and parts and isinstance(parts[-1], pa.Scalar):
            texts = [part.as_py() for part in (parts[-1], item)]
            parts[-1] = text_scalar(",".join(text for text in texts if text is not None) or None)
        else:
            parts.append(item)
    empty = pa.repeat(text_scalar(""), count)
    options = pc.JoinOptions(null_handling="skip")
    joined = pc.binary_join_element_wise(*parts, text_scalar(","), options=options) if parts else empty
    if isinstance(joined, pa.Scalar):
        joined = pa.repeat(joined, count)
    return pc.binary_join_element_wise(text_scalar("{"), joined, text_scalar("}"), text_scalar(""))


def _grouped(columns: Mapping[str, Column], count: int) -> pa.Array:
    """Whether a row is a grouped GEMM: said by ``grouped_gemm`` (count or flag) or the function's name."""
    found = pa.repeat(False, count)
    number = columns.get("grouped_gemm")
    if number is not None:
        plain = pc.is_in(pc.utf8_lower(number.value), pa.array(["0", "false", "no"], pa.large_string()))
        found = pc.or_(found, pc.and_(pc.is_valid(number.value), pc.invert(plain)))
    function = columns.get("function")
    if function is not None:
        named = pc.match_substring(pc.fill_null(function.value, ""), "group", ignore_case=True)
        found = pc.or_(found, named)
    return found
