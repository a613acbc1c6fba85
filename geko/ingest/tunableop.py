"""PyTorch TunableOp tables: ``Validator`` lines, then operator, parameters, solution and its time in
milliseconds.

    GemmTunableOp_Half_TN,tn_1280_231_2048_ld_2048_2048_1280,Gemm_Hipblaslt_TN_12683,0.0566224

Sizes are those that PyTorch hands to BLAS, column-major as hipBLASLt counts: ``tn_m_n_k``, nothing is
swapped. Older versions print no leading dimensions. The number at the end of a solution is its index in the
library build that the validators name; ``Default`` leaves the choice to the library. An untuned table has the
first two fields only: it is a list of calls.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from geko.domain.dtypes import UnknownTypeError, canonical_type
from geko.domain.environment import Environment
from geko.domain.protocol import Protocol
from geko.ingest.listed import with_listed
from geko.ingest.problem_columns import with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.tuned_table import with_library

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_OPERATOR = r"^(\w*?)TunableOp_(.+)_([NTC])([NTC])$"
_PARAMETERS = r"^[ntcNTC]{2}_(\d+)_(\d+)_(\d+)(?:_B_(\d+))?(?:_ld_(\d+)_(\d+)_(\d+))?(.*)$"
_SNIFF = re.compile(rb"^(?:Validator,[A-Z_]+,|\w*TunableOp_[^,\s]+_[NTC]{2},[ntcNTC]{2}_\d)", re.MULTILINE)
_TIMING = Protocol("tunableop", "import", timer="gpu", iteration_rule="unknown")


class TunableOp:
    """Format of TunableOp tables, tuned and untuned."""

    kind = "tunableop"
    version = 1
    title = "PyTorch TunableOp table"

    def sniff(self, head: bytes, path: Path) -> float:
        """Lines of validators or operators."""
        return 1.0 if _SNIFF.search(head) else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a table: tuned rows are measurements and entries of a library, untuned ones calls."""
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        tuned, untuned = read_table(lines)
        tables = parsed(tuned, path, scratch, kind=self.kind, n_lines=len(lines))
        if len(untuned.rows):
            return with_listed(tables, untuned, scratch)
        environment = tuned.environments[0]
        version = environment.hipblaslt_version
        return with_library(tables, tuned, path, scratch, program="pytorch", version=version)


def read_table(lines: list[str]) -> tuple[Results, Results]:
    """Results of the tuned and of the untuned rows of a table; rejects and validators are with the tuned
    ones."""
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", 1)
    frame = frame.with_columns(pl.col("text").str.strip_chars(), pl.col("line").cast(pl.Int64))
    frame = frame.filter(pl.col("text") != "")
    is_validator = pl.col("text").str.starts_with("Validator,")
    pairs = frame.filter(is_validator)["text"].str.splitn(",", 3).struct.unnest()
    validators = dict(zip(pairs["field_1"], pairs["field_2"], strict=True))
    rows = frame.filter(~is_validator)
    fields = rows["text"].str.splitn(",", 4).struct.unnest()
    fields.columns = ["operator", "parameters", "solution", "ms"]
    operator = pl.col("operator").str.extract_groups(_OPERATOR).struct
    sizes = pl.col("parameters").str.extract_groups(_PARAMETERS).struct
    rows = pl.concat([rows, fields], how="horizontal").with_columns(
        kind=operator.field("1"),
        types=operator.field("2"),
        trans_a=operator.field("3"),
        trans_b=operator.field("4"),
        **{name: sizes.field(str(at + 1)).cast(pl.Int64) for at, name in enumerate(("m", "n", "k"))},
        batch=sizes.field("4").cast(pl.Int64),
        **{name: sizes.field(str(at + 5)).cast(pl.Int64) for at, name in enumerate(("lda", "ldb", "ldc"))},
        rest=sizes.field("8"),
    )
    unread = rows.filter(pl.col("m").is_null() | pl.col("types").is_null())
    rejects = [
        (line, "no row of a TunableOp table: operator, parameters, solution, time", text)
        for line, text in unread.select("line", "text").iter_rows()
    ]
    rows = _with_types(rows.filter(pl.col("m").is_not_null() & pl.col("types").is_not_null()))
    us = pl.col("ms").str.strip_chars().cast(pl.Float64, strict=False) * 1000
    name = pl.col("solution").str.strip_chars()
    none = pl.lit("")
    unread_time = us.is_null() & name.is_not_null()
    extra = pl.concat_str(
        pl.lit('{"solution":"'), name, pl.lit('","operator":"'), "kind", pl.lit('"'),
        pl.when(pl.col("rest") != "").then(pl.lit(',"parameters":"') + pl.col("rest") + '"').otherwise(none),
        pl.when(unread_time).then(pl.lit(',"time":"') + pl.col("ms").fill_null("") + '"').otherwise(none),
        pl.lit("}"),
    )  # fmt: skip
    bias = pl.col("kind").str.contains("Bias") | pl.col("rest").str.contains(
        r"_bias_(?:None|0|False)"
    ).not_() & pl.col("rest").str.contains("_bias_")
    rows = rows.with_columns(
        us=us,
        solution_index=name.str.extract(r"(-?\d+)$").cast(pl.Int64),
        outcome=pl.when(us.is_infinite()).then(pl.lit("unsupported")).when(us.is_null()).then(pl.lit("parse_error"))
        .otherwise(pl.lit("ok")),
        extra=extra,
        bias_vector=bias.fill_null(False),
        ldd="ldc",
    )  # fmt: skip
    rows = with_problem_columns(rows)
    environment = environment_of(validators)
    tuned = results_of(
        rows.filter(pl.col("solution").is_not_null()),
        [environment],
        [_TIMING],
        rejects,
        {"validators": validators},
    )
    untuned = results_of(rows.filter(pl.col("solution").is_null()), [environment], [_TIMING])
    return tuned, untuned


def environment_of(validators: dict[str, str]) -> Environment:
    """The environment that the validators of a table name."""
    version, _, git = validators.get("HIPBLASLT_VERSION", "").partition("-")
    return Environment(
        simulated=False,
        gfx=validators.get("GCN_ARCH_NAME"),
        rocm=validators.get("ROCM_VERSION"),
        hip=validators.get("HIP_VERSION"),
        hipblaslt_version=version or None,
        hipblaslt_git=git or None,
    )


def _with_types(rows: pl.DataFrame) -> pl.DataFrame:
    """Types of the matrices from the operator's type names: one for all, or three of A, B and D for scaled
    GEMMs."""
    found = []
    for text in rows["types"].unique(maintain_order=True).to_list():
        a_type, b_type, d_type = _split_types(text) or (text, text, text)
        compute = {"f64_r": "f64_r", "f64_c": "f64_r", "xf32_r": "xf32_r"}.get(a_type, "f32_r")
        a_type, b_type, d_type = ("f32_r" if name == "xf32_r" else name for name in (a_type, b_type, d_type))
        found.append((text, a_type, b_type, d_type, d_type, compute))
    names = ("types", "a_type", "b_type", "c_type", "d_type", "compute_type")
    types = pl.DataFrame(found, schema=dict.fromkeys(names, pl.String), orient="row")
    rows = rows.join(types, on="types", how="left", maintain_order="left")
    scaled = pl.col("kind").str.contains("Scaled")
    code = (
        pl.when(scaled).then(pl.when(pl.col("rest").str.contains("_rw_1")).then(2).otherwise(1)).otherwise(0)
    )
    return rows.with_columns(scale_a=code, scale_b=code)


def _split_types(text: str) -> tuple[str, str, str] | None:
    """One known type name, or three of them joined by ``_`` (the names themselves may hold it)."""
    parts = text.split("_")
    for first in range(1, len(parts) + 1):
        for second in range(first, len(parts) + 1):
            names = ["_".join(parts[:first]), "_".join(parts[first:second]), "_".join(parts[second:])]
            try:
                tokens = [canonical_type(name) for name in names if name]
            except UnknownTypeError:
                continue
            if len(tokens) == 1:
                return tokens[0], tokens[0], tokens[0]
            if len(tokens) == 3:
                return tokens[0], tokens[1], tokens[2]
    return None


FORMAT = TunableOp()
