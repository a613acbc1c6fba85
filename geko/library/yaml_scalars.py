"""What an unquoted or quoted scalar of a logic file means: to PyYAML (YAML 1.1), and to Tensile's own
loader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class IrregularError(Exception):
    """The text can't be read piecewise here; the enclosing piece is read whole."""


class PyyamlScalars:
    """Scalars by PyYAML's SafeLoader: its implicit resolvers and constructors themselves."""

    def __init__(self) -> None:
        self._resolvers = yaml.SafeLoader.yaml_implicit_resolvers
        self._any = self._resolvers.get(None, [])
        constructor = yaml.constructor.SafeConstructor()
        table = yaml.constructor.SafeConstructor.yaml_constructors
        self._construct: dict[str, Callable[[Any], Any]] = {
            tag: function.__get__(constructor) for tag, function in table.items() if tag is not None
        }

    def plain(self, text: str) -> Any:
        """Value of an unquoted scalar.

        Raises:
            IrregularError: PyYAML itself would refuse it; the caller lets PyYAML say why.
        """
        for tag, pattern in [*self._resolvers.get(text[:1], ()), *self._any]:
            if pattern.match(text):
                try:
                    return self._construct[tag](yaml.ScalarNode(tag, text))
                except (KeyError, ValueError, yaml.YAMLError) as error:
                    raise IrregularError from error
        return text

    def document(self, text: str) -> Any:
        """Value of a whole document."""
        return yaml.load(text, Loader=_Loader)


class TensileScalars:
    """Scalars by the loader that TensileCreateLibrary uses.

    true/yes/false/no in any case are booleans even when quoted; '' ``null`` ``~`` are None only when
    unquoted; digits after the sign are an int; what ``float()`` takes is a float (``1e5``, ``nan``, ``inf``);
    the rest is text.
    """

    def plain(self, text: str) -> Any:
        return self.scalar(text, quoted=False)

    @staticmethod
    def scalar(text: str, *, quoted: bool) -> Any:
        low = text.lower()
        if low in ("true", "yes"):
            return True
        if low in ("false", "no"):
            return False
        if low in ("", "null", "~"):
            return text if quoted else None
        if low.lstrip("+-").isnumeric():
            try:
                return int(low)
            except ValueError:
                raise IrregularError from None
        try:
            return float(low)
        except ValueError:
            return text

    def document(self, text: str) -> Any:
        events = iter(yaml.parse(text, Loader=_Loader))
        value: Any = None
        for event in events:
            if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent, yaml.AliasEvent)):
                value = self._node(event, events)
        return value

    def _node(self, event: Any, events: Iterator[Any]) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event.value, quoted=bool(event.style))
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._node(event, events))
            return items
        if isinstance(event, yaml.MappingStartEvent):
            mapping: dict[Any, Any] = {}
            while not isinstance(event := next(events), yaml.MappingEndEvent):
                key = self._node(event, events)
                mapping[key] = self._node(next(events), events)
            return mapping
        raise yaml.composer.ComposerError(
            None, None, "Tensile's loader does not know aliases", event.start_mark
        )
