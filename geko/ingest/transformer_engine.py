"""Transformer Engine's table of chosen algorithms: which solution index serves a GEMM, without a time.

Sizes are column-major, as Transformer Engine hands them to hipBLASLt. The library version the indices belong
to is not in the file, so that they can be listed and compared, but not trusted in another build.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from geko.domain.environment import Environment
from geko.domain.protocol import Protocol
from geko.ingest.problem_columns import with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.text_columns import extra_json, read_table_cells
from geko.ingest.tuned_table import with_library

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_NEEDED = {"dev_cap", "m", "n", "k", "trans_a", "trans_b", "type_a", "type_b", "type_d", "algo_id"}
#: Device capability as Transformer Engine counts it (major · 100 + minor) -> gfx target.
_TARGETS = {"904": "gfx942", "905": "gfx950", "94": "gfx942", "95": "gfx950"}
_RELU, _BIAS, _GELU, _AUX, _GRADIENT = 2, 4, 32, 128, 64


class TransformerEngine:
    """Format of Transformer Engine's algorithm table."""

    kind = "transformer-engine"
    version = 1
    title = "Transformer Engine algorithm table"

    def sniff(self, head: bytes, path: Path) -> float:
        """A header line with its column names."""
        names = head.partition(b"\n")[0].decode("utf-8", "replace").split(",")
        return 1.0 if {name.strip() for name in names} >= _NEEDED else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read the rows as entries of a library."""
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        results = read_table(lines)
        tables = parsed(results, path, scratch, kind=self.kind, n_lines=len(lines))
        return with_library(tables, results, path, scratch, program="transformer-engine", version=None)


def read_table(lines: list[str]) -> Results:
    """Problems and solution indices of a table; its rows have no outcome, as nothing was timed."""
    frame, rejects = read_table_cells(lines)
    capability = pl.col("dev_cap")
    devices = frame.select(capability).unique(maintain_order=True).with_row_index("environment")
    environments = [
        Environment(simulated=False, gfx=_TARGETS.get(text)) for text in devices["dev_cap"].to_list()
    ]
    frame = frame.join(devices, on="dev_cap", how="left", maintain_order="left")
    for name in (
        "epi",
        "bias_type",
        "aux_type",
        "comp",
        "scale_type",
        "lda",
        "ldb",
        "ldd",
        "scale_mode",
        "aidx",
    ):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    number = pl.col("epi").cast(pl.Int64, strict=False).fill_null(0)
    word = pl.col("epi").fill_null("").str.to_lowercase()
    bias = ((number & _BIAS) > 0) | word.str.contains("bias|bgrad")
    aux = ((number & _AUX) > 0) | word.str.contains("aux")
    gelu, relu = (
        ((number & _GELU) > 0) | word.str.contains("gelu"),
        ((number & _RELU) > 0) | word.str.contains("relu"),
    )
    scaled = pl.col("type_a").str.contains("float8")
    vector = pl.col("scale_mode").fill_null("").str.to_lowercase()
    block = vector.str.contains("mx|block|32")
    scale = pl.when(block).then(3).when(scaled).then(1).otherwise(0)
    size = ("m", "n", "k", "lda", "ldb", "ldd")
    kept = [
        name for name in ("ws_min", "ws_max", "aidx", "epi", "scale_mode", "comp") if name in frame.columns
    ]
    extra = extra_json({name: frame[name].to_arrow().cast("string") for name in kept}, len(frame))
    workspace = pl.col("ws_min").cast(pl.Int64, strict=False) if "ws_min" in frame.columns else None
    frame = frame.with_columns(
        *(pl.col(name).cast(pl.Int64, strict=False) for name in size),
        trans_a=_transpose("trans_a"),
        trans_b=_transpose("trans_b"),
        a_type="type_a",
        b_type="type_b",
        c_type="type_d",
        d_type="type_d",
        compute_type=_compute(),
        scale_type=_given("scale_type"),
        bias_vector=bias,
        bias_type=_given("bias_type"),
        aux_type=pl.when(aux).then(_given("aux_type")),
        scale_a=scale,
        scale_b=scale,
        activation=pl.when(gelu)
        .then(pl.lit("gelu"))
        .when(relu)
        .then(pl.lit("relu"))
        .otherwise(pl.lit("none")),
        gradient=((number & _GRADIENT) > 0) | word.str.contains("dgelu|bgrad"),
        solution_index=pl.col("algo_id").cast(pl.Int64, strict=False),
        workspace=workspace,
        outcome=pl.lit(None, dtype=pl.String),
        extra=pl.Series(extra, dtype=pl.String),
    ).with_columns(ldc="ldd")
    protocol = Protocol("transformer-engine", "import", iteration_rule="unknown", statistic=None)
    return results_of(with_problem_columns(frame), environments, [protocol], rejects)


def _transpose(name: str) -> pl.Expr:
    text = pl.col(name).str.to_uppercase()
    return (
        pl.when(text.is_in(["1", "TRUE", "T"]))
        .then(pl.lit("T"))
        .when(text.is_in(["0", "FALSE", "N"]))
        .then(pl.lit("N"))
        .otherwise(text)
    )


def _given(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(~text.is_in(["", "-", "none", "None", "0"])).then(text)


def _compute() -> pl.Expr:
    text = pl.col("comp").fill_null("").str.to_lowercase()
    return (
        pl.when(text.str.contains("xf32|tf32"))
        .then(pl.lit("xf32_r"))
        .when(text.str.contains("64"))
        .then(pl.lit("f64_r"))
        .otherwise(pl.lit("f32_r"))
    )


FORMAT = TransformerEngine()
