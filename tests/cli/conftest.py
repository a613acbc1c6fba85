"""Fixtures of `cli_support`, which the tests beside it import too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cli_support import finished, geko

__all__ = ["finished", "geko"]
