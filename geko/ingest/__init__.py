"""Ingest: logs, lists, libraries and results of other tools into the warehouse.

from geko.ingest import ingest
reports = ingest(warehouse, ["rank0.yaml", "rank1.yaml"], workload="llama")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.ingest.dispatch import FileReport, ingest, ingest_rows

__all__ = ["FileReport", "ingest", "ingest_rows"]


def __getattr__(name: str) -> Any:
    # The parsers need pyarrow: it is loaded when something is read, not when the package is named.
    if name in __all__:
        from geko.ingest import dispatch

        return getattr(dispatch, name)
    raise AttributeError(name)
