"""Rules on single combinations against what the solution code of tensilelite says to them, of October 2024 and of 0.12.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from geko.candidates.validity import NEWEST_CHECKS, Checks, KernelFacts, drop_invalid, rules
from geko.config_generator.dialect import NEWEST, Dialect, detect
from geko.config_generator.fork_params.depth import element_bytes
from geko.config_generator.load_input_config import load_requests
from geko.config_generator.spaces import assemble, generate, plan, size_space
from geko.errors import InputError

BASE: dict[str, Any] = {"TRANSA": "T", "TRANSB": "N", "DataType": "B", "DestDataType": "B", "ComputeDataType": "S",
                        "ARCH": "gfx942", "backend": "tensile", "Sizes": [[4096, 4096, 1, 4096]]}  # fmt: skip


def requests(rules: str = "default", **keys: Any):  # type: ignore[no-untyped-def]
    return load_requests({**BASE, **keys}, rules=rules, environ={})  # type: ignore[arg-type]


#: Loads to registers of 0.12.1 allow waves along the other dimension, which those of 2024 don't.
OF_2024 = Checks(four_waves=True, wave_tile=32, vgpr_row=True)
BLOCKS = [4, 4, 4, 16, 1, 4, 4]
PLAIN = [16, 16, 16, 1, 1, 4, 4]


def to_vgpr(side: str, **more: Any) -> dict[str, Any]:
    return {f"DirectToVgpr{side}": True, f"GlobalReadVectorWidth{side}": 4, f"VectorWidth{side}": 4, **more}


def is_kept(
    layout: str,
    mi: list[int],
    depth: int,
    given: dict[str, Any],
    checks: Checks,
    registers: int | None = None,
) -> bool:
    im, inn, ik, ib, _, wtm, wtn, wgm, wgn = mi
    parameters = {
        "DepthU": depth, "ClusterLocalRead": 1, "1LDSBuffer": 1, "GlobalReadVectorWidthA": 8, "GlobalReadVectorWidthB": 8,
        "VectorWidthA": -1, "VectorWidthB": -1, "DirectToVgprA": False, "DirectToVgprB": False, "WaveSeparateGlobalReadA": 0,
        "WaveSeparateGlobalReadB": 0, **given,
    }  # fmt: skip
    row = {
        "im": im, "in": inn, "ik": ik, "ib": ib, "wtm": wtm, "wtn": wtn, "wgm": wgm, "wgn": wgn, "lsu": 1,
        "mt0": im * wtm * wgm, "mt1": inn * ib * wtn * wgn, "waves": wgm * wgn, "threads": 64 * wgm * wgn, **parameters,
    }  # fmt: skip
    facts = KernelFacts("B", 2, layout, 65536, checks=checks, registers=registers)
    return drop_invalid(facts, pl.DataFrame([row])).height == 1


# Layout, instruction, DepthU, parameters; the verdicts of 0.12.1 and of October 2024.
@pytest.mark.parametrize(
    ("layout", "mi", "depth", "given", "newer", "older"),
    [
        ("NN", [*PLAIN, 2, 2], 64, to_vgpr("A"), True, False),
        ("NN", [*PLAIN, 4, 1], 64, to_vgpr("A"), True, True),
        ("NN", [*PLAIN, 4, 1], 32, to_vgpr("A", GlobalReadVectorWidthB=4), True, True),
        ("NN", [*PLAIN, 4, 1], 16, to_vgpr("A", GlobalReadVectorWidthB=4), False, False),
        ("NN", [*PLAIN, 4, 1], 64, to_vgpr("A", WaveSeparateGlobalReadA=2), False, False),
        ("NN", [*BLOCKS, 4, 1], 64, to_vgpr("A"), False, False),
        ("NT", [*PLAIN, 2, 2], 64, to_vgpr("B"), True, False),
        ("NT", [*PLAIN, 1, 4], 64, to_vgpr("B"), True, True),
        ("NT", [*BLOCKS, 4, 1], 64, to_vgpr("B"), False, False),
        ("NT", [*BLOCKS, 1, 4], 64, to_vgpr("B", GlobalReadVectorWidthA=4), True, True),
        ("NT", [4, 4, 4, 16, 1, 8, 1, 4, 1], 64, {}, False, False),
        ("NT", [4, 4, 4, 16, 1, 8, 1, 4, 1], 64, {"GlobalReadVectorWidthB": 4}, True, True),
        ("NT", [*PLAIN, 2, 2], 64, {}, True, True),
        ("TN", [16, 16, 16, 1, 1, 7, 1, 4, 1], 64, {"GlobalReadVectorWidthB": 2, "VectorWidthA": 1}, False, False),
        ("TN", [16, 16, 16, 1, 1, 7, 1, 4, 1], 64,
         {"GlobalReadVectorWidthA": 2, "GlobalReadVectorWidthB": 2, "VectorWidthA": 1}, True, True),
        ("TN", [*PLAIN, 2, 2], 64, {"ClusterLocalRead": 0}, False, False),
        ("TN", [*PLAIN, 2, 2], 64, {}, True, True),
        ("TN", [*PLAIN, 2, 2], 16, {"ClusterLocalRead": 0}, True, True),
    ],
)  # fmt: skip
def test_rules_are_those_of_tensilelite(
    layout: str, mi: list[int], depth: int, given: dict[str, Any], newer: bool, older: bool
) -> None:
    assert is_kept(layout, mi, depth, given, NEWEST_CHECKS) is newer
    assert is_kept(layout, mi, depth, given, OF_2024) is older


def checkout(folder: Path, table: str, code: str = "", types: str | None = None) -> Path:
    package = folder / "tensilelite/Tensile"
    (package / "TensileInstructions").mkdir(parents=True)
    (package / "Common.py").write_text(table, encoding="utf-8")
    (package / "SolutionStructs.py").write_text(code, encoding="utf-8")
    if types is not None:
        (package / "TensileInstructions/DataType.py").write_text(types, encoding="utf-8")
    return folder


def test_what_a_checkout_checks(tmp_path: Path) -> None:
    listed = "validTT = 32\nvalidParameters = {'StreamK': [0, 3], \"MatrixInstruction\": validMatrixInstructions}\n"
    code = (
        'reject(state, "Stream-K requries MIWaveGroup0*MIWaveGroup1=4")\n'
        'reject(state, "Type {} for DataType not yet supported with StreamK")\n'
    )
    found = detect(checkout(tmp_path / "a", listed, code, "{'char': 'F8'}"))
    assert found.checks == Checks(four_waves=True, wave_tile=32, stream_k_types=frozenset("SHB"))
    assert not found.fnuz
    older = 'reject(state, "MIWaveGroup[1] and MatrixInstBN should be 1 for DirectToVgprA. Current")\n'
    assert detect(checkout(tmp_path / "b", listed, older)).checks == Checks(wave_tile=32, vgpr_row=True)
    for text, mixed in (("self.states.totalMixedAgprs = 0", True), ("self.states.totalAgprs = 0", False)):
        root = checkout(tmp_path / f"m{mixed}", listed, older)
        (root / "tensilelite/Tensile/KernelWriter.py").write_text(text, encoding="utf-8")
        assert detect(root).checks.mixed_sums is mixed
    free = "validTT = 32\nvalidParameters = {'StreamK': [0, 3], 'MatrixInstruction': -1}\n"
    newest = detect(checkout(tmp_path / "c", free, types="{'char': 'F8N'}, {'char': 'F8'}"))
    assert newest.checks == NEWEST_CHECKS and newest.fnuz


@pytest.mark.parametrize("rules", ["default", "original"])
def test_wave_tiles_that_end_a_run_are_left_out(rules: str) -> None:
    (request,) = requests(rules, Sizes=[[8192, 8192, 1, 69632]])
    table = dict.fromkeys(["MatrixInstruction", "DepthU"])
    for most in (None, 32):
        dialect = Dialect(known=table, checks=Checks(wave_tile=most))
        (space,), dropped = plan(request, dialect=dialect)
        config = assemble(request, space, "x", dialect)
        large = max(max(entry["MatrixInstruction"][5:7]) for entry in config.group.entries())
        assert (large > 32) is (most is None) and not dropped
        said = "MatrixInstruction with a wave tile above 32" in config.left_out
        assert said is (most is not None and rules == "original")


def test_types_that_stream_k_has_not(tmp_path: Path) -> None:
    dialect = Dialect(checks=Checks(stream_k_types=frozenset("SHB")), version="4.33.0")
    (request,) = requests(DataType="F8N", StreamK=True, EPILOGUES=False)
    with pytest.raises(
        InputError, match=r"tensilelite 4\.33\.0 of this checkout has Stream-K for B, H, S only"
    ):
        size_space(request, request.sizes[0], dialect=dialect)
    assert size_space(request, request.sizes[0], dialect=NEWEST).kernels
    for kind in ({"DataType": "F8N", "StreamK": False}, {"StreamK": True}):
        (other,) = requests(**kind)
        assert size_space(other, other.sizes[0], dialect=dialect).kernels


def test_stream_k_of_older_versions_has_no_bias() -> None:
    dialect = Dialect(checks=Checks(four_waves=True), version="4.33.0")
    (request,) = requests(StreamK=True)
    with pytest.raises(
        InputError, match=r"tensilelite 4\.33\.0 .* no Stream-K kernels with a bias: .* EPILOGUES false"
    ):
        size_space(request, request.sizes[0], dialect=dialect)
    for keys in ({"StreamK": True, "EPILOGUES": False}, {"StreamK": False}):
        (other,) = requests(**keys)
        assert size_space(other, other.sizes[0], dialect=dialect).kernels


@pytest.mark.parametrize(
    ("letters", "dest", "types"),
    [("F8N", "B", ["S", "B"]), ("F8N", "F8N", ["S"]), ("F8N", "S", ["S"]), ("B", "B", None)],
)
def test_bias_types_of_8_bit_floats(letters: str, dest: str, types: list[str] | None) -> None:
    """Kernels that load a bias of an 8-bit float can't be written, but older versions list it by default."""
    given = requests(DataType=letters, DestDataType=dest, StreamK=False)
    for fnuz, expected in ((True, None), (False, types)):
        config = next(iter(generate(given, dialect=Dialect(fnuz=fnuz))))
        assert config.data["BenchmarkProblems"][0][0].get("BiasDataTypeList") == expected


@pytest.mark.parametrize(("letters", "older"), [("F8N", "F8"), ("F8NB8N", "F8B8"), ("B", "B")])
def test_fnuz_types_had_the_letters_of_the_others(letters: str, older: str) -> None:
    given = requests(DataType=letters, StreamK=False)
    for fnuz, expected in ((True, letters), (False, older)):
        config = next(iter(generate(given, dialect=Dialect(fnuz=fnuz))))
        problem = config.data["BenchmarkProblems"][0][0]
        assert problem["DataType"] == expected and problem["DestDataType"] == "B"


def test_depths_that_fit_with_an_operand_in_registers_alone() -> None:
    """Which depths go together with a tile is only known when it is known which operand needs no LDS."""
    keys = {
        "DataType": "S",
        "DestDataType": "S",
        "TRANSA": "N",
        "StreamK": False,
        "Sizes": [[768, 3072, 1, 2048]],
    }
    (request,) = requests(**keys)
    frame = size_space(request, request.sizes[0]).group.frame
    large = frame.filter((pl.col("mt0") + pl.col("mt1")) * pl.col("DepthU") * 4 > 65536)
    assert large.height and large["DirectToVgprA"].all()
    assert set(frame["DirectToVgprA"].to_list()) == {False, True}


# Type, layout, instruction, DepthU, parameters; the registers that the kernel writer of 0.12.1 counts.
@pytest.mark.parametrize(
    ("data", "layout", "mi", "depth", "given", "registers"),
    [
        ("B", "NN", [16, 16, 16, 1, 1, 2, 16, 4, 1], 32,
         {"MIArchVgpr": True, "ClusterLocalRead": 0, "GlobalReadVectorWidthB": 2}, 255),
        ("B", "NN", [16, 16, 16, 1, 1, 1, 24, 4, 1], 32, {"MIArchVgpr": True, "GlobalReadVectorWidthB": 2}, 258),
        ("B", "NT", [16, 16, 16, 1, 1, 10, 8, 2, 2], 32, {"VectorWidthB": 1}, 258),
        ("B", "TN", [16, 16, 16, 1, 1, 6, 13, 1, 4], 32, {"GlobalReadVectorWidthA": 2, "GlobalReadVectorWidthB": 2}, 253),
        ("B", "TT", [16, 16, 16, 1, 1, 8, 6, 2, 2], 64,
         {"GlobalReadVectorWidthA": 2, "VectorWidthA": 4, "VectorWidthB": 1}, 259),
        ("F8N", "NN", [16, 16, 32, 1, 1, 18, 3, 2, 2], 64,
         {"GlobalReadVectorWidthA": 16, "GlobalReadVectorWidthB": 4, "VectorWidthA": 2}, 256),
        ("F8N", "NN", [16, 16, 32, 1, 1, 11, 4, 4, 1], 64,
         {"GlobalReadVectorWidthA": 16, "GlobalReadVectorWidthB": 16}, 259),
        ("S", "NT", [16, 16, 4, 1, 1, 6, 8, 4, 1], 32,
         {"DirectToVgprB": True, "VectorWidthB": 4, "GlobalReadVectorWidthA": 4, "GlobalReadVectorWidthB": 4}, 255),
        ("D", "NN", [16, 16, 4, 1, 1, 4, 11, 2, 2], 16,
         {"ClusterLocalRead": 0, "GlobalReadVectorWidthA": 2, "GlobalReadVectorWidthB": 1, "VectorWidthA": 2}, 247),
    ],
)  # fmt: skip
def test_registers_are_counted_as_the_kernel_writer_does(
    data: str, layout: str, mi: list[int], depth: int, given: dict[str, Any], registers: int
) -> None:
    im, inn, ik, ib, _, wtm, wtn, wgm, wgn = mi
    row = {
        "im": im, "in": inn, "ik": ik, "ib": ib, "wtm": wtm, "wtn": wtn, "wgm": wgm, "wgn": wgn, "lsu": 1,
        "mt0": im * wtm * wgm, "mt1": inn * ib * wtn * wgn, "waves": wgm * wgn, "threads": 64 * wgm * wgn, "DepthU": depth,
        "ClusterLocalRead": 1, "MIArchVgpr": False, "UseSgprForGRO": -1, "GlobalReadVectorWidthA": 8,
        "GlobalReadVectorWidthB": 8, "VectorWidthA": 1, "VectorWidthB": -1, "DirectToVgprA": False, "DirectToVgprB": False,
        **given,
    }  # fmt: skip
    compute = "D" if data == "D" else "S"
    frame = pl.DataFrame([row])
    for most in (registers - 2, registers - 1, registers):
        # The count may be one short, for an alignment; it is never above.
        facts = KernelFacts(data, element_bytes(data), layout, 1 << 20, compute_type=compute, registers=most)
        refused = [
            name
            for name, _, rule in rules(facts, frame.columns)
            if name == "R1" and frame.select(rule).item()
        ]
        if most != registers - 1:
            assert refused == (["R1"] if most < registers - 1 else [])
    unknown = frame.select(
        pl.exclude("MIArchVgpr", "GlobalReadVectorWidthA", "VectorWidthB", "ClusterLocalRead")
    )
    facts = KernelFacts(data, element_bytes(data), layout, 1 << 20, compute_type=compute, registers=registers)
    assert not any(
        unknown.select(rule).item() for name, _, rule in rules(facts, unknown.columns) if name == "R1"
    )


@pytest.mark.parametrize("mixed", [True, False])
def test_sums_beyond_the_accumulation_registers(mixed: bool) -> None:
    """A tile of 384x256 needs 384 sums a lane: 128 of them lie elsewhere, or it can't be written."""
    given = {"MIArchVgpr": False, "UseSgprForGRO": 0, "ClusterLocalRead": 0, "VectorWidthA": 1}
    tile = [16, 16, 16, 1, 1, 12, 8, 2, 2]
    assert is_kept("NT", tile, 16, given, Checks(mixed_sums=mixed), registers=256) is mixed
