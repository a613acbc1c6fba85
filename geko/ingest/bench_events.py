"""The lines of a hipblaslt-bench output that are no result rows: banner, progress, warnings and errors.

Forms by version: hipBLASLt clients 0.x to 1.2 (2022 to 2026); the HIP runtime, rocRoller and the shell add
their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class BenchEvent:
    """One line that says something other than a result row.

    Attributes:
        line: 1-based line number.
        kind: one of :data:`ERROR_KINDS`, or ``command``, ``is_supported``, ``rotating``, ``skip_solution``,
            ``selection_time``, ``adaptive``, ``info``, ``warning``, ``truncated``, ``other``.
        text: the line without its blanks at the ends.
        after_block: index of the last result row before it, -1 before the first.
        detail: values read out of the line, by name.
    """

    line: int
    kind: str
    text: str
    after_block: int
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        """Whether the line reports a failure of a problem or of the program."""
        return self.kind in ERROR_KINDS


#: Kind of an error line -> outcome of a measurement (table ``measurement``).
ERROR_KINDS: dict[str, str] = {
    "no_solution": "no_solution",
    "unsupported": "unsupported",
    "memory_fault": "memory_fault",
    "hip_error": "crash",
    "crash": "crash",
    "usage": "unsupported",
}


@dataclass(frozen=True, slots=True)
class BenchBanner:
    """What the client prints about itself and the device, once per process; None where a line is missing.

    Attributes:
        line: line of its first part.
        version, git: hipBLASLt version (``"100200"``) and git version.
        device_id: ordinal of the target device.
        device_name, gfx: such as ``"AMD Instinct MI350X"`` and ``"gfx950:sramecc+:xnack-"``.
        memory_gb: device memory, 10^9 bytes as printed.
        max_sclk_mhz, max_mclk_mhz: highest clocks.
        compute_capability: as printed.
        n_devices: visible devices.
    """

    line: int
    version: str | None = None
    git: str | None = None
    device_id: int | None = None
    device_name: str | None = None
    gfx: str | None = None
    memory_gb: float | None = None
    max_sclk_mhz: float | None = None
    max_mclk_mhz: float | None = None
    compute_capability: str | None = None
    n_devices: int | None = None


_BANNER = (
    (re.compile(r"hipBLASLt version: *(\S+)"), ("version",)),
    (re.compile(r"hipBLASLt git version: *(\S+)"), ("git",)),
    (re.compile(r"Query device success: there are (\d+) devices"), ("n_devices",)),
    (re.compile(r"Device ID (\d+) *: *(.*?) *(gfx\w+\S*)?$"), ("device_id", "device_name", "gfx")),
    (
        re.compile(r"with ([\d.]+) GB memory, max\. SCLK ([\d.]+) MHz, max\. MCLK ([\d.]+) MHz"),
        ("memory_gb", "max_sclk_mhz", "max_mclk_mhz"),
    ),
    (re.compile(r".*compute capability ([\d.]+)"), ("compute_capability",)),
    (re.compile(r"maxGridDimX \d+"), ()),
    (re.compile(r"-{20,}$"), ()),
)
_BANNER_TYPES = {
    "device_id": int, "n_devices": int, "memory_gb": float, "max_sclk_mhz": float, "max_mclk_mhz": float,
}  # fmt: skip
BANNER_START = ("hipBLASLt version:", "Query device success", "hipBLASLt git version:")


@lru_cache(maxsize=4096)
def read_banner_line(text: str) -> dict[str, Any] | None:
    """Values of one banner line; an empty mapping for a banner line without any, None for another line."""
    values: dict[str, Any] = {}
    found = False
    for pattern, names in _BANNER:
        match = pattern.match(text)
        if match:
            found = True
            for name, value in zip(names, match.groups(), strict=True):
                if value is not None:
                    values[name] = _BANNER_TYPES.get(name, str)(value)
    return values if found else None


_NUMBER = r"([-+\w.]+)"
_EVENTS: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    (
        "is_supported",
        re.compile(rf"Is supported {_NUMBER} */ *Total solutions: *{_NUMBER}"),
        ("supported", "total"),
    ),
    (
        "skip_solution",
        re.compile(
            rf"Skip solution: *{_NUMBER} *\(best warm-up = {_NUMBER} us *, *warm-up = {_NUMBER} us, *"
            rf"skip ratio = {_NUMBER}(?:, *solution index = {_NUMBER})?"
        ),
        ("rank", "best_warmup_us", "warmup_us", "ratio", "solution_index"),
    ),
    (
        "rotating",
        re.compile(
            rf"Rotating buffer {_NUMBER} MiB\. Needed Size: {_NUMBER} MiB\. Needed block count: {_NUMBER}"
            rf"(?: \(Capped to max iters: {_NUMBER}\))?"
        ),
        ("rotating_mib", "needed_mib", "blocks", "capped_to_iters"),
    ),
    ("selection_time", re.compile(rf"Solution selection time: *{_NUMBER} *us"), ("us",)),
    ("adaptive", re.compile(r"Adaptive timing:"), ()),
    (
        "no_solution",
        re.compile(r".*\b(?:NO solution found|No solution found|no valid solution)", re.IGNORECASE),
        (),
    ),
    (
        "unsupported",
        re.compile(r"Invalid: |.*MX data types do not support algorithm|.*STATUS_NOT_SUPPORTED"),
        (),
    ),
    ("unsupported", re.compile(r".*Predicate mismatch"), ()),
    (
        "memory_fault",
        re.compile(
            r".*(?:HSA_STATUS_ERROR_MEMORY_(?:APERTURE_VIOLATION|FAULT)|[Mm]emory access fault|"
            r"HSA_STATUS_ERROR_EXCEPTION|hipErrorIllegalAddress)"
        ),
        (),
    ),
    (
        "hip_error",
        re.compile(r".*(?:hipError[A-Z]\w+|HIP error|hipblaslt error|STATUS_[A-Z_]*(?:ERR|FAIL))"),
        (),
    ),
    ("usage", re.compile(r".*(?:unrecogni[sz]ed option|the argument .* is invalid|Undefined value )"), ()),
    (
        "crash",
        re.compile(
            r"Segmentation fault|Aborted|terminate called|Illegal instruction|Bus error|.*core dumped|"
            r".*HSA_STATUS_ERROR|.*Signal caught|error: "
        ),
        (),
    ),
    ("info", re.compile(r"hipblaslt-bench INFO: *(.*)"), ("message",)),
    ("warning", re.compile(r".*\bwarning\b", re.IGNORECASE), ()),
    (
        "command",
        re.compile(r"(?:\$ +)?(?:[A-Z_]+=\S+ +)*(?:\S*/)?(?:hipblaslt|rocblas)-bench(?:$|\s+\S)"),
        (),
    ),
)
_INTEGERS = frozenset({"supported", "total", "rank", "solution_index", "capped_to_iters", "blocks"})


def read_event(line: int, text: str, after_block: int) -> BenchEvent:
    """Classify a line that is neither row, banner nor kernel information.

    Args:
        line: its 1-based number.
        text: the line without blanks at the ends.
        after_block: index of the last result row before it, or -1.
    """
    kind, detail = _classify(text)
    return BenchEvent(line, kind, text, after_block, detail)


# The same few lines stand in an output thousands of times.
@lru_cache(maxsize=4096)
def _classify(text: str) -> tuple[str, dict[str, Any]]:
    for kind, pattern, names in _EVENTS:
        match = pattern.match(text)
        if match:
            found = zip(names, match.groups(), strict=True)
            return kind, {name: _value(name, value) for name, value in found if value is not None}
    return "other", {}


def _value(name: str, text: str) -> int | float | str:
    try:
        return int(text) if name in _INTEGERS else float(text)
    except ValueError:
        return text
