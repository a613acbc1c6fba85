"""``bin/geko`` and ``scripts/search.py`` as processes: exit status, signals, pipes, what is imported."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_support import Finished, Geko, environment

from geko.warehouse import Warehouse

INLINE = ["8", "8", "1", "8", "B", "B", "S", "T", "N"]
pytestmark = pytest.mark.geko_bin

SLOW_QUERY = "SELECT count(*) FROM range(100000000000) AS a(i) WHERE hash(i) = 1"


def error_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line of standard error."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("geko: error: ")
    assert done.stdout == ""
    return line


def test_help_and_version(geko: Geko) -> None:
    done = geko("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(word in done.stdout for word in ("--hipblaslt", "--simulate", "search", "jobs", "Exit status"))
    done = geko("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("geko ")


def test_as_a_module(repo_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "geko", "--version"], env={**environment(), "PYTHONPATH": str(repo_root)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("geko ")


@pytest.mark.parametrize(
    "words", [["--help"], ["search", "--help"], ["jobs", "list", "--help"], ["sql", "--nonsense"]]
)
def test_what_needs_no_data_imports_nothing_heavy(words: list[str], repo_root: Path) -> None:
    code = (
        "import sys\nfrom geko.cli import main\nmain()\n"
        "sys.exit(sorted({'duckdb', 'polars', 'pyarrow', 'yaml', 'pandas'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env={**environment(), "PYTHONPATH": str(repo_root)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["runs", "--fomat", "json"], "No such option: --fomat: did you mean --format?; see `geko runs --help`"),
        (["serch"], "No such command 'serch': did you mean search?"),
        (["jobs", "lst"], "No such command 'lst': did you mean list?; see `geko jobs --help`"),
        (["runs", "--format", "xml"], "'xml' is not one of 'table', 'json', 'csv'"),
        (["jobs", "list", "--state", "lost"], "--state"),
        (["runs", "-v", "3"], "-v"),
        (["runs", "--db"], "--db"),
        (["runs", "extra"], "extra"),
        (["ingest"], "Missing argument"),
        (["search", "-d", "0"], "exactly one of --workload-log, --list, --inline, --workload is needed"),
        (["bench", "--inline", *INLINE, "-d", "x"], "--devices: 'x' is no device number"),
        (["runner", "-d", "1,1"], "--devices: device 1 is named twice"),
        (["--search", "--bench", "-d", "0"], "exactly one of --tune, --search, --bench may be given"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2_and_one_line(words: list[str], message: str, geko: Geko) -> None:
    done = geko(*words)
    assert done.returncode == 2
    assert message in error_line(done)


def test_failures_are_status_1_and_one_line(finished: Finished, tmp_path: Path, geko: Geko) -> None:
    cases: list[tuple[list[object], str]] = [
        (["status", "--db", tmp_path / "none.duckdb"], "there is no such warehouse"),
        (["sql", "SELECT nonsense", "--db", finished.db], "nonsense"),
        (["sql", "SELECT 1", "--db", finished.log], "can't be opened"),
        (["export", "csv", "--out", finished.log, "--db", finished.db], str(finished.log)),
        (
            ["bench", "--inline", *INLINE, "-d", "0", "--hipblaslt", tmp_path, "--db", tmp_path / "b"],
            str(tmp_path),
        ),
    ]  # fmt: skip
    for words, message in cases:
        done = geko("-v", "0", *words)
        assert done.returncode == 1, words
        assert message in error_line(done)


def test_common_options_before_the_command_and_underscores(finished: Finished, geko: Geko) -> None:
    done = geko("--db", finished.db, "-v0", "--format=json", "jobs", "list", "--kind", "screen")
    assert done.returncode == 0, done.stderr
    assert {row["kind"] for row in json.loads(done.stdout)} == {"screen"}
    assert geko("jobs", "--db", finished.db, "list", "--format", "json").returncode == 0
    done = geko("--db", "nowhere", "runs", "--db", finished.db, "--format", "csv")
    assert done.returncode == 0, "what stands nearer to the command counts"
    assert next(csv.DictReader(done.stdout.splitlines()))["run"] == finished.run_id[:8]
    assert error_line(geko("--db", finished.db)).startswith("geko: error: a command comes first")


# Pipes and signals
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_a_reader_that_has_seen_enough_is_no_error(form: str, finished: Finished, repo_root: Path) -> None:
    query = "SELECT range AS n, repeat('x', 50) AS text FROM range(200000)"
    line = '"$@" | head -n 2; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, str(repo_root / "bin/geko"), "sql", query, "--format", form,
         "--db", str(finished.db)],
        env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    *shown, status = done.stdout.splitlines()
    assert len(shown) == 2
    assert status in ("0", "141")
    assert done.stderr == ""


def test_help_into_a_closed_pipe(repo_root: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, str(repo_root / "bin/geko"), "--help"], stdout=write, stderr=subprocess.PIPE, text=True,
        env=environment(), timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_a_query_with_130(finished: Finished, repo_root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(repo_root / "bin/geko"), "sql", SLOW_QUERY, "--db", str(finished.db)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for_owner(finished.db, process.pid)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "interrupted" in err


def wait_for_owner(db: Path, pid: int) -> None:
    """Wait until a process has opened a warehouse."""
    from geko.warehouse.place import read_record

    end = time.monotonic() + 60
    while time.monotonic() < end:
        record = read_record(db.resolve())
        if record is not None and record.pid == pid:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} didn't open {db}")


# SQL from elsewhere, and a file that is in use
# ---------------------------------------------------------------------------------------------


def test_sql_from_standard_input(finished: Finished, geko: Geko) -> None:
    done = geko(
        "sql",
        "--db",
        finished.db,
        "--format",
        "csv",
        input="-- a_comment\nWITH r AS (FROM run)\nSELECT kind FROM r;\n",
    )
    assert (done.returncode, done.stdout) == (0, "kind\nsearch\n")
    done = geko("sql", "--db", finished.db, input="")
    assert done.returncode == 2
    assert "there is no SQL to run" in error_line(done)


def test_prompt(finished: Finished, repo_root: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(repo_root / "bin/geko"), "sql", "--db", str(finished.db), "--format", "csv"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**environment(), "TERM": "dumb"},
    )  # fmt: skip
    os.write(ours, b"SELECT kind\n  FROM run;\nSELECT nonsense;\nSELECT 41 + 1\nAS n;\n.quit\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    lines = out.replace("   ...> ", "").replace("geko> ", "").splitlines()
    assert lines[0].startswith("One SELECT a time, ended with ';'")
    assert lines[1:3] == ["kind", "search"]
    assert any("nonsense" in line for line in lines[3:-2])
    assert lines[-2:] == ["n", "42"]


def test_a_file_that_another_process_owns_is_read_but_not_written(finished: Finished, geko: Geko) -> None:
    with Warehouse.open(finished.db) as owner:
        owner.announce("run 1f0c: search")
        done = geko("sql", "SELECT count(*) AS n FROM run", "--db", finished.db, "--format", "csv")
        assert (done.returncode, done.stdout) == (0, "n\n1\n")
        done = geko("sql", "--write", "DELETE FROM run", "--db", finished.db)
        assert done.returncode == 1
        line = error_line(done)
        assert all(word in line for word in ("--write", str(os.getpid()), "run 1f0c: search"))
        assert owner.sql("SELECT count(*) AS n FROM run").read_all()["n"].to_pylist() == [1]


# Without an installation
# ---------------------------------------------------------------------------------------------


def test_missing_modules_are_named_with_the_remedy(repo_root: Path) -> None:
    for words in (["--help"], ["--search", "-d", "0"]):
        # Without site packages there is no Typer.
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(repo_root / "bin/geko"), *words],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr.startswith("geko: error: the Python module typer is missing")
        assert f"-m pip install -e {repo_root}" in done.stderr


def test_from_another_folder_through_a_link(tmp_path: Path, repo_root: Path) -> None:
    link = tmp_path / "geko"
    link.symlink_to(repo_root / "bin" / "geko")
    done = subprocess.run(
        [sys.executable, str(link), "runs"], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert str(tmp_path / "geko.duckdb") in done.stderr


def test_search_script(finished: Finished, repo_root: Path, tmp_path: Path) -> None:
    script = [sys.executable, str(repo_root / "scripts" / "search.py")]
    more = {"capture_output": True, "text": True, "timeout": 120, "check": False, "cwd": tmp_path}
    done = subprocess.run([*script, "--help"], env=environment(), **more)
    assert done.returncode == 0
    assert all(
        word in done.stdout for word in ("0,1,2,3,4,5,6,7", "workdir", "0.1", "1.03", "0.04", "--bench-freq")
    )
    done = subprocess.run([*script, "-d", "0"], env=environment(), **more)
    assert done.returncode == 2
    words = [
        "--devices=0",
        "--keep_thr",
        "0.1",
        "--up_thr=1.03",
        "-w",
        str(finished.workdir),
        "--rounds",
        "2",
    ]
    env = {**environment(), "GEKO_DB": str(finished.db)}
    done = subprocess.run([*script, str(finished.log), *words, "--simulate"], env=env, **more)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(" 0 new") >= 3
    assert "(simulated times) is in" in done.stdout
