"""``geko library``: look at and change Tensile library logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geko.cli import options as o
from geko.cli.render import render

app = typer.Typer(no_args_is_help=True, help="Read, change and write Tensile library logic.")

_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write to; files keep their names.")]
_File = Annotated[Path, typer.Argument(help="Library logic file.", show_default=False)]
_Files = Annotated[list[Path], typer.Argument(help="Library logic files.", show_default=False)]
_Repair = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="Put right what is wrong with indices, names and sizes instead of refusing the file; what was done is told.",
    ),
]


@app.command(
    epilog="Examples:\n\n\b\n  geko library ingest Logic/asm_full/aquavanjaram\n"
    '  geko sql "SELECT logic_file, count(*) FROM library_entry GROUP BY ALL"\n\n'
    "A folder that was read before costs no more than the hashes of its files."
)
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of logic, or single files.", show_default=False)
    ],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=0, help="Processes that read.  [default: as many as cores]"),
    ] = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """Read library logic into the warehouse: solutions, sizes, efficiencies, what the kernels serve."""
    from geko.ingest.library_tree import ingest_libraries
    from geko.warehouse import Warehouse

    with Warehouse.open(db) as warehouse:
        report = ingest_libraries(warehouse, paths, workers=jobs)
    render(report.rows(), form)
    if report.refused:
        raise typer.Exit(1)


@app.command(
    epilog="Examples:\n\n\b\n  geko library coverage --workload llama --library Equality\n"
    "  geko library coverage --workload llama --library tunableop_results0.csv --arch gfx942 --cu-count 304\n"
    "  geko library coverage --workload llama --library final_libs --part shapes --format csv > missing.csv\n\n"
    "hit: an entry of this size. fallback: a GridBased, FreeSize or Prediction file serves it, as any size. "
    "miss, and why: type, arch, cu, epilogue, size, padding."
)
def coverage(
    workload: Annotated[
        str, typer.Option("--workload", help="Name of a workload (`geko ingest --workload NAME`).")
    ],
    library: Annotated[
        str,
        typer.Option(
            "--library",
            help="Id (its start), name or path of an ingested logic folder or file, override file, tuned table.",
        ),
    ],
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch", help="gfx target.  [default: where the workload was timed]", show_default=False
        ),
    ] = None,
    cu_count: Annotated[
        int | None,
        typer.Option("--cu-count", help="Compute units.  [default: where it was timed]", show_default=False),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            help="summary or shapes.  [default: both as tables, shapes as JSON or CSV]",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    form: o.Format = o.Form.table,
) -> None:
    """What a library has for the shapes of a workload, weighted by their time, and why it lacks the others."""
    from geko.errors import UsageError
    from geko.library_coverage import coverage as run

    if part not in (None, "summary", "shapes"):
        raise UsageError(f"--part is summary or shapes, not {part!r}")
    with o.existing(db) as warehouse:
        found = run(warehouse, workload, library, arch=arch, cu_count=cu_count)
    if form is o.Form.table and part is None:
        typer.echo(f"{found.title()}\n")
    if part == "summary" or (part is None and form is o.Form.table):
        render(found.summary, form)
    if part is None and form is o.Form.table:
        typer.echo("")
    if part != "summary":
        render(found.shown() if form is o.Form.table else found.rows, form)


@app.command()
def show(file: _File, form: o.Format = o.Form.table) -> None:
    """Header, counts and findings of one logic file."""
    from geko.library.report import as_lines, describe

    found = describe(file)
    render(as_lines(found) if form is o.Form.table else [found], form)


@app.command(
    epilog="Examples:\n\n\b\n  geko library diff before.yaml after.yaml\n"
    "  geko library diff before.yaml after.yaml --format csv > changes.csv\n\n"
    "a and b: the value of a header field, the efficiency of a size, or how many solutions only one file has."
)
def diff(
    a: Annotated[Path, typer.Argument(help="One logic file.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False)],
    form: o.Format = o.Form.table,
) -> None:
    """Header, sizes and solutions in which two logic files differ, a row each."""
    from geko.library.report import compare

    render(compare(a, b), form)


@app.command()
def merge(
    original: Annotated[Path, typer.Argument(help="Folder of the logic to merge into.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Folder of the tuned logic.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="Folder to write to.", show_default=False)],
    force: Annotated[
        bool, typer.Option("--force/--no-force", help="Replace entries even without a higher efficiency.")
    ] = True,
    no_eff: Annotated[bool, typer.Option("--no-eff", help="Store efficiency 0 for new entries.")] = False,
    no_trim: Annotated[bool, typer.Option("--no-trim", help="Keep sizes of 8 numbers.")] = False,
    repair: _Repair = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done, write nothing.")
    ] = False,
) -> None:
    """Merge tuned logic into a tree, by file name; every size that is touched is told."""
    from geko.library.report import describe_merge
    from geko.library.tree_merge import merge as run

    reports = run(
        original, new, out, force=force, no_eff=no_eff, trim_size=not no_trim, repair=repair, dry_run=dry_run
    )
    typer.echo(describe_merge(reports))


@app.command()
def trim(files: _Files, out: _Out, repair: _Repair = False) -> None:
    """Keep the best entry of each size and the solutions in use."""
    from geko.library.report import trim_files

    typer.echo(trim_files(files, out, repair=repair))


@app.command()
def epilogues(files: _Files, out: _Out, repair: _Repair = False) -> None:
    """Make kernels that were tuned as plain GEMMs serve calls with bias and activation."""
    from geko.library.report import epilogue_files

    typer.echo(epilogue_files(files, out, repair=repair))


@app.command(
    epilog="Examples:\n\n\b\n  geko library prune logic.yaml measured.parquet --out pruned --tol 0.02\n"
    "  geko library prune logic.yaml --out pruned --hipblaslt /path/to/hipblaslt --workdir prune -d 0-7\n\n"
    "Without times of your own every cluster of kernels (equal macro tile and DepthU) is built and timed in --workdir; "
    "the same command again goes on there."
)
def prune(
    file: _File,
    out: _Out,
    measured: Annotated[
        Path | None,
        typer.Argument(
            help="CSV or Parquet of a dense run: m, n, batch_count, k, local_index, gflops.",
            show_default=False,
        ),
    ] = None,
    tol: Annotated[float, typer.Option("--tol", help="Efficiency that may be lost, as a fraction.")] = 0.02,
    repair: _Repair = False,
    hipblaslt: Annotated[
        Path | None,
        typer.Option("--hipblaslt", help="hipBLASLt checkout that builds and times.", show_default=False),
    ] = None,
    workdir: Annotated[
        Path | None, typer.Option("--workdir", help="Folder to build and time in.", show_default=False)
    ] = None,
    devices: Annotated[str, typer.Option("-d", "--devices", help="GPUs that time, as 0,1,3 or 0-7.")] = "0",
) -> None:
    """Cut a library to the fewest solutions that keep its speed: by the times of a dense run, or by timing it now."""
    from geko.errors import UsageError
    from geko.library.report import prune_file

    if measured is not None:
        typer.echo(prune_file(file, measured, out, tol, repair=repair))
        return
    if hipblaslt is None or workdir is None:
        raise UsageError("give the times of a dense run, or --hipblaslt and --workdir to take them")
    from geko.bench.prune import prune_into

    typer.echo(prune_into(hipblaslt, file, workdir, out, devices=devices, tol=tol, repair=repair))


@app.command()
def create(
    hipblaslt_path: Annotated[Path, typer.Argument(help="hipBLASLt checkout.", show_default=False)],
    lib_dir: Annotated[
        Path, typer.Argument(help="Folder of logic, of one architecture.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="Folder to build into.", show_default=False)],
    version: Annotated[str, typer.Option("--version", help="Code object version.")] = "5",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds until the tool is ended.")] = 7200.0,
) -> None:
    """Build a library with TensileCreateLibrary."""
    from geko.library.build import create as run

    typer.echo(str(run(hipblaslt_path, lib_dir, out, version, timeout=timeout).code_dir))


@app.command(name="bench-input")
def bench_input(
    files: _Files,
    out: _Out,
    verify: Annotated[
        bool, typer.Option("--verify", help="Write the file of a correctness run, too.")
    ] = False,
    duration: Annotated[
        float, typer.Option("--duration", help="Seconds per size where its time is known.")
    ] = 0.5,
    beta: Annotated[bool, typer.Option("--beta", help="Run with beta 1 instead of 0.")] = False,
) -> None:
    """Write hipblaslt-bench input for the sizes of libraries."""
    from geko.library.report import bench_files

    typer.echo(bench_files(files, out, verify=verify, duration=duration, beta=beta))
