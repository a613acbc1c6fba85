"""Reading and writing Tensile library logic as YAML, with the values that PyYAML gives.

Logic files are what PyYAML's block dumper writes: thousands of solutions of some 200 lines each, of which all
but a handful are the same from solution to solution. Reading therefore goes by *distinct lines*: the text is
cut into block items and entries at their own indentation, each distinct entry is read once, and the rest is
dictionary look-ups. An entry is read with PyYAML's own resolvers (a plain scalar) or with PyYAML itself
(anything else), so YAML 1.1 values (``yes``, ``017``, ``12_000``, ``12:30:00``, ``1e5`` as text) come out
exactly as Tensile's tools see them. Writing is the mirror image: PyYAML formats each distinct entry once, and
the output is byte for byte that of ``yaml.dump(..., default_flow_style=None, sort_keys=False)`` without
aliases.

Why cutting is safe: a cut is made only in front of text that starts an entry of the enclosing block. If the
reader were inside a quoted scalar or a flow collection there, the piece before the cut would be unfinished,
PyYAML would refuse it, and the enclosing piece (in the end the whole file) is given to PyYAML as it stands.
"""

from __future__ import annotations

import contextlib
import gc
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml

from geko.errors import InputError
from geko.fsio import require_file, write_text_atomic
from geko.library.yaml_scalars import IrregularError, PyyamlScalars, TensileScalars
from geko.library.yaml_writer import LogicWriter

Rules = Literal["pyyaml", "tensile"]

# Block nodes shorter than this are read as one piece: cutting them would cost more than it saves.
_CUT_FROM = 400
_CACHE_LIMIT = 2_000_000

_LEADING = re.compile(r"(?:[ ]*(?:#[^\n]*)?\n)*")
_NUMBER_TEXT = re.compile(r"[-0-9.,\[\] eE+\n]*\Z")
_EXPONENT = re.compile(r"\d\.\d+[eE][-+]\d+")
# A one-line entry "key: plain scalar" on which no YAML indicator can act.
_PLAIN = (
    r"(?:[A-Za-z0-9_./~+]|-(?=[A-Za-z0-9_.]))"
    r"(?:[A-Za-z0-9_./~+=()*%@^<>-]|:(?=[A-Za-z0-9_])| (?=[A-Za-z0-9_./(+]))*"
)
_PLAIN_ENTRY = re.compile(rf"([A-Za-z0-9_]+): ({_PLAIN})\Z")
_FLOW_ENTRY = re.compile(r"([A-Za-z0-9_]+): (\[[-0-9., eE+\n]*\])\Z")
_OPEN_ENTRY = re.compile(r"([A-Za-z0-9_]+):\n")


class LogicReader:
    """Reads logic files; lines met in one file are known in the next.

    Args:
        rules: whose reading of scalars is wanted: ``"pyyaml"`` (TensileMergeLibrary, the original) or
            ``"tensile"`` (TensileCreateLibrary's own loader).
        share: equal lists and mappings may be one object, for readers that change nothing.
    """

    def __init__(self, rules: Rules = "pyyaml", *, share: bool = False) -> None:
        self._share = share
        self._scalars: PyyamlScalars | TensileScalars = (
            TensileScalars() if rules == "tensile" else PyyamlScalars()
        )
        self._levels: dict[int, _Level] = {}
        self._known = 0

    def loads(self, text: str) -> Any:
        """Python objects of one YAML document.

        Args:
            text: the document.

        Returns:
            Lists, dicts and scalars; unless ``share``, every list and dict is an object of its own, so changing
            one changes no other.

        Raises:
            yaml.YAMLError: what PyYAML says about a document that it can't read.
        """
        if self._known > _CACHE_LIMIT:
            self._levels.clear()
            self._known = 0
        body = text
        start = _LEADING.match(body)
        body = body[start.end() :] if start else body
        if body.startswith("---\n"):
            body = body[4:]
        body = body.rstrip("\n ")
        if body.endswith("\n..."):
            body = body[:-4]
        try:
            # Directives, further documents and foreign line ends are PyYAML's business.
            if body.startswith(("%", "---", "...", "\ufeff")) or any(
                mark in body for mark in ("\n---", "\n...", "\r")
            ):
                raise IrregularError
            return self._block(body + "\n", 0)
        except (IrregularError, yaml.YAMLError, RecursionError):
            return self._scalars.document(text)

    # A "node text" holds whole lines; its first line begins with the blanks up to the node's own column.

    def _block(self, text: str, least: int) -> Any:
        """Value of a block sequence or mapping whose column is at least ``least``."""
        indent = len(text) - len(text.lstrip(" "))
        if indent < least:
            raise IrregularError
        if text.startswith("- ", indent):
            return self._sequence(text, indent)
        return self._mapping(text, indent)

    def _sequence(self, text: str, indent: int) -> list[Any]:
        pad = " " * indent
        if text.startswith("- [", indent) or text.startswith("- - [", indent):
            try:
                return _number_rows(text, indent)
            except ValueError:
                pass
        level = self._level(indent)
        items = text[indent + 2 :].split(f"\n{pad}- ")
        values = []
        deeper = pad + "  "
        for item in items:
            if len(item) > _CUT_FROM or item.startswith("- ["):
                try:
                    values.append(self._block(f"{deeper}{item}\n", indent + 1))
                    continue
                except (IrregularError, yaml.YAMLError):
                    pass
            value = level.items[item]
            values.append(value if self._share else copy_value(value))
        return values

    def _mapping(self, text: str, indent: int) -> dict[Any, Any]:
        level = self._level(indent)
        pairs = dict(map(level.entries.__getitem__, level.cut(text[indent:].rstrip("\n"))))
        if not self._share:
            for key in level.mutable & pairs.keys():
                pairs[key] = copy_value(pairs[key])
        return pairs

    def _level(self, indent: int) -> _Level:
        level = self._levels.get(indent)
        if level is None:
            level = self._levels[indent] = _Level(self, indent)
        return level

    def _read_entry(self, text: str, indent: int) -> tuple[Any, Any]:
        """Key and value of one mapping entry, without its leading blanks."""
        self._known += 1
        if match := _PLAIN_ENTRY.match(text):
            return self._scalars.plain(match[1]), self._scalars.plain(match[2])
        if match := _FLOW_ENTRY.match(text):
            try:
                return self._scalars.plain(match[1]), _numbers(match[2])
            except ValueError:
                pass
        if len(text) > _CUT_FROM and (match := _OPEN_ENTRY.match(text)):
            rest = text[match.end() :] + "\n"
            least = indent if rest.startswith("- ", indent) else indent + 1
            try:
                return self._scalars.plain(match[1]), self._block(rest, least)
            except (IrregularError, yaml.YAMLError):
                pass
        value = self._piece(f"{' ' * indent}{text}\n")
        if type(value) is not dict or len(value) != 1 or text.startswith(("<<", '"<<', "'<<", "{")):
            raise IrregularError
        return next(iter(value.items()))

    def _read_item(self, text: str, indent: int) -> Any:
        """Value of one sequence item, without its dash."""
        self._known += 1
        if text.startswith("["):
            try:
                return _numbers(text)
            except ValueError:
                pass
        value = self._piece(f"{' ' * indent}- {text}\n")
        if type(value) is not list or len(value) != 1:
            raise IrregularError
        return value[0]

    def _piece(self, text: str) -> Any:
        # An anchor is known (and must be the only one of its name) in the whole document.
        if "&" in text:
            raise IrregularError
        return self._scalars.document(text)


class _Level:
    """What is known of the entries and items that stand at one column."""

    def __init__(self, reader: LogicReader, indent: int) -> None:
        self.mutable: set[Any] = set()
        self.entries = _Entries(reader, indent, self.mutable)
        self.items = _Items(reader, indent)
        self.cut = re.compile(rf"\n {{{indent}}}(?=[^ \n#-])").split


class _Entries(dict[str, tuple[Any, Any]]):
    def __init__(self, reader: LogicReader, indent: int, mutable: set[Any]) -> None:
        super().__init__()
        self._reader, self._indent, self._mutable = reader, indent, mutable

    def __missing__(self, text: str) -> tuple[Any, Any]:
        pair = self._reader._read_entry(text, self._indent)
        if type(pair[1]) in (list, dict):
            self._mutable.add(pair[0])
        self[text] = pair
        return pair


class _Items(dict[str, Any]):
    def __init__(self, reader: LogicReader, indent: int) -> None:
        super().__init__()
        self._reader, self._indent = reader, indent

    def __missing__(self, text: str) -> Any:
        value = self[text] = self._reader._read_item(text, self._indent)
        return value


def copy_value(value: Any) -> Any:
    """A copy of lists and dicts, all the way down."""
    kind = type(value)
    if kind is list:
        return [copy_value(item) if type(item) in (list, dict) else item for item in value]
    if kind is dict:
        return {key: copy_value(item) if type(item) in (list, dict) else item for key, item in value.items()}
    return value


def _numbers(text: str) -> list[Any]:
    """A flow list of numbers (nested lists allowed) where JSON and YAML 1.1 can't differ.

    Raises:
        ValueError: it holds anything else.
    """
    if not _NUMBER_TEXT.match(text):
        raise ValueError("not numbers only")
    # YAML 1.1 takes an exponent only after a dot and with a sign: anything else there is text.
    if ("e" in text or "E" in text) and len(_EXPONENT.findall(text)) != text.count("e") + text.count("E"):
        raise ValueError("exponent that YAML 1.1 reads as text")
    values = json.loads(text)
    if type(values) is not list:
        raise ValueError("not a list")
    return values


def _number_rows(text: str, indent: int) -> list[Any]:
    """ExactLogic and its like: a block sequence of flow lists, or of block sequences of flow lists, numbers
    only.

    Raises:
        ValueError: it holds anything else; the caller reads it row by row.
    """
    pad = " " * indent
    body = text[indent:].rstrip("\n")
    if body.startswith("- - ["):
        body = body.replace(f"\n{pad}- - [", "],[[").replace(f"\n{pad}  - [", ",[")
        return _numbers(f"[[{body[4:]}]]")
    return _numbers(f"[{body[2:].replace(f'{chr(10)}{pad}- [', ',[')}]")


def loads(data: str | bytes, *, rules: Rules = "pyyaml", name: str | Path | None = None) -> Any:
    """Read one YAML document.

    Args:
        data: text, or UTF-8 bytes.
        rules: see :class:`LogicReader`.
        name: what to call the document in an error.

    Returns:
        The document as Python objects.

    Raises:
        InputError: it isn't YAML; names file and line.
    """
    return read_with(LogicReader(rules), data, name)


def read_with(reader: LogicReader, data: str | bytes, name: str | Path | None = None) -> Any:
    """Like :func:`loads`, with a reader that already knows the lines of other files."""
    text = data if isinstance(data, str) else decode(data, name)
    try:
        with no_gc():
            return reader.loads(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(
            f"not readable as YAML: {problem}", path=name, line=None if mark is None else mark.line + 1
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"not readable as YAML: {error}", path=name) from error


def decode(data: bytes, name: str | Path | None = None) -> str:
    """Text of a UTF-8 file, without a byte order mark.

    Raises:
        InputError: it isn't UTF-8; names file and line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8 text: is this a YAML file?", path=name, line=line) from error


@contextlib.contextmanager
def no_gc() -> Iterator[None]:
    """Millions of new containers and no cycle among them: collecting in between only costs time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load(source: str | Path | bytes, *, rules: Rules = "pyyaml") -> Any:
    """Read a YAML file.

    Args:
        source: a path, or the content as bytes.
        rules: see :class:`LogicReader`.

    Returns:
        The document as Python objects, the values those that ``yaml.load(..., Loader=yaml.CSafeLoader)``
        gives.

    Raises:
        MissingFileError: no such file.
        InputError: it isn't YAML.
    """
    if isinstance(source, bytes):
        return loads(source, rules=rules)
    return loads(read_bytes(source), rules=rules, name=source)


def read_bytes(path: str | Path) -> bytes:
    """Content of a file.

    Raises:
        MissingFileError: there is no such file.
        InputError: it is a folder or a pipe, or may not be read.
    """
    require_file(path)
    return Path(path).read_bytes()


def dumps(value: Any) -> str:
    """YAML text of a value; see :meth:`LogicWriter.dumps`."""
    with no_gc():
        return LogicWriter().dumps(value)


def dump(value: Any, path: str | Path | None = None) -> str:
    """Write a value as YAML.

    Args:
        value: lists, dicts and scalars, key order kept.
        path: file to write atomically; none = only return the text.

    Returns:
        The text.

    Raises:
        InputError: a value of a type that YAML's safe dumper doesn't know.
    """
    text = dumps(value)
    if path is not None:
        write_text_atomic(path, text)
    return text
