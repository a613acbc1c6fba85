"""The report as Markdown, for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geko.export.markdown import markdown_table
from geko.report.data import headline

if TYPE_CHECKING:
    from geko.report.data import ReportData

_SHAPES = 40


def markdown_page(data: ReportData) -> str:
    """Headline, verdicts, the kept shapes, the new solutions and the environment.

    Args:
        data: rows of the run.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = data.shapes.filter(pc.equal(data.shapes["class"], "kept"))
    columns = {
        "gemm": "GEMM", "calls": "calls", "share_pct": "share %", "us_reference": f"reference µs ({data.times})",
        "us_tuned": f"tuned µs ({data.times})", "ratio": "speed-up", "ratio_low": "low", "ratio_high": "high",
    }  # fmt: skip
    shown = kept.slice(0, _SHAPES).select(list(columns)).rename_columns(list(columns.values()))
    new = data.shapes.filter(pc.equal(data.shapes["class"], "new_solution"))
    new_shown = new.slice(0, _SHAPES).select(["gemm", "calls", "us_tuned", "solution_tuned"])
    new_shown = new_shown.rename_columns(["GEMM", "calls", f"µs ({data.times})", "kernel"])
    parts = [f"# {data.title}\n"]
    if data.run["simulated"]:
        parts.append("> **All times are simulated**: they come from an analytic model, not from a GPU.\n")
    parts += [
        "".join(f"- {text}: **{value}**\n" for value, text in headline(data)),
        f"## Verdicts\n\n{markdown_table(data.classes.rename_columns(['verdict', 'shapes', 'share %', 'such as']))}",
        f"## Kept ({kept.num_rows})\n\n{markdown_table(shown)}" if kept.num_rows else "",
        f"## New solutions ({new.num_rows})\n\n{markdown_table(new_shown)}" if new.num_rows else "",
        f"{kept.num_rows - _SHAPES} more kept shapes are not shown.\n" if kept.num_rows > _SHAPES else "",
        f"## Where\n\n{markdown_table(pa.table({'': data.environment['name'], ' ': data.environment['value']}))}",
        f"## How it was timed\n\n{markdown_table(data.protocols)}",
    ]
    return "\n".join(part for part in parts if part)
