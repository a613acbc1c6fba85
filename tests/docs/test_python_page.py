"""docs/python.md names functions that exist, import what it needs and say what they do."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`(geko(?:\.\w+)+)`", TEXT)


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_named_functions_exist_and_are_documented(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    assert callable(found)
    assert found.__doc__


def test_the_page_names_the_api_of_the_original() -> None:
    assert {"geko.bench.run", "geko.search.run", "geko.optim.analyze", "geko.library.from_dataframe"} <= set(
        NAMES
    )
