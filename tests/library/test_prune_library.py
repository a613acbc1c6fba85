"""Pruning from beginning to end on stand-ins: clusters are built and timed, the fewest kernels stay."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from typer.testing import CliRunner

from geko import library
from geko.bench import prune
from geko.cli.library_cmd import app
from geko.errors import ToolError, UsageError
from geko.library.model import load_library
from geko.simulator import make_root

NAME = "aquavanjaram_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs.yaml"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("root") / "hipblaslt", devices=2, noise=0.0)


def test_signature_is_the_originals() -> None:
    names = ["hipblaslt_path", "lib", "workdir", "cluster", "devices", "tol", "scale_tol", "other_keys"]
    parameters = inspect.signature(prune.prune_library).parameters
    assert list(parameters) == names
    assert (parameters["tol"].default, parameters["cluster"].default, parameters["scale_tol"].default) == (
        0.02,
        True,
        True,
    )
    assert "prune_library" in library.operations.__all__


def test_prune(root: Path, example_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib = load_library(example_library / "Equality" / NAME)
    lib.sizes = lib.sizes[:8]
    lib.trim()
    before = lib.dumps()
    pruned = library.operations.prune_library(root, lib, tmp_path, devices=[0, 1], tol=0.3, scale_tol=False)
    assert lib.dumps() == before
    assert [size for size, _ in pruned.sizes] == [size for size, _ in lib.sizes]
    assert {rest[1] for _, rest in pruned.sizes} == {0.0}, "simulated times are no efficiencies"
    clusters = {(s["MacroTile0"], s["MacroTile1"], s["DepthU"]) for s in lib.solutions}
    folders = sorted(path.name for path in (tmp_path / Path(NAME).stem).iterdir())
    assert folders == sorted(f"MT{a}x{b}x{c}" for a, b, c in clusters)
    assert len(pruned.solutions) <= len(lib.solutions)
    # Without clusters and with any loss allowed one solution is enough.
    calls: list[Path] = []
    bench = prune._bench
    monkeypatch.setattr(
        prune, "_bench", lambda r, item, *rest: calls.append(item.folder) or bench(r, item, *rest)
    )
    one = library.operations.prune_library(root, lib, tmp_path / "all", False, tol=0.99, scale_tol=False)
    assert len(one.solutions) == 1
    assert len(calls) == 1
    again = library.operations.prune_library(root, lib, tmp_path / "all", False, tol=0.99, scale_tol=False)
    assert again.dumps() == one.dumps()
    assert len(calls) == 1, "what was timed is reused"


def test_command(root: Path, example_library: Path, tmp_path: Path) -> None:
    lib = load_library(example_library / "Equality" / NAME)
    lib.sizes = lib.sizes[:2]
    lib.trim().dump(tmp_path)
    words = ["prune", str(tmp_path / NAME), "--out", str(tmp_path / "out"), "--tol", "0.5"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, UsageError)
    words += ["--hipblaslt", str(root), "--workdir", str(tmp_path / "work"), "-d", "1"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    kept = load_library(tmp_path / "out" / NAME)
    # Log lines stand beside it where another test has set the log up.
    assert f"{NAME}: {len(lib.solutions)} -> {len(kept.solutions)} solutions" in done.output.splitlines()
    assert [size for size, _ in kept.sizes] == [size for size, _ in lib.sizes]


def test_failures_are_told(
    root: Path, example_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = load_library(example_library / "Equality" / NAME)
    free = lib.copy()
    free.set("ExactLogic", None)
    with pytest.raises(UsageError, match="doesn't select by its sizes alone"):
        library.operations.prune_library(root, free, tmp_path)
    lib.sizes = lib.sizes[:1]
    lib.trim()
    monkeypatch.setenv("GEKO_SIM_FAULTS", "hang")
    monkeypatch.setattr(prune, "_START_S", 1.0)
    monkeypatch.setattr(prune, "_PER_RUN_S", 0.0)
    with pytest.raises(ToolError, match=r"latency\.out"):
        library.operations.prune_library(root, lib, tmp_path)
