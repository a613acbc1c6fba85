"""Command lines as people write them: the original's spelling, underscores, common options before the command."""

from __future__ import annotations

import re

from geko.errors import UsageError

_MODES = {"--search": "search", "--bench": "bench", "--tune": "tune"}
#: Options that the original takes in every mode, and that mean nothing but in these: number of values, modes.
_ONLY_IN: dict[str, tuple[int, tuple[str, ...]]] = {
    "--backend": (1, ("tune",)),
    "--search-space": (1, ("tune",)),
    "--n-slots": (1, ("tune",)),
    "-n": (1, ("tune",)),
    "--no-retry": (0, ("tune",)),
    "--up-thr": (1, ("search", "tune")),
    "--duration": (1, ("search",)),
    "--benchmark-duration": (1, ("bench",)),
}
#: Options of every command, which may stand before it; each has a value.
_COMMON = ("--db", "--format", "-v", "--verbose")
#: Options that need no command.
_ALONE = ("--help", "--version", "-h")


def translate(words: list[str]) -> list[str]:
    """Words of the command line in today's spelling, the command first.

    Underscores in option names become dashes, a mode flag becomes the command, options of every command move behind it,
    the words after ``--inline`` become one, and SQL that starts with a comment is kept from being taken for an option.

    Raises:
        UsageError: two modes, a mode flag beside a command, options without either, or an unknown command.
    """
    from geko.cli.app import COMMANDS

    end = words.index("--") if "--" in words else len(words)
    rest = words[end:]
    if "sql" in words[:end]:
        comments = [word for word in words[:end] if _is_sql(word)]
        words, rest = [word for word in words[:end] if not _is_sql(word)], rest or ["--", *comments]
        end = len(words)
    plain = _joined_inline([_dashed(word) for word in words[:end]])
    early, plain = _split_common(plain)
    modes = [word for word in plain if word in _MODES]
    if modes:
        plain = _mode_first(plain, modes)
    if (plain and plain[0].startswith("-") and plain[0] not in _ALONE) or (early and not plain):
        raise UsageError(
            "a command comes first, such as `geko search` (see `geko --help`); in the original's spelling exactly one "
            "of --tune, --search, --bench is required"
        )
    if plain and not plain[0].startswith("-") and plain[0] not in COMMANDS:
        from geko.cli.usage import meant

        raise UsageError(f"No such command '{plain[0]}'{meant(plain[0], COMMANDS)}; see `geko --help`")
    at = next((at for at, word in enumerate(plain) if word.startswith("-")), len(plain))
    return [*plain[:at], *early, *plain[at:], *(rest if len(rest) > 1 else [])]


def _dashed(word: str) -> str:
    if not word.startswith("--") or len(word) == 2:
        return word
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def _is_sql(word: str) -> bool:
    """Whether it is a text with spaces that starts with a comment, and no ``--option=value``."""
    return (
        word.startswith("--")
        and re.match(r"--[\w-]+(=|$)", word) is None
        and re.search(r"\s", word) is not None
    )


def _split_common(words: list[str]) -> tuple[list[str], list[str]]:
    """The common options before or between the words that name the command, and all the other words."""
    early: list[str] = []
    names: list[str] = []
    at = 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        if name in _COMMON or re.fullmatch(r"-v\d", name):
            n = 1 if equals or name not in _COMMON else 2
            early += words[at : at + n]
            at += n
        elif not name.startswith("-"):
            names.append(words[at])
            at += 1
        else:
            break
    return early, [*names, *words[at:]]


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


def _mode_first(words: list[str], modes: list[str]) -> list[str]:
    """A command line in the original's spelling with its mode as the command, and without what it doesn't use."""
    if not words[0].startswith("-"):
        raise UsageError(f"`geko {words[0]}` is the command already: leave {modes[0]} out")
    if len(set(modes)) > 1:
        raise UsageError(
            f"exactly one of --tune, --search, --bench may be given, not {' and '.join(sorted(set(modes)))}"
        )
    mode = _MODES[modes[0]]
    rest = [word for word in words if word not in _MODES]
    kept: list[str] = []
    at = 0
    while at < len(rest):
        name, equals, _ = rest[at].partition("=")
        if re.fullmatch(r"-n\d+", name):
            name, equals = "-n", "="
        n_values, used_by = _ONLY_IN.get(name, (0, (mode,)))
        n = 1 if equals else 1 + n_values
        if mode in used_by:
            kept += rest[at : at + n]
        at += n
    return [mode, *kept]
