"""TensileCreateLibrary as a subprocess, stood in by a script that behaves like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logic_samples import list_form, write

from geko.errors import InputError, MissingFileError, ToolError
from geko.library.build import TOOL, build_architecture, create, is_built, library_content_hash
from geko.library.model import load_library

TOOL_TEXT = """#!/bin/sh
echo "$@" > args.txt
arch=; prev=
for a in "$@"; do [ "$prev" = --architecture ] && arch=$a; prev=$a; done
eval out=\\${$(($# - 1))}
cp args.txt "$out/args.txt"; pwd > "$out/cwd.txt"
[ -n "$FAKE_FAIL" ] && { echo "lots of text"; echo "clang: error: no such file" >&2; exit 3; }
[ -n "$FAKE_SLEEP" ] && sleep "$FAKE_SLEEP"
mkdir -p "$out/library/$arch"
[ -z "$FAKE_EMPTY" ] && : > "$out/library/$arch/TensileLibrary_lazy_$arch.dat${FAKE_ZLIB}"
printf -- '---\\n0: [/x/%s.yaml,\\n  0]\\n...\\n' "$arch" > MatchTable.yaml
"""


@pytest.fixture
def hip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tool = tmp_path / "hip/tensilelite/Tensile/bin" / TOOL
    tool.parent.mkdir(parents=True)
    tool.write_text(TOOL_TEXT)
    tool.chmod(0o755)
    write(tmp_path / "libs", name="a.yaml")
    write(tmp_path / "libs", name="b.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hip"


@pytest.mark.parametrize("zlib", ["", ".zlib"])
def test_build_lands_in_the_output_directory(hip: Path, monkeypatch: pytest.MonkeyPatch, zlib: str) -> None:
    monkeypatch.setenv("FAKE_ZLIB", zlib)
    root = hip.parent
    before = {path.name for path in root.iterdir()}
    assert not is_built("out", "libs")
    build = create("hip", "libs", "out", version="6", jobs=2)
    assert {path.name for path in root.iterdir()} == before | {"out"}, (
        "something was left in the working directory"
    )
    assert build.architecture == "gfx942"
    assert build.match_table == root / "out" / "MatchTable.yaml"
    assert build.match_table.is_file()
    assert build.code_dir == root / "out" / "library" / "gfx942"
    args = (root / "out" / "args.txt").read_text().split()
    options = "--code-object-version 6 --library-format msgpack --architecture gfx942 --jobs 2"
    assert args == [*options.split(), f"{root}/libs", f"{root}/out", "HIP"]
    assert Path((root / "out" / "cwd.txt").read_text().strip()).parent == root / "out"
    assert is_built("out", "libs")
    write(root / "libs", list_form(1), "b.yaml")
    assert not is_built("out", "libs"), "logic changed since the build"
    assert is_built("out")


OLD_TOOL = """
add("--code-object-version", choices=["default", "V4", "V5"])
add("--lazy-library-loading", action="store_true", default=False)
"""
NEW_TOOL = """
add("--code-object-version", choices=["4", "5", "V4", "V5"])
add("--no-lazy-library-loading", action="store_false", default=True)
"""


@pytest.mark.parametrize(
    ("source", "text", "stock", "options"),
    [
        ("TensileCreateLibrary.py", OLD_TOOL, "TensileLibrary_lazy_gfx942.dat",
         "V5 --merge-files --separate-architectures --lazy-library-loading"),
        ("TensileCreateLibrary.py", OLD_TOOL, None, "V5 --merge-files --separate-architectures --lazy-library-loading"),
        ("TensileCreateLibrary.py", OLD_TOOL, "TensileLibrary.dat", "V5"),
        ("TensileCreateLibrary/ParseArguments.py", NEW_TOOL, "TensileLibrary_lazy_gfx942.dat", "5"),
        ("TensileCreateLibrary/ParseArguments.py", NEW_TOOL, "TensileLibrary.dat", "5 --no-lazy-library-loading"),
    ],
)  # fmt: skip
def test_the_library_is_built_as_the_runtime_loads_it(
    hip: Path, source: str, text: str, stock: str | None, options: str
) -> None:
    package = hip / "tensilelite/Tensile"
    (package / "__init__.py").touch()
    (package / source).parent.mkdir(exist_ok=True)
    (package / source).write_text(text, encoding="utf-8")
    if stock is not None:
        library = hip / "build/release/Tensile/library"
        library.mkdir(parents=True)
        (library / stock).touch()
    create(hip, "libs", "out")
    args = (hip.parent / "out/args.txt").read_text().split()
    assert args[: args.index("--library-format")] == ["--code-object-version", *options.split()]


def test_an_old_build_is_not_taken_for_a_failed_one(hip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(hip, "libs", "out")
    monkeypatch.setenv("FAKE_FAIL", "1")
    with pytest.raises(ToolError, match=r"exit code 3:\n(.*\n)*clang: error: no such file"):
        create(hip, "libs", "out")
    assert not is_built("out", "libs")


def test_timeout_and_missing_results(hip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SLEEP", "30")
    with pytest.raises(ToolError, match=r"longer than 0\.3 s"):
        create(hip, "libs", "out", timeout=0.3)
    monkeypatch.delenv("FAKE_SLEEP")
    monkeypatch.setenv("FAKE_EMPTY", "1")
    with pytest.raises(ToolError, match="left no TensileLibrary"):
        create(hip, "libs", "out")


def test_one_architecture_only(hip: Path) -> None:
    write(hip.parent / "libs", list_form(arch="gfx950"), "c.yaml")
    with pytest.raises(InputError, match=r"gfx942 \(a.yaml\), gfx950 \(c.yaml\)"):
        create(hip, "libs", "out")
    (hip.parent / "libs" / "c.yaml").unlink()
    cut = list_form(arch={"Architecture": "gfx942", "CUCount": 80})
    write(hip.parent / "libs", cut, "c.yaml")
    assert create(hip, "libs", "out").architecture == "gfx942"
    strict = list_form(arch="gfx1250")
    strict[1] = "gfx1250-strict"
    assert build_architecture([load_library(write(hip.parent / "s", strict))]) == "gfx1250-strict"


def test_missing_things(hip: Path) -> None:
    with pytest.raises(MissingFileError, match="has no TensileCreateLibrary"):
        create(hip.parent / "nohip", "libs", "out")
    (hip.parent / "empty").mkdir()
    with pytest.raises(InputError, match="No valid libraries found in"):
        create(hip, "empty", "out")


def test_content_hash_minds_content_only(tmp_path: Path) -> None:
    a, b = write(tmp_path / "1", name="a.yaml"), write(tmp_path / "1", list_form(1), "b.yaml")
    c, d = write(tmp_path / "2", list_form(1), "x.yaml"), write(tmp_path / "2", name="y.yaml")
    assert library_content_hash([a, b]) == library_content_hash([c, d])
    assert library_content_hash([a, b]) != library_content_hash([a, a])
    assert len(library_content_hash([a])) == 64


def test_stamp_tells_from_what(hip: Path) -> None:
    create(hip, "libs", "out")
    stamp = json.loads((hip.parent / "out" / "geko_build.json").read_text())
    assert stamp["content_sha256"] == library_content_hash(
        [hip.parent / "libs" / "a.yaml", hip.parent / "libs" / "b.yaml"]
    )
    assert stamp["architecture"] == "gfx942"
