"""Finding a hipBLASLt checkout and what is in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from geko.errors import MissingFileError
from geko.hipblaslt import (
    HipblasltRoot,
    find_root,
    is_built_library,
    library_path,
    tensile_version,
    try_find_root,
)

VARIABLE = "GEKO_HIPBLASLT_PATH"


def checkout(path: Path, *files: str) -> Path:
    (path / "tensilelite").mkdir(parents=True)
    for name in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).touch()
    return path


def test_order_of_the_three_ways(tmp_path: Path) -> None:
    named, by_variable, above = (checkout(tmp_path / name) for name in ("named", "variable", "above"))
    anchor = above / "utilities/geko/bin/geko"
    env = {VARIABLE: str(by_variable)}
    assert find_root(named, anchor=anchor, env=env).path == named
    assert find_root(anchor=anchor, env=env).path == by_variable
    assert find_root(anchor=anchor, env={}).path == above
    assert find_root(anchor=anchor, env={VARIABLE: ""}).path == above


def test_the_monorepo_is_understood(tmp_path: Path) -> None:
    root = checkout(tmp_path / "rocm-libraries/projects/hipblaslt")
    assert find_root(tmp_path / "rocm-libraries", env={}).path == root
    assert find_root(anchor=tmp_path / "rocm-libraries/docs", env={}).path == root


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError, match="--hipblaslt does not exist"):
        find_root(tmp_path / "nowhere", env={})
    with pytest.raises(MissingFileError, match=rf"no folder tensilelite/.*{VARIABLE}"):
        find_root(anchor=tmp_path, env={VARIABLE: str(tmp_path / "empty")})
    with pytest.raises(MissingFileError, match=f"--hipblaslt PATH, set {VARIABLE}, or run geko from inside"):
        find_root(anchor=tmp_path / "empty", env={})
    assert try_find_root(anchor=tmp_path / "empty", env={}) is None
    root = checkout(tmp_path / "unbuilt")
    assert not find_root(root, env={}).is_built
    with pytest.raises(MissingFileError, match="not built"):
        find_root(root, env={}, built=True)
    # What the user named is not replaced by something else that is there.
    with pytest.raises(MissingFileError):
        find_root(tmp_path / "nowhere", anchor=root, env={VARIABLE: str(root)})


def test_clients_of_old_and_new_builds(tmp_path: Path) -> None:
    old = HipblasltRoot(checkout(tmp_path / "old", "build/release/clients/staging/hipblaslt-bench"))
    new = HipblasltRoot(
        checkout(
            tmp_path / "new",
            "build/release/clients/staging/hipblaslt-bench",
            "build/release/clients/hipblaslt-bench",
        )
    )
    none = HipblasltRoot(checkout(tmp_path / "none", "build/release/x"))
    assert old.require_bench().parent.name == "staging" and new.require_bench().parent.name == "clients"
    assert none.is_built and none.bench is None
    with pytest.raises(MissingFileError, match="with its clients"):
        none.require_bench()


def test_places_in_a_checkout(tmp_path: Path) -> None:
    logic = "library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full/aquavanjaram"
    root = HipblasltRoot(
        checkout(
            tmp_path / "r",
            "build/release/device-library/MatchTable.yaml",
            "build/release/Tensile/library/gfx942/TensileLibrary_lazy_gfx942.dat",
            f"{logic}/gfx942/Equality/a.yaml",
            "tensilelite/Tensile/bin/TensileCreateLibrary",
        )
    )
    assert root.match_table == root.path / "build/release/device-library/MatchTable.yaml"
    assert root.stock_library("gfx942") == root.path / "build/release/Tensile/library/gfx942"
    assert root.stock_library("gfx950") is None
    assert root.logic_dir("aquavanjaram") == root.path / logic
    assert root.logic_dir("aquavanjaram", "Equality") == root.path / logic / "gfx942/Equality"
    assert root.logic_dir("aquavanjaram", "StreamK") is None and root.logic_dir("gfx950") is None
    assert root.tensile_program("TensileCreateLibrary").is_file()
    assert not root.is_simulated


def test_libraries_before_each_target_had_a_folder(tmp_path: Path) -> None:
    lazy = checkout(tmp_path / "a", "build/release/Tensile/library/TensileLibrary_lazy_gfx942.dat")
    root = HipblasltRoot(lazy)
    assert root.stock_library("gfx942") == lazy / "build/release/Tensile/library" == root.stock_library()
    assert root.stock_library("gfx950") is None
    whole = checkout(tmp_path / "b", "build/release/Tensile/library/TensileLibrary.dat")
    assert HipblasltRoot(whole).stock_library("gfx942") == whole / "build/release/Tensile/library"


def test_what_tensilelite_at_hand_is(tmp_path: Path) -> None:
    old = HipblasltRoot(checkout(tmp_path / "a", "tensilelite/Tensile/__init__.py"))
    new = HipblasltRoot(
        checkout(
            tmp_path / "b",
            "tensilelite/tensilelite/__init__.py",
            "tensilelite/tensilelite/ductile/__init__.py",
        )
    )
    assert old.tensile_package is not None and new.tensile_package is not None
    (old.tensile_package / "__init__.py").write_text('# version\n__version__ = "4.33.0"\n', encoding="utf-8")
    assert tensile_version(old.tensile_package) == "4.33.0" and tensile_version(new.tensile_package) is None
    assert not old.has_ductile and new.has_ductile
    stand_in = HipblasltRoot(checkout(tmp_path / "c", "tensilelite/Tensile/bin/Tensile"))
    assert stand_in.tensile_package is None and stand_in.has_ductile


def test_tensilelite_before_and_after_its_package_was_renamed(tmp_path: Path) -> None:
    before = HipblasltRoot(checkout(tmp_path / "a", "tensilelite/Tensile/bin/Tensile"))
    between = HipblasltRoot(checkout(tmp_path / "b", "tensilelite/tensilelite/bin/Tensile"))
    after = HipblasltRoot(checkout(tmp_path / "c", "tensilelite/tensilelite/cli.py"))
    assert before.tensile_command("Tensile") == [str(before.path / "tensilelite/Tensile/bin/Tensile")]
    assert between.tensile_command("Tensile") == [str(between.path / "tensilelite/tensilelite/bin/Tensile")]
    assert after.tensile_command("Tensile") == [sys.executable, "-m", "tensilelite", "run"]
    create = after.tensile_command("TensileCreateLibrary")
    assert create == [sys.executable, "-m", "tensilelite", "create-library"]
    with pytest.raises(MissingFileError, match=r"has no TensileMergeLibrary: neither .*Tensile/bin.* nor "):
        after.tensile_command("TensileMergeLibrary")
    with pytest.raises(MissingFileError, match="nor python -m tensilelite create-library is there; update"):
        before.tensile_command("TensileCreateLibrary")


def test_where_the_packages_of_tensilelite_are_found(tmp_path: Path) -> None:
    root = HipblasltRoot(checkout(tmp_path / "r", "build/release/tensilelite/rocisa/lib/rocisa.so"))
    build = root.path / "build/release/tensilelite/rocisa"
    expected = [root.path / "tensilelite", build, build / "lib", Path("/mine")]
    assert root.tensile_python_path("/mine") == os.pathsep.join(map(str, expected))
    assert root.tensile_python_path() == os.pathsep.join(map(str, expected[:-1]))
    client = tmp_path / "client"
    (client / "tensilelite/rocisa").mkdir(parents=True)
    found = root.tensile_python_path(build=client).split(os.pathsep)
    assert found == [
        str(root.path / "tensilelite"),
        str(client / "tensilelite/rocisa"),
        str(build),
        str(build / "lib"),
    ]


def test_library_paths(tmp_path: Path) -> None:
    build = tmp_path / "build"
    for gfx in ("gfx950", "gfx942"):
        (build / "library" / gfx).mkdir(parents=True)
    first = build / "library/gfx942"
    assert library_path(build) == library_path(build / "library") == library_path(first) == first
    flat = tmp_path / "flat/library"
    flat.mkdir(parents=True)
    assert library_path(tmp_path / "flat") == flat
    assert library_path(tmp_path / "nowhere") == tmp_path / "nowhere"
    assert not is_built_library(build)
    (first / "TensileLibrary_lazy_gfx942.dat.zlib").touch()
    assert is_built_library(build) and not is_built_library(tmp_path / "flat")
