"""A small workload, and runs on it with few kernels a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geko.runs.options import SimulateOptions, Source
from geko.runs.tune_options import TuneOptions
from geko.warehouse import Warehouse

ROW = (
    "- {{function: matmul, M: {m}, N: {n}, K: {k}, alpha: 1.0, beta: 0.0, transA: T, transB: N, batch_count: 1, "
    "a_type: {t}, b_type: {t}, c_type: {t}, d_type: {t}, bias_vector: {bias}, activation_type: none, "
    "compute_type: c_f32_r, call_count: {calls}}}\n"
)
#: Two GEMMs that differ in size, one again with a bias, and one that the example library has no solution for.
LOG = (
    ROW.format(m=512, n=512, k=1024, t="bf16_r", bias="false", calls=10)
    + ROW.format(m=1024, n=256, k=512, t="bf16_r", bias="false", calls=4)
    + ROW.format(m=512, n=512, k=1024, t="bf16_r", bias="true", calls=3)
)
NO_STOCK = ROW.format(m=512, n=256, k=512, t="f16_r", bias="false", calls=2)
#: Types that can't be tuned.
UNTUNABLE = (
    "- {function: matmul, M: 64, N: 64, K: 64, transA: T, transB: N, batch_count: 1, a_type: i8_r, b_type: i8_r, "
    "c_type: i32_r, d_type: i32_r, compute_type: c_i32_r, call_count: 1}\n"
)


def log_file(folder: Path, text: str = LOG) -> Path:
    path = folder / "app.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def source(path: Path) -> Source:
    return Source("log", (path,))


def options(out: Path, **more: Any) -> TuneOptions:
    values: dict[str, Any] = {
        "simulate": SimulateOptions(arch="gfx942", n_devices=1),
        "workdir": out,
        "rounds": 3,
        "slots": 1,
        "compare_duration": 0.02,
    }
    return TuneOptions(**values | more)


def rows(db: Path, text: str) -> list[dict[str, Any]]:
    with Warehouse.open(db) as warehouse:
        return warehouse.sql(text).read_all().to_pylist()
