"""The simulated root, TensileCreateLibrary and the probes."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from geko.errors import InputError
from geko.library import logic_yaml
from geko.simulator import is_simulated, make_root
from geko.simulator.library import match_table


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_layout(sim_root: Path, example_library: Path) -> None:
    from geko.hipblaslt import HipblasltRoot

    root = HipblasltRoot(sim_root)
    assert root.is_built
    assert root.is_simulated
    assert is_simulated(sim_root)
    assert root.bench == sim_root / "build/release/clients/hipblaslt-bench"
    table = yaml.safe_load((sim_root / "build/release/device-library/MatchTable.yaml").read_text())
    assert len(table) == 67
    for path, local in table.values():
        source = example_library / "Equality" / Path(path).name
        assert Path(path).read_bytes() == source.read_bytes()
        assert 0 <= local < 24


def test_same_inputs_same_tree(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    before, stamp = tree(root), (root / "simulator.json").stat().st_mtime_ns
    make_root(tmp_path / "root")
    assert (root / "simulator.json").stat().st_mtime_ns == stamp
    shutil.rmtree(root)
    assert tree(make_root(tmp_path / "root")) == before
    make_root(tmp_path / "root", seed=1)
    after = tree(root)
    assert json.loads(after["simulator.json"])["digest"] != json.loads(before["simulator.json"])["digest"]
    library = "build/release/Tensile/library/gfx942/TensileLibrary_lazy_gfx942.dat"
    assert after[library] == before[library]
    left = [path.name for path in tmp_path.iterdir()]
    assert sorted(left) == [".root.lock", "root"]


def test_changed_library_is_noticed(tmp_path: Path, example_library: Path) -> None:
    logic = tmp_path / "logic"
    shutil.copytree(example_library, logic)
    root = make_root(tmp_path / "root", logic_dir=logic)
    git = json.loads((root / "simulator.json").read_text())["digest"]
    file = min(logic.rglob("*Alik_Bljk*.yaml"))
    file.write_text(file.read_text().replace("DeviceEfficiency", "CUEfficiency"))
    make_root(tmp_path / "root", logic_dir=logic)
    assert json.loads((root / "simulator.json").read_text())["digest"] != git


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"arch": "gfx90x"}, "can't be simulated"),
        ({"noise": 0.5}, "noise"),
        ({"devices": 0}, "devices"),
        ({"logic_dir": "/nowhere/at/all"}, "no such folder"),
    ],
)
def test_bad_arguments(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_root(tmp_path / "root", **more)
    assert not (tmp_path / "root").exists()


def test_the_example_library_is_carried_over_to_other_targets(tmp_path: Path, example_library: Path) -> None:
    root = make_root(tmp_path / "root", arch="gfx950_128cu")
    (folder,) = (root / "library").rglob("Equality")
    files = sorted(folder.glob("*.yaml"))
    assert folder.parent.name == "gfx950" and len(files) == len(list(example_library.rglob("*_Cijk_*.yaml")))
    for path in files:
        logic = logic_yaml.load(path)
        assert path.name.startswith("gfx950_Cijk_")
        assert logic[1:4] == ["gfx950", "gfx950", ["Device 75a0"]]
        assert {tuple(solution["ISA"]) for solution in logic[5]} == {(9, 5, 0)}
    # Logic that somebody names is taken as it is.
    foreign = tmp_path / "logic"
    shutil.copytree(example_library, foreign)
    with pytest.raises(InputError, match="no library logic for gfx950"):
        make_root(tmp_path / "other", arch="gfx950", logic_dir=foreign)


def test_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/precious").write_text("x")
    with pytest.raises(InputError, match="not a simulated root"):
        make_root(tmp_path / "root")
    assert (tmp_path / "root/precious").read_text() == "x"


def create(root: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = root / "tensilelite/Tensile/bin/TensileCreateLibrary"
    return subprocess.run(
        [str(program), *words], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


FLAGS = ("--code-object-version", "5", "--library-format", "msgpack", "--architecture", "gfx942")


def one_kernel_library(example_library: Path, folder: Path, solution: int) -> Path:
    """Logic with one TN size that is given another solution than the stock library's."""
    source = min(example_library.rglob("*Alik_Bljk*.yaml"))
    logic = yaml.load(source.read_text(), Loader=yaml.CSafeLoader)
    picked = copy.deepcopy(logic[5][solution])
    picked["SolutionIndex"] = 0
    logic[5], logic[7] = [picked], [[[4096, 4096, 1, 4096], [0, 0.0]]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / source.name).write_text(
        yaml.dump(logic, default_flow_style=None, sort_keys=False, Dumper=yaml.CDumper)
    )
    return folder


def test_custom_library_is_built_and_used(
    sim_root: Path, tmp_path: Path, example_library: Path, bench: Any
) -> None:
    logic = one_kernel_library(example_library, tmp_path / "libs", 8)
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    done = create(sim_root, cwd, *FLAGS, str(logic), str(tmp_path / "built"), "HIP")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "built/library/gfx942"
    assert sorted(p.name for p in folder.iterdir()) == [
        "Kernels.so-000-gfx942.hsaco",
        "TensileLibrary_lazy_gfx942.dat",
    ]
    assert all(b"simulated" in p.read_bytes() for p in folder.iterdir())
    assert list(yaml.safe_load((cwd / "MatchTable.yaml").read_text())) == [0]
    row = bench.row(4096, 4096, 4096, print_kernel_info=True)
    (stock,) = bench.rows(row).blocks
    for where in (folder, folder.parent):
        (tuned,) = bench.rows(row, HIPBLASLT_TENSILE_LIBPATH=str(where)).blocks
        assert tuned["index"] == "0"
        assert "_MT192x256x64_" in tuned["solution"]
        assert "_MT256x128x64_" in stock["solution"]
    nothing = bench.rows(row, HIPBLASLT_TENSILE_LIBPATH=str(cwd))
    assert (nothing.status, nothing.blocks) == (1, [])


def test_same_kernel_has_the_same_true_time_in_both_libraries(example_library: Path, tmp_path: Path) -> None:
    quiet = make_root(tmp_path / "quiet", noise=0.0)
    logic = one_kernel_library(example_library, tmp_path / "libs", 7)
    assert create(quiet, tmp_path, *FLAGS, str(logic), str(tmp_path / "built"), "HIP").returncode == 0
    words = [
        "-m",
        "4096",
        "-n",
        "4096",
        "-k",
        "4096",
        "--precision",
        "bf16_r",
        "--compute_type",
        "f32_r",
        "--transA",
        "T",
        "--transB",
        "N",
    ]
    program = str(quiet / "build/release/clients/hipblaslt-bench")
    env = {**os.environ, "HIPBLASLT_TENSILE_LIBPATH": str(tmp_path / "built/library")}
    stock = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    tuned = subprocess.run([program, *words], capture_output=True, text=True, check=True, env=env).stdout
    assert stock == tuned


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda logic: logic.__delitem__(slice(9, None)), "list of 12 elements"),
        (lambda logic: logic[0].update(MinimumRequiredVersion="5.0.0"), "version"),
        (lambda logic: logic[5][0].pop("MacroTile0"), "lacks MacroTile0"),
        (lambda logic: logic[5].__delitem__(slice(None)), "no solutions"),
        (lambda logic: logic[7].append([[1, 1, 1, 1], [99, 0.0]]), "doesn't hold"),
        (lambda logic: logic[7].append([[1, 1, 1], [0, 0.0]]), "a size must be"),
        (lambda logic: logic.__setitem__(2, "gfx90a"), "no library logic for gfx942"),
    ],
)
def test_create_refuses(
    sim_root: Path, tmp_path: Path, example_library: Path, damage: Any, said: str
) -> None:
    folder = one_kernel_library(example_library, tmp_path / "libs", 0)
    (file,) = folder.iterdir()
    logic = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    damage(logic)
    file.write_text(yaml.dump(logic, Dumper=yaml.CDumper))
    done = create(sim_root, tmp_path, *FLAGS, str(folder), str(tmp_path / "built"), "HIP")
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "MatchTable.yaml").exists()


def test_create_wants_an_absolute_path_and_can_be_made_to_fail(
    sim_root: Path, tmp_path: Path, example_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = create(sim_root, example_library.parent, *FLAGS, "library", str(tmp_path), "HIP")
    assert (done.returncode, "absolute" in done.stderr) == (1, True)
    monkeypatch.setenv("GEKO_SIM_FAULTS", "exit:tool=TensileCreateLibrary,code=7")
    assert (
        create(sim_root, tmp_path, *FLAGS, str(example_library), str(tmp_path / "o"), "HIP").returncode == 7
    )


def test_match_table_is_wrapped_as_pyyaml_wraps_it() -> None:
    entries = [("/" + "x" * length + ".yaml", length) for length in range(60, 90)]
    expected = yaml.dump(
        {index: list(entry) for index, entry in enumerate(entries)},
        default_flow_style=None,
        explicit_start=True,
        explicit_end=True,
    )
    assert match_table(entries) == expected


def test_probes(tmp_path: Path) -> None:
    from geko.hipblaslt import HipblasltRoot
    from geko.runners.probe import probe

    root = make_root(tmp_path / "root", devices=3)
    found = probe(HipblasltRoot(root), [0, 2], env={})
    assert [device.ordinal for device in found] == [0, 2]
    first, second = (device.environment for device in found)
    assert first == second
    assert (first.simulated, first.gfx, first.cu_count) == (True, "gfx942:sramecc+:xnack-", 304)
    assert (first.device_name, first.partition) == ("AMD Instinct MI300X (simulated)", "SPX/NPS1")
    assert found[0].serial != found[1].serial
    other = probe(HipblasltRoot(make_root(tmp_path / "other", seed=1, devices=3)), [0], env={})
    assert other[0].environment.environment_id != first.environment_id


def test_amd_smi_forms(sim_root: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(sim_root / "bin/amd-smi"), *words], capture_output=True, text=True, check=False
        )

    assert len(json.loads(run("static", "--json").stdout)["gpu_data"]) == 8
    assert len(json.loads(run("list", "--json").stdout)) == 8
    text = run("static").stdout
    assert "GPU: 7\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X (simulated)\n" in text
    assert run("version").stdout.startswith("AMDSMI Tool: ")
    assert run("reset").returncode == 2
