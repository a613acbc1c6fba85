"""GEMMs in the words of ``--inline`` and of list files: ``M N batch K DataType DestDataType ComputeDataType
transA transB [MX]``, types as Tensile letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from geko.domain.arch import mx_scale_code
from geko.domain.dtypes import TENSILE_TO_TOKEN
from geko.domain.gemm import GemmConfig, GemmType
from geko.errors import InputError, UsageError

_FORM = "M N batch K DataType DestDataType ComputeDataType transA transB [MX]"
_SIZES = ("M", "N", "batch", "K")
_MX = re.compile(r"MX(?:(E8|F8|E5M3)B(16|32))?\Z")


def inline_rows(words: Sequence[object], arch: str | None = None) -> list[dict[str, Any]]:
    """Workload rows of one GEMM.

    The transposes may also stand before the sizes or before the types, where that can't be read in two ways.

    Args:
        words: nine words, or ten with ``MX`` (block scaling of the architecture) or a format such as
            ``MXE8B32``.
        arch: architecture whose scaling code is taken; needed with ``MX``.

    Returns:
        One row in the terms of hipBLASLt's logs (:data:`geko.domain.gemm.GEMM_LOG_FIELDS`).

    Raises:
        UsageError: the words are not in this form; the message says which one is wrong.
        InputError: types that don't go together.
    """
    texts = [_word(word) for word in words]
    if len(texts) not in (9, 10):
        raise UsageError(f"--inline takes {_FORM}: nine words or ten, not {len(texts)}")
    sizes, types, transposes = _sorted_out(texts[:9])
    mx: dict[str, Any] = {}
    if len(texts) == 10:
        match = _MX.match(texts[9].upper())
        if match is None:
            raise UsageError(
                f"--inline: the tenth word must be MX or a format such as MXE8B32, not {texts[9]!r}"
            )
        if arch is None and match.group(1) is None:
            raise UsageError("--inline: MX needs --arch, as the scaling format differs between architectures")
        mx["mx"] = True
        if match.group(1):
            mx |= {"mx_scale_type": match.group(1), "mx_block": int(match.group(2))}
    gemm = GemmType(
        transposes[0],
        transposes[1],
        data_type=types[0],
        dest_data_type=types[1],
        compute_data_type=types[2],
    )
    return config_rows(GemmConfig(gemm, [sizes], **mx), arch)


def config_rows(config: GemmConfig, arch: str | None) -> list[dict[str, Any]]:
    """Workload rows of a configuration, block scaling in the code of an architecture."""
    fmt = config.mx_format
    return config.workload_log_rows(None if fmt is None else mx_scale_code(*fmt, arch))


def _word(word: object) -> str:
    # YAML reads a bare `Y`/`N`-like word as text, but True and False may be written for T and N.
    return {True: "T", False: "N"}[word] if isinstance(word, bool) else str(word).strip()


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def _fits(texts: Sequence[str], order: Sequence[int]) -> bool:
    """Whether sizes, types and transposes can be read when the words are put into this order."""
    words = [texts[index] for index in order]
    return (
        all(_is_size(word) for word in words[:4])
        and all(word.upper() in ("N", "T", "C") for word in words[7:])
        and all(word in TENSILE_TO_TOKEN for word in words[5:7])
        and words[4].isalnum()
        and not words[4].isdigit()
    )


_ORDERS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8),
    (2, 3, 4, 5, 6, 7, 8, 0, 1),
    (0, 1, 2, 3, 6, 7, 8, 4, 5),
)


def _sorted_out(texts: Sequence[str]) -> tuple[list[int], list[str], list[str]]:
    readings = [order for order in _ORDERS if _fits(texts, order)]
    if not readings:
        _explain(texts)
    # The documented order counts where it fits; the others may not contradict each other.
    order = readings[0]
    words = [texts[index] for index in order]
    return [int(word) for word in words[:4]], list(words[4:7]), [word.upper() for word in words[7:]]


def _explain(texts: Sequence[str]) -> None:
    """Say which word is wrong, by the documented order."""
    for name, word in zip(_SIZES, texts, strict=False):
        if not word.lstrip("+-").isdigit():
            raise UsageError(f"--inline: M, N, batch, and K must be integers; {name} is {word!r} ({_FORM})")
        if not _is_size(word):
            raise UsageError(f"--inline: M, N, batch, and K must be positive; {name} is {word}")
    for name, word in zip(("transA", "transB"), texts[7:], strict=False):
        if word.upper() not in ("N", "T", "C"):
            raise UsageError(
                f"--inline: transA and transB must each be N, T, or C; {name} is {word!r} ({_FORM})"
            )
    known = ", ".join(TENSILE_TO_TOKEN)
    for name, word in zip(("DestDataType", "ComputeDataType"), texts[5:7], strict=True):
        if word not in TENSILE_TO_TOKEN:
            raise UsageError(f"--inline: {name} must be one of {known}, not {word!r}")
    raise InputError(f"--inline: DataType must be one or two of {known}", value=texts[4])
