"""The table that says why a macro tile is chosen or not, and the per-size logs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from geko.config_generator.load_input_config import load_requests
from geko.config_generator.mi_designer import TileQuery
from geko.config_generator.mi_report import explain, write_mi_logs


def test_every_candidate_has_a_verdict() -> None:
    table = explain(TileQuery((256, 256, 1, 1024), "B", "S", "gfx950", 256, stream_k=True, rules="original"))
    assert table.height == 1407
    chosen = table.filter("chosen")
    assert chosen["rank"].to_list() == sorted(chosen["rank"].to_list())
    assert chosen["rank"][0] == 0
    assert (chosen["reason"] == "").all()
    refused = table.filter(~pl.col("chosen"))
    assert (refused["reason"] != "").all()
    large = refused.filter((pl.col("mt0") == 1024) & (pl.col("mt1") == 16))
    assert set(large["reason"].to_list()) == {"R4: the macro tile is larger than the problem"}


def test_logs(tmp_path: Path) -> None:
    keys = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
            "ARCH": "gfx950", "Sizes": [[16, 16, 1, 128]]}  # fmt: skip
    ((name, size, count),) = write_mi_logs(load_requests(keys, environ={}), tmp_path)
    text = (tmp_path / name / "BBS_TN_M16_N16_B1_K128.log").read_text().splitlines()
    assert text[0] == "Size - (16, 16, 1, 128)"
    assert size == (16, 16, 1, 128)
    assert len(text) == count + 1 > 1
