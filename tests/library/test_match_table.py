"""MatchTable.yaml in its usual and its odd forms."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from geko.errors import InputError, MissingFileError
from geko.library import match_table
from geko.library.match_table import SCHEMA, load_match_table


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_entries_over_one_and_two_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.yaml",
        "---\n0: [/a/Equality/x.yaml,\n  0]\n1: [/a/Equality/x.yaml, 1]\n7: [y.yaml,\n  12]\n...\n",
    )
    table = load_match_table(path)
    assert table.schema == SCHEMA
    assert table.to_pylist() == [
        {"solution_index": 0, "logic_file": "/a/Equality/x.yaml", "file_name": "x.yaml", "local_index": 0},
        {"solution_index": 1, "logic_file": "/a/Equality/x.yaml", "file_name": "x.yaml", "local_index": 1},
        {"solution_index": 7, "logic_file": "y.yaml", "file_name": "y.yaml", "local_index": 12},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "0: ['/a b/it''s.yaml', 3]\n1: [/a b/x.yaml, 017]\n",
        "0:\n- /a/x.yaml\n- 3\n",
        "{0: [/a/x.yaml, 3], 1: [/a/y.yaml, 4]}\n",
        "# written by hand\n0: [/a/x.yaml, 3]  # note\n",
        "0: [/a/x.yaml,\n    3]\n",
    ],
)
def test_other_layouts_mean_what_pyyaml_reads(tmp_path: Path, text: str) -> None:
    rows = load_match_table(write(tmp_path / "m.yaml", text)).to_pylist()
    assert {row["solution_index"]: [row["logic_file"], row["local_index"]] for row in rows} == yaml.safe_load(
        text
    )


def test_empty_table(tmp_path: Path) -> None:
    assert load_match_table(write(tmp_path / "m.yaml", "---\n...\n")).num_rows == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0: [/a/x.yaml, 0]\n1: [/a/x.yaml]\n", "m.yaml:2: entry 1"),
        ("0: [/a/x.yaml, 0]\nx: [/a/x.yaml, 1]\n", "entry 'x'"),
        ("0: [/a/x.yaml, 0]\n0: [/a/y.yaml, 1]\n", "stands twice"),
        ("- a\n- b\n", "a MatchTable is a mapping"),
        ("0: [/a/x.yaml, 0]\n  junk\n", "not readable as YAML"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_match_table(write(tmp_path / "m.yaml", text))


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        load_match_table(tmp_path / "none.yaml")


def test_real_tables(shared: Path) -> None:
    files = [
        *sorted((shared / "data" / "matchtable").glob("*.yaml")),
        shared / "example-library" / "MatchTable.yaml",
    ]
    assert len(files) >= 4
    for path in files:
        rows = load_match_table(path).to_pylist()
        assert {
            row["solution_index"]: [row["logic_file"], row["local_index"]] for row in rows
        } == yaml.safe_load(path.read_text())


def test_a_table_is_read_once_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "---\n" + "".join(f"{n}: [/once/{n % 7}.yaml,\n  {n}]\n" for n in range(50)) + "...\n"
    (tmp_path / "a.yaml").write_text(text)
    first = load_match_table(tmp_path / "a.yaml")
    monkeypatch.setattr(match_table, "_table", lambda *_: pytest.fail("it was read again"))
    (tmp_path / "b.yaml").write_text(text)
    assert load_match_table(tmp_path / "b.yaml").equals(first)
    monkeypatch.undo()
    (tmp_path / "b.yaml").write_text(text.replace("0: [/once/0", "0: [/twice/0", 1))
    assert load_match_table(tmp_path / "b.yaml")["logic_file"][0].as_py() == "/twice/0.yaml"
    for n in range(20):
        (tmp_path / "c.yaml").write_text(f"---\n{n}: [x.yaml, 0]\n...\n")
        load_match_table(tmp_path / "c.yaml")
    assert len(match_table._read) <= 8
