"""The warehouse: one DuckDB file with everything that was measured, and the only door to it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.warehouse.maintenance import CheckFinding, PruneOptions
    from geko.warehouse.scratch import Scratch
    from geko.warehouse.steps import Append, Statement, Step
    from geko.warehouse.warehouse import Warehouse, utc_now

__all__ = ["Append", "CheckFinding", "PruneOptions", "Scratch", "Statement", "Step", "Warehouse", "utc_now"]

_MODULES = {
    "Append": "steps", "CheckFinding": "maintenance", "PruneOptions": "maintenance", "Scratch": "scratch",
    "Statement": "steps", "Step": "steps", "Warehouse": "warehouse", "utc_now": "warehouse",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Runners are clients of the file: they need no DuckDB, which takes long to load.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
