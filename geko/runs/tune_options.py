"""What a user may ask of `configure`, `optimize` and `tune` beyond the options of every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from geko.errors import UsageError
from geko.runs.options import RunOptions


@dataclass(frozen=True, slots=True)
class TuneOptions(RunOptions):
    """Options of tuning.

    Attributes:
        arch: architecture that is tuned for, such as ``gfx950``; None takes the one of the input, of the devices, or of the
            configs.
        backend: ``ductile`` (genetic algorithm) or ``tensile`` (every combination); None for the input's, else ductile.
        search_space: ``generic``, ``heuristic`` or ``subtile``; None for the input's, else that of the backend.
        settings: keys of the generator that win over the input's (``--set KEY=VALUE``).
        rules: ``original`` writes configs as the first generator did, its zeros included.
        era: spelling of the configs, see :func:`geko.config_generator.dialect.named`; None for that of the checkout.
        slots: tuning jobs at a time on each device.
        retry: failed configs are tried again when the run is started again.
        client_build_dir: where the tensilelite client is built; None for the runner's default.
        scripts: write shell scripts beside the configs.
    """

    arch: str | None = None
    backend: Literal["ductile", "tensile"] | None = None
    search_space: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rules: Literal["default", "original"] = "default"
    era: str | None = None
    slots: int = 4
    retry: bool = True
    client_build_dir: Path | None = None
    scripts: bool = True

    def __post_init__(self) -> None:
        # The parent's check: super() without arguments doesn't know a class with slots that was made anew.
        RunOptions.__post_init__(self)
        if self.slots < 1:
            raise UsageError(f"--n-slots must be at least 1, not {self.slots}")
        for key, option, value in (
            ("backend", "--backend", self.backend),
            ("search_space", "--search-space", self.search_space),
        ):
            other = self.settings.get(key)
            if value is not None and other is not None and str(other).lower() != value:
                raise UsageError(
                    f"{option} {value} and --set {key}={other} contradict each other: leave one out"
                )

    def generator_values(self) -> dict[str, Any]:
        """Keys of the generator that the command line gives, less the architecture."""
        values: dict[str, Any] = {}
        if self.backend is not None:
            values["backend"] = self.backend
        if self.search_space is not None:
            values["search_space"] = self.search_space
        return values | dict(self.settings)

    def kept_in_run(self, kind: str) -> dict[str, Any]:
        """The options that are stored with a run and make part of its identity."""
        if kind == "configure":
            return {
                "keep_thr": self.effective_keep_thr(kind),
                "arch": self.arch,
                "generator": dict(sorted(self.generator_values().items())),
                "rules": self.rules,
                "era": self.era,
            }
        return {
            "keep_thr": self.effective_keep_thr(kind),
            "up_thr": self.up_thr,
            "err_thr": self.err_thr,
            "compare_duration": self.compare_duration,
            "rounds": self.effective_rounds,
            "rule": self.rule,
            **self.confirm_budgets,
            "verify": self.verify,
            "bench_freq": self.bench_freq,
        }
