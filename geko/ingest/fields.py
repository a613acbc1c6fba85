"""Fields of workload rows: their names, types and how a text becomes a value, column by column.

The names are those of hipBLASLt's profile log (``HIPBLASLT_LOG_MASK=64``); every other source is read into
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.identity import normalise

SIZES = ("M", "N", "K", "batch_count")
_LEADING = ("lda", "ldb", "ldc", "ldd", "lde")
_STRIDES = ("stride_a", "stride_b", "stride_c", "stride_d", "stride_e")
SCALES = ("scaleA", "scaleB", "scaleC", "scaleD")
INTEGERS = frozenset(
    (*SIZES, *_LEADING, *_STRIDES, *SCALES, "rotating", "cold_iters", "iters", "solution_index", "call_count")
)
NUMBERS = frozenset(("alpha", "beta", "alphai", "betai"))
FLAGS = frozenset(
    [
        "swizzleA",
        "swizzleB",
        "scaleAlpha_vector",
        "gradient",
        "use_e",
        "bias_vector",
        "flush",
        "any_stride",
        "print_kernel_info",
        "use_gpu_timer",
        "amaxD",
        "scaleE",
        "HMM",
        "c_noalias_d",
    ]
)

#: Other spellings of the same field: bench columns and arguments, rocBLAS.
ALIASES = {
    "m": "M", "n": "N", "k": "K", "sizem": "M", "sizen": "N", "sizek": "K", "batch": "batch_count",
    "swizzle_a": "swizzleA", "swizzle_b": "swizzleB", "transposeA": "transA", "transposeB": "transB",
    "solution_name": "solution_Name", "activation": "activation_type",
}  # fmt: skip

_TRUE = frozenset(("true", "1", "yes", "on"))
_FALSE = frozenset(("false", "0", "no", "off"))
_NOTHING = frozenset(("", "~", "null"))


def text_scalar(text: str | None) -> pa.Scalar:
    """A text of the type that all texts have here."""
    return pa.scalar(text, pa.large_string())


@dataclass(frozen=True, slots=True)
class Column:
    """One field of many rows.

    Attributes:
        value: typed; null where absent or wrong.
        item: ``"name":value`` as in canonical JSON; null where absent; a scalar if all rows have the same.
        reason: why the value can't be used, null where it can; None if all can.
    """

    value: pa.Array
    item: pa.Array | pa.Scalar
    reason: pa.Array | None


def read_field(name: str, texts: pa.DictionaryArray) -> Column:
    """Texts of one field as values; each distinct text is looked at once.

    Args:
        name: the field's canonical name.
        texts: as logged, without quotes; null where the row lacks the field.
    """
    distinct, codes = texts.dictionary, texts.indices
    key = json.dumps(name) + ":"
    if name in INTEGERS and len(distinct) > 64:
        pattern = r"^[1-9][0-9]{0,17}$" if name in SIZES else r"^(0|[1-9][0-9]{0,17})$"
        if pc.all(pc.match_substring_regex(distinct, pattern)).as_py():
            item = pc.binary_join_element_wise(text_scalar(key), distinct, text_scalar(""))
            return Column(distinct.cast(pa.int64()).take(codes), item.take(codes), None)
    read, dtype = _reader(name)
    values: list[Any] = []
    items: list[str | None] = []
    reasons: list[str | None] = []
    for text in distinct.to_pylist():
        value = reason = None
        if text is not None and text.lower() not in _NOTHING:
            try:
                value = read(text)
            except ValueError as error:
                reason = f"{name} {error}, not {text[:80]!r}"
        values.append(value)
        items.append(None if value is None else key + json.dumps(_json_value(value), ensure_ascii=False))
        reasons.append(reason)
    found = any(reason is not None for reason in reasons)
    if len(distinct) == 1 and not codes.null_count and not found:
        return Column(pa.repeat(pa.scalar(values[0], dtype), len(codes)), text_scalar(items[0]), None)
    return Column(
        pa.array(values, dtype).take(codes),
        pa.array(items, pa.large_string()).take(codes),
        pa.array(reasons, pa.large_string()).take(codes) if found else None,
    )


def _reader(name: str) -> tuple[Callable[[str], Any], pa.DataType]:
    if name in SIZES:
        return _positive, pa.int64()
    if name in SCALES:
        return _code, pa.int64()
    if name in INTEGERS:
        return _integer, pa.int64()
    if name in NUMBERS:
        return _number, pa.float64()
    if name in FLAGS:
        return _flag, pa.bool_()
    if name in ("transA", "transB"):
        return _transpose, pa.large_string()
    return str, pa.large_string()


def _integer(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        number = _number(text)
        if number != int(number):
            raise ValueError("must be an integer") from None
        value = int(number)
    if abs(value) >= 1 << 63:
        raise ValueError("must be an integer of 64 bits")
    return value


def _positive(text: str) -> int:
    try:
        value = _integer(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ValueError("must be a positive integer")
    return value


def _code(text: str) -> int:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return int(lowered == "true")
    value = _integer(text)
    if not 0 <= value < 1 << 31:
        raise ValueError("must be a scaling-format code")
    return value


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("must be a number") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("must be a finite number")
    return value


def _flag(text: str) -> bool:
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("must be true or false")


def _transpose(text: str) -> str:
    upper = text.upper()
    if upper not in ("N", "T", "C"):
        raise ValueError("must be N, T or C")
    return upper


def _json_value(value: Any) -> Any:
    """A value in the canonical JSON of a call: numbers without spelling, booleans and texts as they are."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return normalise(value)
