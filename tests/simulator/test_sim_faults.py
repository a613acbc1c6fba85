"""Faults on demand."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from geko.errors import InputError
from geko.simulator.faults import parse


@pytest.mark.parametrize(
    ("rule", "status", "said"),
    [
        ("crash:M=1024", -signal.SIGSEGV, ""),
        ("crash:m=1024,signal=ABRT", -signal.SIGABRT, ""),
        ("memory_fault:M=1024", -signal.SIGABRT, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"),
        ("exit:M=1024,code=17", 17, ""),
        ("lost-device:M=1024", 1, "hipErrorNoDevice"),
        ("truncate:M=1024,code=3", 3, "[0]:transA"),
    ],
)
def test_end_of_the_process_keeps_what_was_printed(bench: Any, rule: str, status: int, said: str) -> None:
    rows = [bench.row(m, 512, 512) for m in (512, 1024, 2048)]
    out = bench.rows(*rows, GEKO_SIM_FAULTS=rule)
    assert out.status == status
    assert [block["m"] for block in out.blocks] == ["512"]
    assert said in out.text.partition("Is supported")[2].partition("Is supported")[2]
    assert [block["m"] for block in bench.rows(*rows).blocks] == ["512", "1024", "2048"]


def test_mid_dense_search(bench: Any) -> None:
    row = bench.row(1024, 512, 512, requested_solution_num=-1)
    out = bench.rows(row, GEKO_SIM_FAULTS="crash:after=5")
    assert out.status == -signal.SIGSEGV
    assert [block["rank"] for block in out.blocks] == ["0", "1", "2", "3", "4"]
    assert "Winner" not in out.text
    late = bench.rows(row, GEKO_SIM_FAULTS="crash:after=99")
    assert (late.status, len(late.blocks)) == (-signal.SIGSEGV, 19)


def test_hang(bench: Any) -> None:
    started = time.monotonic()
    out = bench.rows(
        bench.row(512, 512, 512), bench.row(1024, 512, 512), GEKO_SIM_FAULTS="hang:M=1024,seconds=1"
    )
    assert time.monotonic() - started > 1
    assert [block["m"] for block in out.blocks] == ["512"]


def test_garbage_goes_on(bench: Any) -> None:
    rows = [bench.row(m, 512, 512) for m in (512, 1024, 2048)]
    out = bench.rows(*rows, GEKO_SIM_FAULTS="garbage:M=1024")
    assert out.status == 0
    assert [block["m"] for block in out.blocks] == ["512", "2048"]
    assert "\x00" in out.text


def test_slow_and_no_solution(bench: Any) -> None:
    rows = [bench.row(m, 512, 512) for m in (512, 1024)]
    plain = bench.rows(*rows).blocks
    slow = bench.rows(*rows, GEKO_SIM_FAULTS="slow:M=1024,factor=4; no_solution:M=512")
    assert "NO solution found" in slow.text
    (block,) = slow.blocks
    assert float(block["us"]) == pytest.approx(4 * float(plain[1]["us"]), rel=0.1)


def test_bound_to_a_device(bench: Any) -> None:
    row = bench.row(512, 512, 512)
    rule = "crash:device=3"
    assert bench.rows(row, device=2, GEKO_SIM_FAULTS=rule).status == 0
    assert bench.rows(row, device=3, GEKO_SIM_FAULTS=rule).status == -signal.SIGSEGV
    assert bench.rows(row, device=0, GEKO_SIM_FAULTS=rule, HIP_VISIBLE_DEVICES="3").status == -signal.SIGSEGV


def test_once_then_fine_and_the_nth_time(bench: Any) -> None:
    row = bench.row(512, 512, 512)
    once = [bench.rows(row, GEKO_SIM_FAULTS="exit:times=2,code=9").status for _ in range(4)]
    assert once == [9, 9, 0, 0]
    nth = [bench.rows(row, GEKO_SIM_FAULTS="exit:nth=3,code=9").status for _ in range(4)]
    assert nth == [0, 0, 9, 0]


def test_kernel_and_row_keys(bench: Any) -> None:
    rows = [bench.row(512, 512, 512), bench.row(4096, 4096, 512)]
    # Only one of the two rows is given a 32x32 tile by the library.
    out = bench.rows(*rows, GEKO_SIM_FAULTS="no_solution:kernel=_MT32x32x")
    assert len(out.blocks) == 1
    assert [b["m"] for b in bench.rows(*rows, GEKO_SIM_FAULTS="no_solution:row=0").blocks] == ["4096"]
    start = bench.rows(*rows, GEKO_SIM_FAULTS="lost_device:row=start")
    assert (start.status, start.blocks, "Device ID 0" in start.text) == (1, [], True)


def test_file_in_the_root(bench: Any, tmp_path: Path) -> None:
    from geko.simulator import make_root

    bench.root = make_root(tmp_path / "own")
    (bench.root / "faults.json").write_text(json.dumps([{"kind": "exit", "M": 512, "code": 5}]))
    row = bench.row(512, 512, 512)
    assert bench.rows(row).status == 5
    assert bench.rows(row, GEKO_SIM_FAULTS="").status == 0
    other = tmp_path / "rules"
    other.write_text("# two\nexit:M=512,code=6\nslow:M=1024\n")
    assert bench.rows(row, GEKO_SIM_FAULTS=f"@{other}").status == 6


@pytest.mark.parametrize("text", ["explode", "crash:M", '[{"M": 4}]'])
def test_bad_rules(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)
