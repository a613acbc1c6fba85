"""A search under the rule of the original, whose figures can be recomputed from its comparison alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from search_support import Searched

from geko.pipeline import run_search


@pytest.fixture(scope="session")
def pointed(searched: Searched, tmp_path_factory: pytest.TempPathFactory, simulated_cache: Path) -> Searched:
    """The shared search again with ``--rule point``, in a warehouse of its own that knows its baselines and its search."""
    base = tmp_path_factory.mktemp("pointed")
    shutil.copyfile(searched.db, base / "g.duckdb")
    options = replace(searched.options, workdir=base / "out", rule="point", rounds=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(simulated_cache))
        patch.delenv("GEKO_SIM_FAULTS", raising=False)
        result = run_search(base / "g.duckdb", searched.source, options, verbose=0)
    return Searched(base / "g.duckdb", searched.log, base / "out", result)
