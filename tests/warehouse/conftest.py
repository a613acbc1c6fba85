"""Fixtures of `warehouse_support`, which the tests beside it import too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from warehouse_support import bench, clock, make, template

__all__ = ["bench", "clock", "make", "template"]
