"""Conversion to the dict layout by the checkout's own Tensile, stood in by a package of the same names."""

from __future__ import annotations

from pathlib import Path

import pytest
from logic_samples import NAME, dict_form, list_form, write

from geko.errors import InputError, MissingFileError, ToolError
from geko.library import operations

_MODULES = {
    "__init__.py": "",
    "CustomYamlLoader.py": (
        "import yaml\nDEFAULT_YAML_LOADER = yaml.SafeLoader\n"
        "def load_yaml_stream(path, loader):\n    return yaml.load(open(path), loader)\n"
    ),
    "LibraryIO.py": (
        "import yaml\ndef writeYAML(path, data, **kw):\n"
        "    yaml.safe_dump(data, open(path, 'w'), sort_keys=False)\n"
    ),
    "TensileMergeLibrary.py": (
        "def convertToDict(data, path):\n"
        "    if data[1] == 'broken':\n        raise KeyError('no such default')\n"
        "    return {'ArchitectureName': data[2], 'ProblemType': data[4], 'DefaultSolution': {}, 'Solutions': data[5],\n"
        "            'ExactLogic': data[7], 'LibraryType': data[11], 'Library': {'distance': data[11]}}\n"
        "def normalizeDictLibraryLayout(data):\n    del data['Library']\n"
    ),
}


@pytest.fixture
def hip(tmp_path: Path) -> Path:
    folder = tmp_path / "hip" / "tensilelite" / "Tensile"
    folder.mkdir(parents=True)
    for name, text in _MODULES.items():
        (folder / name).write_text(text)
    return tmp_path / "hip"


def test_list_becomes_dict(hip: Path, tmp_path: Path) -> None:
    before = write(tmp_path / "in")
    library = operations.normalize(before, tmp_path / "out" / NAME, hip)
    written = operations.load_library(tmp_path / "out" / NAME)
    assert library.layout == written.layout == "dict"
    assert "Library" not in written.data
    assert written.sizes == operations.load_library(before).sizes
    assert written.dumps() == library.dumps()


def test_refusals_leave_the_old_file(hip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    out.write_text("old")
    with pytest.raises(InputError, match="dict layout already"):
        operations.normalize(write(tmp_path / "in", dict_form()), out, hip)
    broken = list_form()
    broken[1] = "broken"
    with pytest.raises(ToolError, match="no such default"):
        operations.normalize(write(tmp_path / "in", broken), out, hip)
    with pytest.raises(MissingFileError, match="no tensilelite"):
        operations.normalize(write(tmp_path / "in"), out, tmp_path)
    assert out.read_text() == "old"
