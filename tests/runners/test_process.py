"""Running programs: ends, limits, outputs, and what is left behind."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from geko.runners.process import cap_output, run_process


def shell(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False


def gone(*pids: int) -> None:
    """Processes end soon: a signal takes effect when its receiver runs next."""
    limit = time.monotonic() + 3
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_output_of_both_streams_in_order() -> None:
    result = run_process(shell("echo one; echo two >&2; echo three"))
    assert (result.outcome, result.exit_code, result.message) == ("ok", 0, None)
    assert result.output == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("text", "outcome", "code", "says"),
    [
        ("echo bad; exit 3", "crash", 3, "exit status 3: bad"),
        ("kill -SEGV $$", "crash", 139, "SIGSEGV"),
        ("sh -c 'kill -ABRT $$'; exit $?", "crash", 134, "SIGABRT"),
        (
            "echo 'HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: the agent'; kill -ABRT $$",
            "memory_fault",
            134,
            "APERTURE",
        ),
        ("echo 'Memory access fault by GPU node-1'; exit 0", "ok", 0, ""),
        ("exec /no/such/program", "tool_missing", 127, "not found"),
        ("exit 224", "crash", 224, "exit status 224"),
    ],
)
def test_how_it_ended(text: str, outcome: str, code: int, says: str) -> None:
    result = run_process(shell(text))
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert says in (result.message or "")


def test_a_program_that_is_not_there() -> None:
    result = run_process(["/no/such/program", "x"])
    assert (result.outcome, result.exit_code, result.output) == ("tool_missing", None, "")
    assert "No such file" in (result.message or "")


def test_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"trap '' TERM; sleep 60 & echo $! $$ > {pids}; echo begun; wait; sleep 60"
    start = time.monotonic()
    result = run_process(shell(text), timeout_s=0.3, grace_s=0.3)
    assert (result.outcome, result.output) == ("timeout", "begun\n")
    assert time.monotonic() - start < 5
    gone(*map(int, pids.read_text().split()))


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    result = run_process(shell(f"sleep 60 & echo $! > {pid}"))
    assert result.outcome == "ok"
    gone(int(pid.read_text()))


def test_stall_is_no_output_for_a_while() -> None:
    steady = run_process(shell("for i in 1 2 3 4 5; do echo $i; sleep 0.2; done"), stall_s=0.6)
    assert steady.outcome == "ok"
    silent = run_process(shell("echo 1; sleep 60"), stall_s=0.4, grace_s=0.2)
    assert (silent.outcome, silent.output) == ("hang", "1\n")


def test_limit_starts_anew_at_each_mark() -> None:
    text = "for i in 1 2 3 4 5; do echo Is supported; sleep 0.2; done"
    assert (
        run_process(shell(text), timeout_s=0.6, restart_timeout=re.compile(b"Is supported")).outcome == "ok"
    )
    assert run_process(shell(text), timeout_s=0.6).outcome == "timeout"


def test_stop_on_request() -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    start = time.monotonic()
    result = run_process(shell("echo a; sleep 60"), stop=stop, grace_s=0.5)
    assert (result.outcome, result.output) == ("released", "a\n")
    assert time.monotonic() - start < 2
    assert run_process(shell("sleep 60"), should_stop=lambda: True).outcome == "released"


def test_a_flood_is_ended() -> None:
    result = run_process(shell("yes"), most_bytes=2**20, grace_s=0.2)
    assert result.outcome == "crash" and "printed" in (result.message or "")


def test_bytes_that_are_no_text() -> None:
    result = run_process(shell(r"printf 'a\000b\377c\r\n'"))
    assert result.output == "a\ufffdb\ufffdc\n"


def test_the_command_is_shown_as_typed() -> None:
    result = run_process(shell("exit 0"), shown_env={"A": "x y"}, env={**os.environ, "A": "x y"})
    assert result.command == "A='x y' /bin/sh -c 'exit 0'"


def test_large_outputs_are_cut_in_the_middle() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    assert cap_output(text, 10_000) == text
    short = cap_output(text, 1000)
    assert short.startswith("line 0\n") and short.endswith("line 999\n") and len(short) < 1200
    assert f"[... {len(text) - 1000} characters cut out" in short


def test_the_program_of_a_killed_process_dies(tmp_path: Path) -> None:
    code = (
        "from geko.runners.process import run_process\n"
        f"run_process(['/bin/sh', '-c', 'echo $$ > {tmp_path}/pid; exec sleep 60'], die_with_parent=True)\n"
    )
    import subprocess

    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], env=env) as parent:
        limit = time.monotonic() + 20
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert time.monotonic() < limit
            time.sleep(0.02)
        pid = int((tmp_path / "pid").read_text())
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    gone(pid)


def test_a_log_is_added_to_and_stays(tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    log.write_text("before\n")
    for word in ("one", "two"):
        result = run_process(shell(f"echo {word}"), log=log)
        assert (result.outcome, result.output) == ("ok", f"{word}\n")
    assert log.read_text() == "before\none\ntwo\n"


def test_a_changing_sign_counts_as_output() -> None:
    signs = iter(range(10**6))
    silent = shell("sleep 1.2")
    assert run_process(silent, stall_s=0.4, tick=lambda: next(signs)).outcome == "ok"
    assert run_process(silent, stall_s=0.4, tick=lambda: "the same", grace_s=0.1).outcome == "hang"
