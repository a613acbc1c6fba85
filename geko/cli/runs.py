"""``geko search`` and ``geko bench``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from geko.cli import options as o
from geko.cli.main import anchor
from geko.cli.render import render
from geko.cli.run_options import Asked, run_command

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.pipeline import RunResult


@run_command("search")
def search(asked: Asked, db: Path | None, form: o.Form, verbose: int) -> None:
    """Find faster existing kernels for a workload, prove it, and export the library of them."""
    from geko.pipeline import run_search

    if asked.dry_run:
        from geko.runs.plan import plan_search

        found = plan_search(db, asked.source, asked.options, anchor=anchor())
        show(found.stages, found.lines, form)
        return

    def run() -> RunResult:
        return run_search(db, asked.source, asked.options, anchor=anchor(), verbose=verbose)

    finish(waiting(run, asked.wait), form)


@run_command("bench")
def bench(asked: Asked, db: Path | None, form: o.Form, verbose: int) -> None:
    """Time the library's own choice for every GEMM of a workload."""
    from geko.pipeline import run_bench

    def run() -> RunResult:
        return run_bench(db, asked.source, asked.options, anchor=anchor(), verbose=verbose)

    finish(waiting(run, asked.wait), form)


def finish(result: RunResult, form: o.Form) -> None:
    """Show what a run came to, and end with its exit status."""
    show(result.table, result.lines, form)
    raise typer.Exit(result.exit_code)


def show(rows: pa.Table, lines: list[str], form: o.Form) -> None:
    """Rows, and sentences about them: programs that read the rows get nothing else on standard output."""
    render(rows, form)
    out = sys.stdout if form is o.Form.table else sys.stderr
    out.write("".join(f"{line}\n" for line in ["", *lines]))


def waiting(call: Callable[[], RunResult], wait: float) -> RunResult:
    """Run it, again and again for ``wait`` seconds while another process holds the warehouse."""
    from geko.errors import WarehouseBusyError
    from geko.log import logger

    end = time.monotonic() + wait
    while True:
        try:
            return call()
        except WarehouseBusyError as error:
            left = end - time.monotonic()
            if left <= 0:
                raise
            logger.info("waiting %.0f s more: %s", left, error)
            time.sleep(min(1.0, left))
