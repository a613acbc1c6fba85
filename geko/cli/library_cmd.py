"""``geko library``: look at and change Tensile library logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Read, change and write Tensile library logic.")

_Out = Annotated[Path, typer.Option("--out", "-o", help="Directory to write to.")]


@app.command()
def show(file: Path) -> None:
    """Header, counts and findings of one logic file."""
    from geko.library.report import describe

    typer.echo(describe(file))


@app.command()
def diff(a: Path, b: Path) -> None:
    """Sizes and solutions in which two logic files differ."""
    from geko.library.report import compare

    typer.echo(compare(a, b))


@app.command()
def merge(
    original: Path,
    new: Path,
    out: Path,
    force: Annotated[bool, typer.Option("--force/--no-force", help="Replace even without a gain.")] = True,
    no_eff: Annotated[bool, typer.Option("--no-eff", help="Store efficiency 0 for new entries.")] = False,
    no_trim: Annotated[bool, typer.Option("--no-trim", help="Keep sizes of 8 numbers.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
) -> None:
    """Merge tuned logic into a tree."""
    from geko.library.report import describe_merge
    from geko.library.tree_merge import merge as run

    reports = run(original, new, out, force=force, no_eff=no_eff, trim_size=not no_trim, dry_run=dry_run)
    typer.echo(describe_merge(reports))


@app.command()
def trim(
    files: list[Path],
    out: _Out,
    repair: Annotated[bool, typer.Option("--repair", help="Repair first.")] = False,
) -> None:
    """Keep the best entry of each size and the solutions in use."""
    from geko.library.report import trim_files

    typer.echo(trim_files(files, out, repair=repair))


@app.command()
def epilogues(files: list[Path], out: _Out) -> None:
    """Make kernels serve bias and activation calls."""
    from geko.library.operations import load_library

    for file in files:
        typer.echo(str(load_library(file).add_epilogues().dump(out)))


@app.command()
def prune(file: Path, measured: Path, out: _Out, tol: float = 0.02) -> None:
    """Cut a library to the solutions needed, by a CSV or Parquet of a dense run."""
    from geko.library.report import prune_file

    typer.echo(prune_file(file, measured, out, tol))


@app.command()
def create(
    hipblaslt_path: Path, lib_dir: Path, out: Path, version: str = "5", timeout: float = 7200.0
) -> None:
    """Build a library with TensileCreateLibrary."""
    from geko.library.build import create as run

    typer.echo(str(run(hipblaslt_path, lib_dir, out, version, timeout=timeout).code_dir))


@app.command(name="bench-input")
def bench_input(
    files: list[Path], out: _Out, verify: bool = False, duration: float = 0.5, beta: bool = False
) -> None:
    """Write hipblaslt-bench input for the sizes of libraries."""
    from geko.library.operations import load_library

    for file in files:
        for path in load_library(file).create_bench_input(out, verify, duration=duration, beta=beta):
            if path is not None:
                typer.echo(str(path))
