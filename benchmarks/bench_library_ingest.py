"""A folder of library logic into the warehouse: the first time, again, and with one file changed; against PyYAML's C loader.

    python benchmarks/bench_library_ingest.py [--files 16] [--mb 2] [--jobs N]

The files have the form of `bench_library_yaml.py`, each of another seed. Seconds are wall-clock, as several processes work.
PyYAML reads one of the files to Python objects; its time is taken times the number of files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_library_yaml import make_text

from geko.ingest.library_tree import ingest_libraries
from geko.warehouse import Warehouse


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--mb", type=float, default=2)
    parser.add_argument("--jobs", type=int, default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "logic"
        root.mkdir()
        for number in range(args.files):
            (root / f"file{number}.yaml").write_text(make_text(args.mb, number))
        first = root / "file0.yaml"
        start = time.perf_counter()
        yaml.load(first.read_text(), Loader=yaml.CSafeLoader)
        pyyaml = (time.perf_counter() - start) * args.files
        size = sum(path.stat().st_size for path in root.iterdir()) / 1e6
        print(f"{args.files} files, {size:.0f} MB; CSafeLoader {pyyaml:.1f} s (one file x {args.files})")
        with Warehouse.open(Path(folder) / "w.duckdb") as warehouse:
            for what in ("first time", "again", "one file changed"):
                if what == "one file changed":
                    first.write_text(first.read_text() + "# changed\n")
                start = time.perf_counter()
                report = ingest_libraries(warehouse, [root], workers=args.jobs)
                seconds = time.perf_counter() - start
                new = report.folders[0].n_new
                print(
                    f"{what:18}{seconds:8.2f} s   {pyyaml / seconds:8.1f}x   {new} of {args.files} files read",
                    flush=True,
                )


if __name__ == "__main__":
    main()
