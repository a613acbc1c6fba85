"""Custom main loop schedules (gfx950): kernels with a hand-written loop, as entries of the macro-tile
dimension."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geko.config_generator.fork_params.optimization_param import Entry
from geko.config_generator.fork_params.param_meta import PARAMETERS, is_legal
from geko.errors import InputError, MissingFileError
from geko.hipblaslt import HipblasltRoot
from geko.log import logger

#: Data type to the class under which schedules are registered.
DTYPE_CLASS = {"H": "16bit", "B": "16bit", "X": "TF32", "F8": "8bit"}

# Prints the registry. A process of its own: importing tensilelite takes seconds, and compiled code can end the process.
_ASK = """
import importlib, json
found = None
for place in ("Tensile.Components.CustomSchedule", "tensilelite.Components.CustomSchedule",
              "Tensile.Components.CustomSchedule.dispatch", "tensilelite.Components.CustomSchedule.dispatch"):
    try:
        found = getattr(importlib.import_module(place), "query_cms_kernels", None)
    except ModuleNotFoundError as error:
        if error.name is None or not place.startswith(error.name):
            raise
    if found is not None:
        break
if found is None:
    raise SystemExit("it has no registry of custom main loop schedules")
print("\\n" + json.dumps({"schedules": found()}, default=lambda value: getattr(value, "value", None) or list(value)))
"""
_ASK_S = 300.0
_REQUIRED = ("MacroTile0", "MacroTile1", "MatrixInstruction", "MIWaveGroup")


def to_entry(kernel: Mapping[str, Any]) -> Entry:
    """Group entry of a schedule's kernel: its 9-number instruction and every parameter tensilelite lets a
    config set.

    Args:
        kernel: with ``MacroTile0/1``, ``MatrixInstruction`` (4 numbers), ``MIWaveGroup`` (2 numbers), and
        parameters.

    Raises:
        InputError: a field is missing or the numbers don't make a macro tile.
    """
    missing = [name for name in _REQUIRED if name not in kernel]
    if missing:
        raise InputError(f"schedule lacks {', '.join(missing)}", value=kernel.get("name"))
    m, n, k, blocks = (int(number) for number in kernel["MatrixInstruction"])
    wg0, wg1 = (int(number) for number in kernel["MIWaveGroup"])
    wtm, rest0 = divmod(int(kernel["MacroTile0"]), m * wg0)
    wtn, rest1 = divmod(int(kernel["MacroTile1"]), n // blocks * wg1)
    if rest0 or rest1 or not wtm or not wtn:
        raise InputError("the macro tile of a schedule isn't a multiple of its waves", value=dict(kernel))
    entry: Entry = {"MatrixInstruction": [m, n, k, blocks, 1, wtm, wtn, wg0, wg1]}
    for name, value in kernel.items():
        if name in _REQUIRED or name not in PARAMETERS:
            continue
        kind = type(PARAMETERS[name].legal[0])
        try:
            typed = kind(value)
        except (TypeError, ValueError):
            logger.warning("schedule %s: %s has the value %r, left out", kernel.get("name"), name, value)
            continue
        if not is_legal(name, typed):
            logger.warning(
                "schedule %s: %s has the illegal value %r, left out", kernel.get("name"), name, value
            )
            continue
        entry[name] = typed
    entry["UseCustomMainLoopSchedule"] = 1
    return entry


def entries(kernels: Iterable[Mapping[str, Any]], data_type: str, trans_a: str, trans_b: str) -> list[Entry]:
    """Distinct entries of the schedules for a data type and a layout; only T counts as transposed."""
    wanted = DTYPE_CLASS.get(data_type)
    found: dict[str, Entry] = {}
    for kernel in kernels:
        if wanted is None or kernel.get("dtype", wanted) != wanted:
            continue
        layout = (bool(kernel.get("TransposeA", True)), bool(kernel.get("TransposeB", False)))
        if layout == (trans_a == "T", trans_b == "T"):
            entry = to_entry(kernel)
            found.setdefault(json.dumps(entry, sort_keys=True), entry)
    return list(found.values())


def registry(hipblaslt: str | Path) -> list[dict[str, Any]]:
    """Schedules of a checkout, from the registry of its tensilelite (``query_cms_kernels``).

    Without one that can be imported, tensilelite still takes a schedule where one fits a tile by chance; their own tiles
    are missing from the configs then, which a warning says.

    Args:
        hipblaslt: root of the checkout.

    Returns:
        The schedules; none where there is no registry, or it can't be imported.
    """
    root = HipblasltRoot(Path(hipblaslt).absolute())
    env = dict(os.environ)
    env["PYTHONPATH"] = root.tensile_python_path(env.get("PYTHONPATH", ""))
    try:
        done = subprocess.run(
            [sys.executable, "-c", _ASK], env=env, capture_output=True, text=True, timeout=_ASK_S, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
        said = done.stdout.rstrip().rpartition("\n")[2]
        found = json.loads(said)["schedules"] if done.returncode == 0 else None
        reason = (done.stderr.strip() or f"exit status {done.returncode}").rpartition("\n")[2]
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError) as error:
        found, reason = None, str(error)
    if isinstance(found, list) and all(isinstance(item, dict) for item in found):
        logger.info("%d custom main loop schedules are registered in %s", len(found), root.path)
        return found
    logger.warning(
        "the custom main loop schedules of %s can't be read (%s): configs are made without their tiles; install "
        "tensilelite's requirements (`geko doctor` checks them), or set CMS to False",
        root.path, reason,
    )  # fmt: skip
    return []


def read_kernels(path: str | Path) -> list[dict[str, Any]]:
    """Schedules from a JSON file, a list of mappings as tensilelite's registry gives them.

    Raises:
        MissingFileError: no such file.
        InputError: not a list of mappings.
    """
    try:
        kernels = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise MissingFileError("no such list of schedules", path=path) from error
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from error
    if not isinstance(kernels, list) or not all(isinstance(kernel, dict) for kernel in kernels):
        raise InputError("a list of schedules is a JSON list of mappings", path=path)
    return kernels
