"""Workload joined to library: hit, fallback or miss with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from logic_samples import PROBLEM_TYPE, list_form, solution, write

from geko.errors import UsageError
from geko.ingest import ingest
from geko.ingest.library_tree import ingest_libraries
from geko.library_coverage import coverage
from geko.warehouse import Warehouse

_ROW = {
    "function": "matmul", "M": 4096, "N": 128, "K": 1024, "batch_count": 1, "transA": "T", "transB": "N",
    "a_type": "bf16_r", "b_type": "bf16_r", "c_type": "bf16_r", "d_type": "bf16_r", "compute_type": "c_f32_r",
    "alpha": 1, "beta": 0, "scaleA": 0, "scaleB": 0, "activation_type": "none", "call_count": 1,
}  # fmt: skip
BIASED = PROBLEM_TYPE | {
    "UseBias": 1,
    "BiasDataTypeList": [0, 7],
    "Activation": True,
    "ActivationType": "hipblaslt_all",
}
BIAS = {"bias_vector": True, "bias_type": "bf16_r"}

TUNABLEOP = """Validator,PT_VERSION,2.8.0
Validator,ROCM_VERSION,7.0.0.0-38-9428210
Validator,HIPBLASLT_VERSION,1000-f9a7a1b6
Validator,GCN_ARCH_NAME,gfx942:sramecc+:xnack-
GemmTunableOp_BFloat16_TN,tn_4096_128_1024_ld_1024_1024_4096,Gemm_Hipblaslt_TN_12683,0.05
GemmTunableOp_BFloat16_TN,tn_512_128_1024_ld_2048_2048_512,Gemm_Hipblaslt_TN_7,0.05
"""
AITER = """cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw
304,32,4096,1024,False,torch.bfloat16,torch.bfloat16,False,False,hipblaslt,42,0,10.0,Cijk_x,0.0,1,1
80,64,4096,1024,False,torch.bfloat16,torch.bfloat16,False,False,hipblaslt,42,0,10.0,Cijk_x,0.0,1,1
"""


def log(path: Path, *rows: dict[str, Any]) -> Path:
    text = "".join(
        "- {"
        + ", ".join(f"{k}: {str(v).lower() if isinstance(v, bool) else v}" for k, v in (_ROW | row).items())
        + "}\n"
        for row in rows
    )
    path.write_text(text)
    return path


def logic(
    root: Path, folder: str, sizes: list[list[int]], *, types: dict[str, Any] | None = None, **form: Any
) -> None:
    data = list_form(0, [[size, [0, 5.0]] for size in sizes], solutions=[solution(0)], **form)
    data[4] = types or PROBLEM_TYPE
    write(root / folder, data, f"{folder}.yaml")


@pytest.fixture
def warehouse(tmp_path: Path, fixed: Callable[[Path], Warehouse]) -> Iterator[Warehouse]:
    with fixed(tmp_path / "w.duckdb") as found:
        yield found


def answers(found: Any) -> dict[tuple[int, int, int], tuple[str, str | None]]:
    return {(row["m"], row["n"], row["k"]): (row["status"], row["reason"]) for row in found.rows.to_pylist()}


def test_reasons_of_a_logic_folder(tmp_path: Path, warehouse: Warehouse) -> None:
    root = tmp_path / "lib"
    logic(root, "Plain", [[4096, 128, 1, 1024], [4096, 256, 1, 1024, 9999, 9999, 9999, 9999]])
    logic(root, "Cu80", [[80, 80, 1, 80]], arch={"Architecture": "gfx942", "CUCount": 80}, types=BIASED)
    logic(root, "Other", [[950, 950, 1, 950]], arch="gfx950", types=PROBLEM_TYPE | {"TransposeA": False})
    fnuz = PROBLEM_TYPE | {"DataType": 11, "DataTypeA": 11, "DataTypeB": 11}
    logic(root, "Fnuz", [[1, 1, 1, 1]], types=fnuz)
    logic(root, "Grid", [[1, 1, 1, 1]], kind="GridBased", types=PROBLEM_TYPE | {"TransposeB": True})
    rows: list[tuple[dict[str, Any], tuple[str, str | None]]] = [
        ({}, ("hit", None)),
        ({"N": 256, "lda": 1280}, ("hit", None)),  # logic is found by M, N, batch, K alone
        ({"N": 129}, ("miss", "size")),
        ({"N": 130, "transA": "C"}, ("miss", "size")),  # C is T for real types
        ({"N": 131, **BIAS}, ("miss", "epilogue")),
        ({"M": 80, "N": 80, "K": 80, **BIAS}, ("miss", "cu")),  # the file for 80 CUs has bias and size
        ({"N": 132, "gradient": True}, ("miss", "epilogue")),
        ({"N": 133, "a_type": "f16_r"}, ("miss", "type")),
        ({"N": 135, "a_type": "f8_r", "b_type": "f8_r"}, ("miss", "type")),
        ({"M": 950, "N": 950, "K": 950, "transA": "N"}, ("miss", "arch")),
        ({"N": 134, "transB": "T"}, ("fallback", "size")),
    ]
    ingest(warehouse, [log(tmp_path / "w.yaml", *(row for row, _ in rows))], workload="w")
    ingest_libraries(warehouse, [root])
    found = coverage(warehouse, "w", "lib", arch="gfx942:sramecc+", cu_count=304)
    wanted = {((_ROW | row)["M"], (_ROW | row)["N"], (_ROW | row)["K"]): answer for row, answer in rows}
    assert answers(found) == wanted
    details = {row["n"]: row["detail"] for row in found.rows.to_pylist()}
    assert details[80] == "made for 80 CUs, not 304"
    assert details[131] == "not with bias bf16_r"
    assert details[950] == "made for gfx950, not gfx942"
    assert details[132] == "not with gradient"
    assert details[133] == "nothing for HBBS_TN"
    assert details[135] == "nothing for F8BS_TN, only with fnuz fp8"
    assert details[134] == "by GridBased file Grid/Grid.yaml"
    hit = next(row for row in found.rows.to_pylist() if row["n"] == 128)
    assert (hit["file"], hit["solution_index"], hit["efficiency"]) == ("Plain/Plain.yaml", 0, 5.0)
    assert hit["solution_id"] is not None
    on80 = answers(coverage(warehouse, "w", "lib", arch="gfx942", cu_count=80))
    assert on80[80, 80, 80] == ("hit", None)
    assert on80[4096, 131, 1024] == ("miss", "size")
    anywhere = answers(coverage(warehouse, "w", "lib"))
    assert anywhere[950, 950, 950] == ("hit", None), "without a GPU arch and CU count are not asked"
    one = coverage(warehouse, "w", "Plain.yaml", arch="gfx942", cu_count=304)
    assert answers(one)[4096, 134, 1024] == ("miss", "type")


def test_weight_is_time_and_never_mixed(tmp_path: Path, warehouse: Warehouse) -> None:
    logic(tmp_path / "lib", "Plain", [[4096, 128, 1, 1024]])
    ingest_libraries(warehouse, [tmp_path / "lib"])
    ingest(warehouse, [log(tmp_path / "w.yaml", {"call_count": 3}, {"N": 64, "call_count": 2})], workload="w")
    found = coverage(warehouse, "w", "lib")
    assert {row["us_source"] for row in found.rows.to_pylist()} == {"guessed"}
    assert "guessed from the sizes" in found.title()
    # A tuned table is also a measurement: of the 128-column problem only.
    table = tmp_path / "tunableop_results0.csv"
    table.write_text(TUNABLEOP)
    ingest(warehouse, [table])
    timed = {row["n"]: row for row in coverage(warehouse, "w", "lib").rows.to_pylist()}
    assert (timed[128]["us_source"], timed[128]["us"]) == ("measured", 50.0)
    assert timed[64]["us_source"] == "guessed"
    total = 3 * 50.0 + 2 * timed[64]["us"]
    assert timed[128]["share_pct"] == pytest.approx(100 * 3 * 50.0 / total)
    found = coverage(warehouse, "w", "lib")
    assert (found.arch, found.simulated) == ("gfx942", False)
    summary = found.summary.to_pylist()
    assert [
        (row["status"], row["reason"], row["shapes"], row["calls"], row["guessed"]) for row in summary
    ] == [
        ("hit", None, 1, 3, 0),
        ("miss", "size", 1, 2, 1),
    ]
    assert sum(row["share_pct"] for row in summary) == pytest.approx(100)


def test_what_an_application_used_says_nothing_of_where_a_workload_was_timed(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    logic(tmp_path / "lib", "Plain", [[4096, 128, 1, 1024]])
    ingest_libraries(warehouse, [tmp_path / "lib"])
    ingest(warehouse, [log(tmp_path / "w.yaml", {}, {"N": 64})], workload="w")
    table = tmp_path / "tunableop_results0.csv"
    table.write_text(TUNABLEOP)
    ingest(warehouse, [table])
    other = tmp_path / "other_results.csv"
    lines = TUNABLEOP.replace("gfx942", "gfx950").splitlines()
    lines += [line.replace("_128_", "_64_").replace("0.05", "0.04") for line in lines if "tn_4096" in line]
    other.write_text("\n".join(lines) + "\n")
    ingest(warehouse, [other], applied=True)
    assert coverage(warehouse, "w", "lib").arch == "gfx942"
    ingest(warehouse, [other])
    assert coverage(warehouse, "w", "lib").arch == "gfx950", (
        "more of it was timed there, as the user says now"
    )


def test_tunableop_table(tmp_path: Path, warehouse: Warehouse) -> None:
    table = tmp_path / "tunableop_results0.csv"
    table.write_text(TUNABLEOP)
    rows = [{}, {"M": 512}, {"N": 96}, {"N": 97, **BIAS}, {"N": 98, "transA": "N"}]
    ingest(warehouse, [table])
    ingest(warehouse, [log(tmp_path / "w.yaml", *rows)], workload="w")
    found = coverage(warehouse, "w", table.name, arch="gfx942")
    assert answers(found) == {
        (4096, 128, 1024): ("hit", None),
        (512, 128, 1024): ("miss", "padding"),
        (4096, 96, 1024): ("miss", "size"),
        (4096, 97, 1024): ("miss", "epilogue"),
        (4096, 98, 1024): ("miss", "type"),
    }
    details = {row["m"]: row["detail"] for row in found.rows.to_pylist()}
    assert details[512] == "tuned lda 2048, ldb 2048, called packed"
    assert {
        reason for _, reason in answers(coverage(warehouse, "w", table.name, arch="gfx950")).values()
    } == {
        "arch",
        "type",
    }


def test_aiter_table_rounds_rows_up_and_has_several_gpus(tmp_path: Path, warehouse: Warehouse) -> None:
    table = tmp_path / "tuned.csv"
    table.write_text(AITER)
    rows = [{"N": 32}, {"N": 20}, {"N": 33}, {"N": 64}, {"N": 65}]
    ingest(warehouse, [table])
    ingest(warehouse, [log(tmp_path / "w.yaml", *rows)], workload="w")
    found = coverage(warehouse, "w", "tuned.csv", cu_count=304)
    assert answers(found) == {
        (4096, 32, 1024): ("hit", None),
        (4096, 20, 1024): ("hit", None),
        (4096, 33, 1024): ("miss", "size"),
        (4096, 64, 1024): ("miss", "size"),
        (4096, 65, 1024): ("miss", "size"),
    }
    details = {row["n"]: row["detail"] for row in found.rows.to_pylist()}
    assert details[20] == "under n = 32, to which n is rounded up"
    assert details[64] == "no entry of this size"
    assert answers(coverage(warehouse, "w", "tuned.csv", cu_count=80))[4096, 33, 1024] == ("hit", None)


def test_names_are_told_apart(tmp_path: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    logic(tmp_path / "a", "Equality", [[1, 1, 1, 1]])
    logic(tmp_path / "b", "Equality", [[2, 2, 1, 2]])
    ingest(warehouse, [log(tmp_path / "w.yaml", {})], workload="w")
    ingest_libraries(warehouse, [tmp_path / "a" / "Equality", tmp_path / "b" / "Equality"])
    with pytest.raises(UsageError, match="several libraries"):
        coverage(warehouse, "w", "Equality")
    assert coverage(warehouse, "w", str(tmp_path / "a" / "Equality")).library == "Equality"
    monkeypatch.chdir(tmp_path)
    assert coverage(warehouse, "w", "b/Equality").library == "Equality"
    for name, file in (("MatchTable.yaml", "a.yaml"), ("Known.yaml", "Equality.yaml")):
        (tmp_path / name).write_text(f"---\n0: [/x/{file}, 0]\n1: [/x/{file}, 1]\n...\n")
        ingest(warehouse, [tmp_path / name])
    with pytest.raises(
        UsageError, match=r"numbers 2 solution.* of 1 logic file.*\(a.yaml, …\).*`geko library ingest FOLDER`"
    ):
        coverage(warehouse, "w", "MatchTable.yaml")
    folder = tmp_path / "a" / "Equality"
    with pytest.raises(
        UsageError, match=f"all of these files are in the ingested folder .*: give --library {folder}$"
    ):
        coverage(warehouse, "w", "Known.yaml")
    with pytest.raises(UsageError, match="no library 'nope'"):
        coverage(warehouse, "w", "nope")
    with pytest.raises(UsageError, match=r"no workload 'x' .*there are: w"):
        coverage(warehouse, "x", str(tmp_path / "a" / "Equality"))
