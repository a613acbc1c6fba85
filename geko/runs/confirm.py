"""Confirmation: the best candidates of a shape and its baseline in alternating rounds, until the rule can decide.

What is looked at next, what it may cost and what it proves stands in SQL (``run/plan_confirm``, ``run_confirm_candidate``);
this is only the loop around it. docs/verdicts.md describes the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geko.log import logger
from geko.warehouse import Statement

if TYPE_CHECKING:
    from geko.runs.options import RunOptions
    from geko.runs.setup import Library
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse

#: Pairs double from look to look, so that no budget allows more of them.
MAX_LOOKS = 16


#: So many of the fastest solutions of the dense search are timed again, so often. A kernel that is 10 % faster than 300
#: equal ones is one of the fastest 4 in some 82 % of searches with 3 % noise, and one of the fastest 32 in 96 %.
N_QUALIFY, QUALIFY_ROUNDS = 32, 2


def qualify(stages: Stages, plan: Mapping[str, Any], options: RunOptions, chunk: int) -> None:
    """Time the fastest solutions of the dense search again, for shapes that have more of them than are confirmed.

    Args:
        stages: runs the jobs.
        plan: parameters of plans, with the reference library and the protocol of qualifying.
        options: options of the run.
        chunk: shapes per job.
    """
    params = {
        **plan, "duration_s": options.duration, "n_candidates": options.confirm_candidates, "n_qualify": N_QUALIFY,
        "rounds": QUALIFY_ROUNDS, "chunk": chunk,
    }  # fmt: skip
    stages.run("qualify", "screen", "plan_qualify", params)


def confirm(
    warehouse: Warehouse,
    run_id: str,
    stages: Stages,
    plan: Mapping[str, Any],
    options: RunOptions,
    candidates_of: Library,
    chunk: int,
    *,
    whole: bool = False,
) -> None:
    """Take looks at the candidates of a run while there is something to decide and budget left.

    Args:
        warehouse: the warehouse.
        run_id: the run.
        stages: runs the jobs.
        plan: parameters of plans, with the reference library and the protocol of the confirmation.
        options: options of the run.
        candidates_of: the library whose solution indices the candidates are.
        chunk: shapes per job.
        whole: the library as a whole is the one candidate: it chooses the kernels itself.
    """
    statement = "plan_confirm_library" if whole else "plan_confirm"
    params = {
        **plan,
        "candidate_library_id": candidates_of.library_id,
        "candidate_libpath": candidates_of.libpath,
        "duration_s": options.compare_duration,
        "shape_budget_s": options.confirm_budget,
        "run_budget_s": options.confirm_run_budget,
        "chunk": chunk,
    }
    if not whole:
        params["n_candidates"] = options.confirm_candidates
    look: int | None = 1
    while look is not None and look <= MAX_LOOKS:
        stages.run("confirm", "confirm", statement, params | {"look": look})
        judge(warehouse, run_id)
        # A run that goes on where it stopped has shapes that are further already.
        look = warehouse.query("run/next_look", run_id=run_id, look=look)["look"][0].as_py()
    for row in warehouse.query("run/confirm_counts", run_id=run_id).to_pylist():
        logger.info(
            "confirmed: %d shape(s) kept, %d rejected, %d undecided; %d pairs in %.0f s of device time",
            row["n_kept"], row["n_rejected"], row["n_open"], row["n_pairs"], row["spent_s"],
        )  # fmt: skip


def judge(warehouse: Warehouse, run_id: str) -> None:
    """Judge all candidates of a run by the pairs that are there."""
    warehouse.apply(
        Statement("run/clear_confirmation", {"run_id": run_id}),
        Statement("run/judge_confirmation", {"run_id": run_id, "now": warehouse.now()}),
    )
