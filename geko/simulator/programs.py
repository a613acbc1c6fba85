"""The files that start the stand-in programs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write_program(path: Path, root: Path, tool: str) -> None:
    """Write an executable that runs a stand-in.

    Args:
        path: the executable.
        root: simulated root that it belongs to.
        tool: which stand-in, see ``_launch.py``.
    """
    launcher = Path(__file__).resolve().with_name("_launch.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-I", "-S", str(launcher), str(root), tool]
    path.write_text(
        f'#!/bin/sh\n# Simulated {tool}: a stand-in without a GPU.\nexec {shlex.join(words)} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
