"""A database that the tests of this folder share: binding its views takes most of the time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from geko.warehouse.scratch import Scratch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def verdict_scratch() -> Iterator[Scratch]:
    with Scratch(threads=1) as opened:
        yield opened
