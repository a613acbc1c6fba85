"""Work, traffic and shape classes of GEMMs; re-exported from :mod:`geko.domain.metrics`."""

from __future__ import annotations

from geko.domain.metrics import (
    arithmetic_intensity,
    arithmetic_intensity_expr,
    bytes_moved,
    bytes_moved_expr,
    categorize,
    categorize_2,
    categorize_2_expr,
    categorize_expr,
    flop_count,
    flop_count_expr,
)

__all__ = [
    "arithmetic_intensity",
    "arithmetic_intensity_expr",
    "bytes_moved",
    "bytes_moved_expr",
    "categorize",
    "categorize_2",
    "categorize_2_expr",
    "categorize_expr",
    "flop_count",
    "flop_count_expr",
]
