"""Fixtures of `docs_support`, which the tests beside it import too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docs_support import small_run

__all__ = ["small_run"]
