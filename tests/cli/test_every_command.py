"""Every command runs: over one finished search, with words as people write them. `LINES` has one line per command."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import Finished

from geko.cli.main import main
from geko.cli.reference import commands
from geko.warehouse import Warehouse

#: command → (its words, exit status, a part of what it prints). {db}: warehouse, {copy}: one that may change, {new}: one
#: that isn't there, {log}, {run}, {env}, {job}: of the run; {logic}, {logic2}: library logic files; {out}: a folder.
LINES: dict[str, tuple[str, int, str]] = {
    "tune": ("--inline 512 512 1 512 B B S T N -d 0 --db {new}", 2, "--arch is required"),
    "optimize": ("--workdir {out} --simulate --db {db}", 2, "`geko configure` makes them"),
    "guard": ("{out} --run {run} --simulate -v 0 --db {copy}", 1, "{out}"),
    "export configs": ("--out {out} --run {run} --db {db}", 2, "geko: error: "),
    "mi": ("512 512 1 512 --type BBS_TN --arch gfx942 --limit 3 --db {db}", 0, "MI"),
    "configure": (
        "--workload-log {log} --arch gfx942 --workdir {out} --db {new}",
        0,
        "geko optimize --workdir",
    ),
    "ingest": ("{log} --db {new}", 0, "two.yaml"),
    "export library-logic": ("--out {out} --run {run} --db {db}", 0, ""),
    "export csv": ("--out {out} --run {run} --db {db}", 0, "winners.csv"),
    "export parquet": ("--out {out} --run {run} --db {db}", 0, ".parquet"),
    "export workdir": ("--out {out} --run {run} --db {db}", 0, "run_state.json"),
    "export override": ("--out {out}/o.txt --run {run} --db {db}", 2, "--allow-simulated"),
    "export tunableop": ("--out {out}/t.csv --run {run} --db {db}", 2, "--allow-simulated"),
    "sql": ("'SELECT 6 * 7 AS answer' --db {db}", 0, "42"),
    "status": ("worth --db {db}", 0, "saved %"),
    "runs": ("--db {db}", 0, "{run}"),
    "jobs list": ("--db {db}", 0, "baseline"),
    "jobs retry": ("{job} --outcome no_solution --db {copy}", 0, "job(s) put back"),
    "jobs cancel": ("--run {run} --db {copy}", 0, "0 job(s) cancelled"),
    "report": ("--out {out}/r.html --run {run} --db {db}", 0, "r.html"),
    "envs": ("--db {db}", 0, "simulated"),
    "diff": ("{env} {env} --db {db}", 0, ""),
    "verify-applied": ("{log} --run {run} --db {copy}", 1, "kernel"),
    "runner": ("-d 0,0 --db {db}", 2, "--devices: device 0 is named twice"),
    "doctor": ("--db {db} --format csv", 1, "hipBLASLt root,missing"),
    "db migrate": ("--db {copy}", 0, "is up to date"),
    "db check": ("--db {db}", 0, "rule"),
    "db snapshot": ("{out}/s.duckdb --db {db}", 0, "s.duckdb"),
    "db import": ("{db} --db {copy}", 0, "(no rows)"),
    "db prune": ("--db {db}", 0, "not dropped yet"),
    "library ingest": ("{logic} --db {new}", 0, ""),
    "library coverage": ("--workload nonsense --library nonsense --db {db}", 2, "nonsense"),
    "library show": ("{logic}", 0, "solutions"),
    "library diff": ("{logic} {logic2}", 0, ""),
    "library merge": ("{tree} {tree} {out} --dry-run", 0, ""),
    "library trim": ("{logic} --out {out}", 0, ""),
    "library epilogues": ("{logic} --out {out}", 0, "{out}"),
    "library prune": ("{logic} {log} --out {out}", 1, "missing fields"),
    "library create": ("{out} {out} {out}/built", 1, "geko: error: "),
    "library bench-input": ("{logic} --out {out}", 0, "_bench.yaml"),
}
#: command → the test file that runs it: these need more than a line.
ELSEWHERE = {
    "search": "tests/cli/test_commands.py",
    "bench": "tests/cli/test_commands.py",
}
Places = Callable[[str], str]


@pytest.fixture(scope="module")
def ids(finished: Finished) -> dict[str, str]:
    """Ids of the finished run."""
    with Warehouse.open(finished.db) as warehouse:
        query = "SELECT min(job_id::VARCHAR) AS job, min(environment_id::VARCHAR) AS env FROM job"
        (row,) = warehouse.sql(f"{query} WHERE outcome = 'no_solution'").read_all().to_pylist()
    return {"run": finished.run_id[:8], **row}


@pytest.fixture
def places(
    finished: Finished,
    ids: dict[str, str],
    example_library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Places:
    """Fills the names of `LINES`."""
    monkeypatch.chdir(tmp_path)
    for name in ("GEKO_HIPBLASLT_PATH", "GEKO_DB"):
        monkeypatch.delenv(name, raising=False)
    out = tmp_path / "out"
    out.mkdir()
    # No process has it open, so that its bytes are all of it.
    copy = Path(shutil.copy(finished.db, tmp_path / "copy.duckdb"))
    logic, logic2, *_ = sorted((example_library / "Equality").glob("*.yaml"))
    named = {
        "db": finished.db, "copy": copy, "new": tmp_path / "new.duckdb", "log": finished.log, "out": out, "logic": logic,
        "logic2": logic2, "tree": example_library / "Equality", **ids,
    }  # fmt: skip
    return lambda text: text.format(**named)


@pytest.mark.parametrize("path", LINES)
def test_command(path: str, places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    line, status, part = LINES[path]
    words = [*path.split(), *shlex.split(places(line))]
    assert main(words) == status, capsys.readouterr().err
    captured = capsys.readouterr()
    assert places(part) in captured.out + captured.err
    assert captured.out + captured.err != ""
    if status:
        assert captured.err.startswith("geko: error: ") or path in ("doctor", "verify-applied")


def test_no_command_is_left_out(repo_root: Path) -> None:
    known = {path for path, _ in commands()}
    assert set(LINES) | set(ELSEWHERE) == known, "give a new command its line here"
    for path, file in ELSEWHERE.items():
        assert path in (repo_root / file).read_text(encoding="utf-8"), path
