"""The warehouse: one DuckDB file with everything that was measured, and the only door to it."""

from __future__ import annotations

from geko.warehouse.maintenance import CheckFinding, PruneOptions
from geko.warehouse.scratch import Scratch
from geko.warehouse.steps import Append, Statement, Step
from geko.warehouse.warehouse import Warehouse, utc_now

__all__ = ["Append", "CheckFinding", "PruneOptions", "Scratch", "Statement", "Step", "Warehouse", "utc_now"]
