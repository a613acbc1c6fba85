"""Every command, over a finished run: what it prints, in every form, and with which exit status."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import Finished

from geko.cli.app import COMMANDS
from geko.cli.legacy import translate
from geko.cli.main import main
from geko.cli.reference import SHARED, commands, examples, page

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *words: object, status: int = 0) -> str:
    """Standard output of a command line, in this process."""
    assert main([str(word) for word in words]) == status
    return capsys.readouterr().out


def rows(capsys: Capture, *words: object, status: int = 0) -> list[dict[str, Any]]:
    """The rows of a command line in JSON; they are the same in CSV, and the table has as many."""
    as_json: list[dict[str, Any]] = json.loads(run(capsys, *words, "--format", "json", status=status))
    as_csv = list(csv.DictReader(io.StringIO(run(capsys, *words, "--format", "csv", status=status))))
    assert [list(row) for row in as_csv] == [list(row) for row in as_json]
    assert [{key: value or "" for key, value in row.items()} for row in as_csv] == [
        {key: _in_csv(value) for key, value in row.items()} for row in as_json
    ]
    return as_json


def _in_csv(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_every_command_has_the_common_options_and_explains_itself() -> None:
    for path, command in commands():
        names = {option for parameter in command.params for option in parameter.opts}
        assert {"--db", "-v", "--verbose"} <= names, path
        assert command.help, path
        assert command.epilog, f"geko {path} --help has no example: give it one in EPILOGS of geko/cli/app.py"
        context = command.make_context(path, [], resilient_parsing=True)
        for parameter in command.params:
            if "--format" in parameter.opts and path != "report":
                shown = parameter.get_help_record(context)[0]
                assert {"table", "json", "csv"} <= set(re.findall(r"\w+", shown)), path


@pytest.mark.parametrize("path", [*COMMANDS, "jobs list", "db prune", "library merge"])
def test_help_shows_usage_and_example(path: str, capsys: Capture) -> None:
    text = run(capsys, *path.split(), "--help")
    assert f"Usage: geko {path}" in text
    assert "Example" in text or "Commands:" in text


def test_examples_are_command_lines_of_this_cli() -> None:
    known = dict(commands())
    lines = [line for command in known.values() for line in examples(command)]
    assert len(lines) >= len(known)
    for line in lines:
        for part in re.split(r" && |\| | > | < | {5,}", line):
            words = shlex.split(part)
            if "geko" not in words[:4]:
                continue
            words = translate(words[words.index("geko") + 1 :])
            path = next(p for p in (" ".join(words[:2]), words[0]) if p in known)
            options = {option for p in known[path].params for option in (*p.opts, *p.secondary_opts)}
            used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert used <= options | {"--help"}, line


def test_reference_page_is_up_to_date(repo_root: Path) -> None:
    text = (repo_root / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page(text) == text, (
        "a command changed: write docs/cli.md again with `python -m geko.cli.reference`"
    )
    for path, command in commands():
        section = text.split(f"\n### geko {path}\n", 1)[1].split("\n### ", 1)[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.name not in SHARED else ():
                assert f"`{option}" in section, f"{option} of geko {path}"


# Reading
# ---------------------------------------------------------------------------------------------


def test_status(finished: Finished, capsys: Capture) -> None:
    progress = rows(capsys, "status", "--db", finished.db)
    assert [progress[0]["jobs"], progress[-1]["jobs"]] == ["baseline", "verify"]
    assert all(row["n_left"] == 0 < row["n_completed"] for row in progress)
    assert {row["run"] for row in progress} == {finished.run_id[:8]}
    devices = rows(capsys, "status", "devices", "--db", finished.db)
    assert [(row["device"], row["state"], row["n_failed"]) for row in devices] == [(0, "no runner", 0)]
    assert devices[0]["n_ok"] >= 4
    verdicts = rows(capsys, "status", "verdicts", "--db", finished.db)
    assert sum(row["shapes"] for row in verdicts) == 2
    text = run(capsys, "status", "--db", finished.db)
    assert all(word in text for word in ("baseline", "no runner", "no_solution", "simulated"))


def test_runs(finished: Finished, capsys: Capture) -> None:
    (row,) = rows(capsys, "runs", "--db", finished.db)
    assert (row["run"], row["kind"], row["state"], row["shapes"]) == (
        finished.run_id[:8],
        "search",
        "finished",
        2,
    )


def test_jobs_list(finished: Finished, capsys: Capture) -> None:
    everything = rows(capsys, "jobs", "list", "--db", finished.db)
    assert {row["state"] for row in everything} == {"done"}
    baseline = rows(capsys, "jobs", "list", "--kind", "baseline", "--db", finished.db)
    assert [row["kind"] for row in baseline] == ["baseline"] * 2
    assert len(everything) > 2
    assert len(rows(capsys, "jobs", "list", "--limit", 1, "--db", finished.db)) == 1
    assert rows(capsys, "jobs", "list", "--state", "failed", "--db", finished.db) == []
    assert rows(capsys, "jobs", "list", "--run", finished.run_id[:5], "--db", finished.db) == everything
    assert run(capsys, "jobs", "list", "--run", "nonsense", "--db", finished.db, status=2) == ""


def test_jobs_retry_and_cancel_without_a_choice(finished: Finished, capsys: Capture) -> None:
    run(capsys, "jobs", "retry", "--db", finished.db, status=2)
    run(capsys, "jobs", "cancel", "--db", finished.db, status=2)
    assert main(["jobs", "retry", "zz", "--db", str(finished.db)]) == 2
    assert "`geko jobs list` shows them" in capsys.readouterr().err


def test_jobs_retry_lets_quarantined_devices_work_again(finished: Finished, capsys: Capture) -> None:
    quarantine = "UPDATE device SET quarantined_at = now(), quarantine_reason = 'test'"
    run(capsys, "sql", "--write", quarantine, "--db", finished.db)
    bad = "SELECT count(*) AS n FROM device WHERE quarantined_at IS NOT NULL"
    assert rows(capsys, "sql", bad, "--db", finished.db) != [{"n": 0}]
    text = run(capsys, "jobs", "retry", "--run", finished.run_id, "--db", finished.db)
    assert text.startswith("0 job(s) put back")
    assert rows(capsys, "sql", bad, "--db", finished.db) == [{"n": 0}]


def test_status_of_a_killed_run_says_how_to_go_on(finished: Finished, capsys: Capture) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    before = rows(capsys, "sql", "SELECT state, pid, ended_at FROM run", "--db", finished.db)[0]
    change = f"UPDATE run SET state = 'running', pid = {dead.pid}, ended_at = NULL"
    run(capsys, "sql", "--write", change, "--db", finished.db)
    try:
        assert main(["status", "progress", "--format", "json", "--db", str(finished.db)]) == 0
        out, err = capsys.readouterr()
        assert {row["state"] for row in json.loads(out)} == {"interrupted"}
        assert f"run {finished.run_id[:8]} was interrupted: the same `geko search` command goes on" in err
        assert {row["state"] for row in rows(capsys, "runs", "--db", finished.db)} == {"interrupted"}
    finally:
        back = (
            f"state = '{before['state']}', pid = {before['pid'] or 'NULL'}, ended_at = '{before['ended_at']}'"
        )
        run(capsys, "sql", "--write", f"UPDATE run SET {back}", "--db", finished.db)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM job",
        "-- find_them all\nSELECT count(*) AS n FROM job",
        "--all of them\nSELECT count(*) AS n FROM job",
        "/* both */ WITH j AS (FROM job) SELECT count(*) AS n FROM j",
        "FROM job SELECT count(*) AS n;",
        "SELECT count(*) AS n FROM job; -- done",
    ],
)
def test_sql(query: str, finished: Finished, capsys: Capture) -> None:
    (row,) = rows(capsys, "sql", "--db", finished.db, query)
    assert row["n"] > 2
    assert rows(capsys, "sql", query, "--db", finished.db) == [row]


@pytest.mark.parametrize(
    "query", ["DESCRIBE run", "SHOW TABLES", "SUMMARIZE problem", "EXPLAIN FROM run", "VALUES (1)"]
)
def test_sql_that_looks_around(query: str, finished: Finished, capsys: Capture) -> None:
    assert json.loads(run(capsys, "sql", query, "--db", finished.db, "--format", "json"))


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("SELECT nonsense FROM run", 1, "nonsense"),
        ("SELEC 1", 1, "syntax error"),
        ("SELECT 1; SELECT 2", 2, "this is 2 statements"),
        ("", 2, "there is no SQL to run"),
        ("-- nothing but this", 2, "there is no SQL to run"),
        ("DELETE FROM job", 2, "changes need --write"),
        ("COPY job TO 'x.csv'", 2, "changes need --write"),
    ],
)
def test_sql_that_is_refused(
    query: str, status: int, message: str, finished: Finished, capsys: Capture
) -> None:
    assert main(["sql", query, "--db", str(finished.db)]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("geko: error: ")
    assert message in captured.err


def test_write(finished: Finished, tmp_path: Path, capsys: Capture) -> None:
    copy = tmp_path / "copy.duckdb"
    assert run(capsys, "db", "snapshot", copy, "--db", finished.db) == f"{copy}\n"
    assert rows(capsys, "sql", "--write", "UPDATE run SET label = 'mine'", "--db", copy) == [{"Count": 1}]
    assert rows(capsys, "sql", "SELECT label FROM run", "--db", copy) == [{"label": "mine"}]


# Writing
# ---------------------------------------------------------------------------------------------


def test_export(finished: Finished, tmp_path: Path, capsys: Capture) -> None:
    out = run(capsys, "export", "csv", "--out", tmp_path / "tables", "--db", finished.db)
    assert str(tmp_path / "tables" / "winners.csv") in out.split()
    assert all(Path(line).is_file() for line in out.splitlines())


def test_ingest(finished: Finished, tmp_path: Path, capsys: Capture) -> None:
    db, junk = tmp_path / "w.duckdb", tmp_path / "junk.txt"
    junk.write_text("nothing that anybody could know\n")
    (row,) = json.loads(
        run(capsys, "ingest", finished.log, "--db", db, "--workload", "w", "--format", "json")
    )
    assert (row["state"], row["rows"], row["rejects"], row["workload"]) == ("new", 2, 0, "w")
    (row,) = rows(capsys, "ingest", finished.log, "--db", db)
    assert row["state"] == "known"
    mixed = rows(capsys, "ingest", junk, finished.log, "--db", db, status=1)
    assert [row["state"] for row in mixed] == ["refused", "known"]
    assert mixed[0]["message"]


def test_db(finished: Finished, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "other.duckdb"
    assert run(capsys, "db", "migrate", "--db", other) == f"{other} is up to date\n"
    assert all(row["n"] == 0 for row in rows(capsys, "db", "check", "--db", finished.db))
    run(capsys, "db", "import", finished.db, "--db", other)
    again = rows(capsys, "db", "import", finished.db, "--db", other)
    assert {row["new rows"] for row in again} <= {0}
    assert rows(capsys, "runs", "--db", other)[0]["run"] == finished.run_id[:8]
    counted = rows(capsys, "db", "prune", "--older-than", 0, "--db", other)
    assert counted[0]["rows (not dropped yet)"] > 0
    assert json.loads(
        run(capsys, "db", "prune", "--older-than", 0, "--yes", "--db", other, "--format", "json")
    )
    assert rows(capsys, "db", "prune", "--older-than", 0, "--db", other)[0]["rows (not dropped yet)"] == 0


def test_doctor_names_every_remedy_in_full(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEKO_HIPBLASLT_PATH", raising=False)
    checks = {row["name"]: row for row in rows(capsys, "doctor", "--db", tmp_path / "w.duckdb", status=1)}
    assert checks["hipBLASLt root"]["state"] == "missing"
    assert all(row["remedy"] for row in checks.values() if row["state"] == "missing")
    text = run(capsys, "doctor", "--db", tmp_path / "w.duckdb", status=1)
    assert "…" not in text
    assert checks["hipBLASLt root"]["remedy"] in text


def test_library(example_library: Path, capsys: Capture) -> None:
    logic = next((example_library / "Equality").glob("*.yaml"))
    assert "solutions" in run(capsys, "library", "show", logic, "--db", "unused.duckdb", "-v", "0")


# The same run again, in all spellings
# ---------------------------------------------------------------------------------------------


def test_the_same_search_in_the_original_spelling_schedules_nothing(
    finished: Finished, capsys: Capture
) -> None:
    words = ["--search", "--no_retry", "--n_slots=2", *finished.words, "--keep_thr=0.1", "--up_thr", "1.03"]
    assert main([*words, "--db", str(finished.db), "--format=json"]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 2
    assert captured.err.count(" 0 new") >= 3
    assert finished.run_id[:8] in captured.err


def test_bench_in_the_original_spelling(finished: Finished, tmp_path: Path, capsys: Capture) -> None:
    line = "--bench --inline 512 512 1 512 B B S T N --simulate --devices=0 --bench-freq --benchmark-duration 0.01"
    words = [*line.split(), "--workdir", tmp_path / "b", "--db", tmp_path / "b.duckdb"]
    (row,) = json.loads(run(capsys, *words, "--format", "json"))
    assert row["calls"] == 1
    recorded = rows(
        capsys, "sql", "SELECT options->>'bench_freq' AS freq FROM run", "--db", tmp_path / "b.duckdb"
    )
    assert recorded == [{"freq": "true"}]
