"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from geko.report.data import headline

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.report.data import ReportData

_COLUMNS = {
    "number": "#",
    "gemm": "GEMM",
    "calls": "calls",
    "share_pct": "share %",
    "us_reference": "reference µs",
    "us_tuned": "tuned µs",
    "ratio": "speed-up",
    "ratio_low": "low",
    "ratio_high": "high",
    "n_pairs": "pairs",
    "class": "verdict",
    "reason": "reason",
}


def html_page(data: ReportData) -> str:
    """The whole page.

    Args:
        data: rows of the run.
    """
    from plotly.offline import get_plotlyjs

    from geko import __version__

    parts = [
        f"<h1>{html.escape(data.title)}</h1>",
        f"<p>Run {data.run['run_id'][:8]}, {data.run['state']}, "
        f"{_moment(data.run['ended_at'] or data.run['started_at'])} UTC. "
        "Ratios are reference time / tuned time: above 1, tuned is faster.</p>",
        _banner(data),
        _cards(data),
        *_charts(data),
        "<h2>Every shape</h2><p>Click a heading to sort.</p>"
        '<input id="filter" type="search" placeholder="Filter: BBS_TN, kept, 4096…" aria-label="Filter the shapes">',
        f'<div class="wide">{_table(data.shapes, _COLUMNS, data.times, identity="shapes")}</div>',
        "<h2>Where</h2>",
        _table(data.environment, {"name": "", "value": ""}, data.times),
        "<h2>How it was timed</h2>",
        f'<div class="wide">{_table(data.protocols, _as_they_are(data.protocols), data.times)}</div>',
        "<h2>Options of the run</h2>",
        f"<p><code>{html.escape(', '.join(f'{key}={value}' for key, value in sorted(data.options.items())))}</code></p>",
        f"<footer>GEKO {__version__}. Figures are rows of the run's warehouse: <code>geko sql</code> asks for more."
        "</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(data.title)}</title><style>{_asset('page.css')}</style><script>{get_plotlyjs()}</script></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<script>{_asset('page.js')}</script>\n</body></html>\n"
    )


def _banner(data: ReportData) -> str:
    if not data.run["simulated"]:
        return ""
    return (
        '<div class="banner"><b>All times on this page are simulated</b>: they come from an analytic model, '
        "not from a GPU, and say nothing about real speed.</div>"
    )


def _cards(data: ReportData) -> str:
    cards = "".join(
        f'<div class="card"><b>{html.escape(value)}</b><span>{html.escape(text)}</span></div>'
        for value, text in headline(data)
    )
    return f'<div class="cards">{cards}</div>'


def _charts(data: ReportData) -> list[str]:
    import plotly.io as pio

    from geko.report.charts import figures

    return [
        f"<h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>"
        + pio.to_html(
            figure,
            include_plotlyjs=False,
            full_html=False,
            div_id=title.lower().replace(" ", "-"),
            config={
                "displaylogo": False,
                "responsive": True,
                "modeBarButtonsToRemove": ["select2d", "lasso2d"],
            },
        )
        for title, text, figure in figures(data)
    ]


def _table(rows: pa.Table, columns: dict[str, str], times: str, identity: str | None = None) -> str:
    import pyarrow.types as types

    numeric = {
        name: types.is_integer(rows.schema.field(name).type)
        or types.is_floating(rows.schema.field(name).type)
        for name in columns
    }
    head = "".join(
        f"<th{' class=n' if numeric[name] else ''}>"
        + (f"<button>{html.escape(text)}</button>" if identity else html.escape(text))
        + "</th>"
        for name, text in columns.items()
    )
    lines = []
    for row in rows.select(list(columns)).to_pylist():
        cells = "".join(
            f'<td class="n" data-v="{"" if row[name] is None else row[name]}">{_shown(row[name])}</td>'
            if numeric[name]
            else f"<td{' class=name' if name == 'gemm' else ''}>{_shown(row[name])}</td>"
            for name in columns
        )
        lines.append(f"<tr>{cells}</tr>")
    name = f' id="{identity}"' if identity else ""
    caption = f"<caption>{times} times</caption>" if identity else ""
    return (
        f"<table{name}>{caption}<thead><tr>{head}</tr></thead><tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table>"
    )


def _as_they_are(rows: pa.Table) -> dict[str, str]:
    return {name: name for name in rows.schema.names}


def _asset(name: str) -> str:
    from importlib import resources

    return resources.files("geko.report").joinpath(name).read_text(encoding="utf-8")


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else html.escape(str(value))


def _moment(value: Any) -> str:
    from datetime import UTC

    return "" if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
