"""Workload logs in Python: parse, update, dump."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from geko.bench import log
from geko.constants import LOG_FIELDS
from geko.errors import InputError

ROW: dict[str, Any] = {
    "function": "matmul", "M": 96, "N": 32, "K": 64, "alpha": 1.0, "beta": 0.0, "transA": "T", "transB": "N",
    "batch_count": 1, "a_type": "bf16_r", "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r",
    "compute_type": "c_f32_r", "call_count": 3,
}  # fmt: skip


def write(path: Path, *rows: dict[str, Any]) -> Path:
    log.dump(rows, path)
    return path


def test_parse_merges_and_fills(tmp_path: Path) -> None:
    path = write(tmp_path / "l.yaml", ROW, ROW | {"M": 8}, ROW | {"call_count": 4})
    first, second = log.parse(path)
    assert (first["M"], first["call_count"], second["M"], second["call_count"]) == (96, 7, 8, 3)
    assert (first["scaleA"], first["scaleB"], first["scale_type"]) == (0, 0, "f32_r")
    assert list(first) == [name for name in LOG_FIELDS if name in first]


def test_rows_keep_their_own_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "l.yaml", ROW | {"bias_vector": True, "bias_type": "f32_r", "algo": 7}, ROW)
    first, second = log.parse(path)
    assert (first["bias_type"], first["algo"]) == ("f32_r", "7")
    assert "bias_type" not in second
    frame = log.parse(path, as_df=True)
    assert isinstance(frame, pl.DataFrame)
    assert frame["bias_type"].to_list() == ["f32_r", None]
    assert frame.columns[-1] == "algo"


@pytest.mark.parametrize(
    ("given", "stored", "scale"),
    [
        ("f32_r", "c_f32_r", "f32_r"),
        ("c_xf32_r", "c_xf32_r", "f32_r"),
        ("f16_r", "f16_r", "f16_r"),
        ("f64_r", "c_f64_r", "f64_r"),
    ],
)
def test_compute_types(tmp_path: Path, given: str, stored: str, scale: str) -> None:
    (row,) = log.parse(write(tmp_path / "l.yaml", ROW | {"compute_type": given}))
    assert (row["compute_type"], row["scale_type"]) == (stored, scale)


def test_parse_csv_and_fmt(tmp_path: Path) -> None:
    header = "m,n,k,batch_count,transA,transB,a_type,b_type,c_type,d_type,compute_type"
    path = tmp_path / "rows.CSV"
    path.write_text(header + "\n96,32,64,1,T,N,bf16_r,bf16_r,bf16_r,bf16_r,f32_r\n")
    (row,) = log.parse(path)
    assert (row["M"], row["call_count"], row["function"]) == (96, 1, "matmul")
    other = tmp_path / "rows.txt"
    other.write_bytes(path.read_bytes())
    assert log.parse(other, fmt="csv") == [row]
    with pytest.raises(InputError, match="yaml or csv"):
        log.parse(other, fmt="xml")


def test_parse_errors(tmp_path: Path) -> None:
    lacking = {name: value for name, value in ROW.items() if name != "K"}
    with pytest.raises(ValueError, match=r"Log must have all fields.*missing: K"):
        log.parse(write(tmp_path / "a.yaml", lacking))
    with pytest.raises(ValueError, match=r"b\.yaml:2: Log has missing values in fields: K"):
        log.parse(write(tmp_path / "b.yaml", ROW, lacking))
    with pytest.raises(ValueError, match=r"c\.yaml:1: M must be a positive integer"):
        log.parse(write(tmp_path / "c.yaml", ROW | {"M": 0}))
    with pytest.raises(FileNotFoundError):
        log.parse(tmp_path / "none.yaml")
    (tmp_path / "d.yaml").write_text("nothing\n")
    with pytest.raises(ValueError, match="no workload row"):
        log.parse(tmp_path / "d.yaml")


def test_cut_lines_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "l.yaml", ROW)
    path.write_text(path.read_text() + "- {function: matmul, M: 7")
    with caplog.at_level(logging.WARNING, logger="GEKO"):
        logger = logging.getLogger("GEKO")
        old, logger.propagate = logger.propagate, True
        try:
            assert len(log.parse(path)) == 1
        finally:
            logger.propagate = old
    assert "1 lines were not read; the first is line 2" in caplog.text


def test_update() -> None:
    rows = [ROW | {"aux_type": "f32_r", "solution_index": 5, "algo_method": 2, "swizzleA": True}, dict(ROW)]
    (bench,) = log.update(rows, latency=[50.0, float("nan")], duration=0.01)
    assert (bench[0]["iters"], bench[0]["cold_iters"]) == (200, 200)
    # A row without a time has the default, whatever the row before had.
    assert (bench[1]["iters"], bench[1]["cold_iters"]) == (100, 20)
    assert not {"aux_type", "solution_index", "algo_method", "swizzleA"} & bench[0].keys()
    assert bench[0]["swizzle_a"] is True
    assert bench[0]["initialization"] == "trig_float"
    assert (bench[0]["rotating"], bench[0]["use_gpu_timer"], bench[0]["print_kernel_info"]) == (
        512,
        True,
        True,
    )
    assert (bench[0]["scaleA"], bench[0]["call_count"], bench[0]["beta"]) == (0, 3, 0.0)
    assert "aux_type" in rows[0]
    (bench,) = log.update(rows, beta=1, flush=True, aux=True, rotating=0, print_kernel_info=False)
    assert (bench[0]["beta"], bench[0]["flush"], bench[0]["aux_type"], bench[0]["rotating"]) == (
        1.0,
        True,
        "f32_r",
        0,
    )
    assert bench[0]["print_kernel_info"] is False


def test_update_of_a_frame_and_of_a_path(tmp_path: Path) -> None:
    path = write(tmp_path / "l.yaml", ROW, ROW | {"M": 8})
    rows, target = log.update(path)
    assert target == str(tmp_path / "l_upd.yaml")
    assert yaml.safe_load(Path(target).read_text()) == rows
    assert log.update(log.parse(path, as_df=True)) == (rows,)


def test_update_errors() -> None:
    with pytest.raises(TypeError):
        log.update(7)
    with pytest.raises(TypeError):
        log.update([ROW], latency=3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 values for 1 rows"):
        log.update([ROW], latency=[1.0, 2.0])


def test_dump_is_plain_yaml(tmp_path: Path) -> None:
    row = {
        "a": "yes",
        "b": "1.0",
        "c": 1e-07,
        "d": "x: y",
        "e": None,
        "f": True,
        "g": "a, b",
        "h": 3,
        "i": "",
    }
    path = tmp_path / "d.yaml"
    log.dump([row, {"a": 1}], path)
    assert yaml.safe_load(path.read_text()) == [row, {"a": 1}]
    assert path.read_text().startswith("- {a: 'yes', ")
    log.dump([], path)
    assert yaml.safe_load(path.read_text()) == []
