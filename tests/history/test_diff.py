"""Differences between two environments, libraries and runs, over hand-made timings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from geko.cli.main import main
from geko.diff import diff, environments, resolve_side
from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.errors import UsageError
from geko.export.markdown import diff_markdown, markdown_table
from geko.warehouse import Append, Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = Environment(simulated=False, gfx="gfx942:x", device_name="MI300X", rocm="6.4", hipblaslt_git="aaa")
NEW = Environment(simulated=False, gfx="gfx942:x", device_name="MI300X", rocm="7.0", hipblaslt_git="bbb")
FAKE = Environment(simulated=True, gfx="gfx942:x", device_name="MI300X (simulated)")


def uid(name: str) -> str:
    return content_id("test", name)


class Filled:
    """A warehouse that takes timings one at a time."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.n = 0
        for environment in (OLD, NEW, FAKE):
            self.add("environment", **environment.row(), first_seen=NOW)
        for role in ("baseline", "screen", "compare"):
            self.add("protocol", protocol_id=uid(role), harness="hipblaslt-bench", role=role, settings="{}")

    def add(self, table: str, **row: Any) -> None:
        self.warehouse.apply(Append(table, pa.Table.from_pylist([row])))

    def shape(self, m: int) -> str:
        problem = Problem("T", "N", m, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
        row = {name: getattr(problem, name) for name in PROBLEM_FIELDS if getattr(problem, name) is not None}
        self.add("problem", problem_id=problem.problem_id, **row)
        return problem.problem_id

    def timed(
        self,
        shape: str,
        where: Environment,
        times: list[float],
        kernel: str | None,
        role: str = "baseline",
        **more: Any,
    ) -> None:
        for us in times:
            self.n += 1
            self.add(
                "measurement", measurement_id=uid(str(self.n)), problem_id=shape, environment_id=where.environment_id,
                protocol_id=uid(role), solution_id=uid(kernel) if kernel else None, outcome="ok", us=us, **more,
            )  # fmt: skip


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        yield Filled(warehouse)


def compared(filled: Filled, **options: Any) -> dict[int, dict[str, Any]]:
    result = diff(filled.warehouse, OLD.environment_id, NEW.environment_id, **options)
    return {row["m"]: row for row in result.shapes.to_pylist()}


def test_classes_follow_ratio_and_interval(filled: Filled) -> None:
    slower, faster, noisy, same, gone, new = (filled.shape(m) for m in range(1, 7))
    filled.timed(slower, OLD, [100, 101, 99], "k")
    filled.timed(slower, NEW, [110, 111, 109], "k")
    filled.timed(faster, OLD, [100, 101, 99], "k")
    filled.timed(faster, NEW, [50, 51, 49], "other")
    filled.timed(noisy, OLD, [100, 130, 70], "k")
    filled.timed(noisy, NEW, [105, 140, 75], "k")
    filled.timed(same, OLD, [100], "k")
    filled.timed(same, NEW, [101], None)
    filled.timed(gone, OLD, [100], "k")
    filled.timed(new, NEW, [100], "k")
    rows = compared(filled)
    assert {m: row["class"] for m, row in rows.items()} == {
        1: "regressed", 2: "improved", 3: "unchanged", 4: "unchanged", 5: "only in A", 6: "only in B",
    }  # fmt: skip
    assert [rows[m]["kernel"] for m in (1, 2, 4)] == ["same", "changed", "unknown"]
    assert rows[2]["ratio"] == pytest.approx(2.0)
    spread = 1.96 * 1.2533 * 1.4826 / math.sqrt(3)
    mads = [abs(math.log(99 / 100)), abs(math.log(49 / 50))]
    high_sides = [abs(math.log(101 / 100)), abs(math.log(51 / 50))]
    se = math.hypot(*(sorted((0.0, low, high))[1] for low, high in zip(mads, high_sides, strict=True)))
    assert math.log(rows[2]["ratio_high"] / rows[2]["ratio"]) == pytest.approx(spread * se)
    assert rows[4]["ratio_low"] is None


def test_kernels_known_under_two_ids_are_one_kernel(filled: Filled) -> None:
    shape = filled.shape(8)
    filled.timed(shape, OLD, [100], "by name")
    filled.timed(shape, NEW, [100], "by parameters")
    assert compared(filled)[8]["kernel"] == "changed"
    filled.add(
        "solution_alias", alias_id=uid("by name"), solution_id=uid("by parameters"), evidence="library"
    )
    assert compared(filled)[8]["kernel"] == "same"


def test_times_under_different_protocols_do_not_compare(filled: Filled) -> None:
    shape = filled.shape(8)
    filled.timed(shape, OLD, [100], "k", "baseline")
    filled.timed(shape, NEW, [50], "k", "screen")
    row = compared(filled)[8]
    assert (row["class"], row["ratio"]) == ("no common protocol", None)


def test_the_protocol_with_samples_on_both_sides_is_preferred(filled: Filled) -> None:
    shape = filled.shape(8)
    for where in (OLD, NEW):
        filled.timed(shape, where, [100], "k", "baseline")
        filled.timed(shape, where, [90, 91], "k", "compare", arm="reference")
        filled.timed(shape, where, [10, 11], "fast", "compare", arm="tuned")
    row = compared(filled)[8]
    assert (row["role"], row["us_a"], row["n_b"]) == ("compare", 90.5, 2)


def test_totals_are_weighted_with_the_calls_of_the_workload(filled: Filled) -> None:
    few, many, foreign = (filled.shape(m) for m in (1, 2, 3))
    for shape, old, new in ((few, 100.0, 50.0), (many, 100.0, 200.0), (foreign, 1.0, 1.0)):
        filled.timed(shape, OLD, [old], "k")
        filled.timed(shape, NEW, [new], "k")
    workload_id = content_id("workload", "w")
    filled.add("workload", workload_id=workload_id, name="w", created_at=NOW)
    filled.add("workload_file", workload_id=workload_id, file_id=uid("file"))
    for shape, calls in ((few, 1), (many, 9)):
        filled.add("call", call_id=uid(shape), problem_id=shape, fields="{}")
        filled.add(
            "workload_call",
            file_id=uid("file"),
            call_id=uid(shape),
            call_count=calls,
            n_lines=1,
            first_line=1,
        )
    result = diff(filled.warehouse, OLD.environment_id, NEW.environment_id, workload="w")
    assert result.totals.to_pylist()[-1] | {"kernel_unknown": 0} == {
        "class": "all that compare", "shapes": 2, "ms_a": 1.0, "ms_b": 1.85, "ratio": pytest.approx(1 / 1.85),
        "kernel_changed": 0, "kernel_unknown": 0,
    }  # fmt: skip
    assert [row["m"] for row in result.shapes.to_pylist()] == [2, 1]
    with pytest.raises(UsageError, match=r"no workload .x..*known: w"):
        diff(filled.warehouse, OLD.environment_id, NEW.environment_id, workload="x")


def test_two_libraries_inside_one_environment(filled: Filled) -> None:
    shape = filled.shape(8)
    for name, us in (("stock", 100.0), ("tuned", 80.0)):
        filled.add(
            "library",
            library_id=uid(name),
            kind="built",
            name=name,
            origin=name,
            content_sha256=name,
            first_seen=NOW,
        )
        filled.timed(
            shape,
            OLD,
            [us, us],
            name,
            "compare",
            library_id=uid(name),
            arm="tuned" if name == "tuned" else "reference",
        )
    result = diff(filled.warehouse, "stock", "library:tuned")
    assert result.shapes.to_pylist()[0]["ratio"] == pytest.approx(1.25)
    assert result.fields.num_rows == 0


def test_environment_fields_that_differ(filled: Filled) -> None:
    filled.timed(filled.shape(8), OLD, [1.0], "k")
    result = diff(filled.warehouse, OLD.environment_id, NEW.environment_id)
    assert result.fields.to_pylist() == [
        {"field": "git", "a": "aaa", "b": "bbb"}, {"field": "rocm", "a": "6.4", "b": "7.0"},
    ]  # fmt: skip


def test_simulated_and_measured_never_compare(filled: Filled) -> None:
    with pytest.raises(UsageError, match="simulated and the other measured"):
        diff(filled.warehouse, OLD.environment_id, FAKE.environment_id)


def test_simulated_times_are_called_so_in_every_row(filled: Filled) -> None:
    filled.timed(filled.shape(8), FAKE, [100.0], "k")
    result = diff(filled.warehouse, FAKE.environment_id, FAKE.environment_id)
    assert result.shapes["times"].to_pylist() == ["simulated"]


def test_sides_that_are_not_there_or_not_clear(filled: Filled) -> None:
    with pytest.raises(UsageError, match="names no environment, library or run"):
        resolve_side(filled.warehouse, "zz")
    with pytest.raises(UsageError, match="names no environment"):
        resolve_side(filled.warehouse, "")
    for number in range(17):
        filled.add(
            "library", library_id=uid(f"l{number}"), kind="built", content_sha256=str(number), first_seen=NOW
        )
    twice = next(
        text for text in "0123456789abcdef" if sum(uid(f"l{n}").startswith(text) for n in range(17)) > 1
    )
    with pytest.raises(UsageError, match="fits several"):
        resolve_side(filled.warehouse, f"library:{twice}")


def test_environments_are_listed_with_their_timings(filled: Filled) -> None:
    filled.timed(filled.shape(8), NEW, [1.0, 2.0], "k")
    first = environments(filled.warehouse).to_pylist()[0]
    assert (first["rocm"], first["timings"], first["problems"], first["times"]) == ("7.0", 2, 1, "measured")


def test_command_line(filled: Filled, capsys: pytest.CaptureFixture[str]) -> None:
    shape = filled.shape(8)
    filled.timed(shape, OLD, [100.0], "k")
    filled.timed(shape, NEW, [50.0], "k")
    words = ["diff", OLD.environment_id[:12], NEW.environment_id[:12], "--db", str(filled.warehouse.path)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "improved" in shown
    assert "measured times; ratio" in shown
    assert main([*words, "--format", "json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["ratio"], row["times"]) == (2.0, "measured")
    assert main([*words, "--limit", "-1"]) == 2
    assert main([*words, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "## Diff (measured times)" in text
    assert "| rocm | 6.4 | 7.0 |" in text
    assert "| BBS_TN | 8 | 64 | 1 | 64 |" in text
    assert main(["envs", "--db", str(filled.warehouse.path)]) == 0
    assert "6.4" in capsys.readouterr().out
    assert main([*words, "--threshold", "0.9"]) == 2


def test_markdown_escapes_and_cuts(filled: Filled) -> None:
    assert "a\\|b" in markdown_table(pa.table({"x": ["a|b"]}))
    assert markdown_table(pa.table({"x": pa.array([], "string")})) == ""
    for m in range(1, 5):
        shape = filled.shape(m)
        filled.timed(shape, OLD, [100.0], "k")
        filled.timed(shape, NEW, [50.0], "k")
    text = diff_markdown(diff(filled.warehouse, OLD.environment_id, NEW.environment_id), limit=3)
    assert "1 more changed shapes are not shown" in text
