"""Tuning files and TunableOp tables out of a hand-made measured run: content, refusals, and the way back in."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geko.cli.main import main
from geko.domain.problem import Problem
from geko.errors import InputError, UsageError
from geko.export import export_run
from geko.export.applied import verify_applied
from geko.export.deploy import Deployed, export_override, export_tunableop, read_validators, validators_of
from geko.ingest import ingest
from geko.warehouse import Statement, Warehouse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from made_run import NOW, MadeRun, gemm, uid

TORCH = {"PT_VERSION": "2.9.1", "ROCBLAS_VERSION": "5.2.0"}


class Run(MadeRun):
    """A made run that exports."""

    def override(self, out: Path, **options: Any) -> Deployed:
        self.flush()
        return export_override(self.warehouse, self.run_id, out, **options)

    def tunableop(self, out: Path, **options: Any) -> Deployed:
        self.flush()
        return export_tunableop(self.warehouse, self.run_id, out, **{"validators": TORCH, **options})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        yield Run(warehouse)


def winners(path: Path, folder: Path) -> dict[str, int]:
    """Problem → solution index of a file, as GEKO's own ingest reads it."""
    with Warehouse.open(folder / "again.duckdb") as warehouse:
        (report,) = ingest(warehouse, [path])
        assert (report.state, report.n_rejects) == ("new", 0), report
        rows = (
            warehouse.sql("SELECT problem_id::VARCHAR AS p, solution_index AS i FROM measurement")
            .read_all()
            .to_pylist()
        )
    return {row["p"]: row["i"] for row in rows}


@pytest.mark.parametrize("rows", ["legacy", "versioned"])
def test_an_override_read_again_has_the_same_winners(run: Run, tmp_path: Path, rows: str) -> None:
    expected = {
        run.winner(gemm(512)): 7,
        run.winner(gemm(1024, "NT", batch=4), 0): 0,
        run.winner(gemm(64, types="f8_fnuz_r", d_type="bf16_r", out="bf16_r"), 12): 12,
    }
    run.winner(gemm(2048), 9, kept=False)
    done = run.override(tmp_path / "tuning.txt", rows=rows)
    assert (done.n_written, done.refused) == (3, [])
    assert done.path is not None
    assert winners(done.path, tmp_path) == expected


def test_the_file_is_as_hipblaslt_reads_it(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512, compute="f32_fast_bf16_r"))
    path = run.override(tmp_path).path
    assert path == tmp_path / "tuning_override.txt"
    first, header, value = path.read_text().splitlines()
    assert first == "Git Version: 81e208af05-dirty"
    assert header.startswith("    transA,")
    row = dict(zip(header.strip().split(","), value.strip().split(","), strict=True))
    assert {
        key: row[key]
        for key in (
            "transA",
            "m",
            "batch_count",
            "compute_type",
            "solution_index",
            "gcnArchName",
            "CUs",
            "us",
        )
    } == {
        "transA": "T",
        "m": "512",
        "batch_count": "1",
        "compute_type": "f32_bf16_r",
        "solution_index": "7",
        "gcnArchName": "gfx942:sramecc+:xnack-",
        "CUs": "304",
        "us": "80",
    }
    assert (row["kernel_name"], row["solution_name"]) == ("Cijk_kernel_1", "Cijk_solution_1")


def test_builds_before_one_call_fnuz_types_f8(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = Run(warehouse, version="1201")
        run.winner(gemm(64, types="f8_fnuz_r", d_type="bf16_r", out="bf16_r"))
        path = run.override(tmp_path / "t.txt").path
    assert path is not None
    assert ",f8_r,f8_r,bf16_r," in path.read_text()


def test_what_no_row_can_say_is_refused_with_the_reason(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512), share=1.0)
    run.winner(gemm(512, bias_type="bf16_r", bias_source="d"), 8, share=9.0)
    run.winner(gemm(1024), None)
    done = run.override(tmp_path / "t.txt")
    assert done.n_written == 1
    reasons = {row["gemm"]: row["refusal"] for row in done.refused}
    assert "can't tell them apart" in reasons["BBS_TN 512×128×256"]
    assert "not in the library that was measured" in reasons["BBS_TN 1024×128×256"]
    assert done.path is not None
    assert ",8," in done.path.read_text().splitlines()[2]
    versioned = run.override(tmp_path / "v.txt", rows="versioned")
    assert versioned.n_written == 2


def test_versioned_rows_carry_the_whole_key(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512, bias_type="f32_r", bias_source="d", activation="gelu"))
    run.winner(gemm(256, activation="tanh"))
    run.winner(gemm(128), named=False)
    done = run.override(tmp_path / "v.txt", rows="versioned")
    assert done.path is not None
    header, value = [line for line in done.path.read_text().splitlines() if not line.startswith("#")][1:3]
    row = dict(zip(header.strip().split(","), value.strip().split(","), strict=True))
    assert {
        key: row[key]
        for key in (
            "schema_version",
            "epilogue",
            "bias_type",
            "bias_vector",
            "aux_type",
            "required_workspace",
        )
    } == {
        "schema_version": "1",
        "epilogue": "36",
        "bias_type": "0",
        "bias_vector": "1",
        "aux_type": "255",
        "required_workspace": "4096",
    }
    assert [row["refusal"] for row in done.refused] == [
        "no number is known for the epilogue of activation tanh",
        "rows with schema_version need the names of the solution and of the kernel",
    ]


def test_what_no_log_told_is_named_in_the_file(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, other = gemm(512), gemm(1024)
    for problem in (gemm(256), gemm(128, bias_type="f32_r", bias_source="d"), told, other):
        run.winner(problem)
    run.flush()
    ingest(run.warehouse, [logged(tmp_path / "w.yaml", (512, 1, None, 1), (1024, 1, None, 1))], workload="w")
    run.warehouse.sql("UPDATE run SET workload_id = (SELECT workload_id FROM workload)", write=True)
    for problem, value in ((told, 0), (other, 1)):
        run.warehouse.sql(
            f"UPDATE call SET fields = json_merge_patch(fields, '{{\"batch_mode\": {value}}}') "
            f"WHERE problem_id = '{problem.problem_id}'",
            write=True,
        )
    done = run.override(tmp_path / "v.txt", rows="versioned")
    assert done.refused == [
        {
            "gemm": "BBS_TN 1024×128×256",
            "refusal": "the workload's calls have batch_mode 1, and rows are written with 0",
        }
    ]
    assert done.assumed == [
        "amaxD 0, aux_type 255, bias_stride 0, compute_input_type_a 255, compute_input_type_b 255, lde = m, scaleE 0, "
        "sm_count_target 0, streamk_tile_scheduling 0, stride_e packed, uniform_summation_order 0 (3 of 3 rows)",
        "batch_mode 0, bias_type 255 (2 of 3 rows)",
    ]
    assert done.path is not None
    remarks = [line for line in done.path.read_text().splitlines() if line.startswith("#")]
    assert remarks == [f"# Assumed, as no log tells it: {line}" for line in done.assumed]
    assert run.override(tmp_path / "l.txt").assumed == []
    words = ["export", "override", "--rows", "versioned", "--out", str(tmp_path / "c.txt")]
    assert main([*words, "--db", str(run.warehouse.path)]) == 0
    assert "assumed, as no log tells it: amaxD 0" in capsys.readouterr().out


def test_a_tunableop_table_read_again_has_the_same_winners(run: Run, tmp_path: Path) -> None:
    expected = {
        run.winner(gemm(512)): 7,
        run.winner(gemm(1024, "NN", "f16_r", lda=2048), 8): 8,
        run.winner(gemm(256, "NT", batch=4), 9): 9,
        run.winner(gemm(96, types="f8_fnuz_r", d_type="bf16_r", out="bf16_r", scale_a=1, scale_b=1), 11): 11,
    }
    done = run.tunableop(tmp_path)
    assert (done.n_written, done.refused) == (4, [])
    assert done.path == tmp_path / "tunableop_results.csv"
    lines = done.path.read_text().splitlines()
    assert lines[:5] == [
        "Validator,PT_VERSION,2.9.1",
        "Validator,ROCM_VERSION,7.0.2",
        "Validator,HIPBLASLT_VERSION,100200-81e208af05",
        "Validator,GCN_ARCH_NAME,gfx942:sramecc+:xnack-",
        "Validator,ROCBLAS_VERSION,5.2.0",
    ]
    assert lines[5] == "GemmTunableOp_BFloat16_TN,tn_512_128_256_ld_256_256_512,Gemm_Hipblaslt_7,0.08"
    assert winners(done.path, tmp_path) == expected


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (gemm(8, activation="gelu"), "activation gelu"),
        (gemm(8, out="f32_r", d_type="f32_r"), "mixed types"),
        (gemm(8, types="f8_r", out="bf16_r", d_type="bf16_r"), "scalar or row-wise scales only"),
        (gemm(8, batch=2, stride_a=1 << 20), "strides of a batch"),
        (gemm(8, batch=2, bias_type="f32_r", bias_source="d"), "batched operator with bias"),
        (gemm(8, compute="f32_fast_f16_r"), "compute type f32_fast_f16_r"),
    ],
)
def test_what_tunableop_cannot_say_is_refused(
    run: Run, tmp_path: Path, problem: Problem, reason: str
) -> None:
    run.winner(problem)
    done = run.tunableop(tmp_path / "t.csv")
    assert (done.path, done.n_written) == (None, 0)
    assert reason in done.refused[0]["refusal"]
    assert not (tmp_path / "t.csv").exists()


def test_validators_must_be_complete_and_of_the_measured_build(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512))
    with pytest.raises(UsageError, match="validators PT_VERSION, ROCBLAS_VERSION are not known"):
        run.tunableop(tmp_path, validators={})
    with pytest.raises(
        UsageError, match="HIPBLASLT_VERSION is 100201-5b515cf1bc, but the winners were measured with 100200"
    ):
        run.tunableop(tmp_path, validators={**TORCH, "HIPBLASLT_VERSION": "100201-5b515cf1bc"})
    table = tmp_path / "torch.csv"
    table.write_text(
        "Validator,PT_VERSION,2.9.1\nValidator,HIP_VERSION,702\nValidator,ROCBLAS_VERSION,5.2\nGemmTunableOp_float_NN,nn_1_1_1\n"
    )
    path = run.tunableop(tmp_path / "t.csv", validators=read_validators(table)).path
    assert path is not None
    text = path.read_text()
    assert "HIP_VERSION,702" in text
    assert "ROCM_VERSION" not in text
    table.write_text("nothing\n")
    with pytest.raises(InputError, match="no Validator lines"):
        read_validators(table)
    with pytest.raises(UsageError, match="NAME=VALUE is needed"):
        validators_of(["PT_VERSION"])


def test_simulated_winners_are_refused_or_marked(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = Run(warehouse, simulated=True)
        run.winner(gemm(512))
        for export in (run.override, run.tunableop):
            with pytest.raises(UsageError, match="is simulated"):
                export(tmp_path / "t.csv")
        override = run.override(tmp_path / "t.txt", allow_simulated=True).path
        table = run.tunableop(tmp_path / "t.csv", allow_simulated=True).path
    assert (override, table) == (tmp_path / "t.simulated.txt", tmp_path / "t.simulated.csv")
    assert "simulated, not measured" in override.read_text()
    assert "Validator,GEKO_SIMULATED,true" in table.read_text()


def test_the_same_selection_gives_the_same_bytes_and_is_recorded(run: Run, tmp_path: Path) -> None:
    for number in range(20):
        run.winner(gemm(64 * (number + 1)), number, share=float(number % 3))
    first, second = (run.override(tmp_path / name).path for name in ("a.txt", "b.txt"))
    assert first is not None
    assert second is not None
    assert first.read_bytes() == second.read_bytes()
    recorded = (
        run.warehouse.sql("SELECT kind, path, simulated FROM export_file ORDER BY path")
        .read_all()
        .to_pylist()
    )
    assert [(row["kind"], Path(row["path"]).name, row["simulated"]) for row in recorded] == [
        ("override", "a.txt", False),
        ("override", "b.txt", False),
    ]


def test_a_run_without_winners_has_nothing_to_deploy(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512), kept=False)
    with pytest.raises(UsageError, match="nothing to deploy"):
        run.override(tmp_path)
    log = logged(tmp_path / "used.yaml", (512, 7, None, 1))
    with pytest.raises(UsageError, match="kept no kernel"):
        verify_applied(run.warehouse, run.run_id, [log])


def logged(path: Path, *rows: tuple[int, int | None, str | None, int]) -> Path:
    """A hipBLASLt log of shapes m×128×256: m, index, solution name, calls."""
    lines = []
    for m, index, name, calls in rows:
        index_text = "" if index is None else f", algo_method: 2, solution_index: {index}"
        name_text = "" if name is None else f", solution_Name: {name}, kernel_name: ''"
        lines.append(
            f"- {{function: matmul, M: {m}, N: 128, K: 256, lda: 256, ldb: 256, ldc: {m}, ldd: {m}, stride_a: {m * 256}, "
            f"stride_b: 32768, stride_c: {m * 128}, stride_d: {m * 128}, alpha: 1.000000, beta: 0.000000, transA: T, "
            "transB: N, batch_count: 1, scaleA: 0, scaleB: 0, scaleAlpha_vector: false, gradient: false, use_e: false, "
            "bias_vector: false, bias_source: d, a_type: bf16_r, b_type: bf16_r, c_type: bf16_r, d_type: bf16_r, "
            "scale_type: f32_r, bias_type: bf16_r, compute_type: c_f32_r, activation_type: none, flush: false, "
            f"rotating: 0, cold_iters: 0, iters: 0{index_text}{name_text}, call_count: {calls}}}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_log_of_the_application_tells_what_was_used(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for m in (512, 1024, 2048, 4096, 8192, 64):
        run.winner(gemm(m), 7)
    run.flush()
    log = logged(
        tmp_path / "used.yaml",
        (512, 99, "Cijk_solution_1", 5),
        (1024, 7, None, 5),
        (2048, 7, "Cijk_something_else", 2),
        (4096, None, None, 1),
        (8192, 7, None, 3),
        (8192, 8, None, 1),
    )
    db = ["--db", str(run.warehouse.path)]
    assert main(["verify-applied", str(log), *db, "--format", "json"]) == 1
    shown = capsys.readouterr()
    rows = {row["gemm"].split()[1].split("×")[0]: row for row in json.loads(shown.out)}
    assert {m: row["state"] for m, row in rows.items()} == {
        "512": "applied", "1024": "applied (by index)", "2048": "other kernel", "4096": "no evidence",
        "8192": "partly applied", "64": "not called",
    }  # fmt: skip
    assert rows["2048"]["used_instead"] == "Cijk_something_else"
    assert (rows["8192"]["calls"], rows["8192"]["calls_applied"]) == (4, 3)
    assert rows["8192"]["why"] == "1 of 4 calls ran another kernel"
    assert (
        "6 winner(s) of the run: 2 called with the tuned kernel (1 shown by index alone), 2 with another kernel "
        "(1 in some of the calls), 1 not called (no call of this size), 1 unknown (neither kernel nor index is told"
    ) in shown.err
    good = logged(tmp_path / "good.yaml", (512, 7, "Cijk_solution_1", 5))
    assert main(["verify-applied", str(good), *db]) == 0
    assert "1 called with the tuned kernel, 0 with another kernel, 5 not called" in capsys.readouterr().out
    junk = tmp_path / "junk"
    junk.write_text("nothing of the sort\n")
    assert main(["verify-applied", str(junk), *db]) == 1
    assert capsys.readouterr().err.count(str(junk)) == 1


@pytest.mark.parametrize("what", ["other size", "other epilogue", "no kernel told"])
def test_an_application_that_shows_no_winner_is_no_success(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    run.winner(gemm(512))
    run.flush()
    log = logged(tmp_path / "used.yaml", (511 if what == "other size" else 512, 7, "Cijk_solution_1", 5))
    text = log.read_text()
    if what == "other epilogue":
        log.write_text(text.replace("activation_type: none", "activation_type: relu"))
    if what == "no kernel told":
        logged(log, (512, None, None, 5))
    assert main(["verify-applied", str(log), "--db", str(run.warehouse.path)]) == 1
    reason = {
        "other size": "1 not called (no call of this size)",
        "other epilogue": "1 not called (this size was called in another way only)",
        "no kernel told": "1 unknown (neither kernel nor index is told (log with HIPBLASLT_LOG_MASK=128",
    }[what]
    assert reason in capsys.readouterr().out


BENCH = (
    "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,"
    "b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,amaxD,activation_type,bias_vector,bias_type,"
    "rotating_buffer,flush,use_gpu_timer,hipblaslt-Gflops,hipblaslt-GB/s,us"
)


def benched(m: int, rank: int, index: int, name: str) -> str:
    """What hipblaslt-bench prints of one solution of an m×128×256 problem."""
    return (
        f"[{rank}]:{BENCH}\n    T,N,0,1,{m},128,256,1,256,{m * 256},0,256,32768,{m},{m * 128},{m},{m * 128},bf16_r,bf16_r,"
        f"bf16_r,bf16_r,f32_r,0,0,0,0,0,none,0,bf16_r,512,0,1,100,1,90\n    --Solution index: {index}\n"
        f"    --Solution name:  {name}\n    --kernel name:    {name}\n"
    )


def test_bench_output_tells_what_was_used_and_what_it_was_told(run: Run, tmp_path: Path) -> None:
    for m in (512, 1024, 2048, 4096):
        run.winner(gemm(m), 7)
    run.flush()
    out = tmp_path / "bench.txt"
    command = "$ hipblaslt-bench -m {0} -n 128 -k 256 --print_kernel_info"
    out.write_text(
        f"{command.format(512)} --algo_method index --solution_index 7\n{benched(512, 0, 7, 'Cijk_solution_1')}"
        f"{command.format(1024)}\n{benched(1024, 0, 7, 'Cijk_solution_2')}"
        f"{command.format(2048)}\n{benched(2048, 0, 7, 'Cijk_something_else')}"
        f"{command.format(4096)} --requested_solution 2\n{benched(4096, 0, 7, 'Cijk_solution_4')}"
        f"{benched(4096, 1, 8, 'Cijk_x')}"
    )
    found = verify_applied(run.warehouse, run.run_id, [out])
    rows = {row["gemm"].split()[1].split("×")[0]: row for row in found.rows.to_pylist()}
    assert {m: (row["state"], (row["why"] or "").partition(":")[0]) for m, row in rows.items()} == {
        "512": ("applied", "the benchmark was told the index"),
        "1024": ("applied", ""),
        "2048": ("other kernel", "every call ran another kernel"),
        "4096": ("no evidence", "several solutions were timed, which tells nothing of the library's choice"),
    }
    assert found.exit_code == 1


def test_proof_of_use_is_no_part_of_a_workload(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512))
    run.flush()
    log = logged(tmp_path / "llama.yaml", (512, 7, "Cijk_solution_1", 5))
    question = (
        "SELECT name, sum(call_count)::BIGINT AS n FROM workload JOIN workload_file USING (workload_id) "
        "JOIN workload_call USING (file_id) GROUP BY ALL"
    )
    ingest(run.warehouse, [logged(tmp_path / "first.yaml", (512, 3, None, 2))], workload="llama")
    assert verify_applied(run.warehouse, run.run_id, [log]).exit_code == 0
    assert run.warehouse.sql(question).read_all().to_pylist() == [{"name": "llama", "n": 2}]
    # Who ingests the same file wants it to be one.
    ingest(run.warehouse, [log])
    assert run.warehouse.sql(question).read_all().to_pylist() == [{"name": "llama", "n": 7}]


def test_command_line(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run.winner(gemm(512))
    run.winner(gemm(1024), None)
    run.flush()
    db = ["--db", str(run.warehouse.path)]
    assert main(["export", "override", "--out", str(tmp_path / "o.txt"), *db]) == 0
    shown = capsys.readouterr().out
    assert "1 winner(s) can't be applied this way" in shown
    assert "1 winner(s) written to" in shown
    assert main(["export", "tunableop", "--out", str(tmp_path), *db, "--validator", "PT_VERSION=2.9"]) == 2
    assert main(["export", "parquet", "--out", str(tmp_path / "p"), *db]) == 0
    import pyarrow.parquet as pq

    timings = pq.read_table(tmp_path / "p" / "timings.parquet").to_pylist()
    assert [(row["m"], row["us"], row["simulated"]) for row in timings] == [(512, 81.0, False)]
    assert json.loads(json.dumps(capsys.readouterr().out.split()[-1])).endswith("timings.parquet")


def test_exports_read_what_was_decided_until_a_view_changes(run: Run, tmp_path: Path) -> None:
    run.winner(gemm(512))
    run.flush()
    run.warehouse.apply(Statement("run/note_views", {"run_id": run.run_id}))
    verdicts = "SELECT class, decided_at FROM selection"
    (decided,) = run.warehouse.sql(verdicts).read_all().to_pylist()
    export_run(run.warehouse, "csv", run.run_id, tmp_path)
    assert run.warehouse.sql(verdicts).read_all().to_pylist() == [decided]
    # As if the views had another text when this was decided. There are no pairs behind it, so it can't be kept.
    run.warehouse.sql(
        'UPDATE run SET summary = json_merge_patch(summary, \'{"views": "other"}\')', write=True
    )
    export_run(run.warehouse, "csv", run.run_id, tmp_path)
    (again,) = run.warehouse.sql(verdicts).read_all().to_pylist()
    assert (decided["class"], again["class"]) == ("kept", "device_fault")
    assert again["decided_at"] == decided["decided_at"], "it is no newer than runs that were decided after it"


def test_configs_come_out_as_they_were_run(run: Run, tmp_path: Path) -> None:
    run.flush()
    with pytest.raises(UsageError, match="has no tuning configs"):
        export_run(run.warehouse, "configs", run.run_id, tmp_path)
    text = "GlobalParameters:\n  # as edited by hand\n  NumWarmups: 7\n"
    run.add(
        "tuning_config", config_id=uid("config"), name="a", origin="file", backend="tensile", arch="gfx942", gemm="BBS_TN",
        protocol_id=uid("p"), n_sizes=1, n_tiles=1, n_kernels=1, yaml=text, first_seen=NOW,
    )  # fmt: skip
    for name, state in (("a.yaml", "edited"), ("gone.yaml", "removed")):
        run.add("run_config", run_id=run.run_id, config_id=uid("config"), file_name=name, state=state)
    run.flush()
    paths = export_run(run.warehouse, "configs", run.run_id, tmp_path / "c")
    assert [path.name for path in paths] == ["a.yaml"]
    assert paths[0].read_text() == text
