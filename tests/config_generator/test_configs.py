"""Whole configs: round trip, legality, pruning, spellings, merging, files."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from geko.config_generator.cms import read_kernels
from geko.config_generator.config_generator import run
from geko.config_generator.dialect import STREAM_K_INTEGER, Dialect, detect
from geko.config_generator.fork_params.param_meta import illegal
from geko.config_generator.instructions import _tables
from geko.config_generator.load_input_config import load_requests
from geko.config_generator.output_writer import render
from geko.config_generator.spaces import generate, size_space
from geko.domain.arch import get_arch
from geko.errors import InputError

#: The same values as by ``yaml.safe_load``, many times faster.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BASE: dict[str, Any] = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
                        "ARCH": "gfx950", "Sizes": [[256, 256, 1, 1024], [1, 3, 1, 640]]}  # fmt: skip
KINDS = [
    ("gfx950", "B", "B", "S"), ("gfx950", "F8", "B", "S"), ("gfx950", "X", "S", "S"), ("gfx950", "D", "D", "D"),
    ("gfx950", "F4", "B", "S"), ("gfx942", "H", "H", "S"), ("gfx942", "S", "S", "S"), ("gfx942", "F8N", "H", "S"),
    ("gfx1250", "B", "B", "S"), ("gfx1250-strict", "F8", "B", "S"),
]  # fmt: skip


def requests(rules: str = "default", **keys: Any):  # type: ignore[no-untyped-def]
    return load_requests({**BASE, **keys}, rules=rules, environ={})  # type: ignore[arg-type]


#: Sizes that hardly suit any tile: odd, tiny, skinny.
ODD = [(300, 17, 1, 1000), (1, 1, 1, 1), (16, 16, 1, 128), (15, 4097, 2, 33)]


@pytest.mark.parametrize("arch", ["gfx950", "gfx942", "gfx1250"])
def test_every_type_gets_tiles_at_odd_sizes(arch: str) -> None:
    outputs = {
        "D": ("D", "D"),
        "C": ("C", "C"),
        "Z": ("Z", "Z"),
        "S": ("S", "S"),
        "X": ("S", "S"),
        "H": ("H", "S"),
    }
    known = {str(text) for text in _tables()[get_arch(arch).mi_family]["original"]} - {"I8", "X1"}
    kinds = [(data, *outputs.get(data, ("B", "S")), data == "F4") for data in sorted(known | {"B8"})]
    if get_arch(arch).has_mx:
        kinds.append(("F8", "B", "S", True))
    for data, dest, compute, scaled in kinds:
        for backend, layout in (("ductile", "TN"), ("tensile", "TN"), ("tensile", "NN")):
            if backend == "tensile" and data in ("C", "Z"):
                continue
            (request,) = requests(
                DataType=data, DestDataType=dest, ComputeDataType=compute, TRANSA=layout[0], TRANSB=layout[1], ARCH=arch,
                backend=backend, MX=scaled, Sizes=[list(size) for size in ODD],
            )  # fmt: skip
            for size in request.sizes:
                space = size_space(request, size)
                assert space.kernels > 0 and len(space.group) > 0, (data, layout, size)


@pytest.mark.parametrize(
    ("data", "size", "note"),
    [
        ("F4", (300, 17, 1, 1000), "filters loosened: tiles without a local split of K"),
        ("F8", (16, 16, 1, 128), "filters loosened: R6, fewer than 4 waves"),
    ],
)
def test_small_scaled_gemms_keep_the_tiles_that_suit_them(
    data: str, size: tuple[int, int, int, int], note: str
) -> None:
    """Subtile kernels have even wave tiles and no local split of K, which rule R6 asks small tiles for."""
    (request,) = requests(DataType=data, MX=True, Sizes=[list(size)])
    space = size_space(request, request.sizes[0])
    assert space.notes == (note,)
    assert all(mt0 <= 2 * max(32, size[0]) and mt1 <= 32 for mt0, mt1 in space.group.tiles())
    assert set(space.design.entries["lsu"]) == {1}


def test_wide_local_reads_of_4_byte_types_are_clustered() -> None:
    (request,) = requests(DataType="S", DestDataType="S", backend="tensile", Sizes=[[300, 17, 1, 1000]])
    space = size_space(request, request.sizes[0])
    offered = {entry.get("ClusterLocalRead") for entry in space.group.entries()}
    assert space.notes == () and 1 in offered | set(space.params.values("ClusterLocalRead"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"DataType": "F4", "MX": True, "MFMA": [32, 32, 64, 1]},
            "MFMA .* leaves no tile .subtile kernels use 16x16 instructions",
        ),
        ({"MACROTILE_OPT": True, "MT_DU": [4, 4, 8]}, r"MT_DU \[4, 4, 8\] names a tile"),
        (
            {"MACROTILE_OPT": True, "MT_DU": [128, 128, 64]},
            r"MI_FILTER 2 leaves out the tile of MT_DU \[128, 128, 64\]; MI_FILTER 0 keeps it",
        ),
        (
            {
                "MACROTILE_OPT": True,
                "DataType": "S",
                "DestDataType": "S",
                "MT_DU": [512, 128, 256],
                "backend": "tensile",
            },
            "MT_DU",
        ),
    ],
)
def test_a_size_without_tiles_names_what_refuses_them(keys: dict[str, Any], message: str) -> None:
    (request,) = requests(Sizes=[[300, 17, 1, 1000]], **keys)
    with pytest.raises(InputError, match=message):
        size_space(request, request.sizes[0])


@pytest.mark.parametrize(("arch", "data", "dest", "compute"), KINDS)
@pytest.mark.parametrize("backend", ["ductile", "tensile"])
def test_round_trip_and_legality(arch: str, data: str, dest: str, compute: str, backend: str) -> None:
    for layout in (("T", "N"), ("N", "T")):
        found = list(
            generate(
                requests(ARCH=arch, DataType=data, DestDataType=dest, ComputeDataType=compute, backend=backend,
                         TRANSA=layout[0], TRANSB=layout[1])
            )
        )  # fmt: skip
        assert found
        for config in found:
            assert yaml.load(render(config), Loader=LOADER) == config.data
            assert illegal(config.params, config.group) == []
            assert len(config.group) > 0
            if config.backend.get("Config", {}).get("weights"):
                assert len(config.backend["Config"]["weights"][0]["group_0"]) == len(config.group)


@pytest.mark.parametrize("rules", ["original", "default"])
def test_complex(rules: str) -> None:
    keys = {"DataType": "C", "DestDataType": "C", "ComputeDataType": "C", "TRANSA": "C"}
    for config in generate(requests(rules, **keys)):
        text = render(config)
        assert yaml.safe_load(text) == config.data
        assert "ComplexConjugateA: True" in text
        assert "#UseBias: 1" in text
        assert "BiasTypeArgs" not in text
    with pytest.raises(InputError, match="complex"):
        requests(rules, backend="tensile", **keys)


def test_entries_fit_lds_and_divide() -> None:
    (config, _) = generate(
        requests(ARCH="gfx942", backend="tensile", Sizes=[[4096, 4096, 1, 4096], [512, 512, 1, 512]])
    )
    entries = config.group.entries()
    assert config.params.find("DepthU") is None
    for entry in entries:
        m, n, k, _, _, wtm, wtn, wgm, wgn = entry["MatrixInstruction"]
        split = entry.get("WorkGroup", [0, 0, 1])[2]
        assert entry["DepthU"] % (k * split) == 0
        assert (m * wtm * wgm + n * wtn * wgn) * entry["DepthU"] * 2 <= 65536
        assert wtm % entry["VectorWidthA"] == 0
    assert len(entries) == len({str(sorted(entry.items())) for entry in entries})


def test_size_that_can_not_be_tuned_is_dropped_alone(tmp_path: Path) -> None:
    keys = {"MACROTILE_OPT": True, "MT_DU": [256, 256, 1024], "Sizes": [[256, 256, 1, 1024]]}
    with pytest.raises(InputError, match="MT_DU"):
        run(requests(**keys), tmp_path / "a", write_shell_scripts=False)
    problems = [{"Sizes": [[256, 256, 1, 1024]]}, {**keys, "TRANSA": "N"}]
    report = run(requests(GemmProblems=problems), tmp_path / "b", write_shell_scripts=False)
    assert [config.stem for config in report.configs] == ["BBS_TN_0"]
    assert [(row.gemm, row.status) for row in report.sizes] == [("BBS_TN", "kept"), ("BBS_NN", "dropped")]
    assert "MT_DU" in (tmp_path / "b" / "sizes.csv").read_text()


def test_files_and_scripts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = run(requests(), out, hipblaslt_path=tmp_path)
    names = {path.name for path in out.iterdir()}
    assert names == {
        "BBS_TN_0.yaml",
        "BBS_TN_1.yaml",
        "BBS_TN_0.sh",
        "BBS_TN_1.sh",
        "run_BBS_TN_all.sh",
        "sizes.csv",
    }
    for script in out.glob("*.sh"):
        assert script.stat().st_mode & 0o111
        subprocess.run(["bash", "-n", str(script)], check=True)
    assert "==== BBS_TN_1" in (tmp_path / "Config_BBS_TN.log").read_text()
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    again = run(requests(), out, hipblaslt_path=tmp_path, jobs=2)
    assert first == {path.name: path.read_bytes() for path in out.iterdir()}
    assert [config.sha256 for config in again.configs] == [config.sha256 for config in report.configs]
    assert "\n  Device: 0\n" in (out / "BBS_TN_0.yaml").read_text()


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    report = run(requests(), tmp_path / "out", dry_run=True)
    assert len(report.configs) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rules", ["original", "default"])
def test_clusters_and_merging(rules: str) -> None:
    sizes = [[4096, 4096, 1, 4096], [256, 256, 1, 1024], [4096, 4096, 1, 2048]]
    keys = {"ONE_SIZE_PER_CONFIG": False, "backend": "tensile", "Sizes": sizes}
    (together,) = generate(requests(rules, **keys))
    assert len(together.sizes) == 3
    singles = [
        size_space(one, one.sizes[0])
        for size in sizes
        for one in requests(rules, backend="tensile", Sizes=[size])
    ]
    largest = max(len(single.group) for single in singles)
    assert largest < len(together.group) < sum(len(single.group) for single in singles)
    assert yaml.load(render(together), Loader=LOADER) == together.data
    by_tile = list(generate(requests(rules, **keys, CLUSTER=1)))
    assert [len(config.sizes) for config in by_tile] == [2, 1]
    capped = list(generate(requests(rules, **keys, MAX_NUM_KERNELS_PER_CONFIG=50_000)))
    assert len(capped) > 1
    assert all(config.kernels <= 50_000 for config in capped)


def test_older_spelling() -> None:
    (config, _) = generate(requests(backend="tensile"), dialect=STREAM_K_INTEGER)
    data = config.data["BenchmarkProblems"][0][1]["ForkParameters"]
    names = {name for item in data for name in item}
    assert {"StreamK", "StreamKXCCMapping"} <= names
    assert not {"TileProcessingStrategy", "WorkAssignment", "PersistentXCCMapping"} & names
    assert next(item["StreamK"] for item in data if "StreamK" in item) == [3]


def test_spelling_is_read_from_the_checkout(tmp_path: Path) -> None:
    table = tmp_path / "tensilelite" / "Tensile" / "Common.py"
    table.parent.mkdir(parents=True)
    table.write_text("import rocisa\nvalidParameters = {'DepthU': -1, 'StreamK': [0, 3], **other}\n")
    dialect = detect(tmp_path)
    assert not dialect.strategy
    assert dialect.known == {"DepthU": None, "StreamK": (0, 3)}
    (config, _) = generate(requests(backend="tensile"), dialect=dialect)
    assert "WorkGroupMapping" in config.left_out
    assert {name for item in config.data["BenchmarkProblems"][0][1]["ForkParameters"] for name in item} == {
        "StreamK",
        "Groups",
    }
    assert detect(tmp_path / "none").strategy


@pytest.mark.parametrize("keys", [{"backend": "ductile"}, {"backend": "tensile"}])
def test_counts_and_costs_are_of_what_an_older_tensilelite_is_given(keys: dict[str, Any]) -> None:
    """Parameters and values that it doesn't know leave fewer entries, and none of them twice."""
    dialect = Dialect(known={"MatrixInstruction": None, "DepthU": (16, 32, 64), "StoreVectorWidth": (-1, 2)})
    (config,) = generate(requests(**keys, ARCH="gfx942", Sizes=[[300, 64, 1, 512]]), dialect=dialect)
    data = config.data
    fork = data["BenchmarkProblems"][0][1]["ForkParameters"]
    (groups,) = (item["Groups"] for item in fork if "Groups" in item)
    first = [json.dumps(entry, sort_keys=True) for entry in groups[0]]
    assert len(set(first)) == len(first) > 1 and {entry["DepthU"] for entry in groups[0]} <= {16, 32, 64}
    flat = [len(values) for item in fork for name, values in item.items() if name != "Groups"]
    assert config.kernels == math.prod([*flat, *map(len, groups)])
    if keys["backend"] == "ductile":
        assert len(data["Backend"]["Config"]["weights"][0]["group_0"]) == len(first)
    none = Dialect(known={"MatrixInstruction": None, "DepthU": (7,)})
    with pytest.raises(InputError, match=r"knows none of the macro tiles .* lacks .*DepthU=32"):
        size_space(requests(**keys)[0], (256, 256, 1, 1024), dialect=none)


def test_an_axis_that_every_entry_sets_is_no_axis() -> None:
    """Where all tiles are large, all of them keep their sums in accumulation registers."""
    large = requests(
        ARCH="gfx942",
        Sizes=[[8192, 8192, 1, 32]],
        MFMA=[32, 32, 8, 1],
        MT_DU=[256, 256, 32],
        MACROTILE_OPT=True,
    )
    for made in (large, requests(ARCH="gfx942", Sizes=[[512, 512, 1, 512]])):
        (config,) = generate(made)
        entries = config.group.frame["MIArchVgpr"]
        assert (config.params.find("MIArchVgpr") is None) is not entries.has_nulls()
        assert entries.has_nulls() is (made is not large)


def test_a_huge_k_is_split_as_often_as_tensilelite_can() -> None:
    for keys in ({"StreamK": False}, {"DataType": "F4", "MX": True}):
        (request,) = requests(**keys, Sizes=[[7, 7, 1, 2**32 - 1]])
        space = size_space(request, request.sizes[0])
        assert 0 < len(space.group) < 50_000
        assert int(space.group.frame["gsu"].max()) <= 1024  # type: ignore[arg-type]


def old_checkout(folder: Path) -> Path:
    """A checkout of before the genetic algorithm."""
    package = folder / "tensilelite/Tensile"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "4.33.0"\n', encoding="utf-8")
    names = "'StreamK': [0, 3], 'DepthU': -1, 'GlobalSplitU': -1, 'MatrixInstruction': -1"
    (package / "Common.py").write_text(f"validParameters = {{{names}}}\n", encoding="utf-8")
    return folder


def test_configs_ask_for_the_version_at_hand(tmp_path: Path) -> None:
    """tensilelite refuses a config of another major version."""
    checkout = old_checkout(tmp_path)
    report = run(requests(backend="tensile"), tmp_path / "a", hipblaslt_path=checkout)
    assert "  MinimumRequiredVersion: 4.33.0\n" in Path(report.configs[0].path).read_text(encoding="utf-8")
    report = run(requests(backend="tensile"), tmp_path / "b", hipblaslt_path=checkout, era="B")
    assert "  MinimumRequiredVersion: 4.33.0\n" in Path(report.configs[0].path).read_text(encoding="utf-8")
    (config, _) = generate(requests(backend="tensile"))
    assert config.data["GlobalParameters"]["MinimumRequiredVersion"] == "5.0.0"


def test_a_checkout_without_the_genetic_algorithm(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tensilelite 4\.33\.0 of this checkout has no genetic algorithm"):
        run(requests(backend="ductile"), tmp_path / "a", hipblaslt_path=old_checkout(tmp_path))
    assert not (tmp_path / "a").exists()


def test_custom_schedules_are_not_repeated(tmp_path: Path) -> None:
    kernel = {"name": "k", "dtype": "16bit", "MacroTile0": 256, "MacroTile1": 256, "MatrixInstruction": [16, 16, 32, 1],
              "MIWaveGroup": [2, 2], "DepthU": 64, "PrefetchGlobalRead": 2, "GlobalReadVectorWidthA": 8, "LDSTrInst": 0,
              "TransposeA": True, "TransposeB": False, "DirectToLds": "x"}  # fmt: skip
    (request,) = requests(backend="tensile", Sizes=[[4096, 4096, 1, 4096]])
    path = tmp_path / "schedules.json"
    path.write_text(json.dumps([kernel]), encoding="utf-8")
    (config,) = generate([request], kernels=read_kernels(path))
    first = config.group.entries()[0]
    assert first["MatrixInstruction"] == [16, 16, 32, 1, 1, 8, 8, 2, 2]
    assert first["UseCustomMainLoopSchedule"] == 1
    assert first["LDSTrInst"] is False
    assert "DirectToLds" not in first
    several = {param.name for param in config.params.params if param.active and len(param.values) > 1}
    assert several.isdisjoint(first), "an axis that the schedule sets itself would repeat it"
    assert yaml.load(render(config), Loader=LOADER) == config.data


def test_a_list_of_schedules_is_a_list_of_mappings(tmp_path: Path) -> None:
    path = tmp_path / "schedules.json"
    for text in ("[{", "{}", "[1]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"schedules\.json"):
            read_kernels(path)
    with pytest.raises(InputError, match=r"none\.json"):
        read_kernels(tmp_path / "none.json")


def test_scaled_kernels_of_gfx950_are_subtile_kernels() -> None:
    keys = {"DataType": "F8", "MX": True, "Sizes": [[4096, 4096, 1, 4100]]}
    (config,) = generate(requests(**keys))
    assert config.stem == "F8BS_MXE8B32_TN_0"
    assert config.sizes == [(4096, 4096, 1, 4128)]
    fork = {
        name: values
        for item in config.data["BenchmarkProblems"][0][1]["ForkParameters"]
        for name, values in item.items()
    }
    assert fork["UseSubtileImpl"] == [True]
    assert fork["UseCustomMainLoopSchedule"] == [0]
    for entry in config.group.entries():
        assert entry["MatrixInstruction"][:2] == [16, 16]
        assert entry["MatrixInstruction"][5] % 2 == entry["MatrixInstruction"][6] % 2 == 0
        assert entry["DepthU"] % 128 == 0
    assert config.data["GlobalParameters"]["MXScaleFormat"] == 1
    assert config.bias_type == "S"


def test_problem_types() -> None:
    def text(**keys: Any) -> str:
        return render(next(iter(generate(requests("original", CMS=False, **keys)))))

    fp8 = text(DataType="F8")
    assert "UseScaleAB: Scalar" in fp8
    assert "BiasTypeArgs: [B]" in fp8
    assert "F32XdlMathOp: X" in text(DataType="X", DestDataType="S")
    assert "    #UseBias: 1" in text(DataType="D", DestDataType="D", ComputeDataType="D")
    plain = text()
    order = (
        "GlobalParameters:",
        "BenchmarkProblems:",
        "ForkParameters:",
        "Groups:",
        "LibraryLogic:",
        "Backend:",
    )
    assert all(plain.index(a) < plain.index(b) for a, b in itertools.pairwise(order))
