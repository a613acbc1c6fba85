"""Parquet tables of timed candidates and of baselines, in the form that the MI350X tuning results were
published in.

Candidates: one row per kernel and shape out of Tensile client logs (``trans_a``, ``trans_b``, column-major
``m``, ``n``, ``batch``, ``k``, ``solution_name``, ``status``, ``time_us``). Baselines: one row per shape out
of hipblaslt-bench (``shape_id``, ``stock_us``, ``stock_solution_name``, versions). The two harnesses differ
by some 10 % on one kernel, so they get protocols of their own and are never compared with one another.

The name of a shape is row-major: ``fwd_TNN_M4096_N32000_K4096`` is m = 32000, n = 4096 for hipBLASLt. All are
bf16 GEMMs with f32 accumulation, as the kernel's type letters (``BBS``) say.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from geko.domain.environment import Environment
from geko.domain.kernel_name import parse_name
from geko.domain.protocol import Protocol
from geko.errors import InputError
from geko.ingest.problem_columns import map_distinct, with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.tensile_names import with_gemm_of_names

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_CANDIDATES = frozenset({"trans_a", "trans_b", "m", "n", "k", "solution_name", "status", "time_us"})
_BASELINE = frozenset({"shape_id", "stock_us", "stock_solution_name"})
_SHAPE = r"_([NTC])([NTC])[NTC]?_M(\d+)_N(\d+)_K(\d+)$"
#: Outcome of a candidate by the validation that the Tensile client prints.
OUTCOMES = {
    "PASSED": "ok",
    "FAILED": "verify_failed",
    "FAILED_CONV": "verify_failed",
    "WRONG_HARDWARE": "unsupported",
    "DID_NOT_SATISFY_ASSERTS": "unsupported",
    "NO_CHECK": "not_checked",
    "INVALID": "unsupported",
}


class TimingsParquet:
    """Format of candidate and baseline tables."""

    kind = "timings-parquet"
    version = 1
    title = "Parquet table of kernel timings"

    def sniff(self, head: bytes, path: Path) -> float:
        """A Parquet file with the columns of one of the two tables."""
        if not head.startswith(b"PAR1"):
            return 0.0
        columns = _columns(path)
        return 1.0 if columns >= _CANDIDATES or columns >= _BASELINE else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read one of the two tables."""
        columns = _columns(path)
        frame = pl.read_parquet(path)
        if columns >= _CANDIDATES:
            results = candidates(frame)
        elif columns >= _BASELINE:
            results = baselines(frame)
        else:
            raise InputError(
                "no table of kernel timings: columns trans_a, m, n, k, solution_name, time_us", path=path
            )
        return parsed(results, path, scratch, kind=self.kind)


def _columns(path: Path) -> frozenset[str]:
    try:
        return frozenset(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"can't read the Parquet file: {error}", path=path) from error


def candidates(frame: pl.DataFrame) -> Results:
    """Results of a table of timed candidates.

    The harness is the Tensile client; how often it iterated is not in the table. The target is that of the
    kernels.
    """
    frame = with_gemm_of_names(
        frame.with_columns(pl.col("solution_name").cast(pl.Categorical)), "solution_name"
    )
    first = frame["solution_name"].drop_nulls()
    isa = parse_name(str(first[0])).hot()["isa"] if len(first) else None
    status = map_distinct(frame, "status", lambda text: OUTCOMES.get(text.strip().upper(), "not_checked"))
    frame = with_problem_columns(frame.with_columns(_outcome=status.name.keep()))
    # A row that passed says so by its outcome: half a million rows more would tell nothing.
    check = {"verify_failed": "failed"}
    frame = frame.with_columns(
        outcome="_outcome",
        us="time_us",
        check_outcome=pl.col("_outcome").replace_strict(check, default=None, return_dtype=pl.String),
        solution_index="solution_index"
        if "solution_index" in frame.columns
        else pl.lit(None, dtype=pl.Int64),
    )
    if "measured_at" in frame.columns and frame.schema["measured_at"] == pl.Datetime("us"):
        frame = frame.with_columns(pl.col("measured_at").dt.replace_time_zone("UTC"))
    environment = Environment(simulated=False, gfx=isa)
    shapes = frame["shape_id"].n_unique() if "shape_id" in frame.columns else None
    return results_of(frame, [environment], [CLIENT], detail={"table": "candidates", "shapes": shapes})


#: The Tensile client: one event pair around all enqueues of a kernel, divided by their number.
CLIENT = Protocol("tensilelite-client", "import", timer="gpu", iteration_rule="unknown")


def baselines(frame: pl.DataFrame) -> Results:
    """Results of a table of stock choices, one row per shape, timed with hipblaslt-bench."""
    frame = with_gemm_of_names(frame, "stock_solution_name")
    no_index = pl.lit(None, dtype=pl.Int64)
    shape = pl.col("shape_id").str.extract_groups(_SHAPE).struct
    frame = frame.with_columns(
        trans_a=shape.field("1"),
        trans_b=shape.field("2"),
        m=shape.field("4").cast(pl.Int64),  # row-major names: m and n change places
        n=shape.field("3").cast(pl.Int64),
        k=shape.field("5").cast(pl.Int64),
        line=pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
        us="stock_us",
        gflops="stock_gflops" if "stock_gflops" in frame.columns else pl.lit(None, dtype=pl.Float64),
        solution_index="stock_solution_index" if "stock_solution_index" in frame.columns else no_index,
        solution_name="stock_solution_name",
    )
    keys = [name for name in ("device", "hipblaslt_version", "hipblaslt_git") if name in frame.columns]
    frame = frame.with_columns(
        pl.lit(None, dtype=pl.String).alias(name) for name in _MACHINE if name not in keys
    )
    machines = frame.select(_MACHINE).unique(maintain_order=True).with_row_index("environment")
    frame = frame.join(machines, on=_MACHINE, how="left", maintain_order="left", nulls_equal=True)
    environments = []
    for device, version, git in machines.select(_MACHINE).iter_rows():
        name, gfx = split_device(device or "")
        environments.append(
            Environment(
                simulated="simulated" in name.lower(), gfx=gfx, device_name=name or None, hipblaslt_version=version,
                hipblaslt_git=git,
            )
        )  # fmt: skip
    protocol = Protocol("hipblaslt-bench", "import", iteration_rule="unknown")
    return results_of(with_problem_columns(frame), environments, [protocol], detail={"table": "baseline"})


_MACHINE = ["device", "hipblaslt_version", "hipblaslt_git"]


def split_device(text: str) -> tuple[str, str | None]:
    """Name and gfx target of a device text such as ``AMD Instinct MI350X gfx950:sramecc+:xnack-``."""
    words = text.split()
    gfx = next((word for word in words if word.startswith("gfx")), None)
    return " ".join(word for word in words if word != gfx), gfx


FORMAT = TimingsParquet()
