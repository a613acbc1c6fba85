"""Start of every stand-in program: ``python -I -S _launch.py ROOT TOOL ARGS…``.

Run with ``-S`` so that no site packages are scanned; only the folder that holds the package joins the path.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Run one tool; the program name decides which."""
    # The first entry is this file's own folder, whose module names must not hide others.
    sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    root, tool, argv = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if tool == "hipblaslt-bench":
        from geko.simulator.bench_cli import main as bench

        return bench(argv, root)
    if tool == "TensileCreateLibrary":
        from geko.simulator.create_cli import main as create

        return create(argv, root)
    if tool == "Tensile":
        from geko.simulator.tensile_cli import main as tensile

        return tensile(argv, root)
    if tool in ("invoke", "tensilelite-client"):
        from geko.simulator import invoke_cli

        return (invoke_cli.main if tool == "invoke" else invoke_cli.client)(argv, root)
    from geko.simulator.probe_cli import main as probe

    return probe(tool, argv, root)


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
