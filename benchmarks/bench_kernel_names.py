"""How fast kernel names are parsed: all at once against one by one, in one run.

Usage: python benchmarks/bench_kernel_names.py [NAMES] [--repeat N]

NAMES is a parquet file with a column solution_name, or a text file of one name a line. Without it, made-up
names are parsed.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import polars as pl

from geko.domain.kernel_name import parse_name, parse_names

_MADE_UP = (
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{mt0}x{mt1}x{du}_MI16x16x1_SN_LDSB{ldsb}_AFC1_AG0_AFEM1_AFEM1"
    "_ASEM1_CLR{clr}_CADS0_DTLA0_DTLB0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSU0_GSUAMB_GSUC0_GSUWGMRR0_GLS0"
    "_ISA950_IU1_K1_LBSPPA1024_LBSPPB1024_LPA16_LPB16_LRVW8_LWPMn1_MIAV0_MIWT4_{wt}_MO40_NTn1_NTC{nt}_NTD0_NLCA1_NLCB1"
    "_PGR{pgr}_PLR1_SIA3_SS1_SU0_SUM0_SUS{sus}_SVW4_SK3_SKXCCM0_TLDS1_VWA4_VWB{vwb}_WS64_WG64_4_1_WGM{wgm}_WGMXCC8"
    "_WGMXCCGn1"
)


def made_up_names() -> list[str]:
    """About 31,000 distinct names of one layout."""
    axes = {
        "mt0": (64, 128, 256), "mt1": (64, 128, 256), "du": (32, 64, 128), "ldsb": (0, 1), "clr": (0, 1),
        "wt": (2, 4, 8), "nt": (0, 4), "pgr": (1, 2), "sus": (64, 128), "vwb": (1, 2, 4, 8), "wgm": (1, 4, 6),
    }  # fmt: skip
    return [
        _MADE_UP.format(**dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    ]


def read_names(path: Path) -> list[str]:
    """Distinct names of a parquet or text file."""
    if path.suffix == ".parquet":
        return (
            pl.read_parquet(path, columns=["solution_name"])["solution_name"].unique().drop_nulls().to_list()
        )
    return list(dict.fromkeys(path.read_text(encoding="utf-8").split()))


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    names = read_names(args.names) if args.names else made_up_names()
    bulk = []
    for _ in range(args.repeat):
        begin = time.perf_counter()
        frame = parse_names(names)
        bulk.append(time.perf_counter() - begin)
    sample = names[:: max(1, len(names) // 4000)]
    begin = time.perf_counter()
    for name in sample:
        parsed = parse_name(name)
        parsed.hot(), parsed.canonical_json(), parsed.kernel_key()
    single = (time.perf_counter() - begin) / len(sample)
    best = min(bulk) / len(names)
    strange = frame.filter(pl.col("leftover").list.len() > 0).height
    print(f"names                {len(names):>10,}   with leftover pieces {strange}")
    print(f"all at once          {min(bulk):>10.3f} s {1 / best:>12,.0f} names/s")
    print(f"one by one (sample)  {single * 1e6:>10.1f} µs a name {1 / single:>8,.0f} names/s")
    print(f"ratio                {single / best:>10.1f}")


if __name__ == "__main__":
    main()
