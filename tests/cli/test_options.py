"""Options that are checked before anything is opened or started: every wrong one is status 2 and one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from geko.cli.main import main
from geko.cli.options import devices_of, source_of
from geko.errors import UsageError

INLINE = "1024 1024 1 1024 B B S N T"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEKO_DB", str(tmp_path / "w.duckdb"))
    monkeypatch.delenv("GEKO_HIPBLASLT_PATH", raising=False)


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The error of a command line that is wrong."""
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", ["search", "bench", "--search", "--bench"])
def test_no_source(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused([command, "-d", "0"], capsys)
    assert "exactly one of --workload-log, --list, --inline, --workload is needed; none was given" in error


def test_two_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.yaml").write_text("- [1, 1, 1, 1, B, B, S, T, N]\n")
    error = refused(["bench", "-d", "0", "--list", "list.yaml", "--inline", *INLINE.split()], capsys)
    assert "not --list and --inline" in error


@pytest.mark.parametrize("option", ["--workload-log", "--list"])
def test_file_not_found(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{option}: file not found: missing.yaml" in refused(
        ["search", option, "missing.yaml", "-d", "0"], capsys
    )


@pytest.mark.parametrize("command", ["search", "bench"])
def test_devices_are_required(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused([command, "--inline", *INLINE.split()], capsys)
    assert "--devices is required" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", (0,)),
        ("0,1,3", (0, 1, 3)),
        ("0-3", (0, 1, 2, 3)),
        ("4-5,0", (4, 5, 0)),
        ("all", None),
        ("ALL", None),
    ],
)
def test_devices(text: str, expected: tuple[int, ...] | None) -> None:
    assert devices_of(text, simulate=False) == expected


@pytest.mark.parametrize("text", ["", "x", "0,", "3-1", "-1", "0,0", "1.5"])
def test_wrong_devices(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(["bench", "--inline", *INLINE.split(), f"--devices={text}"], capsys).startswith(
        "geko: error: "
    )


def test_a_simulation_needs_no_devices() -> None:
    assert devices_of(None, simulate=True) is None


@pytest.mark.parametrize("value", ["-0.1", "100.1", "nan"])
def test_keep_thr_is_a_percentage(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(["search", "--inline", *INLINE.split(), "-d", "0", f"--keep-thr={value}"], capsys)
    assert "--keep-thr is a percentage of the workload's time between 0 and 100" in error


@pytest.mark.parametrize(
    ("option", "value"),
    [("--up-thr", "0"), ("--err-thr", "nan"), ("--duration", "-1"), ("--rounds", "0"), ("--max-attempts", "0"),
     ("--job-timeout", "inf"), ("--abort-after", "-1"), ("--compare-duration", "0")],
)  # fmt: skip
def test_numbers_out_of_range(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert option in refused(["search", "--inline", *INLINE.split(), "-d", "0", f"{option}={value}"], capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("1024 x 1 1024 B B S N T", "M, N, batch, and K must be integers; N is 'x'"),
        ("1024 0 1 1024 B B S N T", "must be positive; N is 0"),
        ("-5 8 1 1024 B B S N T", "must be positive; M is -5"),
        ("8 8 1 8 B B S Q T", "transA and transB must each be N, T, or C; transA is 'Q'"),
        ("8 8 1 8 B B S N", "nine words or ten, not 8"),
        ("8 8 1 8 B B S N T MX MX", "nine words or ten, not 11"),
        ("8 8 1 8 B B S N T XM", "the tenth word must be MX"),
        ("8 8 1 8 W W S N T", "W"),
    ],
)
def test_wrong_inline(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(["bench", "--simulate", "--inline", *words.split()], capsys)


def test_block_scaling_needs_an_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    f8 = "128 128 1 128 F8 B S T N MX"
    error = refused(["bench", "-d", "0", "--inline", *f8.split()], capsys)
    assert "MX needs --arch" in error


def test_several_logs_are_one_source(tmp_path: Path) -> None:
    logs = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in logs:
        path.write_text("")
    source = source_of(logs, None, None, None)
    assert (source.kind, source.paths) == ("log", tuple(logs))
    with pytest.raises(UsageError, match="file not found"):
        source_of([logs[0], tmp_path / "c.yaml"], None, None, None)


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["runs"],
        ["jobs", "list"],
        ["sql", "SELECT 1"],
        ["export", "csv", "--out", "x"],
        ["db", "check"],
    ],
)
def test_reading_makes_no_warehouse(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    error = capsys.readouterr().err
    assert "there is no such warehouse" in error
    assert str(tmp_path / "w.duckdb") in error
    assert list(tmp_path.iterdir()) == []


def test_unknown_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such command 'serch'" in refused(["serch"], capsys)
    assert "No such option" in refused(["runs", "--nonsense"], capsys)
