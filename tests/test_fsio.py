"""Atomic writes: the old content or the new, and an error that names the file."""

from __future__ import annotations

import resource
import threading
from pathlib import Path

import pytest

from geko.errors import Interrupted
from geko.fsio import atomic_writer, file_lock, write_text_atomic


def test_a_disk_that_takes_no_more_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_text_atomic(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match=r"a\.csv"):
            write_text_atomic(path, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "b.txt"

    def write() -> None:
        with atomic_writer(path) as handle:
            handle.write("half")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert list(path.parent.iterdir()) == []


def test_a_lock_has_one_holder_and_waiting_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.lock"
    stop = threading.Event()
    stop.set()
    with file_lock(path):
        with pytest.raises(Interrupted, match="waiting for the client"), file_lock(path, stop, "the client"):
            raise AssertionError("two holders")
        assert path.is_file()
    with file_lock(path, stop):
        pass


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "taken.html"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        write_text_atomic(folder, "x")
    long = tmp_path / ("n" * 300)
    with pytest.raises(OSError, match="too long") as refused:
        write_text_atomic(long, "x")
    assert (taken.value.filename, refused.value.filename) == (str(folder), str(long))
    assert list(tmp_path.iterdir()) == [folder]
