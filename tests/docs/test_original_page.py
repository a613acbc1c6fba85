"""docs/from-the-original.md: what it names here exists, and it names all that the original's README does."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from geko.cli.legacy import translate

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "from-the-original.md").read_text(encoding="utf-8")
ROWS = [(row[0].strip(), row[1].strip()) for row in re.findall(r"^\| ([^|]*)\|([^|]*)\|[^|]*\|$", TEXT, re.M)]
HERE = [name for _, here in ROWS for name in re.findall(r"`([^`]+)`", here)]
#: Sources of GEMMs that the table's options are tried with.
_LINE = ["--inline", "64", "64", "1", "64", "B", "B", "S", "T", "N"]


@pytest.mark.parametrize("name", sorted({name for name in HERE if re.fullmatch(r"geko(\.\w+)+", name)}))
def test_modules_and_functions_exist(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_files_of_the_checkout_exist() -> None:
    named = {name for name in HERE if re.match(r"(bin|scripts|geko|docs|tests)/|pyproject", name)}
    assert len(named) >= 8
    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert {f"scripts/{path.name}" for path in (ROOT / "scripts").glob("*.py")} <= named


def _options(words: list[str]) -> set[str]:
    import typer

    from geko.cli.app import build

    command = typer.main.get_command(build(words))
    found = command.commands[words[0]]  # type: ignore[attr-defined]
    return {opt for parameter in found.params for opt in (*parameter.opts, *parameter.secondary_opts)}


def _section(title: str) -> list[tuple[str, str]]:
    at = [number for number, (original, _) in enumerate(ROWS) if original.startswith("**")]
    start = next(n for n in at if ROWS[n][0] == f"**{title}**")
    end = min((n for n in at if n > start), default=len(ROWS))
    return ROWS[start + 1 : end]


def test_options_are_taken_in_both_spellings() -> None:
    known = {"--help"}.union(*(_options([mode]) for mode in ("tune", "search", "bench")))
    modes = {"--search", "--tune", "--bench"}
    named = {
        option
        for original, _ in _section("command line")
        for option in re.findall(r"`(--?[\w-]+)`", original)
        if option not in modes
    }
    assert len(named) >= 18
    for option in named:
        kept = {word for mode in modes for word in translate([mode, option])[1:] if word}
        assert kept, f"no mode uses {option}"
        assert kept <= known, option
    for mode in modes:
        assert translate([mode, *_LINE])[0] == mode[2:]


def test_options_of_scripts_exist(capsys: pytest.CaptureFixture[str]) -> None:
    from geko.cli import scripts, tuning_scripts

    checked = 0
    for _, here in _section("scripts"):
        options = re.findall(r"`(--?[\w-]+)`", here)
        for script in re.findall(r"`scripts/(\w+)\.py`", here):
            with pytest.raises(SystemExit):
                getattr(scripts if hasattr(scripts, script) else tuning_scripts, script)(["--help"])
            text = capsys.readouterr().out
            taken = set(re.findall(r"(?<!\S)--?[\w-]+", text))
            assert {option for option in options if "_" in option or len(option) == 2} <= taken, script
            checked += len(options)
    assert checked >= 6


def test_files_of_a_working_directory_are_written_somewhere() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "geko").rglob("*.py"))
    for _, here in _section("files of a working directory"):
        for name in re.findall(r"`([^`]+)`", here):
            last = name.rstrip("/").split("/")[-1]
            part = re.sub(r"<config>|BBS_TN_0|\*", "", last).lstrip("-_")
            assert part in sources, name


def test_tasks_environments_and_development_tools_exist() -> None:
    rows = dict(_section("development"))
    tasks = (ROOT / "tasks.py").read_text(encoding="utf-8")
    named = next(row for row in rows if row.startswith("`invoke"))
    for task in re.findall(r"`(?:invoke )?(\w+)`", named):
        assert f"\ndef {task}(" in tasks, task
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    assert "[testenv:integration]" in tox and "HIPBLASLT_PATH" in tox
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = project["project"]["optional-dependencies"]["dev"]
    assert extra == project["dependency-groups"]["dev"]
    tools = {re.split(r"[<>=]", text)[0] for text in extra}
    assert {"pytest", "ruff", "mypy", "invoke", "tox", "build"} <= tools
    options = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    for option in re.findall(r"`(--[\w-]+)`", next(row for row in rows if "--hipblaslt-path" in row)):
        assert f'"{option}"' in options, option


def test_all_names_of_the_originals_readme_are_there(shared: Path) -> None:
    path = shared / "spec" / "original-readme.txt"
    if not path.is_file():
        pytest.skip(f"no {path}")
    readme = path.read_text(encoding="utf-8")
    ours = {name for original, _ in ROWS for name in re.findall(r"`([^`]+)`", original)}
    tree = readme.split("```\ngeko/\n", 1)[1].split("```", 1)[0]
    wanted = set(re.findall(r"── ([\w./]+)", tree))
    wanted |= set(re.findall(r"^- `([\w.]+\(\))` -", readme, re.M))
    wanted |= set(re.findall(r"^- `([A-Z]\w+)` - ", readme, re.M))
    for cell in re.findall(r"^\| (`-[^|]+) \|", readme, re.M):
        wanted |= set(re.findall(r"(?<![\w-])--?[\w-]+", cell))
    for block in re.findall(r"```\nworkdir/\n(.*?)```", readme, re.S):
        wanted |= set(re.findall(r"── ([\w.*/-]+)", block))
    wanted |= set(re.findall(r"\bscripts/\w+\.py\b", readme)) | set(re.findall(r"\bGEKO_[A-Z_]+\b", readme))
    assert len(wanted) > 80
    # Further files of kinds that the table has: *.yaml, BBS_TN_M1024_N32...out, F8BS_TN_1.yaml, *_bench.yaml.
    wanted = {
        name for name in wanted if not re.match(r"\.\.\.|\*\.yaml|\*_\w+\.yaml|\w+_M\d|F8|__init__", name)
    }
    assert wanted - ours == set()
