"""Writing logic files in PyYAML's block style, byte for byte, by distinct lines."""

from __future__ import annotations

import re
from typing import Any

import yaml

from geko.errors import InputError
from geko.library.yaml_scalars import PyyamlScalars


class _Block(list[Any]):
    """A list that is written in block style whatever it holds."""


class _BlockMap(dict[Any, Any]):
    """A mapping that is written in block style whatever it holds."""


class _LeafDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


_LeafDumper.add_representer(
    _Block, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=False)
)
_LeafDumper.add_representer(
    _BlockMap,
    lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=False),
)

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_WIDTH = 80
_COLLECTIONS = (list, dict)


class LogicWriter:
    """Writes logic in PyYAML's block style with flow-style leaves; lines written once are known."""

    def __init__(self) -> None:
        self._known: dict[int, dict[Any, str]] = {}
        self._plain = PyyamlScalars().plain

    def dumps(self, value: Any) -> str:
        """One YAML document.

        Args:
            value: lists, dicts and scalars.

        Returns:
            The text, ended by a newline; the same for the same value, whatever was written before.

        Raises:
            InputError: a value of a type that YAML's safe dumper doesn't know (a NumPy number, a class of
                yours).
        """
        out: list[str] = []
        try:
            if _is_leaf(value):
                return str(yaml.dump(value, Dumper=_LeafDumper, default_flow_style=None, sort_keys=False))
            self._node(value, 0, out)
        except yaml.representer.RepresenterError as error:
            raise InputError(f"can't be written as YAML: {error}") from error
        return "".join(out)

    def item_text(self, value: Any, indent: int) -> str:
        """One item of a block sequence whose dashes stand at column ``indent`` (the blanks included)."""
        out: list[str] = []
        self._sequence([value], indent, out, " " * indent)
        return "".join(out)

    # ``lead`` is what stands before the node's first line: the blanks, or the dashes of the sequences around
    # it.

    def _node(self, value: Any, indent: int, out: list[str], lead: str = "") -> None:
        if isinstance(value, dict):
            self._mapping(value, indent, out, lead)
        else:
            self._sequence(value, indent, out, lead)

    def _mapping(self, value: dict[Any, Any], indent: int, out: list[str], lead: str) -> None:
        known = self._known.setdefault(indent, {})
        pad = " " * indent
        lines: list[str] = []
        get = known.get
        for key, item in value.items():
            kind = type(item)
            if kind is str or kind is bool or kind is int:
                token: Any = (key, item, kind)
            elif kind not in _COLLECTIONS or _is_leaf(item):
                token = (key, repr(item), kind)
            else:
                head = self._entry_text(key, None, indent)
                if head.startswith("?"):
                    lines.append(pad + self._entry_text(key, item, indent))
                    continue
                head = f"{pad}{head.rstrip().removesuffix('null').rstrip()}\n"
                nested: list[str] = [head]
                inner = indent if kind is list else indent + 2
                self._node(item, inner, nested, " " * inner)
                lines.extend(nested)
                continue
            line = get(token)
            if line is None:
                line = known[token] = pad + self._entry_text(key, item, indent)
            lines.append(line)
        if lines:
            lines[0] = lead + lines[0][indent:]
        out.extend(lines)

    def _sequence(self, value: list[Any], indent: int, out: list[str], lead: str) -> None:
        pad = " " * indent
        start = lead
        for item in value:
            if type(item) in _COLLECTIONS and not _is_leaf(item):
                self._node(item, indent + 2, out, f"{start}- ")
            else:
                row = _number_list(item)
                if row is not None and indent + 2 + len(row) <= _WIDTH:
                    out.append(f"{start}- {row}\n")
                else:
                    out.append(f"{start}- {self._leaf_text(item, indent)}")
            start = pad

    def _entry_text(self, key: Any, item: Any, indent: int) -> str:
        """``key: value`` and newline, with PyYAML's quoting and line breaks for that column."""
        kind = type(item)
        if type(key) is str and _WORD.match(key) and self._plain(key) is key and len(key) <= 100:
            if kind is int:
                return f"{key}: {item}\n"
            if kind is str and _WORD.match(item) and self._plain(item) is item:
                return f"{key}: {item}\n"
        value: Any = _BlockMap({key: item})
        for _ in range(indent // 2):
            value = _Block([value])
        text: str = yaml.dump(value, Dumper=_LeafDumper, default_flow_style=None, sort_keys=False)
        return text[indent:]

    def _leaf_text(self, item: Any, indent: int) -> str:
        """A sequence item (after its dash) and newline, with PyYAML's quoting and line breaks for that
        column."""
        value: Any = _Block([item])
        for _ in range(indent // 2):
            value = _Block([value])
        text: str = yaml.dump(value, Dumper=_LeafDumper, default_flow_style=None, sort_keys=False)
        return text[indent + 2 :]


def _is_leaf(value: Any) -> bool:
    """True when PyYAML writes the value on one flow-style line: a scalar, or a collection of scalars."""
    if type(value) is list:
        items: Any = value
    elif type(value) is dict:
        items = value.values()
    else:
        return True
    return not any(isinstance(item, (list, dict, tuple, set)) for item in items)


def _number_list(value: Any) -> str | None:
    if type(value) is not list or not value:
        return None
    parts = []
    for item in value:
        kind = type(item)
        if kind is int:
            parts.append(str(item))
        elif kind is float:
            text = repr(item)
            if "n" in text:  # inf, nan
                return None
            parts.append(text.replace("e", ".0e", 1) if "e" in text and "." not in text else text)
        else:
            return None
    return f"[{', '.join(parts)}]"
