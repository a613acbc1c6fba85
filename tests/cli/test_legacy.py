"""The original's spelling of command lines."""

from __future__ import annotations

import pytest

from geko.cli.legacy import translate
from geko.cli.main import main
from geko.errors import UsageError

LOG = ["--workload-log", "log.yaml"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--search", *LOG, "--devices=0,1"], ["search", *LOG, "--devices=0,1"]),
        ([*LOG, "-d", "0", "--bench"], ["bench", *LOG, "-d", "0"]),
        (
            ["--search", "--keep_thr", "0.1", "--up_thr=1.05"],
            ["search", "--keep-thr", "0.1", "--up-thr=1.05"],
        ),
        (["search", "--keep_thr=1", "--workdir=my_dir"], ["search", "--keep-thr=1", "--workdir=my_dir"]),
        (["sql", "SELECT my_column"], ["sql", "SELECT my_column"]),
        (["sql", "--", "--a_comment"], ["sql", "--", "--a_comment"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_spellings(words: list[str], expected: list[str]) -> None:
    assert translate(words) == expected


@pytest.mark.parametrize("mode", ["search", "bench"])
@pytest.mark.parametrize(
    "ignored",
    [
        ["--n_slots", "4"], ["--n-slots=4"], ["-n", "4"], ["-n4"], ["--backend", "ductile"], ["--backend=tensile"],
        ["--search-space", "generic"], ["--no_retry"], ["--no-retry"],
    ],
)  # fmt: skip
def test_what_only_tuning_uses_is_taken_and_changes_nothing(mode: str, ignored: list[str]) -> None:
    assert translate([f"--{mode}", *ignored, *LOG]) == [mode, *LOG]


def test_options_of_the_other_mode_change_nothing() -> None:
    assert translate(["--bench", "--duration", "0.1", "--up_thr=1.1", *LOG]) == ["bench", *LOG]
    assert translate(["--search", "--benchmark-duration", "1", *LOG]) == ["search", *LOG]
    # In today's spelling a wrong option stays where it is, and is refused.
    assert translate(["bench", "--duration", "0.1"]) == ["bench", "--duration", "0.1"]


@pytest.mark.parametrize("tenth", [[], ["MX"]])
def test_words_of_inline_become_one(tenth: list[str]) -> None:
    words = ["1024", "1024", "1", "1024", "F8", "B", "S", "T", "N", *tenth]
    assert translate(["--bench", "--inline", *words, "-d", "0"]) == [
        "bench",
        "--inline",
        " ".join(words),
        "-d",
        "0",
    ]
    assert translate(["bench", "-d", "0", "--inline", *words]) == [
        "bench",
        "-d",
        "0",
        "--inline",
        " ".join(words),
    ]


def test_inline_that_is_one_word_already_stays() -> None:
    words = ["bench", "--inline", "1 1 1 1 B B S T N", "-d", "0"]
    assert translate(words) == words


def test_negative_sizes_belong_to_inline() -> None:
    assert translate(["bench", "--inline", "-5", "1", "-d", "0"]) == ["bench", "--inline", "-5 1", "-d", "0"]


def test_two_modes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="exactly one of --tune, --search, --bench"):
        translate(["--search", "--bench", *LOG])
    assert main(["--search", "--tune", *LOG]) == 2
    assert "exactly one of --tune, --search, --bench" in capsys.readouterr().err


def test_a_mode_twice_is_one_mode() -> None:
    assert translate(["--search", "--search", *LOG]) == ["search", *LOG]


def test_a_mode_beside_a_command() -> None:
    with pytest.raises(UsageError, match="leave --bench out"):
        translate(["search", "--bench", *LOG])


def test_options_without_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LOG, "-d", "0"]) == 2
    assert "exactly one of --tune, --search, --bench is required" in capsys.readouterr().err


def test_nothing_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: geko" in "".join(capsys.readouterr())


def test_what_tuning_uses_stays_with_it() -> None:
    words = [
        "--arch",
        "gfx950",
        "--backend=tensile",
        "--search_space",
        "generic",
        "-n",
        "2",
        "--no_retry",
        "--up_thr",
        "1.1",
    ]
    assert translate(["--tune", *LOG, *words]) == [
        "tune", *LOG, "--arch", "gfx950", "--backend=tensile", "--search-space", "generic", "-n", "2", "--no-retry",
        "--up-thr", "1.1",
    ]  # fmt: skip
    assert translate([*LOG, "-n4", "--tune", "--duration", "1"]) == ["tune", *LOG, "-n4"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--db", "F", "runs"], ["runs", "--db", "F"]),
        (["-v2", "--format=json", "jobs", "list", "--limit", "3"], ["jobs", "list", "-v2", "--format=json", "--limit", "3"]),
        (["jobs", "--db", "F", "list"], ["jobs", "list", "--db", "F"]),
        (["--db=A", "sql", "--db=B", "SELECT 1"], ["sql", "SELECT 1", "--db=A", "--db=B"]),
        (["--db", "F", "--search", *LOG], ["search", "--db", "F", *LOG]),
        (["-v", "0", "db", "check", "--", "x"], ["db", "check", "-v", "0", "--", "x"]),
    ],
)  # fmt: skip
def test_common_options_may_stand_before_the_command(words: list[str], expected: list[str]) -> None:
    assert translate(words) == expected


@pytest.mark.parametrize("query", ["-- a_b\nSELECT 1", "--a_b c\nSELECT 1", "-- only = this"])
def test_sql_that_starts_with_a_comment_is_no_option(query: str) -> None:
    assert translate(["sql", query, "--format", "csv"]) == ["sql", "--format", "csv", "--", query]
    assert translate(["--db", "F", "sql", query]) == ["sql", "--db", "F", "--", query]


def test_an_option_with_spaces_in_its_value_is_an_option() -> None:
    assert translate(["sql", "--db=my file", "SELECT 1"]) == ["sql", "SELECT 1", "--db=my file"]
