"""A small SQL prompt for ``geko sql`` on a terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from geko.cli.render import render
from geko.errors import GekoError, Interrupted

if TYPE_CHECKING:
    from geko.warehouse import Warehouse


def prompt(warehouse: Warehouse, form: str) -> None:
    """Read queries that end with ``;`` and print their rows, until end of input or ``.quit``."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - line editing for input()

    sys.stdout.write("One SELECT a time, ended with ';'. Ctrl-C ends a query, Ctrl-D leaves.\n")
    lines: list[str] = []
    while True:
        try:
            line = input("   ...> " if lines else "geko> ")
        except EOFError:
            sys.stdout.write("\n")
            return
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            lines = []
            continue
        if not lines and line.strip() in (".quit", ".exit", "quit", "exit"):
            return
        lines.append(line)
        if not line.rstrip().endswith(";"):
            continue
        text, lines = "\n".join(lines), []
        try:
            render(warehouse.sql(text), form)
        except (KeyboardInterrupt, Interrupted):
            sys.stdout.write("interrupted\n")
        except GekoError as error:
            sys.stdout.write(f"{error}\n")
