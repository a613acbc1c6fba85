"""Which matrix instructions may be used: the allow-lists of each chip family, as data files.

A family's file is ``fork_params/hw_profiles/<folder>/instructions.toml``: tables ``[<family>.original]`` and
``[<family>.default]`` map a Tensile data type to instructions such as ``16x16x32x1`` (M x N x K x blocks).
The second holds only what differs from the first. A new family is one more file.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from geko.config_generator.constants import EXTRA_VALID_INSTRUCTIONS, VALID_INSTRUCTIONS, RuleSet
from geko.domain.dtypes import TENSILE_TO_TOKEN
from geko.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Instruction:
    """One MFMA or WMMA shape: ``m`` x ``n`` x ``k`` with ``blocks`` independent products along N."""

    m: int
    n: int
    k: int
    blocks: int

    @classmethod
    def parse(cls, text: str | Sequence[int]) -> Instruction:
        """Read ``"16x16x32x1"`` or ``[16, 16, 32, 1]``.

        Raises:
            InputError: it isn't four positive integers.
        """
        parts = text.split("x") if isinstance(text, str) else list(text)
        try:
            numbers = [int(part) for part in parts]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) != 4 or min(numbers) < 1:
            raise InputError("a matrix instruction is four positive integers M, N, K, blocks", value=text)
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}x{self.blocks}"


@functools.cache
def _tables() -> dict[str, dict[str, dict[str, list[str]]]]:
    tables: dict[str, dict[str, dict[str, list[str]]]] = {}
    root = resources.files("geko.config_generator.fork_params.hw_profiles")
    for folder in sorted(root.iterdir(), key=lambda entry: entry.name):
        source = folder / "instructions.toml"
        if source.is_file():
            tables.update(tomllib.loads(source.read_text(encoding="utf-8")))
    return tables


@functools.cache
def allowed(family: str, data_type: str, rules: RuleSet = "default") -> tuple[Instruction, ...]:
    """Instructions of a family for a Tensile data type, in the order of the table.

    Raises:
        InputError: no instruction is known for that type on that family; the message lists the types that
        have some.
    """
    tables = _tables()
    if family not in tables:
        raise InputError(
            f"no instruction table for this chip family; known are {', '.join(tables)}", value=family
        )
    table = dict(tables[family]["original"])
    if rules == "default":
        table.update(tables[family].get("default", {}))
    if data_type not in table:
        raise InputError(
            f"no matrix instruction for this data type on {family}; it can tune {', '.join(filter(_has_letters, table))}",
            value=data_type,
        )
    return tuple(Instruction.parse(text) for text in table[data_type])


@functools.cache
def enumeration_order(
    family: str, data_type: str, mfma: tuple[int, ...] | None = None, rules: RuleSet = "default"
) -> tuple[Instruction, ...]:
    """Instructions in the order in which candidates are enumerated.

    Args:
        family: key of the instruction table, such as ``"gfx950"``.
        data_type: Tensile data type.
        mfma: one instruction that replaces the family's list; it must still exist for the data type.
        rules: ``"original"`` repeats instructions that its int8 list holds twice.
    """
    valid = VALID_INSTRUCTIONS[data_type]
    if rules == "default":
        valid = tuple(dict.fromkeys(valid + EXTRA_VALID_INSTRUCTIONS.get(data_type, ())))
    if mfma is not None:
        wanted = {Instruction.parse(mfma)}
        if rules == "default" and not wanted & {Instruction.parse(text) for text in valid}:
            raise InputError(
                f"MFMA: {data_type} has no such instruction; it has {', '.join(valid)}", value=list(mfma)
            )
    else:
        wanted = set(allowed(family, data_type, rules))
    return tuple(one for one in map(Instruction.parse, reversed(valid)) if one in wanted)


def smallest(
    family: str, data_type: str, mfma: tuple[int, ...] | None = None, rules: RuleSet = "default"
) -> tuple[int, int]:
    """Smallest steps of a macro tile along M and N.

    The original takes the smallest M and N of the instruction list. By default the blocks of an instruction
    along N
    count: 4x4x4x16 advances by 64, so that the smallest step along N is that of 16x16x16, not 4.
    """
    if rules == "original":
        listed = (Instruction.parse(mfma),) if mfma else allowed(family, data_type, rules)
        return min(one.m for one in listed), min(one.n for one in listed)
    listed = enumeration_order(family, data_type, mfma, rules)
    return min(one.m for one in listed), min(one.n * one.blocks for one in listed)


def _has_letters(data_type: str) -> bool:
    """Whether a GEMM of a type in the tables can be written down: I8 and X1 have no letters in a config."""
    return any(
        {data_type[:cut], data_type[cut:]} - {""} <= TENSILE_TO_TOKEN.keys() for cut in range(len(data_type))
    )
