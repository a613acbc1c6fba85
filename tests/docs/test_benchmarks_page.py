"""benchmarks/README.md lists the scripts, in the words of their own first lines."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def test_every_script_is_listed_as_it_describes_itself() -> None:
    rows = dict(
        re.findall(
            r"^\| `(\w+\.py)` \| (.*) \|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    first_lines = {
        path.name: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        .split("\n")[0]
        .rstrip(".")
        for path in FOLDER.glob("*.py")
    }
    assert len(first_lines) >= 10
    assert rows == first_lines
