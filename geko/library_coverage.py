"""How much of a workload a library, an override file or a tuned table of another tool covers, and why not the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.warehouse import Warehouse


@dataclass(frozen=True)
class Coverage:
    """A workload joined to a library.

    Attributes:
        library: name of the library.
        workload: name of the workload.
        arch: gfx target that the entries must be for; None: not asked.
        cu_count: compute units that they must be for; None: not asked.
        device: where the times are from; None without any.
        simulated: the times are simulated.
        rows: a row per problem, the one with the largest share of the time first. ``status`` is ``hit`` (an entry of this
            size), ``fallback`` (a GridBased, FreeSize or Prediction file serves it, as any size) or ``miss``; ``reason``
            says what the closest file or row fails at: ``type``, ``arch``, ``cu``, ``epilogue``, ``size``, ``padding``.
            ``us`` in µs, ``us_source`` ``measured``, ``simulated`` or ``guessed`` (from the size); ``share_pct`` of
            call_count × time; ``efficiency`` as stored with the entry.
        summary: a row per status and reason.
    """

    library: str
    workload: str
    arch: str | None
    cu_count: int | None
    device: str | None
    simulated: bool
    rows: pa.Table
    summary: pa.Table

    def shown(self) -> pa.Table:
        """The rows without ids, for people."""
        return self.rows.drop_columns(["problem_id", "solution_id", "efficiency"])

    def title(self) -> str:
        """What was joined to what, for which GPU, and where the times are from, in one line."""
        target = self.arch or "any arch"
        if self.cu_count is not None:
            target += f" with {self.cu_count} CUs"
        times = "guessed from the sizes" if self.device is None else f"of {self.device}"
        kind = "simulated times" if self.simulated else "times"
        return f"workload {self.workload}, library {self.library}, for {target}; {kind} {times}"


def coverage(
    warehouse: Warehouse,
    workload: str,
    library: str,
    *,
    arch: str | None = None,
    cu_count: int | None = None,
) -> Coverage:
    """Join a workload to a library.

    Args:
        warehouse: where both are.
        workload: name of the workload.
        library: start of an id, name or path of an ingested folder, logic file, override file or tuned table.
        arch: gfx target; that of the GPU on which the workload was timed when not given.
        cu_count: compute units; likewise.

    Raises:
        UsageError: no or several such libraries, or no such workload.
    """
    found = _one_library(warehouse, library)
    workload_id = _workload_id(warehouse, workload)
    places = warehouse.query("library/timed_environments", workload_id=workload_id).to_pylist()
    if arch is not None:
        places = [place for place in places if place["arch"] == arch.partition(":")[0]]
    place: dict[str, Any] = places[0] if places else {}
    arch = arch.partition(":")[0] if arch is not None else place.get("arch")
    cu_count = cu_count if cu_count is not None else place.get("cu_count")
    rows = warehouse.query(
        "library/coverage",
        workload_id=workload_id,
        library_id=found["library_id"],
        environment_id=place.get("environment_id"),
        arch=arch,
        cu_count=cu_count,
    )
    return Coverage(
        library=found["name"] or found["library_id"],
        workload=workload,
        arch=arch,
        cu_count=cu_count,
        device=(place.get("device_name") or place.get("arch")) if place else None,
        simulated=bool(place.get("simulated")),
        rows=rows,
        summary=warehouse.query("library/coverage_summary", {"rows": rows}),
    )


def _one_library(warehouse: Warehouse, text: str) -> dict[str, Any]:
    path = str(Path(text).absolute())
    found = warehouse.query("library/find", text=text, path=path).to_pylist() if text else []
    if not found:
        raise UsageError(
            f"no library {text!r} in the warehouse; read it with `geko library ingest` "
            "(logic folders) or `geko ingest` (override files, tuned tables)"
        )
    # A folder or file that changed since is there once for each content: the newest is meant.
    if len({row["path"] for row in found}) > 1:
        shown = "; ".join(f"{row['library_id'][:8]} {row['name']} ({row['path']})" for row in found[:5])
        raise UsageError(f"{text!r} is several libraries, give the start of an id: {shown}")
    if not found[0]["n_rows"]:
        raise UsageError(_why_no_table(warehouse, text, found[0]["library_id"]))
    return dict(found[0])


def _why_no_table(warehouse: Warehouse, text: str, library_id: str) -> str:
    """Why a MatchTable alone covers nothing, and which logic does."""
    (row,) = warehouse.query("library/table_logic", library_id=library_id).to_pylist()
    why = (
        f"{text!r} is the index table of a built library: it numbers {row['n_solutions']} solution(s) of {row['n_files']} "
        f"logic file(s) ({row['first_file']}, …) and holds neither their sizes nor what they serve (types, CUs, epilogues), "
        "so it can't say which shape has one"
    )
    if row["n_held"]:
        held = "all" if row["n_held"] == row["n_files"] else f"{row['n_held']}"
        return f"{why}; {held} of these files are in the ingested folder {row['path']}: give --library {row['path']}"
    return (
        f"{why}; read the logic that it was built from with `geko library ingest FOLDER` and name that folder"
    )


def _workload_id(warehouse: Warehouse, name: str) -> str:
    found = warehouse.query("library/find_workload", name=name)["workload_id"].to_pylist()
    if not found:
        names = ", ".join(warehouse.query("run/workload_names")["name"].to_pylist()[:10])
        known = f"there are: {names}" if names else "there is none yet"
        raise UsageError(f"no workload {name!r} in the warehouse ({known}); read it with `geko ingest`")
    return str(found[0])
