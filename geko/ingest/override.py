"""hipBLASLt's own tuning file: the winner per problem that ``HIPBLASLT_TUNING_FILE`` collects and the library
replays.

The first line names the git version of the build, then each entry has a header line and a value line. Files
of 2026 on carry ``schema_version`` and the numbers of the library's enumerations for bias type and epilogue.
A solution index in it means something only in that build on that device.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from geko.ingest.bench_results import bench_results
from geko.ingest.bench_stdout import BenchOutput, parse_bench_text
from geko.ingest.results import parsed
from geko.ingest.tuned_table import with_library

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.warehouse import Scratch

_GIT = re.compile(r"^Git Version: *(\S+)", re.MULTILINE)
_HEADER = re.compile(rb"^[ \t]*(?:\w+[ \t]*,[ \t]*)*transA[ \t]*,.*\bsolution_index\b", re.MULTILINE)
#: Lines that the library skips: its own first one, and what `geko export override` adds.
_REMARKS = ("Git Version:", "Simulated:", "#")
#: ``hipDataType`` numbers in versioned rows.
_TYPE_NUMBERS = {
    "0": "f32_r", "1": "f64_r", "2": "f16_r", "3": "i8_r", "4": "f32_c", "5": "f64_c", "10": "i32_r",
    "14": "bf16_r", "28": "f8_r", "29": "bf8_r", "1000": "f8_fnuz_r", "1001": "bf8_fnuz_r",
}  # fmt: skip


class TuningFile:
    """Format of the tuning and override file."""

    kind = "hipblaslt-tuning"
    version = 2
    title = "hipBLASLt tuning file"

    def sniff(self, head: bytes, path: Path) -> float:
        """``Git Version:`` and headers with a column solution_index."""
        if not _HEADER.search(head):
            return 0.0
        return 1.0 if head.lstrip().startswith(b"Git Version:") or b"schema_version" in head else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read the entries: a measurement and a row of the table's solutions each."""
        text = path.read_text(encoding="utf-8", errors="replace")
        git = _GIT.search(text)
        out = _plain(parse_bench_text(text))
        results = bench_results(out, selection="tuning file")
        version = git[1] if git else None
        results.environments = [replace(item, hipblaslt_git=version) for item in results.environments]
        results.detail["git"] = version
        tables = parsed(results, path, scratch, kind=self.kind, n_lines=out.n_lines)
        return with_library(tables, results, path, scratch, program="hipblaslt", version=version)


def _plain(out: BenchOutput) -> BenchOutput:
    """The output without version line and remarks as events, and with types in place of their numbers."""
    events = [event for event in out.events if not event.text.startswith(_REMARKS)]
    frame: pl.DataFrame = pl.from_arrow(out.blocks)  # type: ignore[assignment]
    frame = frame.with_columns(pl.col("bias_type", "aux_type").replace(_TYPE_NUMBERS))
    blocks = frame.to_arrow().cast(out.blocks.schema)
    assert isinstance(blocks, pa.Table)
    return replace(out, events=events, blocks=blocks)


FORMAT = TuningFile()
