"""The original's scripts that make new kernels, with their flags and defaults; they do what the commands do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from geko.cli.main import guarded, main, start


def _parser(name: str, text: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, description=text)


def _verbose(parser: argparse.ArgumentParser, choices: tuple[str, ...] = ("0", "1", "2")) -> None:
    parser.add_argument(
        "-v",
        "--verbose",
        default="1",
        choices=choices,
        help="0 warnings, 1 information, 2 debug (default: %(default)s)",
    )


def configure(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/configure.py``: write tuning configs for a workload log into ``workdir/optimizations``.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = _parser("configure.py", "Write a tensilelite tuning config for each GEMM of a workload log.")
    parser.add_argument("gemm_log", help="hipBLASLt workload log (YAML or CSV)")
    parser.add_argument(
        "-d", "--device", "--devices", default="0", help="GPU for the baseline (default: %(default)s)"
    )
    parser.add_argument(
        "--keep_thr",
        "--keep-thr",
        default="0",
        help="percentage of the total time, 0 to 100 (default: %(default)s)",
    )
    parser.add_argument(
        "-a", "--architecture", "--arch", default="gfx950", help="GPU to tune for (default: %(default)s)"
    )
    parser.add_argument(
        "-b",
        "--backend",
        default="ductile",
        choices=("ductile", "tensile"),
        help="tuner (default: %(default)s)",
    )
    parser.add_argument("-w", "--workdir", default="workdir", help="working directory (default: %(default)s)")
    _verbose(parser)
    parser.add_argument("--bench-freq", "--bench_freq", action="store_true", help="record clock frequencies")
    parser.add_argument("--hipblaslt", help="hipBLASLt checkout")
    args, rest = parser.parse_known_args(argv)
    words = [
        "configure", "--workload-log", args.gemm_log, "--arch", args.architecture, "--backend", args.backend,
        "--keep-thr", args.keep_thr, "--workdir", args.workdir, "-v", args.verbose, *rest,
    ]  # fmt: skip
    # Without a threshold nothing is timed, and no GPU needs to be there.
    words += ["--devices", args.device] if float(args.keep_thr) > 0 else []
    words += ["--bench-freq"] if args.bench_freq else []
    words += ["--hipblaslt", args.hipblaslt] if args.hipblaslt else []
    return main(words, anchor=anchor)


def optimize(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/optimize.py``: tune the configs of ``workdir`` on all eight devices, compare and export.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = _parser(
        "optimize.py", "Tune the configs of a working directory, and build the library of what wins."
    )
    parser.add_argument(
        "-w", "--workdir", default="workdir", help="working directory with configs (default: %(default)s)"
    )
    parser.add_argument("-d", "--devices", default="0,1,2,3,4,5,6,7", help="GPU ids (default: %(default)s)")
    parser.add_argument(
        "-n", "--n_slots", "--n-slots", default="4", help="jobs at a time on each GPU (default: %(default)s)"
    )
    parser.add_argument(
        "--up_thr", "--up-thr", default="1.03", help="least ratio to keep (default: %(default)s)"
    )
    parser.add_argument(
        "--err_thr", "--err-thr", default="0.03", help="largest norm error (default: %(default)s)"
    )
    parser.add_argument(
        "--client_build_dir", "--client-build-dir", default="build_tmp",
        help="folder of the tensilelite client (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--no_retry", "--no-retry", action="store_true", help="leave failed configs alone")
    _verbose(parser)
    parser.add_argument("--bench-freq", "--bench_freq", action="store_true", help="record clock frequencies")
    parser.add_argument("--hipblaslt", help="hipBLASLt checkout")
    args, rest = parser.parse_known_args(argv)
    words = [
        "optimize", "--workdir", args.workdir, "--devices", args.devices, "--n-slots", args.n_slots, "--up-thr", args.up_thr,
        "--err-thr", args.err_thr, "--client-build-dir", args.client_build_dir, "-v", args.verbose, *rest,
    ]  # fmt: skip
    words += ["--no-retry"] if args.no_retry else []
    words += ["--bench-freq"] if args.bench_freq else []
    words += ["--hipblaslt", args.hipblaslt] if args.hipblaslt else []
    return main(words, anchor=anchor)


def config_generator(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/config_generator.py``: configs of a generator file or a log, straight into a folder, without a warehouse.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: file whose ancestors may be the hipBLASLt checkout.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = _parser("config_generator.py", "Write tensilelite tuning configs.")
    parser.add_argument("--config", "-c", help="generator YAML; see geko/config_generator/config.yaml")
    parser.add_argument("--arch", help="GPU to tune for; wins over ARCH of the file")
    parser.add_argument("--gemm-log-path", "--gemm_log_path", help="workload log; its GEMMs are tuned")
    parser.add_argument(
        "--outputPath", "-o", default="./", help="folder of the configs (default: %(default)s)"
    )
    _verbose(parser, ("0", "1"))
    parser.add_argument(
        "--no-shell-scripts", "--no_shell_scripts", action="store_true", help="write no .sh files"
    )
    parser.add_argument("--hipblaslt", help="hipBLASLt checkout")
    parser.add_argument(
        "--rules", default="default", choices=("default", "original"),
        help="original: number by number as the first generator (default: %(default)s)",
    )  # fmt: skip
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

    start(int(args.verbose))
    return guarded(run)


def mi_designer(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/mi_designer.py``: the macro tiles of every size of a generator file, as log files.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: not used; every script has it.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = _parser(
        "mi_designer.py", "Write which matrix instructions and macro tiles are tried for each size."
    )
    parser.add_argument("config", help="generator YAML")
    parser.add_argument(
        "--outputfile", "-o", default="./MatInst", help="folder of the logs (default: %(default)s)"
    )
    _verbose(parser)
    parser.add_argument("--arch", help="GPU to tune for; wins over ARCH of the file")
    parser.add_argument("--rules", default="default", choices=("default", "original"))
    args = parser.parse_args(argv)

    def run() -> int:
        from geko.config_generator.load_input_config import load_requests
        from geko.config_generator.mi_report import write_mi_logs

        requests = load_requests(args.config, arch=args.arch, rules=args.rules)
        for _, size, count in write_mi_logs(requests, args.outputfile):
            sys.stdout.write(f"Size {size}: {count} MI groups generated\n")
        return 0

    start(int(args.verbose))
    return guarded(run)


def load_balancer(argv: Sequence[str] | None = None, anchor: str | Path | None = None) -> int:
    """``scripts/load_balancer.py``: one script a GPU that runs its share of a folder's configs, without a warehouse.

    Args:
        argv: words after the script's name; None for those of the process.
        anchor: not used; every script has it.

    Returns:
        Exit status, as of `geko.cli.main.main`.
    """
    parser = _parser(
        "load_balancer.py", "Deal the shell scripts of a tuning folder out to GPUs, in shares of equal work."
    )
    parser.add_argument("tuning_dir", help="folder of configs with their .sh files")
    parser.add_argument("-d", "--devices", default="0,1,2,3,4,5,6,7", help="GPU ids (default: %(default)s)")
    _verbose(parser)
    args = parser.parse_args(argv)

    def run() -> int:
        from geko.devices import parse_devices
        from geko.optim.utils import write_device_scripts

        for path, names, share in write_device_scripts(args.tuning_dir, parse_devices(args.devices)):
            sys.stdout.write(f"{path}: {len(names)} configs, {100 * share:.1f} % of the work\n")
        return 0

    start(int(args.verbose))
    return guarded(run)
