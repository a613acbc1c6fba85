"""``geko library`` end to end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from logic_samples import NAME, list_form, solution, write
from typer.testing import CliRunner

from geko.cli.library_cmd import app
from geko.errors import InputError, UsageError
from geko.ingest import ingest as read_workload
from geko.library.model import load_library
from geko.warehouse import Warehouse


def run(*args: object) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_show_diff_merge(tmp_path: Path) -> None:
    base = write(tmp_path / "base")
    new = list_form(
        0, [[[128, 256, 1, 512], [0, 1.0]], [[9, 9, 1, 9], [0, 2.0]]], solutions=[solution(7, index=0)]
    )
    write(tmp_path / "new", new)
    (shown,) = json.loads(run("show", base, "--format", "json"))
    assert (shown["solutions"], shown["sizes"], shown["arch"], shown["unsound"]) == (3, 3, "gfx942", [])
    assert re.search(r"^solutions +3$", run("show", base), re.MULTILINE)
    dry = run("merge", tmp_path / "base", tmp_path / "new", tmp_path / "out", "--dry-run")
    assert not (tmp_path / "out").exists()
    assert run("merge", tmp_path / "base", tmp_path / "new", tmp_path / "out") == dry
    assert dry.splitlines() == [
        f"{NAME}: merged, 1 solutions added, 1 removed",
        "  replaced [128, 256, 1, 512] 100 -> 1",
        "  added [9, 9, 1, 9] none -> 2",
    ]
    changed = json.loads(run("diff", base, tmp_path / "out" / NAME, "--format", "json"))
    assert [tuple(row.values()) for row in changed] == [
        ("size", "new", "[9, 9, 1, 9]", None, "2.0"), ("size", "solution", "[128, 256, 1, 512]", "100.0", "1.0"),
        ("solutions", "gone", None, "1", None), ("solutions", "new", None, None, "1"),
    ]  # fmt: skip
    assert run("diff", base, base, "--format", "csv") == "what,change,name,a,b\n"
    assert "(no rows)" in run("diff", base, base)


def test_trim_repair_epilogues_bench_input_prune(tmp_path: Path) -> None:
    twice = list_form(0, [[[1, 1, 1, 1], [1, 0.0]]], solutions=[solution(0), solution(1, index=0)])
    bad = write(tmp_path / "in", twice)
    assert "SolutionIndex 0 stands twice" in run("show", bad)
    assert "numbered by position" in run("trim", bad, "--out", tmp_path / "t", "--repair")
    assert load_library(tmp_path / "t" / NAME).solutions[0]["MacroTile0"] == 32
    good = write(tmp_path / "good")
    assert "BiasSB_HAS_SAV" in run("epilogues", good, "--out", tmp_path / "e")
    assert len(run("bench-input", good, "--out", tmp_path / "b", "--verify").split()) == 2
    rows = [
        {"m": m, "n": n, "batch_count": b, "k": k, "local_index": index, "gflops": 100.0 - index}
        for (m, n, b, k), _ in list_form()[7]
        for index in range(3)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "dense.csv")
    out = run("prune", good, tmp_path / "dense.csv", "--out", tmp_path / "p")
    assert out.strip() == f"{NAME}: 3 -> 1 solutions"


def test_ingest_and_coverage(tmp_path: Path, fixed: Callable[[Path], Warehouse]) -> None:
    db = tmp_path / "w.duckdb"
    write(tmp_path / "Equality")
    log = tmp_path / "w.yaml"
    row = (
        "- {function: matmul, M: 128, N: 256, K: 512, batch_count: 1, transA: T, transB: N, a_type: bf16_r, b_type: bf16_r, "
        "c_type: bf16_r, d_type: bf16_r, compute_type: c_f32_r, call_count: 3}\n"
    )
    log.write_text(row + row.replace("N: 256", "N: 257"))
    with fixed(db) as warehouse:
        read_workload(warehouse, [log], workload="w")
        out = json.loads(run("ingest", tmp_path / "Equality", "--db", db, "--format", "json", "--jobs", 0))
        assert [(row["state"], row["files"], row["new"], row["refused"]) for row in out] == [("new", 1, 1, 0)]
        asked = ("coverage", "--workload", "w", "--library", "Equality", "--arch", "gfx942", "--db", db)
        text = run(*asked)
        assert "workload w, library Equality, for gfx942; times guessed from the sizes" in text
        rows = json.loads(run(*asked, "--format", "json"))
        assert [
            (row["n"], row["status"], row["reason"]) for row in sorted(rows, key=lambda row: row["n"])
        ] == [
            (256, "hit", None),
            (257, "miss", "size"),
        ]
        summary = json.loads(run(*asked, "--part", "summary", "--format", "json"))
        assert [(row["status"], row["shapes"]) for row in summary] == [("hit", 1), ("miss", 1)]
        (tmp_path / "Equality" / "notes.yaml").write_text("a: 1")
        result = CliRunner().invoke(app, ["ingest", str(tmp_path / "Equality"), "--db", str(db)])
    assert result.exit_code == 1
    assert "notes.yaml" in result.output


@pytest.mark.parametrize(
    "command",
    ["ingest", "coverage", "show", "diff", "merge", "trim", "epilogues", "prune", "create", "bench-input"],
)
def test_every_command_has_help(command: str) -> None:
    assert "Usage" in run(command, "--help")


def test_times_of_a_dense_run_that_serve_nothing_are_named(tmp_path: Path) -> None:
    good = write(tmp_path / "good")
    head = "m,n,batch_count,k,local_index,gflops\n"
    cases = {
        "absent.csv": (None, "there is no such file"),
        "empty.csv": (b"", "not readable"),
        "binary.csv": (bytes(range(256)) * 9, "not readable|missing fields"),
        "text.parquet": (b"PAR1 no PAR1", "not readable"),
        "few {x}.csv": (b"m,n\n1,2\n", "missing fields: batch_count, k, local_index, gflops"),
        "words.csv": (head.encode() + b"1,1,1,1,0,fast\n", "not all numbers: gflops"),
    }
    for name, (data, reason) in cases.items():
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(InputError, match=f"{re.escape(name)}: .*({reason})"):
            run("prune", good, path, "--out", tmp_path / "p")
    (tmp_path / "fit.csv").write_text(head + "1,1,1,1,0,5\n")
    for tol in ("-1", "nan", "1"):
        with pytest.raises(UsageError, match="a fraction"):
            run("prune", good, tmp_path / "fit.csv", "--out", tmp_path / "p", "--tol", tol)


@pytest.mark.parametrize("duration", ["inf", "nan"])
def test_a_duration_without_end_is_refused(tmp_path: Path, duration: str) -> None:
    with pytest.raises(UsageError, match="number of seconds"):
        run("bench-input", write(tmp_path / "good"), "--out", tmp_path / "b", "--duration", duration)


def test_diff_names_what_the_headers_disagree_on(tmp_path: Path) -> None:
    first = write(tmp_path / "a")
    second = write(tmp_path / "b")
    text = second.read_text()
    assert "gfx942" in text and "TransposeB: false" in text
    second.write_text(text.replace("gfx942", "gfx950").replace("TransposeB: false", "TransposeB: true"))
    lines = run("diff", first, second, "--format", "csv").splitlines()
    assert lines[1] == "header,changed,ProblemType.TransposeB,False,True"
    assert lines[2].startswith("header,changed,architecture,") and lines[2].endswith("gfx950")


def test_no_input_is_written_over(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    before = second.read_bytes()
    for command in ("trim", "epilogues", "bench-input"):
        with pytest.raises(InputError, match="two files of one name"):
            run(command, first, second, "--out", tmp_path / "o")
    with pytest.raises(InputError, match="would be lost"):
        run("merge", first.parent, second.parent, second.parent)
    assert second.read_bytes() == before and not (tmp_path / "o").exists()


def test_merge_says_that_a_file_had_no_counterpart(tmp_path: Path) -> None:
    write(tmp_path / "new")
    (tmp_path / "base").mkdir()
    assert run("merge", tmp_path / "base", tmp_path / "new", tmp_path / "out").strip() == (
        f"{NAME}: copied, there was no file of this name to merge into"
    )
