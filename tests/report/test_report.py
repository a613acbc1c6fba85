"""The report of a hand-made run: its figures, both forms, and that the page needs nothing else."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from geko.cli.main import main
from geko.errors import UsageError
from geko.report import report_text, write_report
from geko.report.charts import figures
from geko.report.data import report_data
from geko.warehouse import Warehouse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from made_run import MadeRun, gemm


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MadeRun]:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = MadeRun(warehouse)
        run.winner(gemm(512), share=50.0, ratio=2.0, low=1.9, high=2.1)
        run.winner(gemm(1024), share=30.0, ratio=1.25, low=1.2, high=1.3)
        run.winner(gemm(2048), share=20.0, ratio=1.01, low=0.99, high=1.03, kept=False)
        run.flush()
        yield run


class Parts(HTMLParser):
    """Scripts with a source, style sheets and pictures that a page would load, and its table cells."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.rows: list[list[str]] = []
        self._cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value for name, value in attrs if name in ("src", "href") and value]
        if tag == "tr":
            self.rows.append([])
        self._cell = tag == "td" or (self._cell and tag not in ("tr", "td"))
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data


def test_end_to_end_figures_are_amdahls(run: MadeRun) -> None:
    data = report_data(run.warehouse, run.run_id)
    saved = 50 * (1 - 1 / 2.0) + 30 * (1 - 1 / 1.25)
    assert data.worth["saved_pct"] == pytest.approx(saved)
    assert data.worth["speedup"] == pytest.approx(100 / (100 - saved))
    assert data.worth["speedup_low"] < data.worth["speedup"] < data.worth["speedup_high"]
    assert (data.worth["n_kept"], data.worth["n_shapes"], data.worth["coverage_pct"]) == (2, 3, 80.0)
    shapes = data.shapes.to_pylist()
    assert [row["ms_after"] / row["ms_before"] for row in shapes] == pytest.approx([0.5, 0.8, 1.0])
    assert shapes[0]["gflops_reference"] == pytest.approx(2 * 512 * 128 * 256 / 100 / 1e3)


def test_the_page_holds_every_shape_and_loads_nothing(run: MadeRun, tmp_path: Path) -> None:
    path = write_report(run.warehouse, run.run_id, tmp_path / "sub" / "report.html")
    text = path.read_text(encoding="utf-8")
    parts = Parts()
    parts.feed(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    assert parts.loads == []
    assert not re.search(r"<script[^>]*\bsrc=", text)
    cells = [row for row in parts.rows if len(row) == 12]
    assert [row[1] for row in cells] == ["BBS_TN 512×128×256", "BBS_TN 1024×128×256", "BBS_TN 2048×128×256"]
    assert [row[6] for row in cells] == ["2", "1.25", "1.01"]
    assert "(measured times)" in text
    assert "simulated" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    for name in ("verdicts", "speed-up-per-shape", "where-the-time-goes", "roofline"):
        assert f'id="{name}"' in text
    recorded = run.warehouse.sql("SELECT kind FROM export_file").read_all()["kind"].to_pylist()
    assert recorded == ["report-html"]
    assert path.read_bytes() == write_report(run.warehouse, run.run_id, tmp_path / "again.html").read_bytes()


def test_charts_show_the_rows(run: MadeRun) -> None:
    charts = {title: figure for title, _, figure in figures(report_data(run.warehouse, run.run_id))}
    kept = next(trace for trace in charts["Speed-up per shape"].data if trace.name == "kept")
    assert list(kept.y) == [2.0, 1.25]
    assert list(kept.error_y.array) == pytest.approx([0.1, 0.05])
    before, after, running = charts["Where the time goes"].data
    assert list(before.y) == pytest.approx([0.3] * 3)
    assert list(after.y) == pytest.approx([0.15, 0.24, 0.3])
    assert running.y[-1] == pytest.approx(100)
    roof = next(trace for trace in charts["Roofline"].data if trace.mode == "lines")
    assert max(roof.y) == pytest.approx(min(1307.4, max(roof.x) * 5.325))
    assert "Clocks" not in charts


def test_markdown_for_a_pull_request(run: MadeRun) -> None:
    text = report_text(run.warehouse, run.run_id, form="markdown")
    assert "**2 of 3**" in text
    assert "| BBS_TN 512×128×256 | 3 | 50 | 100 | 50 | 2 | 1.9 | 2.1 |" in text
    assert "2048" not in text.split("## Kept")[1].split("##")[0]
    assert "| ROCm | 7.0.2 |" in text


def test_simulated_times_are_called_so_everywhere(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = MadeRun(warehouse, simulated=True)
        run.winner(gemm(512))
        run.flush()
        page = report_text(warehouse, run.run_id)
        assert "All times on this page are simulated" in page
        assert "(simulated times)</h1>" in page
        assert '"text":"speed-up (simulated)"' in page
        text = report_text(warehouse, run.run_id, form="markdown")
        assert "> **All times are simulated**" in text
        assert "µs (simulated)" in text


def test_text_of_users_is_escaped(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = MadeRun(warehouse, label="<b>x</b>")
        run.winner(gemm(512))
        run.flush()
        page = report_text(warehouse, run.run_id)
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_command_line_and_refusals(run: MadeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", str(run.warehouse.path)]
    assert main(["report", "--out", str(tmp_path / "r.html"), *db]) == 0
    assert str(tmp_path / "r.html") in capsys.readouterr().out
    assert main(["report", "--format", "markdown", *db]) == 0
    assert capsys.readouterr().out.startswith("# GEKO search")
    with pytest.raises(UsageError, match="html or markdown"):
        report_text(run.warehouse, run.run_id, form="pdf")


def test_a_run_without_verdicts_has_no_report(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        run = MadeRun(warehouse)
        run.flush()
        with pytest.raises(UsageError, match="has no verdicts"):
            report_text(warehouse, run.run_id)
