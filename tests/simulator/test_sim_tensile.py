"""The Tensile, Ductile and client-build stand-ins on their command lines."""

from __future__ import annotations

import json
import math
import os
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from geko.config_generator.load_input_config import load_requests
from geko.config_generator.output_writer import render
from geko.config_generator.spaces import generate
from geko.library import logic_yaml
from geko.library.model import load_library
from geko.simulator import make_root
from geko.simulator.config import Config
from geko.simulator.ductile import DuctileError, Options
from geko.simulator.kernels import Workshop, gemm_kind, load_template
from geko.simulator.tuning_config import Problem, read_config

TILE = "{MatrixInstruction: [16, 16, 16, 1, 1, 4, 4, 2, 2], DepthU: 64}"
CONFIG = """\
# a config as people write it
GlobalParameters:
  NumElementsToValidate: 128   # of C
  NumWarmups: 20
  EnqueuesPerSync: 20
  RotatingBufferSize: 512
BenchmarkProblems:
- - OperationType: GEMM
    DataType: b
    DestDataType: b
    ComputeDataType: s
    HighPrecisionAccumulate: True
    TransposeA: 1
    TransposeB: 0
    UseBeta: True
    Batched: True
  - InitialSolutionParameters:
    BenchmarkCommonParameters:
    - KernelLanguage: ["Assembly"]
    ForkParameters:
    - GlobalReadVectorWidthA: [8, 4]  # wide first
    - WorkGroupMapping: [4, 8]
    - PrefetchGlobalRead: [2]
    - StaggerU: [0]
    - Groups:
      - - {MatrixInstruction: [16, 16, 16, 1, 1, 4, 4, 2, 2], DepthU: 32} # 128x128
        - {MatrixInstruction: [16, 16, 16, 1, 1, 4, 4, 2, 2], DepthU: 64, MIArchVgpr: False}
        # - {MatrixInstruction: [9, 9, 9, 9, 9, 9, 9, 9, 9], DepthU: 1}
        - {MatrixInstruction: [32, 32, 8, 1, 1, 2, 2, 2, 2], DepthU: 64}
      - - SourceSwap: False # default
        - SourceSwap: True
          StoreVectorWidth: 4
    BenchmarkFinalParameters:
    - ProblemSizes:
      - Exact: [1024, 512, 1, 2048]
      - Exact: [256, 4096, 2, 512]
    - BiasTypeArgs: [b]
LibraryLogic:
  ScheduleName: "aquavanjaram"
  DeviceNames: ["Device 0049", "Device 0050"]
  ArchitectureName: "gfx942"
"""


@dataclass
class Tensile:
    """Runs Tensile of a simulated root."""

    root: Path
    folder: Path

    def __call__(self, text: str, *more: str, out: str = "out", **env: str) -> tuple[int, str]:
        config = self.folder / "BBS_TN_0.yaml"
        config.write_text(text)
        words = [config, self.folder / out, "--prebuilt-client", self.client, *more]
        return self.program("tensilelite/Tensile/bin/Tensile", *map(str, words), **env)

    def program(self, place: str, *words: str, **env: str) -> tuple[int, str]:
        hidden = ("GEKO_SIM", "HIP_VIS", "ROCR")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        done = subprocess.run(
            [str(self.root / place), *words], env={**clean, "GEKO_SIM_STATE": str(self.folder / "state"), **env},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.decode("utf-8", "replace")

    @property
    def client(self) -> Path:
        client = self.folder / "client/tensilelite/client/tensilelite-client"
        if not client.exists():
            status, said = self.program(
                "bin/invoke", "build-client", "--build-dir", str(self.folder / "client")
            )
            assert status == 0, said
        return client

    def file(self, pattern: str, out: str = "out") -> Path:
        (found,) = (self.folder / out).glob(pattern)
        return found


@pytest.fixture(scope="module")
def quiet_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root without noise: the same kernel takes the same time for every program."""
    return make_root(tmp_path_factory.mktemp("sim") / "root", noise=0.0)


@pytest.fixture
def tensile(quiet_root: Path, tmp_path: Path) -> Tensile:
    return Tensile(quiet_root, tmp_path)


def problem_of(text: str, folder: Path) -> Problem:
    path = folder / "config.yaml"
    path.write_text(text)
    (problem,) = read_config(path).problems
    return problem


def test_the_fork_is_the_whole_product(tmp_path: Path) -> None:
    problem = problem_of(CONFIG, tmp_path)
    assert problem.n_kernels == 2 * 2 * 3 * 2
    assert problem.sizes == ((1024, 512, 1, 2048), (256, 4096, 2, 512)) and problem.bias_types == ("b",)
    found = [problem.parameters(problem.genes(at)) for at in range(problem.n_kernels)]
    assert len({json.dumps(item, sort_keys=True) for item in found}) == problem.n_kernels
    assert {item["DepthU"] for item in found} == {32, 64}
    assert all(item.get("StoreVectorWidth") == (4 if item["SourceSwap"] else None) for item in found)
    assert all(
        ("MIArchVgpr" in item) == (item["DepthU"] == 64 and item["MatrixInstruction"][0] == 16)
        for item in found
    )


@pytest.mark.parametrize("backend", ["ductile", "tensile"])
def test_generated_configs_are_understood_as_yaml_is(backend: str, tmp_path: Path) -> None:
    import yaml

    keys = {"TRANSA": "N", "TRANSB": "T", "DataType": "H", "DestDataType": "H", "ComputeDataType": "S",
            "Sizes": [[128, 96, 2, 640]], "ARCH": "gfx950", "backend": backend}  # fmt: skip
    for config in generate(load_requests(keys, environ={})):
        text = render(config)
        problem = problem_of(text, tmp_path)
        content = yaml.safe_load(text)
        fork = content["BenchmarkProblems"][0][1]["ForkParameters"]
        plain = {name: len(values) for item in fork for name, values in item.items() if name != "Groups"}
        groups = [options for item in fork for options in item.get("Groups", [])]
        assert {axis.name: len(axis.options) for axis in problem.axes if axis.name in plain} == plain
        named = [axis for axis in problem.axes if axis.name.startswith("group_")]
        assert [list(axis.options) for axis in named] == groups
        tuning = read_config(tmp_path / "config.yaml")
        assert tuning.backend == backend and tuning.settings == content["GlobalParameters"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"BenchmarkProblems:": "Problems:"}, "BenchmarkProblems"),
        ({"- Exact: [1024, 512, 1, 2048]": "- Range: [1]"}, "Exact"),
        ({"[8, 4]": "8"}, "list of values"),
        ({"OperationType: GEMM": "OperationType: ["}, "not YAML"),
        ({"DataType: b": "DataType: q"}, "Tensile DataType"),
        (
            {
                "DataType: b": "DataType: C",
                "DestDataType: b": "DestDataType: C",
                "DataType: s": "DataType: C",
            },
            "no such data type",
        ),
    ],
)
def test_bad_configs_end_with_a_reason(tensile: Tensile, change: dict[str, str], said: str) -> None:
    text = CONFIG
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new, 1)
    status, output = tensile(text)
    assert status == 255 and said in output and "FATAL" in output


def test_only_kernels_that_the_rules_let_through_are_built(quiet_root: Path) -> None:
    config, template = Config.load(quiet_root), load_template(quiet_root)
    given = {"DataType": "B", "DestDataType": "B", "ComputeDataType": "S", "TransposeA": True}
    kind = gemm_kind(given, template["ProblemType"])
    workshop = Workshop(config.device, kind, template["Solution"])
    base = {"MatrixInstruction": [16, 16, 16, 1, 1, 4, 4, 2, 2], "DepthU": 64}
    split = {"MatrixInstruction": [16, 16, 16, 1, 1, 4, 4, 1, 1], "DepthU": 32, "WorkGroup": [16, 4, 2]}
    good = [base, {**base, "GlobalReadVectorWidthA": 8}, split]
    bad = [
        {**base, "DepthU": 40},  # no multiple of the instruction's K
        {**base, "DepthU": 1024},  # doesn't fit LDS
        {**base, "GlobalReadVectorWidthA": 16},  # wider than 16 bytes
        {**base, "GlobalReadVectorWidthA": -2},  # for skinny tiles only
        {**base, "DirectToVgprA": True, "DirectToVgprB": True},
        {**base, "MatrixInstruction": [16, 16, 4, 4]},
        {"DepthU": 64},
    ]  # fmt: skip
    built = workshop.build([((at,), item) for at, item in enumerate([*good, *bad])])
    assert [kernel is not None for kernel in built] == [True] * 3 + [False] * len(bad)
    assert built[0] is not None and "MT128x128x64_MI16x16x1" in built[0].name
    assert "_WGM" in built[0].name and "_WGM" not in built[0].kernel_name


def test_a_grid_leaves_what_the_real_program_leaves(tensile: Tensile) -> None:
    status, output = tensile(CONFIG)
    assert status == 0, output
    assert "# Actual Solutions: 24 / 24 after SolutionStructs" in output and "clientExit=0 (PASS)" in output
    rows = [line for line in output.splitlines() if line.startswith("0,")]
    assert len(rows) == 48 and all(",PASSED," in row for row in rows)
    table = tensile.file("1_BenchmarkProblems/*/Data/00_Final.csv").read_text()
    assert table == tensile.file("2_BenchmarkData/*_CSVWinner.csv").read_text()
    header, *lines = table.splitlines()
    assert header.startswith("GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB, TotalFlops, ")
    assert [line.split(", ")[1:5] for line in lines] == [
        ["1024", "512", "1", "2048"],
        ["256", "4096", "2", "512"],
    ]
    logic_file = tensile.file("3_LibraryLogic/*.yaml")
    assert logic_file.name.startswith("aquavanjaram_Cijk_Alik_Bljk_BBS_BH")
    logic = logic_yaml.load(logic_file)
    for entry, line in zip(logic[7], lines, strict=True):
        cells = line.split(", ")
        best = max(float(cell) for cell in cells[16:])
        assert float(cells[12]) == best == pytest.approx(entry[1][1], rel=1e-4)
        assert cells[15] == logic[5][entry[1][0]]["SolutionNameMin"]
    library = load_library(logic_file)
    assert library.library_type == "Equality" and len(library.sizes) == 2


def test_a_tuned_kernel_takes_as_long_in_the_library(tensile: Tensile) -> None:
    """Tuning and benchmark time the same model: without noise the figures are equal."""
    status, output = tensile(CONFIG, GEKO_SIM_NONCE="x")
    assert status == 0, output
    logic = tensile.file("3_LibraryLogic/*.yaml")
    built = tensile.folder / "built"
    status, said = tensile.program(
        "tensilelite/Tensile/bin/TensileCreateLibrary",
        str(logic.parent),
        str(built),
        "HIP",
        "--no-generate-solution-table",
    )
    assert status == 0, said
    row = {"M": 1024, "N": 512, "K": 2048, "transA": "T", "transB": "N", "compute_type": "c_f32_r", "iters": 20,
           "cold_iters": 20, "rotating": 512, "use_gpu_timer": "true", "print_kernel_info": "true",
           **{f"{x}_type": "bf16_r" for x in "abcd"}}  # fmt: skip
    bench = tensile.folder / "row.yaml"
    bench.write_text("- {" + ", ".join(f"{key}: {value}" for key, value in row.items()) + "}\n")
    status, said = tensile.program(
        "build/release/clients/hipblaslt-bench", "--yaml", str(bench), GEKO_SIM_NONCE="x",
        HIPBLASLT_TENSILE_LIBPATH=str(built / "library/gfx942"),
    )  # fmt: skip
    assert status == 0, said
    us = float(next(line for line in said.splitlines() if line.startswith("    T,N")).split(",")[-1])
    winner = tensile.file("2_BenchmarkData/*.csv").read_text().splitlines()[1].split(", ")
    assert us == pytest.approx(float(winner[13]), rel=1e-5)
    assert winner[15] in said


def test_equal_calls_give_equal_tables(tensile: Tensile, sim_root: Path) -> None:
    noisy = Tensile(sim_root, tensile.folder)
    tables = []
    for at, nonce in enumerate(("a", "a", "b")):
        assert noisy(CONFIG, out=f"out{at}", GEKO_SIM_NONCE=nonce)[0] == 0
        tables.append(noisy.file("2_BenchmarkData/*.csv", out=f"out{at}").read_text())
    assert tables[0] == tables[1] != tables[2]


def test_failures_end_the_program_with_their_number(tensile: Tensile) -> None:
    status, output = tensile(CONFIG, GEKO_SIM_FAULTS="wrong:tool=Tensile,kernel=MI16x16")
    failed = output.count(",FAILED,")
    assert (
        status == failed == 32 and output.count(",PASSED,") == 16 and f"clientExit={failed} (ERROR)" in output
    )
    assert not list((tensile.folder / "out").glob("3_LibraryLogic/*"))
    # Once more: the benchmark is not repeated, the library logic is written.
    status, output = tensile(CONFIG, "--global-parameters", "ForceRedoBenchmarkProblems=0")
    assert status == 0 and "already benchmarked; skipping" in output and ",PASSED," not in output
    winners = logic_yaml.load(tensile.file("3_LibraryLogic/*.yaml"))[5]
    assert all("MI32x32" in solution["SolutionNameMin"] for solution in winners)
    status, output = tensile(
        CONFIG,
        "--global-parameters",
        "ExitOnFails=0",
        out="kept",
        GEKO_SIM_FAULTS="wrong:tool=Tensile,kernel=MI16x16",
    )
    assert status == 0 and list((tensile.folder / "kept").glob("3_LibraryLogic/*.yaml"))


def test_a_client_that_dies_leaves_an_empty_table(tensile: Tensile) -> None:
    """Tensile itself lives on: it copies the table that the client opened and never filled."""
    fault = {"GEKO_SIM_FAULTS": "crash:tool=Tensile,M=256,row=5"}
    status, output = tensile(CONFIG, **fault)
    assert status == 139 and "Benchmark Process exited with code 139" in output
    assert output.count(",PASSED,") == 24 + 5
    assert tensile.file("2_BenchmarkData/*.csv").read_text() == ""
    status, output = tensile(CONFIG, "--global-parameters", "ExitOnFails=0", out="more", **fault)
    assert status == 255 and "no kernel of" in output


def test_large_grids_are_sampled_and_say_so(tensile: Tensile) -> None:
    entries = "\n".join(
        f"        - {{MatrixInstruction: [16, 16, 16, 1, 1, {a}, {b}, 2, 2], DepthU: {depth}}}"
        for a in range(1, 9) for b in range(1, 9) for depth in (32, 64)
    )  # fmt: skip
    start = CONFIG.index("      - - {Matrix")
    rest = CONFIG[CONFIG.index("      - - SourceSwap") - 1 :]
    text = CONFIG[:start] + entries.replace("        - ", "      - - ", 1) + rest
    status, output = tensile(text, GEKO_SIM_KERNELS="40")
    assert status == 0, output
    assert "# simulated: a sample of " in output and "of 1024 combinations" in output
    assert output.count(",PASSED,") == 2 * 40


def test_slow_kernels_are_skipped_on_request(tensile: Tensile) -> None:
    text = CONFIG.replace("  NumWarmups: 20", "  NumWarmups: 20\n  SkipSlowSolutionRatio: 1.0")
    status, output = tensile(text)
    skipped = output.count(",Solution Skipped (slow or doing restoration): ")
    assert status == 0 and skipped and output.count(",PASSED,") == 48 - skipped
    assert f"{skipped} solutions were skipped in total. (Skip Ratio: 1)" in output


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--prebuilt-client", "/nowhere"], {}, "prebuilt-client"),
        (["--global-parameters", "Device=99"], {}, "hipErrorInvalidDevice"),
        (
            [],
            {"HIP_VISIBLE_DEVICES": "3", "GEKO_SIM_FAULTS": "lost_device:tool=Tensile,phase=start,device=3"},
            "NoDevice",
        ),
    ],
)
def test_what_the_machine_lacks(tensile: Tensile, words: list[str], env: dict[str, str], said: str) -> None:
    status, output = tensile(CONFIG, *words, **env)
    assert status in (1, 255) and said in output


DUCTILE = (
    CONFIG
    + "Backend:\n  Name: Ductile\n  Config: {pop_size: 8, n_gen: 4, n_elements_to_validate: -1, seed: 3}\n"
)


def test_ductile_prints_its_table_and_keeps_its_state(tensile: Tensile) -> None:
    status, output = tensile(DUCTILE)
    assert status == 0, output
    table = tensile.file("BBS_TN_0-optimization.log").read_text()
    assert set(table.splitlines()) <= set(output.splitlines())
    assert table.startswith("GA:INFO Setup completed.\n")
    lines = table.splitlines()
    rows = [at for at, line in enumerate(lines) if line.split("|")[0].strip().isdigit()]
    for at in rows:
        # A whole table for each generation, its rules two wider than the head.
        above, head, rule, row, below = lines[at - 3 : at + 2]
        assert head.split() == ["n_gen", "|", "n_evals", "|", "diversity", "|", "f_avg", "|", "f_max"]
        assert above == below == "=" * (len(head) + 2) and rule == "-" * len(above) and len(row) == len(head)
    numbers = [[float(cell) for cell in lines[at].split("|")] for at in rows]
    assert [row[0] for row in numbers] == list(range(1, len(numbers) + 1))
    assert all(a[1] <= b[1] and a[4] <= b[4] for a, b in pairwise(numbers)) and numbers[0][1] == 8
    # Rates, not shares: the mean of a generation's kernels, and the best so far.
    assert all(0 <= row[2] <= 1 and 100 < row[3] <= row[4] for row in numbers)
    state = json.loads(tensile.file("*.checkpoint").read_text())
    assert state["gen"] == len(numbers) and state["simulated"] is True
    assert output.count(",PASSED,") >= 1 and output.count(",NO_CHECK,") == 2 * int(numbers[-1][1])
    assert logic_yaml.load(tensile.file("3_LibraryLogic/*.yaml"))[7]


def test_ductile_finds_better_kernels_than_its_first_generation(tensile: Tensile) -> None:
    text = CONFIG.replace("[4, 8]", "[1, 2, 4, 6, 8, 12, 16, 24, 32, 48]")
    status, output = tensile(text + "Backend: {Name: Ductile, Config: {pop_size: 12, n_gen: 12, tol: 0.0}}\n")
    assert status == 0, output
    state = json.loads(tensile.file("*.checkpoint").read_text())
    best = [row[2] for row in state["stats"]]
    assert best == sorted(best) and best[-1] > best[0]


def test_ductile_draws_its_first_generation_by_the_weights(tensile: Tensile) -> None:
    def first(weights: str) -> tuple[int, str]:
        options = f"{{pop_size: 8, n_gen: 1, seed: 3, auto_pop_size: false, weights: {weights}}}"
        return tensile(CONFIG + f"Backend: {{Name: Ductile, Config: {options}}}\n")

    status, output = first("[{group_0: [0, 0, 100]}]")
    assert status == 0, output
    rows = [row for row in output.splitlines() if ",NO_CHECK," in row]
    assert len(rows) > 16 and all("_MI16x16" in row for row in rows)  # and the finalists once more
    status, output = first("[{group_0: [1, 2]}]")
    assert status == 1 and "Parameter group_0 weights should be an iterable with the same size" in output
    status, output = first("[{Nowhere: [1, 2]}]")
    assert status == 0 and "Parameter Nowhere not found in the search space" in output


def test_a_population_fits_its_space() -> None:
    def problem(*lengths: int) -> Any:
        axes = tuple(type("A", (), {"options": range(n)})() for n in lengths)
        return type("P", (), {"axes": axes, "n_kernels": math.prod(lengths)})()

    assert Options().population(problem(600, 10), 10**6) == 690  # 1.15 times the widest axis
    assert (
        Options().population(problem(20, 100), 10**6) == 256
    )  # halved while the widest axis is below a fifth
    assert Options().population(problem(20, 20, 20), 10**6) == 128
    assert Options(auto_pop_size=False).population(problem(20, 20, 20), 10**6) == 512
    assert Options(n_gen=10).population(problem(600, 10), 400) == 40
    with pytest.raises(DuctileError, match=r"only 16 valid permutations for pop_size=512.*Tensile backend"):
        Options().population(problem(4, 4), 10**6)


def test_no_valid_individual(tensile: Tensile) -> None:
    text = DUCTILE.replace("DepthU: 32", "DepthU: 40").replace("DepthU: 64", "DepthU: 40")
    status, output = tensile(text)
    assert status == 1 and "max iters reached while sampling a population: 0/4" in output


def test_client_build(tensile: Tensile) -> None:
    assert tensile.program("bin/invoke", "paint")[0] == 2
    assert tensile.program("bin/invoke", "paint", "--build-dir", "x")[0] == 1
    status, said = tensile.program(str(tensile.client), "--version")
    assert status == 0 and "simulated" in said
    status, said = tensile.program(
        "bin/invoke",
        "build-client",
        "--build-dir",
        str(tensile.folder / "b"),
        GEKO_SIM_FAULTS="exit:tool=invoke,code=7",
    )
    assert status == 7 and "build stopped" in said and not (tensile.folder / "b").exists()
