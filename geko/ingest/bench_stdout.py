"""hipblaslt-bench output of every version as columns: one parser for runs, ingest and the Python API.

A result is a header line with column names and a value line below it. Which columns there are, their number
and order change from version to version (two different headers of 39 columns exist), so only names decide.
Names change as well: ``M`` or ``m``, ``avg-MCLK`` or ``avg_MCLK``, ``soulution_index`` or ``solution_index``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.ingest.bench_events import BANNER_START, BenchBanner, BenchEvent, read_banner_line, read_event
from geko.ingest.text_columns import extra_json, read_cells, typed

_I, _F, _S, _B = pa.int64(), pa.float64(), pa.string(), pa.bool_()

#: Columns of a result row: name in :attr:`BenchOutput.blocks` -> (type, names in headers: lower case, ``-``
#: as ``_``).
COLUMNS: dict[str, tuple[pa.DataType, tuple[str, ...]]] = {
    "trans_a": (_S, ("transa",)),
    "trans_b": (_S, ("transb",)),
    "grouped_gemm": (_B, ("grouped_gemm",)),
    "batch_count": (_I, ("batch_count",)),
    "m": (_I, ("m",)),
    "n": (_I, ("n",)),
    "k": (_I, ("k",)),
    "alpha": (_F, ("alpha",)),
    "beta": (_F, ("beta",)),
    "lda": (_I, ("lda",)),
    "ldb": (_I, ("ldb",)),
    "ldc": (_I, ("ldc",)),
    "ldd": (_I, ("ldd",)),
    "stride_a": (_I, ("stride_a",)),
    "stride_b": (_I, ("stride_b",)),
    "stride_c": (_I, ("stride_c",)),
    "stride_d": (_I, ("stride_d",)),
    "a_type": (_S, ("a_type",)),
    "b_type": (_S, ("b_type",)),
    "c_type": (_S, ("c_type",)),
    "d_type": (_S, ("d_type",)),
    "compute_type": (_S, ("compute_type",)),
    "scale_type": (_S, ("scale_type",)),
    "scale_a": (_I, ("scalea",)),
    "scale_b": (_I, ("scaleb",)),
    "scale_c": (_I, ("scalec",)),
    "scale_d": (_I, ("scaled",)),
    "amax_d": (_B, ("amaxd",)),
    "swizzle_a": (_B, ("swizzle_a", "swizzlea")),
    "swizzle_b": (_B, ("swizzle_b", "swizzleb")),
    "activation_type": (_S, ("activation_type",)),
    "bias_vector": (_B, ("bias_vector",)),
    "bias_type": (_S, ("bias_type",)),
    "aux_type": (_S, ("aux_type",)),
    "split_k": (_I, ("splitk",)),
    "wgm": (_I, ("wgm",)),
    "rotating_mib": (_I, ("rotating_buffer",)),
    "flush": (_B, ("flush",)),
    "use_gpu_timer": (_B, ("use_gpu_timer",)),
    "iters": (_I, ("hot_iters", "iters")),
    "cold_iters": (_I, ("cold_iters",)),
    "lowest_avg_freq": (_F, ("lowest_avg_freq",)),
    "lowest_median_freq": (_F, ("lowest_median_freq",)),
    "avg_mclk": (_F, ("avg_mclk",)),
    "median_mclk": (_F, ("median_mclk",)),
    "gflops": (_F, ("hipblaslt_gflops", "rocblas_gflops")),
    "gbps": (_F, ("hipblaslt_gb/s", "rocblas_gb/s")),
    "us": (_F, ("us",)),
    "cpu_gflops": (_F, ("cpu_gflops",)),
    "cpu_us": (_F, ("cpu_us",)),
    "norm_error": (_F, ("norm_error", "norm_error_1")),
    "atol": (_S, ("atol",)),
    "rtol": (_S, ("rtol",)),
    "samples": (_I, ("samples",)),
    "cv": (_F, ("cv",)),
    "status": (_S, ("status",)),
    "solution_index": (_I, ("solution_index", "soulution_index")),
    "solution_name": (_S, ("solution_name",)),
    "kernel_name": (_S, ("kernel_name",)),
    "gfx": (_S, ("gcnarchname",)),
    "cu_count": (_I, ("cus",)),
}
_BY_HEADER = {name: column for column, (_, names) in COLUMNS.items() for name in names}

#: Columns that say where a row stands in the text.
PLACE = pa.schema(
    [
        ("line", _I),  # of the header line
        ("header", pa.int32()),  # index into BenchOutput.headers
        ("group", pa.int32()),  # rows of one problem, printed one after the other, share it
        ("rank", _I),  # [i]: rank in this run, no solution index
        ("after_winner", _B),  # follows a line "Winner:"
        ("winner_echo", _B),  # and was printed before: no new sample
        ("banner", pa.int32()),  # index into BenchOutput.banners
        ("command", pa.int32()),  # index into the events of kind "command", in order
        ("n_supported", _I),
        ("n_total", _I),
    ]
)
BLOCKS = pa.schema([*PLACE, *((name, dtype) for name, (dtype, _) in COLUMNS.items()), ("extra", _S)])

_HEADER = re.compile(
    r"(?:\[(\d+)\]:?)?[ \t]*((?:\w+[ \t]*,[ \t]*)*transA[ \t]*,[ \t]*transB[ \t]*,[ \t]*[A-Za-z].*)$"
)
_VALUES = re.compile(r"[NTCntc][ \t]*,[ \t]*[NTCntc][ \t]*,")
_KERNEL_INFO = re.compile(r"--(Solution index|Solution name|kernel name):[ \t]*(.*)")
# A complex number is printed as (re,im): its comma is no separator. The mark stands for it while cells are
# split.
_COMPLEX = re.compile(r"\(([^(),]*),([^()]*)\)")
_COMMA = "\x1f"


@dataclass(frozen=True, slots=True)
class BenchOutput:
    """Everything a hipblaslt-bench output holds.

    Attributes:
        blocks: one row per result row in the order of the text, columns :data:`BLOCKS`; columns that a
            version doesn't print are null, columns without a place stand in ``extra`` (a JSON object of
            texts, null without any).
        events: all other lines, apart from banners and blank ones, in order.
        banners: one per process whose output is in the text.
        headers: column names of each distinct header line, as printed.
        n_lines: lines of the text.
    """

    blocks: pa.Table
    events: list[BenchEvent]
    banners: list[BenchBanner]
    headers: list[tuple[str, ...]]
    n_lines: int

    @property
    def banner(self) -> BenchBanner | None:
        """The first banner, None if the text has none."""
        return self.banners[0] if self.banners else None

    @property
    def errors(self) -> list[BenchEvent]:
        """Events that report a failure."""
        return [event for event in self.events if event.is_error]

    @property
    def commands(self) -> list[BenchEvent]:
        """Echoed command lines; column ``command`` counts in this list."""
        return [event for event in self.events if event.kind == "command"]


@dataclass(slots=True)
class _Scan:
    """What the walk over the lines collects; lists in parallel, one item a result row."""

    header_ids: dict[str, int] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    header: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    rank: list[int | None] = field(default_factory=list)
    after_winner: list[bool] = field(default_factory=list)
    problem: list[int] = field(default_factory=list)
    banner: list[int | None] = field(default_factory=list)
    command: list[int | None] = field(default_factory=list)
    supported: list[Any] = field(default_factory=list)
    total: list[Any] = field(default_factory=list)
    info: dict[str, list[str | None]] = field(
        default_factory=lambda: {"Solution index": [], "Solution name": [], "kernel name": []}
    )
    events: list[BenchEvent] = field(default_factory=list)
    banners: list[dict[str, Any]] = field(default_factory=list)


def parse_bench_text(text: str) -> BenchOutput:
    """Read the standard output of hipblaslt-bench (standard error may be mixed in).

    Text that ends in the middle of a row, as after a crash, gives all complete rows before and an event
    ``truncated``.
    No text raises: one without any result row gives an empty table.

    Args:
        text: output of one or of many processes, one after the other.
    """
    scan, n_lines = _scan(text)
    headers = [tuple(cell.strip() for cell in header.split(",")) for header in scan.header_ids]
    banners = [BenchBanner(**values) for values in scan.banners]
    return BenchOutput(_blocks(scan, headers), scan.events, banners, headers, n_lines)


def _scan(text: str) -> tuple[_Scan, int]:
    scan = _Scan()
    info = scan.info
    lines = text.split("\n")
    terminated = lines[-1].strip() == ""
    pending: tuple[int, int | None, int] | None = None
    winner, problem, command = False, 0, -1
    supported: tuple[Any, Any] = (None, None)

    def event(number: int, kind: str, body: str) -> None:
        scan.events.append(BenchEvent(number, kind, body, len(scan.line) - 1))

    for number, line in enumerate(lines, 1):
        body = line.strip()
        if not body:
            continue
        if pending is not None and _is_values(body, scan.widths[pending[0]]):
            header, rank, at = pending
            pending = None
            if "(" in body:
                body = _COMPLEX.sub(rf"(\1{_COMMA}\2)", body)
            n_cells = body.count(",") + 1
            last = not terminated and number == len(lines)
            if n_cells != scan.widths[header] or (last and not _consistent(scan, header, body)):
                kind = "truncated" if n_cells <= scan.widths[header] else "other"
                event(number, kind, body.replace(_COMMA, ","))
                continue
            scan.line.append(at)
            scan.header.append(header)
            scan.values.append(body)
            scan.rank.append(rank)
            scan.after_winner.append(winner)
            scan.problem.append(problem)
            scan.banner.append(len(scan.banners) - 1 if scan.banners else None)
            scan.command.append(command if command >= 0 else None)
            scan.supported.append(supported[0])
            scan.total.append(supported[1])
            for column in info.values():
                column.append(None)
            winner = False
            continue
        if body.startswith("--"):
            match = _KERNEL_INFO.match(body)
            if match and scan.line and pending is None:
                if not terminated and number == len(lines):
                    event(number, "truncated", body)
                else:
                    info[match[1]][-1] = match[2]
                continue
        if "transA," in body or "transA ," in body:
            found = _read_header(scan, body)
            if found is not None:
                if pending is not None:
                    event(pending[2], "truncated", "header without values")
                pending = (*found, number)
                continue
        if body.startswith("Winner:"):
            winner = True
            continue
        banner = read_banner_line(body)
        if banner is not None:
            _add_banner(scan.banners, number, body, banner)
            continue
        new = read_event(number, body, len(scan.line) - 1)
        scan.events.append(new)
        if new.kind == "command":
            command += 1
            problem, winner, supported = problem + 1, False, (None, None)
        elif new.kind == "is_supported":
            problem, winner = problem + 1, False
            supported = (new.detail.get("supported"), new.detail.get("total"))
    if pending is not None:
        event(pending[2], "truncated", "header without values")
    return scan, len(lines) - (lines[-1] == "")


def _read_header(scan: _Scan, body: str) -> tuple[int, int | None] | None:
    """Number of the header in a line and the rank before it; None if the line holds none."""
    # Nearly all headers were seen before: look the text up before any pattern is tried.
    bracket, close, names = body.partition("]:")
    header = scan.header_ids.get(names if close else body)
    if header is not None and (not close or bracket[1:].isdecimal()):
        return header, int(bracket[1:]) if close else None
    match = _HEADER.search(body)
    if match is None:
        return None
    header = scan.header_ids.setdefault(match[2], len(scan.header_ids))
    if header == len(scan.widths):
        scan.widths.append(match[2].count(",") + 1)
    return header, int(match[1]) if match[1] else None


def _is_values(body: str, width: int) -> bool:
    return _VALUES.match(body) is not None or (body.count(",") + 1 == width and "transA" not in body)


def _consistent(scan: _Scan, header: int, body: str) -> bool:
    """Whether an unterminated last row is whole: its time and its rate must agree (2·m·n·k·batch / us, within
    2 %).
    """
    names = [_key(name) for name in list(scan.header_ids)[header].split(",")]
    cells = dict(zip(names, (cell.strip() for cell in body.split(",")), strict=False))
    try:
        flops = (
            2.0
            * float(cells["m"])
            * float(cells["n"])
            * float(cells["k"])
            * float(cells.get("batch_count", 1))
        )
        rate = flops / float(cells["us"]) / 1e3
        gflops = float(next(cells[name] for name in COLUMNS["gflops"][1] if name in cells))
    except (KeyError, ValueError, ZeroDivisionError, StopIteration):
        return False
    return abs(rate - gflops) <= 0.02 * gflops or (
        "grouped_gemm" in cells and cells["grouped_gemm"] not in ("0", "")
    )


def _add_banner(banners: list[dict[str, Any]], number: int, body: str, values: dict[str, Any]) -> None:
    current = banners[-1] if banners else None
    again = current is not None and not current.keys().isdisjoint(values)
    if current is None or (again and body.startswith(BANNER_START)):
        banners.append({"line": number, **values})
    elif not again:
        current.update(values)


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _blocks(scan: _Scan, headers: Sequence[tuple[str, ...]]) -> pa.Table:
    n = len(scan.line)
    if n == 0:
        return BLOCKS.empty_table()
    rows_of: dict[int, list[int]] = {}
    for row, header in enumerate(scan.header):
        rows_of.setdefault(header, []).append(row)
    parts = []
    order: list[int] = []
    for header, rows in rows_of.items():
        parts.append(_typed_part(headers[header], [scan.values[row] for row in rows]))
        order.extend(rows)
    table = pa.concat_tables(parts)
    if len(parts) > 1:
        table = table.take(pc.sort_indices(pa.array(order)))
    columns = dict(zip(table.column_names, table.columns, strict=True))
    index, _ = typed(pa.array(scan.info["Solution index"], _S), _I)
    columns["solution_index"] = pc.coalesce(index, columns["solution_index"])
    columns["solution_name"] = pc.coalesce(pa.array(scan.info["Solution name"], _S), columns["solution_name"])
    columns["kernel_name"] = pc.coalesce(pa.array(scan.info["kernel name"], _S), columns["kernel_name"])
    group, echo = _groups(scan, columns)
    columns |= {
        "line": pa.array(scan.line, _I),
        "header": pa.array(scan.header, pa.int32()),
        "group": pa.array(group, pa.int32()),
        "rank": pa.array(scan.rank, _I),
        "after_winner": pa.array(scan.after_winner, _B),
        "winner_echo": pa.array(echo, _B),
        "banner": pa.array(scan.banner, pa.int32()),
        "command": pa.array(scan.command, pa.int32()),
        "n_supported": pa.array(scan.supported, _I),
        "n_total": pa.array(scan.total, _I),
    }
    return pa.table([columns[name] for name in BLOCKS.names], schema=BLOCKS)


def _typed_part(names: tuple[str, ...], values: list[str]) -> pa.Table:
    """Rows of one header as typed columns; order as given, place columns left out."""
    n = len(values)
    cells = read_cells(values, len(names))
    columns: dict[str, pa.Array] = {}
    rest: dict[str, pa.Array] = {}
    for name, cell in zip(names, cells, strict=True):
        column = _BY_HEADER.get(_key(name))
        raw = pc.replace_substring(cell, _COMMA, ",") if name.lower() in ("alpha", "beta") else cell
        if column is None or column in columns:
            rest[name] = raw
            continue
        if column in ("alpha", "beta"):
            # Complex numbers: the real part is typed, the whole number stands in extra.
            cell = pc.replace_substring_regex(cell, rf"^\((.*){_COMMA}.*\)$", r"\1")
        columns[column], failed = typed(cell, COLUMNS[column][0])
        lost = failed if column not in ("alpha", "beta") else pc.not_equal(cell, raw)
        if pc.any(lost, min_count=0).as_py():
            rest[name] = pc.if_else(lost, raw, pa.scalar(None, _S))
    out = [columns.get(name, pa.nulls(n, dtype)) for name, (dtype, _) in COLUMNS.items()]
    return pa.table([*out, extra_json(rest, n)], names=[*COLUMNS, "extra"])


#: Echoed columns that tell one problem of a batch from the next.
ECHOED = (
    "trans_a", "trans_b", "grouped_gemm", "batch_count", "m", "n", "k", "alpha", "beta", "lda", "ldb",
    "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d", "a_type", "b_type", "c_type", "d_type",
    "compute_type", "scale_a", "scale_b", "scale_c", "scale_d", "swizzle_a", "swizzle_b", "activation_type",
    "bias_vector", "bias_type", "aux_type", "rotating_mib", "flush", "use_gpu_timer",
)  # fmt: skip


def _groups(scan: _Scan, columns: dict[str, pa.Array]) -> tuple[list[int], list[bool]]:
    """Number the problems and find the winners that are printed a second time."""
    texts = [pc.fill_null(pc.cast(columns[name], _S), "") for name in ECHOED]
    echoed = pc.binary_join_element_wise(*texts, ",").to_pylist()
    group: list[int] = []
    echo: list[bool] = []
    seen: set[int | str] = set()
    number = -1
    for row, (problem, key, rank, winner) in enumerate(
        zip(scan.problem, echoed, scan.rank, scan.after_winner, strict=True)
    ):
        starts = (
            row == 0
            or problem != scan.problem[row - 1]
            or key != echoed[row - 1]
            or (not winner and scan.after_winner[row - 1])
            or (not winner and rank is not None and (scan.rank[row - 1] or -1) >= rank)
        )
        if starts:
            number += 1
            seen.clear()
        mark = scan.values[row] if rank is None else rank
        echo.append(winner and mark in seen)
        seen.add(mark)
        group.append(number)
    return group, echo


def match_blocks(blocks: pa.Table, rows: Sequence[dict[str, Any]]) -> list[int | None]:
    """Index of the input row that each result row belongs to; see
    :func:`geko.ingest.bench_match.match_blocks`.
    """
    from geko.ingest import bench_match

    return bench_match.match_blocks(blocks, rows)


def column_of(name: str) -> str | None:
    """Column of ``blocks`` for a name in a header, None for a name that goes into ``extra``."""
    return _BY_HEADER.get(_key(name))
