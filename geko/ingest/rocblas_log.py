"""rocBLAS logs: layer 4 (profile, one flow mapping a call) and layer 2 (``rocblas-bench`` command lines).

Layer 3 is not read: it can't tell TF32 from FP32. Layer 1 (trace) lines carry pointers and are left as other
output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from geko.ingest.calls import CallTables
from geko.ingest.cells import RowGroup
from geko.ingest.command_log import has_command, parse_command_log
from geko.ingest.flow_log import entries_in, parse_flow_log
from geko.ingest.formats import Parsed, Put

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_GEMM = re.compile(r"^(?:rocblas_)?(?:([sdchz])?gemm|hgemm)(?:_(?:strided|batched|ex3?|64|hpa))*$")
_PRECISION = {"h": "f16_r", "s": "f32_r", "d": "f64_r", "c": "f32_c", "z": "f64_c"}
_TYPES = ("a_type", "b_type", "c_type", "d_type", "compute_type")


def as_hipblaslt(group: RowGroup, into: CallTables) -> RowGroup | None:
    """Rows in rocBLAS's terms, in hipBLASLt's: types that the function's name implies; other functions go."""
    key = "rocblas_function" if "rocblas_function" in group.columns else "function"
    functions = group.columns.get(key)
    if functions is None:
        return group
    matches = [_GEMM.match(name or "") for name in functions.dictionary.to_pylist()]
    gemm = pa.array([match is not None for match in matches], pa.bool_()).take(functions.indices)
    lines, columns = group.lines, dict(group.columns)
    if not pc.all(gemm).as_py():
        other = pc.invert(gemm)
        into.reject(lines.filter(other), "a rocBLAS function that is no GEMM")
        lines = lines.filter(gemm)
        columns = {name: column.filter(gemm) for name, column in columns.items()}
        if not len(lines):
            return None
    implied = pa.array([_implied(match) for match in matches], pa.large_string())
    precision = columns.pop("precision", None)
    for name in _TYPES:
        if name not in columns and precision is not None:
            columns[name] = precision
        elif name not in columns and implied.null_count < len(implied):
            columns[name] = pa.DictionaryArray.from_arrays(columns[key].indices, implied)
    return RowGroup(columns, lines)


def _implied(match: re.Match[str] | None) -> str | None:
    return _PRECISION.get(match.group(1) or "") if match else None


@dataclass(frozen=True, slots=True)
class RocblasLog:
    """Layer 4 entries, or else layer 2 command lines."""

    kind: str = "rocblas-log"
    version: int = 1
    title: str = "rocBLAS log (layer 4 or 2)"

    def sniff(self, head: bytes, path: Path) -> float:
        """An entry with ``rocblas_function``, or a rocblas-bench command."""
        if any("rocblas_function" in entry for entry in entries_in(head)):
            return 0.95
        return 0.85 if has_command(head, "rocblas-bench") and b"rocblas-Gflops" not in head else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a log of any size that fits in memory."""
        return self._parse(path, scratch, None)

    def parse_in_parts(self, path: Path, scratch: Scratch, put: Put) -> Parsed:
        """Read a log of any size."""
        return self._parse(path, scratch, put)

    def _parse(self, path: Path, scratch: Scratch, put: Put | None) -> Parsed:
        with path.open("rb") as handle:
            head = handle.read(4 << 20)
        if any("rocblas_function" in entry for entry in entries_in(head)):
            return parse_flow_log(path, scratch, put, as_hipblaslt)
        return parse_command_log(path, scratch, put, program="rocblas-bench", adapt=as_hipblaslt)


FORMAT = RocblasLog()
