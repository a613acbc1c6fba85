"""The rows of a report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geko.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.domain.arch import Product
    from geko.warehouse import Warehouse


@dataclass(frozen=True)
class ReportData:
    """What a report shows.

    Attributes:
        run: row of ``export/run``.
        options: options of the run.
        worth: row of ``report/worth``: shares in %, speed-ups as ratios.
        shapes, classes, environment, protocols, noise, clocks: tables of ``sql/queries/report``.
        product: the GPU in the table of architectures, for the roofs; None if it isn't known.
    """

    run: dict[str, Any]
    options: dict[str, Any]
    worth: dict[str, Any]
    shapes: pa.Table
    classes: pa.Table
    environment: pa.Table
    protocols: pa.Table
    noise: pa.Table
    clocks: pa.Table
    product: Product | None

    @property
    def times(self) -> str:
        """``"simulated"`` or ``"measured"``."""
        return "simulated" if self.run["simulated"] else "measured"

    @property
    def title(self) -> str:
        """Title of the page."""
        name = self.run["label"] or self.run["run_id"][:8]
        return f"GEKO {self.run['kind']}: {name} on {self.run['device_name'] or 'unknown GPU'} ({self.times} times)"


def report_data(warehouse: Warehouse, run_id: str) -> ReportData:
    """Collect the rows of a report.

    Args:
        warehouse: where the run is.
        run_id: the run.

    Raises:
        UsageError: the run has no verdicts.
    """
    from geko.domain.arch import find_product

    run = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    rows = {
        name: warehouse.query(f"report/{name}", run_id=run_id)
        for name in ("shapes", "classes", "worth", "environment", "protocols", "noise", "clocks")
    }
    if not rows["shapes"].num_rows or not rows["worth"].num_rows:
        raise UsageError(
            f"run {run_id[:8]} ({run['kind']}, {run['state']}) has no verdicts; a search or tuning that ended has"
        )
    return ReportData(
        run=run,
        options=json.loads(run["options"]),
        worth=rows.pop("worth").to_pylist()[0],
        product=find_product(run["device_name"] or ""),
        **rows,
    )


def headline(data: ReportData) -> list[tuple[str, str]]:
    """The figures that stand first: value and what it is."""
    worth = data.worth
    kept = f"{worth['n_kept']} of {worth['n_shapes']}"
    unchecked = f", {worth['n_unchecked']} of them with results NOT checked" if worth["n_unchecked"] else ""
    interval = f" ({worth['speedup_low']:.3f} to {worth['speedup_high']:.3f})" if worth["n_kept"] else ""
    new = [row["shapes"] for row in data.classes.to_pylist() if row["class"] == "new_solution"]
    return [
        (f"{worth['speedup']:.3f}×{interval}", f"speed-up of the workload's GEMM time, {data.times}"),
        (f"{worth['saved_pct']:.3g} %", f"of the workload's GEMM time saved, {data.times}"),
        (kept, f"shapes kept{unchecked}"),
        (f"{worth['coverage_pct']:.3g} %", "of the time is in kept shapes"),
        *(
            [(str(new[0]), "shapes without a solution before have a new kernel; no other figure counts them")]
            if new
            else []
        ),
    ]
