"""The hipblaslt-bench stand-in: real command lines in, real formats out, times from the model.

Nothing heavy is imported: one process starts in some 0.1 s.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.errors import GekoError, InputError
from geko.simulator import faults, model, output
from geko.simulator.config import Config
from geko.simulator.devices import TYPES, Device, type_class
from geko.simulator.library import Library
from geko.simulator.problem import (
    ALGO_METHODS,
    Arguments,
    candidates,
    read_rows,
    records,
    solution_supports,
    type_supports,
)

_WARM_UP_BASE_US = 18.0  # first launches of a kernel: code object load and cold instruction cache


def _parser() -> argparse.ArgumentParser:
    """The single-shape flags; names as the real program has them."""
    parser = argparse.ArgumentParser(prog="hipblaslt-bench", allow_abbrev=False)
    add = parser.add_argument
    add("--yaml")
    add("--device", type=int, default=0)
    add("-v", "--verify", action="store_true")
    add("--precision", "-r")
    for flags, dest in ((("-m", "--sizem"), "M"), (("-n", "--sizen"), "N"), (("-k", "--sizek"), "K")):
        add(*flags, dest=dest, type=int)
    for name in ("lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"):
        add(f"--{name}", type=int)
    for name in ("lde", "stride_e"):
        add(f"--{name}", type=int, dest="ignored")
    for name in ("alpha", "beta"):
        add(f"--{name}", type=float)
    for name in (
        "alphai",
        "betai",
        "max_measure_time",
        "noise_threshold",
        "batch_mode",
        "math_mode",
        "splitk",
        "wgm",
    ):
        add(f"--{name}", dest="ignored")
    for name in (
        "a_type",
        "b_type",
        "c_type",
        "d_type",
        "compute_type",
        "scale_type",
        "bias_type",
        "aux_type",
    ):
        add(f"--{name}")
    for name in (
        "initialization",
        "transA",
        "transB",
        "activation_type",
        "bias_source",
        "function",
        "api_method",
    ):
        add(f"--{name}")
    add("--batch_count", type=int)
    add("-i", "--iters", type=int)
    add("-j", "--cold_iters", type=int)
    add("--algo_method")
    add("--solution_index", type=int)
    add("--requested_solution", type=int, dest="requested_solution_num")
    for name in ("scaleA", "scaleB", "scaleC", "scaleD"):
        # Old forms give these flags without a value.
        add(f"--{name}", type=int, nargs="?", const=1)
    for name in ("bias_vector", "scaleAlpha_vector", "amaxD", "use_e", "gradient", "print_kernel_info"):
        add(f"--{name}", action="store_true", default=None)
    for name in ("use_gpu_timer", "flush", "any_stride", "grouped_gemm"):
        add(f"--{name}", action="store_true", default=None)
    add("--swizzleA", "--swizzle_a", dest="swizzle_a", action="store_true", default=None)
    add("--swizzleB", "--swizzle_b", dest="swizzle_b", action="store_true", default=None)
    add("--rotating", type=int)
    add("--workspace", type=int)
    add("--skip_slow_solution_ratio", type=float)
    return parser


@dataclass
class Bench:
    """State of one bench process."""

    config: Config
    device: Device
    index: int
    physical: int
    library: Library
    nonce: str = field(default_factory=lambda: os.environ.get("GEKO_SIM_NONCE", ""))
    speed: float = field(default_factory=lambda: float(os.environ.get("GEKO_SIM_SPEED") or 0.0))
    tuning_file: str | None = field(default_factory=lambda: os.environ.get("HIPBLASLT_TUNING_FILE"))

    def __post_init__(self) -> None:
        self.faults = faults.Faults(self.config.root, "hipblaslt-bench", self.physical)
        self.noise = self.config.noise
        self.occurrence: dict[str, int] = {}

    def columns(self, args: Arguments) -> output.Columns:
        """Column groups that the environment and the row switch on."""
        return output.Columns(
            freq=_on("HIPBLASLT_BENCH_FREQ"),
            freq_all=_on("HIPBLASLT_BENCH_FREQ_ALL"),
            perf=_on("HIPBLASLT_BENCH_PERF") or _on("HIPBLASLT_BENCH_PERF_ALL"),
            check=bool(args["norm_check"] or args["allclose_check"]),
            index=self.tuning_file is not None,
        )

    def measure(
        self, solution: dict[str, Any], args: Arguments, slow: float, what: str
    ) -> tuple[float, model.Timing]:
        """One measurement (``what`` is ``hot`` or ``warm-up``): noisy µs and the noise-free timing."""
        timing = model.kernel_time(self.device, solution, args, self.config.seed)
        # A job of a run takes equally long on every GPU: its result must not depend on who got it.
        physical = self.physical if not self.nonce else -1
        spread = model.device_factor(self.config.seed, physical) if physical >= 0 else 1.0
        true = timing.us * spread * slow
        key = f"{solution['key']}|{args.signature}|{args.protocol}|{what}"
        self.occurrence[key] = self.occurrence.get(key, 0) + 1
        us = model.measured_us(
            self.device,
            true,
            args,
            noise=self.noise,
            drift=self.config.drift,
            keys=(
                self.config.seed,
                physical,
                self.nonce,
                self.library.digest,
                key,
                self.occurrence[key],
            ),
        )
        if what == "warm-up":
            us += _WARM_UP_BASE_US / max(1, args["cold_iters"])
        return us, timing

    def sleep(self, us: float) -> None:
        """Let the benchmark's time pass, scaled, when GEKO_SIM_SPEED asks for it."""
        if self.speed > 0:
            time.sleep(us * 1e-6 / self.speed)


def _on(name: str) -> bool:
    return os.environ.get(name, "").lower() not in ("", "0", "false", "off")


def _emit(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _check(args: Arguments, solution: dict[str, Any], wrong: str | None) -> output.Check:
    """What the comparison with the CPU reference finds: rounding of the output type, or a wrong result."""
    cpu_us = max(20.0, args.flops / 45e3)
    if wrong is not None:
        return output.Check(wrong, "failed", "failed", cpu_us)
    # Both sides multiply the same inputs, however coarse: only the output is rounded (and xf32 inputs are cut).
    rounding = {8: 1e-16, 4: 6e-8, 2: 4e-3, 1: 6e-2}
    cut = type_class(args["a_type"], args["b_type"], args["compute_type"]) == "xf32"
    unit = 5e-4 if cut else rounding.get(int(TYPES.get(args["d_type"], (0, 4.0))[1]), 6e-2)
    spread = math.exp(0.2 * model.gauss("error", solution["key"], args.signature))
    error = unit * 0.06 * math.log2(2.0 + args["K"]) * spread
    ladder = (1e-05, 1e-04, 1e-03, 1e-02, 1e-01, 1.0)
    tolerance = output.real(next(step for step in ladder if step >= error))
    return output.Check(output.real(error), tolerance, tolerance, cpu_us)


def _chosen(bench: Bench, args: Arguments) -> tuple[list[dict[str, Any]], int]:
    """Solutions to time, in order, and the number of those that the support check passed."""
    method = args["algo_method"]
    if method == ALGO_METHODS["index"]:
        found = bench.library.by_index(args["solution_index"])
        if found is None or not type_supports(found[0], args) or not solution_supports(found[1], args):
            return [], 0
        return [found[1]], 1
    cus = bench.device.cus
    supported = candidates(
        (table for table in bench.library.tables if table.get("cu_count", cus) == cus), args
    )
    wanted = args["requested_solution_num"]
    if method == ALGO_METHODS["all"] or wanted < 0:
        return supported, len(supported)
    return supported[: max(1, wanted)], min(len(supported), max(1, wanted))


def run_row(bench: Bench, given: dict[str, Any], position: int, *, single: bool) -> int:
    """Run one record; returns the exit status it asks for."""
    args = Arguments.of(given, device_arch=bench.device.arch, honour_any_stride=single)
    for plain, fnuz in args["renamed"]:
        sys.stdout.flush()
        sys.stderr.write(f"hipblaslt-bench INFO: Using {fnuz} instead of {plain}\n")
        sys.stderr.flush()
    if args["c_type"] != args["d_type"]:
        sys.stderr.write(f"Invalid: --c_type {args['c_type']} is not equal to --d_type {args['d_type']}\n")
        sys.stderr.flush()
        return 1 if single else 0
    chosen, supported = _chosen(bench, args)
    known = {**args, "row": position}
    fault = bench.faults.strike({**known, "kernel": " ".join(s["SolutionNameMin"] for s in chosen)})
    if fault is not None and fault.kind == "no_solution":
        chosen = []
    if not chosen:
        sys.stdout.flush()
        sys.stderr.write("error: NO solution found! at testing_matmul.hpp:2534 (simulated)\n")
        sys.stderr.flush()
        return 1 if single else 0
    _emit(output.rotating_line(args) + f"Is supported {supported} / Total solutions: {supported}\n")
    _time_candidates(bench, args, chosen, fault)
    return 0


def _time_candidates(
    bench: Bench, args: Arguments, chosen: list[dict[str, Any]], fault: faults.Fault | None
) -> None:
    columns = bench.columns(args)
    best: tuple[float, str, list[tuple[str, str]]] | None = None
    best_warm = math.inf
    ratio = args["skip_slow_solution_ratio"]
    slow = fault.factor if fault is not None and fault.kind == "slow" else 1.0
    wrong = fault.value if fault is not None and fault.kind == "wrong" else None
    deadly = fault is not None and fault.kind not in ("slow", "wrong")
    strike_at = fault.after if fault is not None and fault.after is not None else len(chosen) // 2
    for rank, solution in enumerate(chosen):
        warm_us, _ = bench.measure(solution, args, slow, "warm-up")
        bench.sleep(warm_us * args["cold_iters"])
        skip = ratio > 0 and warm_us * ratio > best_warm
        if skip and not (deadly and rank == strike_at):
            _emit(
                f"Skip solution: {rank} (best warm-up = {output.real(best_warm)} us , warm-up = "
                f"{output.real(warm_us)} us, skip ratio = {output.real(ratio)}, "
                f"solution index = {solution['index']})\n"
            )
            continue
        best_warm = min(best_warm, warm_us)
        us, timing = bench.measure(solution, args, slow, "hot")
        bench.sleep(us * args["iters"])
        check = _check(args, solution, wrong) if columns.check else None
        row = output.cells(args, us, timing, bench.device, columns, check, solution["index"])
        text = output.block(rank, row, solution, kernel_info=args["print_kernel_info"])
        if deadly and rank == strike_at and fault is not None:
            text = _strike(fault, text)
        _emit(text)
        if best is None or us < best[0]:
            best = (us, text, row)
    if deadly and fault is not None and strike_at >= len(chosen):
        _emit(_strike(fault, ""))
    if best is None:
        return
    if len(chosen) > 1:
        _emit(f"Winner: \n{best[1]}")
    if bench.tuning_file:
        _append_tuning(bench, best[2])


def _strike(fault: faults.Fault, text: str) -> str:
    """Break the process in the middle of a row, or give the garbage that stands in place of ``text``."""
    if fault.kind == "garbage":
        # As overwritten memory would look: no header, no numbers.
        return "[\x00\x07~]:,,,\ufffd\ufffd,0x7f3a\n    nan,,inf,####\n"
    if fault.kind == "truncate":
        _emit(text[: int(len(text) * 0.6)])
        sys.exit(fault.code)
    return faults.die(fault)


def _append_tuning(bench: Bench, row: list[tuple[str, str]]) -> None:
    path = Path(str(bench.tuning_file))
    text = output.tuning_entry(row, bench.device)
    if not path.exists() or path.stat().st_size == 0:
        text = f"Git Version: {bench.config.git}\n{text}"
    with path.open("a", encoding="utf-8") as handle:
        handle.write(text)


def open_device(config: Config, wanted: int) -> tuple[int, int]:
    """(visible device count, physical device): honours the runtime's visibility variables."""
    physical = list(range(config.devices))
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        value = os.environ.get(name)
        if value:
            chosen = [int(x) for x in value.split(",") if x.strip().isdigit()]
            physical = [physical[x] for x in chosen if x < len(physical)]
    if not 0 <= wanted < len(physical):
        raise InputError(f"hipErrorInvalidDevice: device {wanted} of {len(physical)} (simulated)")
    return len(physical), physical[wanted]


def _given(options: argparse.Namespace) -> dict[str, Any]:
    given = {k: v for k, v in vars(options).items() if v is not None}
    for key in ("yaml", "device", "ignored"):
        given.pop(key, None)
    if given.pop("verify", False):
        given.update(norm_check=1, allclose_check=1)
    precision = given.pop("precision", None)
    if precision:
        for key in ("a_type", "b_type", "c_type", "d_type"):
            given.setdefault(key, precision)
    given.setdefault("initialization", "hpl")
    return given


def main(argv: Sequence[str], root: Path) -> int:
    """Entry point.

    Args:
        argv: arguments without the program name.
        root: the simulated hipBLASLt root.

    Returns:
        0; 1 for an unusable device, library, type or (single shape only) a problem without solution; 2 for
        unknown flags. In a batch, rows without a solution leave the status at 0: the next rows still run.
    """
    options = _parser().parse_args(list(argv))
    config = Config.load(root)
    try:
        count, physical = open_device(config, options.device)
        where = os.environ.get("HIPBLASLT_TENSILE_LIBPATH") or config.library
        bench = Bench(config, config.device, options.device, physical, Library.load(where))
        _emit(output.banner(config.device, count=count, index=options.device, git=config.git))
        start = bench.faults.strike({"row": "start"}, kinds=frozenset({"lost_device"}))
        if start is not None:
            faults.die(start)
        if options.yaml is None:
            given = _given(options)
            if bench.tuning_file:
                tuning = {"iters": 1000, "cold_iters": 1000, "requested_solution_num": -1, "rotating": 512}
                given = {**tuning, **given}
            return run_row(bench, given, 0, single=True)
        status = 0
        for position, given in enumerate(records(read_rows(Path(options.yaml), config.yaml_path))):
            status = max(status, run_row(bench, given, position, single=False))
        return status
    except GekoError as error:
        sys.stdout.flush()
        sys.stderr.write(f"{error}\n")
        return 1
    except BrokenPipeError:
        return 141
