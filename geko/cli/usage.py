"""One sentence for a command line that the parser refuses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def is_usage_error(error: Exception) -> bool:
    """Whether the parser raised it; the class of such errors is no part of Typer's public names."""
    return callable(getattr(error, "format_message", None)) and isinstance(
        getattr(error, "exit_code", None), int
    )


def sentence(error: Exception) -> str | None:
    """What is wrong, what may have been meant, and where to look; None where nothing was asked and help is the answer.

    Args:
        error: one that `is_usage_error`.
    """
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return None
    text = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    text = text.replace(": Value error, ", ": ")
    command = getattr(context, "command", None)
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        option = str(error.option_name)
        text = f"No such option: {option}"
        known = [name for parameter in command.params for name in parameter.opts] if command else []
        text += meant(option, known)
    elif (unknown := re.match(r"No such command '([^']*)'", text)) and command is not None:
        text = unknown[0] + meant(unknown[1], command.commands)
    where = f"; see `{context.command_path} --help`" if context is not None else ""
    return f"{text}{where}"


def meant(word: str, known: Iterable[str]) -> str:
    """``": did you mean X?"``, or nothing where no known word is near."""
    near = difflib.get_close_matches(word, list(known), n=2, cutoff=0.65)
    return f": did you mean {' or '.join(near)}?" if near else ""
