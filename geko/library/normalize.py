"""List layout to dict layout, by Tensile's own converter."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from geko.errors import InputError, MissingFileError, ToolError
from geko.fsio import write_text_atomic
from geko.hipblaslt import find_root
from geko.library import logic_yaml
from geko.library.model import Library, load_library

_TENSILE = Path("tensilelite")
#: Runs with the checkout's tensilelite on the path; what is a default, only that Tensile knows.
_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from Tensile.CustomYamlLoader import DEFAULT_YAML_LOADER, load_yaml_stream
from Tensile.TensileMergeLibrary import convertToDict, normalizeDictLibraryLayout
from Tensile import LibraryIO
data = convertToDict(load_yaml_stream(sys.argv[2], DEFAULT_YAML_LOADER), sys.argv[2])
normalizeDictLibraryLayout(data)
LibraryIO.writeYAML(sys.argv[3], data, explicit_start=False, explicit_end=False, sort_keys=False)
"""


def normalize(
    library_path: str | Path,
    output_path: str | Path,
    hipblaslt_path: str | Path | None = None,
    *,
    timeout: float | None = 600.0,
) -> Library:
    """Convert a file of the list layout to the dict layout of 2026.

    Which parameters are left out as defaults is decided by the Tensile of the checkout, which is run for it.

    Args:
        library_path: file of the list layout.
        output_path: file to write.
        hipblaslt_path: hipBLASLt checkout of 2026 on, with what its tensilelite needs installed in this Python; None
            finds it as the command line does.
        timeout: seconds until the converter is ended.

    Returns:
        The converted library, as written.

    Raises:
        MissingFileError: no such file, or no checkout.
        InputError: it is no library logic, or has the dict layout already.
        ToolError: the converter failed; holds the end of its output.
    """
    library = load_library(library_path)
    if library.layout != "list":
        raise InputError("has the dict layout already", path=library_path)
    root = find_root().path if hipblaslt_path is None else Path(hipblaslt_path)
    tensile = root / _TENSILE
    if not (tensile / "Tensile").is_dir():
        raise MissingFileError("no tensilelite here: is this a hipBLASLt checkout?", path=tensile)
    with tempfile.TemporaryDirectory(prefix="geko-normalize-") as scratch:
        out = Path(scratch) / "out.yaml"
        command = [
            sys.executable,
            "-c",
            _SCRIPT,
            str(tensile.resolve()),
            str(Path(library_path).resolve()),
            str(out),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=scratch, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"Tensile's converter ran longer than {timeout:g} s and was ended") from error
        if done.returncode != 0 or not out.is_file():
            tail = (done.stderr or done.stdout)[-2000:].strip()
            raise ToolError(f"Tensile's converter failed with exit code {done.returncode}:\n{tail}")
        converted = Library(logic_yaml.load(out), Path(output_path).name, Path(output_path))
        write_text_atomic(output_path, out.read_text(encoding="utf-8"))
    return converted
