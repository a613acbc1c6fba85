"""What the tensilelite of a checkout lets kernel parameters be, read from its sources without importing them.

Its table is the dictionary ``validParameters``: for each name the list of legal values, or -1 for "checked elsewhere". It
lies in ``Common.py`` (to 0.12), later in ``Common/ValidParameters.py``. Most lists are literals, ranges and sums of these,
which are worked out here; a list that is made in another way counts as unknown, and nothing is refused by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

#: Legal values by name; None where they are checked elsewhere, or couldn't be worked out.
Table = Mapping[str, tuple[Any, ...] | None]

_NAME = "validParameters"
_MOST = 100_000  # a list that is longer is none of ours


class _UnknownError(Exception):
    """The value needs running code."""


def read_table(texts: Iterable[str]) -> dict[str, tuple[Any, ...] | None]:
    """The table of all ``validParameters`` dictionaries in some Python sources.

    Args:
        texts: the sources; ones that don't parse are passed over.
    """
    table: dict[str, tuple[Any, ...] | None] = {}
    for text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        variables = {name: value for name, value in _assignments(tree) if name != _NAME}
        for name, value in _assignments(tree):
            if name != _NAME or not isinstance(value, ast.Dict):
                continue
            for key, node in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    table[key.value] = _legal(node, variables)
    return table


def canonical(legal: tuple[Any, ...] | None, value: Any) -> tuple[Any] | None:
    """The value as the table holds it, in a tuple: of the table's type where the two are equal.

    Newer versions refuse ``True`` where the table says 1.

    Returns:
        None if the table doesn't hold the value.
    """
    if legal is None:
        return (value,)
    equal = [item for item in legal if item == value]
    same = [item for item in equal if type(item) is type(value)]
    return ((same or equal)[0],) if equal else None


def _assignments(tree: ast.Module) -> Iterable[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        assert node.value is not None
        yield from ((target.id, node.value) for target in targets if isinstance(target, ast.Name))


def _legal(node: ast.expr, variables: Mapping[str, ast.expr]) -> tuple[Any, ...] | None:
    try:
        value = _value(node, variables)
    except (_UnknownError, TypeError, ValueError, RecursionError):
        return None
    return tuple(value) if isinstance(value, list) and value else None


def _value(node: ast.expr, variables: Mapping[str, ast.expr]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            items = [_value(item, variables) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, variables)
        case ast.BinOp(op=ast.Add()):
            return _value(node.left, variables) + _value(node.right, variables)
        case ast.BinOp(op=ast.Sub()):
            return _value(node.left, variables) - _value(node.right, variables)
        case ast.BinOp(op=ast.Mult()):
            return _value(node.left, variables) * _value(node.right, variables)
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            return list(_value(inner, variables))
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 1 <= len(args) <= 3:
            made = range(*(_value(item, variables) for item in args))
            if len(made) > _MOST:
                raise _UnknownError
            return list(made)
        case ast.Name() if node.id in variables:
            return _value(variables[node.id], {name: v for name, v in variables.items() if name != node.id})
        case _:
            raise _UnknownError
