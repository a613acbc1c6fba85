"""What lies in a tuning folder: its configs, how far each is, and how much work it is."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from geko.errors import InputError, MissingFileError

BuildState = Literal["missing", "running", "completed", "resumable", "failed"]
_NUMBER = re.compile(r"_(\d+)$")
_POPULATION = 512


def list_optimization_configs(tuning_dir: str | Path) -> list[Path]:
    """Tuning configs of a folder by their trailing number; files without matrix instructions are none."""
    folder = Path(tuning_dir)
    if not folder.is_dir():
        raise MissingFileError("no such folder of tuning configs", path=folder)
    found = [
        path
        for path in folder.glob("*.yaml")
        if "MatrixInstruction" in path.read_text(encoding="utf-8", errors="replace")
    ]

    def order(path: Path) -> tuple[int, str]:
        number = _NUMBER.search(path.stem)
        return (int(number[1]) if number else -1, path.name)

    return sorted(found, key=order)


def build_state(build_dir: str | Path) -> BuildState:
    """How far the tuning in a ``build_<config>`` folder is.

    Raises:
        InputError: several checkpoints.
    """
    folder = Path(build_dir)
    if not folder.is_dir():
        return "missing"
    if (folder / ".running").exists():
        return "running"
    logic = folder / "3_LibraryLogic"
    if logic.is_dir() and any(logic.iterdir()):
        return "completed"
    checkpoints = list(folder.rglob("*.checkpoint"))
    if len(checkpoints) > 1:
        raise InputError("more than one checkpoint: remove all but the one to go on from", path=folder)
    return "resumable" if checkpoints else "failed"


def check_progress(tuning_dir: str | Path) -> tuple[int, int, int]:
    """Configs of a folder: in all, completed, failed."""
    folder = Path(tuning_dir)
    states = [build_state(folder / f"build_{path.stem}") for path in list_optimization_configs(folder)]
    return len(states), states.count("completed"), states.count("failed")


def estimate_workload(config: str | Path) -> float:
    """A relative figure for the work of a config: operations times launches times population.

    Args:
        config: a tuning config.

    Raises:
        InputError: it is none.
    """
    from geko.config_generator.read_config import read_config

    path = Path(config)
    facts = read_config(path.read_text(encoding="utf-8"), path)
    protocol: Any = facts.protocol
    flops = sum(2.0 * m * n * b * k for m, n, b, k in facts.sizes) / 1e9
    launches = (protocol.iters or 1) + (protocol.cold_iters or 0)
    population: float = _POPULATION
    if facts.tiles > _POPULATION:
        population = facts.tiles * 1.05
    else:
        for _ in range(2):
            if facts.tiles < population / 5:
                population /= 2
    if facts.backend == "tensile":
        population = float(facts.kernels)
    return math.fsum([flops * launches * population])


def clean_failed_build(build_dir: str | Path) -> None:
    """Remove what a failed tuning left, but for its checkpoint."""
    folder = Path(build_dir)
    if not folder.is_dir():
        return
    keep = set(folder.rglob("*.checkpoint"))
    if not keep:
        shutil.rmtree(folder)
        return
    for path in sorted(folder.rglob("*"), key=lambda path: len(path.parts), reverse=True):
        if path in keep or any(path in other.parents for other in keep):
            continue
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def write_device_scripts(
    tuning_dir: str | Path, devices: Sequence[int]
) -> list[tuple[Path, list[str], float]]:
    """Deal the configs of a folder out to devices: the largest goes to the device with the least work so far.

    Args:
        tuning_dir: folder of configs with their ``.sh`` files.
        devices: device ordinals.

    Returns:
        For each device its script ``run_device_<n>.sh``, the names of its configs, and its share of the work (0 to 1).

    Raises:
        InputError: no config, or one without a script.
    """
    from geko.fsio import write_text_atomic

    folder = Path(tuning_dir)
    configs = list_optimization_configs(folder)
    if not configs:
        raise InputError("no tuning configs: `geko configure` writes them", path=folder)
    for path in configs:
        if not path.with_suffix(".sh").is_file():
            raise InputError(
                "the config has no shell script: write them with `geko configure --scripts`", path=path
            )
    work = {path: estimate_workload(path) for path in configs}
    load = dict.fromkeys(devices, 0.0)
    names: dict[int, list[str]] = {device: [] for device in devices}
    for path in sorted(configs, key=lambda path: (-work[path], path.name)):
        device = min(devices, key=lambda device: (load[device], device))
        load[device] += work[path]
        names[device].append(path.stem)
    total = math.fsum(work.values())
    out = []
    for device in devices:
        script = folder / f"run_device_{device}.sh"
        lines = ["#!/bin/bash", 'cd "$(dirname "$0")"', "failed=0"]
        lines += [f"./{name}.sh {device} || failed=$((failed + 1))" for name in names[device]]
        lines += [f'echo "device {device}: $failed of {len(names[device])} failed"', '[ "$failed" -eq 0 ]']
        write_text_atomic(script, "\n".join(lines) + "\n")
        script.chmod(0o755)
        out.append((script, names[device], load[device] / total if total else 0.0))
    return out
