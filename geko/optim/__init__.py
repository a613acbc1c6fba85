"""New kernels: write tuning configs, run them on all GPUs, compare what comes out with the stock library.

    from geko import optim

    optim.configure(hipblaslt_path, gemm_config, "workdir/optimizations", arch="gfx950")
    optim.run(hipblaslt_path, "workdir/optimizations", devices=[0, 1])
    kept = optim.analyze(hipblaslt_path, "workdir/merged_libs", "workdir/results")

Every measurement goes into the warehouse (``$GEKO_DB``, else ``./geko.duckdb``; argument ``db``). The command line does
the same in one go: ``geko tune``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.optim.optim import analyze, configure, run

__all__ = ["analyze", "configure", "run"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("geko.optim.optim"), name)
    if name in ("optim", "utils"):
        return importlib.import_module(f"geko.optim.{name}")
    raise AttributeError(f"module 'geko.optim' has no attribute {name!r}")
