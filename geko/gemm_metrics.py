"""Work, traffic and shape classes of GEMMs; re-exported from :mod:`geko.domain.metrics`."""

from __future__ import annotations

from geko.domain.metrics import arithmetic_intensity, bytes_moved, categorize, categorize_2, flop_count

__all__ = ["arithmetic_intensity", "bytes_moved", "categorize", "categorize_2", "flop_count"]
