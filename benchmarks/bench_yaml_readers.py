"""YAML readers and writers for library logic: which is fast, and whose values are PyYAML's.

    pip install py-yaml12 ryaml yaml-rs rapidyaml ruamel.yaml     # as many as you like; those absent are skipped
    python benchmarks/bench_yaml_readers.py [--mb 4] [--slow]

One file of the form of `bench_library_yaml.py`, one scalar in 1,000 of a kind on which YAML 1.1 and 1.2 differ. Columns:
CPU seconds to Python objects, ratio to PyYAML's C loader in the same run, scalars whose value or type differs from
PyYAML's, time and size of writing the same data (where the module writes). rapidyaml gives a tree of texts, whose values
would have to be resolved here.
"""

from __future__ import annotations

import argparse
import io
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_library_yaml import make_text, timed

from geko.library import logic_yaml


def readers(slow: bool) -> dict[str, tuple[Callable[[str], Any], Callable[[Any], str] | None]]:
    """Name → reader and writer, of the modules that are installed.

    Args:
        slow: those written in Python, too.
    """
    found: dict[str, tuple[Callable[[str], Any], Callable[[Any], str] | None]] = {
        "PyYAML CSafeLoader": (
            lambda text: yaml.load(text, Loader=yaml.CSafeLoader),
            lambda data: yaml.dump(data, Dumper=yaml.CSafeDumper, default_flow_style=None, sort_keys=False),
        ),
        "geko.library.logic_yaml": (logic_yaml.loads, logic_yaml.dumps),
    }
    try:
        import ryaml

        found["ryaml (YAML 1.2)"] = (ryaml.loads, ryaml.dumps)
    except ImportError:
        pass
    try:
        import yaml_rs

        found["yaml-rs (YAML 1.2)"] = (yaml_rs.loads, yaml_rs.dumps)
    except ImportError:
        pass
    try:
        import yaml12

        found["py-yaml12 (YAML 1.2)"] = (yaml12.parse_yaml, yaml12.format_yaml)
    except ImportError:
        pass
    try:
        import ryml

        found["rapidyaml (tree only)"] = (lambda text: ryml.parse_in_arena(text.encode()), None)
    except ImportError:
        pass
    if not slow:
        return found
    try:
        import ruamel.yaml

        def ruamel_load(text: str) -> Any:
            return ruamel.yaml.YAML(typ="safe").load(text)

        def ruamel_dump(data: Any) -> str:
            out = io.StringIO()
            ruamel.yaml.YAML(typ="safe").dump(data, out)
            return out.getvalue()

        found["ruamel.yaml safe"] = (ruamel_load, ruamel_dump)
    except ImportError:
        pass
    return found


def differing(want: Any, got: Any) -> int:
    """Scalars that differ in value or type; a container of another form counts as all its scalars."""
    if isinstance(want, dict):
        if not isinstance(got, dict) or list(want) != list(got):
            return scalars(want)
        return sum(differing(want[key], got[key]) for key in want)
    if isinstance(want, list):
        if not isinstance(got, (list, tuple)) or len(want) != len(got):
            return scalars(want)
        return sum(map(differing, want, got))
    both_nan = isinstance(want, float) and isinstance(got, float) and math.isnan(want) and math.isnan(got)
    return int(not both_nan and (type(want) is not type(got) or want != got))


def scalars(value: Any) -> int:
    """Number of scalars."""
    if isinstance(value, dict):
        return sum(map(scalars, value.values()))
    return sum(map(scalars, value)) if isinstance(value, (list, tuple)) else 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--slow", action="store_true", help="ruamel.yaml too, which takes minutes")
    args = parser.parse_args()
    text = make_text(args.mb)
    want = yaml.load(text, Loader=yaml.CSafeLoader)
    total = scalars(want)
    base = timed(lambda: yaml.load(text, Loader=yaml.CSafeLoader))
    print(f"{len(text) / 1e6:.1f} MB, {total} scalars")
    print(f"{'':28}{'load s':>9}{'ratio':>8}{'differ':>9}{'dump s':>9}{'dump MB':>9}")
    for name, (load, dump) in readers(args.slow).items():
        try:
            seconds = base if name.startswith("PyYAML") else timed(lambda load=load: load(text), args.repeat)
            wrong = "-" if dump is None else str(differing(want, load(text)))
        except Exception as error:
            print(f"{name:28}  can't read it: {str(error).splitlines()[0][:80]}")
            continue
        line = f"{name:28}{seconds:9.2f}{base / seconds:8.1f}{wrong:>9}"
        if dump is not None:
            try:
                written = len(dump(want)) / 1e6
                line += f"{timed(lambda dump=dump: dump(want)):9.2f}{written:9.1f}"
            except Exception as error:
                line += f"   can't write it: {str(error).splitlines()[0][:60]}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
