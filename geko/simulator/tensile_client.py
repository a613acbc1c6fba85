"""The tensilelite client as the Tensile stand-in runs it: times kernels on sizes, prints the client's lines and
keeps the client's table.

Line and table forms: tensilelite's LogReporter and ResultFileReporter, hipBLASLt 0.12 to 1.2.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geko.fsio import write_text_atomic
from geko.simulator import faults, model
from geko.simulator.config import Config
from geko.simulator.kernels import GemmKind, Kernel
from geko.simulator.output import real
from geko.simulator.problem import Arguments, solution_supports

COLUMNS = (
    "run", "problem-progress", "solution-progress", "operation", "problem-sizes", "bias-type", "factor-dim",
    "activation-type", "solution", "validation", "time-us", "gflops", "empty", "total-gran", "tiles-per-cu",
    "num-cus", "tile0-gran", "tile1-gran", "cu-gran", "wave-gran", "mem-read-bytes", "mem-write-bytes", "temp-edge",
    "clock-sys", "clock-soc", "clock-mem", "fan-rpm", "hardware-samples", "enqueue-time",
)  # fmt: skip
#: Names of types in the client's lines.
_TYPE_NAMES = {
    "S": "Float", "D": "Double", "C": "ComplexFloat", "Z": "ComplexDouble", "H": "Half", "B": "BFloat16", "I": "Int32",
    "I8": "Int8", "F8": "Float8", "B8": "BFloat8", "F8N": "Float8_fnuz", "B8N": "BFloat8_fnuz",
}  # fmt: skip
_FAILED, _SKIPPED = -1.0, 0.0
Size = tuple[int, int, int, int]


@dataclass(slots=True)
class Timed:
    """Results of one call of the client.

    Attributes:
        gflops: per size (each bias type counts as one) and kernel; -1 for a failed check, 0 for a skipped one.
        us: likewise; 0 without a time.
        problems: size and bias type of each row.
        n_failed: kernels whose check failed.
    """

    gflops: list[list[float]]
    us: list[list[float]]
    problems: list[tuple[Size, str]]
    n_failed: int = 0

    @property
    def status(self) -> int:
        """Exit status of the client: the number of failures, which a shell can't tell above 255."""
        return min(self.n_failed, 255)

    def winner(self, row: int) -> int | None:
        """The fastest kernel of a row; None if none has a time."""
        found = [(us, at) for at, us in enumerate(self.us[row]) if us > 0 and self.gflops[row][at] > 0]
        return min(found)[1] if found else None


class ClientDiedError(Exception):
    """The client ended without results.

    Attributes:
        code: as a shell gives it: 128 and the number of a signal, or its exit status.
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"the client ended with code {code}")


@dataclass(slots=True)
class Client:
    """Times kernels of one problem type.

    Attributes:
        config: the simulated root.
        kind: problem type.
        settings: ``GlobalParameters`` with what the command line changed.
        device: number of the GPU.
        rules: faults of the Tensile stand-in.
        about: what every fault may be matched with (``name`` of the config, ...).
        lock: file that is locked while the GPU is in use; None for no lock.
        nonce: draw of the noise; the device's number counts where it is empty.
    """

    config: Config
    kind: GemmKind
    settings: Mapping[str, Any]
    device: int
    rules: faults.Faults
    about: Mapping[str, Any]
    lock: Path | None = None
    nonce: str = field(default_factory=lambda: os.environ.get("GEKO_SIM_NONCE", ""))
    speed: float = field(default_factory=lambda: float(os.environ.get("GEKO_SIM_SPEED") or 0.0))

    def run(
        self,
        kernels: Sequence[Kernel],
        sizes: Sequence[Size],
        bias_types: Sequence[str],
        *,
        draw: str,
        checked: int,
        generation: int | None = None,
    ) -> Timed:
        """Time all kernels on all sizes, print a line for each, in a process of its own as the real client is.

        Args:
            kernels: in order of their index.
            sizes: [M, N, batch, K].
            bias_types: Tensile letters; none for the type of D.
            draw: noise of this call; equal calls with an equal draw print equal times.
            checked: elements that are compared with the CPU; 0 for no check.
            generation: of the genetic algorithm, for faults.

        Raises:
            ClientDiedError: the process ended without results.
        """
        problems = [(size, bias) for size in sizes for bias in (bias_types or (self.kind.dest,))]
        with self._gpu():
            return _in_child(lambda: self._work(kernels, problems, draw, checked, generation))

    def _work(
        self,
        kernels: Sequence[Kernel],
        problems: list[tuple[Size, str]],
        draw: str,
        checked: int,
        generation: int | None,
    ) -> Timed:
        """What the client's process does."""
        timed = Timed([], [], problems)
        self._fault({"phase": "client", "generation": generation})
        _emit("Log level: Debug\n" + ",".join(COLUMNS) + "\n")
        for number, (size, bias) in enumerate(problems):
            row = _Row(self, number, len(problems) - 1, size, bias, draw, checked, generation)
            row.run(kernels)
            timed.gflops.append(row.gflops)
            timed.us.append(row.us)
            timed.n_failed += row.n_failed
        skipped = sum(value == _SKIPPED for rates in timed.gflops for value in rates)
        rule = "#" * 26
        if self.skip_ratio:
            ratio = real(self.skip_ratio)
            _emit(f"{rule} {skipped} solutions were skipped in total. (Skip Ratio: {ratio}){rule}\n")
        return timed

    @property
    def skip_ratio(self) -> float:
        """Kernels this much slower than the best so far are skipped; 0 for none."""
        return float(self.settings.get("SkipSlowSolutionRatio") or 0.0)

    @contextmanager
    def _gpu(self) -> Iterator[None]:
        """The lock of ``--client-lock``."""
        if self.lock is None:
            yield
            return
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.lock, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _fault(self, given: Mapping[str, Any]) -> None:
        """End the process if a rule for this moment (a rule that names a phase) is due."""
        rule = self.rules.strike({**self.about, **given}, kinds=faults.DEADLY, needs="phase")
        if rule is not None:
            faults.die(rule)

    def arguments(self, size: Size) -> Arguments:
        """The problem of a size as hipblaslt-bench would be asked for it, with this config's protocol."""
        a_type, b_type, c_type, compute = self.kind.tokens
        m, n, batch, k = size
        rotating = int(self.settings.get("RotatingBufferSize") or 0)
        given = {
            "M": m, "N": n, "K": k, "batch_count": batch, "transA": self.kind.layout[0], "transB": self.kind.layout[1],
            "a_type": a_type, "b_type": b_type, "c_type": c_type, "d_type": c_type, "compute_type": f"c_{compute}",
            "iters": int(self.settings.get("EnqueuesPerSync") or 1) * int(self.settings.get("SyncsPerBenchmark") or 1),
            "cold_iters": int(self.settings.get("NumWarmups") or 0), "use_gpu_timer": True, "rotating": rotating,
            "workspace": int(self.settings.get("MaxWorkspaceSize") or 128 * 2**20),
        }  # fmt: skip
        return Arguments.of(given, device_arch=self.config.device.arch)

    def measure(self, kernel: Kernel, args: Arguments, draw: str, what: str) -> tuple[float, model.Timing]:
        """One measurement: noisy µs and the noise-free timing."""
        physical = -1 if self.nonce else self.device
        timing = model.kernel_time(self.config.device, kernel.condensed, args, self.config.seed)
        spread = model.device_factor(self.config.seed, physical) if physical >= 0 else 1.0
        key = f"{kernel.condensed['key']}|{args.signature}|{args.protocol}|{what}"
        us = model.measured_us(
            self.config.device, timing.us * spread, args, noise=self.config.noise, drift=self.config.drift,
            keys=(self.config.seed, physical, self.nonce, "tensile", key, draw),
        )  # fmt: skip
        return us, timing

    def sleep(self, us: float) -> None:
        """Let time pass, scaled, when GEKO_SIM_SPEED asks for it."""
        if self.speed > 0:
            time.sleep(us * 1e-6 / self.speed)


class _Row:
    """One size with one bias type: a line per kernel."""

    def __init__(
        self,
        client: Client,
        number: int,
        last: int,
        size: Size,
        bias: str,
        draw: str,
        checked: int,
        generation: int | None,
    ) -> None:
        self.client, self.number, self.last, self.size, self.bias = client, number, last, size, bias
        self.draw, self.checked, self.generation = f"{draw}:{bias}", checked, generation
        self.args = client.arguments(size)
        self.gflops: list[float] = []
        self.us: list[float] = []
        self.n_failed = 0
        self._best = float("inf")

    def run(self, kernels: Sequence[Kernel]) -> None:
        """Time all kernels."""
        for at, kernel in enumerate(kernels):
            rule = self.client.rules.strike(self._about(kernel, at)) if self.client.rules.rules else None
            if rule is not None and rule.kind not in ("wrong", "slow", "no_solution"):
                self._break(rule, at, kernel, len(kernels))
                continue
            slow = rule.factor if rule is not None and rule.kind == "slow" else 1.0
            if (rule is not None and rule.kind == "no_solution") or not solution_supports(
                kernel.condensed, self.args
            ):
                self._line(at, kernel, len(kernels), "DID_NOT_SATISFY_ASSERTS", 0.0, None)
                self._take(_SKIPPED, 0.0)
                continue
            self._time(at, kernel, len(kernels), slow, wrong=rule is not None and rule.kind == "wrong")

    def _time(self, at: int, kernel: Kernel, total: int, slow: float, *, wrong: bool) -> None:
        client, args = self.client, self.args
        warm, timing = client.measure(kernel, args, self.draw, "warm-up")
        client.sleep(warm * slow * args["cold_iters"])
        if client.skip_ratio and warm * slow * client.skip_ratio > self._best:
            _emit(f"{self._place(at, total)},Solution Skipped (slow or doing restoration): {kernel.name}\n")
            self._take(_SKIPPED, 0.0)
            return
        self._best = min(self._best, warm * slow)
        us, timing = client.measure(kernel, args, self.draw, "hot")
        us *= slow
        client.sleep(us * args["iters"])
        if not self.checked and not wrong:
            verdict = "NO_CHECK"
        else:
            verdict = "FAILED" if wrong else "PASSED"
        self._line(at, kernel, total, verdict, us, timing)
        if verdict == "FAILED":
            self.n_failed += 1
            self._take(_FAILED, us)
        else:
            self._take(args.flops / us / 1e3, us)

    def _take(self, gflops: float, us: float) -> None:
        self.gflops.append(gflops)
        self.us.append(us)

    def _about(self, kernel: Kernel, at: int) -> dict[str, Any]:
        return {
            **self.client.about, **self.args, "kernel": kernel.name, "row": at, "generation": self.generation,
            "bias": self.bias,
        }  # fmt: skip

    def _break(self, rule: faults.Fault, at: int, kernel: Kernel, total: int) -> None:
        if rule.kind == "garbage":
            _emit(f"{self._place(at, total)},\x00\ufffd,,#\n")
            self._take(_FAILED, 0.0)
            return
        if rule.kind == "truncate":
            _emit(self._place(at, total) + ',Contraction_l,"(')
            sys.exit(rule.code)
        faults.die(rule)

    def _place(self, at: int, total: int) -> str:
        return f"0,{self.number}/{self.last},{at}/{total - 1}"

    def _line(
        self, at: int, kernel: Kernel, total: int, verdict: str, us: float, timing: model.Timing | None
    ) -> None:
        m, n, batch, k = self.size
        cells = [
            self._place(at, total), _operation(self.client.kind), f'"({m},{n},{batch},{k})"',
            _TYPE_NAMES.get(self.bias.upper(), self.bias), "0", "None", kernel.name, verdict, real(us) if us else "0",
            real(self.args.flops / us / 1e3) if us else "0", "",
        ]  # fmt: skip
        if timing is None:
            cells += [""] * 15
        else:
            total_gran = timing.tile0 * timing.tile1 * timing.cu * timing.wave
            cells += [
                real(total_gran), real(timing.tiles_per_cu), str(self.client.config.device.cus), real(timing.tile0),
                real(timing.tile1), real(timing.cu), real(timing.wave), str(int(timing.read_bytes)),
                str(int(timing.write_bytes)), "", "", "", "", "", "",
            ]  # fmt: skip
        cells.append(datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f"))
        _emit(",".join(cells) + "\n")


def _in_child(work: Callable[[], Timed]) -> Timed:
    """Results of work that a child process does; whatever ends it leaves this one alive."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        code = 1
        try:
            timed = work()
            with os.fdopen(writer, "wb") as handle:
                pickle.dump(timed, handle)
            code = timed.status
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as handle:
        data = handle.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if not data:
        raise ClientDiedError(128 - code if code < 0 else code)
    found: Timed = pickle.loads(data)
    return found


def write_table(
    path: Path, timed: Timed, kernels: Sequence[Kernel], arguments: Callable[[Size], Arguments]
) -> None:
    """``00_Final.csv``: a row per size and bias type, a column of GFLOP/s per kernel."""
    head = [
        "GFlops", "SizeI", "SizeJ", "SizeK", "SizeL", "LDD", "LDC", "LDA", "LDB", "TotalFlops", "TilesPerCu",
        "TotalGranularity", "WinnerGFlops", "WinnerTimeUS", "WinnerIdx", "WinnerName",
    ]  # fmt: skip
    lines = [", ".join([*head, *(kernel.name for kernel in kernels)])]
    for number, (size, _) in enumerate(timed.problems):
        args = arguments(size)
        at = timed.winner(number)
        best = (
            ["-1", "-1", "-1", ""]
            if at is None
            else [real(timed.gflops[number][at]), real(timed.us[number][at]), str(at), kernels[at].name]
        )
        flops = 2 * size[0] * size[1] * size[2] * size[3]
        cells = [
            str(number), *map(str, size), *(str(args[name]) for name in ("ldd", "ldc", "lda", "ldb")), str(flops),
            "0", "-nan", *best, *(real(value) for value in timed.gflops[number]),
        ]  # fmt: skip
        lines.append(", ".join(cells))
    write_text_atomic(path, "\n".join(lines) + "\n")


def _operation(kind: GemmKind) -> str:
    a = "Alik" if kind.layout[0] != "N" else "Ailk"
    b = "Bjlk" if kind.layout[1] != "N" else "Bljk"
    return f"Contraction_l_{a}_{b}_Cijk_Dijk"


def _emit(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
