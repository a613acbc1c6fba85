"""Measurement and validation rows out of what a bench output says about a problem."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from geko.runners.base import MEASUREMENTS, VALIDATIONS, Arm
from geko.runners.bench_reading import RowReading
from geko.runners.solutions import SolutionBook

#: Printed columns without a column in table ``measurement``: into ``extra`` under these names.
_ALSO = (
    "amax_d", "split_k", "wgm", "lowest_median_freq", "median_mclk", "cpu_gflops", "cpu_us", "status",
    "n_supported", "n_total",
)  # fmt: skip
_FAILED = frozenset({"failed", "fail"})


@dataclass(frozen=True, slots=True)
class Place:
    """What all rows of one problem in one process share.

    Attributes:
        problem_id: the problem.
        row: its input row, in the client's names.
        arm: the library it ran with.
        measured_at: start of the process, UTC.
        block_id, round: place in a comparison; None outside of one.
    """

    problem_id: str
    row: Mapping[str, Any]
    arm: Arm
    measured_at: datetime
    block_id: str | None = None
    round: int | None = None

    def columns(self) -> dict[str, Any]:
        """Values of the columns that all its measurements share."""
        return {
            "problem_id": self.problem_id,
            "library_id": self.arm.library_id,
            "arm": self.arm.name if self.block_id is not None else None,
            "block_id": self.block_id,
            "round": self.round,
            "measured_at": self.measured_at,
            "iters": self.row.get("iters"),
            "cold_iters": self.row.get("cold_iters"),
        }


def measured(
    reading: RowReading, place: Place, book: SolutionBook, shared_with: str | None = None
) -> list[dict[str, Any]]:
    """Rows of table ``measurement``: every printed block, the repeated winner too, and every skipped
    candidate.

    Args:
        reading: what was printed for the problem.
        place: where and how.
        book: gets the kernels.
        shared_with: the problem whose record the client took for this one as well.
    """
    common = place.columns()
    note = {} if shared_with is None else {"shared_with": shared_with}
    library = place.arm.library_id
    rows: list[dict[str, Any]] = [
        {
            **common,
            "solution_id": _solution(block, library, book),
            "solution_index": block["solution_index"],
            "rank": block["rank"],
            "winner_echo": block["winner_echo"],
            "outcome": "ok",
            "us": block["us"],
            "gflops": block["gflops"],
            "gbps": block["gbps"],
            "iters": common["iters"] if block["iters"] is None else block["iters"],
            "cold_iters": common["cold_iters"] if block["cold_iters"] is None else block["cold_iters"],
            "n_samples": block["samples"],
            "spread": block["cv"],
            "sclk_mhz": block["lowest_avg_freq"],
            "mclk_mhz": block["avg_mclk"],
            "extra": _extra(block, note),
        }
        for block in ([] if reading.blocks is None else reading.blocks.to_pylist())
    ]
    for event in reading.skipped:
        detail = dict(event.detail)
        index = detail.pop("solution_index", None)
        rows.append(
            {
                **common,
                "solution_id": book.id_of(None, None, library, index),
                "solution_index": index,
                "rank": detail.pop("rank", None),
                "outcome": "skipped",
                "extra": json.dumps({**detail, **note}),
            }
        )
    return rows


def missing(outcome: str, message: str | None, place: Place) -> dict[str, Any]:
    """The one row of a problem that has no result: its outcome says why."""
    return {
        **place.columns(),
        "solution_index": place.row.get("solution_index"),
        "outcome": outcome,
        "extra": json.dumps({"message": message}) if message else None,
    }


def checked(reading: RowReading, place: Place, book: SolutionBook) -> list[dict[str, Any]]:
    """Rows of table ``validation``. ``norm_error`` is taken as printed, over all matrices of a batch.

    ``failed``: a tolerance reads ``failed``, or the error is no number. ``not_checked``: no check was
    printed, or an error without the tolerance that it passes.
    """
    rows: list[dict[str, Any]] = []
    for block in [] if reading.blocks is None else reading.blocks.to_pylist():
        if block["winner_echo"]:
            continue
        rows.append(
            {
                "problem_id": place.problem_id,
                "solution_id": _solution(block, place.arm.library_id, book),
                "library_id": place.arm.library_id,
                "solution_index": block["solution_index"],
                "outcome": _verdict(block),
                "norm_error": block["norm_error"],
                "atol": block["atol"],
                "rtol": block["rtol"],
                "measured_at": place.measured_at,
                "extra": _extra(block, {}),
            }
        )
    return rows


def unchecked(outcome: str, message: str | None, place: Place) -> dict[str, Any]:
    """The validation of a problem whose check gave no result: outcome ``error`` with what happened."""
    detail = {"outcome": outcome, **({"message": message} if message else {})}
    return {
        "problem_id": place.problem_id,
        "library_id": place.arm.library_id,
        "outcome": "error",
        "measured_at": place.measured_at,
        "extra": json.dumps(detail),
    }


def measurement_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """Arrow form of measurement rows; None without any."""
    return pa.Table.from_pylist(list(rows), schema=MEASUREMENTS) if rows else None


def validation_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """Arrow form of validation rows; None without any."""
    return pa.Table.from_pylist(list(rows), schema=VALIDATIONS) if rows else None


def _solution(block: Mapping[str, Any], library: str | None, book: SolutionBook) -> str | None:
    return book.id_of(block["solution_name"], block["kernel_name"], library, block["solution_index"])


def _verdict(block: Mapping[str, Any]) -> str:
    tolerances = [str(block[name]).strip().lower() for name in ("atol", "rtol") if block[name] is not None]
    error = block["norm_error"]
    if any(text in _FAILED for text in tolerances) or (error is not None and not abs(error) < float("inf")):
        return "failed"
    # nan doesn't survive the conversion of some versions' cells: it then stands in extra as text.
    if error is None and block["extra"] and '"norm_error' in block["extra"]:
        return "failed"
    return "passed" if tolerances else "not_checked"


def _extra(block: Mapping[str, Any], note: Mapping[str, Any]) -> str | None:
    found: dict[str, Any] = json.loads(block["extra"]) if block["extra"] else {}
    found |= {name: block[name] for name in _ALSO if block[name] is not None}
    found |= note
    return json.dumps(found, ensure_ascii=False) if found else None
