"""What a tuning job is to do, and the folder that it works in."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geko.domain.arch import get_arch
from geko.errors import InputError
from geko.fsio import file_lock, write_text_atomic
from geko.log import logger

_EXACT = re.compile(r"^[^#\n]*?\bExact:\s*\[([\d\s,]+)\]", re.MULTILINE)
_NAME = re.compile(r"[\w.+-]+")
_MARK = "geko-job.json"
CHECKPOINT = "*.checkpoint"
LOGIC = "3_LibraryLogic"
DATA = "2_BenchmarkData"
KERNELS = "1_BenchmarkProblems"
RUNNING = ".running"


@dataclass(frozen=True, slots=True)
class TuneSpec:
    """``job_spec.spec`` of a tuning job (see docs/architecture.md).

    Attributes:
        config_id: row of table ``tuning_config``.
        name: name of the config; files and folders are called after it.
        backend: ``"ductile"`` or ``"tensile"``.
        arch: architecture key, such as ``gfx942_80cu``.
        root: hipBLASLt root with tensilelite.
        yaml: the config.
        problem_ids: one for each size, in order.
        sizes: [M, N, batch, K], in order; read from the text where the job doesn't say.
        build_dir: folder of the tensilelite client; None for the user's cache.
        tuning_dir: folder that holds ``build_<name>``; None for the user's cache.
        stall_timeout_s: seconds without output that count as a hang; None for 900, 0 for never.
        abort_after: failures in a row after which the runner gives up; 0 for never.
        max_attempts: attempts that the job gets.
    """

    config_id: str
    name: str
    backend: str
    arch: str
    root: str
    yaml: str
    problem_ids: tuple[str, ...]
    sizes: tuple[tuple[int, int, int, int], ...]
    build_dir: Path | None = None
    tuning_dir: Path | None = None
    stall_timeout_s: float | None = None
    abort_after: int = 0
    max_attempts: int = 3

    @classmethod
    def parse(cls, text: str) -> TuneSpec:
        """Read the JSON of a job.

        Raises:
            InputError: if it is no JSON, or something is missing or makes no sense.
        """
        try:
            found: dict[str, Any] = json.loads(text)
            config = str(found["yaml"])
            given = found.get("sizes") or _sizes_of(config)
            spec = cls(
                config_id=str(found["config_id"]),
                name=str(found["name"]),
                backend=str(found["backend"]),
                arch=str(found["arch"]),
                root=found.get("root") or "",
                yaml=config,
                problem_ids=tuple(str(item) for item in found["problem_ids"]),
                sizes=tuple((int(m), int(n), int(batch), int(k)) for m, n, batch, k in given),
                build_dir=_path(found.get("build_dir")),
                tuning_dir=_path(found.get("tuning_dir")),
                stall_timeout_s=found.get("stall_timeout_s"),
                abort_after=int(found.get("abort_after") or 0),
                max_attempts=int(found.get("max_attempts") or 3),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"a tuning job's spec can't be read: {error!r}", value=text[:500]) from None
        get_arch(spec.arch)
        if not _NAME.fullmatch(spec.name):
            raise InputError("a config's name must do as a file name", value=spec.name)
        if not spec.sizes or len(spec.sizes) != len(spec.problem_ids):
            raise InputError(
                f"a tuning job needs one problem per size, but has {len(spec.problem_ids)} problems for "
                f"{len(spec.sizes)} sizes",
                value=spec.name,
            )
        return spec

    def setting(self, name: str, default: int) -> int:
        """A whole number or a switch of ``GlobalParameters``; the default where it isn't set."""
        match = re.search(
            rf"^[^#\n]*?\b{name}:\s*(-?\d+|true|false)", self.yaml, re.MULTILINE | re.IGNORECASE
        )
        if match is None:
            return default
        text = match[1].lower()
        return int(text == "true") if text in ("true", "false") else int(text)


def _n_lines(path: Path) -> int:
    with path.open("rb") as handle:
        return sum(1 for line in handle if line.strip())


def _has_clock(path: Path) -> bool:
    """Whether every row of a result table has a clock (column ``DeviceMaxFreq``) that isn't zero or nan."""
    with path.open(encoding="utf-8", errors="replace") as handle:
        rows = csv.DictReader(handle, skipinitialspace=True)
        try:
            return all(0 < float(row["DeviceMaxFreq"]) < math.inf for row in rows)
        except (KeyError, ValueError, TypeError):
            return False


def _path(value: Any) -> Path | None:
    return Path(str(value)) if value else None


def _sizes_of(text: str) -> list[list[int]]:
    rows = ([int(part) for part in found.split(",") if part.strip()] for found in _EXACT.findall(text))
    return list(map(list, dict.fromkeys(tuple(row[:4]) for row in rows)))


@dataclass(slots=True)
class BuildFolder:
    """``build_<name>``: where Tensile works, and what it needs to go on after it was killed.

    Attributes:
        path: the folder.
        spec: the job's spec.
        job_id: the job. A folder of another job is emptied, one that GEKO didn't make is moved aside.
    """

    path: Path
    spec: TuneSpec
    job_id: str

    @classmethod
    def of(cls, spec: TuneSpec, job_id: str, env: Mapping[str, str]) -> BuildFolder:
        """The folder of a job."""
        if spec.tuning_dir is not None:
            return cls(spec.tuning_dir.absolute() / f"build_{spec.name}", spec, job_id)
        base = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(base / "geko" / "tuning" / f"build_{spec.name}_{job_id[:8]}", spec, job_id)

    @property
    def config(self) -> Path:
        """The config as Tensile reads it."""
        return self.path / f"{self.spec.name}.yaml"

    @property
    def log(self) -> Path:
        """All that Tensile printed."""
        return self.path / f"{self.spec.name}-tensilelite.log"

    @property
    def logic(self) -> list[Path]:
        """Library logic that was written; files without a solution, which an empty result table leads to, don't count."""
        return [
            path
            for path in sorted((self.path / LOGIC).glob("*.y*ml"))
            if b"SolutionIndex" in path.read_bytes()
        ]

    @property
    def tables(self) -> list[Path]:
        """Result tables: the copies of finished benchmarks, else those of benchmarks that run."""
        done = sorted((self.path / DATA).glob("*.csv"))
        return done or sorted(self.path.glob(f"{KERNELS}/*/Data/00_Final.csv"))

    @property
    def has_results(self) -> bool:
        """The benchmark has ended: another call goes on with the library logic.

        Tensile copies the client's table whatever became of the client, so that it may be empty or cut.
        """
        needed = len(self.spec.sizes)
        return any(_n_lines(path) > needed for path in (self.path / DATA).glob("*.csv"))

    @property
    def has_clock(self) -> bool:
        """The result tables hold the GPU's clock. Without, tensilelite asks at its terminal whether it may file rates in
        place of efficiencies (``UseEffLike``), and dies where there is none."""
        return all(_has_clock(path) for path in (self.path / DATA).glob("*.csv"))

    @property
    def has_checkpoint(self) -> bool:
        """Ductile can go on from a generation."""
        return any(self.path.rglob(CHECKPOINT))

    @contextlib.contextmanager
    def locked(self, stop: threading.Event) -> Iterator[int]:
        """The folder for one process at a time; yields a descriptor for the program to inherit.

        A program that outlived its runner holds it until it has ended.

        Raises:
            Interrupted: if ``stop`` is set before it is free.
        """
        with file_lock(self.path.with_name(f".{self.path.name}.lock"), stop, str(self.path)) as handle:
            yield handle

    def prepare(self) -> int:
        """Make it ready: keep what an earlier attempt can go on from, remove the rest.

        Returns:
            Bytes of the log whose results were delivered before.
        """
        mark = self._mark()
        if mark is None and self.path.exists() and any(self.path.iterdir()):
            self._move_aside()
            mark = {}
        reported = int((mark or {}).get("reported") or 0)
        if not mark or mark.get("job_id") != self.job_id:
            shutil.rmtree(self.path, ignore_errors=True)
            reported = 0
        elif not (self.logic or self.has_results):
            self._clean()
        self.path.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.config, self.spec.yaml)
        self._write_mark(reported)
        if not self.log.is_file():
            return 0
        return min(reported, self.log.stat().st_size)

    def drop_results(self) -> None:
        """Remove the result tables."""
        shutil.rmtree(self.path / DATA, ignore_errors=True)

    def drop_kernels(self) -> None:
        """Remove the sources and code objects of all kernels: gigabytes that nobody needs once the winners are known."""
        shutil.rmtree(self.path / KERNELS, ignore_errors=True)

    def reported(self) -> None:
        """The log's results so far go to the warehouse: a later attempt doesn't tell them again."""
        self._write_mark(self.log.stat().st_size if self.log.is_file() else 0)

    def _write_mark(self, reported: int) -> None:
        content = {"job_id": self.job_id, "config_id": self.spec.config_id, "reported": reported}
        write_text_atomic(self.path / _MARK, json.dumps(content) + "\n")

    def _mark(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / _MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _clean(self) -> None:
        """Remove what a run that ended early left, less the checkpoint and the log."""
        keep = {self.log.name, _MARK}
        if self.has_checkpoint:
            keep |= {path.name for path in self.path.glob("*optimization.log")}
            keep |= {path.name for path in self.path.glob(CHECKPOINT)}
        for path in self.path.iterdir():
            if path.name in keep or any(path.rglob(CHECKPOINT)):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _move_aside(self) -> None:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.previous-{number}")).exists():
            number += 1
        logger.warning("%s was not made by GEKO: moved to %s", self.path, aside.name)
        self.path.rename(aside)
