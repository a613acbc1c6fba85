"""A run made by hand: winners, candidates and verdicts without any program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.warehouse import Append, Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def uid(name: str) -> str:
    """An id for a name."""
    return content_id("test", name)


def gemm(m: int, trans: str = "TN", types: str = "bf16_r", **more: Any) -> Problem:
    """An m×128×256 problem."""
    return Problem(
        trans[0],
        trans[1],
        m,
        128,
        more.pop("batch", 1),
        256,
        types,
        types,
        more.pop("d_type", types),
        more.pop("out", None) or types,
        more.pop("compute", "f32_r"),
        **more,
    )


class MadeRun:
    """A run whose winners are added one at a time."""

    def __init__(
        self,
        warehouse: Warehouse,
        *,
        simulated: bool = False,
        version: str = "100200",
        label: str | None = None,
    ) -> None:
        self.warehouse = warehouse
        self.n = 0
        self.steps: list[Append] = []
        self.run_id = uid("run")
        self.environment = Environment(
            simulated=simulated,
            gfx="gfx942:sramecc+:xnack-",
            device_name="MI300X",
            cu_count=304,
            rocm="7.0.2",
            hipblaslt_version=version,
            hipblaslt_git="81e208af05-dirty",
        )
        self.add("environment", **self.environment.row(), first_seen=NOW)
        self.add(
            "protocol",
            protocol_id=uid("screen"),
            harness="hipblaslt-bench",
            role="screen",
            timer="gpu",
            rotating_mib=512,
            flush=True,
            settings="{}",
        )
        self.add(
            "run",
            run_id=self.run_id,
            kind="search",
            state="finished",
            label=label,
            simulated=simulated,
            n_starts=1,
            options="{}",
            environment_id=self.environment.environment_id,
            library_id=uid("stock"),
            started_at=NOW,
            ended_at=NOW,
        )

    def add(self, table: str, **row: Any) -> None:
        self.steps.append(Append(table, pa.Table.from_pylist([row])))

    def flush(self) -> None:
        self.warehouse.apply(*self.steps)
        self.steps = []

    def winner(
        self,
        problem: Problem,
        index: int | None = 7,
        *,
        share: float = 1.0,
        named: bool = True,
        kept: bool = True,
        ratio: float = 1.25,
        low: float | None = None,
        high: float | None = None,
    ) -> str:
        """Add a shape with a verdict; reference time is 100 µs."""
        self.n += 1
        row = {name: getattr(problem, name) for name in PROBLEM_FIELDS if getattr(problem, name) is not None}
        shape, kernel, job = problem.problem_id, uid(f"kernel {self.n}"), uid(f"job {self.n}")
        self.add("problem", problem_id=shape, **row)
        self.add("run_problem", run_id=self.run_id, problem_id=shape, seq=self.n, call_count=3, kept=True)
        if named:
            for kind in ("solution", "kernel"):
                self.add("solution_name", solution_id=kernel, kind=kind, name=f"Cijk_{kind}_{self.n}")
        if index is not None:
            self.add(
                "job",
                job_id=job,
                kind="screen",
                state="done",
                priority=0.0,
                cost_s=1.0,
                batch_key="b",
                problem_id=shape,
                protocol_id=uid("screen"),
                environment_id=self.environment.environment_id,
                attempts=1,
                max_attempts=3,
                alone=False,
                timeout_s=9.0,
                outcome="ok",
                updated_at=NOW,
            )
            self.add("run_job", run_id=self.run_id, job_id=job)
            self.add(
                "measurement",
                measurement_id=uid(f"m {self.n}"),
                problem_id=shape,
                solution_id=kernel,
                library_id=uid("stock"),
                environment_id=self.environment.environment_id,
                protocol_id=uid("screen"),
                job_id=job,
                outcome="ok",
                us=81.0,
                solution_index=index,
                workspace=4096,
            )
        self.add(
            "selection",
            run_id=self.run_id,
            problem_id=shape,
            **{"class": "kept" if kept else "small_gain"},
            reason="r",
            simulated=self.environment.simulated,
            rule="point",
            tuned_solution_id=kernel,
            us_reference=100.0,
            us_tuned=100.0 / ratio,
            ratio=ratio,
            ratio_low=low,
            ratio_high=high,
            log_ratio_se=None if low is None else 0.01,
            share_pct=share,
            decided_at=NOW,
        )
        return shape
