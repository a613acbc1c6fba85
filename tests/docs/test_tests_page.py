"""tests/README.md tells which tests there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS / "README.md").read_text(encoding="utf-8")


def test_every_folder_is_described() -> None:
    folders = {path.name for path in TESTS.iterdir() if any(path.glob("test_*.py"))}
    layout = TEXT.split("## Layout", 1)[1].split("## ", 1)[0]
    assert set(re.findall(r"`(\w+)/`", "".join(re.findall(r"^\| (.*?) \|", layout, re.MULTILINE)))) == folders


def test_every_option_and_marker_is_described(pytestconfig: pytest.Config) -> None:
    own = set(re.findall(r'addoption\(\s*"(--[\w-]+)"', (TESTS / "conftest.py").read_text(encoding="utf-8")))
    assert set(re.findall(r"^\| `(--[\w-]+)", TEXT, re.MULTILINE)) == own
    markers = TEXT.split("## Markers", 1)[1].split("## ", 1)[0]
    registered = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    described = set(re.findall(r"^\| `(\w+)`", markers, re.MULTILINE))
    assert described <= registered
    assert described == {name for name in registered if f"mark.{name}" in _sources()}


def _sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
