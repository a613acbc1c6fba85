"""The original's spelling: ``geko --search --workload-log L --devices=0,1 --keep_thr 0.1`` and underscores everywhere."""

from __future__ import annotations

import re

from geko.errors import GekoError, UsageError

#: Asked for in the original's spelling or in ours; there is no such command yet.
NO_TUNING = (
    "tuning new kernels (`geko tune`) is not in this version yet; `geko search` finds the fastest existing kernels, and "
    "geko.config_generator writes tuning configs in Python"
)

_MODES = {"--search": "search", "--bench": "bench", "--tune": "tune"}
#: Options that the original takes in every mode and that only tuning uses.
_TUNE_ONLY = {"--backend": 1, "--search-space": 1, "--n-slots": 1, "-n": 1, "--no-retry": 0}
#: Options that need no command.
_ALONE = ("--help", "--version", "-h")


def translate(words: list[str]) -> list[str]:
    """Words of the command line in today's spelling.

    Underscores in option names become dashes, a mode flag becomes the command, and the words after ``--inline`` become one.

    Raises:
        UsageError: two modes, a mode flag beside a command, or options without either.
        GekoError: the mode is tuning, which this version can't do.
    """
    end = words.index("--") if "--" in words else len(words)
    plain = _joined_inline([_dashed(word) for word in words[:end]]) + words[end:]
    if plain[:1] == ["tune"]:
        raise GekoError(NO_TUNING)
    modes = [word for word in plain if word in _MODES]
    if not modes:
        if plain and plain[0].startswith("-") and plain[0] not in _ALONE:
            raise UsageError(
                "a command comes first, such as `geko search` (see `geko --help`); in the original's spelling exactly one "
                "of --tune, --search, --bench is required"
            )
        return plain
    if not plain[0].startswith("-"):
        raise UsageError(f"`geko {plain[0]}` is the command already: leave {modes[0]} out")
    if len(set(modes)) > 1:
        raise UsageError(
            f"exactly one of --tune, --search, --bench may be given, not {' and '.join(sorted(set(modes)))}"
        )
    rest = [word for word in plain if word not in _MODES]
    mode = _MODES[modes[0]]
    if mode == "tune" and "--help" not in rest:
        raise GekoError(NO_TUNING)
    return ["--help"] if mode == "tune" else [mode, *_without_tuning(rest, mode)]


def _dashed(word: str) -> str:
    if not word.startswith("--") or len(word) == 2:
        return word
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def _joined_inline(words: list[str]) -> list[str]:
    if "--inline" not in words:
        return words
    at = words.index("--inline") + 1
    if at < len(words) and " " in words[at].strip():
        return words
    end = at
    while end < len(words) and not _is_option(words[end]):
        end += 1
    return [*words[:at], " ".join(words[at:end]), *words[end:]]


def _is_option(word: str) -> bool:
    # A negative number is a (wrong) size, which the reader of the words explains better.
    return word.startswith("-") and not word[1:].isdigit()


def _without_tuning(words: list[str], mode: str) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(words):
        name, equals, _ = words[position].partition("=")
        if re.fullmatch(r"-n\d+", name):
            position += 1
            continue
        if name in _TUNE_ONLY:
            position += 1 if equals else 1 + _TUNE_ONLY[name]
            continue
        # The original takes every option in every mode; those of the other mode change nothing.
        if mode == "bench" and name in ("--up-thr", "--duration"):
            position += 1 if equals else 2
            continue
        if mode == "search" and name == "--benchmark-duration":
            position += 1 if equals else 2
            continue
        kept.append(words[position])
        position += 1
    return kept
