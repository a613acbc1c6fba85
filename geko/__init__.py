"""GEKO: GEMM kernel optimizer for AMD GPUs.

Every log row, baseline, candidate kernel and benchmark result lives in one DuckDB file, the warehouse
(:mod:`geko.warehouse`). The submodules named by the public API load on first use, so that ``import geko``
and ``geko --help`` stay fast.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__version__ = "0.1.0"

_SUBMODULES = frozenset(
    {
        "bench",
        "constants",
        "export",
        "ingest",
        "library",
        "optim",
        "pipeline",
        "schemas",
        "utils",
        "warehouse",
    }
)


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"geko.{name}")
    raise AttributeError(f"module 'geko' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SUBMODULES | {"__version__"})
