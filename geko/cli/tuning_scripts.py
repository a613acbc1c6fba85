"""The original's scripts that write tuning configs and what belongs to them, straight into a folder, without a warehouse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from geko.cli.main import guarded, start
from geko.cli.scripts import option, script, switch, verbosity


def config_generator(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/config_generator.py``: configs of a generator file or a log, straight into a folder, without a warehouse.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script("config_generator.py", "Write tensilelite tuning configs.")
    option(parser, "--config", "-c", text="generator YAML; see geko/config_generator/config.yaml")
    option(parser, "--gemm-log-path", text="workload log; its GEMMs are tuned")
    option(parser, "--outputPath", "-o", default="./", text="folder of the configs")
    switch(parser, "--no-shell-scripts", text="write no .sh files")
    option(parser, "--hipblaslt", text="hipBLASLt checkout")
    _generating(parser, ("0", "1"))
    args = parser.parse_args(argv)

    def run() -> int:
        from geko.config_generator.config_generator import run as generate
        from geko.config_generator.load_input_config import load_requests
        from geko.config_generator.mi_report import write_mi_logs
        from geko.errors import UsageError
        from geko.hipblaslt import find_root, try_find_root

        if args.config is None and (args.arch is None or args.gemm_log_path is None):
            raise UsageError("give --config FILE, or both --arch and --gemm-log-path")
        found = find_root(args.hipblaslt) if args.hipblaslt else try_find_root(anchor=anchor)
        requests = load_requests(
            args.config, arch=args.arch, gemm_log_path=args.gemm_log_path, rules=args.rules
        )
        out = Path(args.outputPath)
        report = generate(
            requests, out, write_shell_scripts=not args.no_shell_scripts,
            hipblaslt_path=None if found is None else found.path,
        )  # fmt: skip
        write_mi_logs(requests, out / "MI_finder_log")
        kept = sum(row.status == "kept" for row in report.sizes)
        sys.stdout.write(f"{len(report.configs)} configs for {kept} of {len(report.sizes)} sizes in {out}\n")
        return 0

    return _run(args.verbose, run)


def mi_designer(argv: Sequence[str] | None = None) -> int:
    """``scripts/mi_designer.py``: the macro tiles of every size of a generator file, as log files.

    Args:
        argv: words after the script's name; None for those of the process.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script(
        "mi_designer.py", "Write which matrix instructions and macro tiles are tried for each size."
    )
    parser.add_argument("config", help="generator YAML")
    option(parser, "--outputfile", "-o", default="./MatInst", text="folder of the logs")
    _generating(parser)
    args = parser.parse_args(argv)

    def run() -> int:
        from geko.config_generator.load_input_config import load_requests
        from geko.config_generator.mi_report import write_mi_logs

        requests = load_requests(args.config, arch=args.arch, rules=args.rules)
        for _, size, count in write_mi_logs(requests, args.outputfile):
            sys.stdout.write(f"Size {size}: {count} MI groups generated\n")
        return 0

    return _run(args.verbose, run)


def load_balancer(argv: Sequence[str] | None = None) -> int:
    """``scripts/load_balancer.py``: one script a GPU that runs its share of a folder's configs, without a warehouse.

    Args:
        argv: words after the script's name; None for those of the process.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = script(
        "load_balancer.py", "Deal the shell scripts of a tuning folder out to GPUs, in shares of equal work."
    )
    parser.add_argument("tuning_dir", help="folder of configs with their .sh files")
    option(parser, "-d", "--devices", default="0,1,2,3,4,5,6,7", text="GPU ids")
    verbosity(parser)
    args = parser.parse_args(argv)

    def run() -> int:
        from geko.devices import parse_devices
        from geko.optim.utils import write_device_scripts

        for path, names, share in write_device_scripts(args.tuning_dir, parse_devices(args.devices)):
            sys.stdout.write(f"{path}: {len(names)} configs, {100 * share:.1f} % of the work\n")
        return 0

    return _run(args.verbose, run)


def _generating(parser: argparse.ArgumentParser, verbosities: tuple[str, ...] = ("0", "1", "2")) -> None:
    option(parser, "--arch", text="GPU to tune for; wins over ARCH of the file")
    option(
        parser, "--rules", default="default", choices=("default", "original"),
        text="original: number by number as the first generator",
    )  # fmt: skip
    verbosity(parser, verbosities)


def _run(verbose: str, run: Callable[[], int]) -> int:
    start(int(verbose))
    return guarded(run)
