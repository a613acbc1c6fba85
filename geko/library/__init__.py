"""Tensile kernel libraries: read, trim, merge, extract, build, and look at them as rows.

    from geko import library
    lib = library.operations.load_library("gfx950_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml")

Names load on first use, so that ``import geko.library`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.library import operations
    from geko.library.combine import from_dataframe, from_full_dataframe
    from geko.library.model import Library, LibraryCollection

__all__ = ["Library", "LibraryCollection", "from_dataframe", "from_full_dataframe", "operations"]

_HOME = {
    "Library": "model",
    "LibraryCollection": "model",
    "from_dataframe": "combine",
    "from_full_dataframe": "combine",
}


def __getattr__(name: str) -> Any:
    if name == "operations":
        return importlib.import_module("geko.library.operations")
    if name in _HOME:
        return getattr(importlib.import_module(f"geko.library.{_HOME[name]}"), name)
    raise AttributeError(f"module 'geko.library' has no attribute {name!r}")
