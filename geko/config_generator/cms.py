"""Custom main loop schedules (gfx950): kernels with a hand-written loop, as entries of the macro-tile
dimension."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geko.config_generator.fork_params.optimization_param import Entry
from geko.config_generator.fork_params.param_meta import PARAMETERS, is_legal
from geko.errors import InputError, MissingFileError
from geko.log import logger

#: Data type to the class under which schedules are registered.
DTYPE_CLASS = {"H": "16bit", "B": "16bit", "X": "TF32", "F8": "8bit"}

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
