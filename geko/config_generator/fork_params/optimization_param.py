"""Fork parameters, group entries and what a profile is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from geko.config_generator.constants import COMPLEX_TYPES, DATA_BYTES, RuleSet
from geko.config_generator.sizes import Size

#: One entry of a group dimension: parameter name to a value (a number, text, or a list).
Entry = dict[str, Any]


@dataclass(slots=True)
class ForkParam:
    """One axis: every listed value is tried. An inactive one is written as a comment and not counted."""

    name: str
    values: list[Any]
    active: bool = True


@dataclass(slots=True)
class ForkSpace:
    """Flat axes and group dimensions of a config, apart from the dimension of matrix instructions."""

    params: list[ForkParam] = field(default_factory=list)
    groups: list[list[Entry]] = field(default_factory=list)

    def find(self, name: str) -> ForkParam | None:
        """The axis of that name, active or not."""
        return next((param for param in self.params if param.name == name), None)

    def values(self, name: str) -> list[Any]:
        """Values of an axis, empty where there is none or it is inactive."""
        param = self.find(name)
        return param.values if param is not None and param.active else []

    def set(self, name: str, values: Iterable[Any]) -> None:
        """Replace the values of an axis and activate it; a missing one is appended."""
        param = self.find(name)
        if param is None:
            self.params.append(ForkParam(name, list(values)))
        else:
            param.values, param.active = list(values), True

    def remove(self, name: str) -> None:
        """Drop an axis, if it is there."""
        self.params = [param for param in self.params if param.name != name]

    def flat_count(self) -> int:
        """Product of the lengths of the active axes."""
        return math.prod(len(param.values) for param in self.params if param.active)

    def count(self, mi_entries: int) -> int:
        """Kernels: flat axes times the non-empty group dimensions; no MI entry counts as an absent
        dimension."""
        return (
            self.flat_count() * math.prod(len(group) for group in self.groups if group) * max(mi_entries, 1)
        )

    def copy(self) -> ForkSpace:
        """A copy whose lists can be changed."""
        return ForkSpace(
            [ForkParam(param.name, list(param.values), param.active) for param in self.params],
            [[dict(entry) for entry in group] for group in self.groups],
        )


@dataclass(frozen=True, slots=True)
class ProfileInput:
    """What a profile knows of a GEMM and its chip.

    Attributes:
        size: ``(M, N, B, K)``.
        data_type, dest_type, compute_type: Tensile letters.
        trans_a, trans_b: ``"N"``, ``"T"`` or ``"C"``.
        arch: name such as ``"gfx942_80cu"``; ``family`` its instruction family.
        cus, xcc: compute units and accelerator complexes.
        wgm_unit: step of the workgroup mapping; the XCCs unless told otherwise.
        arch_xcc: XCCs of the architecture's table entry, whatever ``xcc`` was set to; likewise ``arch_cus``.
        stream_k: persistent Stream-K kernels.
        cms: custom main loop schedules.
        equality: the library is an Equality one (gfx1250).
        size_option: where the sizes come from.
        mx: block-scaled operands.
        rules: see ``docs/tuning-configs.md``.
    """

    size: Size
    data_type: str
    dest_type: str
    compute_type: str
    trans_a: str
    trans_b: str
    arch: str
    family: str
    cus: int
    xcc: int
    wgm_unit: int
    arch_cus: int
    arch_xcc: int
    stream_k: bool
    cms: bool = False
    equality: bool = False
    size_option: int = 0
    mx: bool = False
    lds_bytes: int = 65536
    rules: RuleSet = "default"

    @property
    def m(self) -> int:
        """Rows of D."""
        return self.size[0]

    @property
    def n(self) -> int:
        """Columns of D."""
        return self.size[1]

    @property
    def k(self) -> int:
        """Length of the sums."""
        return self.size[3]

    @property
    def area(self) -> int:
        """M times N."""
        return self.size[0] * self.size[1]

    @property
    def bytes(self) -> int:
        """Bytes of an element of A and B, as the original counts them."""
        return DATA_BYTES[self.data_type]

    @property
    def layout(self) -> str:
        """Transposes as two letters; the conjugate transpose counts as T."""
        return ("N" if self.trans_a == "N" else "T") + ("N" if self.trans_b == "N" else "T")

    @property
    def is_tn(self) -> bool:
        """A transposed, B not: both operands contiguous along K."""
        return self.layout == "TN"

    def contiguous_free(self, operand: str) -> bool:
        """Whether an operand is contiguous along its free dimension (A not transposed, B transposed)."""
        return self.trans_a == "N" if operand == "A" else self.trans_b != "N"

    @property
    def is_complex(self) -> bool:
        """Complex elements."""
        return self.data_type in COMPLEX_TYPES

    @property
    def is_original(self) -> bool:
        """Whether the original's rules were asked for, with all their quirks."""
        return self.rules == "original"


#: A profile fills a :class:`ForkSpace` for one GEMM.
Profile = Callable[[ProfileInput], ForkSpace]
