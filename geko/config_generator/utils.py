"""Values as YAML 1.1 text that reads back as the same values and types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
#: Plain words that YAML 1.1 reads as something other than text.
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"})


def number(value: float) -> str:
    """A float with a dot in its mantissa: YAML 1.1 takes ``1e-05`` for text."""
    text = repr(float(value))
    mantissa, sign, exponent = text.partition("e")
    if not sign:
        return text
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def quoted(text: str) -> str:
    """Text in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def scalar(value: Any, *, lower: bool = False, quote: bool = False) -> str:
    """One value in flow style.

    Args:
        value: None, bool, int, float, text, or lists and mappings of them.
        lower: booleans as ``true`` (else ``True``).
        quote: all text in quotes, not only where YAML needs it.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return ("true" if value else "false") if lower else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        if quote or not _PLAIN.match(value) or value.lower() in _RESERVED:
            return quoted(value)
        return value
    if isinstance(value, dict):
        inner = ", ".join(f"{scalar(k)}: {scalar(v, lower=lower, quote=quote)}" for k, v in value.items())
        return f"{{{inner}}}"
    return f"[{', '.join(scalar(item, lower=lower, quote=quote) for item in value)}]"


def wrapped(values: Iterable[Any], indent: int, width: int = 110) -> list[str]:
    """A long flow list over several lines, without the brackets; every line but the last ends with a
    comma."""
    lines: list[str] = []
    line = ""
    for text in map(scalar, values):
        if line and indent + len(line) + len(text) + 3 > width:
            lines.append(" " * indent + line + ",")
            line = text
        else:
            line = f"{line}, {text}" if line else text
    if line:
        lines.append(" " * indent + line)
    return lines
