"""hipBLASLt profile logs (``HIPBLASLT_LOG_MASK`` 64, and 128 with kernel names) of every version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geko.ingest.flow_log import entries_in, parse_flow_log
from geko.ingest.formats import Parsed, Put

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_BEGUN = re.compile(rb"\{\s*function\s*:\s*\w*(matmul|gemm)\w*\s*,")


@dataclass(frozen=True, slots=True)
class HipblasltLog:
    """One flow mapping a call; see :mod:`geko.ingest.flow_log` for what may go wrong in it."""

    kind: str = "hipblaslt-log"
    version: int = 1
    title: str = "hipBLASLt profile log (mask 64 or 128)"

    def sniff(self, head: bytes, path: Path) -> float:
        """An entry with sizes and transposes, or one that begins as hipBLASLt's do."""
        if b"hipblaslt-Gflops" in head:
            return 0.0  # output of hipblaslt-bench that was run with logging on
        for entry in entries_in(head):
            if "rocblas_function" in entry:
                return 0.0
            if re.search(r"\bM\s*:", entry) and re.search(r"\btransA\s*:", entry):
                # Certainty ends the search: the other formats need not even be loaded.
                return 1.0 if re.match(r"\{\s*function\s*:", entry) else 0.95
        return 0.9 if _BEGUN.search(head) else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a log of any size that fits in memory."""
        return parse_flow_log(path, scratch)

    def parse_in_parts(self, path: Path, scratch: Scratch, put: Put) -> Parsed:
        """Read a log of any size."""
        return parse_flow_log(path, scratch, put)


FORMAT = HipblasltLog()
