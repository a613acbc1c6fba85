"""Distinct lines and content hashes, against plain Python on small files with small chunks."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path

import pytest

from geko.errors import MissingFileError
from geko.ingest import hashing, lines
from geko.ingest.hashing import content_sha256
from geko.ingest.lines import DistinctLines


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHUNK", 256)
    monkeypatch.setattr(lines, "_buffers", threading.local())


def collected(path: Path) -> tuple[dict[str, list[int]], int]:
    """(count, first line) by text, and the number of lines."""
    found: dict[str, list[int]] = {}
    reader = DistinctLines(path)
    for batch in reader:
        for text, count, first in zip(
            batch.texts(), batch.n_lines.to_pylist(), batch.first_line.to_pylist(), strict=True
        ):
            known = found.setdefault(text, [0, first])
            known[0] += count
            known[1] = min(known[1], first)
    return found, reader.n_lines


def expected(data: bytes) -> tuple[dict[str, list[int]], int]:
    rows = data.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    found: dict[str, list[int]] = {}
    for number, row in enumerate(rows, 1):
        found.setdefault(row.decode("utf-8", "replace").rstrip("\r"), [0, number])[0] += 1
    return found, len(rows)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", range(30))
def test_as_plain_python(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    pool = [bytes(rng.choices(b"abc {}:,", k=rng.choice([0, 1, 3, 60, 64, 300, 700]))) for _ in range(12)]
    data = b"".join(rng.choice(pool) + b"\n" for _ in range(rng.choice([0, 1, 2, 50, 300])))
    data += rng.choice([b"", b"no end", b"x" * 600])
    path = tmp_path / "text"
    path.write_bytes(data)
    assert collected(path) == expected(data)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "data", [b"\n", b"\n\n\n", b"a\n" * 256, b"x" * 255 + b"\n" + b"y" * 255 + b"\n", b"a\r\nb\r\n"]
)
def test_line_ends_at_chunk_ends(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(data)
    assert collected(path) == expected(data)


@pytest.mark.parametrize("data", [b"a\n\nb\r\na\n" * 50 + b"end", b"x\n" * 99 + b"\xff\n", b"\n" * 9])
def test_whole_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Files whose lines repeat are folded by another reader, with the same result."""
    monkeypatch.setattr(lines, "_WHOLE_ABOVE", 0)
    used: list[bool] = []
    real = lines._folded_whole
    monkeypatch.setattr(lines, "_folded_whole", lambda path: (used.append(True), real(path))[1])
    path = tmp_path / "text"
    path.write_bytes(data)
    assert collected(path) == expected(data)
    assert used == [True]


def test_whole_file_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_WHOLE_ABOVE", 0)
    monkeypatch.setattr(lines, "_BATCH", 1000)
    data = b"".join(b"line %d\n" % (number % 100) for number in range(1000))
    path = tmp_path / "text"
    path.write_bytes(data)
    assert len(list(DistinctLines(path))) > 3
    assert collected(path) == expected(data)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("distinct", [5, 40, 1000])
def test_batches_of_so_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distinct: int) -> None:
    """No batch has more lines than asked for; all but the last are full where no line comes twice."""
    monkeypatch.setattr(lines, "_BATCH_ROWS", 12)
    monkeypatch.setattr(lines, "_ALWAYS_FOLDED", 0)
    data = b"".join(b"%d\n" % (number % distinct) for number in range(1000))
    path = tmp_path / "text"
    path.write_bytes(data)
    sizes = [len(batch) for batch in DistinctLines(path)]
    assert max(sizes) <= 12
    if distinct == 1000:
        assert set(sizes[:-1]) == {12}
    assert collected(path) == expected(data)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(DistinctLines(tmp_path / "none"))
    with pytest.raises(MissingFileError):
        content_sha256(tmp_path / "none")


def test_hash_of_a_small_file_is_the_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert content_sha256(path) == hashlib.sha256(b"abc").hexdigest()


def test_hash_of_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "CHUNK", 1000)
    data = bytes(range(256)) * 16
    path = tmp_path / "file"
    path.write_bytes(data)
    parts = [hashlib.sha256(data[at : at + 1000]).digest() for at in range(0, len(data), 1000)]
    first = content_sha256(path)
    assert first == hashlib.sha256(b"geko tree of sha256 over 8 MiB chunks\n" + b"".join(parts)).hexdigest()
    for at in (0, 999, 1000, 2500, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        assert content_sha256(path) != first
