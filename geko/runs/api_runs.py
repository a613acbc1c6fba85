"""Runs behind the Python API: tuning the configs of any folder, and comparing any library logic with the stock library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.identity import canonical_json, content_id
from geko.errors import InputError, MissingFileError, RunFailedError
from geko.log import logger
from geko.pipeline import Run, RunResult
from geko.runs import protocols
from geko.runs.options import Source
from geko.runs.tune_options import TuneOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.library.model import LibraryCollection
    from geko.runs.setup import Ground
    from geko.runs.source import LoadedWorkload
    from geko.runs.stages import Stages
    from geko.warehouse import Warehouse

#: A GEMM as results and libraries share it: what a weight is joined by.
_KEY = ("transA", "transB", "m", "n", "batch_count", "k", "a_type", "b_type", "c_type", "compute_type")


def run_folder(
    db: str | Path | None, folder: Path, options: TuneOptions, *, anchor: Path | None = None, verbose: int = 1
) -> RunResult | None:
    """Tune the configs of a folder, wherever they come from; nothing else is built or compared.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        folder: holds tuning configs; results go into ``build_<config>`` folders in it.
        options: options of the run.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.

    Returns:
        What came of it; None where there is nothing to tune.
    """
    from geko.warehouse import Warehouse

    if not folder.is_dir():
        raise MissingFileError("no such folder of tuning configs", path=folder)
    with Warehouse.open(db) as warehouse:
        return FolderRun(db, "jobs", Source("workload"), options, anchor, verbose, folder.absolute()).tune(
            warehouse
        )


@dataclass(slots=True)
class FolderRun(Run):
    """Tuning jobs of one folder."""

    options: TuneOptions
    folder: Path = field(default_factory=Path)

    def tune(self, warehouse: Warehouse) -> RunResult | None:
        """Run what the folder holds."""
        from dataclasses import replace

        from geko.config_generator.read_config import read_config
        from geko.ingest.dispatch import ingest_rows
        from geko.ingest.inline import config_rows
        from geko.runs.source import known_workload

        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for path in sorted(self.folder.glob("*.yaml")):
            try:
                facts = read_config(path.read_text(encoding="utf-8"), path)
            except (InputError, UnicodeDecodeError) as error:
                logger.debug("%s is no config: %s", path, error)
                continue
            for row in config_rows(facts.gemm, facts.arch):
                rows.setdefault(tuple(row.values()), row)
        if not rows:
            logger.info("No optimizations to run")
            return None
        digest = hashlib.sha256(canonical_json(list(rows.values())).encode()).hexdigest()
        name = f"{self.folder.name}@{digest[:8]}"
        ingest_rows(warehouse, list(rows.values()), origin=str(self.folder), workload=name)
        self.options = replace(self.options, workdir=self.folder.parent)
        return self.execute_in(
            warehouse, known_workload(warehouse, content_id("workload", name), name, self.folder.name, None)
        )

    def _check_workdir(self, warehouse: Warehouse, workload: LoadedWorkload) -> None:
        """Several folders may lie side by side."""

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        from geko.runs.tune_configs import read_folder
        from geko.warehouse import Statement

        kept = {"folder": str(self.folder)}
        run_id = self._run_id(workload, ground, kept)
        read_folder(warehouse, run_id, self.folder, ())
        self._put_run(warehouse, workload, ground, kept, "tune", run_id)
        warehouse.apply(Statement("run/keep_all", {"run_id": run_id}), repeatable=True)
        return run_id

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        from geko.export.record import record_files
        from geko.export.tuning import export_job_outputs
        from geko.runs.tune_stage import tune

        tune(warehouse, run_id, ground, stages, self.options, self.folder)
        record_files(warehouse, run_id, ground.simulated, export_job_outputs(warehouse, run_id, self.folder))
        table = warehouse.query("tune/job_states", run_id=run_id)
        self._end(warehouse, run_id, "finished", {"n_scheduled": stages.n_scheduled})
        return RunResult(run_id, "finished", self.folder, table, [], 0, stages.n_scheduled)


def compare_logic(
    db: str | Path | None,
    lib_dir: Path,
    build_dir: Path,
    options: TuneOptions,
    *,
    beta: bool = False,
    weights: Mapping[tuple[Any, ...], int] | None = None,
    anchor: Path | None = None,
    verbose: int = 1,
) -> tuple[RunResult, pa.Table]:
    """Build library logic and compare it with the reference library on all its sizes.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        lib_dir: logic files.
        build_dir: where they are built.
        options: options of the run; its working directory takes the result tables.
        beta: multiply with beta 1 instead of 0.
        weights: calls of each GEMM by `weight_key`; one where nothing is known.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.

    Returns:
        The run, and a row for each shape that was compared: those of ``raw_results.csv``, and its library in column ``lib``.
    """
    from geko.library.model import load_collection
    from geko.warehouse import Warehouse

    collection = load_collection(lib_dir)
    with Warehouse.open(db) as warehouse:
        run = AnalyzeRun(
            db,
            "analyze",
            Source("workload"),
            options,
            anchor,
            verbose,
            lib_dir.absolute(),
            build_dir.absolute(),
        )
        result = run.compare(warehouse, collection, beta, weights or {})
        return result, run.rows_of(warehouse, result.run_id, collection)


def weight_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The fields of a GEMM by which a weight is found: sizes in either case, ``compute_type`` without ``c_``."""
    values = []
    for name in _KEY:
        value = row[name] if name in row else row[name.upper()]
        values.append(str(value).removeprefix("c_") if name == "compute_type" else value)
    return tuple(values)


@dataclass(slots=True)
class AnalyzeRun(Run):
    """Comparison of library logic with the reference library."""

    options: TuneOptions
    lib_dir: Path = field(default_factory=Path)
    build_dir: Path = field(default_factory=Path)

    def compare(
        self,
        warehouse: Warehouse,
        collection: LibraryCollection,
        beta: bool,
        weights: Mapping[tuple[Any, ...], int],
    ) -> RunResult:
        """Compare all sizes of the libraries."""
        from geko.ingest.dispatch import ingest_rows
        from geko.runs.source import known_workload

        rows = list(_log_rows(collection, beta, weights))
        if not rows:
            raise InputError("the libraries hold no sizes: there is nothing to compare", path=self.lib_dir)
        digest = hashlib.sha256(canonical_json(rows).encode()).hexdigest()
        name = f"{self.lib_dir.name}@{digest[:8]}"
        ingest_rows(warehouse, rows, origin=str(self.lib_dir), workload=name)
        return self.execute_in(
            warehouse, known_workload(warehouse, content_id("workload", name), name, self.lib_dir.name, None)
        )

    def rows_of(self, warehouse: Warehouse, run_id: str, collection: LibraryCollection) -> pa.Table:
        """The compared shapes with their libraries."""
        from geko.export.tuned_logic import entries_of

        return warehouse.query("tune/analyzed_rows", {"entries": entries_of(collection)}, run_id=run_id)

    def _check_workdir(self, warehouse: Warehouse, workload: LoadedWorkload) -> None:
        """Results of another library may lie there: they are replaced."""

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        kept = self.options.kept_in_run("analyze") | {"lib_dir": str(self.lib_dir)}
        return self._put_run(warehouse, workload, ground, kept, "baseline")

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        from geko.export.tables import export_tables
        from geko.library.build import built, create
        from geko.runs.setup import know_library
        from geko.warehouse import Statement

        self._baseline(warehouse, ground, stages, protocols.baseline(self.options), "baseline", None)
        warehouse.apply(Statement("run/keep_all", {"run_id": run_id}), repeatable=True)
        if not warehouse.query("run/baseline_count", run_id=run_id)["n_timed"][0].as_py():
            raise RunFailedError("All benchmarks failed! The reference library could time none of the shapes")
        build = built(self.build_dir, self.lib_dir) or create(ground.root.path, self.lib_dir, self.build_dir)
        tuned = know_library(
            warehouse,
            build.code_dir,
            build.match_table,
            ground.arch,
            "analyze",
            self.lib_dir,
            str(build.code_dir),
        )
        warehouse.apply(
            Statement("run/set_tuned_library", {"run_id": run_id, "library_id": tuned.library_id}),
            repeatable=True,
        )
        self._compare(warehouse, ground, stages, tuned)
        warehouse.apply(
            Statement("run/clear_decision", {"run_id": run_id}),
            Statement("run/decide", {"run_id": run_id, "now": warehouse.now()}),
        )
        export_tables(warehouse, run_id, self.workdir, flat=True)
        self._end(warehouse, run_id, "finished", {"n_scheduled": stages.n_scheduled})
        table = warehouse.query("export/uplift_table", run_id=run_id)
        return RunResult(run_id, "finished", self.workdir, table, [], 0, stages.n_scheduled)


def _log_rows(
    collection: LibraryCollection, beta: bool, weights: Mapping[tuple[Any, ...], int]
) -> Iterable[dict[str, Any]]:
    """Workload rows of all sizes, each once."""
    from geko.library.bench_input import bench_rows

    wanted = (
        "transA", "transB", "batch_count", "M", "N", "K", "a_type", "b_type", "c_type", "d_type", "compute_type",
        "scaleA", "scaleB", "lda", "ldb", "ldc", "ldd",
    )  # fmt: skip
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for library in collection:
        for row in bench_rows(library, beta=beta):
            kept = {name: row[name] for name in wanted if name in row} | {
                "alpha": 1.0,
                "beta": 1.0 if beta else 0.0,
            }
            calls = weights.get(weight_key({**kept, "m": row["M"], "n": row["N"], "k": row["K"]}), 1)
            seen.setdefault(tuple(kept.values()), kept | {"call_count": calls})
    return seen.values()
