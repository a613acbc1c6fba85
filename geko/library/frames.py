"""Frames of any make in, rows out: polars, pandas, or anything with the Arrow PyCapsule interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from geko.errors import InputError


def to_polars(frame: Any) -> pl.DataFrame:
    """The frame as polars; the caller's own is never changed.

    Args:
        frame: polars, pandas (with or without pyarrow types), a pyarrow table, an Arrow PyCapsule object, or
            a list of mappings.

    Raises:
        InputError: none of these.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if hasattr(frame, "to_dict") and type(frame).__module__.startswith("pandas"):
        return pl.DataFrame({str(name): frame[name].to_list() for name in frame.columns}, strict=False)
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return pl.DataFrame(frame)
    if isinstance(frame, list):
        return pl.DataFrame(frame)
    raise InputError("not a frame: give a polars or pandas frame or Arrow data", value=type(frame).__name__)


def require_columns(frame: pl.DataFrame, names: Iterable[str], message: str) -> None:
    """Refuse a frame that lacks columns.

    Args:
        frame: the frame.
        names: columns needed.
        message: what to say; ``{missing}`` is filled in.

    Raises:
        InputError: a column is missing.
    """
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(message.format(missing=", ".join(missing)))
