"""The command line: a command parses, makes one library call, and renders."""

from __future__ import annotations

from geko.cli.main import main

__all__ = ["main"]
