"""Rows as a table, JSON and CSV: every type, awkward values, streams."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from geko.cli.render import render

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
#: column → (Arrow array of one value and a null, the value in JSON, the value in CSV)
VALUES: dict[str, tuple[pa.Array, Any, str]] = {
    "integer": (pa.array([2**63 - 1, None]), 2**63 - 1, str(2**63 - 1)),
    "unsigned": (pa.array([2**64 - 1, None], pa.uint64()), 2**64 - 1, str(2**64 - 1)),
    "real": (pa.array([1.5, None]), 1.5, "1.5"),
    "whole real": (pa.array([3.0, None]), 3.0, "3.0"),
    "float": (pa.array([0.1, None], pa.float32()), 0.1, "0.1"),
    "nan": (pa.array([float("nan"), None]), None, "NaN"),
    "infinity": (pa.array([float("-inf"), None]), None, "-inf"),
    "truth": (pa.array([True, None]), True, "true"),
    "sum": (pa.array([Decimal(38544), None], pa.decimal128(38, 0)), 38544, "38544"),
    "decimal": (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), 1.5, "1.50"),
    "text": (pa.array(['a"b,\n\\ é×\x01', None]), 'a"b,\n\\ é×\x01', 'a"b,\n\\ é×\x01'),
    "moment": (pa.array([MOMENT, None], pa.timestamp("us", "UTC")), MOMENT.isoformat(), MOMENT.isoformat()),
    "naive": (
        pa.array([datetime(2026, 2, 3), None], pa.timestamp("us")),
        "2026-02-03T00:00:00.000000",
        "2026-02-03T00:00:00.000000",
    ),
    "nanoseconds": (
        pa.array([1, None], pa.timestamp("ns")),
        "1970-01-01T00:00:00.000000001",
        "1970-01-01T00:00:00.000000001",
    ),
    "for ever": (pa.array([2**63 - 1, None], pa.timestamp("us")), "infinity", "infinity"),
    "date": (pa.array([date(2026, 2, 3), None]), "2026-02-03", "2026-02-03"),
    "time": (pa.array([time(4, 5, 6), None]), "04:05:06.000000", "04:05:06.000000"),
    "duration": (pa.array([timedelta(hours=1), None]), "1:00:00", "1:00:00"),
    "interval": (
        pa.array([pa.MonthDayNano([1, 2, 3_500_000_000]), None]),
        "P1M2DT3.5S",
        "P1M2DT3.5S",
    ),
    "blob": (pa.array([b"\xff\x00", None]), "ff00", "ff00"),
    "enum": (pa.array(["x", None]).dictionary_encode(), "x", "x"),
    "nothing": (pa.nulls(2), None, ""),
    "list": (pa.array([[1, 2], None]), [1, 2], "[1, 2]"),
    "list of decimals": (pa.array([[Decimal("1.5")], None]), [1.5], "[1.5]"),
    "list of moments": (
        pa.array([[MOMENT], None], pa.list_(pa.timestamp("us", "UTC"))),
        [MOMENT.isoformat()],
        f'["{MOMENT.isoformat()}"]',
    ),
    "structure": (
        pa.array([{"a": 1, "b": float("nan")}, None]),
        {"a": 1, "b": None},
        '{"a": 1, "b": null}',
    ),
    "structure of blobs": (pa.array([{"a": b"\x01"}, None]), {"a": "01"}, '{"a": "01"}'),
    "map": (
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        '{"k": 1}',
        '{"k": 1}',
    ),
}


def strict(text: str) -> Any:
    """JSON by the letter: NaN and Infinity, which Python's reader takes, are refused."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", VALUES)
def test_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    array, expected, _ = VALUES[name]
    render(pa.table({name: array}), "json")
    first, second = strict(capsys.readouterr().out)
    assert first == {name: expected}
    assert isinstance(first[name], type(expected))
    assert second == {name: None}


@pytest.mark.parametrize("name", VALUES)
def test_csv(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    array, _, expected = VALUES[name]
    render(pa.table({name: array, "last": ["x", "y"]}), "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [[name, "last"], [expected, "x"], ["", "y"]]


def test_all_types_at_once_have_one_row_per_line_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    render(pa.table({name: array for name, (array, _, _) in VALUES.items()}), "json")
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 4)
    assert strict(lines[1].strip().rstrip(",")) == {name: value for name, (_, value, _) in VALUES.items()}


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_a_stream_of_batches_is_one_answer(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"n": range(10), "s": [f"row {n}" for n in range(10)]})
    render(table, form)
    whole = capsys.readouterr().out
    batches = [table.slice(at, size).to_batches()[0] for at, size in ((0, 3), (3, 6), (9, 1))]
    empty = table.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    render(pa.RecordBatchReader.from_batches(table.schema, [*empty, *batches, *empty]), form)
    assert capsys.readouterr().out == whole


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    empty = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    for form, expected in (("json", []), ("csv", "a,b\n"), ("table", "a  b\n-  -\n(no rows)\n")):
        render(empty, form)
        out = capsys.readouterr().out
        assert (strict(out) if form == "json" else out) == expected
    render([], "json")
    assert strict(capsys.readouterr().out) == []
    render([], "csv")
    assert capsys.readouterr().out == ""
    render([], "table")
    assert capsys.readouterr().out == "(no rows)\n"


def test_columns_of_one_name_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.Table.from_arrays([pa.array([n]) for n in range(4)], ["a", "a", "a_1", "a"])
    render(table, "json")
    assert strict(capsys.readouterr().out) == [{"a": 0, "a_2": 1, "a_1": 2, "a_3": 3}]


def test_numbers_of_a_decimal_that_is_too_large_for_64_bits(capsys: pytest.CaptureFixture[str]) -> None:
    large = 123456789012345678901234567890
    table = pa.table({"n": pa.array([Decimal(large)], pa.decimal128(38, 0))})
    render(table, "json")
    assert strict(capsys.readouterr().out)[0]["n"] == pytest.approx(large)
    render(table, "csv")
    assert str(large) in capsys.readouterr().out


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"name": "a\nb", "n": 1, "x": 0.00001, "y": 1234.56},
        {"name": None, "n": None, "x": 99.5, "y": None},
    ]
    render(rows, "table")
    assert capsys.readouterr().out == (
        "name  n        x       y\n----  -  -------  ------\na b   1    1e-05  1234.6\n         99.5000\n"
    )


def test_long_cells_are_cut_to_the_width_of_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"name": "a" * 40, "n": 123456789, "reason": "x" * 300}]
    render(rows, "table")
    assert "x" * 300 in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    render(rows, "table")
    *_, line = capsys.readouterr().out.splitlines()
    assert len(line) == 100
    assert line == f"{'a' * 40}  123456789  {'x' * 46}…"
    render(rows, "table", whole=True)
    assert "x" * 300 in capsys.readouterr().out
    # Too narrow for anything: numbers stay whole, texts keep 24 characters.
    monkeypatch.setenv("COLUMNS", "20")
    render(rows, "table")
    assert capsys.readouterr().out.splitlines()[-1] == f"{'a' * 23}…  123456789  {'x' * 23}…"


def test_what_is_written_reads_back_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"n": [1, 2, None], "x": [0.1, float("nan"), 1e300], "s": ["a", "", None]})
    render(table, "json")
    frame = pl.read_json(io.BytesIO(capsys.readouterr().out.encode()))
    assert frame.rows() == [(1, 0.1, "a"), (2, None, ""), (None, 1e300, None)]
    render(table, "csv")
    frame = pl.read_csv(io.BytesIO(capsys.readouterr().out.encode()))
    assert frame["n"].to_list() == [1, 2, None]
    assert frame["x"].to_list()[2] == 1e300
