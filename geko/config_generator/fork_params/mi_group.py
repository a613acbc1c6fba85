"""The group dimension of matrix instructions: thousands of entries, kept as columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from geko.config_generator.fork_params.optimization_param import Entry
from geko.config_generator.mi_designer import MI_COLUMNS

#: Columns of the frame that are facts about an entry; all others are parameters that the entry sets.
FACTS = frozenset(
    {
        *MI_COLUMNS,
        "idx",
        "mt0",
        "mt1",
        "waves",
        "lsu",
        "gsu",
        "tiles",
        "rounds",
        "gran",
        "predicted",
        "wg0",
        "wg1",
        "threads",
        "size",
    }
)


@dataclass(slots=True)
class MiGroup:
    """Entries of group dimension 0.

    Attributes:
        frame: one row an entry: the columns of :attr:`geko.config_generator.mi_designer.Design.entries` and
        one column
            per parameter that entries set (null: this entry doesn't).
        cms: entries of custom main loop schedules, which come first; each holds all parameters of its kernel.
        refused: why no entry is left, where none is.
    """

    frame: pl.DataFrame
    cms: list[Entry] = field(default_factory=list)
    refused: str = ""

    @property
    def parameters(self) -> list[str]:
        """Parameters that entries set beside the instruction and the workgroup, in writing order."""
        return [name for name in self.frame.columns if name not in FACTS]

    @property
    def key(self) -> list[str]:
        """Columns that make an entry what it is: rows that agree in them are one kernel twice."""
        return [*MI_COLUMNS, "lsu", *self.parameters]

    def __len__(self) -> int:
        return self.frame.height + len(self.cms)

    def entries(self) -> list[Entry]:
        """All entries as mappings, as a YAML reader would give them back."""
        names = self.parameters
        out: list[Entry] = [dict(entry) for entry in self.cms]
        for row in self.frame.select(*MI_COLUMNS, "lsu", "wg0", "wg1", *names).iter_rows():
            im, inn, ik, ib, wtm, wtn, wgm, wgn, lsu, wg0, wg1, *values = row
            entry: Entry = {"MatrixInstruction": [im, inn, ik, ib, 1, wtm, wtn, wgm, wgn]}
            if lsu > 1:
                entry["WorkGroup"] = [wg0, wg1, lsu]
            entry.update(
                {name: value for name, value in zip(names, values, strict=True) if value is not None}
            )
            out.append(entry)
        return out

    def tiles(self) -> list[tuple[int, int]]:
        """Macro tiles of all entries, those of custom schedules first."""
        return [tile_of(entry["MatrixInstruction"]) for entry in self.cms] + list(
            self.frame.select("mt0", "mt1").iter_rows()
        )


def tile_of(instruction: list[int]) -> tuple[int, int]:
    """Macro tile of a 9-number MatrixInstruction."""
    m, n, _, blocks, block_m, wtm, wtn, wgm, wgn = instruction
    return m * block_m * wtm * wgm, int(n / block_m * blocks * wtn * wgn)
