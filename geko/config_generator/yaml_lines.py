"""Small YAML files with the line of every key, for messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from geko.errors import InputError, MissingFileError


@dataclass(frozen=True, slots=True)
class Located:
    """A mapping of a YAML file and the 1-based lines of its keys."""

    values: dict[str, Any]
    lines: dict[str, int]
    line: int


def read_documents(path: str | Path) -> list[Located]:
    """Mappings of a YAML file: one a document, or the items of a top-level list.

    Raises:
        MissingFileError: no such file.
        InputError: broken YAML, a key twice, or something that isn't a mapping.
    """
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise MissingFileError("no such generator config", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path=path) from error
    try:
        nodes = [node for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError(f"broken YAML: {getattr(error, 'problem', error)}", path=path, line=line) from error
    found: list[Located] = []
    for node in nodes:
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found += [locate(item, path) for item in items]
    return found


def locate(node: yaml.Node, path: str | Path) -> Located:
    """Mapping node to values and lines.

    Raises:
        InputError: not a mapping, a key that isn't text, or a key twice.
    """
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        raise InputError("expected a mapping of keys to values", path=path, line=line)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key_line = key_node.start_mark.line + 1
        key = key_node.value
        if not isinstance(key, str):
            raise InputError("a key must be a word", path=path, line=key_line)
        if key in values:
            raise InputError(f"{key} stands here twice, first on line {lines[key]}", path=path, line=key_line)
        lines[key] = key_line
        if key == "GemmProblems":
            if not isinstance(value_node, yaml.SequenceNode) or not value_node.value:
                raise InputError("GemmProblems must be a list of mappings", path=path, line=key_line)
            values[key] = [locate(item, path) for item in value_node.value]
        else:
            values[key] = _construct(value_node, path)
    return Located(values, lines, line)


def _construct(node: yaml.Node, path: str | Path) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise InputError(
            f"can't read the value: {getattr(error, 'problem', error)}",
            path=path,
            line=node.start_mark.line + 1,
        ) from error
    finally:
        loader.dispose()
