"""What a file is known by: a sha256 of its bytes that several cores can work on."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from geko.errors import MissingFileError

#: Files up to this many bytes have the plain sha256 of their content.
CHUNK = 8 << 20
_BLOCK = 1 << 20
_TREE = b"geko tree of sha256 over 8 MiB chunks\n"


def content_sha256(path: str | Path) -> str:
    """Hash of a file's content.

    Up to 8 MiB it is the plain sha256, the one that ``sha256sum`` prints. Of a longer file it is the sha256
    over a fixed line and the binary sha256 of every 8 MiB chunk, so that all cores share the work.

    Raises:
        MissingFileError: no such file.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size <= CHUNK:
            with path.open("rb") as handle:
                return hashlib.file_digest(handle, "sha256").hexdigest()
        workers = min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            digests = list(pool.map(lambda at: _chunk_digest(path, at), range(0, size, CHUNK)))
    except FileNotFoundError as error:
        raise MissingFileError("there is no such file", path=path) from error
    return hashlib.sha256(_TREE + b"".join(digests)).hexdigest()


def _chunk_digest(path: Path, start: int) -> bytes:
    digest = hashlib.sha256()
    block = bytearray(_BLOCK)
    view = memoryview(block)
    left = CHUNK
    with path.open("rb", buffering=0) as handle:
        handle.seek(start)
        while left:
            count = handle.readinto(view[: min(left, _BLOCK)])
            if not count:
                break
            digest.update(view[:count])
            left -= count
    return digest.digest()
