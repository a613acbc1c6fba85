"""The Tensile stand-in: reads a tuning config, "builds" its kernels, times them with the model, and leaves the
folders and files of the real program. Nothing is compiled, and every time is simulated.

Steps and messages: ``Tensile/Tensile.py`` and ``BenchmarkProblems.py`` of tensilelite 4.33 and 5.0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from geko.errors import GekoError, InputError
from geko.fsio import write_text_atomic
from geko.simulator import faults
from geko.simulator.bench_cli import open_device
from geko.simulator.config import Config
from geko.simulator.create_cli import TENSILE_VERSION
from geko.simulator.ductile import CHECKPOINT, DuctileError, Options, Search
from geko.simulator.kernels import Kernel, Workshop, gemm_kind, load_template
from geko.simulator.tensile_client import Client, ClientDiedError, write_table
from geko.simulator.tuning_config import Problem, TuningConfig, read_config

VERSION = ".".join(map(str, TENSILE_VERSION))
#: Status of the real program's fatal errors, ``sys.exit(-1)``.
FATAL = 255
_RULE = "#" * 80
_DEFAULT_KERNELS = 2048
_BUILD_S = 0.2  # processor seconds that generating and assembling one kernel takes
_PROBLEMS, _DATA, _LOGIC = "1_BenchmarkProblems", "2_BenchmarkData", "3_LibraryLogic"


class _Failed(Exception):
    """Ends the program with a status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


def main(argv: Sequence[str], root: Path) -> int:
    """Entry point; returns the exit status."""
    options = _parse(argv)
    try:
        return _Run(options, Config.load(root)).execute()
    except _Failed as failed:
        return failed.status
    except DuctileError as error:
        if error.kind is None:
            _say(f"Tensile::FATAL: {error}")
            return FATAL
        sys.stdout.flush()
        sys.stderr.write(f"Traceback (most recent call last):\n  ...\n{error.kind}: {error}\n")
        return 1
    except GekoError as error:
        sys.stdout.flush()
        sys.stderr.write(f"Tensile::FATAL: {error}\n")
        return FATAL


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tensile", allow_abbrev=False)
    add = parser.add_argument
    add("config_file", type=Path)
    add("output_path", type=Path)
    add("-d", "--device", type=int)
    add("-v", "--verbose", action="store_true")
    add("--code-object-version", default="4")
    add("--prebuilt-client", type=Path)
    add("--client-lock", type=Path)
    add("--library-format", default="msgpack")
    add("--gpu-targets")
    add("--use-cache", action="store_true")
    add("--build-only", action="store_true")
    add("--global-parameters", nargs="+", default=[], metavar="NAME=VALUE")
    return parser.parse_args(list(argv))


@dataclass(slots=True)
class _Made:
    """What benchmarking one problem type gave."""

    workshop: Workshop
    kernels: list[Kernel]
    winners: list[tuple[tuple[int, int, int, int], int, float]]
    client: Client


class _Run:
    """One call of the program."""

    def __init__(self, options: argparse.Namespace, config: Config) -> None:
        self.options, self.config = options, config
        self.out = options.output_path.absolute()
        self.name = options.config_file.stem
        self.start = time.monotonic()
        self.most = int(os.environ.get("GEKO_SIM_KERNELS") or _DEFAULT_KERNELS)
        self.speed = float(os.environ.get("GEKO_SIM_SPEED") or 0.0)

    def execute(self) -> int:
        """Run all steps."""
        _say(
            f"\n{_RULE}\n#\n#  Tensile v{VERSION} (simulated: nothing is built or measured)\n"
            f"#  OutputPath: {self.out}\n#  Config: {self.options.config_file.absolute()}\n"
            f"#  Date & Time: {datetime.now():%d/%m/%Y %H:%M:%S}\n#\n{_RULE}\n"
        )
        _say("# Restoring default globalParameters")
        tuning = read_config(self.options.config_file, self.config.yaml_path)
        self.settings = dict(tuning.settings) | self._overrides()
        _, self.device = open_device(self.config, int(self.settings.get("Device") or 0))
        self.rules = faults.Faults(self.config.root, "Tensile", self.device)
        self._fault("start")
        _say(f"# Detected GPU {self.device} with ISA: {self.config.device.arch}")
        client = self.options.prebuilt_client
        if client is None or not client.is_file():
            raise InputError("the stand-in needs --prebuilt-client, an existing file", value=str(client))
        self.out.mkdir(parents=True, exist_ok=True)
        made = [self._benchmark(tuning, problem, at) for at, problem in enumerate(tuning.problems)]
        if self.options.build_only:
            return 0
        self._fault("logic")
        if tuning.logic is not None:
            self._write_logic(tuning.logic, made)
        return 0

    def _overrides(self) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        # As in the real program, device 0 on the command line changes nothing.
        if self.options.device:
            changed["Device"] = self.options.device
        for item in self.options.global_parameters:
            name, equals, text = item.partition("=")
            if not equals:
                raise InputError("--global-parameters takes NAME=VALUE", value=item)
            try:
                changed[name] = int(text)
            except ValueError:
                changed[name] = text
        for name, value in changed.items():
            _say(f"Overriding {name}={value}")
        return changed

    def _about(self) -> dict[str, Any]:
        return {"name": self.name}

    def _fault(self, phase: str, **more: Any) -> None:
        rule = self.rules.strike(
            {**self._about(), "phase": phase, **more}, kinds=faults.DEADLY, needs="phase"
        )
        if rule is not None:
            faults.die(rule)

    def _benchmark(self, tuning: TuningConfig, problem: Problem, number: int) -> _Made:
        template = load_template(self.config.root)
        kind = gemm_kind(problem.problem_type, template["ProblemType"])
        varied = [name for axis in problem.axes for name in axis.options[0] if len(axis.options) > 1]
        workshop = Workshop(self.config.device, kind, template["Solution"], tuple(dict.fromkeys(varied)))
        client = Client(
            self.config, kind, self.settings, self.device, self.rules, self._about(), self.options.client_lock
        )
        group = f"{kind.head}_{number:02d}"
        data = self.out / _DATA / f"{group}_CSVWinner.csv"
        made = _Made(workshop, [], [], client)
        _say(f"\n{_RULE}\n# Converting Config to BenchmarkProcess Object\n{_RULE}\n# NumBenchmarkSteps: 1")
        # As in the real program, a finished benchmark is done again unless told otherwise.
        if data.is_file() and not int(self.settings.get("ForceRedoBenchmarkProblems", 1)):
            _say(f"# {group} already benchmarked; skipping.")
            made.kernels = self._known_kernels(problem, made, data)
        else:
            table = self.out / _PROBLEMS / group / "Data" / "00_Final.csv"
            status = self._timed(tuning, problem, made, group, table)
            if self.options.build_only:
                return made
            self._end_of_step(group, status)
            data.parent.mkdir(parents=True, exist_ok=True)
            self._write_genes(table, made.kernels)
            shutil.copyfile(_genes(table), _genes(data))
            shutil.copyfile(table, data)
            if status and int(self.settings.get("ExitOnFails", 1)):
                raise _Failed(status)
        made.winners = _winners(data)
        return made

    def _timed(self, tuning: TuningConfig, problem: Problem, made: _Made, group: str, table: Path) -> int:
        """Build and time the kernels of a problem type, write their table; the status of the client."""
        elapsed = time.monotonic() - self.start
        _say(
            f"\n{_RULE}\n# Benchmark Step: {group} - 00_Final {elapsed:.3f}s\n# Num Sizes: {len(problem.sizes)}\n"
            "# Fork Parameters:"
        )
        for axis in problem.axes:
            _say(f"#     {axis.name}: {len(axis.options)} values")
        if tuning.backend == "ductile":
            options = Options.of(tuning.options)
            search = Search(
                problem, made.workshop, made.client, options, options.population(problem, self.most),
                self.out / CHECKPOINT, self.out / f"{self.name}-optimization.log", self._build_generation,
            )  # fmt: skip
            try:
                made.kernels, timed = search.run()
            except ClientDiedError as died:
                # The client opens its table first and fills it last. The checkpoint stays.
                write_text_atomic(table, "")
                _say(_client_warning(died.code))
                raise DuctileError(f"BenchmarkProblems: Empty CSV results file: {table}") from died
            write_table(table, timed, made.kernels, made.client.arguments)
            return timed.status
        made.kernels = self._grid(problem, made.workshop)
        self._build(made.kernels)
        if self.options.build_only:
            return 0
        # The real program, too, writes its solutions before the client runs.
        self._write_genes(table, made.kernels)
        checked = int(self.settings.get("NumElementsToValidate") or 0)
        try:
            timed = made.client.run(
                made.kernels, problem.sizes, problem.bias_types, draw="grid", checked=checked
            )
        except ClientDiedError as died:
            # The client opens its table first and fills it last.
            write_text_atomic(table, "")
            return died.code
        write_table(table, timed, made.kernels, made.client.arguments)
        return timed.status

    def _grid(self, problem: Problem, workshop: Workshop) -> list[Kernel]:
        """All kernels that build, or a sample of them where there are too many."""
        _say("# Enumerating Solutions")
        total = problem.n_kernels
        drawn = total if total <= 4 * self.most else 4 * self.most
        order = random.Random(0).sample(range(total), drawn)
        kept: list[Kernel] = []
        looked = 0
        while looked < drawn and len(kept) < self.most:
            genes = [problem.genes(index) for index in order[looked : looked + self.most]]
            looked += len(genes)
            built = workshop.build([(item, problem.parameters(item)) for item in genes])
            kept += [kernel for kernel in built if kernel is not None]
        kept = sorted(kept[: self.most], key=lambda kernel: kernel.genes)
        unique = list({kernel.name: kernel for kernel in kept}.values())
        if looked < total:
            _say(f"# simulated: a sample of {looked} of {total} combinations (GEKO_SIM_KERNELS={self.most})")
        _say(f"# Actual Solutions: {len(unique)} / {looked} after SolutionStructs\n")
        if not unique:
            raise InputError("Your parameters resulted in 0 valid solutions.")
        return unique

    def _build(self, kernels: list[Kernel], generation: int | None = None) -> None:
        """Let kernels pass the assembler; those that a fault names don't."""
        self._fault("build", generation=generation)
        before = len(kernels)
        if self.rules.rules:
            kernels[:] = [kernel for kernel in kernels if not self._breaks(kernel, generation)]
        threads = int(self.settings.get("CpuThreads") or -1)
        if self.speed > 0:
            time.sleep(
                before * _BUILD_S / max(1, threads if threads > 0 else os.cpu_count() or 1) / self.speed
            )
        _say(f"# Actual Solutions: {len(kernels)} / {before} after KernelWriter\n")
        if not kernels:
            raise InputError("write solutions and kernels results 0 valid soultion.")

    def _breaks(self, kernel: Kernel, generation: int | None) -> bool:
        given = {**self._about(), "kernel": kernel.name, "generation": generation}
        return self.rules.strike(given, kinds=frozenset({"build_failed"})) is not None

    def _build_generation(self, generation: int, kernels: list[Kernel]) -> None:
        self._build(kernels, generation)

    @staticmethod
    def _write_genes(table: Path, kernels: Sequence[Kernel]) -> None:
        write_text_atomic(_genes(table), json.dumps([kernel.genes for kernel in kernels]))

    def _known_kernels(self, problem: Problem, made: _Made, data: Path) -> list[Kernel]:
        """The kernels of a table that was made before: their choices stand beside it."""
        genes = json.loads(_genes(data).read_text(encoding="utf-8"))
        choices = [(tuple(item), problem.parameters(item)) for item in genes]
        return [kernel for kernel in made.workshop.build(choices) if kernel is not None]

    def _end_of_step(self, group: str, status: int) -> None:
        elapsed = time.monotonic() - self.start
        if status:
            _say(_client_warning(status))
        _say(f"{_RULE}\n# {group}\n# 00_Final: End - {elapsed:.3f}s\n{_RULE}\n")
        verdict = "(ERROR)" if status else "(PASS)"
        _say(f"clientExit={status} {verdict} for ['{self.options.config_file.absolute()}']")

    def _write_logic(self, logic: Mapping[str, Any], made: Sequence[_Made]) -> None:
        from geko.library import logic_yaml

        _say(f"\n\n{_RULE}\n# Analysing data in {self.out / _DATA}\n{_RULE}\n")
        schedule = str(logic.get("ScheduleName") or self.config.device.arch)
        arch: Any = str(logic.get("ArchitectureName") or self.config.device.arch)
        # As the real program: the variable CU, else what rocminfo says, and for this one target only.
        cus = int(os.environ.get("CU") or self.config.device.cus)
        if arch == "gfx942" and cus != 304:
            arch = {"Architecture": arch, "CUCount": cus}
        for item in made:
            head = item.workshop.kind.head
            used = list(dict.fromkeys(at for _, at, _ in item.winners))
            if not used:
                raise InputError(f"no kernel of {head} has a valid time", path=self.out / _DATA)
            numbers = {at: number for number, at in enumerate(used)}
            solutions = [
                item.workshop.logic_solution(item.kernels[at], number) for at, number in numbers.items()
            ]
            exact = []
            for size, at, gflops in item.winners:
                args = item.client.arguments(size)
                lds = [args[name] for name in ("ldd", "ldc", "lda", "ldb")]
                exact.append([[*size, *lds], [numbers[at], round(gflops, 2)]])
            content = [
                {"MinimumRequiredVersion": VERSION}, schedule, arch, list(logic.get("DeviceNames") or []),
                dict(item.workshop.kind.logic), solutions, [2, 3, 0, 1], exact, None, None, "DeviceEfficiency",
                str(logic.get("LibraryType") or "Equality"),
            ]  # fmt: skip
            path = self.out / _LOGIC / f"{schedule}_{head}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text_atomic(path, logic_yaml.dumps(content))
            _say(f"# ExactWinners: {len(item.winners)} sizes, {len(used)} kernels of {head}")
        elapsed = time.monotonic() - self.start
        _say(f"{_RULE}\n# Finish Analysing data to {self.out} in {elapsed:.3f}s\n{_RULE}\n")


def _client_warning(code: int) -> str:
    return f"Tensile::WARNING: BenchmarkProblems: Benchmark Process exited with code {code}"


def _genes(table: Path) -> Path:
    """What stands beside a table instead of the real program's solutions: the choices of its kernels."""
    return table.with_suffix(".genes.json")


def _winners(data: Path) -> list[tuple[tuple[int, int, int, int], int, float]]:
    """Size, kernel and GFLOP/s of each size of a table: the best over its rows."""
    lines = data.read_text(encoding="utf-8").splitlines() or [""]
    names = [name.strip() for name in lines[0].split(",")]
    best: dict[tuple[int, int, int, int], tuple[int, float]] = {}
    for line in lines[1:]:
        row = dict(zip(names[:16], (cell.strip() for cell in line.split(",")[:16]), strict=True))
        m, n, batch, k = (int(row[f"Size{letter}"]) for letter in "IJKL")
        at, gflops = int(row["WinnerIdx"]), float(row["WinnerGFlops"])
        if at >= 0 and gflops > best.get((m, n, batch, k), (0, 0.0))[1]:
            best[m, n, batch, k] = (at, gflops)
    return [(size, at, gflops) for size, (at, gflops) in best.items()]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
