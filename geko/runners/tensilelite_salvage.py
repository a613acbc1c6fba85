"""Library logic out of a grid whose client died before its end.

The client writes its result table when it has timed the last kernel: one kernel that hangs the GPU costs the
table of thousands. Their lines are in the log, and Tensile makes library logic from any table that lies where it
puts its own: this writes one with the winners so far.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from geko.fsio import write_text_atomic
from geko.ingest.tensile_log import read_log
from geko.runners.tensilelite_spec import DATA, KERNELS, BuildFolder

# What Tensile reads of a table of winners (LibraryLogic.addFromCSV), and the columns that it expects around it.
_COLUMNS = (
    "GFlops", "SizeI", "SizeJ", "SizeK", "SizeL", "LDD", "LDC", "LDA", "LDB", "TotalFlops", "TilesPerCu",
    "TotalGranularity", "WinnerGFlops", "WinnerTimeUS", "WinnerIdx", "WinnerName",
)  # fmt: skip
_SIZE = ("m", "n", "batch", "k")
_CLOCK = re.compile(r"Max frequency: (\d+)")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What could be saved.

    Attributes:
        n_sizes: sizes that have a winner.
    """

    n_sizes: int = 0

    def __bool__(self) -> bool:
        return self.n_sizes > 0


def salvage(folder: BuildFolder, text: str) -> Salvaged:
    """Write a table of winners for a grid that ended early.

    Args:
        folder: the job's folder.
        text: all that was printed.
    """
    group = _group(folder.path)
    # Without a column of winners in its tables, Tensile looks for another file, with all rates.
    if group is None or not folder.spec.setting("CSVExportWinner", 1):
        return Salvaged()
    rows = winners(text, checked=folder.spec.setting("NumElementsToValidate", 0) != 0)
    wanted = pl.DataFrame(list(folder.spec.sizes), schema=dict.fromkeys(_SIZE, pl.Int64), orient="row")
    rows = wanted.unique(maintain_order=True).join(rows, on=_SIZE, how="inner", maintain_order="left")
    if not len(rows):
        return Salvaged()
    clock = _CLOCK.search(text)
    more = [] if clock is None else [clock[1]]
    lines = [", ".join([*_COLUMNS, *(["DeviceMaxFreq"] if more else [])])]
    for number, row in enumerate(rows.iter_rows(named=True)):
        m, n, batch, k = (row[name] for name in _SIZE)
        lda, ldb = (k if row["trans_a"] != "N" else m), (n if row["trans_b"] != "N" else k)
        cells = [
            number, m, n, batch, k, m, m, lda, ldb, 2 * m * n * batch * k, 0, "-nan", f"{row['gflops']:.6g}",
            f"{row['us']:.6g}", row["solution_index"], row["solution_name"], *more,
        ]  # fmt: skip
        lines.append(", ".join(map(str, cells)))
    data = folder.path / DATA
    data.mkdir(parents=True, exist_ok=True)
    # The solutions stand beside the table, under its name: written before the client began.
    for path in (group / "Data").glob("00_Final.*"):
        if path.suffix != ".csv":
            shutil.copyfile(path, data / path.name.replace("00_Final", f"{group.name}_CSVWinner", 1))
    write_text_atomic(data / f"{group.name}_CSVWinner.csv", "\n".join(lines) + "\n")
    return Salvaged(len(rows))


def winners(text: str, *, checked: bool) -> pl.DataFrame:
    """The fastest kernel of each size in a client's log.

    Args:
        text: the log.
        checked: kernels were checked, so that only those that passed count.
    """
    rows = read_log(text).rows
    good = ["ok"] if checked else ["ok", "not_checked"]
    timed = rows.filter(
        pl.col("outcome").is_in(good) & pl.col("us").is_finite() & (pl.col("us") > 0) & (pl.col("gflops") > 0)
    )
    return (
        timed.with_columns(pl.col("solution_name").cast(pl.String))
        .sort("us", "solution_index")
        .unique(list(_SIZE), keep="first", maintain_order=True)
    )


def _group(folder: Path) -> Path | None:
    """The folder of the one problem type; None where there are several, or none."""
    found = sorted(path.parent.parent for path in (folder / KERNELS).glob("*/Data/00_Final.*"))
    distinct = list(dict.fromkeys(found))
    return distinct[0] if len(distinct) == 1 else None
