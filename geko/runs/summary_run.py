"""The baseline of a workload for the Python API: what each GEMM costs, and which of them matter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geko.pipeline import Run, RunResult
from geko.runs import protocols
from geko.runs.options import RunOptions, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.runs.setup import Ground
    from geko.runs.source import LoadedWorkload
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse


def summary_of(
    db: str | Path | None,
    log: Path,
    folder: Path,
    keep_thr: float,
    hipblaslt: Path | None,
    devices: tuple[int, ...],
    bench_freq: bool,
    custom_lib_dir: Path | None,
    verbose: int,
) -> tuple[pa.Table, pa.Table]:
    """Summary and kept GEMMs of a workload log.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        log: workload log.
        folder: where ``summary.csv`` and ``gemms.csv`` go.
        keep_thr: percentage of the workload's time; with 0 nothing is timed.
        hipblaslt: checkout.
        devices: device ordinals.
        bench_freq: record clocks.
        custom_lib_dir: built library to time instead of the stock one.
        verbose: 0 shows no progress.
    """
    from geko.errors import MissingFileError
    from geko.warehouse import Warehouse

    if not log.is_file():
        raise MissingFileError("no such workload log", path=log)
    options = RunOptions(
        devices=devices, keep_thr=keep_thr, hipblaslt=hipblaslt, bench_freq=bench_freq, workdir=folder,
        custom_lib_dir=custom_lib_dir,
    )  # fmt: skip
    run = SummaryRun(db, "bench", Source("log", (log,)), options, None, verbose)
    with Warehouse.open(db) as warehouse:
        return run.timed(warehouse) if keep_thr > 0 else run.counted(warehouse)


@dataclass(slots=True)
class SummaryRun(Run):
    """A baseline at a fixed number of iterations, and nothing else."""

    def timed(self, warehouse: Warehouse) -> tuple[pa.Table, pa.Table]:
        """Time everything and keep what matters."""
        from geko.runs.source import load_source

        run_id = self.execute_in(warehouse, load_source(warehouse, self.source)).run_id
        return (
            warehouse.query("export/summary", run_id=run_id),
            warehouse.query("export/gemms", run_id=run_id),
        )

    def counted(self, warehouse: Warehouse) -> tuple[pa.Table, pa.Table]:
        """Count the GEMMs of the log without a GPU."""
        from geko.export.tables import csv_text
        from geko.fsio import write_text_atomic
        from geko.runs.source import load_source

        workload = load_source(warehouse, self.source)
        summary = warehouse.query("tune/workload_gemms", workload_id=workload.workload_id)
        gemms = summary.drop_columns(["call_count"])
        self.workdir = self.options.workdir or Path.cwd()
        write_text_atomic(self.workdir / "summary.csv", csv_text(summary))
        write_text_atomic(self.workdir / "gemms.csv", csv_text(gemms))
        return summary, gemms

    def _check_workdir(self, warehouse: Warehouse, workload: LoadedWorkload) -> None:
        """Tables of another log may lie there: they are replaced."""

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        kept = {"keep_thr": self.options.keep_thr, "summary": True, "bench_freq": self.options.bench_freq}
        return self._put_run(warehouse, workload, ground, kept, "baseline")

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        from geko.export.tuning import export_configure

        self._baseline(warehouse, ground, stages, protocols.baseline(self.options), "baseline", None)
        self._require_baseline(warehouse, run_id)
        self._keep(warehouse, run_id)
        self._end(warehouse, run_id, "finished", {"n_scheduled": stages.n_scheduled})
        export_configure(warehouse, run_id, self.workdir)
        table = warehouse.query("export/gemms", run_id=run_id)
        return RunResult(run_id, "finished", self.workdir, table, [], 0, stages.n_scheduled)
