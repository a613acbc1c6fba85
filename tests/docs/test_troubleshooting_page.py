"""docs/troubleshooting.md quotes messages that GEKO really prints."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", TEXT, re.MULTILINE)


@cache
def literals() -> list[str]:
    """Every text in the code of GEKO; what is filled in is ``…``."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "geko").rglob("*.py")]
    return [
        re.sub(r"%[sdg]", "…", _text(node))
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
    ]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…"


def is_said(message: str) -> bool:
    """Whether a text of the code has all parts of a message, in their order; ``…`` stands for anything."""
    parts = [re.escape(part.strip()) for part in message.split("…") if part.strip()]
    pattern = re.compile(r"[\s\S]*".join(parts))
    return any(pattern.search(text) for text in literals())


def test_there_are_messages_of_every_kind() -> None:
    assert len(MESSAGES) >= 40
    assert len(set(MESSAGES)) == len(MESSAGES)


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_in_the_code(message: str) -> None:
    assert is_said(message)


def test_a_message_that_nobody_says_is_found_out() -> None:
    assert not is_said("the moon is in … and no GEMM can be timed")
    assert not is_said(MESSAGES[0] + " never said")


def test_remedies_are_given() -> None:
    rows = re.findall(r"^\| `[^`]+` \| (.*) \|$", TEXT, re.MULTILINE)
    assert len(rows) == len(MESSAGES)
    assert all(len(row) > 15 for row in rows)
