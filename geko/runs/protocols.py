"""The measurement protocols of bench and search."""

from __future__ import annotations

from dataclasses import replace

from geko.domain.identity import canonical_json
from geko.domain.protocol import Protocol
from geko.runs.options import RunOptions

#: Iterations where no time is known yet.
ITERS, COLD_ITERS = 100, 20
#: Iterations of the probe before a benchmark of a given duration.
PROBE_ITERS, PROBE_COLD_ITERS = 10, 2

_BASE = Protocol(
    harness="hipblaslt-bench", role="baseline", timer="gpu", iteration_rule="fixed", iters=ITERS, cold_iters=COLD_ITERS,
    rotating_mib=512, flush=False, initialization="trig_float", statistic="mean",
)  # fmt: skip


def _for_run(protocol: Protocol, options: RunOptions) -> Protocol:
    """Add what the options change in the meaning of a time: clocks that are read, workspace that is offered."""
    extra = dict(protocol.extra)
    if options.bench_freq:
        extra["bench_freq"] = True
    if options.max_workspace is not None:
        extra["workspace"] = options.max_workspace
    return replace(protocol, extra=extra)


def baseline(options: RunOptions) -> Protocol:
    """The stock library's choice, a fixed number of iterations."""
    return _for_run(_BASE, options)


def probe(options: RunOptions) -> Protocol:
    """A few iterations, to learn how many fill a duration."""
    return _for_run(replace(_BASE, role="probe", iters=PROBE_ITERS, cold_iters=PROBE_COLD_ITERS), options)


def timed_baseline(options: RunOptions) -> Protocol:
    """The stock library's choice for ``benchmark_duration`` cold and as long timed."""
    return _for_run(
        replace(
            _BASE,
            iteration_rule="duration",
            duration_s=options.benchmark_duration,
            iters=None,
            cold_iters=None,
        ),
        options,
    )


def screen(options: RunOptions) -> Protocol:
    """The dense search over all solutions of the library."""
    return _for_run(
        replace(
            _BASE, role="screen", iteration_rule="duration", duration_s=options.duration, iters=None, cold_iters=None,
            extra={"requested_solutions": -1, "skip_slow_solution": True},
        ),
        options,
    )  # fmt: skip


def qualify(options: RunOptions) -> Protocol:
    """The library's own choice and the fastest solutions of the dense search side by side, each as long as there."""
    return _for_run(
        replace(
            _BASE, role="qualify", iteration_rule="duration", duration_s=options.duration, iters=None, cold_iters=None,
            extra={"alternating": True, "by_index": True},
        ),
        options,
    )  # fmt: skip


def confirm(options: RunOptions, *, by_index: bool = True) -> Protocol:
    """Rounds of the library's own choice and single solutions side by side, or of two libraries' own choices."""
    return _for_run(
        replace(
            _BASE, role="confirm", iteration_rule="duration", duration_s=options.compare_duration, iters=None,
            cold_iters=None, extra={"alternating": True, "by_index": by_index},
        ),
        options,
    )  # fmt: skip


def compare(options: RunOptions) -> Protocol:
    """Rounds of both libraries in alternating order."""
    return _for_run(
        replace(
            _BASE, role="compare", iteration_rule="duration", duration_s=options.compare_duration, iters=None,
            cold_iters=None, extra={"alternating": True},
        ),
        options,
    )  # fmt: skip


def unlimited(options: RunOptions) -> Protocol:
    """The stock library's choice without the run's limit of workspace."""
    return _for_run(replace(_BASE, role="unlimited"), replace(options, max_workspace=None))


def verify(options: RunOptions | None = None) -> Protocol:
    """One iteration against the host's reference result."""
    extra: dict[str, int] = {"norm_check": True, "allclose_check": True}
    if options is not None and options.max_workspace is not None:
        extra["workspace"] = options.max_workspace
    return replace(
        _BASE, role="verify", iters=1, cold_iters=0, rotating_mib=None, flush=None, extra=extra
    )  # fmt: skip


def bench_settings(protocol: Protocol) -> str:
    """The protocol's part of a hipblaslt-bench row, as JSON."""
    settings = {
        "rotating": protocol.rotating_mib,
        "flush": protocol.flush,
        "use_gpu_timer": protocol.timer == "gpu",
        "initialization": protocol.initialization,
        "print_kernel_info": True,
        "workspace": protocol.extra.get("workspace"),
    }
    return canonical_json({key: value for key, value in settings.items() if value is not None})
