"""Custom main loop schedules that a checkout's tensilelite registers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from geko.config_generator.cms import registry
from geko.config_generator.config_generator import run
from geko.config_generator.load_input_config import load_requests
from geko.hipblaslt import HipblasltRoot
from geko.simulator import make_root

KEYS: dict[str, Any] = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
                        "ARCH": "gfx950", "Sizes": [[256, 256, 1, 1024]]}  # fmt: skip
SCHEDULE = {
    "dtype": "16bit", "MacroTile0": 192, "MacroTile1": 256, "DepthU": 64, "MatrixInstruction": [16, 16, 32, 1],
    "MIWaveGroup": [2, 2], "TransposeA": True, "TransposeB": False,
}  # fmt: skip


def checkout(folder: Path, module: str, text: str) -> Path:
    """A checkout whose tensilelite has just this module."""
    path = folder / "tensilelite" / module
    path.parent.mkdir(parents=True)
    for parent in path.parents:
        if parent == folder / "tensilelite":
            break
        (parent / "__init__.py").touch()
    path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "module",
    [
        "Tensile/Components/CustomSchedule.py",
        "Tensile/Components/CustomSchedule/dispatch.py",
        "tensilelite/Components/CustomSchedule.py",
    ],
)
def test_the_registry_of_old_and_new_packages(tmp_path: Path, module: str) -> None:
    text = f"print('noise')\ndef query_cms_kernels(dtype=None, layout=None):\n    return [{SCHEDULE!r}]\n"
    assert registry(checkout(tmp_path, module, text)) == [SCHEDULE]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import rocisa_that_is_not_built\n", "No module named 'rocisa_that_is_not_built'"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n", "exit status -6"),
        ("x = 1\n", "no registry of custom main loop schedules"),
        ("def query_cms_kernels():\n    return 5\n", "can't be read"),
    ],
)
def test_one_that_can_not_be_read_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, reason: str
) -> None:
    with caplog.at_level(logging.WARNING, logger="GEKO"):
        assert registry(checkout(tmp_path, "Tensile/Components/CustomSchedule.py", text)) == []
    assert reason in caplog.text and "set CMS to False" in caplog.text


def made(root: Path | None, folder: Path, **keys: Any) -> list[dict[str, Any]]:
    """Macro-tile entries of the one config."""
    run(
        load_requests({**KEYS, **keys}, rules="default", environ={}), folder, write_shell_scripts=False, hipblaslt_path=root
    )  # fmt: skip
    config = yaml.safe_load((folder / "BBS_TN_0.yaml").read_text())
    fork = config["BenchmarkProblems"][0][1]["ForkParameters"]
    return next(item["Groups"] for item in fork if "Groups" in item)[0]


def test_configs_hold_the_tiles_of_the_schedules(tmp_path: Path) -> None:
    """Also for a size whose tiles are all smaller."""
    root = make_root(tmp_path / "root", arch="gfx950", devices=1)
    assert HipblasltRoot(root).has_ductile
    entries = made(root, tmp_path / "with")
    custom = [entry for entry in entries if entry.get("UseCustomMainLoopSchedule") == 1]
    assert entries[:3] == custom and [entry["MatrixInstruction"][5:7] for entry in custom] == [
        [8, 8],
        [8, 4],
        [4, 8],
    ]
    assert all(entry["DirectToLds"] == 1 and entry["DepthU"] == 64 for entry in custom)
    without = made(root, tmp_path / "without", CMS=False)
    assert not any(entry.get("UseCustomMainLoopSchedule") for entry in without)
    tiles = [(entry["MatrixInstruction"], entry.get("WorkGroup")) for entry in entries[3:]]
    assert tiles == [(entry["MatrixInstruction"], entry.get("WorkGroup")) for entry in without]


def test_other_layouts_and_chips_don_t_take_them(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", arch="gfx950", devices=1)
    for name, keys in (("nt", {"TRANSA": "N", "TRANSB": "T"}), ("mi300", {"ARCH": "gfx942"})):
        folder = tmp_path / name
        run(load_requests({**KEYS, **keys}, rules="default", environ={}), folder, write_shell_scripts=False,
            hipblaslt_path=root)  # fmt: skip
        (path,) = (item for item in folder.glob("*.yaml"))
        assert "UseCustomMainLoopSchedule: 1" not in path.read_text()
