"""Owners that end, die, hang and fork; clients that go on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from warehouse_support import DEVICES, RUN, FakeClock, job_table, measurement_rows, store_basics

from geko.errors import InputError, Interrupted, WarehouseBusyError, WarehouseError
from geko.warehouse import Append, Warehouse, place, wire
from geko.warehouse import queue as jobs

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has printed its first line when the block starts."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline().strip() == "ready"
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        if child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()


OWNER = """
import sys
from geko.warehouse import Warehouse
wh = Warehouse.open(sys.argv[1])
wh.announce("run 1234: search")
print("ready", flush=True)
sys.stdin.readline()
wh.close()
"""


def test_a_killed_owner_is_replaced(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    make().close()
    with process(OWNER, str(tmp_path / "w.duckdb")) as owner:
        wh = make()
        assert not wh.is_owner
        store_basics(wh)
        jobs.enqueue(wh, RUN, job_table(4))
        (claim,) = jobs.claim(wh, "r", DEVICES[0])
        owner.kill()
        owner.wait()
        result = jobs.JobResult(
            claim.job_id, claim.attempt, claim.token, "r", DEVICES[0], "ok", measurements=measurement_rows(3)
        )
        assert jobs.complete(wh, [result]) == ["accepted"]
        assert wh.is_owner
        assert wh.sql("SELECT count(*) AS n FROM measurement").read_all().to_pylist() == [{"n": 3}]
        assert len(jobs.claim(wh, "r", DEVICES[0], limit=4)) == 3


def test_an_owner_that_ends_hands_over(make: Callable[..., Warehouse]) -> None:
    first, second, third = make(), make(), make()
    store_basics(first)
    first.close()
    done = [wh.sql("SELECT count(*) AS n FROM device").read_all().to_pylist() for wh in (second, third)]
    assert done == [[{"n": 3}]] * 2
    assert (second.is_owner, third.is_owner) == (True, False)


def test_clients_go_on_while_owners_come_and_go(make: Callable[..., Warehouse]) -> None:
    warehouses = [make() for _ in range(4)]
    store_basics(warehouses[0])
    jobs.enqueue(warehouses[0], RUN, job_table(60))
    got: list[str] = []

    def work(wh: Warehouse, n: int) -> None:
        for _ in range(n):
            for claim in jobs.claim(wh, "r", DEVICES[0]):
                got.append(claim.job_id)
                jobs.complete(
                    wh, [jobs.JobResult(claim.job_id, claim.attempt, claim.token, "r", DEVICES[0], "ok")]
                )
        wh.close()

    threads = [threading.Thread(target=work, args=(wh, 15)) for wh in warehouses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with make() as wh:
        found = wh.sql("SELECT count(*) AS n, sum(attempts) AS attempts FROM job WHERE state = 'done'")
        (row,) = found.read_all().to_pylist()
    assert len(set(got)) == 60
    assert (row["n"], row["attempts"]) == (60, 60)


def test_a_change_without_an_answer_is_unknown_unless_repeatable(
    make: Callable[..., Warehouse], tmp_path: Path
) -> None:
    """The stand-in owner takes the request and dies: the client can't know."""
    code = """
import os, socket, sys
from geko.warehouse import wire
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1]); server.listen()
print("ready", flush=True)
first = True
while True:
    sock, _ = server.accept()
    def frame():
        prefix = sock.recv(16, socket.MSG_WAITALL)
        a, b = wire.lengths(prefix)
        return wire.decode(sock.recv(a + b, socket.MSG_WAITALL), a)[0]
    frame()
    sock.sendall(b"".join(wire.encode({"version": wire.VERSION})))
    frame()
    os._exit(9)
"""
    make().close()
    rows = pa.table({"alias_id": [RUN], "solution_id": [RUN], "evidence": ["e"]})
    place_of_socket = str(place.socket_paths(tmp_path / "w.duckdb")[0])
    for repeatable in (False, True):
        with process(code, place_of_socket):
            wh = make()
            assert not wh.is_owner
            if repeatable:
                wh.apply(Append("solution_alias", rows), repeatable=True)
            else:
                with pytest.raises(WarehouseError, match="unknown"):
                    wh.apply(Append("solution_alias", rows))
            found = wh.sql("SELECT count(*) AS n FROM solution_alias").read_all().to_pylist()
            assert found == [{"n": int(repeatable)}]
            wh.close()


def test_a_stopped_owner_is_named(
    make: Callable[..., Warehouse], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geko.warehouse.client._HELLO_S", 0.3)
    make().close()
    with process(OWNER, str(tmp_path / "w.duckdb")) as owner:
        owner.send_signal(signal.SIGSTOP)
        with pytest.raises(WarehouseBusyError, match=r"run 1234: search") as caught:
            make()
        assert caught.value.pid == owner.pid
        assert str(owner.pid) in str(caught.value)


def test_a_foreign_process_is_waited_for_and_named(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    make().close()
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('ready', flush=True);sys.stdin.readline()"
    )
    with process(code, str(tmp_path / "w.duckdb")) as foreign:
        start = time.monotonic()
        with pytest.raises(WarehouseBusyError, match="in use"):
            make(wait=0.3)
        assert time.monotonic() - start >= 0.3

        def end() -> None:
            time.sleep(0.4)
            foreign.kill()

        threading.Thread(target=end).start()
        assert make(wait=20).is_owner


def test_left_over_sockets_and_records_do_no_harm(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    make().close()
    path = tmp_path / "w.duckdb"
    with process(OWNER, str(path)) as owner:
        owner.kill()
        owner.wait()
        socket_path = place.socket_paths(path)[0]
        assert socket_path.exists()
        record = place.read_record(path)
        assert record == place.OwnerRecord(owner.pid, os.uname().nodename, f"-c {path}", "run 1234: search")
        wh = make()
        assert wh.is_owner
        assert not make().is_owner
        wh.close()


def test_the_socket_is_private(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    wh = make()
    path = place.socket_paths(tmp_path / "w.duckdb")[0]
    assert path.stat().st_mode & 0o777 == 0o600
    record = json.loads(place.record_path(path).read_text())
    assert record["pid"] == os.getpid()
    wh.close()
    assert not path.exists()


def test_long_paths_get_a_private_folder(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    deep = tmp_path / ("x" * 80) / "w.duckdb"
    with Warehouse.open(deep, clock=clock) as owner, Warehouse.open(deep, clock=clock) as client:
        assert (owner.is_owner, client.is_owner) == (True, False)
        (path,) = place.socket_paths(deep)
        assert path.parent == tmp_path / "geko"
        assert path.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "geko").chmod(0o755)
    place.make_private_folder(tmp_path / "geko")
    assert (tmp_path / "geko").stat().st_mode & 0o777 == 0o700
    (tmp_path / "geko").chmod(0o777)
    with pytest.raises(PermissionError, match="private folder of this user: remove it"):
        place.make_private_folder(tmp_path / "geko")


def test_symbolic_links_lead_to_the_same_owner(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    assert make().is_owner
    (tmp_path / "link.duckdb").symlink_to(tmp_path / "w.duckdb")
    assert not make("link.duckdb").is_owner


def test_a_forked_child_is_a_client_of_its_parent(make: Callable[..., Warehouse]) -> None:
    wh = make()
    store_basics(wh)
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            n = wh.sql("SELECT count(*) FROM device").read_all().column(0)[0].as_py()
            code = 0 if n == 3 and not wh.is_owner else 2
            wh.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert wh.is_owner
    assert wh.sql("SELECT count(*) AS n FROM device").read_all().to_pylist() == [{"n": 3}]


SLOW = "SELECT count(*) FROM range(3_000_000) AS a, range(3_000_000) AS b WHERE a.range + b.range = 7"


def test_ctrl_c_ends_a_query_in_the_owner(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    wh = make()
    code = f"""
import signal, sys, threading, time
from geko.warehouse import Warehouse
wh = Warehouse.open(sys.argv[1])
print("ready", flush=True)
try:
    wh.sql({SLOW!r}).read_all()
except KeyboardInterrupt:
    print("interrupted", wh.query("queue/devices").num_rows, flush=True)
"""
    with process(code, str(tmp_path / "w.duckdb")) as child:
        deadline = time.monotonic() + 20
        while not running_queries() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "interrupted 0"
        while running_queries() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not running_queries()
    assert wh.sql("SELECT 1 AS a").read_all().to_pylist() == [{"a": 1}]


def running_queries() -> bool:
    return any(thread.name == "geko-sql" for thread in threading.enumerate())


@pytest.mark.parametrize("which", [0, 1])
def test_a_query_is_interrupted_alone(make: Callable[..., Warehouse], which: int) -> None:
    wh = (make(), make())[which]
    found: list[object] = []
    query = wh.sql("SELECT a.range AS a FROM range(10_000_000) AS a, range(10_000_000) AS b")
    query.read_next_batch()
    other = threading.Thread(target=lambda: found.append(wh.sql("SELECT 5 AS a").read_all().to_pylist()))
    query.close()
    del query
    other.start()
    other.join()
    assert found == [[{"a": 5}]]


def test_ctrl_c_in_the_owner(tmp_path: Path) -> None:
    code = f"""
import sys
from geko.warehouse import Warehouse
wh = Warehouse.open(sys.argv[1])
print("ready", flush=True)
try:
    wh.sql({SLOW!r}).read_all()
except KeyboardInterrupt:
    print(wh.sql("SELECT 3 AS a").read_all().to_pylist(), flush=True)
wh.close()
"""
    with process(code, str(tmp_path / "w.duckdb")) as child:
        time.sleep(0.7)
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "[{'a': 3}]"
        assert child.wait(20) == 0


def test_work_goes_on_beside_a_long_query(make: Callable[..., Warehouse]) -> None:
    owner, client = make(), make()
    store_basics(owner)
    jobs.enqueue(owner, RUN, job_table(30))
    query = threading.Thread(target=slow, args=(client,), daemon=True)
    query.start()
    done = 0
    while claims := jobs.claim(client, "r", DEVICES[0]):
        (claim,) = claims
        jobs.complete(
            client, [jobs.JobResult(claim.job_id, claim.attempt, claim.token, "r", DEVICES[0], "ok")]
        )
        done += 1
    assert done == 30
    assert query.is_alive()


def slow(wh: Warehouse) -> None:
    with contextlib.suppress(WarehouseError, InputError, Interrupted):
        wh.sql(SLOW).read_all()


def test_garbage_on_the_socket_hurts_nobody(make: Callable[..., Warehouse], tmp_path: Path) -> None:
    wh, client = make(), make()
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"GEKO", wire.PREFIX.pack(b"GEKO", 8, 0) + b"notjson!"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(place.socket_paths(wh.path)[0]))
            sock.sendall(junk)
            sock.settimeout(0.2)
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                sock.recv(10)
    assert client.query("queue/devices").num_rows == 0


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/x.duckdb", "nfs4"),
        ("/data/local/x.duckdb", None),
        ("/home/x.duckdb", None),
        ("/database/x", None),
    ],
)
def test_network_file_systems_are_noticed(path: str, kind: str | None) -> None:
    mounts = (
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "30 22 0:40 / /data rw,relatime shared:5 - nfs4 server:/export rw,vers=4.2\n"
        "31 30 8:1 / /data/local rw - xfs /dev/sdb rw\n"
    )
    assert place.network_filesystem(Path(path), mounts) == kind


def test_a_network_file_system_is_warned_of(
    make: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(place, "_NETWORK_FILESYSTEMS", frozenset({place_of_tests()}))
    make()
    assert "network file system" in caplog.text


def place_of_tests() -> str:
    kinds = [
        line.split(" - ")[1].split(" ")[0] for line in Path("/proc/self/mountinfo").read_text().splitlines()
    ]
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(place, "_NETWORK_FILESYSTEMS", frozenset(kinds))
        kind = place.network_filesystem(Path("/tmp").resolve())
    assert kind is not None
    return kind
