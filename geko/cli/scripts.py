"""The original's scripts: positional arguments, flags and defaults of their own, then the same commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from geko.cli.main import main

_DEVICES = "0,1,2,3,4,5,6,7"
#: Option of a script → option of the command, where the two differ.
_RENAMED = {"log": "workload-log", "gemm_log": "workload-log", "architecture": "arch", "device": "devices"}


def search(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/search.py``: search over all eight devices into ``workdir``.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script("search.py", "Find the fastest existing kernel for each GEMM of a log.")
    parser.add_argument("log", help="hipBLASLt workload log (YAML or CSV)")
    option(parser, "-d", "--devices", default=_DEVICES, text="GPU ids")
    option(parser, "--keep_thr", default="0.1", text="percentage of the total time, 0 to 100")
    option(parser, "--up_thr", default="1.03", text="least ratio to keep")
    option(parser, "--duration", default="0.04", text="seconds per solution")
    _of_a_run(parser)
    return _command("search", parser, argv, anchor)


def configure(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/configure.py``: write tuning configs for a workload log into ``workdir/optimizations``.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script("configure.py", "Write a tensilelite tuning config for each GEMM of a workload log.")
    parser.add_argument("gemm_log", help="hipBLASLt workload log (YAML or CSV)")
    option(parser, "-d", "--device", "--devices", default="0", text="GPU for the baseline")
    option(parser, "--keep_thr", default="0", text="percentage of the total time, 0 to 100", kind=float)
    option(parser, "-a", "--architecture", "--arch", default="gfx950", text="GPU to tune for")
    option(
        parser, "-b", "--backend", default="ductile", text="tuner: ductile or tensile",
        choices=("ductile", "tensile"),
    )  # fmt: skip
    _of_a_run(parser)
    args, _ = parser.parse_known_args(argv)
    # Without a threshold nothing is timed, and no GPU needs to be there.
    return _command("configure", parser, argv, anchor, {} if args.keep_thr > 0 else {"device": None})


def optimize(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/optimize.py``: tune the configs of ``workdir`` on all eight devices, compare and export.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script(
        "optimize.py", "Tune the configs of a working directory, and build the library of what wins."
    )
    option(parser, "-d", "--devices", default=_DEVICES, text="GPU ids")
    option(parser, "-n", "--n_slots", default="4", text="jobs at a time on each GPU")
    option(parser, "--up_thr", default="1.03", text="least ratio to keep")
    option(parser, "--err_thr", default="0.03", text="largest norm error")
    option(parser, "--client_build_dir", default="build_tmp", text="folder of the tensilelite client")
    switch(parser, "--no_retry", text="leave failed configs alone")
    _of_a_run(parser)
    return _command("optimize", parser, argv, anchor)


def script(name: str, text: str) -> argparse.ArgumentParser:
    """Parser of a script."""
    return argparse.ArgumentParser(prog=name, description=text)


def option(
    parser: argparse.ArgumentParser,
    *names: str,
    default: str | None = None,
    text: str,
    choices: tuple[str, ...] | None = None,
    kind: type = str,
) -> None:
    """Add an option with a value, with underscores and with dashes; its default stands in the help."""
    shown = text if default is None else f"{text} (default: %(default)s)"
    parser.add_argument(*_both(names), default=default, help=shown, choices=choices, type=kind)


def switch(parser: argparse.ArgumentParser, *names: str, text: str) -> None:
    """Add an option without a value, with underscores and with dashes."""
    parser.add_argument(*_both(names), action="store_true", help=text)


def verbosity(parser: argparse.ArgumentParser, choices: tuple[str, ...] = ("0", "1", "2")) -> None:
    """Add ``-v``."""
    option(parser, "-v", "--verbose", default="1", text="0 warnings, 1 information, 2 debug", choices=choices)


def _of_a_run(parser: argparse.ArgumentParser) -> None:
    option(parser, "-w", "--workdir", default="workdir", text="working directory")
    verbosity(parser)
    switch(parser, "--bench-freq", text="record clock frequencies")
    option(parser, "--hipblaslt", text="hipBLASLt checkout")


def _both(names: Sequence[str]) -> list[str]:
    spellings = [(name, name.replace("_", "-"), f"--{name[2:].replace('-', '_')}") for name in names]
    return list(
        dict.fromkeys(
            way for name, *ways in spellings for way in ([name, *ways] if name[:2] == "--" else [name])
        )
    )


def _command(
    command: str,
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    anchor: str | Path | None,
    instead: Mapping[str, None] | None = None,
) -> int:
    """Run a command with what the script was given; words that the script doesn't know go on to the command."""
    args, rest = parser.parse_known_args(argv)
    words = [command]
    for name, value in (vars(args) | dict(instead or {})).items():
        flag = f"--{_RENAMED.get(name, name).replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return main([*words, *rest], anchor=anchor)
