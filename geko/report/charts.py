"""The charts of a report, as Plotly figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from geko.report.data import ReportData

#: Verdict → colour; told apart also by shape and text, never by colour alone.
COLOURS = {
    "kept": "#1b7f4d",
    "small_gain": "#8a8f98",
    "no_gain": "#a99f92",
    "same_kernel": "#b9bec7",
    "undecided": "#c98a00",
    "not_verified": "#e0a526",
    "wrong_result": "#c0392b",
    "device_fault": "#8e2b5e",
    "new_solution": "#0f8a8a",
    "no_solution": "#6b3fa0",
    "not_important": "#d8dbe0",
    "not_applied": "#2f6fb0",
}
_OTHER = "#5d6d7e"
#: So many shapes get a bar of their own; the rest is one.
_BARS = 30


def figures(data: ReportData) -> list[tuple[str, str, Figure]]:
    """The charts that the rows of a run allow: title, what it shows, figure."""
    made = [
        (
            "Verdicts",
            "Share of the workload's time by verdict; the number of shapes in brackets.",
            _verdicts(data),
        ),
        (
            "Speed-up per shape",
            "Reference time / tuned time with its interval, best first. The dotted line is the threshold for being kept.",
            _speedups(data),
        ),
        (
            "Where the time goes",
            f"Calls × time per shape before and after, the {_BARS} largest; the line is the running share.",
            _pareto(data),
        ),
        (
            "Roofline",
            "Rate against arithmetic intensity; lines are peaks of the data sheet. Hollow: reference, full: tuned.",
            _roofline(data),
        ),
        (
            "Noise",
            "Spread (coefficient of variation) of the samples of one shape and kernel, per device.",
            _noise(data),
        ),
        ("Clocks", "Engine clock during the timings, per device.", _clocks(data)),
    ]
    return [(title, text, figure) for title, text, figure in made if figure is not None]


def _figure(height: int, **layout: Any) -> Figure:
    import plotly.graph_objects as go

    return go.Figure(
        layout={
            "height": height,
            "margin": {"l": 60, "r": 20, "t": 10, "b": 50},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 13},
            "hoverlabel": {"align": "left"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#8a8f98"},
            "legend": {"orientation": "h", "y": 1.08, "x": 0},
            **layout,
        }
    )


def _axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "gridcolor": "#e3e6ea", "zerolinecolor": "#c9ced6", **more}


def _verdicts(data: ReportData) -> Figure:
    rows = sorted(data.classes.to_pylist(), key=lambda row: (row["share_pct"] or 0, row["shapes"]))
    figure = _figure(80 + 34 * len(rows), xaxis=_axis("% of the time"), yaxis={"title": ""}, showlegend=False)
    figure.update_layout(margin={"l": 150, "r": 20, "t": 10, "b": 50})
    figure.add_bar(
        x=[row["share_pct"] or 0 for row in rows],
        y=[f"{_words(row['class'])} ({row['shapes']})" for row in rows],
        orientation="h",
        marker_color=[COLOURS.get(row["class"], _OTHER) for row in rows],
        customdata=[row["example"] for row in rows],
        hovertemplate="%{y}: %{x:.3g} %<br>such as: %{customdata}<extra></extra>",
    )
    return figure


def _speedups(data: ReportData) -> Figure | None:
    rows = [row for row in data.shapes.to_pylist() if row["ratio"] is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: (-row["ratio"], row["number"]))
    figure = _figure(
        420,
        xaxis=_axis("shape, best first"),
        yaxis=_axis(f"speed-up ({data.times})", type="log", tickformat=".3~f"),
    )
    places = {row["number"]: place for place, row in enumerate(rows, 1)}
    for name in dict.fromkeys(row["class"] for row in rows):
        part = [row for row in rows if row["class"] == name]
        figure.add_scatter(
            x=[places[row["number"]] for row in part],
            y=[row["ratio"] for row in part],
            mode="markers",
            name=_words(name),
            marker={
                "color": COLOURS.get(name, _OTHER),
                "size": 7,
                "symbol": "circle" if name == "kept" else "diamond-open",
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "thickness": 1,
                "width": 2,
                "array": [_distance(row["ratio_high"], row["ratio"]) for row in part],
                "arrayminus": [_distance(row["ratio"], row["ratio_low"]) for row in part],
            },
            customdata=[(row["gemm"], row["reason"], row["share_pct"] or 0) for row in part],
            hovertemplate="%{customdata[0]}<br>%{y:.4f}, %{customdata[2]:.3g} % of the time<br>%{customdata[1]}"
            "<extra></extra>",
        )
    figure.add_hline(y=1, line_color="#5d6d7e", line_width=1)
    if (threshold := data.options.get("up_thr")) is not None:
        figure.add_hline(y=threshold, line_dash="dot", line_color=COLOURS["kept"], line_width=1)
    return figure


def _distance(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None else high - low


def _pareto(data: ReportData) -> Figure | None:
    rows = [row for row in data.shapes.to_pylist() if row["ms_before"] is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: (-row["ms_before"], row["number"]))
    first, rest = rows[:_BARS], rows[_BARS:]
    names = [f"{row['number']}" for row in first]
    before, after = ([row[column] for row in first] for column in ("ms_before", "ms_after"))
    labels = [row["gemm"] for row in first]
    if rest:
        names.append("rest")
        labels.append(f"{len(rest)} more shapes")
        before.append(sum(row["ms_before"] for row in rest))
        after.append(sum(row["ms_after"] for row in rest))
    total = sum(before) or 1.0
    running = [100 * sum(before[: place + 1]) / total for place in range(len(before))]
    figure = _figure(
        420,
        barmode="group",
        xaxis={"title": "shape (number in the table below)", "type": "category"},
        yaxis=_axis(f"ms ({data.times})"),
        yaxis2={
            "title": "%",
            "overlaying": "y",
            "side": "right",
            "range": [0, 105],
            "dtick": 20,
            "showgrid": False,
        },
    )
    for name, values, colour in (("before", before, "#8a8f98"), ("after", after, COLOURS["kept"])):
        figure.add_bar(
            x=names,
            y=values,
            name=name,
            marker_color=colour,
            customdata=labels,
            hovertemplate="%{customdata}<br>%{y:.4g} ms<extra>" + name + "</extra>",
        )
    figure.add_scatter(
        x=names,
        y=running,
        name="running share",
        yaxis="y2",
        mode="lines",
        line={"color": "#c98a00"},
        hovertemplate="%{y:.3g} %<extra></extra>",
    )
    figure.update_layout(margin={"l": 60, "r": 60, "t": 10, "b": 50})
    return figure


def _roofline(data: ReportData) -> Figure | None:
    rows = [row for row in data.shapes.to_pylist() if row["intensity"] and row["gflops_reference"]]
    if not rows:
        return None
    figure = _figure(
        460,
        xaxis=_axis("arithmetic intensity, FLOP/byte", type="log"),
        yaxis=_axis(f"TFLOP/s ({data.times})", type="log"),
    )
    for column, name, symbol in (
        ("gflops_reference", "reference", "circle-open"),
        ("gflops_tuned", "tuned", "circle"),
    ):
        part = [row for row in rows if row[column]]
        figure.add_scatter(
            x=[row["intensity"] for row in part],
            y=[row[column] / 1e3 for row in part],
            mode="markers",
            name=name,
            marker={
                "symbol": symbol,
                "size": 8,
                "color": [COLOURS.get(row["class"], _OTHER) for row in part],
            },
            customdata=[(row["gemm"], row["share_pct"] or 0) for row in part],
            hovertemplate="%{customdata[0]}<br>%{x:.4g} FLOP/byte, %{y:.4g} TFLOP/s<br>%{customdata[1]:.3g} % of the time"
            "<extra>" + name + "</extra>",
        )
    _add_roofs(
        figure,
        data,
        [row["intensity"] for row in rows],
        {(row["a_type"], row["compute_type"]) for row in rows},
    )
    return figure


def _add_roofs(
    figure: Figure, data: ReportData, intensities: list[float], types: set[tuple[str, str]]
) -> None:
    """Lines of the memory's bandwidth and of the matrix peak of each type, where the GPU is known."""
    product = data.product
    if product is None:
        return
    low, high = min(intensities) / 1.5, max(intensities) * 1.5
    for a_type, compute in sorted(types):
        peak = product.peak(a_type, compute_type=compute)
        if peak is None:
            continue
        ridge = peak * 1e3 / product.hbm_gb_per_s
        xs = sorted({low, min(max(ridge, low), high), high})
        figure.add_scatter(
            x=xs,
            y=[min(peak, x * product.hbm_gb_per_s / 1e3) for x in xs],
            mode="lines",
            name=f"{product.name} {a_type}: {peak:g} TFLOP/s, {product.hbm_gb_per_s:g} GB/s",
            line={"color": "#5d6d7e", "width": 1, "dash": "dash"},
            hoverinfo="skip",
        )


def _noise(data: ReportData) -> Figure | None:
    return _boxes(data.noise.to_pylist(), "cv_pct", f"CV, % ({data.times})")


def _clocks(data: ReportData) -> Figure | None:
    return _boxes(data.clocks.to_pylist(), "sclk_mhz", f"engine clock, MHz ({data.times})")


def _boxes(rows: list[dict[str, Any]], column: str, title: str) -> Figure | None:
    if not rows:
        return None
    figure = _figure(320, showlegend=False, xaxis={"title": ""}, yaxis=_axis(title, rangemode="tozero"))
    for device in dict.fromkeys(row["device"] for row in rows):
        figure.add_box(
            y=[row[column] for row in rows if row["device"] == device],
            name=device or "unknown device",
            marker_color="#2f6fb0",
            boxpoints="outliers",
        )
    return figure


def _words(name: str) -> str:
    return name.replace("_", " ")
