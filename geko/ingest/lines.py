"""The distinct lines of a text file, how often and where first they occur, without a Python object a line.

Logs repeat themselves: a million lines of a profile log hold some thousand different ones. Chunks of the file
are read by all cores; line ends are found and equal lines are folded by Arrow kernels.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from geko.errors import MissingFileError

_CHUNK = 16 << 20
#: Line ends are looked for in pieces that fit the cache.
_BLOCK = 1 << 20
#: Distinct lines are handed on when they are so many: as rows they fill one row group, which DuckDB writes once; other
#: numbers cost it a third more.
_BATCH_ROWS = 122_880
#: They are also handed on when they hold this many bytes, so that memory stays bounded.
_BATCH = 96 << 20
#: Larger files are folded as a whole where their lines repeat.
_WHOLE_ABOVE = 64 << 20
#: Below this many lines folding costs nothing.
_ALWAYS_FOLDED = 20_000
_NEWLINE = pa.scalar(10, pa.uint8())
_SIX = pa.scalar(6, pa.uint64())
_LOW_BITS = pa.scalar(63, pa.uint64())


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Distinct lines; a line may come again in another batch of the same file.

    Attributes:
        text: the lines as large_string, with or without line ends; bytes that are no UTF-8 are replaced.
        n_lines: how many lines of the file read exactly so.
        first_line: 1-based number of the first of them.
    """

    text: pa.Array
    n_lines: pa.Array
    first_line: pa.Array

    def __len__(self) -> int:
        return len(self.text)

    def with_ends(self) -> pa.Array:
        """The texts, each with its line end."""
        if not len(self.text) or pc.all(pc.ends_with(self.text, "\n")).as_py():
            return self.text
        nothing, end = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
        return pc.binary_join_element_wise(pc.ascii_rtrim(self.text, characters="\r\n"), end, nothing)

    def texts(self) -> list[str]:
        """The texts without line ends."""
        return [text.rstrip("\r\n") for text in self.text.to_pylist()]

    def slice(self, start: int, length: int | None = None) -> LineBatch:
        """Some of the lines."""
        columns = (self.text, self.n_lines, self.first_line)
        return LineBatch(*(column.slice(start, length) for column in columns))

    def filter(self, mask: pa.Array) -> LineBatch:
        """The lines where ``mask`` is true."""
        return LineBatch(self.text.filter(mask), self.n_lines.filter(mask), self.first_line.filter(mask))


@dataclass(frozen=True, slots=True)
class _Chunk:
    lines: pa.Array  # distinct complete lines, bytes with their line ends
    counts: pa.Array
    first: pa.Array  # 0-based position among the complete lines of the chunk
    n_newlines: int
    head: (
        bytes  # up to the first line end (the end of a line that began before), all of it where there is none
    )
    tail: bytes  # after the last line end


def batch_of(texts: Sequence[str], first_lines: Sequence[int]) -> LineBatch:
    """Lines that were put together elsewhere, one each."""
    return LineBatch(
        pa.array(texts, pa.large_string()),
        pa.repeat(pa.scalar(1, pa.int64()), len(texts)),
        pa.array(first_lines, pa.int64()),
    )


class DistinctLines:
    """Iterates over the distinct lines of a file in batches; ``n_lines`` is complete at the end.

    Args:
        path: the file.

    Raises:
        MissingFileError: no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_lines = 0

    def __iter__(self) -> Iterator[LineBatch]:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError as error:
            raise MissingFileError("there is no such file", path=self.path) from error
        if size > _WHOLE_ABOVE and self._repeats_much():
            table = _folded_whole(self.path)
            if table is not None:
                self.n_lines = pc.sum(table["n_lines"]).as_py()
                yield from _batches(table)
                return
        waiting: list[tuple[pa.Array, pa.Array, pa.Array]] = []
        held = n_rows = 0
        for part in self._parts(size):
            waiting.append(part)
            held += part[0].nbytes
            n_rows += len(part[0])
            if held > _BATCH or n_rows >= _BATCH_ROWS:
                batch = _merged(waiting)
                full = len(batch) // _BATCH_ROWS * _BATCH_ROWS or len(batch)
                waiting = _copied(batch, full)
                n_rows = len(batch) - full
                held = sum(part[0].nbytes for part in waiting)
                for start in range(0, full, _BATCH_ROWS):
                    yield batch.slice(start, min(_BATCH_ROWS, full - start))
        if waiting:
            yield _merged(waiting)

    def _repeats_much(self) -> bool:
        """Whether most lines of the first chunk came before: then folding the whole file at once is cheap."""
        chunk = _read_chunk(self.path, 0)
        return 2 * len(chunk.lines) < chunk.n_newlines

    def _parts(self, size: int) -> Iterator[tuple[pa.Array, pa.Array, pa.Array]]:
        """Distinct lines chunk by chunk: bytes, counts, 1-based first line numbers."""
        newlines = 0
        open_line = b""
        for chunk in _chunks(self.path, size):
            if chunk.n_newlines == 0:
                open_line += chunk.head
                continue
            whole = open_line + chunk.head
            yield _single(whole, newlines + 1)
            if len(chunk.lines):
                # The line that ends in `head` is number `newlines + 1`; the complete ones follow it.
                yield chunk.lines, chunk.counts, pc.add(chunk.first, newlines + 2)
            newlines += chunk.n_newlines
            open_line = chunk.tail
        self.n_lines = newlines
        if open_line:
            self.n_lines += 1
            yield _single(open_line, newlines + 1)


def _folded_whole(path: Path) -> pa.Table | None:
    """Distinct lines (text, n_lines, first_line) of a file, folded by polars at twice the speed.

    None if that is not possible: bytes that are no UTF-8, or a polars older than its line reader.
    """
    import polars as pl

    if not hasattr(pl, "scan_lines"):
        return None
    lines = pl.scan_lines(path, row_index_name="at")
    folded = lines.group_by("line").agg(pl.len().alias("n"), pl.col("at").min())
    try:
        frame = folded.collect(engine="streaming").sort("at")
    except pl.exceptions.PolarsError:
        return None
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    return pa.table(
        {
            "text": table["line"].cast(pa.large_string()),
            "n_lines": table["n"].cast(pa.int64()),
            "first_line": pc.add(table["at"].cast(pa.int64()), 1),
        }
    )


def _batches(table: pa.Table) -> Iterator[LineBatch]:
    """A table of lines in parts of bounded size."""
    rows = min(max(1, table.num_rows * _BATCH // max(table.nbytes, 1)), _BATCH_ROWS)
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        yield LineBatch(*(pa.concat_arrays(column.chunks) for column in part.columns))


def _chunks(path: Path, size: int) -> Iterator[_Chunk]:
    workers = min(4, os.cpu_count() or 1)
    starts = iter(range(0, size, _CHUNK))
    if size <= _CHUNK:
        if size:
            yield _read_chunk(path, 0)
        return
    with ThreadPoolExecutor(workers) as pool:
        running: deque[Future[_Chunk]] = deque()
        for start in starts:
            running.append(pool.submit(_read_chunk, path, start))
            if len(running) > workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def _read_chunk(path: Path, start: int) -> _Chunk:
    data, size = _read(path, start)
    buffer = pa.py_buffer(data)
    ends = _line_ends(buffer)
    if not len(ends):
        empty = pa.array([], pa.int64())
        return _Chunk(pa.array([], pa.large_binary()), empty, empty, 0, bytes(data[:size]), b"")
    n = len(ends) - 1
    lines = pa.Array.from_buffers(pa.large_binary(), n, [None, ends.buffers()[1], buffer])
    distinct, counts, first = _folded(lines)
    head, tail = bytes(data[: ends[0].as_py() - 1]), bytes(data[ends[-1].as_py() : size])
    return _Chunk(distinct, counts, first, n + 1, head, tail)


def _line_ends(buffer: pa.Buffer) -> pa.Array:
    """Positions after each line end in a buffer of full 64-byte words."""
    parts = [
        pc.add(
            _ends_of_block(buffer.slice(start, min(_BLOCK, buffer.size - start))),
            pa.scalar(start + 1, pa.uint64()),
        )
        for start in range(0, buffer.size, _BLOCK)
    ]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.uint64())


def _ends_of_block(block: pa.Buffer) -> pa.Array:
    """Positions of the line ends."""
    is_end = pc.equal(pa.Array.from_buffers(pa.uint8(), block.size, [None, block]), _NEWLINE)
    # Few of 64 bytes in a row hold a line end: look for the words of the bitmap first, then into those alone.
    words = pa.Array.from_buffers(pa.uint64(), block.size // 64, [None, is_end.buffers()[1]])
    at = pc.indices_nonzero(words)
    bitmap = words.take(at).buffers()[1]
    bits = pc.indices_nonzero(pa.Array.from_buffers(pa.bool_(), len(at) * 64, [None, bitmap]))
    word = at.take(pc.shift_right(bits, _SIX))
    return pc.add(pc.shift_left(word, _SIX), pc.bit_wise_and(bits, _LOW_BITS))


# One buffer per thread, used again and again: fresh memory for every chunk costs as much as reading it.
# What a chunk gives away is copied out of it.
_buffers = threading.local()


def _read(path: Path, start: int) -> tuple[memoryview, int]:
    """A chunk of the file, padded with zeros to full words, and its length without them."""
    buffer: bytearray | None = getattr(_buffers, "data", None)
    if buffer is None:
        buffer = _buffers.data = bytearray(_CHUNK)
    view = memoryview(buffer)
    filled = 0
    with path.open("rb", buffering=0) as handle:
        handle.seek(start)
        while filled < _CHUNK:
            got = handle.readinto(view[filled:])
            if not got:
                break
            filled += got
    padded = -(-filled // 64) * 64
    view[filled:padded] = bytes(padded - filled)
    return view[:padded], filled


def _folded(lines: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Distinct values in order of appearance, how often each occurs, and the position of the first."""
    if not len(lines):
        return lines, pa.array([], pa.int64()), pa.array([], pa.int64())
    coded = lines.dictionary_encode()
    # Codes are given in the order of appearance: a code above all before it is a first one.
    highest = pc.cumulative_max(coded.indices)
    is_first = pc.greater(coded.indices.slice(1), highest.slice(0, len(highest) - 1))
    first = pc.add(pc.indices_nonzero(is_first).cast(pa.int64()), 1)
    counts = coded.indices.value_counts().field("counts")
    return coded.dictionary, counts, pa.concat_arrays([pa.array([0], pa.int64()), first])


def _single(line: bytes, number: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    return (
        pa.array([line + b"\n"], pa.large_binary()),
        pa.array([1], pa.int64()),
        pa.array([number], pa.int64()),
    )


def _merged(parts: list[tuple[pa.Array, pa.Array, pa.Array]]) -> LineBatch:
    """One batch of what several chunks hold, folded again where that promises anything."""
    lines = pa.concat_arrays([part[0] for part in parts]) if len(parts) > 1 else parts[0][0]
    counts = pa.concat_arrays([part[1] for part in parts])
    first = pa.concat_arrays([part[2] for part in parts])
    few = len(lines) < _ALWAYS_FOLDED or pc.sum(counts).as_py() > 1.01 * len(lines)
    if len(parts) > 1 and few:
        coded = lines.dictionary_encode()
        table = pa.table({"code": coded.indices, "n": counts, "first": first})
        groups = table.group_by("code", use_threads=False).aggregate([("n", "sum"), ("first", "min")])
        groups = groups.combine_chunks()
        lines, counts, first = coded.dictionary, groups["n_sum"].chunk(0), groups["first_min"].chunk(0)
    return LineBatch(_as_text(lines), counts, first)


def _copied(batch: LineBatch, start: int) -> list[tuple[pa.Array, pa.Array, pa.Array]]:
    """The lines from ``start`` on as a part of their own, which doesn't keep the memory of those before."""
    if start == len(batch):
        return []
    rest = batch.slice(start)
    # Concatenating copies; a single array would be handed back as it is.
    text = pa.concat_arrays([rest.text.slice(0, 0), rest.text]).cast(pa.large_binary())
    return [(text, rest.n_lines, rest.first_line)]


def _as_text(lines: pa.Array) -> pa.Array:
    try:
        return lines.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([line.decode("utf-8", "replace") for line in lines.to_pylist()], pa.large_string())
