"""A hand-made run under rule ``interval``: shapes with confirmed candidates, one look at a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.warehouse import Append, Statement
from geko.warehouse.scratch import Scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = (
    "environment", "protocol", "run", "problem", "run_problem", "job", "job_spec", "run_job", "measurement", "validation",
    "confirmation", "selection", "library_solution", "tuning_config_problem", "tuning_job", "tuning_output",
)  # fmt: skip
OPTIONS = {
    "keep_thr": 0.1, "up_thr": 1.03, "err_thr": 0.03, "verify": True, "rule": "interval", "confirm_budget": 30.0,
}  # fmt: skip
#: Six times with a spread of about 1 %.
SIX = (0.990, 1.012, 1.003, 0.995, 1.008, 0.992)


def uid(name: str) -> str:
    return content_id("test", name)


class Bench:
    """A run whose evidence is written by hand."""

    def __init__(self, scratch: Scratch, kind: str = "search", **options: Any) -> None:
        self.scratch = scratch
        for table in TABLES:
            scratch.execute(f"DELETE FROM {table}")
        self.n = 0
        self.add(
            "environment",
            environment_id=uid("env"),
            simulated=False,
            gfx="gfx942:x",
            identity="{}",
            first_seen=NOW,
        )
        for role in ("baseline", "screen", "tune", "qualify", "confirm", "compare", "verify", "unlimited"):
            self.add("protocol", protocol_id=uid(role), harness="hipblaslt-bench", role=role, settings="{}")
        self.add(
            "run", run_id=uid("run"), kind=kind, label="w", state="running", simulated=False, environment_id=uid("env"),
            library_id=uid("stock"), tuned_library_id=uid("tuned"), n_starts=1, options=json.dumps(OPTIONS | options),
            started_at=NOW,
        )  # fmt: skip

    def add(self, table: str, *rows: dict[str, Any], **row: Any) -> None:
        self.scratch.apply(Append(table, pa.Table.from_pylist([*rows, row] if row else list(rows))))

    def shape(self, calls: int = 1, us: float | None = 100.0, kept: bool | None = True) -> str:
        self.n += 1
        problem = Problem("T", "N", 64 * self.n, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
        row = {name: getattr(problem, name) for name in PROBLEM_FIELDS if getattr(problem, name) is not None}
        self.add("problem", problem_id=problem.problem_id, **row)
        common = {"run_id": uid("run"), "problem_id": problem.problem_id}
        self.add("run_problem", **common, seq=self.n, call_count=calls, kept=kept)
        if us is not None:
            self.job(f"baseline {self.n}", "baseline")
            self.sample(problem.problem_id, f"baseline {self.n}", "baseline", us, 0)
        return problem.problem_id

    def job(
        self, name: str, kind: str, outcome: str = "ok", state: str = "done", library: str = "stock"
    ) -> str:
        self.add(
            "job", job_id=uid(name), kind=kind, state=state, priority=0.0, cost_s=1.0, batch_key="b",
            library_id=uid(library), protocol_id=uid(kind), environment_id=uid("env"), attempts=1,
            max_attempts=3, alone=False, timeout_s=9.0,
            outcome=outcome, updated_at=NOW,
        )  # fmt: skip
        self.add("run_job", run_id=uid("run"), job_id=uid(name))
        return uid(name)

    def add_failed(self, shape: str, kind: str, outcome: str, state: str = "done") -> None:
        """A job of one shape that gave no result."""
        name = f"failed {kind} {shape}"
        self.job(name, kind, outcome, state)
        self.scratch.execute(f"UPDATE job SET problem_id = '{shape}' WHERE job_id = '{uid(name)}'")

    def sample(self, shape: str, job: str, role: str, us: float, kernel: int, **more: Any) -> None:
        self.add("measurement", **self._sample(shape, job, role, us, kernel, **more))

    def _sample(self, shape: str, job: str, role: str, us: float, kernel: int, **more: Any) -> dict[str, Any]:
        return {
            "measurement_id": uid(f"{job} {shape} {us} {kernel} {more}"), "problem_id": shape,
            "solution_id": uid(f"kernel {kernel}"), "solution_index": kernel, "library_id": uid("stock"),
            "environment_id": uid("env"), "protocol_id": uid(role), "job_id": uid(job), "attempt": 1,
            "outcome": "ok", "us": us, "iters": 1000, "cold_iters": 1000,
        } | more  # fmt: skip

    def screen(self, shape: str, *times: float) -> None:
        """Times of solutions 0 (the stock choice), 1, 2, ... in the dense search."""
        self.job(f"screen {shape}", "screen")
        for kernel, us in enumerate(times):
            self.sample(shape, f"screen {shape}", "screen", us, kernel)

    def no_stock(self, kernel: int | None = 7) -> str:
        """A shape that the stock library has no solution for; with a kernel, tuning made one."""
        shape = self.shape(us=None)
        self.add_failed(shape, "baseline", "no_solution")
        if kernel is not None:
            self.tuned(shape)
            self.sample(shape, f"tune {shape}", "tune", 80.0, kernel)
        return shape

    def tuned(self, shape: str) -> None:
        """A tuning job for a shape, which left library logic."""
        job, config = f"tune {shape}", uid(f"config {shape}")
        self.job(job, "tune")
        self.add("tuning_job", job_id=uid(job), config_id=config)
        self.add("tuning_config_problem", config_id=config, problem_id=shape, seq=0)
        self.add("tuning_output", job_id=uid(job), attempt=1, path="3_LibraryLogic/a.yaml", content="x")

    def timed_alone(self, shape: str, kernel: int, us: float = 90.0, outcome: str = "ok") -> None:
        """One round of the tuned library, without the reference."""
        job = f"new {shape}"
        self.job(job, "compare", library="tuned")
        place = {"block_id": uid(job), "round": 0, "arm": "tuned", "outcome": outcome}
        self.sample(shape, job, "compare", us, kernel, **place)

    def look(
        self,
        shape: str,
        nr: int,
        ratios: dict[int, list[float]],
        reference: float = 100.0,
        library: str = "stock",
    ) -> None:
        """One confirmation job: for each candidate its pairs' ratios."""
        job = f"look {nr} {shape}"
        self.job(job, "confirm", library=library)
        n = max(len(values) for values in ratios.values())
        place = {"block_id": uid(job)}
        rows = [
            self._sample(shape, job, "confirm", reference, 0, arm="reference", round=number, **place)
            for number in range(n)
        ]
        for kernel, values in ratios.items():
            rows += [
                self._sample(
                    shape, job, "confirm", reference / ratio, kernel, arm="candidate", round=number, **place
                )
                for number, ratio in enumerate(values)
            ]
        self.add("measurement", *rows)

    def qualified(self, shape: str, ratios: dict[int, float]) -> None:
        """Two rounds in which the fastest of the search were timed again beside the stock choice."""
        job = uid(f"qualify {shape}")
        self.job(f"qualify {shape}", "screen")
        for number in range(2):
            for kernel, ratio in ({0: 1.0} | ratios).items():
                self.sample(
                    shape, f"qualify {shape}", "qualify", (100.0 + number) / ratio, kernel, block_id=job, round=number,
                    arm="candidate" if kernel else "reference",
                )  # fmt: skip

    def compared(self, shape: str, kernel: int, us: float = 90.0) -> None:
        """Two rounds of stock and tuned library, which chose this kernel."""
        job = f"compare {shape}"
        self.job(job, "compare", library="tuned")
        place = {"block_id": uid(job)}
        for number in range(2):
            self.sample(shape, job, "compare", 100.0 + number, 0, arm="reference", round=number, **place)
            self.sample(shape, job, "compare", us + number, kernel, arm="tuned", round=number, **place)

    def checked(
        self, shape: str, outcome: str = "passed", error: float = 0.001, kernel: int | None = None
    ) -> None:
        self.job(f"verify {shape}", "verify", library="tuned")
        self.add(
            "validation", validation_id=uid(f"check {shape}"), problem_id=shape, library_id=uid("tuned"),
            environment_id=uid("env"), protocol_id=uid("verify"), job_id=uid(f"verify {shape}"), outcome=outcome,
            norm_error=error, solution_id=None if kernel is None else uid(f"kernel {kernel}"),
        )  # fmt: skip

    def judge(self) -> None:
        self.scratch.apply(
            Statement("run/clear_confirmation", {"run_id": uid("run")}),
            Statement("run/judge_confirmation", {"run_id": uid("run"), "now": NOW}),
        )

    def decide(self) -> None:
        self.scratch.apply(
            Statement("run/clear_decision", {"run_id": uid("run")}),
            Statement("run/decide", {"run_id": uid("run"), "now": NOW}),
        )

    def rows(self, text: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.scratch.sql(text).to_pylist()
        return found

    def candidates(self, shape: str) -> dict[int, dict[str, Any]]:
        """Rows of table ``confirmation`` by solution index."""
        rows = self.rows(f"FROM confirmation WHERE problem_id = '{shape}'")
        return {row["solution_index"]: row for row in rows}

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """Class and reason of every shape, which the view gives exactly once."""
        rows = self.rows("SELECT problem_id::VARCHAR AS problem_id, class, reason FROM run_decision")
        assert len(rows) == self.n
        return {row["problem_id"]: (row["class"], row["reason"]) for row in rows}

    def verdict(self, shape: str) -> tuple[str, str]:
        (row,) = self.rows(f"SELECT class, reason FROM run_decision WHERE problem_id = '{shape}'")
        return row["class"], row["reason"]

    def plan_qualify(self, **changed: Any) -> list[dict[str, Any]]:
        """Specs of the jobs that time the fastest of the search again."""
        params = {
            "run_id": uid("run"), "library_id": uid("stock"), "libpath": None, "protocol_id": uid("qualify"),
            "environment_id": uid("env"), "priority": 0.0, "max_attempts": 1, "timeout_s": 9.0, "root": "/",
            "settings": "{}", "env": "{}", "iters": 100, "cold_iters": 20, "duration_s": 0.04, "n_candidates": 4,
            "n_qualify": 32, "rounds": 2, "chunk": 8,
        } | changed  # fmt: skip
        return [
            json.loads(text)
            for text in self.scratch.query("run/plan_qualify", None, **params)["spec"].to_pylist()
        ]

    def plan(self, look: int, **changed: Any) -> list[dict[str, Any]]:
        """Specs of the jobs of a look."""
        params = {
            "run_id": uid("run"), "library_id": uid("stock"), "libpath": None, "candidate_library_id": uid("stock"),
            "candidate_libpath": None, "protocol_id": uid("confirm"), "environment_id": uid("env"), "priority": 0.0,
            "max_attempts": 1, "timeout_s": 9.0, "root": "/", "settings": "{}", "env": "{}", "iters": 100, "cold_iters": 20,
            "duration_s": 0.1, "n_candidates": 4, "shape_budget_s": 30.0, "run_budget_s": 1e9, "chunk": 8, "look": look,
        } | changed  # fmt: skip
        table = self.scratch.query("run/plan_confirm", None, **params)
        return [json.loads(text) for text in table["spec"].to_pylist()]
