"""The runs that make new kernels: ``configure`` writes tuning configs, ``optimize`` runs them, ``tune`` does both.

``configure`` is a run of its own, which needs no GPU. ``optimize`` takes the folder of its configs as it stands: what people
changed counts, and no file is rewritten. Tuning, build and comparison are jobs of a second run of kind ``tune``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import GekoError, InputError, Interrupted, MissingFileError, RunFailedError, UsageError
from geko.log import logger
from geko.pipeline import Run, RunResult
from geko.runs import protocols
from geko.runs.options import Source
from geko.runs.sitting import new_workdir, stop_signals
from geko.runs.tune_configs import FOLDER, LIVE, FolderState
from geko.runs.tune_options import TuneOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.config_generator.config_generator import Report
    from geko.runs.setup import Ground, Library
    from geko.runs.source import LoadedWorkload
    from geko.runs.stages import Stages
    from geko.runs.tune_requests import TuningInput
    from geko.warehouse import Warehouse


@dataclass(slots=True)
class DryRun:
    """What ``configure --dry-run`` found.

    Attributes:
        table: the per-size table.
        lines: effective settings of each GEMM type, and counts.
        exit_code: 1 where not a single size would get a config, as of ``configure`` itself.
    """

    table: pa.Table
    lines: list[str] = field(default_factory=list)
    exit_code: int = 0


def run_configure(
    db: str | Path | None,
    source: Source,
    options: TuneOptions,
    *,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """Write a tuning config for every important GEMM of a workload into ``<workdir>/optimizations``.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        source: where the problems come from; a generator file is taken with all its keys.
        options: options of the run. A GPU is needed only with a threshold on the time (``keep_thr``).
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.
    """
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        run = ConfigureRun(db, "configure", source, options, anchor, verbose)
        return run.configure(warehouse)


def run_optimize(
    db: str | Path | None,
    options: TuneOptions,
    *,
    run: str | None = None,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """Tune the configs of ``<workdir>/optimizations``, build the library of what wins, compare it and export what is kept.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        options: options of the run; the working directory names the configs.
        run: first characters of the id of the run that wrote the configs, in place of the working directory.
        anchor: file whose ancestors may be the hipBLASLt checkout.
        verbose: 0 shows no progress.
    """
    from geko.warehouse import Warehouse
    from geko.warehouse.warehouse import default_path

    path = Path(db) if db is not None else default_path()
    if not path.exists():
        # Opening it would leave an empty one behind.
        raise MissingFileError(
            "there is no such warehouse: name the one that `geko configure` wrote to, with --db FILE or $GEKO_DB",
            path=path.absolute(),
        )
    with Warehouse.open(db) as warehouse:
        tuning = TuneRun(db, "tune", Source("workload"), options, anchor, verbose)
        return tuning.optimize(warehouse, run)


def run_tune(
    db: str | Path | None,
    source: Source,
    options: TuneOptions,
    *,
    anchor: Path | None = None,
    verbose: int = 1,
) -> RunResult:
    """`run_configure`, then `run_optimize` in the same working directory."""
    from dataclasses import replace

    from geko.warehouse import Warehouse

    options = replace(options, workdir=(options.workdir or new_workdir()).absolute())
    with Warehouse.open(db) as warehouse:
        configured = ConfigureRun(db, "configure", source, options, anchor, verbose).configure(warehouse)
        tuning = TuneRun(db, "tune", source, options, anchor, verbose)
        return tuning.optimize(warehouse, configured.run_id)


def dry_configure(source: Source, options: TuneOptions, *, db: str | Path | None = None) -> DryRun:
    """Work out which configs would be written, and write nothing.

    Args:
        source: where the problems come from.
        options: options of the run.
        db: warehouse file, needed for a workload that is in it already.

    Raises:
        UsageError: a threshold on the time, which would have to be measured.
    """
    from geko.warehouse import Warehouse

    if options.effective_keep_thr("configure") > 0:
        raise UsageError("--dry-run measures nothing, so it can't go with --keep-thr")
    with tempfile.TemporaryDirectory(prefix="geko-dry-") as folder:
        path = db if source.kind == "workload" else Path(folder) / "dry.duckdb"
        with Warehouse.open(path) as warehouse:
            run = ConfigureRun(path, "configure", source, options, None, 0)
            return run.dry(warehouse)


@dataclass(slots=True)
class ConfigureRun(Run):
    """One invocation of ``configure``."""

    options: TuneOptions
    given: TuningInput | None = None
    is_configured: bool = False

    @property
    def _folder(self) -> Path:
        return self.workdir / FOLDER

    def configure(self, warehouse: Warehouse) -> RunResult:
        """Write the configs, unless this very run has done so before."""
        from dataclasses import replace

        from geko.runs.tune_requests import load_input

        self.given = load_input(warehouse, self.source, self.options)
        if self.options.simulate is not None:
            # The architecture of the input is the one that is imitated.
            self.options = replace(self.options, simulate=replace(self.options.simulate, arch=self._arch()))
        self.workdir = (self.options.workdir or new_workdir()).absolute()
        self._check_workdir(warehouse, self.given.workload)
        ground = self._ground(warehouse)
        run_id = self._begin(warehouse, self.given, ground)
        try:
            with stop_signals() as stop_requested:
                if ground is None:
                    self._keep_all(warehouse, run_id)
                else:
                    self._baseline_for(warehouse, run_id, ground, stop_requested)
                if self.is_configured and self._folder.is_dir():
                    logger.info(
                        "the configs of this run are written already; %s is taken as it stands", self._folder
                    )
                else:
                    self._generate(warehouse, run_id)
        except (Interrupted, KeyboardInterrupt):
            self._end(warehouse, run_id, "interrupted", {})
            raise Interrupted("interrupted; the same command writes the configs anew") from None
        except Exception as error:  # a full disk, too, ends a run
            with suppress(GekoError):
                self._end(warehouse, run_id, "failed", {"error": str(error)})
            raise
        return self._report(warehouse, run_id)

    def dry(self, warehouse: Warehouse) -> DryRun:
        """The per-size table, without writing anything."""
        import pyarrow as pa

        from geko.config_generator.config_generator import NoConfigError
        from geko.config_generator.config_generator import run as generate
        from geko.config_generator.load_input_config import effective
        from geko.runs.tune_requests import load_input, wanted

        self.given = load_input(warehouse, self.source, self.options)
        kept = warehouse.query("tune/workload_rows", workload_id=self.given.workload.workload_id).to_pylist()
        asked = wanted(kept, self.given, self.options, self._arch())
        try:
            report = generate(
                asked.requests, Path.cwd(), write_shell_scripts=False, hipblaslt_path=self._checkout(), era=self.options.era,
                dry_run=True,
            )  # fmt: skip
            sizes = [*report.sizes, *asked.dropped]
        except NoConfigError as error:
            sizes = [*error.report.sizes, *asked.dropped]
        rows = [
            {
                "size": f"{row.gemm} {row.m}×{row.n}×{row.k}" + (f" b{row.batch}" if row.batch > 1 else ""),
                "state": row.status, "config": row.config or None, "tiles": row.tiles, "kernels": Decimal(row.kernels),
                "reason": row.reason,
            }
            for row in sizes
        ]  # fmt: skip
        lines = []
        for request in asked.requests:
            lines.append(f"{request.gemm.name}, {len(request.sizes)} size(s):")
            lines += [f"  {key}: {text}" for key, text in effective(request).items()]
        n_kept = sum(row["state"] == "kept" for row in rows)
        lines.append(f"{n_kept} of {len(rows)} sizes would get a config; nothing was written")
        return DryRun(pa.Table.from_pylist(rows), lines, 0 if n_kept else 1)

    def _ground(self, warehouse: Warehouse) -> Ground | None:
        if self.options.effective_keep_thr("configure") <= 0:
            return None
        from geko.runs.setup import prepare_ground

        if self.options.devices == () and self.options.simulate is None:
            raise UsageError(
                "--keep-thr needs times: name the GPUs that may be used, such as -d 0 (or --simulate)"
            )
        return prepare_ground(warehouse, self.options, self.workdir, self.anchor)

    def _arch(self) -> str:
        assert self.given is not None
        if self.given.requests:
            return self.given.requests[0].settings.arch.name
        if self.options.arch is not None:
            return self.options.arch
        assert self.options.simulate is not None
        return self.options.simulate.arch

    def _checkout(self) -> Path | None:
        from geko.hipblaslt import try_find_root
        from geko.runs.setup import simulated_root

        if self.options.simulate is not None:
            return simulated_root(self.options.simulate)
        if self.options.hipblaslt is not None:
            from geko.hipblaslt import find_root

            return find_root(self.options.hipblaslt).path
        root = try_find_root(anchor=self.anchor)
        return None if root is None else root.path

    def _begin(self, warehouse: Warehouse, given: TuningInput, ground: Ground | None) -> str:
        kept = self.options.kept_in_run("configure") | {
            "settings": given.settings_digest, "arch": self._arch(), "workdir": str(self.workdir),
        }  # fmt: skip
        run_id = self._run_id(given.workload, ground, kept)
        before = warehouse.query("tune/configured", run_id=run_id, workdir=str(self.workdir)).to_pylist()[0]
        if before["others"] and self._folder.is_dir():
            raise UsageError(
                f"{self._folder} holds configs that were made with other options (run {before['others'][0]}): give another "
                "--workdir, or tune them as they are with `geko optimize --workdir`"
            )
        self.is_configured = bool(before["configured"])
        return self._put_run(warehouse, given.workload, ground, kept, "configure", run_id)

    def _keep_all(self, warehouse: Warehouse, run_id: str) -> None:
        from geko.warehouse import Statement

        warehouse.apply(Statement("run/keep_all", {"run_id": run_id}), repeatable=True)

    def _baseline_for(self, warehouse: Warehouse, run_id: str, ground: Ground, stop_requested: Any) -> None:
        stages = self._stages(warehouse, run_id, ground, stop_requested)
        try:
            self._baseline(warehouse, ground, stages, protocols.baseline(self.options), "baseline", None)
        finally:
            stages.pool.stop()
        if not self._keep(warehouse, run_id):
            self._require_baseline(warehouse, run_id)
            raise RunFailedError(
                f"no GEMM reaches --keep-thr {self.options.effective_keep_thr('configure'):g} % of the workload's time: "
                "there is nothing to tune (lower --keep-thr)"
            )

    def _generate(self, warehouse: Warehouse, run_id: str) -> None:
        from geko.config_generator.config_generator import NoConfigError, write_table
        from geko.config_generator.config_generator import run as generate
        from geko.runs.tune_configs import record_generated
        from geko.runs.tune_requests import wanted
        from geko.warehouse import Statement

        assert self.given is not None
        warehouse.apply(Statement("run/set_stage", {"run_id": run_id, "stage": "configure"}), repeatable=True)
        kept = warehouse.query("tune/kept_rows", run_id=run_id).to_pylist()
        asked = wanted(kept, self.given, self.options, self._arch())
        if not asked.requests:
            first = next((row.reason for row in asked.dropped), "the workload is empty")
            raise RunFailedError(f"none of the GEMMs can be tuned: {first}")
        report: Report
        try:
            report = generate(
                asked.requests, self._folder, write_shell_scripts=self.options.scripts, hipblaslt_path=self._checkout(),
                era=self.options.era, progress=self._progress,
            )  # fmt: skip
        except NoConfigError as error:
            record_generated(warehouse, run_id, error.report, asked)
            raise
        record_generated(warehouse, run_id, report, asked)
        write_table(report, self._folder, asked.dropped)
        self.is_configured = True

    def _progress(self, done: int, total: int) -> None:
        if self.verbose < 1 or total < 100:
            return
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[KConfigs: {done}/{total}" + ("\n" if done == total else ""))
            sys.stderr.flush()
        elif done == total or done % max(1, total // 10) == 0:
            sys.stderr.write(f"Configs: {done}/{total}\n")

    def _end(self, warehouse: Warehouse, run_id: str, state: str, summary: dict[str, Any]) -> None:
        # The base class is named: a class with slots is made anew, and super() without arguments doesn't know it.
        Run._end(self, warehouse, run_id, state, summary | {"configured": self.is_configured})

    def _report(self, warehouse: Warehouse, run_id: str) -> RunResult:
        table = warehouse.query("tune/sizes", run_id=run_id)
        states = table["state"].to_pylist()
        n_files = len(warehouse.query("tune/run_configs", run_id=run_id))
        lines = [
            f"{states.count('kept')} of {len(states)} sizes have a config, {n_files} file(s) in {self._folder}",
            f"Look at them, change or remove what you like, then: {self._next_command()}",
        ]
        if n_dropped := states.count("dropped"):
            lines.insert(1, f"{n_dropped} size(s) were dropped; the table and {FOLDER}/sizes.csv say why")
        self._end(warehouse, run_id, "finished", {"lines": lines})
        self._export(warehouse, run_id)
        return RunResult(run_id, "finished", self.workdir, table, lines)

    def _next_command(self) -> str:
        import shlex

        words = ["geko", "optimize", "--workdir", str(self.workdir)]
        words += ["--simulate"] if self.options.simulate is not None else ["-d", "0-7"]
        return shlex.join(words)

    def _export(self, warehouse: Warehouse, run_id: str) -> None:
        from geko.export.tuning import export_configure

        export_configure(warehouse, run_id, self.workdir)


@dataclass(slots=True)
class TuneRun(Run):
    """One invocation of ``optimize``."""

    options: TuneOptions
    configure_run: str = ""
    state: FolderState | None = None

    def optimize(self, warehouse: Warehouse, run: str | None = None) -> RunResult:
        """Find the configs, and run them."""
        from dataclasses import replace

        from geko.runs.source import known_workload
        from geko.runs.tune_configs import restore_folder

        row = self._configured_by(warehouse, run)
        self.configure_run = row["run_id"]
        workdir = (self.options.workdir or Path(row["workdir"])).absolute()
        options = json.loads(row["options"])
        simulate = self.options.simulate
        if simulate is not None and self.options.arch is None and options.get("arch"):
            simulate = replace(simulate, arch=options["arch"])
        # What the configs were chosen by decides what matters here, too.
        threshold = options.get("keep_thr") if self.options.keep_thr is None else self.options.keep_thr
        self.options = replace(self.options, workdir=workdir, simulate=simulate, keep_thr=threshold)
        restored = restore_folder(warehouse, self.configure_run, workdir / FOLDER)
        if restored:
            logger.info(
                "%d config(s) of run %s written into %s again", restored, row["run_id"][:8], workdir / FOLDER
            )
        name = str(warehouse.query("tune/workload_name", workload_id=row["workload_id"])["name"][0].as_py())
        given = options.get("input")
        workload = known_workload(
            warehouse,
            row["workload_id"],
            name,
            row["label"],
            Path(given) if given and given != name else None,
        )
        return self.execute_in(warehouse, workload)

    def _configured_by(self, warehouse: Warehouse, run: str | None) -> dict[str, Any]:
        if run is None and self.options.workdir is None:
            raise UsageError(
                "which configs? give --workdir W (as of `geko configure`) or --run R (`geko runs`)"
            )
        workdir = None if self.options.workdir is None else str(self.options.workdir.absolute())
        rows = warehouse.query("tune/configure_run", prefix=run or "", workdir=workdir).to_pylist()
        if run and len(rows) > 1:
            raise UsageError(f"several runs start with {run!r}; give more of the id (`geko runs`)")
        row: dict[str, Any] | None = next(iter(rows), None)
        if row is not None and row["kind"] == "tune":
            source = json.loads(row["options"]).get("configure_run", "")
            row = next(
                iter(warehouse.query("tune/configure_run", prefix=source, workdir=None).to_pylist()), None
            )
        if row is None or row["kind"] != "configure":
            what = f"run {run!r}" if run else workdir
            raise UsageError(
                f"no configs were made for {what} in {warehouse.path}; {self._instead(warehouse, run)}"
            )
        if not row["configured"]:
            raise UsageError(
                f"run {row['run_id'][:8]} has not written its configs: start `geko configure` again"
            )
        return row

    def _instead(self, warehouse: Warehouse, run: str | None) -> str:
        """What to do where a folder or a run isn't known."""
        known = warehouse.query("tune/configure_runs").to_pylist()
        if not known:
            return "`geko configure` makes them"
        runs = "; ".join(f"{row['run']} ({row['label']}, in {row['workdir']})" for row in known)
        moved = "" if run is not None else "if the folder was moved, name its run as well, with --run; "
        return f"{moved}these runs made some: {runs}"

    def _start(self, warehouse: Warehouse, workload: LoadedWorkload, ground: Ground) -> str:
        from geko.runs.tune_configs import read_folder

        kept = self.options.kept_in_run("tune") | {"configure_run": self.configure_run}
        run_id = self._run_id(workload, ground, kept)
        before = warehouse.query("tune/run_configs", run_id=self.configure_run).to_pylist()
        self.state = read_folder(warehouse, run_id, self.workdir / FOLDER, before)
        self._check_arch(ground)
        self._put_run(warehouse, workload, ground, kept, "baseline", run_id)
        self._check_cus(warehouse, run_id)
        logger.info(
            "%d config(s), of them %d changed and %d added by hand; %d removed, %d refused", self.state.count(*LIVE),
            self.state.count("edited"), self.state.count("added"), self.state.gone(), self.state.count("refused"),
        )  # fmt: skip
        return run_id

    def _check_arch(self, ground: Ground) -> None:
        from geko.domain.arch import get_arch

        assert self.state is not None
        targets = sorted({get_arch(name).target for name in self.state.archs})
        if targets != [ground.arch]:
            raise InputError(
                f"the configs are for {', '.join(targets)}, the devices are {ground.arch}: kernels of one target don't "
                "run on another", path=self.workdir / FOLDER,
            )  # fmt: skip

    def _check_cus(self, warehouse: Warehouse, run_id: str) -> None:
        from geko.domain.arch import get_arch

        assert self.state is not None
        chip = warehouse.query("tune/chip", run_id=run_id).to_pylist()[0]
        for arch in map(get_arch, self.state.archs):
            if arch.family in ("gfx942", "gfx950") and chip["cu_count"] not in (None, arch.cus):
                logger.warning(
                    "configs for %s were made for %d CUs, the devices have %d: the kernels are tuned, compared and filed "
                    "for %d CUs", arch.name, arch.cus, chip["cu_count"], chip["cu_count"],
                )  # fmt: skip

    def _stages_of_kind(
        self, warehouse: Warehouse, run_id: str, workload: LoadedWorkload, ground: Ground, stages: Stages
    ) -> RunResult:
        options = self.options
        self._baseline(warehouse, ground, stages, protocols.baseline(options), "baseline", None)
        self._keep(warehouse, run_id)
        self._tune(warehouse, run_id, ground, stages)
        tuned = self._build(warehouse, run_id, ground)
        if tuned is not None:
            self._compare(warehouse, ground, stages, tuned)
        return self._finish(warehouse, run_id, ground, stages, "export/uplift_table")

    def _tune(self, warehouse: Warehouse, run_id: str, ground: Ground, stages: Stages) -> None:
        from geko.runs.tune_stage import tune

        tune(warehouse, run_id, ground, stages, self.options, self.workdir / FOLDER)

    def _build(self, warehouse: Warehouse, run_id: str, ground: Ground) -> Library | None:
        """Build the library of all new kernels; None when there is none."""
        from geko.export.tuned_logic import merged_logic
        from geko.warehouse import Statement

        warehouse.apply(Statement("run/set_stage", {"run_id": run_id, "stage": "build"}), repeatable=True)
        collection = merged_logic(warehouse, run_id)
        if collection is None:
            raise RunFailedError(
                "All tuning jobs failed! None of them left library logic; see "
                f"{self.workdir / FOLDER / 'failed_jobs.log'} and `geko jobs list`"
            )
        return self._built(warehouse, run_id, ground, collection)

    def _end(self, warehouse: Warehouse, run_id: str, state: str, summary: dict[str, Any]) -> None:
        Run._end(self, warehouse, run_id, state, summary)
        if state in ("failed", "interrupted"):
            from geko.export.tuning import export_job_outputs

            export_job_outputs(warehouse, run_id, self.workdir / FOLDER)
