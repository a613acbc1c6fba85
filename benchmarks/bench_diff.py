"""Time of `geko diff` over two environments of many shapes, beside reading the same rows without deciding anything.

python benchmarks/bench_diff.py [--shapes 100000]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from geko.diff import diff
from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.domain.protocol import Protocol
from geko.warehouse import Append, Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fill(warehouse: Warehouse, n_shapes: int) -> tuple[str, str]:
    """Two environments with a baseline time of every shape; returns their ids."""
    sides = [
        Environment(simulated=False, gfx="gfx942", rocm=version, hipblaslt_git=version)
        for version in ("6.4", "7.0")
    ]
    protocol = Protocol("hipblaslt-bench", "baseline", timer="gpu")
    model = Problem("T", "N", 64, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")
    fixed = {name: getattr(model, name) for name in PROBLEM_FIELDS if getattr(model, name) is not None}
    ids = [content_id("problem", str(number)) for number in range(n_shapes)]
    columns = {name: pa.repeat(value, n_shapes) for name, value in fixed.items()}
    columns |= {"problem_id": pa.array(ids), "m": pa.array(range(1, n_shapes + 1))}
    rng = random.Random(1)
    us = [rng.uniform(5, 500) for _ in range(n_shapes)]
    steps = [
        Append("environment", pa.Table.from_pylist([side.row() | {"first_seen": NOW} for side in sides])),
        Append("protocol", pa.Table.from_pylist([protocol.row()])),
        Append("problem", pa.table(columns)),
    ]
    for number, side in enumerate(sides):
        steps.append(
            Append(
                "measurement",
                pa.table(
                    {
                        "measurement_id": [content_id("m", f"{number} {shape}") for shape in range(n_shapes)],
                        "problem_id": ids,
                        "solution_id": [content_id("s", str(shape % 500)) for shape in range(n_shapes)],
                        "environment_id": pa.repeat(side.environment_id, n_shapes),
                        "protocol_id": pa.repeat(protocol.protocol_id, n_shapes),
                        "outcome": pa.repeat("ok", n_shapes),
                        "us": [time * rng.lognormvariate(0, 0.05) for time in us],
                    }
                ),
            )
        )
    warehouse.apply(*steps)
    return sides[0].environment_id, sides[1].environment_id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=100_000)
    shapes = parser.parse_args().shapes
    with tempfile.TemporaryDirectory() as folder, Warehouse.open(Path(folder) / "diff.duckdb") as warehouse:
        a, b = fill(warehouse, shapes)
        for _ in range(3):
            start = time.perf_counter()
            plain = warehouse.sql("SELECT * FROM timing").read_all()
            middle = time.perf_counter()
            result = diff(warehouse, a, b)
            end = time.perf_counter()
            print(
                f"{shapes} shapes, {plain.num_rows} timings: diff {end - middle:.2f} s, reading all timings "
                f"{middle - start:.2f} s, ratio {(end - middle) / (middle - start):.2f}; "
                f"{[(row['class'], row['shapes']) for row in result.totals.to_pylist()]}"
            )


if __name__ == "__main__":
    main()
