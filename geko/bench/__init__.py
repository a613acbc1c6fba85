"""Logs, benchmark output and baselines under the names of the original's API; submodules load on first use."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("log", "utils", "prune"):
        return importlib.import_module(f"geko.bench.{name}")
    if name in ("run", "compare"):
        return getattr(importlib.import_module("geko.bench.bench"), name)
    if name == "summarize":
        return importlib.import_module("geko.bench.log").summarize
    raise AttributeError(f"module 'geko.bench' has no attribute {name!r}")
