"""Tuning jobs on the stand-ins: results, failures, kills, and what the next attempt goes on from."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tune_support import SIZES, Bench, config, make_bench, problem_id, tuning_root

from geko.library import logic_yaml
from geko.runners.base import RunContext
from geko.runners.tensilelite import TensileliteRunner
from geko.runners.tensilelite_client import build_tensilelite_client
from geko.runners.tensilelite_spec import TuneSpec
from geko.warehouse.queue import Claim, JobResult

DUCTILE = {"pop_size": 24, "n_gen": 5, "tol": 0, "period": 50, "n_elements_to_validate": 128}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tuning_root(tmp_path_factory.mktemp("tune"))


@pytest.fixture
def bench(root: Path, tmp_path: Path) -> Bench:
    return make_bench(root, tmp_path)


@dataclass
class Grid:
    """A grid that ran once, for tests that only look at it."""

    bench: Bench
    claim: Claim
    context: RunContext
    result: JobResult


@pytest.fixture(scope="module")
def grid(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Grid:
    bench = make_bench(root, tmp_path_factory.mktemp("grid"))
    claim, context = bench.claim(), bench.context()
    (result,) = TensileliteRunner().run([claim], context)
    return Grid(bench, claim, context, result)


def outcomes(result: JobResult) -> Counter[str]:
    return Counter() if result.measurements is None else Counter(result.measurements["outcome"].to_pylist())


def test_every_kernel_of_a_grid_is_a_row_with_its_check(grid: Grid) -> None:
    result = grid.result
    assert (result.outcome, result.exit_code, result.message) == ("ok", 0, None)
    assert result.measurements is not None and result.validations is not None
    rows = result.measurements.to_pylist()
    n_kernels = len({row["solution_id"] for row in rows})
    assert len(rows) == 2 * n_kernels and n_kernels > 20
    assert {row["problem_id"] for row in rows} == {problem_id(size) for size in SIZES}
    assert outcomes(result) == {"ok": len(rows)}
    assert all(row["us"] > 0 and row["iters"] == 10 and row["cold_iters"] == 20 for row in rows)
    assert set(result.validations["outcome"].to_pylist()) == {"passed"}
    assert json.loads(rows[0]["extra"])["bias_type"] == "BFloat16"


def test_library_logic_names_the_fastest_kernels(grid: Grid) -> None:
    result, context = grid.result, grid.context
    (text,) = grid.bench.logic(result).values()
    logic = logic_yaml.loads(text)
    assert logic[1:4] == ["aquavanjaram", "gfx942", ["Device 0049", "Device 0050"]]
    solutions, names = context.solutions.unstored()
    by_name = {row["name"]: row["solution_id"] for row in names.to_pylist()}
    assert set(by_name.values()) == set(solutions["solution_id"].to_pylist())
    assert result.measurements is not None
    for size, (index, gflops) in logic[7]:
        rows = [
            row for row in result.measurements.to_pylist() if row["problem_id"] == problem_id(tuple(size[:4]))
        ]
        best = min(rows, key=lambda row: row["us"])
        assert by_name[logic[5][index]["SolutionNameMin"]] == best["solution_id"]
        assert gflops == pytest.approx(best["gflops"], rel=1e-3)


def test_progress_and_files_while_it_runs(bench: Bench) -> None:
    result = bench.run(bench.claim(config(ductile=DUCTILE)))
    assert result.outcome == "ok"
    assert bench.progress[0]["phase"] == "client"
    last = bench.progress[-1]
    assert (last["phase"], last["generation"], last["n_total"]) == ("done", 5, None)
    assert result.measurements is not None
    assert last["n_done"] == result.measurements.num_rows
    assert last["best_gflops"] == pytest.approx(max(result.measurements["gflops"].drop_null().to_pylist()))
    log = (bench.build / "BBS_TN_0-tensilelite.log").read_text()
    table = (bench.build / "BBS_TN_0-optimization.log").read_text()
    assert log == result.output and "(simulated" in log
    rows = [line.split("|")[0].strip() for line in table.splitlines() if "|" in line and "n_gen" not in line]
    assert rows == ["1", "2", "3", "4", "5"]
    assert result.files is not None and "BBS_TN_0-optimization.log" in result.files["path"].to_pylist()
    assert not (bench.build / ".running").exists()


def test_ductile_evaluates_without_check_and_checks_the_finalists(bench: Bench) -> None:
    result = bench.run(bench.claim(config(ductile=DUCTILE)))
    found = outcomes(result)
    assert set(found) == {"ok", "not_checked"}
    assert 1 <= found["ok"] <= 4 < found["not_checked"]
    assert result.validations is not None and result.validations.num_rows == found["ok"]


def test_passed_kernels_are_kept_when_others_fail(bench: Bench) -> None:
    """The client ends with the number of failures; what passed still wins."""
    result = bench.run(GEKO_SIM_FAULTS="wrong:tool=Tensile,kernel=MI16x16")
    found = outcomes(result)
    assert result.outcome == "ok" and found["ok"] and found["verify_failed"] > found["ok"]
    assert f"{found['verify_failed']} of {sum(found.values())} results failed their check" in str(
        result.message
    )
    (text,) = bench.logic(result).values()
    assert all("MI32x32" in solution["SolutionNameMin"] for solution in logic_yaml.loads(text)[5])
    assert result.validations is not None
    assert Counter(result.validations["outcome"].to_pylist()) == {
        "passed": found["ok"],
        "failed": found["verify_failed"],
    }


def test_many_failed_checks_are_no_signal(bench: Bench) -> None:
    """A status above 128 is that of a killed client, unless as many kernels failed their check."""
    sizes = (*SIZES, (512, 256, 1, 1024), (256, 256, 1, 512))
    result = bench.run(bench.claim(sizes=sizes), GEKO_SIM_FAULTS="wrong:tool=Tensile,kernel=MI16x16")
    failed = outcomes(result)["verify_failed"]
    assert 128 < failed < 255 and f"exited with code {failed}" in str(result.output)
    assert result.outcome == "ok" and "ended badly" not in str(result.message)


def test_a_client_status_ends_the_program_without_our_setting(grid: Grid, tmp_path: Path) -> None:
    """What the original met: the same run without ExitOnFails=0 leaves no library logic."""
    bench = grid.bench
    client = bench.folder / "client/tensilelite/client/tensilelite-client"
    done = subprocess.run(
        [bench.root / "tensilelite/Tensile/bin/Tensile", bench.build / "BBS_TN_0.yaml", tmp_path / "plain",
         "--prebuilt-client", client, "--global-parameters", "Device=0"],
        env=dict(bench.context(GEKO_SIM_FAULTS="wrong:tool=Tensile,kernel=MI16x16").env), capture_output=True, check=False,
    )  # fmt: skip
    failed = done.stdout.count(b",FAILED,")
    assert done.returncode == failed > 0 and done.stdout.count(b",PASSED,") > 0
    assert not (bench.folder / "plain/3_LibraryLogic").exists()


def test_library_logic_is_made_from_finished_tables(bench: Bench, grid: Grid) -> None:
    result = bench.run(GEKO_SIM_FAULTS="exit:tool=Tensile,phase=logic,code=3,times=1")
    assert result.outcome == "ok" and "ended badly" in str(result.message)
    assert result.output is not None and result.output.count("already benchmarked") == 1
    assert bench.logic(result) == bench.logic(grid.result)


@pytest.mark.parametrize(
    ("fault", "outcome", "n_timed"),
    [
        ("crash:tool=Tensile,M=4096,row=5", "crash", 5),
        ("memory_fault:tool=Tensile,M=4096,row=5", "memory_fault", 5),
        ("lost_device:tool=Tensile,M=4096,row=5", "crash", 5),
        ("truncate:tool=Tensile,M=4096,row=5,code=9", "crash", 5),
        ("exit:tool=Tensile,phase=start,code=4", "crash", None),
        ("crash:tool=Tensile,phase=build", "crash", None),
        ("build_failed:tool=Tensile", "no_solution", None),
        ("wrong:tool=Tensile", "verify_failed", 0),
    ],
)
def test_failures_are_outcomes_and_lose_nothing(
    bench: Bench, fault: str, outcome: str, n_timed: int | None
) -> None:
    result = bench.run(GEKO_SIM_FAULTS=fault)
    assert result.outcome == outcome and result.message and result.files is None
    assert result.measurements is not None
    rows = result.measurements.to_pylist()
    if outcome == "verify_failed":
        assert outcomes(result) == {"verify_failed": len(rows)}
        return
    told = [row for row in rows if row["outcome"] == outcome]
    assert {row["problem_id"] for row in told} <= {problem_id(size) for size in SIZES} and told
    second = [row for row in rows if row["problem_id"] == problem_id(SIZES[1]) and row["outcome"] == "ok"]
    assert len(second) == (n_timed or 0)
    if n_timed is None:
        assert len(told) == len(rows) == 2


def test_a_grid_that_dies_twice_gives_what_it_had(bench: Bench, grid: Grid) -> None:
    """One kernel hangs the GPU whenever it runs: the best of those before it is the winner."""
    fault = {"GEKO_SIM_FAULTS": "memory_fault:tool=Tensile,M=4096,row=20"}
    first = bench.run(bench.claim(), **fault)
    assert first.outcome == "memory_fault" and first.files is None
    second = bench.run(bench.claim(attempt=2), **fault)
    assert second.outcome == "ok" and "ended early" in str(second.message)
    assert "holds GFLOP/s in place of efficiencies" in str(second.message)
    found = outcomes(second)
    assert found["memory_fault"] == 1 and found["ok"] == outcomes(first)["ok"]
    assert second.measurements is not None
    rows = [row for row in second.measurements.to_pylist() if row["outcome"] == "ok"]
    (text,) = bench.logic(second).values()
    logic = logic_yaml.loads(text)
    assert [tuple(entry[0][:4]) for entry in logic[7]] == list(SIZES)
    for entry in logic[7]:
        size = tuple(entry[0][:4])
        best = max(row["gflops"] for row in rows if row["problem_id"] == problem_id(size))
        assert entry[1][1] == pytest.approx(best, rel=1e-4)
    # The size that was through has the winner of a whole run.
    (whole,) = grid.bench.logic(grid.result).values()
    assert logic_yaml.loads(whole)[7][0][1][1] == logic[7][0][1][1]


def test_nothing_is_saved_of_kernels_that_failed(bench: Bench) -> None:
    fault = "wrong:tool=Tensile,M=1024;crash:tool=Tensile,M=4096,row=0"
    result = bench.run(bench.claim(attempt=2), GEKO_SIM_FAULTS=fault)
    assert result.outcome == "crash" and result.files is None
    assert not any(path.read_text() for path in bench.build.glob("2_BenchmarkData/*.csv"))


def test_a_kernel_that_does_not_build_costs_no_other(bench: Bench) -> None:
    result = bench.run(GEKO_SIM_FAULTS="build_failed:tool=Tensile,kernel=MI32x32")
    assert result.outcome == "ok" and "could not be built" in str(result.message)
    assert set(outcomes(result)) == {"ok"}


def test_garbage_between_lines(bench: Bench) -> None:
    result = bench.run(GEKO_SIM_FAULTS="garbage:tool=Tensile,M=4096,row=5")
    assert result.outcome == "ok"
    assert outcomes(result)["unsupported"] == 1
    assert "alone" in str(result.message)


def test_silence_is_a_hang(bench: Bench) -> None:
    started = time.monotonic()
    claim = bench.claim(stall_timeout_s=1.5)
    result = bench.run(claim, GEKO_SIM_FAULTS="hang:tool=Tensile,M=4096,row=5")
    assert result.outcome == "hang" and time.monotonic() - started < 20
    assert outcomes(result)["ok"] > 5


def test_a_client_that_can_not_be_built(bench: Bench) -> None:
    result = bench.run(GEKO_SIM_FAULTS="exit:tool=invoke,code=2")
    assert result.outcome == "tool_missing" and "can't be built" in str(result.message)
    assert bench.run().outcome == "ok"
    # Once it is there, nothing is built any more.
    again = bench.run(bench.claim(name="BBS_TN_1"), GEKO_SIM_FAULTS="exit:tool=invoke,code=2")
    assert again.outcome == "ok"


OLD_TENSILE = """#!/bin/sh
# A tensilelite without a task for its client: CONFIG OUT --client-build-path DIR, with a config without problems.
[ "$(cat "$1")" = "BenchmarkProblems:" ] && [ "$3" = --client-build-path ] || exit 7
mkdir -p "$4/client" && echo built > "$4/client/tensile_client" && echo "$PYTHONPATH" > "$4/path.txt"
"""


def old_checkout(folder: Path) -> Path:
    package = folder / "tensilelite/Tensile"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "4.33.0"\n', encoding="utf-8")
    (package / "bin/Tensile").write_text(OLD_TENSILE, encoding="utf-8")
    (package / "bin/Tensile").chmod(0o755)
    return folder


def test_the_client_of_a_tensilelite_without_tasks(tmp_path: Path) -> None:
    checkout, folder = old_checkout(tmp_path / "hip"), tmp_path / "client"
    client = build_tensilelite_client(checkout, folder, "gfx942")
    assert client == folder / "client/tensile_client" and client.read_text(encoding="utf-8") == "built\n"
    assert (folder / "path.txt").read_text(encoding="utf-8").startswith(f"{checkout}/tensilelite")
    client.write_text("kept", encoding="utf-8")
    assert build_tensilelite_client(checkout, folder, "gfx942") == client
    assert client.read_text(encoding="utf-8") == "kept"
    # Other sources: the folder is one of ours, and built anew.
    (checkout / "tensilelite/Tensile/Common.py").write_text("", encoding="utf-8")
    assert build_tensilelite_client(checkout, folder, "gfx942").read_text(encoding="utf-8") == "built\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("GlobalParameters:\n  MinimumRequiredVersion: 4.33.0\n", None),
        ("GlobalParameters:\n  MinimumRequiredVersion: 5.0.0\n", "is for tensilelite 5.0.0, the checkout .* has 4.33.0"),
        ("GlobalParameters:\n  MinimumRequiredVersion: 4.33.1\n", "is for tensilelite 4.33.1"),
        ("GlobalParameters:\n  MinimumRequiredVersion: 4.32.9\nBackend: {Name: Ductile}\n", "has no genetic algorithm"),
    ],
)  # fmt: skip
def test_a_config_that_the_tensilelite_at_hand_can_not_tune(
    bench: Bench, tmp_path: Path, text: str, why: str | None
) -> None:
    checkout = old_checkout(tmp_path / "hip")
    context = replace(bench.context(), simulated=False)
    (result,) = TensileliteRunner().run([bench.claim(text, root=str(checkout))], context)
    if why is None:
        assert result.outcome == "crash" and result.exit_code == 7
    else:
        assert result.outcome == "unsupported" and re.search(why, str(result.message))


def test_a_run_of_failures_ends_the_runner(bench: Bench) -> None:
    runner, context = (
        TensileliteRunner(),
        bench.context(GEKO_SIM_FAULTS="exit:tool=Tensile,phase=start,code=4"),
    )
    claims = [bench.claim(name=f"BBS_TN_{at}", abort_after=2) for at in range(4)]
    results = runner.run(claims, context)
    assert [result.outcome for result in results] == ["crash", "crash", "released", "released"]
    assert context.give_up is not None and "2 tuning jobs in a row" in context.give_up


def _stop_when(bench: Bench, ready: Any, claim: Any, **env: str) -> JobResult:
    """Run a claim and stop it once ``ready`` says so."""
    context = bench.context(**env)
    done: list[JobResult] = []
    thread = threading.Thread(target=lambda: done.extend(TensileliteRunner().run([claim], context)))
    thread.start()
    limit = time.monotonic() + 60
    while not ready() and thread.is_alive():
        assert time.monotonic() < limit
        time.sleep(0.02)
    context.stop.set()
    thread.join(30)
    return done[0]


def test_ductile_goes_on_from_its_checkpoint(bench: Bench) -> None:
    claim = bench.claim(config(ductile=DUCTILE))
    log = bench.build / "BBS_TN_0-tensilelite.log"

    def in_the_middle() -> bool:
        return log.is_file() and "   2   |" in log.read_text() and log.read_text().count("run,problem") > 2

    stopped = _stop_when(bench, in_the_middle, claim, GEKO_SIM_SPEED="8")
    assert stopped.outcome == "released"
    assert [path.name for path in bench.build.glob("*.checkpoint")] == ["step-00__ductile.checkpoint"]
    result = bench.run(replace(claim, attempt=2))
    assert result.outcome == "ok" and "Resuming optimization from generation" in str(result.output)
    whole = make_bench(bench.root, bench.folder / "other").run(claim_of(bench, claim))
    assert bench.logic(result) == bench.logic(whole)
    assert result.measurements is not None and whole.measurements is not None
    kept = ["problem_id", "solution_id", "outcome", "us"]
    assert _sorted(result, kept) == _sorted(whole, kept)


def claim_of(bench: Bench, claim: Any) -> Any:
    """The same claim for another place."""
    spec = json.loads(claim.spec)
    other = bench.folder / "other"
    return replace(
        claim,
        spec=json.dumps(
            spec | {"tuning_dir": str(other / "optimizations"), "build_dir": str(other / "client")}
        ),
    )


def _sorted(result: JobResult, columns: list[str]) -> list[tuple[Any, ...]]:
    assert result.measurements is not None
    rows = result.measurements.select(columns).to_pylist()
    return sorted(tuple(str(row[name]) for name in columns) for row in rows)


def renamed(root: Path, folder: Path) -> Path:
    """A checkout of today: the package is called tensilelite, and its programs are commands of it."""
    folder.mkdir()
    for path in root.iterdir():
        if path.name != "tensilelite":
            (folder / path.name).symlink_to(path)
    package = folder / "tensilelite/tensilelite"
    package.mkdir(parents=True)
    names = {"run": "Tensile", "create-library": "TensileCreateLibrary"}
    (package / "cli.py").write_text(
        f"import os, sys\nprogram = {str(root / 'tensilelite/Tensile/bin')!r} + '/' + {names}[sys.argv[1]]\n"
        "os.execv(program, [program, *sys.argv[2:]])\n"
    )
    (package / "__main__.py").write_text("from . import cli\n")
    (package / "__init__.py").touch()
    return folder


def test_a_checkout_whose_package_was_renamed(bench: Bench) -> None:
    claim = bench.claim()
    root = renamed(bench.root, bench.folder / "renamed")
    result = bench.run(replace(claim, spec=json.dumps(json.loads(claim.spec) | {"root": str(root)})))
    assert result.outcome == "ok", result.message
    assert " -m tensilelite run " in str(result.command)
    whole = make_bench(bench.root, bench.folder / "other").run(claim_of(bench, claim))
    assert bench.logic(result) == bench.logic(whole)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pop_size": 100000}, "search space too small: only"),
        ({"pop_size": 24, "max_iters": 1}, "max iters reached while sampling a population"),
    ],
)
def test_a_search_that_can_not_begin_is_not_tried_again(
    bench: Bench, options: dict[str, int], said: str
) -> None:
    text = config(ductile=DUCTILE | options)
    if "max_iters" in options:
        text = text.replace("DepthU: 32", "DepthU: 40").replace("DepthU: 64", "DepthU: 40")
    result = bench.run(bench.claim(text))
    assert result.outcome == "no_solution" and said in str(result.output)


def test_what_was_told_is_not_told_again(bench: Bench) -> None:
    claim = bench.claim(config(ductile=DUCTILE))
    first = bench.run(claim, GEKO_SIM_FAULTS="crash:tool=Tensile,phase=client,generation=3")
    second = bench.run(replace(claim, attempt=2))
    assert (first.outcome, second.outcome) == ("crash", "ok")
    kept = ["problem_id", "solution_id", "us"]
    early = [row for row in _sorted(first, [*kept, "outcome"]) if row[-1] == "not_checked"]
    assert early and not {row[:3] for row in early} & set(_sorted(second, kept))


def test_a_finished_folder_is_read_and_not_run_again(bench: Bench) -> None:
    """The runner died between the end of Tensile and the delivery."""
    claim = bench.claim()
    first = bench.run(claim)
    (bench.build / "geko-job.json").write_text(json.dumps({"job_id": claim.job_id, "reported": 0}))
    again = bench.run(replace(claim, attempt=2), GEKO_SIM_FAULTS="exit:tool=Tensile,phase=start")
    assert again.outcome == "ok" and again.command is None
    assert bench.logic(again) == bench.logic(first)
    kept = ["problem_id", "solution_id", "us", "outcome"]
    assert _sorted(again, kept) == _sorted(first, kept)


def test_folders_of_others_are_moved_aside_and_those_of_other_jobs_emptied(bench: Bench) -> None:
    bench.build.mkdir(parents=True)
    (bench.build / "precious.txt").write_text("x")
    assert bench.run().outcome == "ok"
    assert (bench.build.parent / "build_BBS_TN_0.previous-1/precious.txt").read_text() == "x"
    other = bench.claim(config(depths=(64,)))
    assert bench.run(other).outcome == "ok"
    assert "DepthU: 32" not in (bench.build / "BBS_TN_0.yaml").read_text()
    assert len(list(bench.build.parent.glob("*.previous-*"))) == 1


def test_the_gpu_is_locked_only_while_the_client_runs(bench: Bench) -> None:
    lock = bench.folder / "optimizations/gpulock_1"
    lock.parent.mkdir(parents=True)
    log = bench.build / "BBS_TN_0-tensilelite.log"
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        context, done = bench.context(), []
        thread = threading.Thread(
            target=lambda: done.extend(TensileliteRunner().run([bench.claim()], context))
        )
        thread.start()
        limit = time.monotonic() + 60
        while not (log.is_file() and "after KernelWriter" in log.read_text()):
            assert time.monotonic() < limit
            time.sleep(0.05)
        time.sleep(0.3)
        assert thread.is_alive() and "run,problem-progress" not in log.read_text()
    thread.join(60)
    assert [result.outcome for result in done] == ["ok"]


def test_real_and_simulated_roots_do_not_mix(bench: Bench) -> None:
    (result,) = TensileliteRunner().run([bench.claim()], replace(bench.context(), simulated=False))
    assert result.outcome == "tool_missing" and "must not mix" in str(result.message)


def test_the_device_wins_over_the_config_which_stays_as_it_is(grid: Grid) -> None:
    bench, claim, result = grid.bench, grid.claim, grid.result
    assert "Overriding Device=1" in str(result.output) and "GPU 1" in str(result.output)
    assert "CpuThreads=1" in str(result.command)
    assert (bench.build / "BBS_TN_0.yaml").read_text() == TuneSpec.parse(claim.spec).yaml


@pytest.mark.parametrize(
    "broken",
    [
        {"problem_ids": []},
        {"name": "../x"},
        {"arch": "gfx90x"},
        {"sizes": [[1, 2]]},
        {"yaml": None, "sizes": None},
    ],
)
def test_specs_that_make_no_sense_are_refused(bench: Bench, broken: dict[str, Any]) -> None:
    claim = bench.claim()
    claim = replace(claim, spec=json.dumps(json.loads(claim.spec) | broken))
    assert bench.run(claim).outcome == "unsupported"


def test_sizes_are_read_from_the_text_where_the_job_has_none(bench: Bench) -> None:
    claim = bench.claim()
    spec = json.loads(claim.spec)
    del spec["sizes"]
    assert TuneSpec.parse(json.dumps(spec)).sizes == SIZES
