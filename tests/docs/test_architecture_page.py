"""docs/architecture.md tells what may import what, and how the queue and the warehouse are called."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from geko.warehouse import Warehouse, queue

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "geko"
#: Small modules that everyone may use.
COMMON = {"errors", "log", "fsio", "devices", "hipblaslt", "frames", "__version__"}


def _rooms() -> dict[str, set[str] | None]:
    """Room → what it may import; None for anything but ``cli``."""
    found: dict[str, set[str] | None] = {}
    for row in re.findall(r"^\| (`geko/[^|]+) \|[^|]+\| ([^|]+) \|$", TEXT, re.MULTILINE):
        allowed = None if row[1].startswith("all") else set(re.findall(r"`(\w+)`", row[1]))
        for room in re.findall(r"`geko/(\w+)(?:/|\.py)`", row[0]):
            found[room] = allowed
    return found


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "geko":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("geko."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("geko.")}
    return names


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(_rooms()), "a folder that docs/architecture.md doesn't describe"


def test_every_module_is_in_a_room() -> None:
    api = {"schemas", "utils", "search", "constants", "gemm_metrics"}  # thin, under the names of the original
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert modules <= set(_rooms()) | COMMON | api
    for name in api:
        used = _imports(PACKAGE / f"{name}.py")
        assert "cli" not in used


@pytest.mark.parametrize("room", sorted(_rooms()))
def test_rooms_import_what_the_page_allows(room: str) -> None:
    allowed = _rooms()[room]
    home = PACKAGE / room
    files = list(home.rglob("*.py")) if home.is_dir() else [PACKAGE / f"{room}.py"]
    used = {name: path for path in files for name in _imports(path) if name != room}
    if room != "cli":
        assert "cli" not in used
    if allowed is not None:
        assert not (set(used) - allowed - COMMON), {n: str(used[n]) for n in set(used) - allowed - COMMON}


def test_only_the_warehouse_imports_duckdb() -> None:
    for path in PACKAGE.rglob("*.py"):
        if "warehouse" not in path.parts:
            assert not re.search(
                r"^\s*(import|from) duckdb", path.read_text(encoding="utf-8"), re.MULTILINE
            ), path


def test_calls_are_as_written() -> None:
    block = TEXT.split("The library calls of the queue", 1)[1].split("Measurement rows", 1)[0]
    calls = re.findall(r"\b([a-z_]+)\(wh(?:, ([^)]*))?\)", block)
    assert len(calls) >= 11
    for name, parameters in calls:
        real = list(inspect.signature(getattr(queue, name)).parameters)
        written = [re.split(r"[:=]", part)[0].strip() for part in parameters.split(",") if part.strip(" .")]
        assert [n for n in written if n] == real[1 : 1 + len(written)], name
    for name in ("query", "apply", "sql", "snapshot", "import_", "check", "prune", "close"):
        assert re.search(rf"\b{name}\(", TEXT)
        assert hasattr(Warehouse, name)
    for name, fields in re.findall(r"\b(Claim|JobResult|EnqueueResult)\(([^)]*)\)", block):
        written = re.findall(r"(\w+)(?::[^,]*)?(?:,|$)", fields.replace("\n", " "))
        real = list(inspect.signature(getattr(queue, name)).parameters)
        assert written == real, name
