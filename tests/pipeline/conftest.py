"""All tests here use one folder of simulated roots."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def same_roots(simulated_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(simulated_cache))
    monkeypatch.delenv("GEKO_SIM_FAULTS", raising=False)
