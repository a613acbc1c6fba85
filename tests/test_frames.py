"""Frames in and out of the Python API."""

from __future__ import annotations

import importlib.util

import polars as pl
import pyarrow as pa
import pytest

from geko.errors import UsageError
from geko.frames import from_frame, to_frame

TABLE = pa.table({"m": [1, 2], "name": ["a", None]})


def test_polars_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEKO_FRAMES", raising=False)
    frame = to_frame(TABLE)
    assert isinstance(frame, pl.DataFrame)
    assert from_frame(frame).to_pylist() == TABLE.to_pylist()


def test_pandas_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEKO_FRAMES", "pandas")
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(UsageError, match=r"geko\[pandas\]"):
            to_frame(TABLE)
        return
    frame = to_frame(TABLE)
    assert type(frame).__module__.startswith("pandas")
    assert from_frame(frame)["m"].to_pylist() == [1, 2]


def test_other_inputs_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_frame(TABLE) is TABLE
    assert from_frame([{"m": 1}, {"m": 2, "k": 3}]).to_pylist() == [{"m": 1, "k": None}, {"m": 2, "k": 3}]
    assert from_frame({"m": [1]}).to_pylist() == [{"m": 1}]
    with pytest.raises(UsageError, match="not a frame: int"):
        from_frame(3)
    with pytest.raises(UsageError, match="mappings"):
        from_frame([1])
    monkeypatch.setenv("GEKO_FRAMES", "excel")
    with pytest.raises(UsageError, match="polars or pandas"):
        to_frame(TABLE)
