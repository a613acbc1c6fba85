"""Aggregates whose last digits, or whose choice among equals, depend on the order of rows have a fixed order in views."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

VIEWS = sorted((Path(__file__).parents[2] / "sql" / "views").glob("*.sql"))
_CALL = re.compile(r"(?<![\w.])(sum|avg|mode|stddev_samp|stddev_pop|any_value|first|last)\(")
#: Aggregates over whole numbers, or over values that are all equal.
EXACT = {"calls", "n", "max_calls", "call_count"}


def unordered(text: str) -> list[str]:
    """Calls of order-dependent aggregates without an order of their own."""
    code = re.sub(r"--[^\n]*", "", text)
    found = []
    for match in _CALL.finditer(code):
        depth, at = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        inside, after = code[match.end() : at - 1], code[at:].lstrip()
        if "ORDER BY" in inside or inside.strip().split(".")[-1] in EXACT:
            continue
        if after.startswith("OVER") and "ORDER BY" in after[: after.find(")")]:
            continue
        found.append(" ".join(code[match.start() : at].split()))
    return found


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.name)
def test_views_add_up_in_a_fixed_order(path: Path) -> None:
    assert unordered(path.read_text(encoding="utf-8")) == []


def test_the_check_finds_what_it_looks_for() -> None:
    assert unordered("SELECT sum(us), avg(ln(us)) FILTER (WHERE us > 1)") == ["sum(us)", "avg(ln(us))"]
    assert (
        unordered("SELECT sum(us ORDER BY us), list_sum(x), sum(us) OVER (PARTITION BY a ORDER BY b)") == []
    )
    assert unordered("SELECT sum(us) OVER (PARTITION BY a)") == ["sum(us)"]
