"""Tables of fields and data types under the names of the original tool; kept in :mod:`geko.domain`."""

from __future__ import annotations

from geko.domain.dtypes import DTYPE, DTYPE_BYTES, INDEX_TYPE_MAP
from geko.domain.gemm import GEMM_FIELDS, GEMM_LOG_FIELDS, GEMM_TYPE_FIELDS

#: Fields of a hipBLASLt workload log (mask 64) in canonical order; others are kept, too.
LOG_FIELDS = (
    "function", "M", "N", "K", "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d",
    "alpha", "beta", "transA", "transB", "batch_count", "scaleA", "scaleB", "scaleC", "scaleD",
    "swizzleA", "swizzleB", "scaleAlpha_vector", "gradient", "use_e", "bias_vector", "bias_source",
    "a_type", "b_type", "c_type", "d_type", "scale_type", "bias_type", "aux_type", "compute_type",
    "activation_type", "flush", "any_stride", "rotating", "cold_iters", "iters",
    "solution_index", "solution_Name", "kernel_name", "call_count",
)  # fmt: skip

#: Performance columns of hipblaslt-bench output: GFLOP/s, GB/s, µs.
PERF_FIELDS = ("hipblaslt-Gflops", "hipblaslt-GB/s", "us")

__all__ = [
    "DTYPE",
    "DTYPE_BYTES",
    "GEMM_FIELDS",
    "GEMM_LOG_FIELDS",
    "GEMM_TYPE_FIELDS",
    "INDEX_TYPE_MAP",
    "LOG_FIELDS",
    "PERF_FIELDS",
    "SUPPORTED_ARCH",  # noqa: F822 - served by __getattr__
]


def __getattr__(name: str) -> object:
    # Architectures may come from plug-ins, so that they are looked up when first asked for.
    if name == "SUPPORTED_ARCH":
        from geko.domain.arch import supported_archs

        return supported_archs()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
