"""Legal values of the tensilelite at hand: read from its sources, and kept to."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from geko.config_generator.config_generator import run
from geko.config_generator.dialect import Dialect, translate
from geko.config_generator.fork_params.mi_group import MiGroup
from geko.config_generator.fork_params.optimization_param import ForkParam, ForkSpace
from geko.config_generator.load_input_config import load_requests
from geko.config_generator.mi_designer import MI_COLUMNS
from geko.config_generator.tables import canonical, read_table

SOURCE = """
import rocisa
from .Other import somethingElse
pads = [-1, 0] + list(range(64, 257, 64))
def made():
    return [1, 2]
validParameters = {
    "Flag": [False, True],
    "Count": list(range(-1, 3)),
    "Half": [i / 2 for i in range(4)],
    "Pad": pads,
    "Many": [0] + list(range(2, 5)) + [7],
    "Word": ["None", "StreamK"],
    "Made": made(),
    "Elsewhere": -1,
    "Foreign": somethingElse,
    **more,
}
validParameters["Late"] = [5]
"""


def test_lists_are_worked_out_without_running_anything() -> None:
    assert read_table([SOURCE, "def broken(:"]) == {
        "Flag": (False, True), "Count": (-1, 0, 1, 2), "Half": None, "Pad": (-1, 0, 64, 128, 192, 256),
        "Many": (0, 2, 3, 4, 7), "Word": ("None", "StreamK"), "Made": None, "Elsewhere": None, "Foreign": None,
    }  # fmt: skip


def test_a_list_that_refers_to_itself_or_is_huge_is_unknown() -> None:
    assert read_table(["a = b\nb = a\nvalidParameters = {'A': a, 'B': list(range(10**9))}"]) == {
        "A": None,
        "B": None,
    }


@pytest.mark.parametrize(
    ("legal", "value", "expected"),
    [
        ((0, 1), True, 1), ((False, True), 0, False), ((-1, 0, 1, False, True), True, True), ((1, 2), 3, None),
        (None, "x", "x"), (("None",), "None", "None"),
    ],
)  # fmt: skip
def test_values_take_the_type_of_the_table(legal: Any, value: Any, expected: Any) -> None:
    found = canonical(legal, value)
    if expected is None:
        assert found is None
    else:
        assert found == (expected,) and found is not None and type(found[0]) is type(expected)


def test_axes_entries_and_tiles_keep_to_the_table() -> None:
    known = {"A": (1, 2), "B": (False, True), "C": None, "D": (0,), "MatrixInstruction": None}
    space = ForkSpace(
        [ForkParam("A", [1, 3]), ForkParam("B", [0, 1]), ForkParam("C", ["x"]), ForkParam("Z", [1])],
        [[{"A": 1, "D": 0}, {"A": 9, "D": 0}], [{"Z": 1}, {"Z": 2}], [{"D": 5}]],
    )
    tiles = pl.DataFrame({"idx": [0, 1, 2, 3], "A": [1, 7, None, None], "B": [0, 1, 1, 1], "Z": [1, 2, 3, 4]})
    tiles = tiles.with_columns(pl.lit(1).alias(name) for name in (*MI_COLUMNS, "lsu"))
    group = MiGroup(tiles, [{"MatrixInstruction": [16], "A": 2}, {"MatrixInstruction": [32], "A": 5}])
    space, group, left = translate(space, group, Dialect(known=known))
    assert [(param.name, param.values) for param in space.params] == [
        ("A", [1]),
        ("B", [False, True]),
        ("C", ["x"]),
    ]
    assert space.groups == [[{"A": 1, "D": 0}]]
    # The last row was another kernel for its Z alone.
    assert group.frame.select("idx", "A", "B").to_dict(as_series=False) == {
        "idx": [0, 2],
        "A": [1, None],
        "B": [False, True],
    }
    assert group.cms == [{"MatrixInstruction": [16], "A": 2}]
    assert left == ["A=3", "A=5", "A=7", "A=9", "D=5", "Z"]


def test_what_is_left_out_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = tmp_path / "tensilelite/Tensile/Common.py"
    table.parent.mkdir(parents=True)
    names = (
        "DepthU",
        "GlobalSplitU",
        "GlobalSplitUAlgorithm",
        "PrefetchLocalRead",
        "WorkGroup",
        "MatrixInstruction",
    )
    parameters = ", ".join(f"'{name}': -1" for name in names)
    table.write_text(
        f"validParameters = {{{parameters}, 'StreamK': [0], 'StaggerU': [0, 8], 'WorkGroupMapping': [8]}}\n"
    )
    keys = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
            "ARCH": "gfx942", "Sizes": [[64, 64, 1, 512]], "backend": "tensile"}  # fmt: skip
    with caplog.at_level(logging.WARNING, logger="GEKO"):
        run(load_requests(keys, rules="default", environ={}), tmp_path / "out", write_shell_scripts=False,
            hipblaslt_path=tmp_path)  # fmt: skip
    assert "WorkGroupMapping=1," in caplog.text and "VectorWidthA" in caplog.text
    config = yaml.safe_load((tmp_path / "out/BBS_TN_0.yaml").read_text())
    fork = config["BenchmarkProblems"][0][1]["ForkParameters"]
    (groups,) = (item["Groups"] for item in fork if "Groups" in item)
    flat = [{name: value} for item in fork for name, value in item.items() if name != "Groups"]
    assert {name for entry in (*flat, *groups[0]) for name in entry} <= {
        *names,
        "StreamK",
        "StaggerU",
        "WorkGroupMapping",
    }
    assert {entry.get("WorkGroupMapping", 8) for entry in groups[0]} == {8}
