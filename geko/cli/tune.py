"""``geko tune``, ``geko configure``, ``geko optimize`` and ``geko mi``: new kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from geko.cli import options as o
from geko.cli.main import anchor
from geko.cli.render import render
from geko.cli.run_options import Asked, run_command
from geko.cli.runs import finish, waiting

if TYPE_CHECKING:
    from geko.pipeline import RunResult
    from geko.runs.tune_options import TuneOptions


@run_command("tune")
def tune(asked: Asked, db: Path | None, form: o.Form, verbose: int) -> None:
    """Make new kernels for a workload: write tuning configs, run them, prove what wins, export it."""
    from geko.tuning_pipeline import run_tune

    def run() -> RunResult:
        return run_tune(db, asked.source, _tuning(asked), anchor=anchor(), verbose=verbose)

    finish(waiting(run, asked.wait), form)


@run_command("configure")
def configure(asked: Asked, db: Path | None, form: o.Form, verbose: int) -> None:
    """Write a tuning config for every important GEMM of a workload, to look at and edit; needs no GPU."""
    from geko.tuning_pipeline import dry_configure, run_configure

    if asked.dry_run:
        found = dry_configure(asked.source, _tuning(asked), db=db)
        render(found.table, form)
        out = sys.stdout if form is o.Form.table else sys.stderr
        out.write("".join(f"{line}\n" for line in ["", *found.lines]))
        raise typer.Exit(found.exit_code)

    def run() -> RunResult:
        return run_configure(db, asked.source, _tuning(asked), anchor=anchor(), verbose=verbose)

    finish(waiting(run, asked.wait), form)


@run_command("optimize")
def optimize(asked: Asked, db: Path | None, form: o.Form, verbose: int) -> None:
    """Tune the configs that `geko configure` wrote, as they stand now; prove and export what wins."""
    from geko.tuning_pipeline import run_optimize

    def run() -> RunResult:
        return run_optimize(db, _tuning(asked), run=asked.run, anchor=anchor(), verbose=verbose)

    finish(waiting(run, asked.wait), form)


def _tuning(asked: Asked) -> TuneOptions:
    return cast("TuneOptions", asked.options)


def mi(
    m: Annotated[int, typer.Argument(min=1, metavar="M")],
    n: Annotated[int, typer.Argument(min=1, metavar="N")],
    batch: Annotated[int, typer.Argument(min=1, metavar="B")],
    k: Annotated[int, typer.Argument(min=1, metavar="K")],
    kind: Annotated[str, typer.Option("--type", help="GEMM type, such as BBS_TN or F8BS_TN.")],
    arch: Annotated[str, typer.Option("--arch", help="GPU, such as gfx942.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of the generator, such as MI_FILTER=1.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[str, typer.Option("--rules", help="`default` or `original`.")] = "default",
    everything: Annotated[
        bool, typer.Option("--all", help="Show the tiles that were not chosen as well, with the reason.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            help="Show so many of the chosen tiles.  [default: 20 in a table, else all]",
            show_default=False,
        ),
    ] = None,
    form: o.Format = o.Form.table,
) -> None:
    """Which matrix instructions and macro tiles are tried for a GEMM, and why the others are not."""
    from geko.config_generator.explain import explain_tiles

    found = explain_tiles((m, n, batch, k), kind, arch, settings or [], rules)
    chosen = found.chosen[: limit or (20 if form is o.Form.table else None)]
    rows = [*chosen, *found.others] if everything else chosen
    render(rows, form)
    out = sys.stdout if form is o.Form.table else sys.stderr
    lines = found.summary()
    if len(chosen) < len(found.chosen):
        lines.insert(0, f"… {len(found.chosen) - len(chosen)} more (--limit)")
    out.write("".join(f"{line}\n" for line in ["", *lines]))
