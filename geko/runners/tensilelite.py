"""The tensilelite runner: one tuning config per job, with Tensile's grid or Ductile's genetic algorithm.

Command: ``Tensile CONFIG BUILD --prebuilt-client … --client-lock … --global-parameters Device=N …`` of tensilelite
4.33 and 5.0. Tensile builds kernels on the processor for most of the time and takes the GPU only while its client
runs: the lock that it takes then is the one of :mod:`geko.runners.gpu_lock`, so that several tuning jobs and
benchmarks share a GPU without disturbing each other's times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from geko.domain.arch import get_arch
from geko.errors import GekoError, InputError, Interrupted
from geko.hipblaslt import HipblasltRoot, tensile_version
from geko.log import logger
from geko.runners.base import RunContext, answer
from geko.runners.gpu_lock import GpuLock, physical_ordinal
from geko.runners.hipblaslt_bench import usable_root
from geko.runners.process import ProcessResult, cap_output, last_line, memory_fault_line, run_process
from geko.runners.tensilelite_client import build_tensilelite_client, default_build_dir
from geko.runners.tensilelite_progress import Follower
from geko.runners.tensilelite_reading import TuneReading, read_outputs, with_failure
from geko.runners.tensilelite_salvage import Salvaged, salvage
from geko.runners.tensilelite_spec import RUNNING, BuildFolder, TuneSpec
from geko.warehouse.queue import Claim, JobResult

HARNESS = "tensilelite"
KINDS = ("tune",)
TENSILE = "Tensile"
#: Seconds without output after which a tuning job is taken to hang, unless the job says otherwise.
STALL_S = 900.0
#: Seconds that finishing a measured job (library logic alone) may take.
_FINISH_S = 1800.0
# Nothing of the config can be built, or no kernel is right: asking again gives the same.
_NOTHING = re.compile(
    r"resulted in 0 valid solutions|results? 0 valid soul?u?tion|RuntimeError: No valid solutions found"
    r"|No solutions passed the verification stage"
    r"|search space too small: only|max iters reached while"
)
_NEEDED = re.compile(r"^\s*MinimumRequiredVersion:\s*['\"]?(\d+\.\d+\.\d+)", re.MULTILINE)
_FAILED_ROW = re.compile(r'^\d+,\d+/\d+,\d+/\d+,[^,\n]*,"[^"\n]*",[^\n]*,FAILED,', re.MULTILINE)
_CLIENT_END = re.compile(r"Benchmark Process exited with code (\d+)")
_EARLY = frozenset({"crash", "hang", "memory_fault", "timeout"})
_BAD = frozenset({"crash", "hang", "memory_fault", "timeout", "lost", "parse_error"})
# Outcomes that a row tells, too: something was tried, and ended so.
_FAILED = _BAD | {"no_solution"}
FILES = pa.schema([("path", pa.string()), ("content", pa.string())])


@dataclass(slots=True)
class TensileliteRunner:
    """Runs tuning jobs.

    Attributes:
        shares_gpu: Tensile locks the GPU itself, for as long as it needs it.
    """

    harness: str = HARNESS
    kinds: tuple[str, ...] = KINDS
    shares_gpu: bool = True
    _in_a_row: int = field(default=0, init=False)

    def run(self, claims: Sequence[Claim], context: RunContext) -> list[JobResult]:
        """Run claims one after another; see :class:`geko.runners.base.Runner`."""
        results = []
        for claim in claims:
            result = self._one(claim, context)
            results.append(result)
            self._count(claim, result, context)
        return results

    def _one(self, claim: Claim, context: RunContext) -> JobResult:
        if claim.kind not in self.kinds:
            return answer(claim, context, "unsupported", f"{HARNESS} runs no jobs of kind {claim.kind!r}")
        try:
            spec = TuneSpec.parse(claim.spec)
        except InputError as error:
            return answer(claim, context, "unsupported", str(error))
        if context.stop.is_set() or context.give_up is not None:
            return answer(claim, context, "released", "not started")
        try:
            job = _Job(claim, spec, context)
            unfit = _unfit(spec, job.root)
            return answer(claim, context, "unsupported", unfit) if unfit else job.execute()
        except Interrupted as error:
            return answer(claim, context, "released", str(error))
        except GekoError as error:
            return answer(claim, context, "tool_missing", str(error))

    def _count(self, claim: Claim, result: JobResult, context: RunContext) -> None:
        """Give up after so many failures with no success between them: the device, not the jobs, is at fault then."""
        if result.outcome not in _BAD:
            self._in_a_row = 0 if result.outcome != "released" else self._in_a_row
            return
        self._in_a_row += 1
        most = TuneSpec.parse(claim.spec).abort_after
        if most and self._in_a_row >= most:
            context.give_up = f"{self._in_a_row} tuning jobs in a row failed, the last: {result.message}"


def _unfit(spec: TuneSpec, root: HipblasltRoot) -> str | None:
    """Why the tensilelite at hand can't tune a config; None where it can."""
    package = root.tensile_package
    have = None if package is None else tensile_version(package)
    wanted = _NEEDED.search(spec.yaml)
    # As versionIsCompatible of tensilelite has it.
    if have is not None and wanted is not None:
        ours, theirs = (tuple(map(int, text.split("."))) for text in (have, wanted[1]))
        if ours[0] != theirs[0] or ours < theirs:
            return (
                f"the config is for tensilelite {wanted[1]}, the checkout {root.path} has {have}: write it for this "
                "checkout (geko configure --hipblaslt PATH), or change its MinimumRequiredVersion"
            )
    if spec.backend == "ductile" and not root.has_ductile:
        return (
            f"the tensilelite of {root.path} has no genetic algorithm (Ductile), and would build every combination of the "
            "config: configure with --backend tensile, or name a newer checkout"
        )
    return None


class _Job:
    """One attempt of one job."""

    def __init__(self, claim: Claim, spec: TuneSpec, context: RunContext) -> None:
        self.claim, self.spec, self.context = claim, spec, context
        self.root = usable_root(spec.root, context)
        self.program = self.root.tensile_command(TENSILE)
        self.folder = BuildFolder.of(spec, claim.job_id, context.env)
        self.salvaged = Salvaged()
        #: Rates were asked for in place of the efficiencies that the config asks for.
        self.rates = False

    def execute(self) -> JobResult:
        """Run Tensile, and read what it left."""
        with self.folder.locked(self.context.stop) as lock:
            begin = self.folder.prepare()
            follower = Follower(
                self.claim, self.folder.log, self.folder.path, self.context.clock, self.context.progress, begin,
                endless=self.spec.backend == "ductile",
            )  # fmt: skip
            result = None
            if not self.folder.logic:
                client = self._client(follower)
                result = self._run(client, follower, lock)
                if result.outcome != "released" and not self.folder.logic:
                    result = self._recover(result, client, follower, lock, begin)
            if result is not None and result.outcome == "released":
                return answer(self.claim, self.context, "released", result.message)
            follower.read()
            follower.phase = "done"
            follower.tell()
            return self._answer(result, begin)

    def _recover(
        self, result: ProcessResult, client: Path, follower: Follower, lock: int, begin: int
    ) -> ProcessResult:
        """Get library logic out of a run that ended badly, where that is possible.

        The kernels were measured, and that is what took hours: only the last step is done again. A grid whose
        client died twice gets it for what was timed before: a third time would bring nothing new.
        """
        finished = self.folder.has_results
        if not finished:
            again = self.claim.attempt >= min(2, self.spec.max_attempts)
            early = self._how(result, _text_from(self.folder.log, begin))[0] in _EARLY
            if not (again and early and self.spec.backend != "ductile"):
                return result
            self.salvaged = salvage(self.folder, _text_from(self.folder.log, begin))
            if not self.salvaged:
                return result
        logger.warning("%s: %s; library logic is made of what was timed", self.spec.name, result.message)
        last = self._run(client, follower, lock, finishing=True)
        if not finished and not self.folder.logic:
            # A later attempt must not take this table for that of a whole run.
            self.salvaged = Salvaged()
            self.folder.drop_results()
        return last if last.outcome == "released" else result

    def _client(self, follower: Follower) -> Path:
        follower.phase = "client"
        follower.tell()
        target = get_arch(self.spec.arch).logic_architecture
        return build_tensilelite_client(
            self.root.path, self._build_dir(), target, env=self._env(), stop=self.context.stop,
            die_with_parent=self.context.die_with_parent,
        )  # fmt: skip

    def _build_dir(self) -> Path:
        target = get_arch(self.spec.arch).logic_architecture
        return self.spec.build_dir or default_build_dir(self.root, target, self.context.env)

    def _run(self, client: Path, follower: Follower, lock: int, *, finishing: bool = False) -> ProcessResult:
        context, spec = self.context, self.spec
        follower.phase = "analysis" if finishing else "start"
        running = self.folder.path / RUNNING
        running.write_text(f"device={context.ordinal}\nslot={context.slot}\n", encoding="utf-8")
        own = spec.stall_timeout_s
        stall = STALL_S if own is None else own
        added = tensile_env(self.root, spec, context.env, self._build_dir())
        try:
            return run_process(
                self._command(client),
                env=self._env() | added,
                shown_env=added,
                cwd=self.folder.path,
                log=self.folder.log,
                tick=follower,
                timeout_s=_FINISH_S if finishing else self.claim.timeout_s,
                stall_s=stall or None,
                grace_s=context.grace_s,
                stop=context.stop,
                should_stop=context.abandoned,
                pass_fds=(*context.inherit_fds, lock),
                die_with_parent=context.die_with_parent,
            )
        finally:
            running.unlink(missing_ok=True)

    def _env(self) -> dict[str, str]:
        return dict(self.context.env)

    def _command(self, client: Path) -> list[str | Path]:
        # Options of this kind win over the config: the text itself stays as it is.
        settings = {"Device": self.context.ordinal, "ExitOnFails": 0}
        if self.context.cpu_threads:
            settings["CpuThreads"] = self.context.cpu_threads
        if self.folder.has_results or self.salvaged:
            settings["ForceRedoBenchmarkProblems"] = 0
            if not self.folder.has_clock:
                # Efficiencies want the clock: rates have to do.
                settings["UseEffLike"] = 0
                self.rates = self.folder.spec.setting("UseEffLike", 1) != 0
        return [
            *self.program, self.folder.config, self.folder.path, "--prebuilt-client", client,
            "--client-lock", self._gpu_lock(), "--global-parameters",
            *(f"{name}={value}" for name, value in settings.items()),
        ]  # fmt: skip

    def _gpu_lock(self) -> Path:
        if self.context.simulated:
            return self.folder.path.with_name(f"gpulock_{self.context.ordinal}")
        return GpuLock(physical_ordinal(self.context.ordinal, self.context.env)).path

    def _answer(self, result: ProcessResult | None, begin: int) -> JobResult:
        text = _text_from(self.folder.log, begin)
        reading = read_outputs(text, self.folder.tables, self.spec)
        if reading.solutions is not None and reading.names is not None:
            self.context.solutions.add(reading.solutions, reading.names)
        outcome, message = self._verdict(result, reading, text)
        failure = self._how(result, text)[0] if self.salvaged else outcome
        if failure in _FAILED:
            reading = with_failure(reading, failure, message, self.spec)
        self.folder.reported()
        files = self._files()
        if outcome == "ok":
            self.folder.drop_kernels()
        return answer(
            self.claim, self.context, outcome, message,
            command=None if result is None else result.command,
            exit_code=None if result is None else result.exit_code,
            started_at=None if result is None else result.started_at,
            output=cap_output(text), measurements=reading.measurements, validations=reading.validations,
            files=files,
        )  # fmt: skip

    def _how(self, result: ProcessResult | None, text: str) -> tuple[str, str | None]:
        """How a run ended, its client's end included: Tensile itself goes on when the client has died."""
        if result is None:
            return "ok", None
        code = next((int(found) for found in reversed(_CLIENT_END.findall(text))), 0)
        # The status of a client that came to its end is the number of kernels that failed their check.
        n_failed = min(len(_FAILED_ROW.findall(text.rpartition("\nrun,problem-progress,")[2])), 255)
        if code > 128 and code != n_failed and result.outcome in ("ok", "crash"):
            fault = memory_fault_line(text)
            message = f"the client ended with code {code}" + (f": {fault}" if fault else "")
            return ("memory_fault" if fault else "crash"), message
        return result.outcome, result.message

    def _verdict(
        self, result: ProcessResult | None, reading: TuneReading, text: str
    ) -> tuple[str, str | None]:
        notes = list(reading.notes)
        failed = reading.counts.get("verify_failed", 0)
        if failed:
            notes.insert(0, f"{failed} of {sum(reading.counts.values())} results failed their check")
        outcome, message = self._how(result, text)
        if self.folder.logic:
            if self.rates:
                notes.append("the library logic holds GFLOP/s in place of efficiencies: no clock is known")
            if self.salvaged:
                notes.insert(0, f"ended early ({message}): the best of the kernels that were timed before")
            elif outcome != "ok":
                notes.insert(0, f"Tensile ended badly ({message}), but its results are complete")
            return "ok", "; ".join(notes) or None
        if outcome == "ok":
            why = "Tensile ended well, but left no library logic"
            return "parse_error", "; ".join([f"{why}: {last_line(text)}", *notes])
        if outcome == "crash" and _NOTHING.search(text[-20000:]):
            outcome = "no_solution"
        elif outcome == "crash" and failed and not reading.n_timed and self.folder.has_results:
            outcome = "verify_failed"
        kept = f"{reading.n_timed} timed kernels are kept" if reading.n_timed else "no kernel was timed"
        return outcome, "; ".join([message or outcome, kept, *notes])

    def _files(self) -> pa.Table | None:
        """Library logic and the table of generations: ``path`` relative to the build folder, and ``content``."""
        paths = [*self.folder.logic, *sorted(self.folder.path.glob("*optimization.log"))]
        rows = [
            {
                "path": path.relative_to(self.folder.path).as_posix(),
                "content": path.read_text(encoding="utf-8", errors="replace"),
            }
            for path in paths
        ]
        return pa.Table.from_pylist(rows, schema=FILES) if rows else None


def tensile_env(
    root: HipblasltRoot, spec: TuneSpec, env: Mapping[str, str], build: Path | None = None
) -> dict[str, str]:
    """Variables for Tensile on top of the inherited ones: where its packages are, and what the chip needs.

    Args:
        root: the checkout.
        spec: of the job.
        env: what is inherited.
        build: folder of the client's build.
    """
    added = {
        "PYTHONPATH": root.tensile_python_path(env.get("PYTHONPATH", ""), build=build),
        **dict(get_arch(spec.arch).env),
    }
    if root.is_simulated:
        # The draw of the noise belongs to the config: who runs it when doesn't matter.
        added["GEKO_SIM_NONCE"] = spec.config_id
    return added


def _text_from(path: Path, begin: int) -> str:
    try:
        with path.open("rb") as handle:
            handle.seek(begin)
            data = handle.read()
    except OSError:
        return ""
    return data.decode("utf-8", "replace").replace("\x00", "\ufffd").replace("\r\n", "\n")
