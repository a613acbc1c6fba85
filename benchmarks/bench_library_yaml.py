"""Library logic: read, rows, write and merge against PyYAML, side by side on one file of real form.

    python benchmarks/bench_library_yaml.py [--mb 20] [--entries 200000] [--pure]

The file is made from the example library: names and sizes differ from solution to solution, and one line in
1,000 holds a scalar on which YAML 1.1 and 1.2 differ. Ours: best of --repeat runs; PyYAML: one run. All in CPU seconds. With
--pure PyYAML in pure Python (what the real merge tool uses) is timed, too: that takes minutes.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from geko.library import logic_yaml  # noqa: E402

ODD = (
    "yes",
    "off",
    "1e5",
    "017",
    "12_000",
    "12:30:00",
    "0x1F",
    ".5",
    "1.0e+05",
    "~",
    "'true'",
    "'no'",
    "2024-01-01",
)


def make_text(megabytes: float, seed: int = 1) -> str:
    """Logic of about that size."""
    source = sorted((ROOT / "examples" / "library" / "Equality").glob("*.yaml"))[0]
    data = logic_yaml.load(source)
    chance = random.Random(seed)
    one = len(logic_yaml.dumps([data[5]])) / len(data[5])
    count = int(megabytes * 1e6 / one)
    solutions, sizes = [], []
    for number in range(count):
        solution = logic_yaml.copy_value(data[5][number % len(data[5])])
        solution["SolutionIndex"] = number
        for key in ("SolutionNameMin", "KernelNameMin", "BaseName"):
            if key in solution:
                solution[key] += f"_V{number}"
        solutions.append(solution)
        size = [chance.randint(1, 99999), chance.randint(1, 99999), 1, chance.randint(1, 9999)]
        sizes.append([size, [number, round(chance.random() * 9e5, 3)]])
    data[5], data[7] = solutions, sizes
    lines = logic_yaml.dumps(data).split("\n")
    for place in range(0, len(lines), 1000):
        spot = next(
            (
                n
                for n in range(place, min(place + 900, len(lines)))
                if lines[n].startswith("    NonTemporal: ")
            ),
            None,
        )
        if spot is not None:
            lines[spot] = f"    NonTemporal: {chance.choice(ODD)}"
    return "\n".join(lines)


def make_table(entries: int) -> str:
    """A MatchTable of that many entries, wrapped over two lines as the real tool writes them."""
    folder = "/build/hipblaslt/library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full/aquavanjaram/gfx942/Equality"
    lines = [
        f"{n}: [{folder}/aquavanjaram_Cijk_Alik_Bljk_BBS_BH_{n // 300}.yaml,\n  {n % 300}]\n"
        for n in range(entries)
    ]
    return "---\n" + "".join(lines) + "...\n"


def timed(function: Callable[[], Any], repeat: int = 1) -> float:
    """CPU seconds of this process, the best of several runs: other work on the machine falsifies them least."""
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--entries", type=int, default=200_000, help="of the MatchTable")
    parser.add_argument("--pure", action="store_true")
    args = parser.parse_args()
    from geko.library import match_table
    from geko.library.rows import library_rows
    from geko.library.tree_merge import merge_files

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base" / "big.yaml"
        text = make_text(args.mb)
        path.parent.mkdir()
        path.write_text(text)
        new = logic_yaml.load(path)
        new[5] = [{**solution, "DepthU": 999, "SolutionIndex": n} for n, solution in enumerate(new[5][:40])]
        new[7] = [[[n + 1, 7, 1, 7], [n, 1.0]] for n in range(40)]
        incoming = Path(folder) / "new" / "big.yaml"
        logic_yaml.dump(new, incoming)
        print(f"{len(text) / 1e6:.1f} MB, {text.count(chr(10))} lines")
        data = yaml.load(text, Loader=yaml.CSafeLoader)
        assert repr(data) == repr(logic_yaml.loads(text)), "values differ from PyYAML's"
        c_load = timed(lambda: yaml.load(text, Loader=yaml.CSafeLoader))
        c_dump = timed(
            lambda: yaml.dump(data, Dumper=yaml.CSafeDumper, default_flow_style=None, sort_keys=False)
        )
        load = timed(lambda: logic_yaml.load(path), args.repeat)
        rows = timed(lambda: library_rows(path), args.repeat)
        dump = timed(lambda: logic_yaml.dumps(data), args.repeat)
        merge = timed(lambda: merge_files(path, incoming), args.repeat)
        print(f"load to objects  CSafeLoader {c_load:7.2f} s   ours {load:6.2f} s   {c_load / load:6.1f}x")
        print(f"load to rows     CSafeLoader {c_load:7.2f} s   ours {rows:6.2f} s   {c_load / rows:6.1f}x")
        print(f"dump             CSafeDumper {c_dump:7.2f} s   ours {dump:6.2f} s   {c_dump / dump:6.1f}x")
        print(
            f"merge of 40      C both {c_load + c_dump:7.2f} s   ours {merge:6.2f} s   "
            f"{(c_load + c_dump) / merge:6.1f}x"
        )
        table = Path(folder) / "MatchTable.yaml"
        table.write_text(make_table(args.entries))
        c_table = timed(lambda: yaml.load(table.read_text(), Loader=yaml.CSafeLoader))
        ours = timed(lambda: (match_table._read.clear(), match_table.load_match_table(table)), args.repeat)
        again = timed(lambda: match_table.load_match_table(table), args.repeat)
        print(
            f"MatchTable of {args.entries}  CSafeLoader {c_table:.2f} s   ours {ours:.2f} s   {c_table / ours:.0f}x, "
            f"again {again:.3f} s (hash only)"
        )
        if args.pure:
            p_load = timed(lambda: yaml.load(text, Loader=yaml.SafeLoader))
            p_dump = timed(lambda: yaml.dump(data, Dumper=yaml.SafeDumper, default_flow_style=None))
            pure = p_load + p_dump
            print(f"merge of 40      pure Python {pure:7.2f} s   ours {merge:6.2f} s   {pure / merge:6.1f}x")


if __name__ == "__main__":
    main()
