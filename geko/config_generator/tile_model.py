"""Predicted time of a macro tile for one size: an analytic model, nothing is measured here.

A workgroup works on one macro tile (or a share of its K) on one compute unit. A step of one element along K costs what
the slowest of its resources costs (matrix units, LDS, loads from L2, fabric and HBM), with a part of the others on top;
a tile has a start (latency of the first loads) and an end (stores, partial sums). Tiles are dealt out to the compute
units in rounds (data-parallel) or in even shares of all K steps (Stream-K). See docs/tuning-configs.md, "Predicted
times", for the formula, the sources of the constants and what it is worth on measured data.

All times are in clock cycles of a compute unit. They serve to compare tiles for one size, not to foretell a time.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import polars as pl

from geko.config_generator.constants import COMPUTE_BYTES, DATA_BYTES
from geko.config_generator.sizes import Size
from geko.domain.arch import Arch, fastest_product, get_arch, supported_archs

#: Rate class of a Tensile type's matrix instructions, and real products per product (complex types, bf16 emulation).
_RATES: dict[str, tuple[str, float]] = {
    "H": ("f16", 1.0), "B": ("bf16", 1.0), "S": ("f32", 1.0), "D": ("f64", 1.0), "I8": ("i8", 1.0),
    "X": ("xf32", 1.0), "X1": ("xf32", 1.0), "C": ("f32", 4.0), "Z": ("f64", 4.0), "F4": ("f4", 1.0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    """What the model knows of a chip; bytes and products are per clock cycle.

    Attributes:
        cus: compute units.
        xcc: accelerator complexes, each with its own L2.
        products: multiply-adds of one compute unit, all four matrix units busy.
        lds: bytes between LDS and registers of one compute unit.
        load: bytes from L2 to one compute unit, all of them loading.
        fabric: bytes from the last-level cache to all L2s together.
        hbm: bytes from memory, whole chip.
        lds_bytes: size of the LDS of one compute unit in bytes.
        wavefront: lanes of a wave.
    """

    cus: int
    xcc: int
    products: float
    lds: float
    load: float
    fabric: float
    hbm: float
    lds_bytes: int
    wavefront: int = 64

    @property
    def registers(self) -> int:
        """Vector registers of a lane, accumulators included: 128 KiB a matrix unit."""
        return 128 * 1024 // 4 // self.wavefront


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers of the model that no data sheet gives, fitted on measured times by ``benchmarks/bench_tile_ranking.py
    --fit`` (see docs/tuning-configs.md), but ``flat_instruction`` (an instruction of 8 passes does half the products)
    and ``reduction`` (5 µs at 2 GHz), which the data say little about.

    Attributes:
        overlap: share of the resources that aren't the slowest, which is not hidden behind it.
        wide_instruction: rate of 32-row instructions relative to 16-row ones.
        flat_instruction: rate of 4-row instructions.
        narrow_loads: rate of loads of fewer than 16 bytes a lane.
        transposed_lds: cost of LDS reads of an operand that is contiguous along M or N, relative to along K.
        spill: extra cost when registers don't suffice, per share of the registers that is missing.
        fixup: cycles to hand partial sums over (synchronisation), a contributor.
        reduction: cycles of the second kernel that adds up the partial sums of a global split.
        launch: cycles that any kernel takes, whatever its tile.
    """

    overlap: float = 0.2
    wide_instruction: float = 0.85
    flat_instruction: float = 0.5
    narrow_loads: float = 0.3
    transposed_lds: float = 1.5
    spill: float = 8.0
    fixup: float = 8000.0
    reduction: float = 10000.0
    launch: float = 4000.0


FITTED = Constants()

#: Tiles that are predicted to take this share longer than the fastest at most are never filtered out; fitted.
NEAR_BEST = 0.10

#: Depth of one step of the main loop in bytes of K, the usual DepthU (64 for 16-bit types).
STEP_BYTES = 128

_ROWS_AT_ONCE = 1 << 18

#: Registers of a lane for addresses and indices, by the kernels' code.
ADDRESS_REGISTERS = 32

#: Least K of a share of a Stream-K tile, in elements, as for GlobalSplitU.
MIN_SHARE = 256


@functools.lru_cache(maxsize=64)
def machine(family: str, data_type: str, cus: int, xcc: int = 0) -> Machine:
    """The chip of an instruction family, from the architecture table.

    Where the table has no product (or no peak of that type), the balance of gfx950 stands in.

    Args:
        family: ``Arch.mi_family``.
        data_type: Tensile type of A and B.
        cus: compute units in use.
        xcc: accelerator complexes; those of the full chip when 0.
    """
    arch = _arch_of(family)
    product = fastest_product(arch.name) if arch is not None else None
    if arch is None or product is None:
        arch = get_arch("gfx950") if arch is None else arch
        product = fastest_product("gfx950")
    assert product is not None
    rate, cost = _RATES.get(data_type, ("f8", 1.0))
    clock = product.max_clock_mhz * 1e6
    peak = product.peak_tflops.get(rate, product.peak_tflops["f16"])
    share = cus / product.cus
    xccs = xcc or arch.xcc
    return Machine(
        cus=cus,
        xcc=xccs,
        products=peak * 1e12 / clock / product.cus / 2 / cost,
        lds=arch.lds_bytes_per_clock,
        load=min(arch.load_bytes_per_clock, arch.l2_bytes_per_clock * xccs / cus),
        fabric=arch.cache_gb_per_s * 1e9 / clock * share,
        hbm=product.hbm_gb_per_s * 1e9 / clock * share,
        lds_bytes=arch.lds_bytes,
        wavefront=arch.wavefront_size,
    )


def _arch_of(family: str) -> Arch | None:
    for name in supported_archs():
        arch = get_arch(name)
        if arch.mi_family == family:
            return arch
    return None


@dataclass(frozen=True, slots=True)
class TileModel:
    """The model for one GEMM type on one chip.

    Attributes:
        machine: the chip.
        data_type: Tensile type of A and B.
        layout: two letters, transposes of A and B.
        stream_k: persistent kernels, which split K on their own: ``gsu`` isn't looked at.
        constants: fitted numbers.
    """

    machine: Machine
    data_type: str
    layout: str = "TN"
    stream_k: bool = False
    constants: Constants = FITTED

    def times(self, frame: pl.DataFrame, size: Size) -> pl.Series:
        """Predicted time of each row for one size in cycles; only the ratios mean something.

        Args:
            frame: columns ``im, in, ik, ib, wtm, wtn, mt0, mt1, waves, lsu, gsu``.
            size: ``(M, N, B, K)``.
        """
        m, n, batch, k = (pl.lit(float(value)) for value in size)
        steps = _steps(self, m, n, batch, k)
        found = []
        for part in frame.iter_slices(_ROWS_AT_ONCE):  # splits of a long K: millions of rows
            lazy = part.lazy()
            for columns in steps:
                lazy = lazy.with_columns(columns)
            found.append(lazy.select("_time").collect()["_time"])
        times = pl.concat(found) if found else pl.Series(dtype=pl.Float64)
        return times.alias("predicted")


def _steps(model: TileModel, m: pl.Expr, n: pl.Expr, batch: pl.Expr, k: pl.Expr) -> list[list[pl.Expr]]:
    """The formula, a list of columns to add for each step; the last one is ``_time``."""
    return [
        _geometry(model, m, n, batch),
        _residents(model),
        _load_rates(model),
        _resources(model, m, n),
        _costs(model, k),
        [(_time(model, m, n, batch, k) + model.constants.launch).alias("_time")],
    ]


def _element(model: TileModel) -> float:
    return 0.5 if model.data_type == "F4" else float(DATA_BYTES[model.data_type])


def _geometry(model: TileModel, m: pl.Expr, n: pl.Expr, batch: pl.Expr) -> list[pl.Expr]:
    """Tiles along M and N and in all, elements of a tile and of a wave's part, matrix units a workgroup keeps busy,
    registers of a lane (accumulators, two sets of what an instruction reads, addresses), LDS of two steps."""
    col, lanes = pl.col, model.machine.wavefront
    n0, n1 = (m / col("mt0")).ceil(), (n / col("mt1")).ceil()
    area = (col("mt0") * col("mt1")).cast(pl.Float64)
    wave0 = (col("im") * col("wtm")).cast(pl.Float64)
    wave1 = (col("in") * col("ib") * col("wtn")).cast(pl.Float64)
    sums = area / (col("waves") * lanes) * (COMPUTE_BYTES[model.data_type] / 4)
    operands = 2 * (wave0 + wave1) * col("ik") * (_element(model) / 4) / lanes
    return [
        n0.alias("_n0"),
        n1.alias("_n1"),
        (n0 * n1 * batch).alias("_tiles"),
        area.alias("_area"),
        wave0.alias("_wave0"),
        wave1.alias("_wave1"),
        (pl.min_horizontal(pl.lit(4.0), (col("waves") * col("lsu")).cast(pl.Float64)) / 4).alias("_units"),
        (sums + operands + ADDRESS_REGISTERS).alias("_registers"),
        (2 * STEP_BYTES * (col("mt0") + col("mt1"))).cast(pl.Float64).alias("_buffers"),
    ]


def _split(model: TileModel) -> pl.Expr:
    return pl.lit(1.0) if model.stream_k else pl.col("gsu").cast(pl.Float64)


def _residents(model: TileModel) -> list[pl.Expr]:
    """Steps that the depth can be multiplied by, workgroups that a CU holds at a time, and those of them that compute
    side by side (Stream-K starts one a CU)."""
    chip, col = model.machine, pl.col
    room = chip.lds_bytes / col("_buffers")
    depth = pl.when(room >= 8).then(8).when(room >= 4).then(4).when(room >= 2).then(2).otherwise(1)
    held = pl.min_horizontal((chip.registers / col("_registers")).floor() / col("_units"), room.floor())
    waiting = pl.min_horizontal(col("_tiles") * _split(model) / float(chip.cus), 1 / col("_units"))
    return [
        depth.alias("_depth"),
        held.clip(1.0, None).alias("_held"),
        (pl.lit(1.0) if model.stream_k else waiting.clip(1.0, None)).alias("_busy"),
    ]


def _load_rates(model: TileModel) -> list[pl.Expr]:
    """Loads of 16 bytes a lane must share a step of the tile out evenly; otherwise they are narrower."""
    threads = pl.col("waves") * pl.col("lsu") * model.machine.wavefront
    pieces = (STEP_BYTES // 16) * pl.col("_depth")
    return [
        pl.when(pl.col(tile) * pieces % threads == 0)
        .then(1.0)
        .otherwise(model.constants.narrow_loads)
        .alias(name)
        for tile, name in (("mt0", "_load0"), ("mt1", "_load1"))
    ]


def _resources(model: TileModel, m: pl.Expr, n: pl.Expr) -> list[pl.Expr]:
    """Cycles of each resource for one element along K: matrix units, LDS and loads of a workgroup; memory of the
    whole chip for as many neighbouring tiles as it works on at a time."""
    chip, c, col, width = model.machine, model.constants, pl.col, _element(model)
    rate = pl.when(col("im") == 32).then(c.wide_instruction).when(col("im") == 4).then(c.flat_instruction)
    read_a = c.transposed_lds if model.layout[0] == "N" else 1.0
    read_b = c.transposed_lds if model.layout[1] == "T" else 1.0
    reads = col("waves") * (col("_wave0") * read_a + col("_wave1") * read_b)
    loads = col("mt0") / col("_load0") + col("mt1") / col("_load1")
    at_once = pl.min_horizontal(pl.lit(float(chip.cus)), col("_tiles"))

    def shared(units: pl.Expr) -> pl.Expr:
        # Rows of A and columns of B that `units` tiles need: a block as square as the grid allows, of each batch.
        tall = pl.min_horizontal((units * col("mt1") / col("mt0")).sqrt(), col("_n0"), units).clip(1.0, None)
        wide = pl.min_horizontal(units / tall, col("_n1")).clip(1.0, None)
        edge = pl.min_horizontal(tall * col("mt0"), m) + pl.min_horizontal(wide * col("mt1"), n)
        return edge * (units / (tall * wide)).clip(1.0, None) * width

    fabric = shared((at_once / chip.xcc).clip(1.0, None)) * pl.min_horizontal(
        at_once, pl.lit(float(chip.xcc))
    )
    return [
        (col("_area") / chip.products / rate.otherwise(1.0) / col("_units")).alias("_mfma"),
        ((reads + col("mt0") + col("mt1")) * width / chip.lds * col("_busy")).alias("_lds"),
        (loads * width / chip.load * col("_busy")).alias("_load"),
        (pl.max_horizontal(fabric / chip.fabric, shared(at_once) / chip.hbm) * col("_tiles") / at_once).alias(
            "_memory"
        ),
    ]


def _overlapped(model: TileModel, parts: list[pl.Expr]) -> pl.Expr:
    """The slowest part, and a share of the others on top."""
    worst = pl.max_horizontal(parts)
    return worst + model.constants.overlap * (pl.sum_horizontal(parts) - worst)


def _costs(model: TileModel, k: pl.Expr) -> list[pl.Expr]:
    """Cycles of a workgroup for one element along K, of the memory for the whole problem, and of a tile's end
    (stores, sums over a local split)."""
    chip, c, col = model.machine, model.constants, pl.col
    missing = (col("_registers") / chip.registers - 1).clip(0.0, None)
    step = _overlapped(model, [col("_mfma"), col("_lds"), col("_load")])
    stores = col("_area") * max(_element(model), 2.0) / (chip.fabric / chip.cus)
    local = pl.when(col("lsu") > 1).then(2 * col("lsu") * col("_area") * 4 / chip.lds).otherwise(0.0)
    return [
        (step * (1 + c.spill * missing)).alias("_step"),
        (col("_memory") * k).alias("_traffic"),
        (stores + local).alias("_end"),
    ]


def _time(model: TileModel, m: pl.Expr, n: pl.Expr, batch: pl.Expr, k: pl.Expr) -> pl.Expr:
    chip, c, col = model.machine, model.constants, pl.col
    cus = float(chip.cus)

    def main(steps: pl.Expr) -> pl.Expr:
        return _overlapped(model, [steps * col("_step"), col("_traffic")])

    if not model.stream_k:
        split = _split(model)
        rounds = (col("_tiles") * split * col("_units") / cus).ceil()
        sums = 2 * m * n * batch * 4 * split / chip.fabric + c.reduction
        return (
            main(rounds * k / split)
            + col("_end") * (1 + (rounds - 1) / col("_held"))
            + pl.when(col("gsu") > 1).then(sums).otherwise(0.0)
        )
    # Either whole tiles in rounds, or even shares of all steps: then partial sums go through memory, and the owner of
    # a tile adds up those of the others. Where tiles are few, a tile is cut into as many pieces as pay (the library
    # chooses its grid in that way).
    rounds = (col("_tiles") / cus).ceil()
    whole = main(rounds * k) + rounds * col("_end")
    few = col("_tiles") < cus
    partial = col("_area") * 4 / (chip.fabric / chip.cus)
    piece = partial + c.fixup
    pays = (k * col("_step") / piece).sqrt()
    pieces = pl.min_horizontal(cus / col("_tiles"), (k / MIN_SHARE).floor(), pays).clip(1.0, None)
    share = pl.when(few).then(1 / pieces).otherwise(col("_tiles") / cus)
    others = pl.when(few).then(pieces - 1).otherwise(1.0)
    cut = main(share * k) + share.clip(1.0, None) * col("_end") + others * piece + partial
    return pl.min_horizontal(whole, cut)
