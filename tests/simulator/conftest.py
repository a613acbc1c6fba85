"""A simulated root for the tests, and a way to run its hipblaslt-bench."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geko.simulator import make_root


@dataclass
class Output:
    """What a stand-in printed (both streams in one, as the original keeps them)."""

    text: str
    status: int

    @property
    def blocks(self) -> list[dict[str, str]]:
        """Result rows by column name, with ``rank`` and, where printed, ``index`` and ``solution``."""
        found: list[dict[str, str]] = []
        lines = self.text.splitlines()
        for at, line in enumerate(lines):
            header = re.match(r"\[(\d+)\]:(transA,.*)$", line)
            if header and at + 1 < len(lines) and lines[at + 1].startswith("    "):
                names, values = header[2].split(","), lines[at + 1].strip().split(",")
                if len(names) == len(values):
                    found.append({"rank": header[1], **dict(zip(names, values, strict=True))})
            for mark, key in (("    --Solution index: ", "index"), ("    --Solution name:  ", "solution")):
                if line.startswith(mark):
                    found[-1][key] = line.split(mark)[1]
        return found


@dataclass
class Bench:
    """Runs hipblaslt-bench of a simulated root."""

    root: Path
    folder: Path

    @staticmethod
    def row(m: int, n: int, k: int, **more: Any) -> dict[str, Any]:
        """A bf16 TN row."""
        types = {f"{x}_type": "bf16_r" for x in "abcd"}
        shape = {"M": m, "N": n, "K": k, "transA": "T", "transB": "N", **types, "compute_type": "c_f32_r"}
        return {**shape, "iters": 50, "cold_iters": 50, **more}

    def rows(self, *rows: dict[str, Any], device: int = 0, **env: str) -> Output:
        """A batch through ``--yaml``."""
        file = self.folder / "bench.yaml"
        text = "".join("- {" + ", ".join(f"{k}: {_yaml(v)}" for k, v in row.items()) + "}\n" for row in rows)
        file.write_text(text)
        return self.words("--yaml", str(file), "--device", str(device), **env)

    def words(self, *words: str, **env: str) -> Output:
        """A command line."""
        hidden = ("GEKO_SIM", "HIPBLASLT", "HIP_VIS", "ROCR")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        done = subprocess.run(
            [str(self.root / "build/release/clients/hipblaslt-bench"), *words],
            env={**clean, "GEKO_SIM_STATE": str(self.folder / "state"), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return Output(done.stdout.decode("utf-8", "replace"), done.returncode)


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(scope="session")
def sim_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated root of the example library."""
    return make_root(tmp_path_factory.mktemp("sim") / "root")


@pytest.fixture
def bench(sim_root: Path, tmp_path: Path) -> Bench:
    """hipblaslt-bench of ``sim_root``."""
    return Bench(sim_root, tmp_path)
