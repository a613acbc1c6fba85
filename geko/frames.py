"""Frames of the Python API: polars, or pandas where ``GEKO_FRAMES=pandas``; inside, everything is Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

from geko.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

VARIABLE = "GEKO_FRAMES"


class _Missing(MetaPathFinder):
    """Finds some modules without a loader, as if they were not installed."""

    _names = frozenset(("numpy", "pandas"))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, None) if fullname in self._names else None


def without_numpy() -> None:
    """Keep numpy and pandas out of this process, where they aren't loaded yet.

    pyarrow loads them wherever they are installed, which takes longer than most commands need for all else. For
    the processes of GEKO, which have no use for them, not for those of users.
    """
    if not {"numpy", "pandas"} & sys.modules.keys():
        sys.meta_path.insert(0, _Missing())


def to_frame(table: pa.Table) -> Any:
    """An Arrow table as the frame that the user wants: polars, or pandas under ``GEKO_FRAMES=pandas``.

    Raises:
        UsageError: ``GEKO_FRAMES`` is neither, or pandas is not installed.
    """
    wanted = os.environ.get(VARIABLE, "polars").strip().lower() or "polars"
    if wanted == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if wanted != "pandas":
        raise UsageError(f"{VARIABLE} must be polars or pandas, not {wanted!r}")
    try:
        return table.to_pandas()
    except ImportError as error:
        raise UsageError(f"{VARIABLE}=pandas needs pandas: pip install 'geko[pandas]'") from error


def from_frame(frame: Any) -> pa.Table:
    """Any frame as an Arrow table.

    Args:
        frame: polars, pandas, Arrow, anything with the Arrow PyCapsule interface, a list of mappings (keys
            may differ from row to row) or a mapping of columns.

    Raises:
        UsageError: something else.
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, (list, tuple)):
        if not all(isinstance(row, Mapping) for row in frame):
            raise UsageError("a list of rows must hold mappings")
        names = dict.fromkeys(name for row in frame for name in row)
        return pa.table({str(name): [row.get(name) for row in frame] for name in names})
    if isinstance(frame, Mapping):
        return pa.table(dict(frame))
    # pandas keeps its index out of the columns only when asked.
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise UsageError(f"not a frame: {type(frame).__name__}; give polars, pandas, Arrow or a list of mappings")
