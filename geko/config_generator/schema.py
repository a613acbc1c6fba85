"""The keys of a generator YAML: types, ranges, and which of them are old spellings or have no effect."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geko.config_generator.constants import BACKENDS, SEARCH_SPACES, VALIDATION_ELEMENTS
from geko.domain.arch import canonical_arch, supported_archs
from geko.domain.dtypes import TENSILE_TO_TOKEN
from geko.errors import InputError, UsageError
from geko.log import logger

Check = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: ``check`` returns the normalised value or raises ValueError; ``expect`` says what is legal, ``names``
    which words there are, where it is one of a list."""

    check: Check
    expect: str
    names: Callable[[], Sequence[str]] | None = None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in (0, 1) and isinstance(value, int):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in ("true", "false", "1", "0"):
        return value.strip().lower() in ("true", "1")
    raise ValueError


def _integer(low: int | None = None, high: int | None = None) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, str) and value.strip().lstrip("-").isdigit():
            value = int(value)  # a quoted number
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError
        return value

    return check


def _one_of(choices: Sequence[str], *, lower: bool = True) -> Check:
    def check(value: Any) -> str:
        text = _text(value)
        for choice in choices:
            if text == choice or (lower and text.lower() == choice.lower()):
                return choice
        raise ValueError

    return check


def _optional(inner: Check) -> Check:
    def check(value: Any) -> Any:
        return None if value is None or value == "None" else inner(value)

    return check


def _numbers(count: int, high: int | None = None) -> Check:
    def check(value: Any) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise ValueError
        return tuple(_integer(1, high)(item) for item in value)

    return check


def _transpose(value: Any) -> str:
    if isinstance(value, bool):
        return "T" if value else "N"
    text = _text(value).upper()
    if text not in ("N", "T", "C"):
        raise ValueError
    return text


def _arch(value: Any) -> str:
    text = _text(value)
    if text not in supported_archs():
        canonical_arch(text)  # a retired name; raises a ValueError where it is none
    return text


def _letter(value: Any) -> str:
    text = _text(value)
    if text not in TENSILE_TO_TOKEN:
        raise ValueError
    return text


def _letters(value: Any) -> str:
    text = _text(value)
    if text in TENSILE_TO_TOKEN:
        return text
    if any(text[:cut] in TENSILE_TO_TOKEN and text[cut:] in TENSILE_TO_TOKEN for cut in range(1, len(text))):
        return text
    raise ValueError


def _type_letters() -> Sequence[str]:
    return tuple(TENSILE_TO_TOKEN)


class _BadPartError(ValueError):
    """One entry of a long list is wrong: ``part`` is what is shown in place of the list."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


#: Kernels take sizes as 32-bit numbers.
_MAX_SIZE = 2**32 - 1


def _sizes(value: Any) -> list[tuple[int, int, int, int]]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError
    four = _numbers(4, _MAX_SIZE)
    out = []
    for number, size in enumerate(value, 1):
        try:
            out.append(four(size))
        except (ValueError, TypeError):
            raise _BadPartError(f"{size!r} as entry {number}") from None
    return out


def _mx_block(value: Any) -> int:
    number = int(_integer(0, 32)(value))
    if number not in (0, 16, 32):
        raise ValueError
    return number


KEYS: dict[str, Key] = {
    "TRANSA": Key(_transpose, "N, T, C (complex types only), or a boolean"),
    "TRANSB": Key(_transpose, "N, T, C (complex types only), or a boolean"),
    "DataType": Key(_letters, "Tensile letter(s) of A and B, such as B, H, S, F8, F8B8", _type_letters),
    "DestDataType": Key(_letter, "Tensile letter of C and D", _type_letters),
    "ComputeDataType": Key(_letter, "Tensile letter of the accumulator", _type_letters),
    "ARCH": Key(_arch, "the name of an architecture, such as gfx950", supported_archs),
    "Sizes": Key(_sizes, "a list of [M, N, batch, K] of positive integers below 2^32"),
    "SIZE_OPTION": Key(_integer(0, 2), "0 (list), 1 (grid) or 2 (workload log)"),
    "GRID_DENSITY": Key(_integer(1, 5), "1 (finest) to 5 (coarsest)"),
    "GEMM_LOG_PATH": Key(_optional(_text), "the path of a hipBLASLt workload log"),
    "backend": Key(_one_of(BACKENDS), "ductile or tensile"),
    "search_space": Key(_optional(_one_of(SEARCH_SPACES)), "heuristic, generic, subtile or null"),
    "StreamK": Key(_flag, "true or false"),
    "LIBRARY_TYPE": Key(_one_of(("OOB", "Equality")), "OOB or Equality"),
    "MX": Key(_flag, "true or false"),
    "MX_BLOCK": Key(_optional(_mx_block), "16, 32, 0 (never scaled) or null"),
    "MX_SCALE_TYPE": Key(_optional(_one_of(("E8", "F8", "E5M3"))), "E8, F8, E5M3 or null"),
    "MACROTILE_OPT": Key(_flag, "true or false"),
    "MT_DU": Key(_optional(_numbers(3)), "[MT0, MT1, DepthU] or null"),
    "ONE_SIZE_PER_CONFIG": Key(_flag, "true or false"),
    "CMS": Key(_flag, "true or false"),
    "CMS_PRIORITY": Key(_flag, "true or false"),
    "MI_FILTER": Key(_integer(0, 2), "0 (none), 1 (moderate) or 2 (aggressive)"),
    "EPILOGUES": Key(_flag, "true or false"),
    "CLUSTER": Key(_integer(0, 1), "0 (all sizes in one file) or 1 (by best macro tile)"),
    "DUCTILE_VALIDATION_PROFILE": Key(
        _integer(0, max(VALIDATION_ELEMENTS)), "0 (none), 1 (128 elements) or 2 (all)"
    ),
    "MAX_NUM_KERNELS_PER_CONFIG": Key(_integer(1), "a positive integer"),
    "IGNORE_NON_TEMPORAL": Key(_flag, "true or false"),
    "MFMA": Key(_optional(_numbers(4)), "[M, N, K, blocks] of one matrix instruction"),
    "CUs": Key(_integer(1), "a positive integer"),
    "XCC": Key(_integer(1), "a positive integer"),
    "WGMUnit": Key(_integer(1), "a positive integer"),
    "BUILD_DIR": Key(_optional(_text), "a folder"),
    "GemmProblems": Key(lambda value: value, "a list of mappings, one a GEMM problem"),
    # first spelling
    "GA": Key(_flag, "true or false"),
    "GA_VALIDATION_PROFILE": Key(_integer(0, max(VALIDATION_ELEMENTS)), "0, 1 or 2"),
}

#: Keys that say which types are meant.
TYPE_KEYS = ("TRANSA", "TRANSB", "DataType", "DestDataType", "ComputeDataType")

#: Keys that say which GEMMs are meant, and of which sizes.
PROBLEM_KEYS = frozenset({*TYPE_KEYS, "Sizes", "SIZE_OPTION", "GRID_DENSITY", "GEMM_LOG_PATH"})

#: Keys that were documented once and that nothing ever read.
DEAD_KEYS = frozenset({"USE_HEURISTICS", "TILETHRESHOLD", "DTYPE_MIs"})

#: Keys that an environment variable of the same name overrides.
ENVIRONMENT_KEYS = ("StreamK", "MI_FILTER", "DUCTILE_VALIDATION_PROFILE", "GA_VALIDATION_PROFILE")


def nearest(key: str) -> str:
    """The known key that looks most like ``key``; empty when none does."""
    folded = {known.lower(): known for known in KEYS}
    match = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
    return folded[match[0]] if match else ""


def check_key(
    key: str, value: Any, *, path: str | Path | None = None, line: int | None = None, source: str = ""
) -> Any:
    """Return the normalised value of a key.

    Args:
        key: as written.
        value: as read.
        path, line: where it stands.
        source: where it comes from when not a file (``"--set"``, ``"environment"``).

    Raises:
        InputError: unknown key (with the nearest known one) or a value of the wrong type or range.
    """
    where = f" ({source})" if source else ""
    if key not in KEYS:
        guess = nearest(key)
        hint = f"; did you mean {guess}?" if guess else f"; known keys: {', '.join(KEYS)}"
        raise InputError(f"unknown key {key}{where}{hint}", path=path, line=line)
    rule = KEYS[key]
    try:
        return rule.check(value)
    except (ValueError, TypeError) as error:
        if isinstance(error, _BadPartError):
            text = f"{key}{where} must be {rule.expect} (got {error.part})"
            raise InputError(text, path=path, line=line) from None
        raise InputError(
            f"{key}{where} must be {_expected(rule, value)}", path=path, line=line, value=value
        ) from None


def one_arch(settings: Mapping[str, Any], arch: str | None) -> None:
    """Refuse settings that name another architecture than the option.

    Raises:
        UsageError: they do.
    """
    named = settings.get("ARCH")
    if arch is not None and named is not None and str(named) != arch:
        raise UsageError(f"--arch {arch} and --set ARCH={named} contradict each other: leave one out")


def no_problem_keys(settings: Mapping[str, Any]) -> None:
    """Refuse settings that say what to tune, where the input says it.

    Raises:
        UsageError: a key of the GEMM or its sizes.
    """
    for key in settings:
        if key in PROBLEM_KEYS:
            raise UsageError(f"--set {key} goes with a generator file only: here the input names the GEMMs")


def _expected(rule: Key, value: Any) -> str:
    """What is legal, with the nearest of the words that there are."""
    if rule.names is None:
        return rule.expect
    names = rule.names()
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(value).lower(), folded, n=1, cutoff=0.5)
    guess = f"; did you mean {folded[close[0]]}?" if close else ""
    return (
        f"{rule.expect}{guess} Known are {', '.join(names)}"
        if guess
        else f"{rule.expect}; known are {', '.join(names)}"
    )


def parse_assignments(pairs: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` texts (values as YAML) or take a mapping, and check every key.

    Raises:
        InputError: a text without ``=``, an unknown key, or a bad value.
    """
    import yaml

    if isinstance(pairs, Mapping):
        given = dict(pairs)
    else:
        given = {}
        for pair in pairs:
            key, sign, text = pair.partition("=")
            if not sign:
                raise InputError("a setting is KEY=VALUE", value=pair)
            try:
                given[key.strip()] = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise InputError(f"{key}: not a YAML value", value=text) from error
    for key in sorted(given.keys() & DEAD_KEYS):
        logger.warning("--set %s has no effect; leave it out", key)
    if "GemmProblems" in given:
        raise InputError(
            "--set gives one key for all GEMM problems: a list GemmProblems goes into a file (--list)"
        )
    return {
        key: check_key(key, value, source="--set") for key, value in given.items() if key not in DEAD_KEYS
    }
