"""Every input that is no file, or may not be read, is refused at once, by its name and with what to do."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from geko.cli.main import main
from geko.domain.identity import content_id
from geko.warehouse import Append, Warehouse

#: {bad}: the input in question; {logic}, {tree}: a good logic file and its folder; {out}: a folder to write to.
FILES = (
    "ingest {bad}",
    "search --simulate --workload-log {bad} --workdir {out}",
    "bench --simulate --workload-log {bad} --workdir {out}",
    "tune --simulate --workload-log {bad} --workdir {out}",
    "configure --list {bad} --arch gfx942 --workdir {out}",
    "bench --simulate --list {bad} --workdir {out}",
    "verify-applied {bad}",
    "export tunableop --validators {bad} --out {out}",
    "library show {bad}",
    "library diff {logic} {bad}",
    "library diff {bad} {logic}",
    "library trim {bad} --out {out}",
    "library epilogues {bad} --out {out}",
    "library bench-input {bad} --out {out}",
    "library prune {bad} {times} --out {out}",
    "library prune {logic} {bad} --out {out}",
)
#: Those that take a folder, or a folder too.
FOLDERS = (
    "library ingest {bad}",
    "library merge {bad} {tree} {out}",
    "library merge {tree} {bad} {out}",
    "search --simulate --inline '128 128 1 128 B B S T N' --custom-lib-src {bad} --workdir {out}",
)
REMEDY = {
    "folder": "this is a folder: name its files",
    "pipe": r"(write it to a file|this is no folder: name the folder)",
    "dangling": r"(there is no such|file not found)",
    "forbidden": r"can't be read: Permission denied; give its reader the right",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, example_library: Path) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("inputs")
    tree = base / "tree"
    tree.mkdir()
    logic = sorted((example_library / "Equality").glob("*.yaml"))[0]
    shutil.copyfile(logic, tree / logic.name)
    (base / "times.csv").write_text("m,n,batch_count,k,local_index,gflops\n1,1,1,1,0,5\n")
    (base / "folder").mkdir()
    os.mkfifo(base / "pipe")
    (base / "dangling").symlink_to("nowhere")
    (base / "forbidden").write_text("- {function: matmul}\n")
    (base / "forbidden").chmod(0)
    run = {
        "run_id": content_id("test", "run"),
        "kind": "search",
        "state": "finished",
        "simulated": True,
        "n_starts": 1,
    }
    with Warehouse.open(base / "w.duckdb") as warehouse:
        warehouse.apply(
            Append("run", pa.Table.from_pylist([run | {"options": "{}", "started_at": datetime.now(UTC)}]))
        )
    return {
        "base": base,
        "tree": tree,
        "logic": tree / logic.name,
        "times": base / "times.csv",
        "out": base / "out",
    }


@pytest.fixture
def _in_time() -> Iterator[None]:
    """Who opens a pipe that nobody writes to waits for ever."""

    def too_long(*_: object) -> None:
        raise TimeoutError("it waits for the pipe")

    old = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def refused(line: str, kind: str, places: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    bad = places["base"] / kind
    words = [word.format(bad=bad, **places) for word in shlex.split(line)]
    assert main([*words, "--db", str(places["base"] / "w.duckdb"), "-v", "0"]) in (1, 2), line
    error = capsys.readouterr().err
    assert error.startswith("geko: error: ") and error.count("\n") == 1, error
    assert str(bad) in error, f"{line} doesn't name the file: {error}"
    assert re.search(REMEDY[kind], error), f"{line}: {error}"
    assert not places["out"].exists(), f"{line} left something"


@pytest.mark.usefixtures("_in_time")
@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling"])
@pytest.mark.parametrize("line", FILES)
def test_no_file(line: str, kind: str, places: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    refused(line, kind, places, capsys)


@pytest.mark.usefixtures("_in_time")
@pytest.mark.parametrize("kind", ["pipe", "dangling"])
@pytest.mark.parametrize("line", FOLDERS)
def test_no_folder(line: str, kind: str, places: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    refused(line, kind, places, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("line", [*FILES, "library ingest {bad}"])
def test_no_permission(line: str, places: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    refused(line, "forbidden", places, capsys)
