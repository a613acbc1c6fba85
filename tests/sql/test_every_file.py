"""Every file below ``sql/`` is used: statements are named in the code and executed by the tests, views and macros asked."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "sql"
STATEMENTS = sorted(
    path.relative_to(SQL / "queries").with_suffix("").as_posix() for path in SQL.glob("queries/*/*.sql")
)
OBJECTS = sorted((*SQL.glob("views/*.sql"), *SQL.glob("macros/*.sql")))


def _without_comments(path: Path) -> str:
    return re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))


@cache
def texts_in_code() -> frozenset[str]:
    """The texts of the code; ``*`` stands for what is filled in (``ingest/put_*``)."""
    found: set[str] = set()
    for path in (ROOT / "geko").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.add("".join(str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values))
    return frozenset(found)


def is_named(statement: str) -> bool:
    """Whether the code names a statement: in one text, or by ``area/*`` and a text that is its own name."""
    area, own = statement.split("/")
    if statement in texts_in_code() or (f"{area}/*" in texts_in_code() and own in texts_in_code()):
        return True
    patterns = [text for text in texts_in_code() if re.fullmatch(rf"{area}/\w*\*?\w+|{area}/\w+\*?\w*", text)]
    return any(re.fullmatch(pattern.replace("*", r"\w+"), statement) for pattern in patterns)


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_is_named_in_the_code(name: str) -> None:
    assert is_named(name), f"nobody runs sql/queries/{name}.sql"


def test_a_statement_that_nobody_names_is_found_out() -> None:
    assert not is_named("queue/no_such_statement")
    assert not is_named("run/no_such_plan")


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_view_or_macro_is_used_or_documented(path: Path) -> None:
    text = _without_comments(path)
    made = re.search(
        r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP\s+)?(?:VIEW|MACRO|FUNCTION)\s+(\w+)", text, re.IGNORECASE
    )
    assert made, path
    name = re.compile(rf"\b{made[1]}\b")
    others = (other for folder in ("macros", "views", "queries") for other in SQL.glob(f"{folder}/**/*.sql"))
    used = any(name.search(_without_comments(other)) for other in others if other != path)
    assert used or name.search((ROOT / "docs" / "warehouse.md").read_text(encoding="utf-8")), made[1]


@pytest.mark.whole_suite
def test_every_statement_was_executed() -> None:
    """Runs last, and only when all tests ran: the statements they executed are noted by ``$GEKO_TRACE_SQL``."""
    executed = set(Path(os.environ["GEKO_TRACE_SQL"]).read_text(encoding="utf-8").split())
    assert "queue/claim" in executed
    assert sorted(set(STATEMENTS) - executed) == [], "no test executes these"


def test_the_trace_notes_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geko.warehouse.resources import statement_text

    monkeypatch.setenv("GEKO_TRACE_SQL", str(tmp_path / "trace"))
    statement_text.__wrapped__("queue/claim")
    assert (tmp_path / "trace").read_text() == "queue/claim\n"
