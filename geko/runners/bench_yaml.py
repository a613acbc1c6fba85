"""Rows for ``hipblaslt-bench --yaml``: one flow mapping a line, in the clients' own names.

Written without a YAML library: a runner process starts often, and its rows are flat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from geko.errors import InputError

#: Names of logs and of other tools -> names of the clients' argument table.
RENAMED = {
    "swizzleA": "swizzle_a",
    "swizzleB": "swizzle_b",
    "m": "M",
    "n": "N",
    "k": "K",
    "batch": "batch_count",
    "trans_a": "transA",
    "trans_b": "transB",
    "activation": "activation_type",
}
#: Keys that say nothing to the client.
_DROPPED = frozenset({"call_count", "problem_id", "us_hint", "duration_s"})
_PLAIN = re.compile(r"[A-Za-z_][\w.+/-]*\Z")
_RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


def bench_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the client's names: ``function`` first, no unset values, ``compute_type`` with ``c_``."""
    out: dict[str, Any] = {"function": row.get("function") or "matmul"}
    for key, value in row.items():
        if value is None or key in _DROPPED:
            continue
        out[RENAMED.get(key, key)] = value
    compute = out.get("compute_type")
    if isinstance(compute, str) and not compute.startswith("c_"):
        out["compute_type"] = f"c_{compute}"
    return out


def bench_yaml(rows: Iterable[Mapping[str, Any]]) -> str:
    """YAML text of rows.

    Raises:
        InputError: a value that the client can't be told (not a number, a text, a switch or a list of them).
    """
    return "".join(f"- {{{_items(bench_row(row))}}}\n" for row in rows)


def _items(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {_scalar(key, value)}" for key, value in row.items())


def _scalar(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
        text = repr(value)
        # YAML 1.1 reads 1e-05 as a text: it wants a dot.
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    if isinstance(value, str):
        if _PLAIN.match(value) and value.lower() not in _RESERVED:
            return value
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_scalar(key, item) for item in value) + "]"
    raise InputError(f"hipblaslt-bench takes no such value for {key}", value=value)
