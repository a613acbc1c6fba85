"""Rows of logic files, read by the processes of :mod:`geko.library.crew`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from geko.errors import GekoError
from geko.library.crew import read_all

if TYPE_CHECKING:
    from geko.ingest.formats import Parsed
    from geko.library.logic_yaml import LogicReader


def parse_files(
    files: Sequence[tuple[Path, str]], sizes: Sequence[int], workers: int | None = None
) -> Iterator[Parsed | str]:
    """Read logic files.

    Args:
        files: path and content hash of each.
        sizes: bytes of each.
        workers: processes; None sizes them to the cores and the work, 0 reads in this process.

    Yields:
        Per file, in the order given: its rows, or why it is refused.

    Raises:
        ToolError: a process ended in the middle of its work (out of memory?).
    """
    named = [(str(path), digest) for path, digest in files]
    for answer in read_all(f"{__name__}:parse_file", named, sizes, workers, share=True):
        yield str(answer) if isinstance(answer, GekoError) else answer


def parse_file(reader: LogicReader, path: str, digest: str) -> Parsed:
    """Task: the rows of a file."""
    from geko.ingest.library_files import parse_logic
    from geko.library.logic_yaml import read_bytes

    return parse_logic(read_bytes(path), Path(path), digest, reader)
