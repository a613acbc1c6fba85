"""Planning of tuning jobs over a small hand-made run: one job a config, its spec, the order of the configs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from geko.domain.dtypes import BY_TOKEN
from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.export.partition import mark_partition, partition_cus
from geko.export.tuned_logic import file_rounded
from geko.library.model import Library, LibraryCollection
from geko.warehouse import Append
from geko.warehouse.scratch import Scratch

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: What the tests here write.
TABLES = (
    "environment", "protocol", "run", "run_problem", "run_config", "run_job", "problem", "tuning_config",
    "tuning_config_problem", "tuning_job", "tuning_output", "job", "job_spec", "measurement",
)  # fmt: skip
PLAN = {
    "environment_id": content_id("test", "env"), "max_attempts": 2, "timeout_s": 600.0, "root": "/r", "build_dir": None,
    "tuning_dir": None, "stall_timeout_s": 300.0, "abort_after": 8,
}  # fmt: skip


def uid(name: str) -> str:
    return content_id("test", name)


def add(scratch: Scratch, table: str, **row: Any) -> None:
    scratch.apply(Append(table, pa.Table.from_pylist([row])))


def problem(scratch: Scratch, problem: Problem) -> str:
    row = {name: getattr(problem, name) for name in PROBLEM_FIELDS if getattr(problem, name) is not None}
    add(scratch, "problem", problem_id=problem.problem_id, **row)
    return problem.problem_id


def plain(m: int, k: int = 64, **more: Any) -> Problem:
    return Problem("T", "N", m, 64, 1, k, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r", **more)


@pytest.fixture(scope="module")
def opened() -> Iterator[Scratch]:
    """One database for all tests here: binding its views takes most of the time."""
    with Scratch(threads=1) as made:
        yield made


@pytest.fixture
def scratch(opened: Scratch) -> Scratch:
    for table in TABLES:
        opened.execute(f"DELETE FROM {table}")
    add(
        opened,
        "environment",
        environment_id=uid("env"),
        simulated=False,
        gfx="gfx942",
        identity="{}",
        first_seen=NOW,
    )
    for role in ("baseline", "tune"):
        add(opened, "protocol", protocol_id=uid(role), harness="x", role=role, settings="{}")
    add(
        opened, "run", run_id=uid("run"), kind="tune", state="running", simulated=False, n_starts=1, options="{}",
        environment_id=uid("env"), started_at=NOW,
    )  # fmt: skip
    return opened


def config(
    scratch: Scratch, name: str, ids: list[str], state: str = "generated", text: str | None = None
) -> str:
    config_id = content_id("tuning_config", text or name)
    add(
        scratch, "tuning_config", config_id=config_id, name=name, origin="generated", backend="tensile", arch="gfx942",
        gemm="BBS_TN", protocol_id=uid("tune"), n_sizes=len(ids), n_tiles=3, n_kernels=300, yaml=text or f"# {name}",
        first_seen=NOW,
    )  # fmt: skip
    for seq, problem_id in enumerate(ids):
        add(scratch, "tuning_config_problem", config_id=config_id, problem_id=problem_id, seq=seq)
    add(scratch, "run_config", run_id=uid("run"), config_id=config_id, file_name=f"{name}.yaml", state=state)
    return config_id


def wanted(scratch: Scratch, problem_id: str, us: float, seq: int, kept: bool = True) -> None:
    """A problem of the run with a baseline."""
    add(scratch, "run_problem", run_id=uid("run"), problem_id=problem_id, seq=seq, call_count=1, kept=kept)
    job_id = content_id("job", problem_id)
    add(scratch, "run_job", run_id=uid("run"), job_id=job_id)
    add(
        scratch, "job", job_id=job_id, kind="baseline", state="done", priority=0.0, cost_s=1.0, batch_key="b",
        protocol_id=uid("baseline"), environment_id=uid("env"), attempts=1, max_attempts=3, alone=False, timeout_s=1.0,
        updated_at=NOW,
    )  # fmt: skip
    add(
        scratch, "measurement", measurement_id=content_id("m", problem_id), problem_id=problem_id, us=us, outcome="ok",
        environment_id=uid("env"), protocol_id=uid("baseline"), job_id=job_id,
    )  # fmt: skip


def plan(scratch: Scratch) -> list[dict[str, Any]]:
    return scratch.query("tune/plan_tune", run_id=uid("run"), **PLAN).to_pylist()


def ended(scratch: Scratch, state: str, outcome: str) -> dict[str, Any]:
    """The run's only tune job, as it stands after its last attempt."""
    (job,) = plan(scratch)
    add(scratch, "job_spec", job_id=job["job_id"], spec=job["spec"])
    add(scratch, "run_job", run_id=uid("run"), job_id=job["job_id"])
    add(
        scratch, "job", job_id=job["job_id"], kind="tune", priority=0.0, cost_s=1.0, batch_key="b", attempts=1,
        protocol_id=uid("tune"), environment_id=uid("env"), max_attempts=1, alone=False, timeout_s=1.0, updated_at=NOW,
        state=state, outcome=outcome,
    )  # fmt: skip
    return job


def test_one_job_a_config_and_the_most_expensive_gemm_first(scratch: Scratch) -> None:
    small, large = (problem(scratch, plain(m)) for m in (64, 128))
    wanted(scratch, small, 1.0, 0)
    wanted(scratch, large, 9.0, 1)
    first = config(scratch, "BBS_TN_0", [small])
    second = config(scratch, "BBS_TN_1", [large, small])
    jobs = plan(scratch)
    assert [json.loads(job["spec"])["config_id"] for job in jobs] == [second, first]
    spec = json.loads(jobs[0]["spec"])
    assert spec == {
        "harness": "tensilelite", "config_id": second, "name": "BBS_TN_1", "backend": "tensile", "arch": "gfx942",
        "root": "/r", "yaml": "# BBS_TN_1", "problem_ids": [large, small], "sizes": [[128, 64, 1, 64], [64, 64, 1, 64]],
        "build_dir": None, "tuning_dir": None, "stall_timeout_s": 300.0, "abort_after": 8,
        "max_attempts": 2,
    }  # fmt: skip
    assert jobs[0]["priority"] == pytest.approx(1.0) and jobs[1]["priority"] == pytest.approx(0.1)
    assert len({job["job_id"] for job in jobs}) == 2


def test_removed_and_refused_configs_get_no_job_and_equal_files_one(scratch: Scratch) -> None:
    only = problem(scratch, plain(64))
    config(scratch, "BBS_TN_0", [only], state="removed")
    config(scratch, "BBS_TN_1", [only], state="refused")
    kept = config(scratch, "BBS_TN_2", [only], state="edited")
    add(scratch, "run_config", run_id=uid("run"), config_id=kept, file_name="copy.yaml", state="added")
    jobs = plan(scratch)
    assert [json.loads(job["spec"])["config_id"] for job in jobs] == [kept]


def test_the_plain_problem_stands_for_epilogues_padding_and_block_scaled_k(scratch: Scratch) -> None:
    target = problem(scratch, plain(64))
    block = problem(scratch, plain(64, 96, scale_a=3, scale_b=3))
    config(scratch, "BBS_TN_0", [target])
    config(scratch, "F8BS_TN_0", [block])
    biased = problem(scratch, plain(64, bias_type="bf16_r", activation="gelu", beta_class="other"))
    padded = problem(scratch, plain(64, lda=128))
    odd_k = problem(scratch, plain(64, 70, scale_a=1001, scale_b=1001))
    other = problem(scratch, plain(65))
    swizzled = problem(scratch, plain(64, swizzle_a=True))
    for seq, problem_id in enumerate((biased, padded, odd_k, other, swizzled)):
        wanted(scratch, problem_id, 1.0, seq)
    rows = scratch.sql(
        "SELECT problem_id::VARCHAR AS problem_id, plain_id::VARCHAR AS plain_id FROM run_plain"
    ).to_pylist()
    assert {row["problem_id"]: row["plain_id"] for row in rows} == {
        biased: target,
        padded: target,
        odd_k: block,
    }
    shares = scratch.sql(
        "SELECT plain_id::VARCHAR AS plain_id, share_pct FROM run_plain_contribution"
    ).to_pylist()
    assert {row["plain_id"]: row["share_pct"] for row in shares} == pytest.approx({target: 40.0, block: 20.0})


@pytest.mark.parametrize(
    ("gfx", "cus", "expected"),
    [("gfx942:sramecc+", 304, None), ("gfx942", 228, 228), ("gfx950", 256, None), ("gfx950", 128, 128),
     ("gfx1250", 96, None), ("gfx942", None, None), ("gfx90a", 104, None)],
)  # fmt: skip
def test_logic_of_a_part_of_the_chip_names_its_cus(
    scratch: Scratch, gfx: str, cus: int | None, expected: int | None
) -> None:
    scratch.execute(f"UPDATE environment SET gfx = '{gfx}', cu_count = {cus or 'NULL'}")
    assert partition_cus(cast("Warehouse", scratch), uid("run")) == expected


def test_the_cu_count_stands_where_each_layout_has_it() -> None:
    kind = {"TransposeA": True}
    listed = Library(
        [{"MinimumRequiredVersion": "4.33.0"}, "aquavanjaram", "gfx942", [], kind, [], [2, 3, 0, 1], [], None, None,
         "DeviceEfficiency", "Equality"], "a.yaml",
    )  # fmt: skip
    keyed = Library(
        {"ArchitectureName": "gfx942", "ProblemType": kind, "Solutions": [], "LibraryType": "Equality"},
        "b.yaml",
    )
    for library in (listed, keyed):
        mark_partition(library, 80)
        assert (library.architecture, library.cu_count) == ("gfx942", 80)
    assert isinstance(listed.data, list) and listed.data[2] == {"Architecture": "gfx942", "CUCount": 80}
    assert isinstance(keyed.data, dict) and keyed.data["CUCount"] == 80


def test_a_rounded_size_is_filed_with_the_scales_that_it_has(scratch: Scratch) -> None:
    """K 1000 is 1024 in blocks of 32; a library of the same types in blocks of 16 knows nothing of it."""
    types = ("f8_r", "f8_r", "bf16_r", "bf16_r", "f32_r")
    config(
        scratch,
        "F8BS_MXE8B32_TN_0",
        [problem(scratch, Problem("T", "N", 64, 64, 1, 1024, *types, scale_a=3, scale_b=3))],
    )
    asked = Problem("T", "N", 64, 64, 1, 1000, *types, scale_a=1001, scale_b=1001)
    wanted(scratch, problem(scratch, asked), 1.0, 0)
    libraries = []
    for block in (16, 32):
        kind = {
            "TransposeA": True, "TransposeB": False, "DataType": BY_TOKEN["f8_r"].enum[0], "DestDataType": 7,
            "ComputeDataType": 0, "MXBlockA": block, "MXBlockB": block, "DataTypeMXSA": 22, "DataTypeMXSB": 22,
        }  # fmt: skip
        solution = {"SolutionIndex": 0, "KernelNameMin": "k", "SolutionNameMin": "s"}
        data = [
            {"MinimumRequiredVersion": "5.0.0"}, "gfx950", "gfx950", [], kind, [solution], [2, 3, 0, 1],
            [[[64, 64, 1, 1024], [0, 5.0]]], None, None, "DeviceEfficiency", "Equality",
        ]  # fmt: skip
        libraries.append(Library(data, f"b{block}.yaml"))
    collection = LibraryCollection(libraries)
    file_rounded(cast("Warehouse", scratch), uid("run"), collection)
    found = {library.name: [size[0] for size in library.sizes] for library in collection}
    assert found == {"b16.yaml": [[64, 64, 1, 1024]], "b32.yaml": [[64, 64, 1, 1024], [64, 64, 1, 1000]]}


def test_a_failed_job_stands_for_the_problems_behind_its_sizes_and_failed_kernels_do_not(
    scratch: Scratch,
) -> None:
    target = problem(scratch, plain(64))
    biased = problem(scratch, plain(64, bias_type="bf16_r"))
    wanted(scratch, biased, 1.0, 0)
    config(scratch, "BBS_TN_0", [target])
    (job,) = plan(scratch)
    add(scratch, "job_spec", job_id=job["job_id"], spec=job["spec"])
    add(scratch, "run_job", run_id=uid("run"), job_id=job["job_id"])
    row = {
        "job_id": job["job_id"], "kind": "tune", "priority": 0.0, "cost_s": 1.0, "batch_key": "b",
        "protocol_id": uid("tune"), "environment_id": uid("env"), "attempts": 1, "max_attempts": 1, "alone": False,
        "timeout_s": 1.0, "updated_at": NOW,
    }  # fmt: skip
    add(scratch, "job", **row, state="failed", outcome="crash")
    found = scratch.sql("SELECT problem_id::VARCHAR AS id, kind, outcome FROM run_failure").to_pylist()
    assert found == [{"id": biased, "kind": "tune", "outcome": "crash"}]
    scratch.execute("UPDATE job SET state = 'done', outcome = 'ok' WHERE kind = 'tune'")
    add(
        scratch, "measurement", measurement_id=uid("m"), problem_id=target, outcome="verify_failed", attempt=1,
        environment_id=uid("env"), protocol_id=uid("tune"), job_id=job["job_id"],
    )  # fmt: skip
    assert not scratch.sql("SELECT 1 FROM run_failure").num_rows


def test_kernels_without_library_logic_are_in_no_library_and_win_nothing(scratch: Scratch) -> None:
    """Compared by the library of the other configs, such a shape would be won by a kernel that is not filed under it."""
    target = problem(scratch, plain(64))
    wanted(scratch, target, 5.0, 0)
    config_id = config(scratch, "BBS_TN_0", [target])
    job = ended(scratch, "dead", "crash")
    add(scratch, "tuning_job", job_id=job["job_id"], config_id=config_id)
    (listed,) = scratch.query("status/jobs", run_id=uid("run"), kind="tune", state=None, n=9).to_pylist()
    assert listed["gemm"] == "BBS_TN_0"
    add(
        scratch, "measurement", measurement_id=uid("m"), problem_id=target, outcome="ok", us=1.0, attempt=1,
        solution_id=uid("new"), environment_id=uid("env"), protocol_id=uid("tune"), job_id=job["job_id"],
    )  # fmt: skip
    add(
        scratch,
        "tuning_output",
        job_id=job["job_id"],
        attempt=1,
        path="BBS_TN_0-tensilelite.log",
        content="x",
    )
    assert scratch.sql("SELECT us FROM run_winner").to_pylist() == [{"us": 1.0}]
    assert not scratch.sql("SELECT 1 FROM run_choice").num_rows
    (row,) = scratch.sql("SELECT class, reason FROM run_decision").to_pylist()
    assert row["class"] == "device_fault"
    assert row["reason"].endswith("none is in a library: the tune job ended with crash")
    add(
        scratch,
        "tuning_output",
        job_id=job["job_id"],
        attempt=1,
        path="3_LibraryLogic/a_BBS.yaml",
        content="x",
    )
    assert scratch.sql("SELECT us FROM run_choice").to_pylist() == [{"us": 1.0}]


def test_tuning_that_finds_no_kernel_says_nothing_of_the_library(scratch: Scratch) -> None:
    target = problem(scratch, plain(64))
    wanted(scratch, target, 5.0, 0)
    config(scratch, "BBS_TN_0", [target])
    job = ended(scratch, "done", "no_solution")
    (row,) = scratch.sql("SELECT class, reason FROM run_decision").to_pylist()
    assert row["class"] == "undecided" and row["reason"].startswith("tuning found no kernel (no_solution; ")
    scratch.execute(f"DELETE FROM run_job WHERE job_id = '{job['job_id']}'")  # as when its file is removed
    (row,) = scratch.sql("SELECT class, reason FROM run_decision").to_pylist()
    assert row["class"] == "undecided" and "no config of the run is for its size" in row["reason"]
