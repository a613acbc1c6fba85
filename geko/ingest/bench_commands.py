"""hipBLASLt bench logs (``HIPBLASLT_LOG_MASK`` 32): one hipblaslt-bench command line a call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geko.ingest.command_log import has_command, parse_command_log
from geko.ingest.formats import Parsed, Put

if TYPE_CHECKING:
    from geko.warehouse import Scratch

#: What the client takes where an option is left out (clients/bench of hipBLASLt).
CLIENT_DEFAULTS = {
    "transA": "N",
    "transB": "N",
    "a_type": "f32_r",
    "b_type": "f32_r",
    "c_type": "f32_r",
    "compute_type": "f32_r",
    "batch_count": "1",
}


@dataclass(frozen=True, slots=True)
class BenchCommands:
    """See :mod:`geko.ingest.command_log`."""

    kind: str = "bench-commands"
    version: int = 1
    title: str = "hipBLASLt bench log (mask 32)"

    def sniff(self, head: bytes, path: Path) -> float:
        """A command with options, and no result of one."""
        if b"hipblaslt-Gflops" in head:
            return 0.0
        return 0.8 if has_command(head, "hipblaslt-bench") else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a log of any size that fits in memory."""
        return parse_command_log(path, scratch, program="hipblaslt-bench", defaults=CLIENT_DEFAULTS)

    def parse_in_parts(self, path: Path, scratch: Scratch, put: Put) -> Parsed:
        """Read a log of any size."""
        return parse_command_log(path, scratch, put, program="hipblaslt-bench", defaults=CLIENT_DEFAULTS)


FORMAT = BenchCommands()
