"""Tuning configs as the Tensile stand-in reads them: sections, fork axes, sizes.

The macro-tile axis of a config can hold tens of thousands of one-line entries, of which a simulated job looks
at a few hundred: they are kept as text and taken apart when they are asked for.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.errors import InputError

# One-line flow mappings of a list, with nothing but a remark behind them.
_ENTRY = re.compile(r"^( *(?:- )*- )(\{.*\})[ ]*(?:#.*)?$")
_MARK = "\x1fentries "
_WORD = re.compile(r"([{,]\s*)([A-Za-z0-9_]+)\s*:")
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_CONSTANT = re.compile(r"(?<=[\s\[,:])(?:True|False|None)(?=\s*[,\]}])")


class Entries(Sequence[Mapping[str, Any]]):
    """Options of a group, each taken apart when it is asked for.

    Args:
        texts: flow mappings as they stand in the file.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._known: dict[int, Mapping[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        found = self._known.get(at)
        if found is None:
            found = self._known[at] = _entry(self._texts[at])
        return found


def _entry(text: str) -> Mapping[str, Any]:
    plain = _CONSTANT.sub(lambda match: _CONSTANTS[match[0]], _WORD.sub(r'\1"\2":', text))
    try:
        content = json.loads(plain)
    except ValueError:
        content = _load(text)
    if not isinstance(content, Mapping):
        raise InputError("an entry of a group must be a mapping of parameters", value=text)
    return content


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of the fork.

    Attributes:
        name: the parameter, or ``group_<n>``.
        options: what each choice sets.
    """

    name: str
    options: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of ``BenchmarkProblems``.

    Attributes:
        problem_type: as written.
        fixed: parameters with one value: initial and common ones.
        axes: dimensions of the fork, groups last.
        sizes: [M, N, batch, K], in order.
        bias_types: of ``BiasTypeArgs``; the client runs every size once with each.
    """

    problem_type: Mapping[str, Any]
    fixed: Mapping[str, Any]
    axes: tuple[Axis, ...]
    sizes: tuple[tuple[int, int, int, int], ...]
    bias_types: tuple[str, ...] = ()

    @property
    def n_kernels(self) -> int:
        """Kernels of the full product."""
        return math.prod(len(axis.options) for axis in self.axes)

    def parameters(self, genes: Sequence[int]) -> dict[str, Any]:
        """Parameters of one choice per axis; later axes win."""
        chosen = dict(self.fixed)
        for axis, gene in zip(self.axes, genes, strict=True):
            chosen.update(axis.options[gene])
        return chosen

    def genes(self, index: int) -> tuple[int, ...]:
        """Choices of the ``index``-th kernel of the product; the last axis counts fastest."""
        out = []
        for axis in reversed(self.axes):
            index, gene = divmod(index, len(axis.options))
            out.append(gene)
        return tuple(reversed(out))


@dataclass(frozen=True, slots=True)
class TuningConfig:
    """A tuning config.

    Attributes:
        path: its file.
        settings: ``GlobalParameters``.
        problems: ``BenchmarkProblems``.
        logic: ``LibraryLogic``; None where the section is missing.
        backend: ``"ductile"`` or ``"tensile"``; ``options`` is its ``Config``.
    """

    path: Path
    settings: Mapping[str, Any]
    problems: tuple[Problem, ...]
    logic: Mapping[str, Any] | None
    backend: str = "tensile"
    options: Mapping[str, Any] = field(default_factory=dict)


def read_config(path: Path, yaml_path: str | None = None) -> TuningConfig:
    """Read a tuning config.

    Args:
        path: the file.
        yaml_path: folder of PyYAML, for programs started without site packages.

    Raises:
        InputError: it is no YAML, or a section that tensilelite needs is missing or malformed.
    """
    if yaml_path is not None and yaml_path not in sys.path:
        sys.path.append(yaml_path)
    try:
        text, runs = _folded(path.read_text(encoding="utf-8"))
        content = _load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't be read: {error}", path=path) from None
    except InputError as error:
        raise InputError(str(error), path=path) from None
    if not isinstance(content, Mapping) or not isinstance(content.get("BenchmarkProblems"), list):
        raise InputError("a tuning config needs the section BenchmarkProblems", path=path)
    problems = []
    for entry in content["BenchmarkProblems"]:
        if not isinstance(entry, list) or len(entry) < 2:
            raise InputError("an entry of BenchmarkProblems is [ProblemType, group of sizes]", path=path)
        problems += [_problem(entry[0], group or {}, runs, path) for group in entry[1:]]
    backend = content.get("Backend") or {}
    name = str(backend.get("Name") or backend.get("name") or "tensile").lower()
    return TuningConfig(
        path=path,
        settings=content.get("GlobalParameters") or {},
        problems=tuple(problems),
        logic=(content["LibraryLogic"] or {}) if "LibraryLogic" in content else None,
        backend=name,
        options=backend.get("Config") or {},
    )


def _folded(text: str) -> tuple[str, list[list[str]]]:
    """The text with each run of one-line entries replaced by a mark, and the runs."""
    runs: list[list[str]] = []
    lines: list[str] = []
    column = -1
    for line in text.splitlines():
        match = _ENTRY.match(line)
        if match is None:
            column = -1
            lines.append(line)
        elif len(match[1]) == column and match[1].strip() == "-":
            runs[-1].append(match[2])
        else:
            lines.append(f"{match[1]}{json.dumps(_MARK + str(len(runs)))}")
            runs.append([match[2]])
            column = len(match[1])
    return "\n".join(lines) + "\n", runs


def _load(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}") from None


def _unfolded(value: Any, runs: Sequence[Sequence[str]]) -> Any:
    """Marks replaced by what they stand for."""
    if isinstance(value, list):
        out: list[Any] = []
        for item in value:
            run = _run(item)
            if run is None:
                out.append(_unfolded(item, runs))
            else:
                out += Entries(runs[run])[:]
        return out
    if isinstance(value, Mapping):
        return {key: _unfolded(item, runs) for key, item in value.items()}
    return value


def _run(item: Any) -> int | None:
    return int(item[len(_MARK) :]) if isinstance(item, str) and item.startswith(_MARK) else None


def _problem(kind: Any, group: Mapping[str, Any], runs: Sequence[Sequence[str]], path: Path) -> Problem:
    fixed: dict[str, Any] = {}
    axes: list[Axis] = []
    for section in ("InitialSolutionParameters", "BenchmarkCommonParameters", "ForkParameters"):
        content = group.get(section) or []
        for item in _unfolded(content, runs) if section != "ForkParameters" else content:
            if _run(item) is not None:
                (item,) = Entries(runs[_run(item) or 0])
            if not isinstance(item, Mapping):
                raise InputError(f"{section} is a list of NAME: [values]", path=path, value=item)
            for name, values in item.items():
                if name == "Groups":
                    axes += _groups(values, runs, path)
                elif not isinstance(values, list) or not values:
                    raise InputError(f"{name} needs a list of values", path=path, value=values)
                elif len(values) == 1 and section != "ForkParameters":
                    fixed[name] = values[0]
                else:
                    axes.append(Axis(name, [{name: value} for value in _unfolded(values, runs)]))
    final = _unfolded(group.get("BenchmarkFinalParameters") or [], runs)
    sizes: list[tuple[int, int, int, int]] = []
    bias: list[str] = []
    for item in final:
        for entry in item.get("ProblemSizes") or []:
            exact = entry.get("Exact")
            if not isinstance(exact, list) or len(exact) < 4:
                raise InputError(
                    "the stand-in takes sizes as Exact: [M, N, batch, K]", path=path, value=entry
                )
            m, n, batch, k = (int(number) for number in exact[:4])
            sizes.append((m, n, batch, k))
        bias += [str(letter) for letter in item.get("BiasTypeArgs") or []]
    if not sizes:
        raise InputError("BenchmarkFinalParameters holds no ProblemSizes", path=path)
    singles = [axis for axis in axes if axis.name]
    groups = [axis.options for axis in axes if not axis.name]
    named = [Axis(f"group_{at}", options) for at, options in enumerate(groups)]
    return Problem(dict(kind or {}), fixed, (*singles, *named), tuple(sizes), tuple(bias))


def _groups(values: Any, runs: Sequence[Sequence[str]], path: Path) -> list[Axis]:
    out = []
    for options in values or []:
        if not isinstance(options, list) or not options:
            raise InputError("a group is a list of mappings of parameters", path=path, value=options)
        single = _run(options[0]) if len(options) == 1 else None
        found: Sequence[Any] = Entries(runs[single]) if single is not None else _unfolded(options, runs)
        out.append(Axis("", found))
    return out
