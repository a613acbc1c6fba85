"""Libraries as rows, and the identity of solutions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logic_samples import NAME, dict_form, lib, list_form, solution

from geko.domain.identity import content_id
from geko.errors import InputError
from geko.library.model import Library
from geko.library.operations import entry_rows, load_library, solution_identity, solution_rows
from geko.library.rows import ENTRY_SCHEMA, SOLUTION_SCHEMA


def test_solution_rows() -> None:
    table = solution_rows(lib(), "gfx942/Equality/x.yaml")
    assert table.schema == SOLUTION_SCHEMA
    row = table.to_pylist()[1]
    assert row["logic_file"] == "gfx942/Equality/x.yaml"
    assert (row["library_type"], row["local_index"], row["source"]) == ("Equality", 1, "parameters")
    assert (row["gemm_type"], row["operation"], row["isa"]) == ("BBS", "Cijk_Alik_Bljk", "gfx942")
    assert (row["mt0"], row["mt1"], row["depth_u"], row["mi_m"], row["mi_b"], row["miwt0"]) == (
        32,
        16,
        64,
        16,
        1,
        2,
    )
    assert row["solution_id"] == content_id("solution", row["canonical"])
    assert json.loads(row["canonical"])["Gemm"]["TransposeA"] == 1
    assert row["name"].endswith("_WGM8")


def test_entry_rows() -> None:
    sizes = [[[1, 2, 3, 4], [0, 5]], [[1, 2, 3, 4, 10, 11, 12, 13], [1, 6.5]]]
    table = entry_rows(lib(list_form(2, sizes)))
    assert table.schema == ENTRY_SCHEMA
    first, second = table.to_pylist()
    assert (first["m"], first["n"], first["batch"], first["k"], first["ldd"]) == (1, 2, 3, 4, None)
    assert [second[key] for key in ("ldd", "ldc", "lda", "ldb")] == [10, 11, 12, 13]
    assert (second["efficiency"], second["local_index"], second["logic_file"]) == (6.5, 1, NAME)
    assert (first["trans_a"], first["trans_b"], first["a_type"], first["compute_type"]) == (
        "T",
        "N",
        "bf16_r",
        "f32_r",
    )
    ids = solution_rows(lib(list_form(2, sizes))).column("solution_id").to_pylist()
    assert [first["solution_id"], second["solution_id"]] == ids
    empty = list_form(1, [], kind="FreeSize")
    empty[7] = None
    assert entry_rows(lib(empty)).num_rows == 0
    with pytest.raises(InputError, match="points to no solution"):
        entry_rows(lib(list_form(1, [[[1, 1, 1, 1], [5, 0.0]]])))


def test_identity_folds_spellings_and_leaves_out_place_names_and_derived() -> None:
    plain = solution(1)
    other = solution(
        1,
        index=7,
        SolutionNameMin="x",
        KernelNameMin="y",
        ActivationFuncCall=0,
        LVCA=9,
        LdsOffsetB=5,
        DepthU=64.0,
    )
    other["_DepthU"] = 1
    assert solution_identity(plain) == solution_identity(other)
    assert solution_identity(plain) != solution_identity(solution(1, DepthU=32))
    assert solution_identity(plain) != solution_identity(solution(1, SomethingNew=1))
    assert solution_identity({"A": True}) == solution_identity({"A": 1}) == solution_identity({"A": "true"})


def test_identity_knows_layout_and_types_but_not_the_epilogue() -> None:
    loaded = lib()
    ids = solution_rows(loaded).column("solution_id").to_pylist()
    assert solution_rows(loaded.copy().add_epilogues()).column("solution_id").to_pylist() == ids
    other = lib()
    other.problem_type["TransposeA"] = False
    assert not set(solution_rows(other).column("solution_id").to_pylist()) & set(ids)


def test_layouts_give_the_same_identities() -> None:
    assert (
        solution_rows(Library(dict_form(), NAME)).column("solution_id").to_pylist()
        == solution_rows(lib()).column("solution_id").to_pylist()
    )


def test_real_files_have_rows(shared: Path) -> None:
    files = sorted(
        [*shared.glob("data/library_logic/**/*.yaml"), *shared.glob("example-library/Equality/*.yaml")]
    )
    assert len(files) > 20
    for path in files:
        loaded = load_library(path)
        rows = solution_rows(loaded)
        assert rows.num_rows == len(loaded.solutions)
        assert rows.column("mt0").null_count == 0, path
        assert entry_rows(loaded).num_rows == len(loaded.sizes)
    example = solution_rows(load_library(files[-1]))
    assert len(set(example.column("solution_id").to_pylist())) == example.num_rows
