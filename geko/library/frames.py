"""Frames of any make in, rows out: polars, pandas, or anything with the Arrow PyCapsule interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
import pyarrow as pa

from geko.errors import InputError, UsageError
from geko.frames import from_frame


def to_polars(frame: Any) -> pl.DataFrame:
    """The frame as polars; the caller's own is never changed.

    Args:
        frame: whatever :func:`geko.frames.from_frame` takes (pandas with or without pyarrow types, Arrow, an
            Arrow PyCapsule object, a list of mappings), or polars, lazy or not.

    Raises:
        InputError: none of these, or a column that holds values of several kinds.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    try:
        found = pl.from_arrow(from_frame(frame))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"a column of this frame holds values of several kinds: {error}") from error
    except UsageError as error:
        raise InputError(str(error)) from error
    assert isinstance(found, pl.DataFrame)
    return found


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
