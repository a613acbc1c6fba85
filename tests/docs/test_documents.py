"""Commands, options, links and Python snippets of the README and the documents exist and work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from docs_support import SmallRun

from geko.cli.app import COMMANDS, build
from geko.warehouse import Warehouse

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Pages that tell how to use GEKO: they have command lines, and every snippet and query of theirs is run.
HELD = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("warehouse", "capturing-logs", "gpus", "cli", "troubleshooting")
    ),
]


def _ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _command_lines(path: Path) -> Iterator[list[str]]:
    """Words behind ``geko`` of every command line of a page: indented lines and code in the text."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    quoted = re.findall(r"`(geko [^`\\]+)`", text)
    shown = re.findall(r"^ {4,}(?:\$ |.*&& )?(geko [a-z-].*(?:\n {6,}.*)*)$", text, re.MULTILINE)
    for line in [*quoted, *shown]:
        first = line if '"' in line else line.splitlines()[0]
        if first.count('"') == 1:
            continue
        try:
            words = shlex.split(re.sub(r"\s+#.*", "", first).replace("…", ""), posix=True)
        except ValueError:
            continue
        if len(words) > 1 and not (len(words) == 2 and words[1] in COMMANDS and "|" in first):
            yield words[1:]


def _command(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and the words behind its name."""
    command: Any = typer.main.get_command(build(words))
    at = 0
    while hasattr(command, "commands") and (at == 0 or at < len(words)):
        name = words[at].split("|")[0]
        assert name in command.commands, f"geko {' '.join(words)}: there is no {name}"
        command, at = command.commands[name], at + 1
    return command, words[at:]


@pytest.mark.parametrize("page", PAGES, ids=_ids)
def test_command_lines_are_those_of_the_cli(page: Path) -> None:
    from geko.cli.legacy import translate

    lines = list(_command_lines(page))
    assert len(lines) >= 3 or page not in HELD
    for words in lines:
        words = translate(words)
        if words[0].startswith("-"):
            assert words[0] == "--help"
            continue
        command, rest = _command(words)
        options = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help"}
        for word in rest:
            if re.match(r"--?[a-zA-Z]", word):
                assert word.split("=")[0] in options, f"geko {' '.join(words)}: there is no option {word}"


def test_readme_names_no_command_that_is_missing_and_knows_all() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"geko ([a-z-]+)\b(?=[ `\n])", text)) & set(COMMANDS)
    assert named == set(COMMANDS)


def test_the_two_commands_stand_at_the_top_word_for_word() -> None:
    head = (ROOT / "README.md").read_text(encoding="utf-8")[:1200]
    first = "pip install . && geko search --simulate --workload-log examples/workload.yaml --workdir out"
    assert f"\n    {first}\n" in head
    assert "\n    pip install -e '.[dev]' && pytest\n" in head
    assert head.index("geko search --simulate") < head.index("&& pytest")


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=_ids)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = page if not name else page.parent / name
        assert other.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(other.read_text(encoding="utf-8")), f"{page.name}: {target}"


@pytest.mark.parametrize("page", HELD, ids=_ids)
def test_python_snippets_run(page: Path, small_run: SmallRun, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    shutil.copytree(small_run.folder, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.json~"))
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block], cwd=tmp_path, env=_environment(), capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        if "print(result.state" in block:
            assert done.stdout.splitlines()[-1] == "finished 0"
    assert blocks or page.name not in ("README.md", "warehouse.md")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


def test_queries_of_the_pages_run(small_run: SmallRun) -> None:
    queries = [
        words[-1]
        for page in HELD
        for words in _command_lines(page)
        if words[0] == "sql" and "--write" not in words and " " in words[-1] and words[-1].strip() != "SELECT"
    ]
    assert len(queries) >= 6
    with Warehouse.open(small_run.db) as warehouse:
        for query in queries:
            warehouse.sql(query).read_all()


def test_options_of_readme_and_their_defaults() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command, _ = _command(["search"])
    from geko.runs.options import RunOptions, SimulateOptions

    chosen = RunOptions(simulate=SimulateOptions())
    rows = re.findall(r"^\| (`--[^|]+) \|([^|]*)\|", text, re.MULTILINE)
    assert len(rows) >= 6
    for cell, default in rows:
        names = re.findall(r"--[\w-]+", cell)
        values = [value for value in default.replace(" ", "").split(",") if value]
        for name, value in zip(names, values, strict=bool(values)) if values else ():
            field = name[2:].replace("-", "_")
            real = chosen.effective_keep_thr("search") if field == "keep_thr" else getattr(chosen, field)
            assert float(value) == real, name
        known = {opt for parameter in command.params for opt in parameter.opts}
        assert set(names) <= known


def test_working_directory_is_as_described(small_run: SmallRun) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = text.split("## The working directory", 1)[1].split("## ", 1)[0]
    named = re.findall(r"── ([\w.]+/?(?:, [\w.]+)*)", tree)
    described = {name.rstrip("/") for cell in named for name in cell.split(", ")}
    assert described == {path.name for path in small_run.workdir.iterdir()}
    assert "failed_jobs.log" in tree
    assert (small_run.workdir / "search" / "failed_jobs.log").is_file()
    results = re.search(r"results/ +(.*)", tree)
    assert results
    assert set(results[1].split(", ")) == {path.name for path in (small_run.workdir / "results").iterdir()}


@pytest.mark.slow
def test_readme_shows_what_its_first_command_prints(tmp_path: Path) -> None:
    """Simulated times depend on nothing but seed and library, so the shown table is the printed one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = text.split("## A worked example", 1)[1].split("\n## ", 1)[0]
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    code = "import sys; from geko.cli import main; sys.exit(main(sys.argv[1:]))"
    line = "search --simulate --workload-log examples/workload.yaml --workdir out"
    done = subprocess.run(
        [sys.executable, "-c", code, *line.split()], cwd=tmp_path, env=_environment(), capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = [" ".join(row.split()[:10]) for row in done.stdout.splitlines()]
    rows = re.findall(r"^ {4}((?:BBS|HHS|F8BS)_.*)$", example, re.MULTILINE)
    assert len(rows) >= 10
    for row in rows:
        assert " ".join(row.split()[:10]) in printed, row
    for sentence in re.findall(
        r"^ {4}((?:Average GEMM uplift|The workload's GEMM time) .*)$", example, re.MULTILINE
    ):
        assert sentence in done.stdout
