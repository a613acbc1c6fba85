"""Client logs and result tables as rows: our own lines, and real files where they are at hand."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from tune_support import config, problem_id

from geko.domain.kernel_name import parse_name
from geko.runners.base import MEASUREMENTS, utc_now
from geko.runners.tensilelite_progress import Follower
from geko.runners.tensilelite_reading import TuneReading, read_outputs, with_failure
from geko.runners.tensilelite_salvage import Salvaged, salvage
from geko.runners.tensilelite_spec import BuildFolder, TuneSpec
from geko.warehouse.queue import Claim

SIZE = (1024, 512, 1, 2048)
HEAD = "Cijk_Alik_Bljk_BBS_BH_UserArgs_"
A, B, C = (HEAD + f"MT{tile}x128x32_MI16x16x1_SN_GSU1_WGM8" for tile in (64, 128, 256))


def spec(*sizes: tuple[int, int, int, int], text: str | None = None) -> TuneSpec:
    sizes = sizes or (SIZE,)
    content = {
        "config_id": "c", "name": "x", "backend": "tensile", "arch": "gfx942", "root": "/r",
        "yaml": config(sizes=sizes) if text is None else text, "problem_ids": [problem_id(size) for size in sizes],
    }  # fmt: skip
    return TuneSpec.parse(json.dumps(content))


def line(
    name: str, verdict: str, us: str, at: int = 0, size: tuple[int, ...] = SIZE, bias: str = "BFloat16"
) -> str:
    place = f'0,0/0,{at}/2,Contraction_l_Alik_Bljk_Cijk_Dijk,"({",".join(map(str, size))})",{bias},0,None'
    gflops = f"{2e-3 * size[0] * size[1] * size[3] / float(us):.6g}" if us not in ("", "0") else us
    return f"{place},{name},{verdict},{us},{gflops},,1,1,304,1,1,1,1,1,1,,,,,,,2026-01-01 00:00:00.000000\n"


def rows(reading: TuneReading) -> list[tuple[str, float | None]]:
    assert reading.measurements is not None
    return [(row["outcome"], row["us"]) for row in reading.measurements.to_pylist()]


@pytest.mark.parametrize(
    "skip", ["Solution Skipped (slow or doing restoration)", " Skip Slow Solution"], ids=["hipblaslt-1", "hipblaslt-0.12"]
)  # fmt: skip
def test_each_verdict_has_its_outcome(skip: str) -> None:
    text = (
        line(A, "PASSED", "50.5") + line(B, "FAILED", "40", 1) + line(C, "NO_CHECK", "60", 2)
        + line(A, "DID_NOT_SATISFY_ASSERTS", "0", bias="Float") + line(B, "INVALID", "", 1, bias="Float")
        + f"0,0/0,2/2,{skip}: {C}\n"
    )  # fmt: skip
    reading = read_outputs(text, [], spec())
    assert rows(reading) == [
        ("ok", 50.5), ("verify_failed", 40.0), ("not_checked", 60.0), ("unsupported", None), ("unsupported", None),
        ("skipped", None),
    ]  # fmt: skip
    assert reading.validations is not None
    assert reading.validations["outcome"].to_pylist() == ["passed", "failed"]
    assert reading.counts["unsupported"] == 2 and reading.n_timed == 2
    assert reading.measurements is not None and reading.measurements.schema == MEASUREMENTS
    skipped = reading.measurements.to_pylist()[-1]
    assert skipped["solution_index"] == 2 and skipped["problem_id"] == problem_id(SIZE)
    assert follow(text).n_rows == 6


def follow(text: str) -> Follower:
    """A follower that has read a log."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        claim = Claim("job", 1, "t", "tune", "b", 1.0, "{}")
        follower = Follower(claim, Path(handle.name), Path(handle.name).parent, utc_now)
        follower.read()
    return follower


# A kernel that doesn't support the problem has no time: 0.12 prints what its division by zero gives.
NAN = line(A, "DID_NOT_SATISFY_ASSERTS", "1").replace(",1,2.14748e+06,", ",-nan,-nan,")


def test_times_that_are_no_numbers() -> None:
    assert ",-nan,-nan," in NAN
    reading = read_outputs(line(B, "PASSED", "40") + NAN, [], spec())
    assert rows(reading) == [("ok", 40.0), ("unsupported", None)]
    assert follow(line(B, "PASSED", "40") + NAN).best == pytest.approx(53687.1)


def test_a_table_that_holds_its_head_alone(tmp_path: Path) -> None:
    """The client of 0.12 writes the head of its table after the first size, and the rows at its end."""
    table = tmp_path / "00_Final.csv"
    head = [
        "GFlops",
        "SizeI",
        "SizeJ",
        "SizeK",
        "SizeL",
        "LDD",
        "LDC",
        "LDA",
        "LDB",
        "TotalFlops",
        "DeviceMaxFreq",
    ]
    table.write_text(", ".join([*head, A, B]) + "\n", encoding="utf-8")
    assert rows(read_outputs(line(A, "PASSED", "50"), [table], spec())) == [("ok", 50.0)]
    assert read_outputs("", [table], spec()).measurements is None


@pytest.mark.parametrize(
    ("clock", "has"), [("2100", True), ("0", False), ("-nan", False), ("", False), (None, False)]
)
def test_whether_a_table_has_the_clock(tmp_path: Path, clock: str | None, has: bool) -> None:
    folder = BuildFolder(tmp_path, spec(), "job")
    table = tmp_path / "2_BenchmarkData/Cijk_x_00_CSVWinner.csv"
    table.parent.mkdir()
    names, cells = ["GFlops", "SizeI", "TotalFlops"], ["0", "1024", "10"]
    if clock is not None:
        names, cells = [*names, "DeviceMaxFreq"], [*cells, clock]
    table.write_text("\n".join(map(", ".join, [names, cells])) + "\n", encoding="utf-8")
    assert folder.has_clock is has


def test_cut_lines_are_told_and_their_kernel_comes_from_the_table(tmp_path: Path) -> None:
    text = (
        line(A, "PASSED", "50")
        + line(B, "PASSED", "40", 1)[:90]
        + "[|||||  ] 40%\n"
        + line(C, "PASSED", "60", 2)
    )
    table = tmp_path / "00_Final.csv"
    head = ["GFlops", "SizeI", "SizeJ", "SizeK", "SizeL", "LDD", "LDC", "LDA", "LDB", "TotalFlops", A, B, C]
    cells = [0, *SIZE, 1024, 1024, 2048, 2048, 2 * SIZE[0] * SIZE[1] * SIZE[3], 42949.7, 53687.1, 35791.4]
    table.write_text(", ".join(head) + "\n" + ", ".join(map(str, cells)) + "\n")
    reading = read_outputs(text, [table], spec())
    assert Counter(outcome for outcome, _ in rows(reading)) == {"ok": 2, "not_checked": 1}
    assert dict(rows(reading))["not_checked"] == pytest.approx(40.0, rel=1e-4)
    assert "1 results stand in 00_Final.csv alone" in reading.notes


def test_other_sizes_are_counted_and_left_out() -> None:
    text = line(A, "PASSED", "50") + line(A, "PASSED", "9", size=(64, 64, 1, 64))
    reading = read_outputs(text, [], spec())
    assert rows(reading) == [("ok", 50.0)]
    assert "1 rows are of sizes that the job doesn't know" in reading.notes


def test_repeated_lines_count_once_and_new_times_each() -> None:
    text = line(A, "NO_CHECK", "50") * 2 + line(A, "NO_CHECK", "51")
    assert rows(read_outputs(text, [], spec())) == [("not_checked", 50.0), ("not_checked", 51.0)]


def test_tables_of_winners_alone_and_empty_ones(tmp_path: Path) -> None:
    """What a salvaged run leaves: no column per kernel, and what the client opened and never filled."""
    empty, winners = tmp_path / "00_Final.csv", tmp_path / "x_CSVWinner.csv"
    empty.touch()
    head = "GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB, TotalFlops, TilesPerCu, TotalGranularity, WinnerGFlops, "
    flops = 2 * SIZE[0] * SIZE[1] * SIZE[3]
    cells = [0, *SIZE, 1024, 1024, 2048, 2048, flops, 0, "-nan", 42949.7, 50, 0, A]
    winners.write_text(f"{head}WinnerTimeUS, WinnerIdx, WinnerName\n" + ", ".join(map(str, cells)) + "\n")
    reading = read_outputs(line(A, "PASSED", "50"), [empty, winners], spec())
    assert rows(reading) == [("ok", 50.0)] and not reading.notes
    alone = read_outputs("", [winners], spec())
    assert rows(alone) == [("not_checked", 50.0)]


def test_a_damaged_table_is_a_note(tmp_path: Path) -> None:
    table = tmp_path / "00_Final.csv"
    table.write_text("nothing\nat all\n")
    reading = read_outputs(line(A, "PASSED", "50"), [table], spec())
    assert rows(reading) == [("ok", 50.0)]
    assert "a result table can't be read" in reading.notes[0]


def test_nothing_at_all() -> None:
    reading = read_outputs("Traceback (most recent call last)\n", [], spec())
    assert reading.measurements is None and reading.n_timed == 0
    told = with_failure(reading, "crash", "exit status 1", spec())
    assert rows(told) == [("crash", None)]


def test_a_failure_is_told_for_the_size_it_was_at_and_those_after() -> None:
    first, second, third = SIZE, (64, 64, 1, 64), (128, 64, 1, 64)
    job = spec(first, second, third)
    reading = read_outputs(line(A, "PASSED", "50") + line(A, "PASSED", "9", size=second), [], job)
    told = with_failure(reading, "memory_fault", "why", job)
    assert told.measurements is not None
    failed = [row for row in told.measurements.to_pylist() if row["outcome"] == "memory_fault"]
    assert [row["problem_id"] for row in failed] == [problem_id(second), problem_id(third)]


def test_names_become_solutions() -> None:
    reading = read_outputs(line(A, "PASSED", "50") + line(B, "PASSED", "50", 1), [], spec())
    assert reading.solutions is not None and reading.names is not None and reading.measurements is not None
    found = {row["solution_id"]: row for row in reading.solutions.to_pylist()}
    ids = reading.measurements["solution_id"].to_pylist()
    assert [found[key]["mt0"] for key in ids] == [64, 128]
    assert [found[key]["canonical"] for key in ids] == [parse_name(name).canonical_json() for name in (A, B)]
    assert reading.names.num_rows == 2


def follower(folder: Path, *, endless: bool = False, begin: int = 0) -> Follower:
    claim = Claim("j", 1, "t", "tune", "b", 1.0, "{}")
    return Follower(claim, folder / "log", folder, utc_now, None, begin, endless)


def test_progress_is_read_piece_by_piece(tmp_path: Path) -> None:
    log, following = tmp_path / "log", follower(tmp_path)
    steps = {
        "# Enumera": "start",
        "ting Solutions\n": "enumerate",
        "# Actual Solutions: 3 / 9 after SolutionStructs\n": "build",
        "Log level: Debug\n": "benchmark",
        line(A, "PASSED", "50")[:60]: "benchmark",
        line(A, "PASSED", "50")[60:] + line(B, "FAILED", "1", 1) + line(C, "NO_CHECK", "25", 2): "benchmark",
        "# Analysing data in x\n": "analysis",
    }
    for text, phase in steps.items():
        with log.open("a") as handle:
            handle.write(text)
        following.read()
        assert following.phase == phase
    row = following.row()
    assert (row["n_done"], row["n_total"], row["generation"]) == (3, 3, None)
    assert row["best_gflops"] == pytest.approx(2e-3 * 1024 * 512 * 2048 / 25, rel=1e-4)


def test_generations_and_earlier_attempts(tmp_path: Path) -> None:
    early = line(A, "NO_CHECK", "5") + "     9 |      999 |    0.5000 |   0.5000 |   1.0000\n"
    (tmp_path / "log").write_text(
        early + line(A, "NO_CHECK", "50") + "     3 |       96 |    0.5 |   0.5 |   1.0\n"
    )
    following = follower(tmp_path, endless=True, begin=len(early))
    following.read()
    row = following.row()
    assert (row["generation"], row["n_done"], row["n_total"]) == (3, 96, None)
    assert row["best_gflops"] < 50000


def test_ductile_as_it_prints(tmp_path: Path) -> None:
    """A table for each generation, progress bars between them; its ``f_max`` is a mean over the sizes, no kernel's rate."""
    log, following = tmp_path / "log", follower(tmp_path, endless=True)
    table = (
        "==================================================\n n_gen | n_evals | diversity |   f_avg   |    f_max  \n"
        "--------------------------------------------------\n   {}   |   {}   |   0.575   | 62792.065 | 976950.596\n"
        "==================================================\n"
    )
    bar = "\rFinding unique solutions:  45%|####5     | 5/11 [00:00<00:00, 45.3it/s]\rFinding unique solutions: 100%|#|\n"
    steps = [
        ("GA:INFO Sampling initial population...\n" + bar, "enumerate", None),
        ("# DuctileBackend: Generated 512 valid solutions from 512 candidates\n" + bar, "build", None),
        ("run,problem-progress,solution-progress\n" + line(A, "NO_CHECK", "50"), "benchmark", None),
        (table.format(1, 510), "benchmark", 1),
        ("# DuctileBackend: Generated 509 valid solutions from 512 candidates\n", "build", 1),
        (table.format(2, 1019), "build", 2),
    ]
    for text, phase, generation in steps:
        with log.open("a") as handle:
            handle.write(text)
        following.read()
        assert (following.phase, following.generation) == (phase, generation)
    row = following.row()
    assert row["n_done"] == 1019 and row["best_gflops"] < 62792


def test_files_beside_the_log_are_signs_of_life(tmp_path: Path) -> None:
    following = follower(tmp_path)
    (tmp_path / "log").write_text("x\n")
    first = following()
    following._looked = float("-inf")
    assert following() == first
    (tmp_path / "step-00__ductile.checkpoint").write_text("state")
    following._looked = float("-inf")
    assert following() != first


@pytest.mark.parametrize("name", ["lm_head_fwd", "lm_head_grad_a", "lm_head_grad_b"])
def test_real_logs_and_tables(shared: Path, name: str) -> None:
    """Logs whose middle was cut out, with the complete tables of the same runs."""
    data = shared / "data"
    log = data / f"tensile_log/zy00_{name}.tensile.log.trim.txt"
    text = log.read_text(encoding="utf-8", errors="replace")
    job = spec(text=(data / f"tensile_tuning_yaml/zy00_{name}.yaml").read_text())
    alone = read_outputs(text, [], job)
    lines = [
        found for found in text.splitlines() if found.startswith("0,") and found.endswith(tuple("0123456789"))
    ]
    passed = sum(",PASSED," in found for found in lines)
    skipped = text.count("Solution Skipped")
    assert alone.counts == {"ok": passed, "skipped": skipped} and passed > 100 and skipped > 10
    table = data / f"tensile_csv/zy00_{name}_00_Final.csv"
    both = read_outputs(text, [table], job)
    header, *values = table.read_text().splitlines()
    kernels = {cell.strip() for cell in header.split(",") if "_MT" in cell}
    assert both.names is not None
    assert kernels <= set(both.names["name"].to_pylist())
    assert both.counts["ok"] == passed and both.n_timed > passed and len(values) == 2
    assert both.measurements is not None
    assert set(both.measurements["iters"].to_pylist()) == {50} and set(
        both.measurements["cold_iters"].to_pylist()
    ) == {30}


def test_salvaged_tables_hold_the_best_of_each_size(tmp_path: Path) -> None:
    """The form that Tensile reads, its own names and places, and the clock where it was printed."""
    other = (256, 4096, 2, 512)
    job = spec(SIZE, other)
    data = tmp_path / "build_x/1_BenchmarkProblems/Cijk_x_00/Data"
    data.mkdir(parents=True)
    (data / "00_Final.yaml").write_text("solutions")
    (data / "00_Final.csv").touch()
    text = (
        line(A, "PASSED", "50") + line(B, "FAILED", "10", 1) + line(C, "PASSED", "40", 2)
        + line(A, "PASSED", "9", size=other)
    )  # fmt: skip
    folder = BuildFolder(tmp_path / "build_x", job, "job")
    assert salvage(folder, text) == Salvaged(2) and not folder.has_clock
    table = (folder.path / "2_BenchmarkData/Cijk_x_00_CSVWinner.csv").read_text().splitlines()
    assert (folder.path / "2_BenchmarkData/Cijk_x_00_CSVWinner.yaml").read_text() == "solutions"
    first, second = (dict(zip(table[0].split(", "), row.split(", "), strict=True)) for row in table[1:])
    assert (first["WinnerIdx"], first["WinnerTimeUS"], first["WinnerName"]) == ("2", "40", C)
    assert [second[f"Size{letter}"] for letter in "IJKL"] == ["256", "4096", "2", "512"]
    assert [second[f"LD{letter}"] for letter in "DCAB"] == ["256", "256", "512", "512"]
    assert salvage(folder, "Successfully retrieve Max frequency: 2200 for device 0\n" + text) == Salvaged(2)
    assert folder.has_clock
    table = (folder.path / "2_BenchmarkData/Cijk_x_00_CSVWinner.csv").read_text().splitlines()
    assert table[0].endswith(", DeviceMaxFreq") and table[1].endswith(", 2200")
    assert not salvage(folder, line(A, "FAILED", "50")), "nothing passed"
    assert not salvage(BuildFolder(tmp_path / "other", job, "job"), text), "no kernels were built there"
