"""What one hipblaslt-bench output says about each row of its input.

Blocks go to rows by what the client echoes. Rows without a block are explained by error lines where that is
certain; standard error isn't buffered as standard output is, so the place of an error line decides little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from geko.ingest.bench_events import ERROR_KINDS, BenchEvent
from geko.ingest.bench_match import first_equal, match_blocks
from geko.ingest.bench_stdout import BenchOutput, parse_bench_text

# Error lines that are about one row; the others are about the process.
_OF_A_ROW = frozenset({"no_solution", "unsupported"})
_STARTS_ROW = frozenset({"is_supported", "rotating"})


@dataclass(slots=True)
class RowReading:
    """What an output says about one row.

    Attributes:
        blocks: its result rows (columns of ``BenchOutput.blocks``); None without any.
        skipped: lines about candidates that were skipped after their warm-up.
        complete: nothing more would have come for this row.
        outcome: ``no_solution`` or ``unsupported`` where an error line says so, else None.
        message: that line.
        same_as: index of the row whose results these are, as the client takes both for one record.
        lines: first and last line (1-based) of what was printed for it; None if nothing was.
    """

    blocks: pa.Table | None = None
    skipped: list[BenchEvent] = field(default_factory=list)
    complete: bool = False
    outcome: str | None = None
    message: str | None = None
    same_as: int | None = None
    lines: tuple[int, int] | None = None

    @property
    def explained(self) -> bool:
        """Whether it is known what became of the row."""
        return self.complete or self.outcome is not None


@dataclass(slots=True)
class Reading:
    """An output taken apart.

    Attributes:
        rows: one reading per input row.
        output: everything that was parsed.
        preamble: number of lines before the first row's.
        last_seen: index of the last input row that something was printed for, -1 for none.
        usage_error: the client refused its input as a whole; the line that says so.
    """

    rows: list[RowReading]
    output: BenchOutput
    preamble: int
    last_seen: int
    usage_error: str | None


def read_output(text: str, rows: Sequence[Mapping[str, Any]], *, ended: bool, well: bool) -> Reading:
    """Take an output apart.

    Args:
        text: what one process printed.
        rows: its input, in the client's names (:func:`geko.runners.bench_yaml.bench_row`).
        ended: it ran to its end, so that nothing is missing because it was killed.
        well: its exit status was 0, so that the last row is complete, too.
    """
    output = parse_bench_text(text)
    row_of = match_blocks(output.blocks, rows)
    first = first_equal(rows)
    readings = [RowReading() for _ in rows]
    starts = _row_starts(output)
    _give_blocks(readings, output, row_of, starts)
    _give_skips(readings, output, row_of, starts)
    seen = [row for row in row_of if row is not None]
    last_seen = max(seen, default=-1)
    for at, reading in enumerate(readings):
        if reading.blocks is not None:
            reading.complete = well or at != last_seen or _is_complete(reading, rows[at])
    _explain(readings, output, row_of, first, ended)
    for at, reading in enumerate(readings):
        origin = first[at]
        if origin != at and reading.blocks is None and not reading.explained:
            source = readings[origin]
            readings[at] = RowReading(
                source.blocks,
                source.skipped,
                source.complete,
                source.outcome,
                source.message,
                origin,
                source.lines,
            )
    usage = next((event.text for event in output.events if event.kind == "usage"), None)
    preamble = (
        min((reading.lines[0] for reading in readings if reading.lines), default=output.n_lines + 1) - 1
    )
    return Reading(readings, output, preamble, last_seen, usage)


def section(text_lines: Sequence[str], reading: Reading, at: int) -> str:
    """The part of an output that is about one row, behind what the program printed before the first row.

    A row without a part of its own gets the error lines and all that was printed after the last row that
    has one.
    """
    head = list(text_lines[: reading.preamble])
    lines = reading.rows[at].lines
    if lines is not None:
        return "\n".join([*head, *text_lines[lines[0] - 1 : lines[1]]]) + "\n"
    after = max((row.lines[1] for row in reading.rows if row.lines), default=reading.preamble)
    errors = [event.text for event in reading.output.errors if reading.preamble < event.line <= after]
    return "\n".join([*head, *errors, *text_lines[after:]]).rstrip("\n") + "\n"


def _row_starts(output: BenchOutput) -> list[int]:
    """For each block the first line that belongs to its problem, and one more for the end of the text."""
    blocks = output.blocks
    lines: list[int] = blocks["line"].to_pylist()
    groups: list[int] = blocks["group"].to_pylist()
    start_lines = [(event.after_block, event.line) for event in output.events if event.kind in _STARTS_ROW]
    earliest: dict[int, int] = {}
    for after, line in start_lines:
        earliest.setdefault(after, line)
    starts: list[int] = []
    for at, line in enumerate(lines):
        if at and groups[at] == groups[at - 1]:
            starts.append(starts[-1])
        else:
            starts.append(min(line, earliest.get(at - 1, line)))
    end = output.n_lines + 1
    starts.append(min(end, earliest.get(len(lines) - 1, end)))
    return starts


def _give_blocks(
    readings: list[RowReading], output: BenchOutput, row_of: Sequence[int | None], starts: Sequence[int]
) -> None:
    groups: list[int] = output.blocks["group"].to_pylist()
    members: dict[int, list[int]] = {}
    for block, row in enumerate(row_of):
        if row is not None:
            members.setdefault(row, []).append(block)
    for row, blocks in members.items():
        readings[row].blocks = output.blocks.take(pa.array(blocks, pa.int64()))
        after = blocks[-1] + 1
        while after < len(groups) and groups[after] == groups[blocks[-1]]:
            after += 1
        readings[row].lines = (starts[blocks[0]], starts[after] - 1)


def _give_skips(
    readings: list[RowReading], output: BenchOutput, row_of: Sequence[int | None], starts: Sequence[int]
) -> None:
    for event in output.events:
        if event.kind != "skip_solution":
            continue
        block = event.after_block
        # A problem whose first candidate was skipped has no block before the line.
        if block + 1 < len(row_of) and starts[block + 1] <= event.line:
            block += 1
        row = row_of[block] if 0 <= block < len(row_of) else None
        if row is not None:
            readings[row].skipped.append(event)


def _is_complete(reading: RowReading, row: Mapping[str, Any]) -> bool:
    """Whether the last row before a crash had printed all that it would."""
    blocks = reading.blocks
    if blocks is None:
        return False
    if any(blocks["after_winner"].to_pylist()):
        return True
    printed = blocks.num_rows + len(reading.skipped)
    expected = blocks["n_supported"][0].as_py()
    wanted = int(row.get("requested_solution_num") or 1)
    dense = wanted < 0 or int(row.get("algo_method") or 0) == 1
    if row.get("print_kernel_info") and blocks["solution_name"][-1].as_py() is None:
        return False  # cut off behind the time: which kernel it was isn't known
    if expected is None:
        return not dense and printed >= wanted
    # With several candidates "Winner:" comes last; without it the end is missing.
    return bool(printed >= expected) and expected <= 1


def _explain(
    readings: list[RowReading],
    output: BenchOutput,
    row_of: Sequence[int | None],
    first: Sequence[int],
    ended: bool,
) -> None:
    errors = [event for event in output.errors if event.kind in _OF_A_ROW]
    silent = [at for at, reading in enumerate(readings) if reading.blocks is None and first[at] == at]
    if not errors or not silent:
        return
    kinds = {event.kind for event in errors}
    if ended and len(errors) == len(silent) and len(kinds) == 1:
        _assign(readings, silent, errors)
        return
    if ended and len(silent) == 1:
        _assign(readings, silent, errors[:1])
        return
    # Row by row between two rows that printed something, where the numbers agree there.
    order = [(block, row) for block, row in enumerate(row_of) if row is not None]
    bounds = [(-1, -1), *order]
    for at, (block, row) in enumerate(bounds):
        following = bounds[at + 1] if at + 1 < len(bounds) else None
        if following is None and not ended:
            break
        until = following[1] if following is not None else len(readings)
        gap = [index for index in silent if row < index < until]
        inside = [event for event in errors if event.after_block == block]
        if gap and len(gap) == len(inside):
            _assign(readings, gap, inside)


def _assign(readings: list[RowReading], rows: Sequence[int], events: Sequence[BenchEvent]) -> None:
    for row, event in zip(rows, events, strict=True):
        readings[row].outcome = ERROR_KINDS[event.kind]
        readings[row].message = event.text
