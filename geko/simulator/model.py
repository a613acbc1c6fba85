"""Analytic time model of a Tensile kernel on an Instinct GPU. docs/simulator.md derives each term.

    t = launch + max(compute, memory) + 0.15 min(compute, memory) + split-K reduction, × epilogue × residual

with compute from wave and tile quantisation of the macro tiles over the CUs. All results are *simulated*:
they rank kernels plausibly, they don't predict a real GPU.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geko.simulator.devices import TYPES, Device, type_class
from geko.simulator.problem import Arguments, workspace_bytes

LAUNCH_US = 2.0  # one kernel in a back-to-back series, GPU timer
HOST_LAUNCH_US = 0.8  # more when the wall clock is read instead
SECOND_KERNEL_US = 1.6  # the reduction kernel of a split K
ISSUE_EFFICIENCY = 0.88  # of the peak matrix rate, by the best main loop
HBM_EFFICIENCY = 0.82  # of the peak bandwidth, by a streaming kernel
MALL_EFFICIENCY = 0.60
LDS_BYTES_PER_CLOCK = 128
L2_BYTES_PER_CLOCK = 56  # one CU's share of its XCD's L2
LATENCY_CLOCKS = 1300  # HBM read under load
BARRIER_CLOCKS = 36  # synchronisation of one main-loop iteration
SINGLE_LDS_CLOCKS = 44  # second barrier of a loop with one LDS buffer
PROLOGUE_CLOCKS = 2600  # argument load, first tiles, first wait
RESIDUAL_SIGMA = 0.015  # what the terms above don't know
THROTTLE = 0.30  # share of the clock lost at full matrix load


@dataclass(frozen=True, slots=True)
class Timing:
    """Simulated time of one kernel on one problem.

    Attributes:
        us: microseconds of one call.
        sclk_mhz: engine clock while it runs.
        tiles_per_cu: macro tiles over CUs.
        tile0, tile1, cu, wave: granularities in [0, 1], as the PERF columns of hipblaslt-bench name them.
        read_bytes, write_bytes: memory traffic.
    """

    us: float
    sclk_mhz: float
    tiles_per_cu: float
    tile0: float
    tile1: float
    cu: float
    wave: float
    read_bytes: float
    write_bytes: float


def gauss(*keys: object) -> float:
    """A standard normal number that depends on nothing but its keys (Box-Muller over SHA-256)."""
    digest = hashlib.sha256("\x1f".join(str(key) for key in keys).encode()).digest()
    u = (int.from_bytes(digest[:8], "big") + 1) / 18446744073709551617.0
    v = int.from_bytes(digest[8:16], "big") / 18446744073709551616.0
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def kernel_time(device: Device, solution: Mapping[str, Any], args: Arguments, seed: int = 0) -> Timing:
    """Noise-free time of one call.

    Args:
        device: the GPU.
        solution: condensed solution, see :mod:`geko.simulator.library`.
        args: the problem and its protocol (rotating buffers, timer).
        seed: selects the residual; the other terms don't depend on it.
    """
    m, n, k, batch = int(args["M"]), int(args["N"]), int(args["K"]), int(args["batch_count"])
    mt0, mt1 = max(1, solution["MacroTile0"]), max(1, solution["MacroTile1"])
    depth = max(1, solution["DepthU"])
    size_a, size_b = TYPES[args["a_type"]][1], TYPES[args["b_type"]][1]
    gsu = max(1, int(solution["GlobalSplitU"]))
    stream_k = bool(solution["StreamK"])

    tiles0, tiles1 = math.ceil(m / mt0), math.ceil(n / mt1)
    workgroups = tiles0 * tiles1 * batch * (1 if stream_k else gsu)
    k_part = k if stream_k else math.ceil(k / gsu)
    full_loops, rest = divmod(k_part, depth)

    occupancy = _occupancy(device, solution)
    loop = _loop_clocks(device, solution, args, occupancy, min(workgroups / device.cus, occupancy))
    # The tail loop runs element-wise loads with masks: about twice the cost of the main loop.
    loops = full_loops + (2.0 * rest / depth + 0.5 if rest else 0.0)
    epilogue = _epilogue_clocks(solution, args, mt0, mt1)

    per_cu = workgroups / device.cus
    rounds = math.ceil(per_cu)
    if stream_k:
        # Iterations of all tiles are dealt out evenly; a tile cut in two pays a fix-up.
        cut = 0.0 if per_cu == rounds else 1800.0
        compute = max(per_cu, min(1.0, per_cu * 2)) * loops * loop + PROLOGUE_CLOCKS + epilogue + cut
        if per_cu < 1:
            compute = max(per_cu, 1 / 8) * loops * loop + PROLOGUE_CLOCKS + epilogue + cut
    else:
        overlapped = math.ceil(rounds / max(1, occupancy))
        compute = rounds * loops * loop + overlapped * (PROLOGUE_CLOCKS + epilogue)

    matrix_clocks = per_cu * loops * _matrix_clocks(device, solution, args)
    utilisation = min(1.0, matrix_clocks / max(compute, 1.0))
    sclk = device.sclk_mhz * (1.0 - THROTTLE * utilisation**1.5)
    compute_us = compute / sclk

    read, write, memory_us = _memory(device, solution, args, tiles0, tiles1, gsu, size_a, size_b)
    in_flight_us = _latency_bound_us(device, solution, args, workgroups, occupancy, sclk, read)
    us = max(compute_us, memory_us, in_flight_us) + 0.15 * min(compute_us, memory_us)
    us += LAUNCH_US + (0.0 if args["use_gpu_timer"] else HOST_LAUNCH_US)
    if gsu > 1 and not stream_k and solution["GlobalSplitUAlgorithm"] == "MultipleBuffer":
        partials = workspace_bytes(solution, args)
        us += SECOND_KERNEL_US + 2.0 * partials / (device.mall_gbs * MALL_EFFICIENCY * 1e3)
    us *= _epilogue_factor(args)
    us *= math.exp(RESIDUAL_SIGMA * gauss("residual", seed, device.arch, solution["key"], args.signature))
    return Timing(
        us=us,
        sclk_mhz=sclk,
        tiles_per_cu=per_cu,
        tile0=m / (tiles0 * mt0),
        tile1=n / (tiles1 * mt1),
        cu=per_cu / rounds,
        wave=min(1.0, per_cu / max(1, occupancy) / math.ceil(per_cu / max(1, occupancy))),
        read_bytes=read,
        write_bytes=write,
    )


def _occupancy(device: Device, solution: Mapping[str, Any]) -> int:
    """Workgroups that fit on one CU at once: bounded by LDS and by 512 vector registers a SIMD lane."""
    group = solution["WorkGroup"]
    threads = max(64, int(group[0]) * int(group[1]) * int(group[2]))
    waves_per_simd = max(1, threads // 64 // 4)
    lds = device.lds_bytes // max(1, int(solution["LdsNumBytes"])) if solution["LdsNumBytes"] else 8
    accumulators = solution["MacroTile0"] * solution["MacroTile1"] // threads
    registers = 512 // min(512, accumulators + 96) // waves_per_simd
    return int(max(1, min(8, lds, registers)))


def _matrix_clocks(device: Device, solution: Mapping[str, Any], args: Arguments) -> float:
    """Clocks of the matrix instructions of one main-loop iteration of one workgroup."""
    rate = device.matrix_flops.get(type_class(args["a_type"], args["b_type"], args["compute_type"]), 256)
    return 2.0 * float(solution["MacroTile0"] * solution["MacroTile1"] * solution["DepthU"]) / rate


def _loop_clocks(
    device: Device, solution: Mapping[str, Any], args: Arguments, occupancy: int, resident: float
) -> float:
    """Clocks that one main-loop iteration of one workgroup takes from its CU.

    The pipes for matrix instructions, LDS and L2 work side by side: the slowest counts, with a quarter of
    the next one showing through. Barriers hide behind other workgroups on the same CU.
    """
    mt0, mt1, depth = solution["MacroTile0"], solution["MacroTile1"], solution["DepthU"]
    size_a, size_b = TYPES[args["a_type"]][1], TYPES[args["b_type"]][1]
    instruction = solution["MatrixInstruction"] or [16, 16, 16, 1]
    efficiency = ISSUE_EFFICIENCY * (1.0 if instruction[0] >= 32 else 0.975)
    matrix = _matrix_clocks(device, solution, args) / efficiency

    # Each wave reads its rows of A and columns of B from LDS; the tile is written there once.
    groups = solution["MIWaveGroup"]
    reads = groups[0] * groups[1] * depth * (mt0 / groups[0] * size_a + mt1 / groups[1] * size_b)
    writes = depth * (mt0 * size_a + mt1 * size_b)
    if solution["DirectToVgprA"]:
        reads -= groups[0] * groups[1] * depth * mt0 / groups[0] * size_a
    lds = (reads + writes) / LDS_BYTES_PER_CLOCK

    unaligned_a, unaligned_b = _load_penalties(solution, args)
    load = depth * (mt0 * size_a * unaligned_a + mt1 * size_b * unaligned_b) / L2_BYTES_PER_CLOCK

    first, second, _ = sorted((matrix, lds, load), reverse=True)
    barrier = BARRIER_CLOCKS + (SINGLE_LDS_CLOCKS if solution["1LDSBuffer"] else 0)
    return float(first + 0.25 * second + barrier / max(1.0, min(occupancy, resident)))


def _load_penalties(solution: Mapping[str, Any], args: Arguments) -> tuple[float, float]:
    """Factors on the global loads of A and B: narrow vectors, and leading dimensions that break a vector."""
    factors = []
    for operand, ld in (("A", args["lda"]), ("B", args["ldb"])):
        width = max(1, int(solution[f"GlobalReadVectorWidth{operand}"]))
        size = TYPES[args[f"{operand.lower()}_type"]][1]
        factor = 1.0 + 0.05 * max(0.0, math.log2(16.0 / (width * size)))
        if ld % width:
            factor *= 2.0  # each vector becomes two requests
        factors.append(factor)
    return factors[0], factors[1]


def _epilogue_clocks(solution: Mapping[str, Any], args: Arguments, mt0: int, mt1: int) -> float:
    """Clocks to convert and store one macro tile: 64 B a clock, less for narrow store vectors."""
    size = TYPES[args["d_type"]][1]
    width = max(1, int(solution["StoreVectorWidth"]))
    if args["ldd"] % width:
        width = 1
    share = min(1.0, 0.4 + 0.2 * math.log2(1.0 + width * size / 2.0))
    return mt0 * mt1 * size * (2.0 if args["beta"] else 1.0) / (64.0 * share)


def _epilogue_factor(args: Arguments) -> float:
    factor = 1.0
    if args["bias_vector"]:
        factor *= 1.008
    if args["activation_type"] != "none":
        factor *= 1.025 if args["activation_type"] in ("gelu", "swish") else 1.006
    return factor


def _memory(
    device: Device,
    solution: Mapping[str, Any],
    args: Arguments,
    tiles0: int,
    tiles1: int,
    gsu: int,
    size_a: float,
    size_b: float,
) -> tuple[float, float, float]:
    """Bytes read and written, and the time that HBM and Infinity Cache need for them."""
    m, n, k, batch = args["M"], args["N"], args["K"], args["batch_count"]
    a, b = m * k * batch * size_a, n * k * batch * size_b
    out = m * n * batch * TYPES[args["d_type"]][1]
    read = a + b + (m * n * batch * TYPES[args["c_type"]][1] if args["beta"] else 0.0)

    # Each XCD works on a patch of macro tiles that WorkGroupMapping makes about square: it reads the patch's
    # rows of A and columns of B once through its own L2, so small patches read the operands often.
    patch = max(1, device.cus // device.xccs)
    height = max(1, min(tiles1, abs(int(solution["WorkGroupMapping"])) or 1, patch))
    width = max(1, min(tiles0, patch // height))
    passes_a, passes_b = math.ceil(tiles1 / height), math.ceil(tiles0 / width)
    through_l2 = a * passes_a + b * passes_b
    mall_us = through_l2 / (device.mall_gbs * MALL_EFFICIENCY * 1e3)

    # What Infinity Cache can't hold between the passes comes from HBM again.
    resident = device.mall_mib * 1048576.0
    spill = max(0.0, 1.0 - resident / (a + b)) * 0.25 * (through_l2 - a - b)
    hbm = (read + spill + out) / (device.hbm_gbs * HBM_EFFICIENCY * 1e3)
    warm = args["rotating"] == 0 and not args["flush"] and read + out < resident
    if warm:
        hbm = out / (device.hbm_gbs * HBM_EFFICIENCY * 1e3)
    if not solution["StaggerU"] and (args["lda"] * size_a) % 4096 == 0 and (args["ldb"] * size_b) % 4096 == 0:
        hbm *= 1.04  # all rows start in one memory channel
    return read + spill, float(out), max(hbm, mall_us)


def _latency_bound_us(
    device: Device,
    solution: Mapping[str, Any],
    args: Arguments,
    workgroups: int,
    occupancy: int,
    sclk: float,
    read: float,
) -> float:
    """Little's law: few resident workgroups with little prefetched data can't fill the memory pipes."""
    mt0, mt1, depth = solution["MacroTile0"], solution["MacroTile1"], solution["DepthU"]
    size_a, size_b = TYPES[args["a_type"]][1], TYPES[args["b_type"]][1]
    prefetch = max(1, min(2, int(solution["PrefetchGlobalRead"])))
    useful = depth * (min(mt0, args["M"]) * size_a + min(mt1, args["N"]) * size_b)
    resident = min(workgroups, device.cus * occupancy)
    per_clock = resident * useful * prefetch / LATENCY_CLOCKS
    rounds = max(1.0, workgroups / resident)
    loops = math.ceil(args["K"] / max(1, int(solution["GlobalSplitU"])) / depth)
    total = useful * loops * min(workgroups, resident) * rounds
    return float(max(read, total) / per_clock / sclk)


def measured_us(
    device: Device, true_us: float, args: Arguments, *, noise: float, drift: float, keys: tuple[object, ...]
) -> float:
    """One simulated measurement: the mean over ``iters`` calls, with noise.

    Args:
        device: the GPU.
        true_us: noise-free time, µs.
        args: protocol; a series shorter than 10 ms is noisier.
        noise: relative standard deviation of a long series.
        drift: slow change of the clock over a run, relative; its phase comes from the keys.
        keys: seed, device, nonce, library, kernel, problem and protocol: equal keys give equal noise.
    """
    total_us = max(1, int(args["iters"])) * true_us
    sigma = noise * math.sqrt(1.0 + min(8.0, 10_000.0 / total_us))
    factor = math.exp(sigma * gauss("noise", *keys))
    if drift:
        factor *= 1.0 + drift * math.sin(2.0 * math.pi * gauss("drift", *keys[:3]))
    return true_us * factor


def device_factor(seed: int, physical: int) -> float:
    """Speed of one GPU relative to its siblings (0.5 % spread, fixed by the seed)."""
    return math.exp(0.005 * gauss("device", seed, physical))
