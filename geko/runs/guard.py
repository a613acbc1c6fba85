"""After deployment: the library before and the deployed one, over every shape of a run, in alternating rounds.

Tuned shapes must use their kernels; of all others it is shown that nothing changed. View ``run_guard`` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import UsageError
from geko.hipblaslt import is_built_library, library_path
from geko.pipeline import Run, RunResult
from geko.runs import protocols

if TYPE_CHECKING:
    from geko.runs.options import RunOptions
    from geko.runs.setup import Ground, Library
    from geko.runs.source import LoadedWorkload
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse

_CHUNK = 8


def guard(
    db: str | Path | None,
    run: str | None,
    deployed: Path,
    options: RunOptions,
    *,
    threshold: float = 1.03,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """Compare the library before with the deployed one on all shapes of a run.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        run: start of the id of the run whose winners were deployed, or its label; None for the last that finished.
        deployed: a built library (the folder with ``TensileLibrary*.dat``), or a folder of library logic, which is built.
        options: devices, rounds and durations; ``custom_lib_dir`` or ``custom_lib_src`` name the library before, else it is
            the stock library of the checkout.
        threshold: ratio up to which two times count as the same.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.

    Returns:
        Every shape; exit code 1 when one that was not tuned is slower, or a tuned one doesn't use its kernel.

    Raises:
        UsageError: no such run, no verdicts in it, or the library before is the deployed one.
    """
    from geko.export import resolve_run
    from geko.runs.options import Source
    from geko.warehouse import Warehouse

    if threshold <= 1:
        raise UsageError(f"--threshold is a ratio above 1, not {threshold:g}")
    with Warehouse.open(db) as warehouse:
        (guarded,) = warehouse.query("run/guarded", run_id=resolve_run(warehouse, run)).to_pylist()
        if not guarded["n_decided"]:
            raise UsageError(
                f"run {guarded['run_id'][:8]} decided nothing: guard a search or a tuning (`geko runs`)"
            )
        if guarded["simulated"] != (options.simulate is not None):
            what = "simulated: give --simulate" if guarded["simulated"] else "measured: leave out --simulate"
            raise UsageError(f"run {guarded['run_id'][:8]} is {what}")
    source = Source("workload", name=guarded["workload"])
    return _Guard(
        db, "guard", source, options, anchor, verbose, guarded=guarded, deployed=deployed, threshold=threshold
    ).execute()


@dataclass(slots=True)
class _Guard(Run):
    guarded: dict[str, Any] = field(default_factory=dict)
    deployed: Path = Path()
    threshold: float = 1.03
    _tuned: Library = field(init=False)

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        # The folder of another run must stay as it is.
        tuned = self._library(warehouse, ground)
        if tuned.library_id == ground.reference.library_id:
            raise UsageError(
                f"{self.deployed} holds the same library as the one before; name that with --custom-lib-dir (a copy of the "
                "library folder from before the rebuild)"
            )
        kept = self.options.kept_in_run("guard") | {
            "guarded_run": self.guarded["run_id"], "threshold": self.threshold, "rounds": self._rounds,
            "compare_duration": self.options.compare_duration, "deployed": tuned.library_id,
        }  # fmt: skip
        run_id = self._put_run(warehouse, workload, ground, kept, "compare")
        from geko.warehouse import Statement

        warehouse.apply(
            Statement("run/set_tuned_library", {"run_id": run_id, "library_id": tuned.library_id}),
            repeatable=True,
        )
        self._tuned = tuned
        return run_id

    @property
    def _rounds(self) -> int:
        return self.options.rounds or 6

    def _library(self, warehouse: Warehouse, ground: Ground) -> Library:
        from geko.library.build import create
        from geko.runs.setup import know_library, table_beside

        if is_built_library(self.deployed):
            folder, table, logic = library_path(self.deployed), table_beside(self.deployed), None
        else:
            build = create(ground.root.path, self.deployed, self.workdir / "deployed")
            folder, table, logic = build.code_dir, build.match_table, self.deployed
        return know_library(warehouse, folder, table, ground.arch, "deployed", logic, str(folder))

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        plan = self._plan(warehouse, ground, protocols.compare(self.options)) | {
            "tuned_library_id": self._tuned.library_id, "tuned_libpath": self._tuned.libpath,
            "duration_s": self.options.compare_duration, "rounds": self._rounds, "chunk": _CHUNK,
            "guarded_run_id": self.guarded["run_id"],
        }  # fmt: skip
        stages.run("compare", "compare", "plan_compare", plan)
        self._new_solutions(stages, plan)
        rows = warehouse.query("export/guard_table", run_id=run_id)
        counts = warehouse.query("export/guard_counts", run_id=run_id).to_pylist()[0]
        lines = _lines(counts, "simulated" if ground.simulated else "measured", self.threshold)
        self._end(warehouse, run_id, "finished", {"lines": lines, "n_scheduled": stages.n_scheduled})
        bad = counts["n_slower"] + counts["n_not_applied"]
        return RunResult(run_id, "finished", None, rows, lines, 1 if bad else 0, stages.n_scheduled)


def _lines(counts: dict[str, int], word: str, threshold: float) -> list[str]:
    lines = [
        f"{counts['n_unchanged']} of {counts['n_untuned']} GEMMs that were not tuned are unchanged ({word}; same time: "
        f"within a ratio of {threshold:g}): {counts['n_slower']} slower, {counts['n_faster']} faster, "
        f"{counts['n_undecided']} undecided, {counts['n_not_compared']} without a time",
        f"{counts['n_applied']} of {counts['n_tuned']} tuned GEMMs use their kernels",
    ]
    if counts["n_other_kernel"]:
        lines.append(f"{counts['n_other_kernel']} of the unchanged ones use another kernel than before")
    return lines
