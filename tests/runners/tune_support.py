"""A small tuning config, claims for it, and a context to run them."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.domain.identity import content_id
from geko.runners.base import RunContext
from geko.runners.tensilelite import TensileliteRunner
from geko.simulator import make_root
from geko.warehouse.queue import Claim, JobResult

SIZES = ((1024, 512, 1, 2048), (4096, 4096, 1, 1024))
TILES = ("16, 16, 16, 1, 1, 4, 4, 2, 2", "16, 16, 16, 1, 1, 8, 8, 2, 2", "32, 32, 8, 1, 1, 2, 2, 2, 2")


def config(
    *,
    sizes: tuple[tuple[int, int, int, int], ...] = SIZES,
    ductile: dict[str, int] | None = None,
    settings: dict[str, Any] | None = None,
    depths: tuple[int, ...] = (32, 64),
) -> str:
    """A tuning config of bf16 TN on gfx942, with Ductile's options or as a grid."""
    given = {
        "Device": 7,
        "NumElementsToValidate": 128,
        "NumWarmups": 20,
        "EnqueuesPerSync": 10,
        **(settings or {}),
    }
    lines = [
        "GlobalParameters: {" + ", ".join(f"{name}: {value}" for name, value in given.items()) + "}",
        "BenchmarkProblems:",
        "- - {OperationType: GEMM, DataType: B, DestDataType: B, ComputeDataType: S, HighPrecisionAccumulate: True,",
        "     TransposeA: True, TransposeB: False, UseBeta: True, Batched: True}",
        "  - InitialSolutionParameters:",
        "    BenchmarkCommonParameters:",
        "    - KernelLanguage: [Assembly]",
        "    ForkParameters:",
        "    - GlobalReadVectorWidthA: [4, 8]",
        "    - GlobalReadVectorWidthB: [4, 8]",
        f"    - WorkGroupMapping: {[1, 2, 4, 6, 8, 12, 16, 24, 32] if ductile else [4, 8, 16]}",
        "    - PrefetchGlobalRead: [2]",
        "    - StaggerU: [0]",
        "    - Groups:",
    ]
    entries = [f"{{MatrixInstruction: [{tile}], DepthU: {depth}}}" for tile in TILES for depth in depths]
    lines += [f"      {'- ' if at == 0 else '  '}- {entry} # macro tile" for at, entry in enumerate(entries)]
    lines += [
        "    BenchmarkFinalParameters:",
        "    - ProblemSizes:",
        *(f"      - Exact: {list(size)}" for size in sizes),
        "    - BiasTypeArgs: [B]",
        "LibraryLogic: {ScheduleName: aquavanjaram, ArchitectureName: gfx942, DeviceNames: [Device 0049, Device 0050]}",
    ]
    if ductile is not None:
        options = ", ".join(f"{name}: {value}" for name, value in ductile.items())
        lines += ["Backend:", "  Name: Ductile", f"  Config: {{{options}}}"]
    return "\n".join(lines) + "\n"


def problem_id(size: tuple[int, int, int, int]) -> str:
    """An id that stands for a size."""
    return content_id("problem", str(size))


@dataclass
class Bench:
    """A place to tune at."""

    root: Path
    folder: Path
    progress: list[dict[str, Any]] = field(default_factory=list)

    def claim(self, text: str | None = None, *, attempt: int = 1, kind: str = "tune", **spec: Any) -> Claim:
        """A claim on a config."""
        sizes = spec.pop("sizes", SIZES)
        yaml = config(sizes=sizes) if text is None else text
        content = {
            "harness": "tensilelite", "config_id": content_id("tuning_config", yaml), "name": "BBS_TN_0",
            "backend": "ductile" if "Ductile" in yaml else "tensile", "arch": "gfx942", "root": str(self.root),
            "yaml": yaml, "problem_ids": [problem_id(size) for size in sizes], "sizes": [list(size) for size in sizes],
            "build_dir": str(self.folder / "client"), "tuning_dir": str(self.folder / "optimizations"), **spec,
        }  # fmt: skip
        job = content_id("job", content["config_id"])
        return Claim(job, attempt, str(uuid.uuid4()), kind, "tune", 120.0, json.dumps(content))

    def context(self, **env: str) -> RunContext:
        """A context of its own; faults count anew."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GEKO_SIM")}
        state = self.folder / "state" / uuid.uuid4().hex
        return RunContext(
            ordinal=1, device_id=str(uuid.UUID(int=7)), runner="test", workdir=self.folder / "work", simulated=True,
            grace_s=0.5, env={**clean, "GEKO_SIM_STATE": str(state), "GEKO_SIM_KERNELS": "400", **env}, cpu_threads=1,
            progress=lambda rows: self.progress.extend(rows.to_pylist()),
        )  # fmt: skip

    def run(self, claim: Claim | None = None, **env: str) -> JobResult:
        """Run one claim."""
        (result,) = TensileliteRunner().run([claim or self.claim()], self.context(**env))
        return result

    @property
    def build(self) -> Path:
        """Folder of the job."""
        return self.folder / "optimizations/build_BBS_TN_0"

    def logic(self, result: JobResult) -> dict[str, str]:
        """Library logic of a result by file name."""
        assert result.files is not None
        rows = result.files.to_pylist()
        return {row["path"]: row["content"] for row in rows if row["path"].startswith("3_LibraryLogic/")}


def make_bench(root: Path, folder: Path) -> Bench:
    """A bench at a root."""
    return Bench(root, folder)


def tuning_root(folder: Path) -> Path:
    """A simulated root for tuning."""
    return make_root(folder / "hipblaslt", arch="gfx942", devices=2)
