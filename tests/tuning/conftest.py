"""Stand-ins of their own for these tests, with few kernels a tuning job."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "geko-cache"))
        patch.setenv("GEKO_SIM_KERNELS", "64")
        patch.delenv("GEKO_SIM_FAULTS", raising=False)
        yield
