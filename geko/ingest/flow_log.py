"""Logs of one flow mapping a line, ``- {function: matmul, M: 16, ...}``: hipBLASLt mask 64, rocBLAS layer 4.

Anything may stand between and around the entries: output of the program, a second entry on the same line, an
entry that a killed process left half-written. An entry may also be wrapped over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.ingest.calls import CallTables
from geko.ingest.cells import RowGroup, read_cells
from geko.ingest.formats import Parsed, Put
from geko.ingest.lines import DistinctLines, LineBatch, batch_of
from geko.ingest.log_reader import WRAP_LIMIT, Adapt, LogReader
from geko.ingest.row_tables import rows_group

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_PIECE = re.compile(r"\{[^{}]*\}")
_ENTRY = re.compile(r"\b(?:M|m|transA|transposeA)\s*:")
_OPEN = re.compile(r"\{\s*(?:rocblas_)?function\s*:|\{[^{}]*\btransA\s*:[^{}]*$")
_CONTINUED = re.compile(r"^\s+[A-Za-z_]\w*\s*:.*[,}]\s*$")
_IGNORED = re.compile(r"\s*(#.*|---.*|\.\.\.|\[\s*\])?\s*\Z")
_CUT = "the entry is cut off: no closing brace"


def entries_in(head: bytes) -> Iterator[str]:
    """The first flow mappings of a file that look like GEMM calls, for recognising a format."""
    text = head.decode("utf-8", "replace")
    for number, match in enumerate(_PIECE.finditer(text)):
        if _ENTRY.search(match.group()):
            yield match.group()
        if number >= 200:
            return


def parse_flow_log(
    path: Path,
    scratch: Scratch,
    put: Put | None = None,
    adapt: Adapt | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Parsed:
    """Read a log.

    Args:
        path: the file.
        scratch: where ids are made.
        put: takes problems and calls in parts; None keeps them all for the result.
        adapt: rewrites groups of rows (names and defaults of another library); None rejects all of a group.
        defaults: texts of fields that this source leaves out.
    """
    reader = _Reader(scratch, put, adapt, defaults)
    lines = DistinctLines(path)
    for batch in lines:
        reader.add(batch)
    if reader.n_cut and reader.n_continued and path.stat().st_size <= WRAP_LIMIT:
        # Entries over several lines: folding equal lines has lost their order, so read the file as it stands.
        reader = _Reader(scratch, put, adapt, defaults)
        reader.add(_unwrapped(path))
    return reader.result(lines.n_lines)


def read_groups(path: Path) -> tuple[list[RowGroup], CallTables, int]:
    """Rows of a hipBLASLt log as they stand, with its rejects and number of lines."""
    reader = _Reader(None, None, None, None)
    lines = DistinctLines(path)
    groups = [group for batch in lines for group in reader.groups(batch)]
    if reader.n_cut and reader.n_continued and path.stat().st_size <= WRAP_LIMIT:
        reader = _Reader(None, None, None, None)
        groups = list(reader.groups(_unwrapped(path)))
    return groups, reader.into, lines.n_lines


class _Reader(LogReader):
    n_cut = 0

    def groups(self, batch: LineBatch) -> Iterator[RowGroup]:
        """Rows of whole lines in bulk, and of all else piece by piece."""
        odd: list[LineBatch] = []
        for group in read_cells(batch, braces=True):
            if isinstance(group, RowGroup):
                yield from self._adapted(group)
            else:
                odd.append(group)
        for lines in odd:
            for group in read_cells(self._pieces(lines), braces=False):
                read = group if isinstance(group, RowGroup) else self._slowly(group)
                if read is not None:
                    yield from self._adapted(read)

    def _pieces(self, lines: LineBatch) -> LineBatch:
        texts: list[str] = []
        counts: list[int] = []
        firsts: list[int] = []
        columns = (lines.texts(), lines.n_lines.to_pylist(), lines.first_line.to_pylist())
        for text, count, first in zip(*columns, strict=True):
            found = [piece for piece in _PIECE.findall(text) if _ENTRY.search(piece)]
            texts += [piece[1:-1] for piece in found]
            counts += [count] * len(found)
            firsts += [first] * len(found)
            left = _PIECE.sub("", text)
            if _OPEN.search(left):
                self.n_cut += count
                self.into.rejects.append((first, count, _CUT, text))
            elif not found and not _IGNORED.match(text):
                self.n_continued += _CONTINUED.match(text) is not None
                self._other(first, count, text)
        return LineBatch(
            pa.array(texts, pa.large_string()), pa.array(counts, pa.int64()), pa.array(firsts, pa.int64())
        )

    def _slowly(self, lines: LineBatch) -> RowGroup | None:
        """Entries with commas or colons inside values, by a YAML parser that leaves all values text."""
        import yaml

        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        rows: list[dict[str, Any]] = []
        good: list[bool] = []
        for text in lines.texts():
            try:
                value = yaml.load(f"{{{_repaired(text)}}}", Loader=loader)
            except yaml.YAMLError as error:
                problem = getattr(error, "problem", None) or "not a YAML mapping"
                rows.append({"?": f"the entry can't be read: {problem}"})
                good.append(False)
                continue
            rows.append({key: item for key, item in value.items() if isinstance(key, str) and key})
            good.append(True)
        mask = pa.array(good, pa.bool_())
        bad = pc.invert(mask)
        if pc.any(bad).as_py():
            reasons = [row["?"] for row, fine in zip(rows, good, strict=True) if not fine]
            self.into.reject(lines.filter(bad), pa.array(reasons, pa.large_string()))
        kept = [row for row, fine in zip(rows, good, strict=True) if fine]
        return rows_group(kept, lines.filter(mask)) if kept else None


def _repaired(text: str) -> str:
    """Without the nameless and empty slots of the ``: , :`` damage, which are no YAML."""
    cells = [cell for cell in text.split(",") if cell.strip(" :")]
    return ",".join(cells)


def _unwrapped(path: Path) -> LineBatch:
    """All lines of a file, entries that go over several lines as one, numbered by the line they begin in."""
    texts: list[str] = []
    firsts: list[int] = []
    open_text, open_line = "", 0
    with path.open(encoding="utf-8", errors="replace") as handle:
        for number, raw in enumerate(handle, 1):
            line = raw.rstrip("\r\n")
            if open_text:
                if _CONTINUED.match(line) and "{" not in line:
                    open_text = f"{open_text.rstrip()} {line.strip()}"
                    if "}" in line:
                        texts.append(open_text)
                        firsts.append(open_line)
                        open_text = ""
                    continue
                texts.append(open_text)
                firsts.append(open_line)
                open_text = ""
            if _OPEN.search(_PIECE.sub("", line)):
                open_text, open_line = line, number
            else:
                texts.append(line)
                firsts.append(number)
    if open_text:
        texts.append(open_text)
        firsts.append(open_line)
    return batch_of(texts, firsts)
