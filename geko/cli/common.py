"""What all commands have in common: ``--db``, ``-v`` and logging."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from geko.cli import options as o

_COMMON: dict[str, tuple[Any, Any]] = {"db": (o.Db, None), "verbose": (o.Verbose, 1)}


def completed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command with ``--db`` and ``-v``, also where its function takes neither, and with logging set up.

    Args:
        function: a command as Typer takes it.
    """
    if getattr(function, "is_completed", False):
        return function
    signature = inspect.signature(function, eval_str=True)
    added = {name: pair for name, pair in _COMMON.items() if name not in signature.parameters}

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        from geko.cli.main import start

        start(values["verbose"])
        return function(**{name: value for name, value in values.items() if name not in added})

    command.is_completed = True  # type: ignore[attr-defined]
    return with_parameters(
        command,
        [*signature.parameters.values(), *(parameter(name, *pair) for name, pair in added.items())],
    )


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command's function."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def with_parameters(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """Give a function that takes keywords the parameters that Typer shall see."""
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    for each in keyword:
        for info in getattr(each.annotation, "__metadata__", ()):
            if hasattr(info, "readable"):
                # Whoever reads the file says what is wrong with it and what to do; the parser says nothing of the latter.
                info.readable = False
    function.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in keyword}
    function.__dict__.pop("__wrapped__", None)
    return function
