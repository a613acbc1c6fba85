"""What a user may ask of a run, with the limits of each value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from geko.errors import UsageError

SourceKind = Literal["log", "list", "inline", "workload"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the problems of a run come from: exactly one of four.

    Attributes:
        kind: ``"log"`` (files of any ingestable workload format), ``"list"`` (one file), ``"inline"`` (words of one GEMM)
            or ``"workload"`` (the name of a workload that is in the warehouse).
        paths: the files of ``log`` and ``list``.
        words: the words of ``inline``: M N batch K DataType DestDataType ComputeDataType transA transB [MX].
        name: the name of ``workload``; for the others the name under which they are kept.
    """

    kind: SourceKind
    paths: tuple[Path, ...] = ()
    words: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """A run on stand-in programs instead of GPUs; every time that comes of it is simulated.

    Attributes:
        arch: the GPU that is imitated.
        seed: seed of the noise.
        noise: standard deviation of the noise, as a fraction.
        library: logic directory whose solutions the stand-ins offer; None for the example library.
        n_devices: how many devices the stand-ins show.
    """

    arch: str = "gfx942"
    seed: int = 0
    noise: float = 0.01
    library: Path | None = None
    n_devices: int = 8


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of ``bench`` and ``search``.

    Attributes:
        devices: device ordinals; ``None`` means all that are found.
        keep_thr: percentage of the workload's time in [0, 100] below which a problem is left alone; None for the default
            of the run's kind (0.1 for search, else 0).
        up_thr: ratio reference/tuned from which a kernel is kept.
        err_thr: largest norm error of a right result.
        duration: seconds a solution is timed in the dense search.
        benchmark_duration: seconds of the cold and of the timed phase of a baseline in ``bench``.
        compare_duration: seconds a shape is timed per library and round of the comparison.
        rounds: rounds of the comparison of the built libraries; None for two, or six where they decide (rule ``point``).
        rule: ``"interval"`` (confirmation of the best candidates, docs/verdicts.md) or ``"point"`` (the ratio of the medians
            of the comparison alone, as the original tool decides).
        confirm_candidates: how many of the fastest solutions of the dense search are confirmed for each shape.
        confirm_budget: device seconds that a shape's confirmation may take.
        confirm_run_budget: device seconds that the confirmation of a whole run may take, over all devices.
        max_workspace: bytes of workspace that the application offers; None for the bench program's default.
        verify: check the results of the tuned library.
        bench_freq: record clocks (``HIPBLASLT_BENCH_FREQ``).
        max_attempts: how often a job is tried.
        job_timeout: seconds that any process may take beyond its estimate.
        stall_timeout: seconds without output after which a process counts as hung; 0 turns it off.
        abort_after: stop after this many failures in a row; 0 turns it off.
        workdir: where files go; None for a new ``geko_<timestamp>``.
        hipblaslt: root of the hipBLASLt checkout; None to find it.
        custom_lib_src: logic directory to build and use as the reference library.
        custom_lib_dir: built library to use as the reference.
        simulate: stand-ins instead of GPUs.
        all_devices: every device that is found was asked for by name (``-d all``).
    """

    devices: tuple[int, ...] | None = None
    keep_thr: float | None = None
    up_thr: float = 1.03
    err_thr: float = 0.03
    duration: float = 0.04
    benchmark_duration: float = 0.5
    compare_duration: float = 0.1
    rounds: int | None = None
    rule: Literal["interval", "point"] = "interval"
    confirm_candidates: int = 4
    confirm_budget: float = 30.0
    confirm_run_budget: float = 36000.0
    max_workspace: int | None = None
    verify: bool = True
    bench_freq: bool = False
    max_attempts: int = 3
    job_timeout: float = 600.0
    stall_timeout: float = 300.0
    abort_after: int = 8
    workdir: Path | None = None
    hipblaslt: Path | None = None
    custom_lib_src: Path | None = None
    custom_lib_dir: Path | None = None
    simulate: SimulateOptions | None = None
    all_devices: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keep_thr is not None and not 0 <= self.keep_thr <= 100:
            raise UsageError(
                f"--keep-thr is a percentage of the workload's time between 0 and 100, not {self.keep_thr:g}"
            )
        for name, value, low in (
            ("--up-thr", self.up_thr, 0.0),
            ("--err-thr", self.err_thr, 0.0),
            ("--duration", self.duration, 0.0),
            ("--benchmark-duration", self.benchmark_duration, 0.0),
            ("--compare-duration", self.compare_duration, 0.0),
            ("--confirm-budget", self.confirm_budget, 0.0),
            ("--confirm-run-budget", self.confirm_run_budget, 0.0),
            ("--job-timeout", self.job_timeout, 0.0),
        ):
            if not (math.isfinite(value) and value > low):
                raise UsageError(f"{name} must be a number above {low:g}, not {value:g}")
        for name, count, least in (
            ("--rounds", self.effective_rounds, 1),
            ("--confirm-candidates", self.confirm_candidates, 1),
            ("--max-attempts", self.max_attempts, 1),
            ("--abort-after", self.abort_after, 0),
        ):
            if count < least:
                raise UsageError(f"{name} must be at least {least}, not {count}")
        if self.rule not in ("interval", "point"):
            raise UsageError(f"--rule is interval or point, not {self.rule}")
        if self.max_workspace is not None and self.max_workspace < 0:
            raise UsageError(f"--max-workspace is a number of bytes, not {self.max_workspace}")
        if self.devices is None and self.simulate is None and not self.all_devices:
            raise UsageError(
                "--devices is required: which GPUs may be used, such as -d 0,1 or -d 0-7 or -d all"
            )

    def kept_in_run(self, kind: str) -> dict[str, Any]:
        """The options that are stored with a run and make part of its identity."""
        values: dict[str, Any] = {
            "keep_thr": self.effective_keep_thr(kind),
            "bench_freq": self.bench_freq,
            "benchmark_duration": self.benchmark_duration if kind == "bench" else None,
        }
        if kind == "search":
            values |= {
                "up_thr": self.up_thr,
                "err_thr": self.err_thr,
                "duration": self.duration,
                "compare_duration": self.compare_duration,
                "rounds": self.effective_rounds,
                "verify": self.verify,
                "rule": self.rule,
            }
            if self.rule == "interval":
                values |= {"confirm_candidates": self.confirm_candidates, **self.confirm_budgets}
        if self.max_workspace is not None:
            values["max_workspace"] = self.max_workspace
        return values

    @property
    def confirm_budgets(self) -> dict[str, float]:
        """What the confirmation may take, under the rule that has one."""
        if self.rule == "point":
            return {}
        return {"confirm_budget": self.confirm_budget, "confirm_run_budget": self.confirm_run_budget}

    @property
    def effective_rounds(self) -> int:
        """Rounds of the comparison, with the default of the rule."""
        if self.rounds is not None:
            return self.rounds
        return 6 if self.rule == "point" else 2

    def effective_keep_thr(self, kind: str) -> float:
        """The threshold in percent, with the default of the run's kind."""
        if self.keep_thr is not None:
            return self.keep_thr
        return 0.1 if kind == "search" else 0.0
