"""The report of a run: one page for people, with charts and every shape, or Markdown for a pull request.

`write_report` makes one HTML file that needs no network. All its figures are rows of ``sql/queries/report``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geko.errors import UsageError
from geko.fsio import write_text_atomic

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

FORMATS = ("html", "markdown")


def report_text(warehouse: Warehouse, run_id: str, *, form: str = "html") -> str:
    """The report of a run as text.

    Args:
        warehouse: where the run is.
        run_id: the run, which must have decided.
        form: ``"html"`` or ``"markdown"``.

    Raises:
        UsageError: an unknown form, or a run without verdicts (a bench, or a search that has not come so far).
    """
    from geko.report.data import report_data

    if form not in FORMATS:
        raise UsageError(f"a report is {' or '.join(FORMATS)}, not {form}")
    data = report_data(warehouse, run_id)
    if form == "markdown":
        from geko.report.markdown import markdown_page

        return markdown_page(data)
    from geko.report.page import html_page

    return html_page(data)


def write_report(warehouse: Warehouse, run_id: str, out: str | Path, *, form: str = "html") -> Path:
    """Write the report of a run to a file.

    Args:
        warehouse: where the run is.
        run_id: the run.
        out: the file.
        form: as for `report_text`.

    Returns:
        The path of the file.
    """
    from geko.export.record import record_files

    path = Path(out).absolute()
    write_text_atomic(path, report_text(warehouse, run_id, form=form))
    simulated = warehouse.query("export/run", run_id=run_id)["simulated"][0].as_py()
    record_files(warehouse, run_id, simulated, [(f"report-{form}", path)])
    return path
