"""aiter's tuned and untuned GEMM tables, and those of its forerunner gradlib.

Which operator a table is for stands in its columns (``dtype``, ``q_dtype_w``) or in its kernels' names
(``a4w4_...``, ``..._per1x32Fp4_...``, ``a8w8_blockscale_...``); the file name proves nothing. aiter
multiplies row-major: Y[M, N] = X[M, K] · W[N, K]ᵀ. In column-major terms, as hipBLASLt counts, A is the
weight: m = N, n = M, transposes T and N, A's type that of W. The old gradlib tables (``soltimems``) already
name the weight's rows M: there nothing changes places. Times are microseconds (``us``), in gradlib
milliseconds.

Block scales of 128 (``a8w8_blockscale``) have no code in hipBLASLt's clients; the codes below keep such
problems apart from unscaled ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from geko.domain.environment import Environment
from geko.domain.protocol import Protocol
from geko.errors import InputError
from geko.ingest.listed import with_listed
from geko.ingest.problem_columns import with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.text_columns import read_table_cells
from geko.ingest.tuned_table import with_library

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

#: Scale codes of their own for float scales of 1 x 128 (activation) and 128 x 128 (weight) blocks.
SCALE_1X128, SCALE_128X128 = 2001, 2002
_MX_1X32, _ROWWISE, _SCALAR = 3, 2, 1
#: aiter's tuner takes a kernel whose share of wrong elements is up to this (its option ``--errRatio``).
TOLERATED_ERROR_RATIO = 0.05

_SIZES = {"M", "N", "K"}
_SIGNS = {"dtype", "outdtype", "q_dtype_w", "kernelid", "kernelname", "solidx", "indtype", "libtype"}
_USED = {
    "gfx", "cu_num", "b", "m", "n", "k", "bias", "dtype", "indtype", "outdtype", "scaleab", "bpreshuffle",
    "q_dtype_w", "us", "soltimems", "kernelname", "tflops", "bw",
}  # fmt: skip


class Aiter:
    """Format of aiter and gradlib tables."""

    kind = "aiter"
    version = 1
    title = "aiter tuned or untuned GEMM table"

    def sniff(self, head: bytes, path: Path) -> float:
        """A header line with M, N, K and columns of aiter's."""
        names = {name.strip() for name in head.partition(b"\n")[0].decode("utf-8", "replace").split(",")}
        if not names >= _SIZES:
            return 0.0
        # M, N, K alone may be aiter's or any list; it has no types, so that reading it fails with the remedy.
        return 1.0 if {name.lower() for name in names} & _SIGNS else 0.2 if names == _SIZES else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a table: rows with a time are measurements, tuned rows entries of a library, untuned rows
        calls."""
        text = path.read_text(encoding="utf-8", errors="replace")
        results, tuned = read_table(text, path)
        n_lines = text.count("\n") + (not text.endswith("\n"))
        tables = parsed(results, path, scratch, kind=self.kind, n_lines=n_lines)
        if not tuned:
            measured = results_of(results.rows.clear(), results.environments, results.protocols)
            empty = parsed(measured, path, scratch, kind=self.kind, n_lines=n_lines)
            return with_listed(empty, results, scratch)
        return with_library(tables, results, path, scratch, program="aiter", version=None)


def read_table(text: str, path: Path | None = None) -> tuple[Results, bool]:
    """Results of a table, and whether it is a tuned one.

    Args:
        text: the file.
        path: for messages.

    Raises:
        InputError: if the table doesn't say of which types its GEMMs are.
    """
    frame, rejects = read_table_cells(text.split("\n"), lower=True)
    names = set(frame.columns)
    tuned = bool(names & {"kernelid", "kernelname", "solidx"})
    gradlib = "soltimems" in names
    frame = _with_operator(frame)
    if frame["x_type"].null_count() == len(frame):
        raise InputError(
            "this table names no data types; add a column dtype (such as torch.bfloat16) or q_dtype_w",
            path=path,
        )
    m, n = ("m", "n") if gradlib else ("n", "m")
    integer = pl.col("x_type").str.contains("i8_r|int8")
    frame = frame.with_columns(
        m=_whole(frame, m),
        n=_whole(frame, n),
        k=_whole(frame, "k"),
        batch=_whole(frame, "b").fill_null(1),
        trans_a=pl.lit("T"),
        trans_b=pl.lit("N"),
        a_type=pl.col("x_type"),
        b_type=pl.col("x_type"),
        c_type=pl.col("y_type"),
        d_type=pl.col("y_type"),
        compute_type=pl.when(integer).then(pl.lit("i32_r")).otherwise(pl.lit("f32_r")),
        scale_type=pl.lit("f32_r"),
        bias_vector=_flag(frame, "bias"),
        swizzle_a=_flag(frame, "bpreshuffle"),
    )
    us = _number(frame, "soltimems") * 1000 if gradlib else _number(frame, "us")
    frame = frame.with_columns(us=us)
    environments, frame = _environments(frame)
    if tuned:
        frame = _with_solutions(frame)
    frame = frame.with_columns(extra=_extra(frame))
    results = results_of(
        with_problem_columns(frame),
        environments,
        [Protocol("gradlib" if gradlib else "aiter", "import", timer="gpu", iteration_rule="unknown")],
        rejects,
    )
    return results, tuned


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name) if name in frame.columns else pl.lit(None, dtype=pl.String)


def _number(frame: pl.DataFrame, name: str) -> pl.Expr:
    return _text(frame, name).cast(pl.Float64, strict=False)


def _whole(frame: pl.DataFrame, name: str) -> pl.Expr:
    return _text(frame, name).cast(pl.Int64, strict=False)


def _flag(frame: pl.DataFrame, name: str) -> pl.Expr:
    return _text(frame, name).str.to_lowercase().is_in(["true", "1"]).fill_null(False)


def _with_operator(frame: pl.DataFrame) -> pl.DataFrame:
    """Types of the operands (x) and the output (y), and the scale codes."""
    kernel = _text(frame, "kernelname").fill_null("")
    said = pl.coalesce(_text(frame, "dtype"), _text(frame, "indtype"))
    quantised = _text(frame, "q_dtype_w")
    fnuz = _text(frame, "gfx").fill_null("").str.starts_with("gfx94")
    fp8 = pl.when(fnuz).then(pl.lit("f8_fnuz_r")).otherwise(pl.lit("f8_r"))
    is_fp4 = kernel.str.contains("per1x32Fp4|a4w4")
    is_block = kernel.str.contains("a8w8_blockscale")
    is_batched = kernel.str.contains("^a8w8_batched")
    is_bf16 = kernel.str.contains("^bf16_batched")
    x_type = (
        pl.when(said.is_not_null()).then(said).when(quantised.is_not_null()).then(quantised)
        .when(is_fp4).then(pl.lit("f4_r")).when(is_block).then(fp8).when(is_batched).then(pl.lit("i8_r"))
        .when(is_bf16).then(pl.lit("bf16_r"))
    )  # fmt: skip
    scaled = _flag(frame, "scaleab")
    rowwise = quantised.is_not_null() | is_batched
    scale_x = (
        pl.when(is_fp4).then(_MX_1X32).when(is_block).then(SCALE_1X128).when(rowwise).then(_ROWWISE)
        .when(scaled).then(_SCALAR).otherwise(0)
    )  # fmt: skip
    scale_w = pl.when(is_block & ~is_fp4).then(SCALE_128X128).otherwise(scale_x)
    return frame.with_columns(
        x_type=x_type,
        y_type=pl.coalesce(_text(frame, "outdtype"), pl.lit("bf16_r")),
        scale_b=scale_x,
        scale_a=scale_w,
    )


def _environments(frame: pl.DataFrame) -> tuple[list[Environment], pl.DataFrame]:
    machine = frame.with_columns(_gfx=_text(frame, "gfx"), _cus=_whole(frame, "cu_num"))
    distinct = machine.select("_gfx", "_cus").unique(maintain_order=True).with_row_index("environment")
    environments = [
        Environment(simulated=False, gfx=gfx, cu_count=cus) for _, gfx, cus in distinct.iter_rows()
    ]
    joined = machine.join(distinct, on=["_gfx", "_cus"], how="left", maintain_order="left", nulls_equal=True)
    return environments, joined.drop("_gfx", "_cus")


def _with_solutions(frame: pl.DataFrame) -> pl.DataFrame:
    """Kernel, its identity, rates and the check of a tuned row."""
    library = pl.coalesce(_text(frame, "libtype"), pl.lit("ck"))
    name = _text(frame, "kernelname")
    name = pl.when(name != "").then(name)
    index = pl.coalesce(_text(frame, "solidx"), _text(frame, "kernelid")).cast(pl.Int64, strict=False)
    # splitK is an argument of these kernels, so it is part of what was timed.
    split = _text(frame, "splitk").fill_null("")
    of_tensile = name.str.starts_with("Cijk_")
    canonical = pl.concat_str(
        pl.lit('{"Family":"aiter","Kernel":"'), name, pl.lit('","Library":"'), library,
        pl.lit('","SplitK":"'), split, pl.lit('"}'),
    )  # fmt: skip
    error = pl.coalesce(_number(frame, "err_ratio"), _number(frame, "errratio"))
    has_time = pl.col("us").is_not_null()
    check = pl.when(error <= TOLERATED_ERROR_RATIO).then(pl.lit("passed")).otherwise(pl.lit("failed"))
    failed = error > TOLERATED_ERROR_RATIO
    return frame.with_columns(
        kernel_name=name,
        canonical=pl.when(~of_tensile).then(canonical),
        solution_index=index,
        outcome=pl.when(~has_time).then(pl.lit(None, dtype=pl.String))
        .when(failed).then(pl.lit("verify_failed")).otherwise(pl.lit("ok")),
        gflops=_number(frame, "tflops") * 1000,
        gbps=_number(frame, "bw"),
        check_outcome=pl.when(error.is_not_null() & has_time).then(check),
    )  # fmt: skip


def _extra(frame: pl.DataFrame) -> pl.Expr:
    """Columns of the table without a place of their own, as a JSON object of texts."""
    rest = [
        name
        for name in frame.columns
        if name not in _USED and name not in _ADDED and frame.schema[name] == pl.String
    ]
    items = [
        pl.when(pl.col(name).fill_null("") != "").then(
            pl.lit(f'"{name}":"') + pl.col(name).str.replace_all("\\", "\\\\", literal=True)
            .str.replace_all('"', '\\"', literal=True) + pl.lit('"')
        )
        for name in rest
    ]  # fmt: skip
    if not items:
        return pl.lit(None, dtype=pl.String)
    joined = pl.concat_str(items, separator=",", ignore_nulls=True)
    return pl.when(joined != "").then(pl.lit("{") + joined + pl.lit("}"))


_ADDED: frozenset[Any] = frozenset(
    {
        "x_type", "y_type", "trans_a", "trans_b", "a_type", "b_type", "c_type", "d_type", "compute_type",
        "scale_type", "kernel_name", "canonical", "outcome", "check_outcome",
    }
)  # fmt: skip

FORMAT = Aiter()
