"""Small library logic in every layout, written here."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from geko.library import logic_yaml
from geko.library.model import Library

PROBLEM_TYPE: dict[str, Any] = {
    "Activation": False,
    "ActivationType": "none",
    "Batched": True,
    "BiasDataTypeList": [],
    "ComputeDataType": 0,
    "DataType": 7,
    "DataTypeA": 7,
    "DataTypeB": 7,
    "DestDataType": 7,
    "F32XdlMathOp": 0,
    "HighPrecisionAccumulate": True,
    "TransposeA": True,
    "TransposeB": False,
    "UseBias": 0,
    "UseScaleAB": "",
    "UseScaleAlphaVec": 0,
}
NAME = "aquavanjaram_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml"


def solution(number: int, *, index: int | None = None, with_type: bool = True, **more: Any) -> dict[str, Any]:
    """A solution whose content follows from ``number``."""
    base = f"Cijk_Alik_Bljk_BBS_BH_UserArgs_MT{16 * (number + 1)}x16x64"
    return {
        "ActivationFuncCall": True,
        "DepthU": 64,
        "GlobalSplitU": 1,
        "ISA": [9, 4, 2],
        "KernelNameMin": base,
        "MIWaveTile": [1 + number, 1],
        "MacroTile0": 16 * (number + 1),
        "MacroTile1": 16,
        "MatrixInstruction": [16, 16, 16, 1],
        **({"ProblemType": copy.deepcopy(PROBLEM_TYPE)} if with_type else {}),
        "SolutionIndex": number if index is None else index,
        "SolutionNameMin": f"{base}_WGM8",
        "StaggerU": 0,
        "StaggerUMapping": 3,
        "StaggerUStride": 256,
        "WorkGroup": [16, 4, 1],
        "WorkGroupMapping": 8,
        "_staggerStrideShift": 2,
        **more,
    }


def list_form(
    count: int = 3,
    sizes: list[Any] | None = None,
    *,
    kind: str = "Equality",
    arch: Any = "gfx942",
    solutions: list[dict[str, Any]] | None = None,
) -> list[Any]:
    """A 12-element file; size n uses solution n."""
    if sizes is None:
        sizes = [[[128 * (n + 1), 256, 1, 512], [n, 100.0 + n]] for n in range(count)]
    return [
        {"MinimumRequiredVersion": "4.33.0"},
        "aquavanjaram",
        arch,
        ["Device 0049", "Device 0050"],
        copy.deepcopy(PROBLEM_TYPE),
        [solution(n) for n in range(count)] if solutions is None else solutions,
        [2, 3, 0, 1],
        sizes,
        None,
        None,
        "DeviceEfficiency",
        kind,
    ]


def dict_form(count: int = 3, sizes: list[Any] | None = None) -> dict[str, Any]:
    """A file of the 2026 dict layout: solutions hold only differences."""
    full = list_form(count, sizes)
    default = {key: value for key, value in solution(0, with_type=False).items() if "Name" not in key}
    del default["SolutionIndex"]
    own = [
        {key: value for key, value in solution(n, with_type=False).items() if default.get(key) != value}
        for n in range(count)
    ]
    return {
        "MinimumRequiredVersion": "5.0.0",
        "ScheduleName": "gfx1250",
        "ArchitectureName": "gfx1250",
        "CUCount": 256,
        "DeviceNames": ["Device 73f0"],
        "ProblemType": full[4],
        "DefaultSolution": default,
        "Solutions": own,
        "IndexOrder": [2, 3, 0, 1],
        "ExactLogic": full[7],
        "RangeLogic": None,
        "TileSelectionIndices": None,
        "PerfMetric": "DeviceEfficiency",
        "LibraryType": "Equality",
    }


def lib(data: Any = None, name: str = NAME) -> Library:
    """A library object of some content (list form when not given)."""
    return Library(list_form() if data is None else data, name)


def write(directory: Path, data: Any = None, name: str = NAME) -> Path:
    """Write logic into a directory."""
    path = directory / name
    logic_yaml.dump(list_form() if data is None else data, path)
    return path
