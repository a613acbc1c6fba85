"""The last lines of a run: what was won, where things are, and the exact next commands."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geko.runs.setup import Ground
    from geko.warehouse import Warehouse


def closing_lines(
    warehouse: Warehouse, run_id: str, ground: Ground, workdir: Path, document: str | None
) -> list[str]:
    """Lines for the end of a run; the document is its ``metrics.json``, which a bench has none of."""
    word = "simulated" if ground.simulated else "measured"
    from geko.export.partition import partition_cus

    lines = []
    if document is not None:
        metrics = json.loads(document)
        lines += _uplift_lines(metrics, word)
        lines += _new_lines(warehouse, run_id, word)
        if metrics["counts"]["n_kept"] or metrics["counts"].get("n_new_solutions"):
            run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
            cus = partition_cus(warehouse, run_id)
            lines += _next_commands(ground, workdir, run["label"], cus)
    lines.append(f"Run {run_id[:8]} ({word} times) is in {warehouse.path}; files are in {workdir}")
    return lines


def _uplift_lines(metrics: dict[str, dict[str, float]], word: str) -> list[str]:
    n_kept = metrics["counts"]["n_kept"]
    if not n_kept:
        return ["No kernels improve over the base library"]
    kept, whole = metrics["uplift_kept"], metrics["e2e"]
    lines = [
        f"Average GEMM uplift of {kept['mean_uplift_pct']:.4f}% (geomean {kept['geomean_uplift_pct']:.4f}%) "
        f"for a total of {n_kept} kept GEMMs ({word})"
    ]
    if whole.get("e2e_speedup"):
        lines.append(
            f"The workload's GEMM time falls by {whole['e2e_uplift_pct']:.2f}%, "
            f"a speed-up of {whole['e2e_speedup']:.4f}{_between(whole)} ({word}); "
            f"kept GEMMs cover {whole['coverage_pct']:.1f}% of it"
        )
    if not metrics["config"]["verify"]:
        lines.append("The results of the kept kernels were NOT checked (--no-verify)")
    return lines


def _new_lines(warehouse: Warehouse, run_id: str, word: str) -> list[str]:
    found = warehouse.query("run/new_count", run_id=run_id).to_pylist()[0]
    if not found["n"]:
        return []
    unchecked = " Their results were NOT checked (--no-verify)." if found["n_unchecked"] else ""
    return [
        f"{found['n']} GEMM(s) that the reference library has no solution for have a new kernel ({word}): they are in the "
        f"kept library, too, and count in no figure of uplift (results/new_solutions.csv).{unchecked}"
    ]


def _between(whole: dict[str, float]) -> str:
    low, high = whole.get("e2e_speedup_low"), whole.get("e2e_speedup_high")
    return "" if low is None or high is None else f", 95 % interval {low:.4f} to {high:.4f}"


def _next_commands(ground: Ground, workdir: Path, label: str, cus: int | None) -> list[str]:
    from geko.domain.arch import get_arch

    root = ground.root.path
    schedule = get_arch(ground.arch).schedule_name
    base = (
        ground.root.logic_dir(schedule)
        or root / "library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full" / schedule
    )
    logic = ground.root.logic_dir(schedule, "Equality") or base / "Equality"
    if cus is not None:
        # Logic for a part of the chip lies in a folder of its own, beside that of the full one, under equal file names.
        logic = base / f"{ground.arch}_{cus}cu" / "Equality"
    merge = shlex.join(
        [
            str(ground.root.tensile_program("TensileMergeLibrary")), "--no_eff", "--force_merge", "True",
            str(logic), str(workdir / "final_libs"), str(logic),
        ]
    )  # fmt: skip
    if not logic.is_dir():
        folder = shlex.quote(str(logic))
        merge = f"mkdir -p {folder} && cp {shlex.quote(str(workdir / 'final_libs'))}/*.yaml {folder}"
    devices = ",".join(str(slot.ordinal) for slot in ground.slots)
    verify = ["geko", "bench", "--workload-log", str(workdir / f"{label}.yaml"), "-d", devices]
    # A simulated checkout isn't found by path: its times need the word.
    chip = ground.arch if cus is None else f"{ground.arch}_{cus}cu"
    verify += ["--simulate", "--arch", chip] if ground.simulated else ["--hipblaslt", str(root)]
    return [
        f"Kept solutions are in {workdir / 'final_libs'}. Next:",
        f"  1. merge:    {merge}",
        f"  2. rebuild:  cd {shlex.quote(str(root))} && invoke build --clients --architecture {ground.arch}",
        f"  3. verify:   {shlex.join(verify)}",
    ]
