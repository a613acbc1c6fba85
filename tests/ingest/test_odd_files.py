"""Files as people have them: damaged, compressed, in another encoding, or no files at all. Never a traceback."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest

from geko.errors import InputError, MissingFileError
from geko.ingest import ingest
from geko.warehouse import Warehouse


@pytest.fixture(scope="module")
def lines(repo_root: Path) -> list[str]:
    text = (repo_root / "examples" / "workload.yaml").read_text(encoding="utf-8")
    return text.splitlines(keepends=True)[:3]


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse.open(tmp_path_factory.mktemp("odd") / "odd.duckdb")


@pytest.mark.parametrize(
    ("name", "change", "rows", "rejects"),
    [
        ("cut", lambda t: t[:-80], 2, 1),
        ("crlf", lambda t: t.replace("\n", "\r\n"), 3, 0),
        ("cr", lambda t: t.replace("\n", "\r"), 3, 0),
        ("bom", lambda t: "\ufeff" + t, 3, 0),
        ("no-newline", lambda t: t.rstrip("\n"), 3, 0),
        ("nul", lambda t: t + "\0\0\0\n", 3, 1),
        ("zero", lambda t: t.replace("M: 6144", "M: 0", 1), 2, 1),
        ("negative", lambda t: t.replace("M: 6144", "M: -5", 1), 2, 1),
        ("huge", lambda t: t.replace("M: 6144", "M: 99999999999999999999999", 1), 2, 1),
        ("fraction", lambda t: t.replace("M: 6144", "M: 6144.5", 1), 2, 1),
        ("no-batch", lambda t: t.replace("batch_count: 1", "batch_count: 0", 1), 2, 1),
        ("type", lambda t: t.replace("bf16_r", "qq8_r", 1), 2, 1),
        ("transposed", lambda t: t.replace("transA: T", "transA: Q", 1), 2, 1),
        ("count", lambda t: t.replace("call_count: ", "call_count: -", 1), 2, 1),
        ("not-a-number", lambda t: t.replace("alpha: 1.000000", "alpha: nan", 1), 2, 1),
        ("colons", lambda t: t.replace("alpha: 1.000000", ": , :", 1), 3, 0),
        ("talk", lambda t: "step 1/10 loss=3.2\n" + t + "}{][\n", 3, 2),
    ],
)
def test_logs_as_they_come(wh, lines, tmp_path, name, change, rows, rejects) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(change("".join(lines)).encode())
    (report,) = ingest(wh, [path])
    assert (report.state, report.n_rows, report.n_rejects) == ("new", rows, rejects), report.message
    if rejects:
        found = wh.sql(
            f"""SELECT r.line, r.reason FROM ingest_reject AS r JOIN ingest_file AS f USING (file_id)
                WHERE f.path = '{path}'"""
        ).read_all().to_pylist()  # fmt: skip
        assert sum(1 for row in found if row["line"] >= 1 and row["reason"]) == len(found) > 0


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("log.gz", gzip.compress(b"x"), r"compressed with gzip: unpack it first \(gunzip -k .*log.gz\)"),
        ("log.xz", lzma.compress(b"x"), "compressed with xz"),
        ("log.bz2", bz2.compress(b"x"), "compressed with bzip2"),
        ("log.zip", b"PK\x03\x04rest", "a zip archive"),
        ("log.yaml", "- {function: matmul}".encode("utf-16"), "UTF-16 text: convert it first"),
        ("empty.yaml", b"", "is empty"),
        ("blank.yaml", b"\n  \n", "nothing but white space"),
        ("binary.yaml", bytes(range(256)) * 9, "a binary file of no format that GEKO reads"),
        ("text.yaml", b"dear diary\n", "a file of no format that GEKO reads: see docs/ingest.md"),
        ("comment.yaml", b"# nothing\n", "of no format"),
    ],
)
def test_refused_with_a_sentence(
    wh: Warehouse, tmp_path: Path, name: str, data: bytes, sentence: str
) -> None:
    import re

    path = tmp_path / name
    path.write_bytes(data)
    (report,) = ingest(wh, [path])
    assert report.state == "refused" and re.search(sentence, report.message), report.message


def test_a_warehouse_is_named_as_such(wh: Warehouse, tmp_path: Path) -> None:
    Warehouse.open(tmp_path / "other.duckdb").close()
    (report,) = ingest(wh, [tmp_path / "other.duckdb"])
    assert "geko db import" in report.message


def test_what_is_no_file(wh: Warehouse, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(InputError, match="this is a folder"):
        ingest(wh, [tmp_path])
    with pytest.raises(InputError, match="a pipe can't be read twice"):
        ingest(wh, [tmp_path / "pipe"])
    with pytest.raises(MissingFileError, match="there is no such file"):
        ingest(wh, [tmp_path / "dangling"])


def test_a_name_with_blanks_and_other_scripts(wh: Warehouse, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "my log é中 'quoted'.yaml"
    path.write_text("".join(lines[:2]), encoding="utf-8")
    (report,) = ingest(wh, [path, path])[:1]
    assert report.n_rows == 2 and report.workload == "my log é中 'quoted'"
    calls = (
        wh.sql("SELECT sum(call_count) AS n, count(DISTINCT file_id) AS files FROM workload_call")
        .read_all()
        .to_pylist()
    )
    again = ingest(wh, [path])
    assert again[0].state == "known"
    assert (
        wh.sql("SELECT sum(call_count) AS n, count(DISTINCT file_id) AS files FROM workload_call")
        .read_all()
        .to_pylist()
        == calls
    )


def test_every_file_of_the_data_goes_in_or_is_refused(shared: Path, tmp_path: Path) -> None:
    """Small files of every folder: a report each, and a sentence where nothing went in."""
    files = [
        path
        for path in sorted((shared / "data").rglob("*"))
        if path.is_file() and path.stat().st_size < 200_000
    ]
    with Warehouse.open(tmp_path / "all.duckdb") as all_of_them:
        reports = ingest(all_of_them, files)
    assert [report.path for report in reports] == files
    for report in reports:
        assert report.state in ("new", "known") or (report.state == "refused" and report.message)
    assert sum(report.state == "new" for report in reports) > len(files) / 2
