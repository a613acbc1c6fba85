"""docs/cli.md: every command with its arguments, options and examples, written from the Typer app itself.

``python -m geko.cli.reference`` (or ``invoke docs``) writes the page of a checkout again; what stands above its mark is
kept.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from geko.cli.app import COMMANDS, build
from geko.cli.options import Form

MARK = "<!-- From here on written by `invoke docs`. -->"
#: Options that all commands share; the page describes them once.
SHARED = ("db", "verbose", "form", "help")
_WORDS = {Path: "PATH", int: "N", float: "X", str: "TEXT", bool: ""}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its words, in the order of the help page."""
    for name in COMMANDS:
        yield from _leaves(name, typer.main.get_command(build([name])).commands[name])  # type: ignore[attr-defined]


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from _leaves(f"{path} {name}", inner)


def reference() -> str:
    """The written part of the page."""
    return "\n".join(_section(path, command) for path, command in commands())


def _section(path: str, command: Any) -> str:
    hints = _annotations(command)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    formed = hints.get("form") is Form
    hidden = SHARED if formed else tuple(name for name in SHARED if name != "form")
    options = [p for p in command.params if p.param_type_name == "option" and p.name not in hidden]
    shared = ["`--db`", "`-v`"] + ["`--format`"] * formed
    usage = " ".join(["geko", path, *(["[OPTIONS]"]), *(_shown(p, hints) for p in arguments)])
    lines = [f"### geko {path}", "", _prose(command.help), "", f"    {usage}", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{p.name}` | {_meaning(p)[0]} |" for p in arguments] + [""]
    if options:
        lines += ["| option | default | meaning |", "|---|---|---|"]
        lines += [f"| {_names(p, hints)} | {_meaning(p)[1]} | {_meaning(p)[0]} |" for p in options] + [""]
    lines += [f"Also {', '.join(shared[:-1])} and {shared[-1]}.", ""]
    lines += [f"    {line}" for line in examples(command)] + [""]
    return "\n".join(lines)


def _annotations(command: Any) -> dict[str, Any]:
    """Parameter → its type without Typer's annotations."""
    found = {}
    for name, parameter in inspect.signature(command.callback).parameters.items():
        kind = parameter.annotation
        kind = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
        if typing.get_origin(kind) in (types.UnionType, typing.Union):
            kind = next(inner for inner in typing.get_args(kind) if inner is not type(None))
        found[name] = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
    return found


def _value(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(member.value) for member in kind)
    return _WORDS.get(kind, "TEXT")


def _shown(argument: Any, hints: dict[str, Any]) -> str:
    kind = hints.get(argument.name)
    word = (
        _value(kind) if isinstance(kind, type) and issubclass(kind, enum.Enum) else str(argument.name).upper()
    )
    word += "..." if argument.nargs == -1 else ""
    return word if argument.required else f"[{word}]"


def _names(option: Any, hints: dict[str, Any]) -> str:
    value = "" if option.is_flag else option.metavar or _value(hints.get(option.name))
    names = [f"`{name}{f' {value}' if value else ''}`" for name in option.opts]
    return _cell(", ".join([*names, *(f"`{name}`" for name in option.secondary_opts)]))


def _meaning(parameter: Any) -> tuple[str, str]:
    """What a parameter means, and its default."""
    text = getattr(parameter, "help", None) or ""
    told = re.search(r"\s*\[default: (.*)\]$", text)
    if told:
        return _cell(text[: told.start()]), _cell(told[1])
    default = parameter.default
    if default is None or default is False or parameter.required or callable(default) or default == []:
        default = "required" if parameter.required else ""
    elif isinstance(default, enum.Enum):
        default = default.value
    elif default is True and getattr(parameter, "secondary_opts", None):
        default = parameter.opts[0]
    elif isinstance(default, float):
        default = f"{default:g}"
    return _cell(text), _cell(str(default))


def _prose(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def examples(command: Any) -> list[str]:
    """The command lines at the end of a help page, with comments."""
    return [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]


def page(text: str) -> str:
    """The page with its written part renewed.

    Args:
        text: the page as it is; it holds `MARK`.
    """
    head, mark, _ = text.partition(MARK)
    assert mark, "docs/cli.md has lost its mark"
    return f"{head}{MARK}\n\n{reference()}"


if __name__ == "__main__":
    from geko.fsio import write_text_atomic

    target = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
    write_text_atomic(target, page(target.read_text(encoding="utf-8")))
