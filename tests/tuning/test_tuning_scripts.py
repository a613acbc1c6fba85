"""The original's scripts, and geko mi, from the command line."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path

import pytest
from tuning_support import log_file, rows

from geko.cli import scripts, tuning_scripts
from geko.cli.main import main
from geko.config_generator.instructions import allowed
from geko.config_generator.schema import check_key, parse_assignments
from geko.errors import InputError

GENERATOR = """\
TRANSA: T
TRANSB: N
DataType: B
DestDataType: B
ComputeDataType: S
ARCH: gfx942
MFMA: [16, 16, 16, 1]
Sizes: [[256, 256, 1, 512], [512, 256, 1, 512]]
"""
INLINE = ["--inline", "512", "512", "1", "512", "B", "B", "S", "T", "N", "--arch", "gfx942"]


@pytest.fixture
def generator(tmp_path: Path) -> Path:
    path = tmp_path / "sizes.yaml"
    path.write_text(GENERATOR, encoding="utf-8")
    return path


def test_config_generator_writes_configs_scripts_and_tile_logs(
    generator: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert tuning_scripts.config_generator(["-c", str(generator), "-o", str(out)]) == 0
    assert "2 configs for 2 of 2 sizes" in capsys.readouterr().out
    names = {path.name for path in out.iterdir()}
    assert {
        "BBS_TN_0.yaml",
        "BBS_TN_1.yaml",
        "BBS_TN_0.sh",
        "run_BBS_TN_all.sh",
        "sizes.csv",
        "MI_finder_log",
    } <= names
    script = out / "BBS_TN_0.sh"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "tensilelite" in script.read_text(encoding="utf-8") and (tmp_path / "Config_BBS_TN.log").is_file()
    log = out / "MI_finder_log/BBS_TN/BBS_TN_M256_N256_B1_K512.log"
    assert log.read_text(encoding="utf-8").startswith(
        "Size - (256, 256, 1, 512)\n# {'MatrixInstruction': [16, 16, 16, 1"
    )
    assert (
        tuning_scripts.config_generator(
            ["-c", str(generator), "-o", str(tmp_path / "p"), "--no-shell-scripts"]
        )
        == 0
    )
    assert not list((tmp_path / "p").glob("*.sh"))


def test_config_generator_takes_a_log_with_an_architecture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(log_file(tmp_path))
    words = ["--arch", "gfx950", "--gemm-log-path", log, "-o", str(tmp_path / "out")]
    assert tuning_scripts.config_generator(words) == 0
    assert '"gfx950"' in (tmp_path / "out/BBS_TN_0.yaml").read_text(encoding="utf-8")
    capsys.readouterr()
    assert tuning_scripts.config_generator(["--arch", "gfx950"]) == 2
    assert "--config FILE, or both --arch and --gemm-log-path" in capsys.readouterr().err
    assert tuning_scripts.config_generator(["-c", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in capsys.readouterr().err


def test_mi_designer_counts_and_logs_the_tiles(
    generator: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tuning_scripts.mi_designer([str(generator), "-o", str(tmp_path / "mi")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].startswith("Size (256, 256, 1, 512): ")
    n_entries = int(lines[0].split(": ")[1].split()[0])
    log = (tmp_path / "mi/BBS_TN/BBS_TN_M256_N256_B1_K512.log").read_text(encoding="utf-8")
    assert len(log.splitlines()) == 1 + n_entries


def test_load_balancer_deals_scripts_out(
    generator: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    tuning_scripts.config_generator(["-c", str(generator), "-o", str(out)])
    capsys.readouterr()
    assert tuning_scripts.load_balancer([str(out), "-d", "0,3"]) == 0
    assert "run_device_0.sh: 1 configs" in capsys.readouterr().out
    texts = {device: (out / f"run_device_{device}.sh").read_text(encoding="utf-8") for device in (0, 3)}
    assert all(text.startswith("#!/bin/bash\n") for text in texts.values())
    calls = sorted(
        f"{line}" for text in texts.values() for line in text.splitlines() if line.startswith("./")
    )
    assert [call.split()[0] for call in calls] == ["./BBS_TN_0.sh", "./BBS_TN_1.sh"]
    assert {call.split()[1] for call in calls} == {"0", "3"}


def test_configure_takes_a_positional_log_and_its_own_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = str(log_file(tmp_path))
    assert scripts.configure([log, "-b", "tensile", "-v", "0"]) == 0
    assert sorted(path.name for path in (tmp_path / "workdir/optimizations").glob("*.yaml")) == [
        "BBS_TN_0.yaml", "BBS_TN_1.yaml",
    ]  # fmt: skip
    assert "2 of 2 sizes have a config" in capsys.readouterr().out
    (config,) = rows(tmp_path / "geko.duckdb", "SELECT DISTINCT arch, backend FROM tuning_config")
    assert config == {"arch": "gfx950", "backend": "tensile"}
    assert scripts.optimize(["--workdir", "elsewhere", "--simulate", "-v", "0"]) == 2
    assert "no configs were made" in capsys.readouterr().err


def test_the_scripts_run_as_programs(repo_root: Path) -> None:
    import subprocess
    import sys

    for name in ("configure", "optimize", "config_generator", "mi_designer", "load_balancer"):
        done = subprocess.run(
            [sys.executable, str(repo_root / f"scripts/{name}.py"), "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and done.stdout.startswith(f"usage: {name}.py"), done.stderr


def test_mi_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mi", "128", "1", "1", "128", "--type", "BBS_TN", "--arch", "gfx942"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2].split()[:2] == ["0", "16x16"]
    assert "R3: M or N is below the smallest tile" in out
    assert main([*words, "--all", "--format", "csv"]) == 0
    captured = capsys.readouterr()
    table = list(csv.DictReader(io.StringIO(captured.out)))
    assert len(table) == 2436 and "macro tiles of 2436" in captured.err
    assert all(bool(row["rank"]) != bool(row["reason"]) for row in table)
    assert main([*words, "--format", "json"]) == 0
    assert all(row["reason"] == "" for row in json.loads(capsys.readouterr().out))
    assert main([*words, "--format", "json", "--limit", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    for setting in ("Sizes=[[1, 1, 1, 1]]", "DataType=H", "ARCH=gfx950"):
        assert main([*words, "--set", setting]) == 2
        assert f"--set {setting[:4]}" in capsys.readouterr().err
    assert main([*words, "--rules", "original"]) == 0
    assert "0 macro tiles of 2436" in capsys.readouterr().out
    assert main(["mi", "1", "1", "1", "1", "--type", "QQ_TN", "--arch", "gfx942"]) == 1
    assert "a GEMM type reads like" in capsys.readouterr().err
    assert main(["mi", "1", "1", "1", "1", "--type", "F4BS_TN", "--arch", "gfx942"]) == 1


def test_dry_run_shows_settings_and_leaves_nothing(
    generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["configure", "--list", str(generator), "--dry-run", "--set", "MI_FILTER=0"]) == 0
    out = capsys.readouterr().out
    assert (
        "MI_FILTER: 0  (command line)" in out
        and "2 of 2 sizes would get a config; nothing was written" in out
    )
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["configure", "--list", str(generator), "--set", "MI_FILTR=0"]) == 1
    assert "did you mean MI_FILTER?" in capsys.readouterr().err
    assert main(["configure", "--list", str(generator), "--rules", "mine"]) == 2
    assert main(["tune", "--list", str(generator), "-d", "0", "-n", "0"]) == 2
    assert "--n-slots must be at least 1" in capsys.readouterr().err


def test_kernels_are_whole_numbers_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gemm = ["configure", *INLINE]
    found = set()
    assert main([*gemm, "--dry-run"]) == 0
    found.add(capsys.readouterr().out.splitlines()[2].split()[5])
    assert main([*gemm, "--workdir", "w", "--format", "json"]) == 0
    found.add(str(json.loads(capsys.readouterr().out)[0]["kernels"]))
    assert main([*gemm, "--workdir", "w", "--format", "csv"]) == 0
    found.add(next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["kernels"])
    (number,) = found
    assert number.isdigit() and int(number) > 10**12


def test_a_dry_run_ends_as_the_real_run_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["configure", *INLINE]
    words += ["--set", "MACROTILE_OPT=true", "--set", "MT_DU=[4, 4, 8]"]
    assert main([*words, "--dry-run"]) == 1
    assert "0 of 1 sizes would get a config" in capsys.readouterr().out
    assert main([*words, "--workdir", "w"]) == 1
    assert "MT_DU [4, 4, 8] names a tile or a DepthU that doesn't fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "list.yaml: it is empty; a list holds tuples"),
        ("# nothing\n", "list.yaml: it is empty; a list holds tuples"),
        ("- foo\n- bar\n", "list.yaml: its first entry, 'foo', is a text and no GEMM; a list holds tuples"),
        ("foo: 1\n", "list.yaml: none of its keys (foo) names GEMMs"),
        ("- [1, 2\n", "list.yaml: it is no YAML (problem on line 2)"),
        ("ARCH: gfx94\nSizes: [[1, 2, 1, 3]]\n", "list.yaml:1: ARCH must be the name of an architecture, such as gfx950; "
         "did you mean gfx942? Known are gfx942, gfx942_80cu,"),
        ("ARCH: gfx942\nSizes: [[1, 2, 1, 3]]\nDataType: BF\n", "list.yaml:3: DataType must be Tensile letter(s) of A and "
         "B, such as B, H, S, F8, F8B8; did you mean B? Known are S, D,"),
        ("ARCH: gfx942\nSizes: [[1, 2, 1, 3]]\nDestDataType: bf16\n", "list.yaml:3: DestDataType must be Tensile letter"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_list_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(text, encoding="utf-8")
    for more in ([], ["--arch", "gfx942"]):
        assert main(["configure", "--list", str(path), "--dry-run", *more]) == 1
        assert said in capsys.readouterr().err


def test_an_option_and_a_setting_that_differ_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["configure", *INLINE, "--dry-run"]
    assert main([*words, "--backend", "tensile", "--set", "backend=ductile"]) == 2
    assert "--backend tensile and --set backend=ductile contradict each other" in capsys.readouterr().err
    assert main([*words, "--search-space", "generic", "--set", "search_space=heuristic"]) == 2
    assert "--search-space generic and --set search_space=heuristic contradict" in capsys.readouterr().err
    assert main([*words, "--backend", "tensile", "--set", "backend=Tensile"]) == 0


def test_configs_that_are_looked_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["optimize", "--run", "ffff", "--simulate", "--db", "none.duckdb"]) == 1
    assert "there is no such warehouse" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    words = [*INLINE, "--workdir", "w"]
    assert main(["configure", *words]) == 0
    capsys.readouterr()
    (tmp_path / "w").rename(tmp_path / "moved")
    assert main(["optimize", "--workdir", "moved", "--simulate"]) == 2
    said = capsys.readouterr().err
    assert "if the folder was moved, name its run as well, with --run; these runs made some: " in said
    assert f"(synthetic_workload, in {tmp_path / 'w'})" in said
    assert main(["optimize", "--run", "ffff", "--simulate"]) == 2
    assert "these runs made some: " in capsys.readouterr().err


def test_keys_that_would_be_ignored_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gemm = ["512", "512", "1", "512", "B", "B", "S", "T", "N"]
    words = ["configure", "--inline", *gemm, "--arch", "gfx942", "--dry-run"]
    assert main([*words, "--set", "Sizes=[[1, 2, 1, 3]]"]) == 2
    assert "--set Sizes goes with a generator file only" in capsys.readouterr().err
    assert main([*words, "--set", "ARCH=gfx950"]) == 2
    assert "--arch gfx942 and --set ARCH=gfx950 contradict each other" in capsys.readouterr().err
    path = tmp_path / "sizes.yaml"
    path.write_text("ARCH: gfx942\nSizes: [[512, 512, 1, 512]]\n", encoding="utf-8")
    assert main(["configure", "--list", str(path), "--dry-run"]) == 1
    assert "sizes.yaml:2: missing keys: TRANSA, " in capsys.readouterr().err
    assert main([*words, "--set", "GemmProblems=[]"]) == 1
    assert "a list GemmProblems goes into a file" in capsys.readouterr().err
    assert main([*words[:-2], "gfx900", "--dry-run"]) == 1  # an error of the command, not of each GEMM
    said = capsys.readouterr()
    assert "ARCH (--arch) must be the name of an architecture" in said.err and not said.out


def test_a_wrong_size_in_a_long_list_is_named() -> None:
    sizes = [[64, 64, 1, 64]] * 50
    for bad in ([64, 64, 64], [0, 1, 1, 1], [1, 1, 1, 2**32], "x"):
        with pytest.raises(InputError) as caught:
            check_key("Sizes", [*sizes, bad], path="a.yaml", line=3)
        assert str(caught.value).startswith("a.yaml:3: Sizes must be a list of ")
        assert str(caught.value).endswith(f"below 2^32 (got {bad!r} as entry 51)")


def test_keys_of_the_command_line_that_do_nothing_are_said(caplog: pytest.LogCaptureFixture) -> None:
    assert parse_assignments(["USE_HEURISTICS=1", "MI_FILTER=1"]) == {"MI_FILTER": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "--set USE_HEURISTICS has no effect; leave it out"
    ]


def test_types_without_letters_are_not_offered() -> None:
    with pytest.raises(
        InputError, match=r"it can tune H, B, S, X, D, C, Z, F8, F8B8, B8F8, F4, B8 \(got 'B8N'\)"
    ):
        allowed("gfx950", "B8N", "default")
