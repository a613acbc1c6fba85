"""What a search would cost and could win, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.runs import protocols
from geko.runs.confirm import N_QUALIFY, QUALIFY_ROUNDS

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.runs.options import RunOptions, Source
    from geko.runs.setup import Ground
    from geko.warehouse import Warehouse

#: Solutions of a library for one GEMM type where no search has counted them yet.
EXPECTED_CANDIDATES = 200
_CHUNK = 8


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A search that was not run.

    Attributes:
        stages: per stage jobs, jobs that are done already, device seconds, and at most.
        lines: what could be won, and how long it takes.
    """

    stages: pa.Table
    lines: list[str]


def plan_search(
    db: str | Path | None, source: Source, options: RunOptions, *, anchor: Path | None = None
) -> SearchPlan:
    """Say what a search would do. The workload is ingested and the devices are asked for their names; nothing is timed.

    Args:
        db: warehouse file; None for ``$GEKO_DB``, else ``./geko.duckdb``.
        source: where the problems come from.
        options: options of the search.
        anchor: file whose ancestors may be the hipBLASLt checkout.
    """
    from geko.runs.setup import prepare_ground
    from geko.runs.source import load_source
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        arch = options.simulate.arch if options.simulate is not None else options.extra.get("arch")
        workload = load_source(warehouse, source, arch)
        ground = prepare_ground(warehouse, options, options.workdir, anchor)
        shapes = warehouse.query(
            "run/estimate_shapes", {"rates": _rates(ground.arch)}, workload_id=workload.workload_id,
            environment_id=ground.environment_id, library_id=ground.reference.library_id,
            baseline_protocol_id=protocols.baseline(options).protocol_id,
            screen_protocol_id=protocols.screen(options).protocol_id, expected_candidates=EXPECTED_CANDIDATES,
            keep_thr=options.effective_keep_thr("search"),
        )  # fmt: skip
        stages = _stages(warehouse, shapes, options)
        worth = warehouse.query("run/estimate_worth", {"shapes": shapes}).to_pylist()[0]
    return SearchPlan(stages.drop(["nr"]), _lines(worth, stages, ground, options))


def _rates(arch: str) -> pa.Table:
    """Roofline of an architecture: matrix peak in GFLOP/s by types, memory bandwidth in GB/s."""
    import pyarrow as pa

    from geko.domain.arch import fastest_product
    from geko.domain.dtypes import BY_COMPUTE, BY_TOKEN

    product = fastest_product(arch)
    rows: list[dict[str, Any]] = []
    for token in BY_TOKEN if product is not None else ():
        for compute in BY_COMPUTE:
            peak = product.peak(token, None, compute) if product is not None else None
            if product is not None and peak is not None:
                rows.append(
                    {
                        "a_type": token,
                        "compute_type": compute,
                        "peak_gflops": 1e3 * peak,
                        "gb_per_s": product.hbm_gb_per_s,
                    }
                )
    schema = pa.schema(
        [
            ("a_type", pa.string()),
            ("compute_type", pa.string()),
            ("peak_gflops", pa.float64()),
            ("gb_per_s", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def _stages(warehouse: Warehouse, shapes: pa.Table, options: RunOptions) -> pa.Table:
    return warehouse.query(
        "run/estimate_stages", {"shapes": shapes}, iters=protocols.ITERS, duration=options.duration,
        compare_duration=options.compare_duration, rounds=options.effective_rounds, rule=options.rule,
        confirm_candidates=options.confirm_candidates, shape_budget_s=options.confirm_budget,
        run_budget_s=options.confirm_run_budget, verify=options.verify, chunk=_CHUNK, n_qualify=N_QUALIFY,
        qualify_rounds=QUALIFY_ROUNDS,
    )  # fmt: skip


def _lines(worth: dict[str, Any], stages: pa.Table, ground: Ground, options: RunOptions) -> list[str]:
    word = "simulated" if ground.simulated else "measured"
    n_shapes, n_kept = worth["n_shapes"], worth["n_kept"]
    lines = [
        f"{n_kept} of {n_shapes} GEMMs make at least {options.effective_keep_thr('search'):g} % of the time each, "
        f"{worth['kept_pct']:.1f} % together"
    ]
    if worth["n_without"]:
        lines.append(f"{worth['n_without']} GEMMs have no solution in the library, or no usable time")
    if worth["n_guessed"]:
        lines.append(
            f"{worth['n_guessed']} of {n_shapes} GEMMs have no {word} time yet: their shares are guessed, and what could be "
            "won is not known; `geko bench` or the first stage of the search times them"
        )
    else:
        most = worth["at_most_pct"]
        speedup = f", a speed-up of {1 / (1 - most / 100):.2f}" if most < 99 else ""
        lines.append(
            f"At most {most:.1f} % of the GEMM time could be won{speedup}: if each of them reached the roofline "
            f"({word} times)"
        )
        if worth["n_no_roofline"]:
            lines.append(
                f"{worth['n_no_roofline']} of them have no roofline in the arch table and count as if they could vanish"
            )
    totals = stages.to_pylist()
    seconds, most_s = (sum(row[name] for row in totals) for name in ("seconds", "at_most_s"))
    jobs = sum(row["jobs"] - row["done"] for row in totals)
    n_devices = len(ground.slots)
    lines.append(
        f"{jobs} job(s) to run, {_span(seconds)} to {_span(most_s)} of device time: some {_span(seconds / n_devices)} to "
        f"{_span(most_s / n_devices)} on {n_devices} device(s), and start-up of the programs (estimated)"
    )
    return lines


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
