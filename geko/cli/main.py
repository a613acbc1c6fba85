"""Entry point: translate the original's spelling, build the app, turn errors into one line and an exit status."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

_state: dict[str, Any] = {"anchor": None, "verbose": None}


def start(verbose: int) -> Path | None:
    """Set up logging for a command, once: what ``-v`` said stands; returns `anchor`."""
    from geko.log import setup_logging

    if _state["verbose"] is None:
        _state["verbose"] = verbose
        setup_logging(verbose)
    return anchor()


def anchor() -> Path | None:
    """File whose ancestors may be the hipBLASLt checkout; None for the installed command."""
    found: Path | None = _state["anchor"]
    return found


def main(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """Run the command line.

    Args:
        argv: words after the program's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout (``bin/geko`` gives itself).

    Returns:
        Exit status: 0 fine, 1 failure, 2 usage, 130 interrupted.
    """
    from geko.cli.legacy import translate

    if argv is None:
        from geko.frames import without_numpy

        without_numpy()
        # Loading modules makes many objects and no garbage; looking for some takes a sixth of that time.
        gc.set_threshold(100_000)
    _state.update(anchor=Path(anchor) if anchor is not None else None, verbose=None)
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return guarded(lambda: _run(translate(words)), words)


def guarded(call: Callable[[], int], words: Sequence[str] = ()) -> int:
    """Run something of the command line: errors become one line on standard error, and an exit status.

    Args:
        call: gives the exit status.
        words: the command line, for reports of faults.
    """
    from geko.errors import GekoError

    words = list(words)
    try:
        status = call()
        sys.stdout.flush()
        return status
    except GekoError as error:
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("geko: interrupted\n")
        return EXIT_INTERRUPTED
    except SystemExit as exit_:
        if isinstance(exit_.code, str):
            return _say(exit_.code, EXIT_FAILURE)
        return int(exit_.code or 0)
    except BrokenPipeError as error:
        return 0 if _reader_gone() else _unexpected(error, words)
    except ModuleNotFoundError as error:
        if (error.name or "geko").partition(".")[0] == "geko":
            return _unexpected(error, words)
        home = Path(__file__).resolve().parents[2]
        what = f"-e {home}" if (home / "pyproject.toml").is_file() else "geko"
        return _say(
            f"the Python module {error.name} is missing: install GEKO with all it needs by "
            f"`{sys.executable} -m pip install {what}`",
            EXIT_FAILURE,
        )
    except OSError as error:
        if error.strerror is None or (_state["verbose"] or 0) >= 2:
            return _unexpected(error, words)
        named = f"{error.filename}: " if error.filename is not None else ""
        return _say(f"{named}{error.strerror}", EXIT_FAILURE)
    except Exception as error:
        return _unexpected(error, words)


def _run(words: list[str]) -> int:
    import typer

    from geko.cli.app import build
    from geko.cli.usage import is_usage_error, sentence

    command = typer.main.get_command(build(words))
    # Not `command.main`, which makes an exit of its own out of a pipe that nobody reads.
    try:
        with command.make_context("geko", list(words)) as context:
            result = command.invoke(context)
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not is_usage_error(error):
            raise
        text = sentence(error)
        if text is None:
            sys.stdout.write(f"{error.ctx.get_help()}\n")  # type: ignore[attr-defined]
            return EXIT_USAGE
        return _say(text, EXIT_USAGE)
    return result if isinstance(result, int) else 0


def _say(text: str, status: int) -> int:
    # DuckDB shows a mistake over several lines, with a caret below it.
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^")]
    sys.stderr.write(f"geko: error: {' '.join(lines)}\n")
    return status


def _reader_gone() -> bool:
    """Whether nobody reads standard output any more; nothing is written to it at exit then."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
        if gone:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    return gone


def _unexpected(error: Exception, words: list[str]) -> int:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    if (_state["verbose"] or 0) >= 2:
        sys.stderr.write(text)
        where = "above"
    else:
        with tempfile.NamedTemporaryFile("w", prefix="geko-error-", suffix=".log", delete=False) as handle:
            handle.write(f"geko {' '.join(words)}\n\n{text}")
        where = f"in {handle.name}"
    sys.stderr.write(
        f"geko: internal error: {type(error).__name__}: {error} (traceback {where}; please report it)\n"
    )
    return EXIT_FAILURE
