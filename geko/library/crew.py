"""Logic files read by processes of their own, one per core.

The processes are plain children that talk over pipes, so that a script without a ``__main__`` guard, a notebook or
``python -c`` may use them, too. What they answer doesn't depend on how many there are.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from geko.errors import GekoError, ToolError
from geko.library import logic_yaml
from geko.library.logic_yaml import LogicReader

_LENGTH = struct.Struct(">Q")
# Below this many bytes starting a process costs more than it saves.
_WORTH_BYTES = 24 << 20
# Small files go to a process together.
_CHUNK_BYTES = 4 << 20

#: A file, and what else the task is told of it.
File = tuple[str, ...]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_all(
    task: str, files: Sequence[File], sizes: Sequence[int], workers: int | None = None, *, share: bool = False
) -> Iterator[Any]:
    """Apply a function to logic files.

    Args:
        task: ``"module:function"``, called as ``function(reader, *file)`` in whichever process.
        files: path of each, and further words for the task.
        sizes: bytes of each.
        workers: processes; None sizes them to the cores and the work, 0 reads in this process.
        share: see :class:`geko.library.logic_yaml.LogicReader`.

    Yields:
        Per file, in the order given: what the function returned, or the `GekoError` that it raised.

    Raises:
        ToolError: a process ended in the middle of its work (out of memory?).
    """
    chunks = _chunks(files, sizes)
    if workers is None:
        workers = min(cores(), len(chunks)) if sum(sizes) >= _WORTH_BYTES else 0
    if workers < 1:
        function, reader = _function(task), LogicReader(share=share)
        for file in files:
            yield _answer(function, reader, file)
        return
    with _Crew(min(workers, len(chunks)) or 1, task, share) as crew:
        waiting: deque[Future[list[Any]]] = deque()
        for chunk in chunks:
            waiting.append(crew.submit(chunk))
            # Answers may wait for their turn, but not all of them: memory stays bounded.
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def read_data(reader: LogicReader, path: str) -> Any:
    """Task: the document of a file as Python objects."""
    return logic_yaml.read_with(reader, logic_yaml.read_bytes(path), path)


def _chunks(files: Sequence[File], sizes: Sequence[int]) -> list[list[File]]:
    chunks: list[list[File]] = []
    room = 0
    for file, size in zip(files, sizes, strict=True):
        if size > room:
            chunks.append([])
            room = _CHUNK_BYTES
        chunks[-1].append(file)
        room -= size
    return chunks


def _function(task: str) -> Callable[..., Any]:
    module, _, name = task.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _answer(function: Callable[..., Any], reader: LogicReader, file: File) -> Any:
    try:
        return function(reader, *file)
    except GekoError as error:
        return error


class _Crew:
    """Processes that read, each with a thread that waits for it."""

    def __init__(self, count: int, task: str, share: bool) -> None:
        self._words = [task, str(int(share))]
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="geko-logic")
        self._own = threading.local()
        self._children: list[subprocess.Popen[bytes]] = []

    def submit(self, chunk: list[File]) -> Future[list[Any]]:
        return self._pool.submit(self._ask, chunk)

    def _ask(self, chunk: list[File]) -> list[Any]:
        child = getattr(self._own, "child", None)
        if child is None:
            child = self._own.child = _start(self._words)
            self._children.append(child)
        text = json.dumps(chunk)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(text.encode() + b"\n")
            child.stdin.flush()
            answer: list[Any] = pickle.loads(_take(child.stdout))
        except (BrokenPipeError, EOFError) as error:
            names = ", ".join(file[0] for file in chunk[:3])
            raise ToolError(
                f"the process that read {names} ended with status {child.wait()}; is memory short? "
                "--jobs 1 needs the least"
            ) from error
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for child in self._children:
                child.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for child in self._children:
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            child.wait()


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    # The child finds geko where this process found it, installed or not.
    root = str(Path(__file__).resolve().parents[2])
    code = f"import sys; sys.path.insert(0, {root!r}); from geko.library.crew import serve; serve()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _take(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def serve() -> None:
    """What a reading process does: answer each line of standard input, until it ends; its words are task and sharing."""
    # Ctrl-C reaches the whole group; the parent ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints doesn't get between the answers
    function, reader = _function(sys.argv[1]), LogicReader(share=sys.argv[2] == "1")
    for line in sys.stdin.buffer:
        answer = [_answer(function, reader, tuple(file)) for file in json.loads(line)]
        data = pickle.dumps(answer, protocol=5)
        out.write(_LENGTH.pack(len(data)) + data)
        out.flush()
