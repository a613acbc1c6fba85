"""Logs of command lines: hipBLASLt's mask 32 (``hipblaslt-bench``), rocBLAS's layer 2 (``rocblas-bench``).

    hipblaslt-bench --api_method c -m 1024 -n 512 -k 1024 --lda 1024 ... --bias_vector --bias_source d ...

Every line is one call. A path, a prompt or other text may stand before the program; a command may be wrapped
over several lines. Options without a value are switches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from geko.ingest.cells import RowGroup, read_cells
from geko.ingest.formats import Parsed, Put
from geko.ingest.lines import DistinctLines, LineBatch, batch_of
from geko.ingest.log_reader import WRAP_LIMIT, Adapt, LogReader
from geko.ingest.row_tables import rows_group

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_SHORT = {
    "m": "M", "n": "N", "k": "K", "i": "iters", "j": "cold_iters", "r": "precision", "f": "function",
    "v": "verify", "b": "batch_count",
}  # fmt: skip
_OPTION = re.compile(r"(?<!\S)--?([A-Za-z][\w-]*)(?:(?:\s+|=)((?!--?[A-Za-z])\S+))?")
_CONTINUED = re.compile(r"^\s*--?[A-Za-z][\w-]*(\s|$)")
_IGNORED = re.compile(r"\s*(#.*|\d+(st|nd|rd|th)\s+hipblasLtMatmul:?)?\s*\Z")
_SPECIAL = re.compile(r"[,{}\[\]'\"]")
_FILE = "the command names a YAML file and no sizes: ingest that file"


def has_command(head: bytes, program: str) -> bool:
    """Whether a command line of the program with options stands in the text."""
    return (
        re.search(rb"^(?!\s*#)[^\n]*" + program.encode() + rb"[ \t\\]*\r?\n?[ \t]+-[-\w]", head, re.MULTILINE)
        is not None
    )


def parse_command_log(
    path: Path,
    scratch: Scratch,
    put: Put | None = None,
    *,
    program: str,
    adapt: Adapt | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Parsed:
    """Read a log of command lines.

    Args:
        path: the file.
        scratch: where ids are made.
        put: takes problems and calls in parts; None keeps them all for the result.
        program: name of the bench program.
        adapt: rewrites groups of rows; may reject rows by returning None.
        defaults: texts of fields that the program fills in itself.
    """
    lines = DistinctLines(path)
    batches = iter(lines)
    reader = _Reader(scratch, put, program, adapt, defaults)
    for batch in batches:
        reader.add(batch)
    if reader.n_continued and path.stat().st_size <= WRAP_LIMIT:
        # Commands over several lines: folding equal lines has lost their order; read the file as it is.
        reader = _Reader(scratch, put, program, adapt, defaults)
        reader.add(_unwrapped(path, program))
    return reader.result(lines.n_lines)


class _Reader(LogReader):
    def __init__(
        self,
        scratch: Scratch,
        put: Put | None,
        program: str,
        adapt: Adapt | None,
        defaults: Mapping[str, str] | None,
    ) -> None:
        super().__init__(scratch, put, adapt, defaults)
        self._command = re.compile(r"(?:^|[\s/])" + re.escape(program) + r"\s+(-.*)$", re.DOTALL)
        self._odd: list[tuple[dict[str, str], int, int, str]] = []

    def groups(self, batch: LineBatch) -> Iterator[RowGroup]:
        self._odd = []
        for group in read_cells(self._commands(batch), braces=False):
            if isinstance(group, RowGroup):
                yield from self._adapted(group)
            else:
                self.into.reject(group, "the command can't be read")
        if self._odd:
            lines = batch_of([text for *_, text in self._odd], [first for _, _, first, _ in self._odd])
            counts = pa.array([count for _, count, _, _ in self._odd], pa.int64())
            rows = [options for options, *_ in self._odd]
            yield from self._adapted(rows_group(rows, LineBatch(lines.text, counts, lines.first_line)))

    def _adapted(self, group: RowGroup) -> Iterator[RowGroup]:
        yield from map(_named, super()._adapted(group))

    def _commands(self, batch: LineBatch) -> LineBatch:
        """The commands as ``key: value`` lists; those with commas or braces in values are set aside."""
        texts: list[str] = []
        counts: list[int] = []
        firsts: list[int] = []
        columns = (batch.texts(), batch.n_lines.to_pylist(), batch.first_line.to_pylist())
        for text, count, first in zip(*columns, strict=True):
            match = self._command.search(text)
            if match is None:
                if not _IGNORED.match(text):
                    self.n_continued += _CONTINUED.match(text) is not None
                    self._other(first, count, text)
                continue
            found = _OPTION.findall(match.group(1))
            options = {_SHORT.get(key, key.replace("-", "_")): value or "true" for key, value in found}
            if "yaml" in options and not {"M", "sizem"} & options.keys():
                self.into.rejects.append((first, count, _FILE, text))
                continue
            if any(_SPECIAL.search(value) for value in options.values()):
                self._odd.append((options, count, first, text))
                continue
            texts.append(",".join([f"{key}:{value}" for key, value in options.items()]))
            counts.append(count)
            firsts.append(first)
        return LineBatch(
            pa.array(texts, pa.large_string()), pa.array(counts, pa.int64()), pa.array(firsts, pa.int64())
        )


def _named(group: RowGroup) -> RowGroup:
    """``--precision`` stands for all types that are not given."""
    precision = group.columns.get("precision")
    if precision is None:
        return group
    types = dict.fromkeys(("a_type", "b_type", "c_type", "d_type"), precision)
    return RowGroup(
        types | {name: c for name, c in group.columns.items() if name != "precision"}, group.lines
    )


def _unwrapped(path: Path, program: str) -> LineBatch:
    """All lines of a file, commands that go over several lines as one, numbered by the line they begin in."""
    texts: list[str] = []
    firsts: list[int] = []
    open_command = False
    with path.open(encoding="utf-8", errors="replace") as handle:
        for number, raw in enumerate(handle, 1):
            line = raw.rstrip("\r\n")
            if open_command and _CONTINUED.match(line):
                texts[-1] = f"{texts[-1].rstrip().removesuffix(chr(92))} {line.strip()}"
                continue
            open_command = program in line
            texts.append(line)
            firsts.append(number)
    return batch_of([text.rstrip().removesuffix("\\") for text in texts], firsts)
