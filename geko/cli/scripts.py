"""The original's scripts: a positional log and defaults of their own, then the same commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from geko.cli.main import main


def search(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/search.py``: search over all eight devices into ``workdir``.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = argparse.ArgumentParser(
        prog="search.py", description="Find the fastest existing kernel for each GEMM of a log."
    )
    parser.add_argument("log", help="hipBLASLt workload log (YAML or CSV)")
    parser.add_argument("-d", "--devices", default="0,1,2,3,4,5,6,7", help="GPU ids (default: %(default)s)")
    parser.add_argument(
        "--keep_thr",
        "--keep-thr",
        default="0.1",
        help="percentage of the total time, 0 to 100 (default: %(default)s)",
    )
    parser.add_argument(
        "--up_thr", "--up-thr", default="1.03", help="least ratio to keep (default: %(default)s)"
    )
    parser.add_argument("-w", "--workdir", default="workdir", help="working directory (default: %(default)s)")
    parser.add_argument("--duration", default="0.04", help="seconds per solution (default: %(default)s)")
    parser.add_argument("-v", "--verbose", default="1", choices=("0", "1", "2"))
    parser.add_argument("--bench-freq", "--bench_freq", action="store_true", help="record clock frequencies")
    parser.add_argument("--hipblaslt", help="hipBLASLt checkout")
    args, rest = parser.parse_known_args(argv)
    words = [
        "search", "--workload-log", args.log, "--devices", args.devices, "--keep-thr", args.keep_thr,
        "--up-thr", args.up_thr, "--workdir", args.workdir, "--duration", args.duration, "-v", args.verbose, *rest,
    ]  # fmt: skip
    words += ["--bench-freq"] if args.bench_freq else []
    words += ["--hipblaslt", args.hipblaslt] if args.hipblaslt else []
    return main(words, anchor=anchor)
