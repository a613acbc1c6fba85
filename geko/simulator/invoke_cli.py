"""The ``invoke build-client`` stand-in: "builds" the tensilelite client of a simulated root.

The client it leaves is a mark: the Tensile stand-in needs it to exist, but times kernels itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from geko.simulator import faults
from geko.simulator.config import Config
from geko.simulator.programs import write_program

CLIENT = "tensilelite/client/tensilelite-client"


def main(argv: Sequence[str], root: Path) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="invoke", allow_abbrev=False)
    parser.add_argument("task")
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--gpu-targets", default="all")
    options = parser.parse_args(list(argv))
    if options.task != "build-client":
        sys.stderr.write(f"No idea what '{options.task}' is!\n")
        return 1
    config = Config.load(root)
    rule = faults.Faults(root, "invoke").strike({"phase": "start"})
    if rule is not None:
        sys.stderr.write("ninja: build stopped: subcommand failed. (simulated)\n")
        faults.die(rule)
    build = options.build_dir.absolute()
    sys.stdout.write(f"-- Build files have been written to: {build} (simulated, {options.gpu_targets})\n")
    write_program(build / CLIENT, config.root, "tensilelite-client")
    sys.stdout.write("[100%] Built target tensilelite-client\n")
    return 0


def client(argv: Sequence[str], root: Path) -> int:
    """Entry point of the client alone."""
    sys.stdout.write(
        f"tensilelite-client (simulated, {Config.load(root).git}): its work is done by Tensile\n"
    )
    return 0 if set(argv) <= {"--help", "--version"} else 1
