"""hipblaslt-bench output as results: what :mod:`geko.ingest.bench_stdout` reads, with problem, environment
and protocol.

What the program doesn't print comes from the command line where that is echoed (types of old versions,
iterations, initialization), else it is unknown. Rows printed again after ``Winner:`` are kept as echoes,
skipped candidates as rows without a time, failed checks as ``verify_failed``.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.environment import Environment
from geko.domain.protocol import Protocol
from geko.ingest.bench_events import BenchBanner
from geko.ingest.bench_stdout import BenchOutput, parse_bench_text
from geko.ingest.problem_columns import with_problem_columns
from geko.ingest.results import Results, parsed, results_of
from geko.ingest.text_columns import extra_json, merge_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

#: Events that make no reject: they are told by the rows, or say nothing about a result.
_QUIET = frozenset(
    {"command", "is_supported", "rotating", "skip_solution", "selection_time", "adaptive", "info", "warning"}
)
_RENAMED = {
    "batch_count": "batch", "grouped_gemm": "grouped", "activation_type": "activation", "samples": "n_samples",
    "cv": "spread", "lowest_avg_freq": "sclk_mhz", "avg_mclk": "mclk_mhz",
}  # fmt: skip
#: Printed columns without a column in table ``measurement``: into ``extra`` under these names.
_ALSO = (
    "amax_d",
    "split_k",
    "wgm",
    "lowest_median_freq",
    "median_mclk",
    "cpu_gflops",
    "cpu_us",
    "status",
    "n_total",
)
_TYPES = ("a_type", "b_type", "c_type", "d_type", "compute_type", "scale_type")


class BenchStdout:
    """Format of hipblaslt-bench output."""

    kind = "bench-stdout"
    version = 1
    title = "hipblaslt-bench output"

    def sniff(self, head: bytes, path: Path) -> float:
        """A header line of a result, or the program's banner, or one of its own error lines alone."""
        if b"transA,transB," in head:
            # Logs of calls may be mixed with what the program printed; the calls are the point of such a
            # file.
            return 0.3 if b"function:" in head else 0.9
        starts = (b"hipBLASLt version:", b"error: NO solution found!", b"Invalid: --")
        return 0.8 if any(head.startswith(start) or b"\n" + start in head for start in starts) else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read an output of any version."""
        out = parse_bench_text(path.read_text(encoding="utf-8", errors="replace"))
        return parsed(bench_results(out), path, scratch, kind=self.kind, n_lines=out.n_lines)


def bench_results(out: BenchOutput, harness: str = "hipblaslt-bench", **settings: Any) -> Results:
    """Results of a parsed output.

    Args:
        out: the output.
        harness: name of the program in the protocol.
        settings: further settings of the protocol.
    """
    options = [command_options(event.text) for event in out.commands]
    frame = _frame(out, options)
    machines, environments = _environments(frame, out.banners)
    frame = frame.join(machines, on=_MACHINE, how="left", maintain_order="left", nulls_equal=True)
    ways, protocols = _protocols(frame, options, harness, settings)
    frame = frame.join(ways, on=_WAY, how="left", maintain_order="left", nulls_equal=True)
    frame = with_problem_columns(pl.concat([frame, _skipped(frame, out)], how="diagonal"))
    rejects = [
        (event.line, _reason(event.kind), event.text) for event in out.events if event.kind not in _QUIET
    ]
    detail: dict[str, Any] = {"headers": len(out.headers)}
    if out.banner is not None:
        detail["banner"] = {
            name: getattr(out.banner, name) for name in BenchBanner.__slots__ if name != "line"
        }
    notes = [event.text for event in out.events if event.kind in ("info", "warning")]
    if notes:
        detail["notes"] = sorted(set(notes))[:50]
    return results_of(frame, environments, protocols, rejects, detail)


def _reason(kind: str) -> str:
    reasons = {
        "truncated": "the row is cut off",
        "other": "no line that hipblaslt-bench is known to print",
        "no_solution": "the library has no solution for a problem that is not printed",
    }
    return reasons.get(kind, f"the program reports: {kind.replace('_', ' ')}")


def _frame(out: BenchOutput, options: list[dict[str, str]]) -> pl.DataFrame:
    blocks = out.blocks
    also: dict[str, pa.Array] = {}
    for name in _ALSO:
        column = blocks[name]
        if column.null_count < len(column):
            also[name] = pc.cast(column, pa.string()).combine_chunks()
    winner = pc.and_(blocks["after_winner"], pc.invert(blocks["winner_echo"])).combine_chunks()
    if pc.any(winner, min_count=0).as_py():
        also["winner"] = pc.if_else(winner, "1", pa.scalar(None, pa.string()))
    extra = merge_json(blocks["extra"].combine_chunks(), extra_json(also, blocks.num_rows))
    blocks = blocks.set_column(blocks.schema.get_field_index("extra"), "extra", extra)
    frame = pl.DataFrame(blocks).rename(_RENAMED)
    given = pl.DataFrame(
        [
            [index, *(option.get(name) for name in (*_TYPES, "rotating", "use_e"))]
            for index, option in enumerate(options)
        ],
        schema={
            "command": pl.Int32,
            **{f"said_{name}": pl.String for name in (*_TYPES, "rotating", "use_e")},
        },
        orient="row",
    )
    frame = frame.join(given, on="command", how="left", maintain_order="left")
    failed = (pl.col("atol") == "failed") | (pl.col("rtol") == "failed") | pl.col("norm_error").is_nan()
    checked = pl.col("norm_error").is_not_null() | pl.col("atol").is_not_null()
    judged = pl.col("atol").is_not_null() | pl.col("norm_error").is_nan()
    check = (
        pl.when(failed.fill_null(False)).then(pl.lit("failed"))
        .when(checked & judged.fill_null(False)).then(pl.lit("passed"))
        .when(checked).then(pl.lit("not_checked"))
    )  # fmt: skip
    return frame.with_columns(
        *(pl.coalesce(name, f"said_{name}").alias(name) for name in _TYPES),
        rotating_mib=pl.coalesce("rotating_mib", pl.col("said_rotating").cast(pl.Int64, strict=False)),
        # The type of an auxiliary output is printed whether there is one or not.
        aux_type=pl.when(pl.col("said_use_e").is_not_null()).then("aux_type"),
        check_outcome=check,
        outcome=pl.when(failed.fill_null(False)).then(pl.lit("verify_failed")).otherwise(pl.lit("ok")),
    ).drop(pl.selectors.starts_with("said_"))


def _skipped(frame: pl.DataFrame, out: BenchOutput) -> pl.DataFrame:
    """Candidates that were given up after their warm-up, as rows of the problem whose rows stand before
    them."""
    events = [event for event in out.events if event.kind == "skip_solution" and event.after_block >= 0]
    if not events:
        return frame.clear()
    own = pl.DataFrame(
        {
            "line": [event.line for event in events],
            "rank": [event.detail.get("rank") for event in events],
            "solution_index": [event.detail.get("solution_index") for event in events],
            "extra": [
                f'{{"warmup_us":"{event.detail["warmup_us"]:g}","best_warmup_us":"{event.detail["best_warmup_us"]:g}"}}'
                for event in events
            ],
        },
        schema={"line": pl.Int64, "rank": pl.Int64, "solution_index": pl.Int64, "extra": pl.String},
    )
    measured = ("us", "gflops", "gbps", "sclk_mhz", "mclk_mhz", "n_samples", "spread", "norm_error")
    names = ("solution_name", "kernel_name", "atol", "rtol", "check_outcome")
    same = frame[[event.after_block for event in events]].drop(own.columns)
    blank = [pl.lit(None, dtype=frame.schema[name]).alias(name) for name in (*measured, *names)]
    return pl.concat([same, own], how="horizontal").with_columns(
        *blank, outcome=pl.lit("skipped"), winner_echo=pl.lit(False)
    )


_MACHINE = ["banner", "gfx", "cu_count"]
_WAY = ["command", "use_gpu_timer", "rotating_mib", "flush", "iters", "cold_iters"]


def _environments(frame: pl.DataFrame, banners: list[BenchBanner]) -> tuple[pl.DataFrame, list[Environment]]:
    machines = frame.select(_MACHINE).unique(maintain_order=True)
    environments = []
    for number, gfx, cus in machines.iter_rows():
        banner = BenchBanner(0) if number is None else banners[number]
        name = banner.device_name
        environments.append(
            Environment(
                simulated="simulated" in (name or "").lower(),
                gfx=banner.gfx or gfx,
                device_name=name,
                cu_count=cus,
                hipblaslt_version=banner.version,
                hipblaslt_git=banner.git,
            )
        )
    return machines.with_row_index("environment"), environments


def _protocols(
    frame: pl.DataFrame, options: list[dict[str, str]], harness: str, settings: Mapping[str, Any]
) -> tuple[pl.DataFrame, list[Protocol]]:
    ways = frame.select(_WAY).unique(maintain_order=True)
    protocols = []
    for command, gpu_timer, rotating, flush, iters, cold in ways.iter_rows():
        said = {} if command is None else options[command]
        hot = iters if iters is not None else _whole(said.get("iters"))
        extra = {
            name: said[name] for name in ("algo_method", "requested_solution", "api_method") if name in said
        }
        protocols.append(
            Protocol(
                harness,
                "import",
                timer=None if gpu_timer is None else "gpu" if gpu_timer else "cpu",
                iteration_rule="unknown" if hot is None else "fixed",
                iters=hot,
                cold_iters=cold if cold is not None else _whole(said.get("cold_iters")),
                rotating_mib=rotating,
                flush=flush,
                initialization=said.get("initialization"),
                extra={**extra, **settings},
            )
        )
    return ways.with_row_index("protocol"), protocols


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


_SHORT = {
    "i": "iters",
    "j": "cold_iters",
    "requested_solution_num": "requested_solution",
    "precision": "precision",
}


def command_options(text: str) -> dict[str, str]:
    """Options of an echoed hipblaslt-bench command line by their long name; flags without a value are
    ``"1"``.

    ``--precision`` stands for the types that are not given themselves.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    options: dict[str, str] = {}
    for at, word in enumerate(words):
        if not word.startswith("-") or word.lstrip("-")[:1].isdigit():
            continue
        name, equals, value = word.lstrip("-").partition("=")
        follows = words[at + 1] if at + 1 < len(words) else "-"
        is_value = not follows.startswith("-") or follows[1:2].isdigit()
        options[_SHORT.get(name, name)] = value if equals else follows if is_value else "1"
    precision = options.get("precision")
    if precision:
        for name in ("a_type", "b_type", "c_type", "d_type"):
            options.setdefault(name, precision)
    return options


FORMAT = BenchStdout()
