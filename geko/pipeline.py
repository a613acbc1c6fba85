"""The runs that people start: ``bench`` and ``search``.

A run plans its jobs with the statements of ``sql/queries/run``, waits for the runners, and lets the views of ``sql/views``
decide. Everything it does is keyed by content: the same command again goes on where it stopped, and a finished one
schedules nothing.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.identity import canonical_json, content_id
from geko.errors import GekoError, InputError, Interrupted, RunFailedError, UsageError
from geko.log import logger
from geko.runs import protocols
from geko.runs.options import RunOptions, Source
from geko.runs.sitting import new_workdir, require_writable, stop_signals
from geko.runs.source import LoadedWorkload, load_source

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.domain.protocol import Protocol
    from geko.library.model import LibraryCollection
    from geko.runs.setup import Ground, Library
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse

_EXPECTED_CANDIDATES = 200
_CHUNK = 8
#: What the runners of a run work on. Tuning jobs, which take hours and come several to a device, have runners of their own:
#: those that an interrupted run left are for that run to go on with.
_TIMED_KINDS = ("baseline", "screen", "confirm", "compare", "verify")


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        run_id: row of table ``run``.
        state: ``finished``, ``failed`` or ``interrupted``.
        workdir: folder of its files; None where none were asked for.
        table: the rows to show at its end.
        lines: closing lines: what was won, where things are, what to do next.
        exit_code: for the command line.
        n_scheduled: jobs that were new.
    """

    run_id: str
    state: str
    workdir: Path | None
    table: pa.Table
    lines: list[str] = field(default_factory=list)
    exit_code: int = 0
    n_scheduled: int = 0


def run_bench(
    db: str | Path | None,
    source: Source,
    options: RunOptions,
    *,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """Time the library's own choice for every problem of a workload.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        source: where the problems come from.
        options: options of the run.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.
    """
    return Run(db, "bench", source, options, anchor, verbose).execute()


def run_search(
    db: str | Path | None,
    source: Source,
    options: RunOptions,
    *,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """Find the fastest existing solution for every important problem of a workload, build the library of them, compare it
    with the reference, and export what was kept.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        source: where the problems come from.
        options: options of the run.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.
    """
    return Run(db, "search", source, options, anchor, verbose).execute()


@dataclass(slots=True)
class Run:
    """One invocation of a run; what tunes new kernels derives from it."""

    db: str | Path | None
    kind: str
    source: Source
    options: RunOptions
    anchor: Path | None
    verbose: int
    workdir: Path = field(init=False)
    _stop_requested: Callable[[], None] | None = field(init=False, default=None)
    _scratch: Path | None = field(init=False, default=None)

    def execute(self) -> RunResult:
        from geko.warehouse import Warehouse

        with Warehouse.open(self.db) as warehouse:
            arch = (
                self.options.simulate.arch
                if self.options.simulate is not None
                else self.options.extra.get("arch")
            )
            return self.execute_in(warehouse, load_source(warehouse, self.source, arch))

    def execute_in(self, warehouse: Warehouse, workload: LoadedWorkload) -> RunResult:
        """Run on a workload that is in an open warehouse."""
        logger.info(
            "workload %s: %d distinct GEMM(s), %d call(s)",
            workload.name,
            workload.n_problems,
            workload.n_calls,
        )
        self.workdir = (self.options.workdir or new_workdir()).absolute()
        self._check_workdir(warehouse, workload)
        from geko.runs.setup import prepare_ground

        ground = prepare_ground(warehouse, self.options, self.workdir, self.anchor)
        require_writable(self.workdir)
        run_id = self._start(warehouse, workload, ground)
        self._retry_failed(warehouse, run_id)
        try:
            with stop_signals() as stop_requested:
                self._stop_requested = stop_requested
                stages = self._stages(warehouse, run_id, ground, stop_requested)
                try:
                    result = self._stages_of_kind(warehouse, run_id, workload, ground, stages)
                finally:
                    stages.pool.stop()
                if self._scratch is not None and self.kind in ("bench", "search"):
                    # After an error the logs of the runners stay; what they ran is in the warehouse.
                    shutil.rmtree(self._scratch, ignore_errors=True)
                return result
        except (Interrupted, KeyboardInterrupt):
            self._end(warehouse, run_id, "interrupted", {})
            raise Interrupted(
                "interrupted; all results so far are kept, and the same command goes on where it stopped"
            ) from None
        except Exception as error:  # a full disk, too, ends a run
            with suppress(GekoError):  # the warehouse may lie on that disk
                self._end(warehouse, run_id, "failed", {"error": str(error)})
            raise

    def _check_workdir(self, warehouse: Warehouse, workload: LoadedWorkload) -> None:
        rows = warehouse.query(
            "run/workdir_runs", workdir=str(self.workdir), workload_id=workload.workload_id
        )
        others = rows["name"].to_pylist()
        if others:
            raise UsageError(
                f"{self.workdir} belongs to workload {others[0]!r}; give another --workdir, or the same input"
            )

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        return self._put_run(warehouse, workload, ground, self.options.kept_in_run(self.kind), "baseline")

    def _put_run(
        self,
        warehouse: Warehouse,
        workload: LoadedWorkload,
        ground: Ground | None,
        kept: dict[str, Any],
        stage: str,
        run_id: str | None = None,
    ) -> str:
        """Make the run's row, or start it again; returns its id, which follows from what it is of."""
        from geko.warehouse import Statement

        run_id = run_id or self._run_id(workload, ground, kept)
        simulated = self.options.simulate is not None if ground is None else ground.simulated
        warehouse.apply(
            Statement(
                "run/put_run",
                {
                    "run_id": run_id, "kind": self.kind, "label": workload.stem, "stage": stage,
                    "simulated": simulated, "workload_id": workload.workload_id,
                    "environment_id": None if ground is None else ground.environment_id,
                    "library_id": None if ground is None else ground.reference.library_id,
                    "options": canonical_json(
                        {
                            **kept, "input": str(workload.input_path or workload.name),
                            "input_sha256": workload.input_sha256,
                        }
                    ),
                    "workdir": str(self.workdir), "pid": os.getpid(), "host": socket.gethostname(), "now": warehouse.now(),
                },
            ),
            Statement("run/put_run_problems", {"run_id": run_id, "workload_id": workload.workload_id}),
        )  # fmt: skip
        times = (
            "" if ground is None else " (simulated)" if simulated else " (measured)"
        )  # without a device nothing is timed
        logger.info("run %s in %s%s", run_id[:8], warehouse.path, times)
        return run_id

    def _run_id(self, workload: LoadedWorkload, ground: Ground | None, kept: dict[str, Any]) -> str:
        return content_id(
            "run",
            {
                "kind": self.kind, "workload": workload.digest,
                "environment": None if ground is None else ground.environment_id,
                "library": None if ground is None else ground.reference.library_id, "options": canonical_json(kept),
            },
        )  # fmt: skip

    def _retry_failed(self, warehouse: Warehouse, run_id: str) -> None:
        """A run that ended with an error goes on with what failed: the cause may be gone."""
        from geko.warehouse import queue

        error = warehouse.query("run/last_error", run_id=run_id)["error"][0].as_py()
        if error is None or self.kind not in ("bench", "search"):
            return
        n_jobs = queue.retry(warehouse, run_id=run_id)
        if n_jobs:
            logger.info("%d job(s) that failed before are tried again", n_jobs)

    def _stages(self, warehouse: Warehouse, run_id: str, ground: Ground, stop_requested: Any) -> Stages:
        from geko.runners.pool import RunnerPool
        from geko.runs.stages import Stages
        from geko.warehouse.place import make_private_folder

        base = Path(tempfile.gettempdir()) / f"geko-{os.getuid()}"
        make_private_folder(base)
        self._scratch = scratch = base / run_id[:13]
        pool = RunnerPool(
            warehouse.path, ground.slots, scratch, kinds=_TIMED_KINDS, simulated=ground.simulated,
            stall_s=self.options.stall_timeout or None, verbose=self.verbose,
        )  # fmt: skip
        return Stages(
            warehouse, run_id, pool, warehouse.now(), self.options.abort_after, self.verbose, stop_requested
        )

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        if self.kind == "bench":
            return self._bench(warehouse, run_id, ground, stages)
        return self._search(warehouse, run_id, ground, stages)

    def _bench(self, warehouse: Warehouse, run_id: str, ground: Ground, stages: Stages) -> RunResult:
        options = self.options
        self._baseline(warehouse, ground, stages, protocols.probe(options), "probe", None)
        self._baseline(
            warehouse,
            ground,
            stages,
            protocols.timed_baseline(options),
            "benchmark",
            options.benchmark_duration,
        )
        self._require_baseline(warehouse, run_id)
        self._keep(warehouse, run_id)
        return self._finish(warehouse, run_id, ground, stages, "export/bench_table")

    def _search(self, warehouse: Warehouse, run_id: str, ground: Ground, stages: Stages) -> RunResult:
        options = self.options
        if ground.reference.match_table is None:
            raise InputError(
                "the library has no MatchTable.yaml beside it, so that its solutions could be timed but not exported; "
                "build it with --custom-lib-src LOGIC_DIR",
                path=ground.reference.libpath or "stock library",
            )
        self._baseline(warehouse, ground, stages, protocols.baseline(options), "baseline", None)
        if options.max_workspace is not None:
            # Shapes without a solution: is it the limit?
            unlimited = self._plan(warehouse, ground, protocols.unlimited(options))
            stages.run("unlimited", "baseline", "plan_unlimited", unlimited)
        self._require_baseline(warehouse, run_id)
        n_kept = self._keep(warehouse, run_id)
        if not n_kept:
            logger.warning(
                "no GEMM reaches --keep-thr %g %% of the workload's time; nothing to search (lower --keep-thr)",
                options.effective_keep_thr(self.kind),
            )
            return self._finish(warehouse, run_id, ground, stages, "export/uplift_table")
        screen = protocols.screen(options)
        stages.run(
            "search", "screen", "plan_screen",
            self._plan(warehouse, ground, screen)
            | {"duration_s": options.duration, "expected_candidates": _EXPECTED_CANDIDATES},
        )  # fmt: skip
        if options.rule == "interval":
            from geko.runs.confirm import confirm, qualify

            qualify(stages, self._plan(warehouse, ground, protocols.qualify(options)), options, _CHUNK)
            plan = self._plan(warehouse, ground, protocols.confirm(options))
            confirm(warehouse, run_id, stages, plan, options, ground.reference, _CHUNK)
        tuned = self._build(warehouse, run_id, ground)
        if tuned is not None:
            self._compare(warehouse, ground, stages, tuned)
        return self._finish(warehouse, run_id, ground, stages, "export/uplift_table")

    def _compare(self, warehouse: Warehouse, ground: Ground, stages: Stages, tuned: Library) -> None:
        """Rounds of the reference and the tuned library, then a check of the tuned one's results."""
        options = self.options
        both = {"tuned_library_id": tuned.library_id, "tuned_libpath": tuned.libpath}
        if options.rule == "interval" and self.kind != "search":
            from geko.runs.confirm import confirm

            plan = self._plan(warehouse, ground, protocols.confirm(options, by_index=False))
            confirm(warehouse, stages.run_id, stages, plan, options, tuned, _CHUNK, whole=True)
        else:
            stages.run(
                "compare", "compare", "plan_compare",
                self._plan(warehouse, ground, protocols.compare(options)) | both
                | {
                    "duration_s": options.compare_duration, "rounds": options.effective_rounds, "chunk": _CHUNK,
                    "guarded_run_id": None,
                },
            )  # fmt: skip
        if self.kind == "tune":
            # Where the reference has no solution there is nothing to pair with: the tuned library is timed alone.
            plan = self._plan(warehouse, ground, protocols.compare(options)) | both | {
                "duration_s": options.compare_duration, "rounds": options.effective_rounds, "chunk": _CHUNK,
                "guarded_run_id": None,
            }  # fmt: skip
            self._new_solutions(stages, plan)
        if options.verify:
            plan = self._plan(warehouse, ground, protocols.verify(options)) | both
            for unused in ("library_id", "libpath", "iters", "cold_iters"):
                del plan[unused]
            stages.run("verify", "verify", "plan_verify", plan)

    def _new_solutions(self, stages: Stages, plan: dict[str, Any]) -> None:
        """Time the tuned library alone where the reference has no solution; the plan is that of a comparison."""
        plan = {key: value for key, value in plan.items() if key not in ("library_id", "libpath")}
        stages.run("new solutions", "compare", "plan_new_solutions", plan)

    def _plan(self, warehouse: Warehouse, ground: Ground, protocol: Protocol) -> dict[str, Any]:
        import pyarrow as pa

        from geko.warehouse import Statement

        warehouse.apply(
            Statement("ingest/put_protocol", {}, {"rows": pa.Table.from_pylist([protocol.row()])}),
            repeatable=True,
        )
        env = {"HIPBLASLT_BENCH_FREQ": "true"} if self.options.bench_freq else {}
        return {
            "library_id": ground.reference.library_id, "libpath": ground.reference.libpath,
            "protocol_id": protocol.protocol_id, "environment_id": ground.environment_id,
            "priority": 0.0, "max_attempts": self.options.max_attempts, "timeout_s": self.options.job_timeout,
            "root": str(ground.root.path), "settings": protocols.bench_settings(protocol), "env": canonical_json(env),
            "iters": protocol.iters or protocols.ITERS, "cold_iters": protocol.cold_iters or protocols.COLD_ITERS,
        }  # fmt: skip

    def _baseline(
        self,
        warehouse: Warehouse,
        ground: Ground,
        stages: Stages,
        protocol: Protocol,
        stage: str,
        duration: float | None,
    ) -> None:
        plan = self._plan(warehouse, ground, protocol)
        if protocol.cold_iters is not None:
            plan["cold_iters"] = protocol.cold_iters
        stages.run(stage, "baseline", "plan_baseline", plan | {"duration_s": duration or 0.0})

    def _require_baseline(self, warehouse: Warehouse, run_id: str) -> None:
        table = warehouse.query("run/baseline_count", run_id=run_id).to_pylist()[0]
        if not table["n_timed"]:
            raise RunFailedError(
                f"All benchmarks failed! None of the {table['n_problems']} GEMMs could be timed: "
                f'{table["outcomes"] or "no outcome recorded"}; see `geko jobs list` and `geko sql "FROM job_attempt"`'
            )
        missing = table["n_problems"] - table["n_timed"]
        if missing:
            logger.warning(
                "%d of %d GEMMs have no baseline: %s", missing, table["n_problems"], table["outcomes"]
            )

    def _keep(self, warehouse: Warehouse, run_id: str) -> int:
        from geko.warehouse import Statement

        threshold = self.options.effective_keep_thr(self.kind)
        warehouse.apply(
            Statement(
                "run/keep_above",
                {
                    "run_id": run_id,
                    "keep_thr": threshold,
                    "keep_new": self.kind in ("configure", "tune"),
                },
            ),
            repeatable=True,
        )
        row = warehouse.query("run/kept_count", run_id=run_id).to_pylist()[0]
        logger.info(
            "%d of %d GEMMs make at least %g %% of the time each (%.1f %% together)",
            row["n_kept"] - row["n_new"], row["n_problems"], threshold, row["share_pct"] or 0.0,
        )  # fmt: skip
        if row["n_new"]:
            logger.info(
                "%d GEMMs have no solution in the reference library and so no share of the time: they count as important",
                row["n_new"],
            )
        return int(row["n_kept"])

    def _build(self, warehouse: Warehouse, run_id: str, ground: Ground) -> Library | None:
        """Build the library of all winners; None when there is no winner."""
        from geko.export.logic import extract_library
        from geko.warehouse import Statement

        warehouse.apply(Statement("run/set_stage", {"run_id": run_id, "stage": "build"}), repeatable=True)
        collection = extract_library(warehouse, run_id, ground.reference, kept_only=False)
        return None if collection is None else self._built(warehouse, run_id, ground, collection)

    def _built(
        self, warehouse: Warehouse, run_id: str, ground: Ground, collection: LibraryCollection
    ) -> Library:
        """Write libraries to ``libs/`` and build them, unless ``tensile/`` is their build."""
        from geko.library.build import built, create
        from geko.runs.setup import built_library_id, know_library
        from geko.warehouse import Statement

        libs = self.workdir / "libs"
        written = set(collection.dump(libs))
        # All of the folder is built, so nothing of an earlier run may stay in it.
        for path in sorted(set(libs.glob("*.yaml")) - written):
            path.unlink()
        target = self.workdir / "tensile"
        known = warehouse.query("run/tuned_library", run_id=run_id)["library_id"][0].as_py()
        build = built(target, libs)
        if build is None or known is None or built_library_id(build.code_dir, build.match_table) != known:
            build = create(ground.root.path, libs, target, stop_requested=self._stop_requested)
        tuned = know_library(
            warehouse, build.code_dir, build.match_table, ground.arch, self.kind, libs, str(build.code_dir)
        )
        warehouse.apply(
            Statement("run/set_tuned_library", {"run_id": run_id, "library_id": tuned.library_id}),
            repeatable=True,
        )
        return tuned

    def _finish(
        self, warehouse: Warehouse, run_id: str, ground: Ground, stages: Stages, table: str
    ) -> RunResult:
        from geko.export.closing import closing_lines
        from geko.export.tables import metrics_text
        from geko.export.workdir import export_workdir
        from geko.warehouse import Statement

        if self.kind != "bench":
            warehouse.apply(
                Statement("run/clear_decision", {"run_id": run_id}),
                Statement("run/decide", {"run_id": run_id, "now": warehouse.now()}),
            )
        rows = warehouse.query(table, run_id=run_id)
        metrics = None if self.kind == "bench" else metrics_text(warehouse, run_id)
        lines = closing_lines(warehouse, run_id, ground, self.workdir, metrics)
        self._end(warehouse, run_id, "finished", {"lines": lines, "n_scheduled": stages.n_scheduled})
        export_workdir(warehouse, run_id, self.workdir, ground.reference, metrics)
        return RunResult(run_id, "finished", self.workdir, rows, lines, 0, stages.n_scheduled)

    def _end(self, warehouse: Warehouse, run_id: str, state: str, summary: dict[str, Any]) -> None:
        from geko.warehouse import Statement

        warehouse.apply(
            Statement(
                "run/end_run",
                {
                    "run_id": run_id,
                    "state": state,
                    "summary": canonical_json(summary),
                    "now": warehouse.now(),
                },
            ),
            repeatable=True,
        )


def __getattr__(name: str) -> Any:
    """``run_configure``, ``run_optimize`` and ``run_tune`` stand in a module of their own."""
    if name in ("run_configure", "run_optimize", "run_tune"):
        from geko import tuning_pipeline

        return getattr(tuning_pipeline, name)
    raise AttributeError(f"module 'geko.pipeline' has no attribute {name!r}")
