"""What changed between two environments, libraries or runs: per shape, in total, and in the environment itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from geko.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Warehouse

#: A ratio within [1 / THRESHOLD, THRESHOLD] is no change.
THRESHOLD = 1.03


@dataclass(frozen=True)
class Side:
    """One side of a diff.

    Attributes:
        kind: ``"environment"``, ``"library"`` or ``"run"``.
        id: its id.
        label: how it is shown.
        simulated: its times are simulated.
    """

    kind: str
    id: str
    label: str
    simulated: bool

    @property
    def times(self) -> str:
        """``"simulated"`` or ``"measured"``."""
        return "simulated" if self.simulated else "measured"


@dataclass(frozen=True)
class Diff:
    """Two sides compared.

    Attributes:
        a, b: the sides.
        shapes: a row per shape: times in µs, ``ratio`` = a / b (above 1: B is faster) with its 95 % interval, whether the
            kernel changed (``unknown`` where only one side has a name), and the class (``regressed``, ``improved``,
            ``unchanged``, ``only in A``, ``only in B``, ``no common protocol``), and whether the times are ``measured`` or
            ``simulated``; the largest loss first.
        totals: a row per class, and one of all that compare; ms, weighted with the calls of the workload.
        fields: the environment fields that differ.
    """

    a: Side
    b: Side
    shapes: pa.Table
    totals: pa.Table
    fields: pa.Table


def environments(warehouse: Warehouse) -> pa.Table:
    """The environments of a warehouse with the number of timings, the richest first."""
    return warehouse.query("history/environments")


def resolve_side(warehouse: Warehouse, text: str) -> Side:
    """The environment, library or run that a text names.

    Args:
        warehouse: where it is.
        text: the start of an id (``geko envs``, ``geko runs``), the name of a library or the label of a run; a word such as
            ``run:`` before it says what is meant.

    Raises:
        UsageError: nothing or several things fit, or its times are partly simulated.
    """
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("environment", "library", "run"):
        kind, rest = "", text
    found = [
        row
        for row in warehouse.query("history/sides", text=rest).to_pylist()
        if rest and kind in ("", row["kind"])
    ]
    if not found:
        raise UsageError(
            f"{text!r} names no environment, library or run of {warehouse.path}; `geko envs` and `geko runs` list them, and "
            "`geko db import` brings in other warehouses"
        )
    if len(found) > 1:
        shown = ", ".join(f"{row['kind']}:{row['id'][:12]}" for row in found[:5])
        raise UsageError(f"{text!r} fits several: {shown}; give more of one")
    row = found[0]
    if row["mixed"]:
        raise UsageError(f"{text!r} has measured and simulated times; name an environment of it")
    return Side(row["kind"], row["id"], row["label"] or row["id"], row["simulated"])


def diff(
    warehouse: Warehouse, a: str, b: str, *, workload: str | None = None, threshold: float = THRESHOLD
) -> Diff:
    """Compare two environments, libraries or runs.

    Args:
        warehouse: where both are.
        a: the side before, as for `resolve_side`.
        b: the side after.
        workload: only its shapes, weighted with its calls.
        threshold: ratio from which a shape counts as changed; its interval must lie on one side of 1 as well.

    Raises:
        UsageError: a side isn't there, one is simulated and the other measured, an unknown workload or a bad threshold.
    """
    if not threshold >= 1:
        raise UsageError(f"--threshold must be at least 1, not {threshold}")
    one, two = resolve_side(warehouse, a), resolve_side(warehouse, b)
    if one.simulated != two.simulated:
        raise UsageError("one side is simulated and the other measured: their times don't compare")
    workload_id = None if workload is None else _workload_id(warehouse, workload)
    shapes = warehouse.query(
        "history/shape_diff",
        a_kind=one.kind, a_id=one.id, b_kind=two.kind, b_id=two.id, workload_id=workload_id, threshold=float(threshold),
    )  # fmt: skip
    totals = warehouse.query("history/diff_totals", {"shapes": shapes})
    # Rows leave as JSON and CSV without the headline that says it.
    shapes = shapes.append_column("times", [[one.times] * shapes.num_rows])
    inside = [
        warehouse.query("history/side_environments", kind=side.kind, id=side.id)["environment_id"].to_pylist()
        for side in (one, two)
    ]
    return Diff(
        one,
        two,
        shapes,
        totals,
        warehouse.query("history/environment_fields", a_ids=inside[0], b_ids=inside[1]),
    )


def _workload_id(warehouse: Warehouse, name: str) -> str:
    from geko.domain.identity import content_id

    known = warehouse.query("run/workload_names")["name"].to_pylist()
    if name not in known:
        raise UsageError(f"no workload {name!r} in {warehouse.path}; known: {', '.join(known) or 'none'}")
    return content_id("workload", name)
