"""Which combinations of kernel parameters tensilelite refuses, as expressions over whole columns.

The rules are those of tensilelite's solution check (``SolutionStructs``), as far as they depend on the macro
tile. They are kept on the generous side where its result depends on details: a combination that passes here
can still be refused there, one that is dropped here never builds.

Columns read: ``im in ik ib wtm wtn wgm wgn lsu mt0 mt1 waves threads``, and any of the parameters ``DepthU``,
``GlobalReadVectorWidthA/B``, ``VectorWidthA/B``, ``DirectToVgprA/B``, ``WaveSeparateGlobalReadA/B``,
``ClusterLocalRead``, ``1LDSBuffer``. A parameter
without a column is taken from ``fixed``, and tested only where it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from geko.config_generator.constants import COMPUTE_BYTES

#: (name, reason, expression that is true where the combination is refused)
Rule = tuple[str, str, pl.Expr]


@dataclass(frozen=True, slots=True)
class Checks:
    """What versions of tensilelite check differently. The defaults refuse nothing, as the newest one does.

    Attributes:
        four_waves: a Stream-K workgroup has four waves (to 0.12).
        wave_tile: largest wave tile in each direction; a config with a larger one ends the run (to 0.12).
        vgpr_row: loads straight to registers only without waves along the other dimension (2024).
        stream_k_types: types of A, B and D that Stream-K knows (0.12); None for all.
        mixed_sums: sums beyond the 256 accumulation registers go to the others; such kernels of 2024 can't be written.
    """

    four_waves: bool = False
    wave_tile: int | None = None
    vgpr_row: bool = False
    stream_k_types: frozenset[str] | None = None
    mixed_sums: bool = True


#: Those of the newest tensilelite.
NEWEST_CHECKS = Checks()


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What the rules need to know beside the columns.

    Attributes:
        data_type: Tensile type of A and B.
        element_bytes: bytes of one element in LDS.
        layout: two letters, transposes of A and B.
        lds_bytes: LDS of a compute unit.
        wavefront: lanes of a wave.
        compute_type: Tensile type of the accumulator.
        fixed: parameters that are the same in all rows.
        stream_k: Stream-K kernels.
        checks: of the tensilelite at hand.
        open: columns that are still to come and that may keep an operand out of LDS (``DirectToVgprA``/``B``): until then
            what depends on the bytes in LDS is judged in their favour, or not at all.
        registers: vector registers of a lane beside the accumulation registers; None where they aren't counted.
    """

    data_type: str
    element_bytes: float
    layout: str
    lds_bytes: int
    wavefront: int = 64
    compute_type: str = "S"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    stream_k: bool = False
    checks: Checks = NEWEST_CHECKS
    open: frozenset[str] = frozenset()
    registers: int | None = None


def rules(facts: KernelFacts, columns: list[str]) -> list[Rule]:
    """Rules that can be judged with these columns, in the order in which tensilelite would meet them."""
    known = set(columns)

    def has(*names: str) -> bool:
        return all(name in known or facts.fixed.get(name) is not None for name in names)

    def value(name: str) -> pl.Expr:
        return pl.col(name) if name in known else pl.lit(facts.fixed[name])

    def known_value(name: str) -> pl.Expr | None:
        return value(name) if has(name) else None

    out: list[Rule] = list(_geometry(facts))
    if has("DepthU"):
        out += _depth(value("DepthU"))
        cluster = value("ClusterLocalRead") if has("ClusterLocalRead") else None
        is_open = any(not has(name) for name in facts.open)
        if (
            has("VectorWidthA", "VectorWidthB") and not is_open
        ):  # padding depends on them, and with it the width of the reads
            out += _local_reads(facts, value("DepthU"), cluster)
        buffers = value("1LDSBuffer") if has("1LDSBuffer") else pl.lit(1)
        out.append(_lds(facts, buffers))
    for side, tile in (("A", "mt0"), ("B", "mt1")):
        width, vector = f"GlobalReadVectorWidth{side}", f"VectorWidth{side}"
        wave_tile = pl.col("wtm" if side == "A" else "wtn")
        if has(vector):
            chosen = value(vector)
            out.append((
                "V1",
                f"{vector} doesn't divide the wave tile, or is wider than 16 bytes",
                (chosen > 0) & ((wave_tile % chosen.clip(1) != 0) | (chosen * facts.element_bytes > 16)),
            ))  # fmt: skip
        direct = value(f"DirectToVgpr{side}").cast(pl.Boolean) if has(f"DirectToVgpr{side}") else None
        if has("DepthU", width):
            out += _loads(facts, side, pl.col(tile), value("DepthU"), value(width), direct)
        if direct is not None:
            out += _to_vgpr(facts, side, direct, known_value(width), known_value(vector))
            if has("DepthU") and _packed(facts, side):
                single = value("DepthU") // pl.col("lsu") // pl.col("ik") <= 1
                out.append(("E3", f"DirectToVgpr{side}: no iteration to prefetch in", direct & single))
            if has(f"WaveSeparateGlobalRead{side}"):
                apart = value(f"WaveSeparateGlobalRead{side}") > 0
                out.append(
                    ("E3", f"DirectToVgpr{side}: not with separate loads of the waves", direct & apart)
                )
        if has("DepthU", f"WaveSeparateGlobalRead{side}"):
            apart = value(f"WaveSeparateGlobalRead{side}") > 0
            split = value("DepthU") if _contiguous_free(facts, side) else pl.col(tile)
            waves = pl.col("waves") * pl.col("lsu")
            out.append(("D4", "waves can't load separate parts of the tile", apart & (split % waves != 0)))
    if facts.registers is not None and has("DepthU") and not any(not has(name) for name in facts.open):
        out.append(
            (
                "R1",
                f"more than {facts.registers} vector registers",
                _registers(facts, known_value) > facts.registers,
            )
        )
    if has("DirectToVgprA", "DirectToVgprB"):
        both = value("DirectToVgprA").cast(pl.Boolean) & value("DirectToVgprB").cast(pl.Boolean)
        out.append(("E4", "only one operand can go to registers without LDS", both))
    return out


def drop_invalid(facts: KernelFacts, frame: pl.DataFrame, touching: str | None = None) -> pl.DataFrame:
    """Rows that no rule refuses.

    Args:
        facts: the GEMM and the chip.
        frame: combinations, see the module's text for the columns.
        touching: only apply rules that look at this column; the others have been applied before it was added.
    """
    names = frame.columns
    applied: list[pl.Expr] = []
    helpers = False
    for _, _, rule in rules(facts, names):
        looked_at = rule.meta.root_names()
        if touching is None or touching in looked_at or (touching in _PADDING and "_buffer" in looked_at):
            applied.append(rule)
            helpers = helpers or "_buffer" in looked_at
    if not applied:
        return frame
    if helpers:
        frame = with_lds(facts, frame)
    return frame.filter(~pl.any_horizontal(applied)).select(names)


def why_refused(facts: KernelFacts, frame: pl.DataFrame, most: int = 2) -> str:
    """The rules that refuse most rows, with their reasons; empty where nothing is refused.

    Args:
        facts: the GEMM and the chip.
        frame: combinations as for :func:`drop_invalid`.
        most: so many rules are named.
    """
    found = rules(facts, frame.columns)
    if frame.is_empty() or not found:
        return ""
    frame = with_lds(facts, frame)
    counts = frame.select(expr.sum().alias(str(at)) for at, (_, _, expr) in enumerate(found)).row(0)
    worst = sorted(((n, at) for at, n in enumerate(counts) if n), key=lambda pair: (-pair[0], pair[1]))[:most]
    return "; ".join(f"{n} of {frame.height}: {found[at][1]}" for n, at in worst)


#: Parameters that the bytes of an LDS buffer and the width of local reads depend on.
_PADDED_BY = ("VectorWidth", "GlobalReadVectorWidth", "DirectToVgpr")
_PADDING = frozenset({"DepthU"} | {f"{kind}{side}" for kind in _PADDED_BY for side in "AB"})


def with_lds(facts: KernelFacts, frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``_read`` (elements) and ``_buffer`` (bytes), where DepthU is known.

    Columns, not expressions: both feed several rules, and nested they would be worked out many times over.
    """
    known = set(frame.columns)
    if "DepthU" not in known and facts.fixed.get("DepthU") is None:
        return frame

    def value(name: str) -> pl.Expr | None:
        if name in known:
            return pl.col(name)
        fixed = facts.fixed.get(name)
        return None if fixed is None else pl.lit(fixed)

    depth = value("DepthU")
    assert depth is not None
    per_thread = _inputs_per_thread(facts)
    if facts.layout == "NT":
        frame = frame.with_columns(per_thread.alias("_read"))
    else:
        # Halved where one iteration would take all, and again where the padding that goes with it doesn't fit.
        read = pl.lit(int(16 / facts.element_bytes), pl.Int64)
        short = (read // per_thread > 1) & (depth // pl.col("ik") <= read // per_thread)
        read = pl.when(short).then(read // 2).otherwise(read)
        frame = frame.with_columns(read.alias("_read"))
        frame = frame.with_columns(_buffer(facts, depth, value).alias("_buffer"))
        overflow = (pl.col("_read") // per_thread > 1) & (pl.col("_buffer") > facts.lds_bytes)
        frame = frame.with_columns(
            pl.when(overflow).then(pl.col("_read") // 2).otherwise("_read").alias("_read")
        )
    return frame.with_columns(_buffer(facts, depth, value).alias("_buffer"))


def _contiguous_free(facts: KernelFacts, side: str) -> bool:
    return facts.layout[0] == "N" if side == "A" else facts.layout[1] != "N"


def _geometry(facts: KernelFacts) -> list[Rule]:
    col = pl.col
    area, threads, split = col("mt0") * col("mt1"), col("threads"), col("lsu") > 1
    out: list[Rule] = [
        ("G2", "fewer elements in the macro tile than threads", area < threads),
        ("G3", "LocalSplitU: threads must be a multiple of MT0", split & (threads % col("mt0") != 0)),
        ("G3", "LocalSplitU: MT0*MT1 must be a multiple of the threads", split & (area % threads != 0)),
        (
            "G3",
            "LocalSplitU: partial sums don't fit LDS",
            split & (area * col("lsu") * COMPUTE_BYTES.get(facts.compute_type, 4) > facts.lds_bytes),
        ),
    ]
    if facts.compute_type not in ("S", "I", "C", "Z"):
        out.append(("G3", "LocalSplitU needs 32-bit accumulators", split))
    if facts.checks.wave_tile is not None:
        most = facts.checks.wave_tile
        out.append(
            (
                "G6",
                f"this tensilelite knows wave tiles up to {most}",
                (col("wtm") > most) | (col("wtn") > most),
            )
        )
    if facts.stream_k and facts.checks.four_waves:
        out.append(("S1", "this tensilelite's Stream-K needs four waves", col("waves") != 4))
    return out


def _depth(depth: pl.Expr) -> list[Rule]:
    return [("G1", "DepthU isn't a multiple of the instruction's K times LocalSplitU",
             depth % (pl.col("ik") * pl.col("lsu")) != 0)]  # fmt: skip


def _unroll_major(facts: KernelFacts, side: str) -> bool:
    """Whether an operand lies in LDS along K: all that are not contiguous along their free dimension."""
    return not _contiguous_free(facts, side)


def _inputs_per_thread(facts: KernelFacts) -> pl.Expr:
    return (pl.col("im") * pl.col("ik") * pl.col("ib") // facts.wavefront).clip(1)


def _local_reads(facts: KernelFacts, depth: pl.Expr, cluster: pl.Expr | None) -> list[Rule]:
    if facts.layout == "NT":
        return []  # both operands lie in LDS as they are read: no wider reads
    iterations = depth // pl.col("lsu") // pl.col("ik")
    # The buffer is named so that these rules are applied again when its padding becomes known.
    multiple = pl.col("_read") // _inputs_per_thread(facts)
    known = pl.col("_buffer") >= 0
    out: list[Rule] = [
        (
            "G4",
            "iterations aren't a multiple of the wide local read",
            known & (iterations % multiple.clip(1) != 0),
        ),
        ("G4", "too few iterations to prefetch wide local reads", known & (iterations < multiple)),
    ]
    if cluster is not None:
        unclustered = known & (multiple > 1) & (cluster == 0) & (iterations > 1)
        out.append(("G4", "wide local reads need ClusterLocalRead", unclustered))
    return out


def _buffer(facts: KernelFacts, depth: pl.Expr, value: Callable[[str], pl.Expr | None]) -> pl.Expr:
    """Bytes of one LDS buffer with automatic padding; what isn't known yet counts as no padding."""
    col, size = pl.col, facts.element_bytes
    padded16 = (col("ib") == 1) & (col("im") == 16)
    read_width, total = col("_read"), pl.lit(0.0)
    may_go: list[pl.Expr] = []
    for side, tile in (("A", "mt0"), ("B", "mt1")):
        plain = col(tile) * depth * size
        vector, width = value(f"VectorWidth{side}"), value(f"GlobalReadVectorWidth{side}")
        if vector is not None:
            wave_tile = col("wtm" if side == "A" else "wtn")
            vector = pl.when(vector > 0).then(vector).otherwise(auto_vector_width(facts, wave_tile))
        if _unroll_major(facts, side):
            registers = (read_width * size / 4).floor()
            best = (
                pl.when(padded16 & ((registers == 4) | (registers == 1)))
                .then(read_width * 2)
                .otherwise(read_width)
            )
            pad = best if width is None else pl.max_horizontal(width, best)
            row = depth * size
            rows = row if vector is None else pl.when(row * vector > 128).then(row * vector).otherwise(row)
            interval = (rows / 128).ceil() * 128
            padded = plain / interval * (interval + pad * size) if vector is not None else plain
        elif vector is None:
            padded = plain
        else:
            interval = col(tile) * size * read_width
            pad_bytes = ((16 * vector * size) + interval) % 128
            padded = pl.when(padded16).then(plain / interval * (interval + pad_bytes)).otherwise(plain)
        direct = value(f"DirectToVgpr{side}")
        if direct is not None:
            padded = pl.when(direct.cast(pl.Boolean)).then(0.0).otherwise(padded)
        align = 256.0 / size
        aligned = (padded.floor() / align).ceil() * align
        total = total + aligned
        if direct is None and f"DirectToVgpr{side}" in facts.open:
            may_go.append(aligned)
    # One operand at most goes to registers.
    return total - pl.max_horizontal(may_go) if may_go else total


def _registers(facts: KernelFacts, known: Callable[[str], pl.Expr | None]) -> pl.Expr:
    """Vector registers that tensilelite's kernel writer hands out before the main loop, as of 0.12.1 (``initKernel``): what
    doesn't fit the accumulation registers, addresses, operands of the instructions, and loads on their way to LDS.

    What isn't known yet counts with the least that it can be.
    """
    col, size = pl.col, facts.element_bytes
    depth = known("DepthU")
    assert depth is not None
    iterations = depth // col("lsu") // col("ik")
    per_thread = _inputs_per_thread(facts)
    sums = (
        col("mt0")
        * col("mt1")
        * (COMPUTE_BYTES.get(facts.compute_type, 4) // 4)
        // (col("waves") * facts.wavefront)
    )
    arch = known("MIArchVgpr")
    flat = pl.lit(bool(facts.fixed.get("MIArchVgpr") or False))
    in_arch = flat if arch is None else arch.fill_null(flat)
    total = (
        pl.when(in_arch).then(sums).otherwise((sums - 256).clip(0) * (1 if facts.checks.mixed_sums else 1024))
        + 1
    )
    cluster = known("ClusterLocalRead")
    clustered = pl.lit(False) if cluster is None else cluster == 1
    direct = {side: known(f"DirectToVgpr{side}") for side in "AB"}
    for side in "AB":
        if direct[side] is not None and _packed(facts, side):
            clustered = clustered | direct[side].cast(pl.Boolean)  # type: ignore[union-attr]
    buffers = pl.when(iterations <= 1).then(1).when(clustered).then(iterations).otherwise(2)
    loads: dict[str, pl.Expr | None] = {}
    guarded = pl.lit(False)  # loads that may reach over an edge need an address each
    for side, tile in (("A", "mt0"), ("B", "mt1")):
        width = known(f"GlobalReadVectorWidth{side}")
        on = pl.lit(False) if direct[side] is None else direct[side].cast(pl.Boolean)  # type: ignore[union-attr]
        copies = pl.when(on).then(col("wgn" if side == "A" else "wgm")).otherwise(1)
        elements = col(tile) * depth * copies // col("threads")
        held = (elements * size / 4).ceil()
        loads[side] = None
        if width is not None:
            each = pl.when(width > 0).then(width).otherwise(None)
            loads[side] = elements // each
            held = pl.coalesce(elements // each * pl.max_horizontal(pl.lit(4.0), each * size) / 4, held)
            if _contiguous_free(facts, side):
                guarded = guarded | (each > 1).fill_null(False)
        block = (col("wtm" if side == "A" else "wtn") * per_thread * size / 4).floor()
        operands = block * buffers
        vector = known(f"VectorWidth{side}")
        if vector is not None and _packed(facts, side):
            wave_tile = col("wtm" if side == "A" else "wtn")
            resolved = pl.when(vector > 0).then(vector).otherwise(auto_vector_width(facts, wave_tile))
            packed = (resolved * size / 4).ceil() * (wave_tile // resolved) * buffers * per_thread
            operands = pl.when(resolved > 1).then(block + packed).otherwise(operands * int(4 / size))
            packs = (resolved > 1) & (per_thread > 1)
            straight = pl.when(packs).then(block + 2 * packed).otherwise(2 * held)
        else:
            straight = 2 * held
        total = total + pl.when(on).then(straight).otherwise(operands + held + 2)
    if size < 2 and (_packed(facts, "A") or _packed(facts, "B")):
        total = total + 1
    if loads["A"] is None or loads["B"] is None:
        return total + 2
    both = loads["A"] + loads["B"]
    scalar = known("UseSgprForGRO")
    many = guarded if scalar is None else guarded | (scalar == 0) | ((scalar == -1) & (both > 35))
    return total + pl.when(many).then(both).otherwise(2).fill_null(2)


def _lds(facts: KernelFacts, buffers: pl.Expr) -> Rule:
    one = pl.col("_buffer")
    # The second of two buffers begins at a power of two.
    second = pl.lit(2.0).pow((one.clip(1)).log(2).ceil())
    needed = pl.when(buffers == 0).then(second + one).otherwise(one)
    return ("L2", f"the tile doesn't fit the {facts.lds_bytes // 1024} KiB of LDS", needed > facts.lds_bytes)


def _loads(
    facts: KernelFacts, side: str, tile: pl.Expr, depth: pl.Expr, width: pl.Expr, direct: pl.Expr | None
) -> list[Rule]:
    wide = width.clip(1)

    def uneven(elements: pl.Expr) -> pl.Expr:
        loads = elements // wide
        return (elements % wide != 0) | (loads % pl.col("threads") != 0) | (loads == 0)

    # Waves along the other dimension each load their own copy into registers.
    copies = pl.col("wgn" if side == "A" else "wgm")
    if direct is not None:
        bad = uneven(tile * depth * pl.when(direct).then(copies).otherwise(1))
    else:
        bad = uneven(tile * depth)
        if f"DirectToVgpr{side}" in facts.open:
            bad = bad & uneven(tile * depth * copies)
    coalesced = tile if _contiguous_free(facts, side) else depth
    given = width > 0
    return [
        (
            "V2",
            f"GlobalReadVectorWidth{side} is wider than 16 bytes",
            given & (wide * facts.element_bytes > 16),
        ),
        (
            "G5",
            f"the loads of {side} don't split evenly over the threads",
            given & bad,
        ),
        (
            "V2",
            f"GlobalReadVectorWidth{side} doesn't divide the contiguous dimension",
            given & (coalesced % wide != 0),
        ),
        *(
            [
                (
                    "V2",
                    "GlobalReadVectorWidthB doesn't divide the instruction's N",
                    given & (pl.col("in") % wide != 0),
                )
            ]
            if side == "B" and _contiguous_free(facts, "B")
            else []
        ),
        (
            "V2",
            "width -2 is for skinny tiles of an operand contiguous along its free dimension",
            (width == -2) & _not_skinny(facts, side),
        ),
    ]


def _not_skinny(facts: KernelFacts, side: str) -> pl.Expr:
    if not _contiguous_free(facts, side):
        return pl.lit(True)
    tile, waves = ("wtm", "wgm") if side == "A" else ("wtn", "wgn")
    return (pl.col("ib") != 1) | (pl.col(tile) != 1) | (pl.col(waves) != 1)


def _to_vgpr(
    facts: KernelFacts, side: str, on: pl.Expr, width: pl.Expr | None, vector: pl.Expr | None
) -> list[Rule]:
    name = f"DirectToVgpr{side}"
    other = pl.col("wgn" if side == "A" else "wgm")
    out: list[Rule] = []
    if facts.checks.vgpr_row:
        out.append(("E4", f"{name}: waves along the other dimension", on & (other != 1)))
    # Blocks of an instruction lie along the waves of M, and what is left of them along N.
    blocks = pl.col("ib") > 1
    if side == "B":
        blocks = blocks & (pl.col("wgm") > 1)
    out.append(("E4", f"{name}: instructions with blocks along the other dimension", on & blocks))
    if width is not None:
        narrow = (width > 0) & (width * facts.element_bytes < 4)
        out.append(("E3", f"{name}: loads of less than 4 bytes", on & narrow))
    if not _contiguous_free(facts, side):
        out.append(("E3", f"{name}: no LocalSplitU for this layout", on & (pl.col("lsu") > 1)))
    elif width is not None and vector is not None:
        wave_tile = pl.col("wtm" if side == "A" else "wtn")
        resolved = pl.when(vector > 0).then(vector).otherwise(auto_vector_width(facts, wave_tile))
        out.append(
            ("E3", f"{name}: VectorWidth must equal the load width", on & (width > 0) & (resolved != width))
        )
    return out


def _packed(facts: KernelFacts, side: str) -> bool:
    """Whether values that go to registers are packed there: small types of an operand along its free dimension."""
    return facts.element_bytes < 4 and _contiguous_free(facts, side)


def auto_vector_width(facts: KernelFacts, wave_tile: pl.Expr) -> pl.Expr:
    """What tensilelite makes of VectorWidth -1: the widest power of two up to 16 bytes that divides the wave
    tile."""
    widest = max(1, int(16 / facts.element_bytes))
    choice = pl.lit(1)
    width = 2
    while width <= widest:
        choice = pl.when(wave_tile % width == 0).then(width).otherwise(choice)
        width *= 2
    return choice
