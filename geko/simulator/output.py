"""What hipblaslt-bench prints, column by column, in the form of version 100200."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geko.simulator.devices import Device
from geko.simulator.model import Timing
from geko.simulator.problem import Arguments

VERSION = 100200
_GIB_PER_GB = 1.073741824  # the column says GB/s; the program divides by 2^30


def real(value: float) -> str:
    """A number as a C++ stream prints it by default: 6 significant digits."""
    if math.isnan(value):
        return "nan"
    return f"{value:.6g}"


def banner(device: Device, *, count: int, index: int, git: str) -> str:
    """Lines before the first block; the device name says that the GPU is simulated."""
    return (
        f"hipBLASLt version: {VERSION}\n"
        f"hipBLASLt git version: {git}\n"
        f"Query device success: there are {count} devices. (Target device ID is {index})\n"
        f"Device ID {index} : {device.name} (simulated) {device.target}\n"
        f"with {device.memory_gb:.1f} GB memory, max. SCLK {device.sclk_mhz} MHz, "
        f"max. MCLK {device.mclk_mhz} MHz, compute capability {device.capability}\n"
        f"maxGridDimX 2147483647, sharedMemPerBlock {device.lds_bytes / 1000:.1f} KB, "
        "maxThreadsPerBlock 1024, warpSize 64\n\n"
    )


def rotating_line(args: Arguments) -> str:
    """The line about rotating buffers; empty without them.

    From 2048 MiB on the real program overflows a 32-bit byte count and uses one block.
    """
    if args["rotating"] <= 0:
        return ""
    needed = args.moved_bytes / 1048576.0
    limit = max(args["iters"], args["cold_iters"], 1)
    blocks = min(math.ceil(args["rotating"] / needed), limit) if args["rotating"] < 2048 else 1
    return (
        f"Rotating buffer {args['rotating']} MiB. Needed Size: {int(needed)} MiB. "
        f"Needed block count: {max(1, blocks)} (Capped to max iters: {limit})\n"
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Which optional column groups are on: HIPBLASLT_BENCH_FREQ, _FREQ_ALL, _PERF, the checks, the index."""

    freq: bool = False
    freq_all: bool = False
    perf: bool = False
    check: bool = False
    index: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Result of comparing with the CPU reference."""

    norm_error: str
    atol: str
    rtol: str
    cpu_us: float


def cells(
    args: Arguments,
    us: float,
    timing: Timing,
    device: Device,
    columns: Columns,
    check: Check | None,
    index: int,
) -> list[tuple[str, str]]:
    """(column, value) pairs of one result row."""
    flag = int
    row: list[tuple[str, Any]] = [
        ("transA", args["transA"]),
        ("transB", args["transB"]),
        ("grouped_gemm", flag(args["grouped_gemm"])),
        ("batch_count", args["batch_count"]),
        ("m", args["M"]),
        ("n", args["N"]),
        ("k", args["K"]),
        ("alpha", real(args["alpha"])),
        ("lda", args["lda"]),
        ("stride_a", args["stride_a"]),
        ("beta", real(args["beta"])),
        ("ldb", args["ldb"]),
        ("stride_b", args["stride_b"]),
        ("ldc", args["ldc"]),
        ("stride_c", args["stride_c"]),
        ("ldd", args["ldd"]),
        ("stride_d", args["stride_d"]),
        ("a_type", args["a_type"]),
        ("b_type", args["b_type"]),
        ("c_type", args["c_type"]),
        ("d_type", args["d_type"]),
        ("compute_type", args["compute_type"]),
        ("scaleA", args["scaleA"]),
        ("scaleB", args["scaleB"]),
        ("scaleC", args["scaleC"]),
        ("scaleD", args["scaleD"]),
        ("amaxD", flag(args["amaxD"])),
        ("swizzle_a", flag(args["swizzle_a"])),
        ("swizzle_b", flag(args["swizzle_b"])),
        ("activation_type", args["activation_type"]),
        ("bias_vector", flag(args["bias_vector"])),
        ("bias_type", args["bias_type"]),
        ("aux_type", args["aux_type"]),
        ("rotating_buffer", args["rotating"]),
        ("flush", flag(args["flush"])),
        ("use_gpu_timer", flag(args["use_gpu_timer"])),
    ]
    gflops = args.flops / us / 1e3
    if columns.perf:
        row += [
            ("num_cu", device.cus),
            ("tiles_per_cu", real(timing.tiles_per_cu)),
            ("tile0_gran", real(timing.tile0)),
            ("tile1_gran", real(timing.tile1)),
            ("cu_gran", real(timing.cu)),
            ("wave_gran", real(timing.wave)),
            ("total_gran", real(timing.tile0 * timing.tile1 * timing.cu * timing.wave)),
            ("mem_read_bytes", real(timing.read_bytes)),
            ("mem_write_bytes", real(timing.write_bytes)),
        ]
    clock, memory_clock = round(timing.sclk_mhz), device.mclk_mhz
    if columns.freq_all:
        spread = [clock - (7 * x) % 11 for x in range(device.xccs)]
        row += [(f"avg_freq{x}", value) for x, value in enumerate(spread)]
        row += [(f"median_freq{x}", value) for x, value in enumerate(spread)]
        row += [("avg_MCLK", memory_clock), ("median_MCLK", memory_clock)]
    elif columns.freq or columns.perf:
        row += [("lowest_avg_freq", clock - 9), ("lowest_median_freq", clock - 9)]
        row += [("avg_MCLK", memory_clock), ("median_MCLK", memory_clock)]
    row.append(("hipblaslt-Gflops", real(gflops)))
    if columns.perf:
        rate = device.matrix_flops["16"] * device.cus * timing.sclk_mhz * 1e-3
        row.append(("efficiency", real(100.0 * gflops / rate)))
    row.append(("hipblaslt-GB/s", real(args.moved_bytes / us / 1e3 / _GIB_PER_GB)))
    row.append(("us", real(us)))
    if check is not None:
        row += [
            ("CPU-Gflops", real(args.flops / check.cpu_us / 1e3)),
            ("CPU-us", real(check.cpu_us)),
            ("norm_error", check.norm_error),
            ("atol", check.atol),
            ("rtol", check.rtol),
        ]
    if columns.index:
        row.append(("solution_index", index))
    return [(name, str(value)) for name, value in row]


def block(
    rank: int, row: Sequence[tuple[str, str]], solution: Mapping[str, Any], *, kernel_info: bool
) -> str:
    """One result block: header line, indented value line and, with --print_kernel_info, three name lines."""
    text = f"[{rank}]:{','.join(name for name, _ in row)}\n    {','.join(value for _, value in row)}\n"
    if kernel_info:
        text += (
            f"    --Solution index: {solution['index']}\n"
            f"    --Solution name:  {solution['SolutionNameMin']}\n"
            f"    --kernel name:    {solution['KernelNameMin']}\n"
        )
    return text


def tuning_entry(row: Sequence[tuple[str, str]], device: Device) -> str:
    """Two lines of a HIPBLASLT_TUNING_FILE: header and values, with architecture and CU count at the end."""
    full = [*row, ("gcnArchName", device.target), ("CUs", str(device.cus))]
    return f"    {','.join(name for name, _ in full)}\n    {','.join(value for _, value in full)}\n"
