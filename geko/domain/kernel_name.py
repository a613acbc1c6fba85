"""Names of Tensile kernels and solutions, of all versions, taken apart into tokens.

A name is ``[prefix_]contraction_types_flags_epilogue_MT…[_MI…]_tokens``, for example::

    Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_CMS_SN_LDSB0_…_WG32_8_1_WGM16

Each token is the initials of a solution parameter and its value: ``WGM16``, ``NTn1`` (``n`` is a minus),
``LWPM0p30`` (``p`` is a decimal point), ``WG32_8_1`` (a list), ``GSUAMB`` (a parameter with named values).

A solution's name has tokens that its kernel's name lacks: parameters that are kernel arguments at run time,
so that many solutions share one kernel (source: pairs of both names in bench output and library logic).
"""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geko.domain.kernel_columns import Value, hot_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    import pyarrow as pa

#: Tokens without a value. SE, SN: C and D have one leading dimension or two; CMS: custom main loop schedule.
FLAGS = frozenset({"SE", "SN", "CMS"})

#: Parameters with named values, longest initials first: value texts follow the initials at once.
NAMED_VALUE_KEYS = (
    "MXLI",  # load instruction of MX scales
    "MXSF",  # MX scale format
    "GSUA",  # GlobalSplitUAlgorithm: SB, MB, MBSK
    "GSU",  # GSUM: more than one, in kernel names
    "MMF",  # memory modifier format: GLC, SLC, ...
    "TPS",  # TileProcessingStrategy: N, DP, SK
    "WA",  # WorkAssignment: SG, DWQ, H
    "KL",  # KernelLanguage: A, S
    "ET",  # EdgeType: SP, B, N
)

#: Parameters that are arguments of the kernel at run time: in solution names only.
RUN_TIME_KEYS = frozenset(
    {"GSUC", "GSUWGMRR", "SU", "SUM", "SUS", "WGM", "WGMXCC", "WGMXCCG", "SFCWGM"}
)  # fmt: skip

#: Assertions that old Tensile prints as index and value, ``ASAE01`` = {0: 1}: a leading zero counts.
_INDEX_VALUE_KEYS = frozenset({"ASAE", "ASBE", "ASCE", "ASDE"})

# At most 18 digits: any number fits 64 bits.
_TOKEN = re.compile(r"([0-9]?[A-Z](?:[A-Z0-9]*[A-Z])?)(n?)([0-9]{1,18})(?:p([0-9]{1,18}))?")
_ELEMENT = re.compile(r"[0-9]{1,18}")
_ISA = re.compile(r"ISA([0-9]+[a-f]?)")
_TILE = re.compile(r"(MT|MI)([0-9]{1,18}(?:x[0-9]{1,18})+)")
_BODY = re.compile(r"_(?=MT[0-9]+x[0-9]+)")
_BATCH = re.compile(r"(BH|B)((?:Bias[A-Z0-9]*)?)")
_JOINED_BATCH = re.compile(r"([A-Z0-9]*[A-Z0-9])(BH|B)")
_CONTRACTION = re.compile(r"(?:^|(?<=_))C[i-p]{2,}(?:_[ABEM][i-p]{2,}C?){2,}(?=_|$)")


@dataclass(frozen=True, slots=True)
class Token:
    """One parsed piece of a name.

    Attributes:
        key: initials of the parameter; old ``1LDSB`` is ``LDSB``.
        value: typed value.
        known: the piece has the form of a token; otherwise it is kept as it is, with the value True.
    """

    key: str
    value: Value
    known: bool = True


def _number(negative: str, digits: str, fraction: str | None) -> int | float:
    value: int | float = float(f"{digits}.{fraction}") if fraction is not None else int(digits)
    return -value if negative else value


@functools.lru_cache(maxsize=65536)
def parse_token(text: str) -> Token:
    """One token, a list's further elements included (``WG32_8_1``)."""
    if text in FLAGS:
        return Token(text, True)
    tile = _TILE.fullmatch(text)
    if tile:
        return Token(tile[1], tuple(int(part) for part in tile[2].split("x")))
    isa = _ISA.fullmatch(text)
    if isa:
        return Token("ISA", isa[1])
    head, *rest = text.split("_")
    match = _TOKEN.fullmatch(head)
    if match and all(map(_ELEMENT.fullmatch, rest)):
        key, negative, digits, fraction = match.groups()
        if rest:
            return Token(key, (int(_number(negative, digits, fraction)), *map(int, rest)))
        if key in _INDEX_VALUE_KEYS:
            return Token(key, digits)
        return Token("LDSB" if key == "1LDSB" else key, _number(negative, digits, fraction))
    for key in NAMED_VALUE_KEYS:
        if text.startswith(key) and text[len(key) :].isalpha() and text.isupper():
            return Token(key, text[len(key) :])
    return Token(text, True, known=False)


#: Order of an operand's indices -> transpose; l is the summation index.
_TRANS = {"Ail": "N", "Ali": "T", "Blj": "N", "Bjl": "T"}


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a name before the macro tile: the problem type.

    Attributes:
        prefix: what stands before the contraction, ``Custom`` for hand-written kernels.
        contraction: index assignment, ``Cijk_Alik_Bljk``.
        types: letters of A and B, of D, and of the accumulator in a row, ``BBS``.
        batched: the batch is an index of the contraction.
        high_precision: accumulates in a wider type (HighPrecisionAccumulate).
        user_args: kernel arguments can come from the user (grouped GEMM on the device).
        epilogue: everything else: grouping, MX, bias, activation, scaling; ``Bias_HA_S_SAV``.
    """

    prefix: str
    contraction: str
    types: str
    batched: bool
    high_precision: bool
    user_args: bool
    epilogue: str

    @property
    def custom(self) -> bool:
        """A hand-written kernel."""
        return self.prefix.endswith("Custom")

    @property
    def trans_a(self) -> str:
        """N or T by the order of A's indices; empty when there is no contraction."""
        return _TRANS.get(self._operand("A"), "")

    @property
    def trans_b(self) -> str:
        """N or T by the order of B's indices; empty when there is no contraction."""
        return _TRANS.get(self._operand("B"), "")

    def _operand(self, letter: str) -> str:
        return next((part[:3] for part in self.contraction.split("_") if part.startswith(letter)), "")

    def canonical(self) -> dict[str, Any]:
        """JSON-able mapping, empty parts left out."""
        items = {
            "Prefix": self.prefix,
            "Contraction": self.contraction,
            "Types": self.types,
            "Batched": self.batched,
            "HighPrecision": self.high_precision,
            "UserArgs": self.user_args,
            "Epilogue": self.epilogue,
        }
        return {key: value for key, value in items.items() if value}


@functools.lru_cache(maxsize=4096)
def parse_head(text: str) -> Head:
    """The part of a name before ``_MT``."""
    found = _CONTRACTION.search(text)
    if not found:
        return Head("", "", "", False, False, False, "")
    types, batch, extra = _split_types([part for part in text[found.end() :].split("_") if part])
    user_args = "UserArgs" in extra
    epilogue = "_".join(part for part in extra if part and part != "UserArgs")
    prefix = text[: found.start()].removesuffix("_")
    return Head(prefix, found[0], types, "B" in batch, "H" in batch, user_args, epilogue)


def _split_types(parts: list[str]) -> tuple[str, str, list[str]]:
    """Type letters, batch flags and the rest: ``BBS_BH_…``, ``SB_…``, ``HHS_BBiasH_…``, ``S_MX_B_…``."""
    for index, part in enumerate(parts[1:], start=1):
        match = _BATCH.fullmatch(part)
        if match:
            # Letters of A and B apart (HF8_HHS) belong to the types, an MX format to the epilogue.
            types = [piece for piece in parts[:index] if not piece.startswith("MX")]
            mx = [piece for piece in parts[:index] if piece.startswith("MX")]
            return "_".join(types), match[1], [*mx, match[2], *parts[index + 1 :]]
        if not part.startswith("MX") and index > 1:
            break
    if not parts:
        return "", "", []
    joined = _JOINED_BATCH.fullmatch(parts[0])
    if joined:
        return joined[1], joined[2], parts[1:]
    return parts[0], "", parts[1:]


@dataclass(frozen=True, slots=True)
class KernelName:
    """A name taken apart.

    Attributes:
        name: the name as given.
        head: problem type.
        tokens: ordered (key, value) pairs; a repeated key is kept twice.
        leftover: pieces that don't have the form of a token (also in ``tokens``, with the value True).
        rest: free text of a hand-written kernel's name, or the whole name where it is not Tensile's.
    """

    name: str
    head: Head
    tokens: tuple[tuple[str, Value], ...]
    leftover: tuple[str, ...] = ()
    rest: str = ""

    @property
    def family(self) -> str:
        """``tensile``, ``custom`` (hand-written, Tensile's naming) or ``other``."""
        if not self.head.contraction:
            return "other"
        return "custom" if self.head.custom else "tensile"

    @property
    def custom(self) -> bool:
        """A hand-written kernel."""
        return self.head.custom

    def get(self, key: str, default: Value | None = None) -> Value | None:
        """Value of the first token with this key."""
        for name, value in self.tokens:
            if name == key:
                return value
        return default

    def unique_tokens(self) -> dict[str, Value]:
        """Tokens by key; the second of a repeated key is ``KEY#2``."""
        result: dict[str, Value] = {}
        for key, value in self.tokens:
            result[unique_key(key, result)] = value
        return result

    def canonical_tokens(self) -> dict[str, Any]:
        """Identity of a solution known only by its name: JSON-able and sorted, whatever the tokens' order."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in self._canonical_items()
        }

    def canonical_json(self) -> str:
        """:meth:`canonical_tokens` as JSON without blanks."""
        return _json_object(self._canonical_items())

    def kernel_key(self) -> str:
        """Canonical JSON of the tokens in both names of a pair: equal for all solutions of a kernel."""
        return _json_object(item for item in self._canonical_items() if is_kernel_token(*item))

    def _canonical_items(self) -> list[tuple[str, Any]]:
        items = [*self.unique_tokens().items(), *self.head.canonical().items()]
        if self.rest:
            items.append(("Rest", self.rest))
        return sorted(items, key=operator.itemgetter(0))

    def hot(self) -> dict[str, Any]:
        """The columns of :data:`geko.domain.kernel_columns.HOT_COLUMNS`; ``None`` where the name says nothing."""
        return hot_columns(self.head, self.unique_tokens())


@functools.lru_cache(maxsize=65536, typed=True)
def json_fragment(key: str, value: object) -> str:
    """``,"KEY":value`` of a JSON object without blanks."""
    return f",{json.dumps(key)}:{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"


def _json_object(items: Iterable[tuple[str, Any]]) -> str:
    return f"{{{''.join(json_fragment(key, value) for key, value in items)[1:]}}}"


def unique_key(key: str, taken: Mapping[str, object]) -> str:
    """The key, or ``KEY#n`` when it is taken."""
    if key not in taken:
        return key
    count = 2
    while f"{key}#{count}" in taken:
        count += 1
    return f"{key}#{count}"


def is_kernel_token(key: str, value: object) -> bool:
    """Whether a token of a solution's name is in its kernel's name, too.

    GlobalSplitU is an argument unless it is 0 (Stream-K); kernel names write it as nothing or as ``GSUM``.
    """
    return value == 0 if key == "GSU" else key not in RUN_TIME_KEYS


def split_name(name: str) -> tuple[str, list[str]]:
    """Head and raw token texts of a name; the elements of a list token are joined by ``_``."""
    text = name.strip().removesuffix(".kd")
    head, *body = _BODY.split(text, maxsplit=1)
    texts: list[str] = []
    for piece in body[0].split("_") if body else []:
        if is_element(piece) and texts and takes_elements(texts[-1]):
            texts[-1] += f"_{piece}"
        elif piece:
            texts.append(piece)
    return head, texts


def is_element(text: str) -> bool:
    """Whether a piece is a number alone: an element of the list before it, if there is one."""
    return _ELEMENT.fullmatch(text) is not None


def is_tile(text: str) -> bool:
    """Whether a piece lists its elements with x: ``MT256x128x64``, ``MI16x16x1``."""
    return _TILE.fullmatch(text) is not None


def takes_elements(text: str) -> bool:
    """Whether digits after this piece are further elements of its list."""
    # MT and MI list their elements with x; a piece that is no token can't be a list (Freesize_10).
    return parse_token(text).known and text not in FLAGS and not is_tile(text)


def parse_name(name: str) -> KernelName:
    """Take a kernel's or a solution's name apart.

    Args:
        name: any name; one that isn't Tensile's gives ``family == "other"`` with the name as ``rest``.

    Returns:
        The parsed name. Never raises: pieces that are no tokens are listed in ``leftover``, those of a
        hand-written kernel in ``rest``.
    """
    head_text, texts = split_name(name)
    head = parse_head(head_text)
    if not head.contraction:
        return KernelName(name, head, (), (), name.strip())
    return _assemble(name, head, texts)


def _assemble(name: str, head: Head, texts: list[str]) -> KernelName:
    tokens: list[tuple[str, Value]] = []
    strange: list[str] = []
    for text in texts:
        token = parse_token(text)
        if token.known:
            tokens.append((token.key, token.value))
        elif head.custom:
            strange.append(text)
        elif text == "UserArgs":
            tokens.append((text, True))
        else:
            tokens.append((text, True))
            strange.append(text)
    if head.custom:
        return KernelName(name, head, tuple(tokens), (), "_".join(strange))
    return KernelName(name, head, tuple(tokens), tuple(strange))


def parse_names(names: Iterable[str | None] | pl.Series | pa.ChunkedArray | pa.Array) -> pl.DataFrame:
    """Parse many names at once.

    Args:
        names: list, polars series, or Arrow array of names; repeats and nulls are allowed.

    Returns:
        One row a distinct name in order of first appearance: ``name``, ``family``, :data:`HOT_COLUMNS`,
        ``canonical`` and ``kernel_key`` (JSON text as of :class:`KernelName`), ``leftover`` (list of text).
    """
    from geko.domain.kernel_name_bulk import parse_distinct

    return parse_distinct(names)
