"""hipblaslt-bench input for the sizes of a library."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from geko.domain.arch import mx_scale_code
from geko.domain.dtypes import add_c, default_scale_type
from geko.errors import UsageError
from geko.fsio import write_text_atomic
from geko.library.model import Library
from geko.library.problem_type import gemm_types

INITIALIZATIONS = ("trig_float", "rand_int", "hpl")


def bench_rows(
    library: Library,
    *,
    duration: float = 0.5,
    iters: int = 100,
    cold_iters: int = 100,
    rotating: int = 512,
    beta: bool = False,
    flush: bool = True,
    print_kernel_info: bool = True,
    initialization: str = "trig_float",
    check: bool = False,
) -> list[dict[str, Any]]:
    """hipblaslt-bench rows, one a size, in the library's order.

    Args:
        library: the library.
        duration: seconds of hot iterations wanted a size, where its stored efficiency (GFLOP/s) tells the
            time of one; warm-up gets as many. 0 = always ``iters`` and ``cold_iters``.
        iters: hot iterations where the time is unknown (efficiency 0: merged with --no_eff, or from a
            search).
        cold_iters: warm-up iterations there.
        rotating: MiB of rotating buffers.
        beta: run with beta 1 instead of 0.
        flush: flush caches between iterations.
        print_kernel_info: let the bench print solution index and names.
        initialization: ``trig_float``, ``rand_int`` or ``hpl``; int8 always takes ``rand_int``.
        check: a correctness run instead (norm and allclose check, one iteration).

    Raises:
        UsageError: unknown initialization, or an infinite duration.
        InputError: unknown data types.
    """
    if not math.isfinite(duration):
        raise UsageError(f"the duration is a number of seconds, not {duration}")
    if initialization not in INITIALIZATIONS:
        raise UsageError(
            f"initialization must be one of {', '.join(INITIALIZATIONS)}, not {initialization!r}"
        )
    types = gemm_types(library.problem_type)
    head: dict[str, Any] = {"function": "matmul"}
    tail: dict[str, Any] = {
        "alpha": 1.0,
        "beta": 1.0 if beta else 0.0,
        "transA": types.trans_a,
        "transB": types.trans_b,
        "a_type": types.a_type,
        "b_type": types.b_type,
        "c_type": types.c_type,
        "d_type": types.c_type,
        "compute_type": add_c(types.compute_type),
        "scale_type": default_scale_type(types.compute_type),
        "initialization": "rand_int" if types.a_type == "i8_r" else initialization,
    }
    if types.mx_block_a:
        tail["scaleA"] = mx_scale_code(types.mx_block_a, types.mx_scale_a, library.architecture)
    if types.mx_block_b:
        tail["scaleB"] = mx_scale_code(types.mx_block_b, types.mx_scale_b, library.architecture)
    if types.swizzle_a:
        tail["swizzle_a"] = True
    if types.swizzle_b:
        tail["swizzle_b"] = True
    if check:
        tail |= {"norm_check": 1, "norm_check_assert": 0, "allclose_check": 1, "print_kernel_info": False}
    else:
        tail |= {
            "rotating": rotating,
            "flush": flush,
            "use_gpu_timer": True,
            "print_kernel_info": print_kernel_info,
        }
    in_gflops = library.perf_metric in (None, "DeviceEfficiency")
    rows = []
    for size, (_, *rest) in library.sizes:
        m, n, batch, k = size[:4]
        row = {**head, "M": m, "N": n, "K": k, "batch_count": batch}
        if len(size) >= 8:
            row |= dict(zip(("ldd", "ldc", "lda", "ldb"), size[4:8], strict=True))
        row |= tail
        hot, cold = (1, 0) if check else (iters, cold_iters)
        gflops = rest[0] if rest and in_gflops else 0
        if not check and duration > 0 and gflops > 0:
            us = 2 * m * n * batch * k / gflops / 1000
            if us > 0 and math.isfinite(us):
                hot = cold = max(1, math.ceil(duration * 1e6 / us))
        row |= {"iters": hot, "cold_iters": cold}
        rows.append(row)
    return rows


def create_bench_input(
    library: Library, output_dir: str | Path, *, verify: bool = False, **options: Any
) -> tuple[Path, Path | None]:
    """Write ``<stem>_bench.yaml`` and, when asked, ``<stem>_verify.yaml``.

    Args:
        library: the library.
        output_dir: where to.
        verify: write the file for the correctness run, too.
        **options: as in :func:`bench_rows`.

    Returns:
        The bench file, and the verify file or None.

    Raises:
        UsageError: unknown initialization.
    """
    stem = Path(library.name).stem
    bench_file = Path(output_dir) / f"{stem}_bench.yaml"
    write_text_atomic(bench_file, _text(bench_rows(library, **options)))
    if not verify:
        return bench_file, None
    verify_file = Path(output_dir) / f"{stem}_verify.yaml"
    write_text_atomic(verify_file, _text(bench_rows(library, **options, check=True)))
    return bench_file, verify_file


def _text(rows: list[dict[str, Any]]) -> str:
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(rows, Dumper=dumper, sort_keys=False, default_flow_style=None, width=5000)
    return text
