"""Work spread over processes, and content hashes of configs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Below this many items one process is faster than starting more.
SERIAL_BELOW = 24


def cpu_count() -> int:
    """CPUs that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def chunked(items: Sequence[Item], count: int) -> list[list[Item]]:
    """Deal items out into at most ``count`` runs of consecutive items of nearly equal length."""
    size, rest = divmod(len(items), count)
    out, start = [], 0
    for index in range(count):
        stop = start + size + (index < rest)
        if stop > start:
            out.append(list(items[start:stop]))
        start = stop
    return out


def spread(
    work: Callable[[list[Item]], list[Result]], items: Sequence[Item], jobs: int | None = None
) -> Iterator[Result]:
    """Apply ``work`` to runs of items in several processes; results come in the order of the items.

    Args:
        work: module-level function of a list of items that gives one result an item.
        items: picklable items.
        jobs: processes; the CPUs at hand when left out, one below :data:`SERIAL_BELOW` items.
    """
    jobs = jobs or (1 if len(items) < SERIAL_BELOW else cpu_count())
    if jobs == 1:
        yield from work(list(items))
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Column engines run threads: a forked copy of them can hang. Fresh processes, each with its share of
    # threads.
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = str(max(1, cpu_count() // jobs))
    try:
        with _nameless_main(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            for results in pool.map(work, chunked(items, jobs * 8)):
                yield from results
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before


@contextlib.contextmanager
def _nameless_main() -> Iterator[None]:
    """Keep new processes from running the caller's script again, which then needs no ``if __name__ == "__main__"``.

    They are told of the main module by its ``__spec__`` and ``__file__``, and need neither: ``work`` is a function
    of this package.
    """
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    main.__spec__ = None
    if file is not None:
        del main.__file__
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


def config_hash(text: str) -> str:
    """sha256 of a config's text without its comments, so that two configs of one content are one."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
