"""Entry point: translate the original's spelling, build the app, turn errors into one line and an exit status."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

_state: dict[str, Path | None] = {"anchor": None}


def start(verbose: int) -> Path | None:
    """Set up logging for a command; returns where the search for a hipBLASLt checkout begins."""
    from geko.log import setup_logging

    setup_logging(verbose)
    return _state["anchor"]


def main(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """Run the command line.

    Args:
        argv: words after the program's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout (``bin/geko`` gives itself).

    Returns:
        Exit status: 0 fine, 1 failure, 2 usage, 130 interrupted.
    """
    from geko.cli.legacy import translate
    from geko.errors import GekoError

    _state["anchor"] = Path(anchor) if anchor is not None else None
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(translate(words))
    except GekoError as error:
        _say(f"geko: error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("geko: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has seen enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as exit_:
        if isinstance(exit_.code, str):
            _say(f"geko: error: {exit_.code}")
            return EXIT_FAILURE
        return int(exit_.code or 0)
    except Exception as error:
        return _unexpected(error, words)


def _run(words: list[str]) -> int:
    import typer

    from geko.cli.app import build

    try:
        result = typer.main.get_command(build(words)).main(
            args=words, prog_name="geko", standalone_mode=False
        )
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except typer.Abort:
        _say("geko: interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        # Usage errors of the parser know how to show themselves; their class is no part of Typer's public names.
        show = getattr(error, "show", None)
        if callable(show) and isinstance(getattr(error, "exit_code", None), int):
            show()
            return int(error.exit_code)  # type: ignore[attr-defined]
        raise
    return result if isinstance(result, int) else 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _unexpected(error: Exception, words: list[str]) -> int:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    if "-v2" in words or any(a in ("-v", "--verbose") and b == "2" for a, b in itertools.pairwise(words)):
        _say(text)
        where = "above"
    else:
        with tempfile.NamedTemporaryFile("w", prefix="geko-error-", suffix=".log", delete=False) as handle:
            handle.write(f"geko {' '.join(words)}\n\n{text}")
        where = f"in {handle.name}"
    _say(f"geko: internal error: {type(error).__name__}: {error} (traceback {where}; please report it)")
    return EXIT_FAILURE
