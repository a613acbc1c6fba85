"""Runs of given hipblaslt-bench rows, exactly as they stand, for the Python API."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.identity import canonical_json, content_id
from geko.domain.protocol import Protocol
from geko.errors import InputError, RunFailedError
from geko.log import logger
from geko.pipeline import Run, RunResult
from geko.runs.options import RunOptions, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.runs.setup import Ground
    from geko.runs.source import LoadedWorkload
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse

_EXPECTED_CANDIDATES = 200
#: Settings of a row that change what its time means and have no column of their own in the protocol.
_FURTHER = (
    "workspace", "algo_method", "requested_solution_num", "norm_check", "allclose_check", "unit_check", "any_stride"
)  # fmt: skip


def run_rows(
    db: str | Path | None,
    rows: Sequence[Mapping[str, Any]],
    options: RunOptions,
    *,
    origin: str,
    dense: bool = False,
    again: bool = False,
    verbose: int = 1,
) -> tuple[RunResult, RowsRun]:
    """Run hipblaslt-bench on rows.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        rows: rows as hipblaslt-bench reads them; equal ones run once.
        options: devices, checkout, library and working directory.
        origin: where the rows come from, for the records.
        dense: the rows ask for every solution: their candidates count as those of a search.
        again: time what was timed before too.
        verbose: 0 shows no progress.

    Raises:
        InputError: no rows, or one that is no GEMM.
        RunFailedError: not one row gave a result.
    """
    from geko.ingest.dispatch import ingest_rows
    from geko.runs.source import known_workload
    from geko.warehouse import Warehouse

    distinct = list({canonical_json(dict(row)): dict(row) for row in rows}.values())
    if not distinct:
        raise InputError("it holds no rows", path=origin)
    digest = hashlib.sha256(canonical_json(distinct).encode()).hexdigest()
    stem = Path(origin).stem or "rows"
    name = f"{stem}@{digest[:8]}"
    with Warehouse.open(db) as warehouse:
        ingest_rows(warehouse, distinct, origin=origin, workload=name)
        run = RowsRun(db, "search" if dense else "bench", Source("workload"), options, None, verbose)
        run.rows, run.salt = distinct, str(uuid.uuid4()) if again else ""
        workload = known_workload(warehouse, content_id("workload", name), name, stem, None)
        return run.execute_in(warehouse, workload), run


@dataclass(slots=True)
class RowsRun(Run):
    """One invocation."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    salt: str = ""
    output: str = ""

    def _check_workdir(self, warehouse: Warehouse, workload: LoadedWorkload) -> None:
        """Results of other rows may lie there."""

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        from geko.warehouse import Statement

        kept = {"rows": True, "bench_freq": self.options.bench_freq, "salt": self.salt}
        run_id = self._put_run(warehouse, workload, ground, kept, "baseline")
        warehouse.apply(Statement("run/keep_all", {"run_id": run_id}), repeatable=True)
        return run_id

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        kind = "screen" if self.kind == "search" else "baseline"
        protocols = [_protocol(row, kind, self.options) for row in self.rows]
        plan: dict[str, Any] = {}
        for protocol in {item.protocol_id: item for item in protocols}.values():
            plan = self._plan(warehouse, ground, protocol)
        for unused in ("iters", "cold_iters", "settings", "protocol_id"):
            plan.pop(unused)
        problems = warehouse.query("run/row_problems", workload_id=workload.workload_id)
        by_line = dict(zip(problems["line"].to_pylist(), problems["problem_id"].to_pylist(), strict=True))
        texts = [canonical_json(row) for row in self.rows]
        plan |= {
            "rows": texts,
            "problem_ids": [by_line[number] for number in range(1, len(self.rows) + 1)],
            "protocol_ids": [item.protocol_id for item in protocols],
            "kind": kind, "salt": self.salt, "expected_candidates": _EXPECTED_CANDIDATES,
        }  # fmt: skip
        stage = "search" if kind == "screen" else "benchmark"
        jobs = stages.planned(stage, "plan_rows", plan)
        stages.work_on(stage, kind, jobs)
        table = self._results(warehouse, run_id, [str(job_id) for job_id in jobs["job_id"].to_pylist()])
        missing = len(self.rows) - table.num_rows
        if not table.num_rows:
            raise RunFailedError(
                f"All benchmarks failed! None of {len(self.rows)} row(s) gave a result; see `geko jobs list`"
            )
        if missing and kind == "baseline":
            logger.warning(
                "%d of %d row(s) gave no result; see `geko jobs list --run %s`",
                missing,
                len(self.rows),
                run_id[:8],
            )
        outputs = warehouse.query("export/outputs", run_id=run_id, kind=kind, role=kind)
        self.output = "".join(outputs["text"].to_pylist())
        if kind == "screen":
            self._write_search(warehouse, run_id, table)
        self._end(warehouse, run_id, "finished", {"n_scheduled": stages.n_scheduled})
        return RunResult(run_id, "finished", self.workdir, table, [], 0, stages.n_scheduled)

    def _write_search(self, warehouse: Warehouse, run_id: str, winners: pa.Table) -> None:
        """``winners.csv``, and input and output of each search."""
        from geko.export.bench_files import export_job_files, job_rows
        from geko.export.tables import csv_text
        from geko.fsio import write_text_atomic

        write_text_atomic(self.workdir / "winners.csv", csv_text(winners))
        export_job_files(warehouse, run_id, job_rows(warehouse, run_id), self.workdir, "screen", "screen")

    def _results(self, warehouse: Warehouse, run_id: str, job_ids: list[str]) -> pa.Table:
        if self.kind == "search":
            return warehouse.query("export/winners", run_id=run_id)
        return warehouse.query("run/row_results", job_ids=job_ids)


def _protocol(row: Mapping[str, Any], kind: str, options: RunOptions) -> Protocol:
    """What a row says about how it is timed; its iterations are kept with the job."""
    protocol = Protocol(
        "hipblaslt-bench", "screen" if kind == "screen" else "baseline",
        timer="gpu" if _true(row.get("use_gpu_timer", False)) else "cpu", iteration_rule="row",
        rotating_mib=int(row.get("rotating", 0)), flush=_true(row.get("flush", False)),
        initialization=str(row.get("initialization", "hpl")),
        extra={"rows": True, **{name: row[name] for name in _FURTHER if name in row}},
    )  # fmt: skip
    return replace(protocol, extra={**protocol.extra, "bench_freq": True}) if options.bench_freq else protocol


def _true(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "1", "yes", "on")
