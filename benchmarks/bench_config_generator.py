"""Time and memory of tuning-config generation: the default gfx950 grid with either backend, and one config.

    python benchmarks/bench_config_generator.py [--rules original] [--every N]

The grid is ``SIZE_OPTION: 1`` at density 4, one size per config (1,823 files). ``--every N`` takes each N-th.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from geko.config_generator.config_generator import run
from geko.config_generator.load_input_config import load_requests
from geko.config_generator.output_writer import render
from geko.config_generator.spaces import generate

BASE = {
    "TRANSA": "T",
    "TRANSB": "N",
    "DataType": "B",
    "DestDataType": "B",
    "ComputeDataType": "S",
    "ARCH": "gfx950",
}


def main() -> None:
    """Print one line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", choices=("default", "original"), default="default")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    single = {**BASE, "Sizes": [[4096, 4096, 1, 4096]]}
    for backend in ("ductile", "tensile"):
        times = []
        for _ in range(4):
            start = time.perf_counter()
            for config in generate(
                load_requests({**single, "backend": backend}, rules=options.rules, environ={})
            ):
                text = render(config)
            times.append(time.perf_counter() - start)
        print(
            f"one 4096^3 config, {backend}: first {times[0]:.3f} s, then {min(times[1:]):.3f} s, "
            f"{len(text):,} bytes"
        )
    grid = [list(size) for size in load_requests({**BASE, "SIZE_OPTION": 1}, environ={})[0].sizes][
        :: options.every
    ]
    for backend in ("ductile", "tensile"):
        requests = load_requests({**BASE, "Sizes": grid, "backend": backend}, rules=options.rules, environ={})
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            report = run(requests, Path(folder) / "out", write_shell_scripts=False, jobs=options.jobs)
            seconds = time.perf_counter() - start
            volume = sum(path.stat().st_size for path in Path(folder).rglob("*.yaml"))
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"grid, {backend}: {len(report.configs)} configs, {len(report.dropped)} dropped, "
            f"{seconds:.1f} s, "
            f"{volume / 2**20:.0f} MiB written, peak {own:.0f} MiB + {child:.0f} MiB per worker"
        )


if __name__ == "__main__":
    main()
