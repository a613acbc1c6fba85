"""Ingest into a warehouse: once by content, workloads, superseded parsers, refusals, real files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geko.errors import InputError, MissingFileError, UsageError
from geko.ingest import FileReport, dispatch, formats, ingest, ingest_rows, store
from geko.ingest.hipblaslt_log import FORMAT
from geko.ingest.inline import inline_rows
from geko.warehouse import Warehouse

LINE = (
    "- {{function: matmul, M: {m}, N: 32, K: 64, transA: T, transB: N, batch_count: 1, a_type: bf16_r,"
    " b_type: bf16_r, c_type: bf16_r, d_type: bf16_r, compute_type: c_f32_r, call_count: {count}}}\n"
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with Warehouse.open(tmp_path / "db" / "w.duckdb") as opened:
        yield opened


def write(path: Path, *rows: tuple[int, int], end: str = "") -> Path:
    path.write_text("".join(LINE.format(m=m, count=count) for m, count in rows) + end)
    return path


def rows(warehouse: Warehouse, text: str) -> list[dict[str, Any]]:
    return warehouse.sql(text).read_all().to_pylist()


def totals(warehouse: Warehouse) -> dict[str, int]:
    names = ("ingest_file", "ingest_reject", "problem", "call", "workload", "workload_file", "workload_call")
    return {name: rows(warehouse, f'SELECT count(*) AS n FROM "{name}"')[0]["n"] for name in names}


def test_first_and_second_ingest(warehouse: Warehouse, tmp_path: Path) -> None:
    log = write(tmp_path / "app.log", (8, 2), (16, 3), (8, 5), end="- {function: matmul, M: 1")
    seen: list[FileReport] = []
    (report,) = ingest(warehouse, [log], progress=seen.append)
    assert seen == [report]
    assert (report.state, report.kind, report.workload) == ("new", "hipblaslt-log", "app")
    assert (report.n_lines, report.n_rows, report.n_rejects) == (4, 3, 1)
    before = totals(warehouse)
    assert before == {
        "ingest_file": 1, "ingest_reject": 1, "problem": 2, "call": 2, "workload": 1, "workload_file": 1,
        "workload_call": 2,
    }  # fmt: skip
    (again,) = ingest(warehouse, [log])
    assert again == replace(report, state="known")
    assert totals(warehouse) == before
    assert rows(warehouse, "SELECT sum(call_count)::INT AS n FROM workload_call") == [{"n": 10}]
    (file,) = rows(warehouse, "SELECT * FROM ingest_file")
    assert (file["path"], file["n_bytes"], file["sha256"]) == (str(log), log.stat().st_size, report.sha256)


def test_content_decides_not_name_or_time(warehouse: Warehouse, tmp_path: Path) -> None:
    import os

    log = write(tmp_path / "a.yaml", (8, 2))
    times = (log.stat().st_atime_ns, log.stat().st_mtime_ns)
    (first,) = ingest(warehouse, [log], workload="w")
    copy = tmp_path / "renamed.bin"
    copy.write_bytes(log.read_bytes())
    assert [r.state for r in ingest(warehouse, [copy], workload="w")] == ["known"]
    write(log, (9, 2))
    os.utime(log, ns=times)
    (changed,) = ingest(warehouse, [log], workload="w")
    assert changed.state == "new"
    assert changed.file_id != first.file_id
    assert totals(warehouse)["workload_file"] == 2


def test_files_of_many_ranks_are_one_workload(warehouse: Warehouse, tmp_path: Path) -> None:
    files = [write(tmp_path / f"log.{rank}", (8, 1), (16 + rank, 1)) for rank in range(5)]
    twin = write(tmp_path / "log.9", (8, 1), (16, 1))
    reports = ingest(warehouse, [*files, twin], workload="job")
    assert [report.state for report in reports] == ["new"] * 5 + ["known"]
    assert totals(warehouse)["workload"] == 1
    assert totals(warehouse)["problem"] == 6
    counted = rows(
        warehouse,
        "SELECT m, sum(call_count)::INT AS n FROM workload_call JOIN call USING (call_id) JOIN problem USING"
        " (problem_id) JOIN workload_file USING (file_id) GROUP BY m ORDER BY m LIMIT 1",
    )
    assert counted == [{"m": 8, "n": 5}]


def test_known_file_joins_another_workload(warehouse: Warehouse, tmp_path: Path) -> None:
    log = write(tmp_path / "log", (8, 1))
    ingest(warehouse, [log], workload="one")
    (report,) = ingest(warehouse, [log], workload="two")
    assert (report.state, report.workload) == ("known", "two")
    assert totals(warehouse)["workload_file"] == 2
    assert totals(warehouse)["workload_call"] == 1


def test_newer_parser_replaces_what_an_older_one_read(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log", (8, 1), end="cut {function: matmul, M: 1")
    ingest(warehouse, [log], workload="w")
    before = totals(warehouse)
    newer = replace(FORMAT, version=FORMAT.version + 1)
    monkeypatch.setattr("geko.ingest.hipblaslt_log.FORMAT", newer)
    (report,) = ingest(warehouse, [log], workload="w")
    assert report.state == "new"
    assert totals(warehouse) == before
    assert rows(warehouse, "SELECT parser_version AS v FROM ingest_file") == [{"v": newer.version}]
    assert rows(warehouse, "SELECT count(*) AS n FROM workload_file JOIN ingest_file USING (file_id)") == [
        {"n": 1}
    ]


def test_large_files_are_stored_in_parts(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from geko.ingest import lines

    monkeypatch.setattr(dispatch, "_PARTS_ABOVE", 0)
    monkeypatch.setattr(lines, "_CHUNK", 1 << 12)
    monkeypatch.setattr(lines, "_BATCH", 1 << 13)
    monkeypatch.setattr(lines, "_buffers", __import__("threading").local())
    log = write(tmp_path / "log", *((n % 50 + 1, 1) for n in range(300)))
    (report,) = ingest(warehouse, [log])
    assert report.n_rows == 300
    assert totals(warehouse)["call"] == totals(warehouse)["workload_call"] == 50
    assert rows(warehouse, "SELECT sum(call_count)::INT AS n FROM workload_call") == [{"n": 300}]


def test_failure_in_the_last_step_leaves_the_file_unknown(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log", (8, 1))
    monkeypatch.setattr(store, "canonical_json", lambda value: "{not json")
    damaged = write(tmp_path / "log", (8, 1), end="noise\n")
    with pytest.raises(Exception, match=r"(?i)json"):
        ingest(warehouse, [damaged])
    monkeypatch.undo()
    assert set(totals(warehouse).values()) == {0}
    assert ingest(warehouse, [log])[0].state == "new"


def test_what_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "prose").write_text("nothing of interest\n" * 10)
    (tmp_path / "grid").write_text("SIZE_OPTION: 1\nDataType: B\nDestDataType: B\nComputeDataType: S\n")
    good = write(tmp_path / "log", (8, 1))
    reports = ingest(warehouse, [tmp_path / "empty", tmp_path / "prose", tmp_path / "grid", good])
    assert [report.state for report in reports] == ["refused", "refused", "refused", "new"]
    assert "is empty" in reports[0].message
    assert "no format" in reports[1].message
    assert "SIZE_OPTION 0" in reports[2].message
    assert totals(warehouse)["ingest_file"] == 1
    with pytest.raises(MissingFileError):
        ingest(warehouse, [good, tmp_path / "missing"])
    with pytest.raises(UsageError, match="hipblaslt-log"):
        ingest(warehouse, [good], kind="nonsense")


def test_log_that_begins_with_much_other_output(warehouse: Warehouse, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("epoch 1, batch 2: loss 0.3\n" * 5000 + LINE.format(m=8, count=1))
    (report,) = ingest(warehouse, [log])
    assert (report.kind, report.n_rows, report.n_rejects) == ("hipblaslt-log", 1, 5000)


def test_rows_of_no_file(warehouse: Warehouse) -> None:
    given = inline_rows(["1024", "512", "1", "256", "B", "B", "S", "T", "N"])
    first = ingest_rows(warehouse, given, origin="--inline", workload="inline")
    assert (first.state, first.n_rows) == ("new", 1)
    assert ingest_rows(warehouse, given, origin="--inline", workload="inline").state == "known"
    (row,) = rows(warehouse, "SELECT m, n, k, trans_a, a_type FROM problem")
    assert row == {"m": 1024, "n": 512, "k": 256, "trans_a": "T", "a_type": "bf16_r"}
    with pytest.raises(InputError, match="M must be a positive integer"):
        ingest_rows(warehouse, [given[0] | {"M": 0}], origin="--inline", workload="inline")


def test_every_format_loads_and_says_what_it_is() -> None:
    for kind in formats.kinds():
        form = formats.load(kind)
        assert form.kind == kind
        assert form.version >= 1
        assert form.title
        assert form.sniff(b"", Path("nothing")) == 0


#: Path below data -> kind, rows, sum of call counts, problems, rejected lines.
REAL = {
    "hipblaslt_log_mask64/zy00_DeepSeek-V2-lite.yaml": ("hipblaslt-log", 36, 14520, 36, 0),
    "hipblaslt_log_mask64/zy00_Llama-2-70B.yaml": ("hipblaslt-log", 15, 2893, 15, 0),
    "hipblaslt_log_mask64/zy00_Llama-3.1-70B.yaml": ("hipblaslt-log", 15, 6415, 15, 0),
    "hipblaslt_log_mask64/zy00_Llama-3.1-8B.yaml": ("hipblaslt-log", 15, 15480, 15, 0),
    "hipblaslt_log_mask64/geko_readme_example.yaml": ("hipblaslt-log", 2, 2, 2, 0),
    "hipblaslt_log_mask64/tensilelite_lib2yaml_test_sample.yaml": ("hipblaslt-log", 2, 2, 2, 0),
    "hipblaslt_log_mask32/docs_offline_tuning_2025_sample.txt": ("bench-commands", 1, 1, 1, 0),
    "hipblaslt_log_mask32/hipblaslt_gemm_log_example_2024-12.txt": ("bench-commands", 14, 14, 14, 0),
    "hipblaslt_log_mask32/issue_rl5706_2026-03_any_stride_suffix.txt": ("bench-commands", 1, 1, 1, 0),
    "hipblaslt_log_mask32/issue_rl819_2025-07_bias_vector_gfx1201.txt": ("bench-commands", 1, 1, 1, 0),
    "hipblaslt_log_mask32/pr_hipblaslt1289_2024-10_cpp_api.txt": ("bench-commands", 1, 1, 1, 0),
    "hipblaslt_log_mask32/pr_hipblaslt485_2023-12_first_mask32_form.txt": ("bench-commands", 1, 1, 1, 0),
    "hipblaslt_log_mask32/sample_cpp_2024_wrapped_comment_form.txt": ("bench-commands", 1, 1, 1, 0),
    "tensile_tuning_yaml/hipblaslt_gemm_log_example.txt": ("bench-commands", 14, 14, 14, 0),
    "rocblas_log/issue_rl3413_rocblas_bench_layer_mixed.log": ("rocblas-log", 2, 2, 2, 4),
    "rocblas_log/layer4_gfx1100_and_bench_cols.yaml": ("rocblas-log", 1, 136, 1, 0),
    "rocblas_log/layer4_vendor_doc.yaml": ("rocblas-log", 2, 2, 2, 0),
    "hipblaslt_bench_yaml/hipblaslt_matmul_probset1_bench.yaml": ("bench-yaml", 35, 35, 35, 0),
    "hipblaslt_bench_yaml/hipblaslt_sequence.yaml": ("bench-yaml", 2, 2, 2, 0),
}


def test_real_files(warehouse: Warehouse, shared: Path) -> None:
    data = shared / "data"
    found: dict[str, tuple[str | None, int, int, int, int]] = {}
    for report in ingest(warehouse, [data / name for name in REAL]):
        assert report.state in ("new", "known"), report.message
        counted = rows(
            warehouse,
            "SELECT sum(call_count)::BIGINT AS calls, count(DISTINCT problem_id) AS problems FROM"
            f" workload_call JOIN call USING (call_id) WHERE file_id = '{report.file_id}'",
        )[0]
        name = report.path.relative_to(data).as_posix()
        found[name] = (report.kind, report.n_rows, counted["calls"], counted["problems"], report.n_rejects)
    assert found == REAL


def test_every_log_of_the_shared_folders_is_listed(shared: Path) -> None:
    folders = ("hipblaslt_log_mask64", "hipblaslt_log_mask32", "rocblas_log", "hipblaslt_bench_yaml")
    files = {
        path.relative_to(shared / "data").as_posix()
        for folder in folders
        for path in (shared / "data" / folder).iterdir()
    }
    assert files <= REAL.keys()


def test_real_trace_log_is_refused(warehouse: Warehouse, shared: Path) -> None:
    (trace,) = (shared / "data" / "trace_log").iterdir()
    (report,) = ingest(warehouse, [trace])
    assert report.state == "refused"
    assert report.path == trace and report.message.startswith("it is a file of no format that GEKO reads")
