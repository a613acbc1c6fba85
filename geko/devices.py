"""Device lists of the command line: ``0,1,3``, ``0-3``, ``all``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from geko.errors import UsageError

ALL = "all"
_RANGE = re.compile(r"(\d+)\s*(?:-|\.\.)\s*(\d+)\Z")
_HELP = "write device numbers as 0,1,3, ranges as 0-3, or all"


def parse_devices(devices: str | int | Sequence[int | str], available: int | None = None) -> list[int]:
    """Read a list of device numbers; its order is kept.

    Device numbers are those that the tools take (``hipblaslt-bench --device N``). Where HIP_VISIBLE_DEVICES or
    ROCR_VISIBLE_DEVICES is set, they count the visible devices only.

    Args:
        devices: such as ``"0,1,3"``, ``"0-3"``, ``"4-7,0"``, ``"all"``, or numbers.
        available: number of devices there are; needed for ``all``, and checked against where it is known.

    Raises:
        UsageError: if the list is empty, holds anything else, a device twice, a negative number, or a device
            that isn't there.
    """
    if isinstance(devices, bool) or not isinstance(devices, (str, int, Sequence)):
        raise UsageError(f"{type(devices).__name__} is no list of devices; {_HELP}")
    parts = (
        devices.split(",") if isinstance(devices, str) else [devices] if isinstance(devices, int) else devices
    )
    found: list[int] = []
    for part in parts:
        found += _numbers(part, available)
    if not found:
        raise UsageError(f"at least one device is needed; {_HELP}")
    twice = sorted({number for number in found if found.count(number) > 1})
    if twice:
        raise UsageError(f"device {twice[0]} is named twice in {_shown(devices)}")
    if available is not None:
        absent = [number for number in found if number >= available]
        if absent:
            there = (
                "there is none" if available == 0 else f"there are {available} devices, 0 to {available - 1}"
            )
            raise UsageError(f"no device {absent[0]}: {there}")
    return found


def _numbers(part: int | str, available: int | None) -> list[int]:
    if isinstance(part, bool) or not isinstance(part, (int, str)):
        raise UsageError(f"{part!r} is no device number; {_HELP}")
    if isinstance(part, int):
        if part < 0:
            raise UsageError(f"a device number can't be negative: {part}")
        return [part]
    text = part.strip()
    if text.lower() == ALL:
        if available is None:
            raise UsageError("how many devices there are is not known here: name them instead of 'all'")
        if available == 0:
            raise UsageError("no device was found; see what `geko doctor` says")
        return list(range(available))
    if text.isascii() and text.isdigit():
        return [int(text)]
    match = _RANGE.match(text)
    if match is not None:
        first, last = int(match[1]), int(match[2])
        if first > last:
            raise UsageError(f"the range {text} runs backwards; {_HELP}")
        return list(range(first, last + 1))
    if text.startswith("-") and text[1:].isdigit():
        raise UsageError(f"a device number can't be negative: {text}")
    raise UsageError(
        f"{part!r} is no device number; {_HELP}" if text else f"an empty entry in the list; {_HELP}"
    )


def _shown(devices: object) -> str:
    return devices if isinstance(devices, str) else str(devices)


def is_all(devices: object) -> bool:
    """Whether a list names every device there is, so that their number has to be found out first."""
    return isinstance(devices, str) and ALL in (part.strip().lower() for part in devices.split(","))
