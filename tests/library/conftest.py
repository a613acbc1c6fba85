"""Lets the tests of this folder import their sample maker; warehouses without the seconds that making the views takes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from geko.warehouse import Warehouse

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def empty_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse file with nothing in it."""
    path = tmp_path_factory.mktemp("empty") / "w.duckdb"
    with Warehouse.open(path):
        pass
    return path


@pytest.fixture
def fixed(empty_warehouse: Path) -> Callable[[Path], Warehouse]:
    """Opens a new warehouse whose clock stands still."""

    def open_new(path: Path) -> Warehouse:
        shutil.copy(empty_warehouse, path)
        return Warehouse.open(path, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    return open_new
