"""The Typer app: which commands there are. Their modules load when a command runs or is explained."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated

import typer

_HELP = """Find, prove and ship faster GEMM kernels for AMD GPUs.

Everything that is read, measured and decided is kept in one DuckDB file (--db).

\b
  geko search --workload-log log.yaml -d 0-7 --workdir out    faster existing kernels, compared and exported
  geko bench  --inline 4096 4096 1 4096 B B S T N -d 0        how fast is the library's own choice
  geko sql    "FROM run_decision"                             ask the warehouse
  geko search --simulate --workload-log examples/workload.yaml --workdir out    try it without a GPU

Every command takes --db FILE (else $GEKO_DB, else ./geko.duckdb) and -v 0|1|2, and --format table|json|csv where it
prints rows; they may stand before the command too. Dashes and underscores are the same in options.

The spelling of the original tool works: geko --search --workload-log L --devices=0,1 --keep_thr 0.1

A hipBLASLt checkout is named with --hipblaslt PATH or $GEKO_HIPBLASLT_PATH. Exit status: 0 fine, 1 failure, 2 wrong
command line, 130 interrupted.
"""

#: command → (module, function or sub-app, short help); in the order of the help page.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "search": (
        "geko.cli.runs",
        "search",
        "Find faster existing kernels for a workload, prove it, export them.",
    ),
    "bench": ("geko.cli.runs", "bench", "Time the library's own choice for every GEMM of a workload."),
    "tune": ("geko.cli.tune", "tune", "Make new kernels for a workload, prove them, export them."),
    "configure": ("geko.cli.tune", "configure", "Write tuning configs for a workload, to look at and edit."),
    "optimize": (
        "geko.cli.tune",
        "optimize",
        "Tune the configs of a working directory, prove and export what wins.",
    ),
    "mi": ("geko.cli.tune", "mi", "Which macro tiles are tried for a GEMM, and why the others are not."),
    "ingest": ("geko.cli.data", "ingest", "Read logs, lists, libraries and results of other tools."),
    "export": (
        "geko.cli.export",
        "app",
        "Write library logic, tables, a working directory, or a file that libraries read at run time.",
    ),
    "sql": ("geko.cli.data", "sql", "Ask the warehouse with SQL."),
    "status": ("geko.cli.queue", "status", "What runs now, and what the last run came to."),
    "runs": ("geko.cli.queue", "runs", "The runs of the warehouse."),
    "jobs": ("geko.cli.queue", "jobs_app", "List, retry and cancel jobs."),
    "report": ("geko.cli.report", "report", "What a run found, on one page with charts, or as Markdown."),
    "envs": ("geko.cli.history", "envs", "The environments in which something was timed."),
    "diff": ("geko.cli.history", "diff", "What changed between two environments, libraries or runs."),
    "guard": (
        "geko.cli.guard",
        "guard",
        "After deployment: untuned shapes are unchanged, tuned ones use their kernels.",
    ),
    "verify-applied": (
        "geko.cli.history",
        "verify_applied",
        "Was what was deployed really used? By the application's log.",
    ),
    "runner": ("geko.cli.queue", "runner", "Work on the jobs of a run that another shell started."),
    "doctor": ("geko.cli.doctor", "doctor", "What is missing for a run, and how to get it."),
    "db": ("geko.cli.db", "db_app", "Look after the warehouse file."),
    "library": ("geko.cli.library_cmd", "app", "Read, change and write Tensile library logic."),
}


def build(words: Sequence[str]) -> typer.Typer:
    """The ``geko`` app for one command line.

    Only the command that the words name is imported; the others stand with their short help, so that ``--help`` is fast.

    Args:
        words: the command line.
    """
    named = next((word for word in words if not word.startswith("-")), None)
    app = typer.Typer(
        name="geko",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=_HELP,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )
    app.callback()(_root)
    for name, (module, attribute, short) in COMMANDS.items():
        if name != named:
            app.command(name, short_help=short, help=short)(_placeholder)
            continue
        from geko.cli.common import completed

        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(_complete(found, name), name=name, short_help=short)
        else:
            app.command(name, short_help=short, epilog=EPILOGS.get(name))(completed(found))
    return app


def _complete(group: typer.Typer, name: str) -> typer.Typer:
    """Give every command of a group what all have: ``--db``, ``-v``, and its examples."""
    from geko.cli.common import completed

    for info in group.registered_commands:
        assert info.callback is not None
        info.name = info.name or info.callback.__name__.replace("_", "-")
        info.epilog = info.epilog or EPILOGS.get(f"{name} {info.name}")
        info.callback = completed(info.callback)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        _complete(inner.typer_instance, f"{name} {inner.name or inner.typer_instance.info.name}")
    return group


def _placeholder() -> None:
    """Stands for a command that this command line doesn't name."""
    raise AssertionError("the command was not loaded")


def _show_version(wanted: bool) -> None:
    if wanted:
        from geko import __version__

        typer.echo(f"geko {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _examples(*lines: str, note: str = "") -> str:
    """The end of a help page."""
    title = "Example" if len(lines) == 1 else "Examples"
    return f"{title}:\n\n\b\n" + "".join(f"  {line}\n" for line in lines) + (f"\n{note}" if note else "")


#: command, or group and command → the end of its help page.
EPILOGS = {
    "tune": _examples(
        "geko tune --workload-log log.yaml --arch gfx950 -d 0-7 --workdir my_tuning",
        "geko tune --inline 4096 4096 1 4096 B B S T N --arch gfx942 --simulate --backend tensile",
        note="Hours on GPUs; the same command again goes on where it stopped.",
    ),
    "configure": _examples(
        "geko configure --workload-log log.yaml --arch gfx950 --keep-thr 0.05 -d 0 --workdir my_tuning",
        "geko configure --list sizes.yaml --arch gfx942 --set MI_FILTER=1 --dry-run",
    ),
    "optimize": _examples("geko optimize --workdir my_tuning -d 0-7 --up-thr 1.03"),
    "mi": _examples("geko mi 4096 4096 1 4096 --type BBS_TN --arch gfx950", note="M, N, batch count, K."),
    "report": _examples("geko report --out report.html", "geko report --run 1f3a --format markdown"),
    "guard": _examples(
        "geko guard /path/to/build/release/library -d 0-7 --custom-lib-dir library_before",
        "geko guard merged_logic --run 1f3a -d 0",
    ),
    "verify-applied": _examples("geko verify-applied log_of_the_application.yaml --run 1f3a --format json"),
    "export library-logic": _examples("geko export library-logic --out final_libs"),
    "export csv": _examples("geko export csv --out tables --run 1f3a"),
    "export configs": _examples("geko export configs --out configs --run 1f3a"),
    "export parquet": _examples("geko export parquet --out tables"),
    "export workdir": _examples("geko export workdir --out again"),
    "export override": _examples(
        "geko export override --out tuning.txt && export HIPBLASLT_TUNING_OVERRIDE_FILE=$PWD/tuning.txt"
    ),
    "export tunableop": _examples(
        "geko export tunableop --out tunableop_results0.csv --validators written_by_torch.csv"
    ),
    "search": _examples(
        "geko search --workload-log hipblaslt-log-mask64.yaml -d 0-7 --workdir my_search",
        "geko search --workload llama -d 0,1 --keep-thr 1 --up-thr 1.05",
        "geko search --simulate --workload-log examples/workload.yaml --workdir out",
        note="The same command again goes on where it stopped.",
    ),
    "bench": _examples(
        "geko bench --workload-log hipblaslt-log-mask64.yaml -d 0",
        "geko bench --inline 1024 1024 1 1024 B B S N T -d 0",
        "geko bench --list sizes.yaml -d 0,1 --benchmark-duration 0.2",
    ),
    "ingest": _examples(
        "geko ingest rank*.yaml --workload llama",
        "geko ingest tune_gemm_results.txt tunableop_results0.csv",
        note="Formats: docs/ingest.md.",
    ),
    "sql": _examples(
        'geko sql "SELECT class, count(*) FROM selection GROUP BY class"',
        'geko sql --format csv "FROM export_winners" > winners.csv',
        "geko sql < query.sql",
        "geko sql                          a prompt, on a terminal",
        note="Tables and views: docs/warehouse.md.",
    ),
    "status": _examples("geko status", "geko status devices --format json", "watch -n 5 geko status"),
    "runs": _examples("geko runs", "geko runs --format json"),
    "jobs list": _examples(
        "geko jobs list --state failed --run 1f3a", "geko jobs list --kind screen --limit 20 --format json"
    ),
    "jobs retry": _examples("geko jobs retry 5c01 77ab", "geko jobs retry --run 1f3a --outcome no_solution"),
    "jobs cancel": _examples("geko jobs cancel 5c01", "geko jobs cancel --run 1f3a"),
    "diff": _examples(
        "geko db import rocm-7.2.duckdb && geko envs",
        "geko diff c13527bc 53c2ce83 --workload llama",
        "geko diff run:1f3a run:77b0 --format markdown > diff.md",
    ),
    "envs": _examples("geko envs"),
    "runner": _examples(
        "geko runner --db geko.duckdb -d 2,3",
        "geko runner -d all --idle 600",
        note="Ctrl-C ends the runners; the work in hand goes back to the queue.",
    ),
    "doctor": _examples("geko doctor", "geko doctor --hipblaslt /path/to/hipblaslt --format json"),
    "db migrate": _examples("geko db migrate --db old.duckdb"),
    "db check": _examples("geko db check", "geko db check --format json"),
    "db snapshot": _examples("geko db snapshot copy.duckdb && duckdb copy.duckdb"),
    "db import": _examples("geko db import other.duckdb", "geko --db all.duckdb db import rocm-7.2.duckdb"),
    "db prune": _examples("geko db prune", "geko db prune --attempts --older-than 90 --yes"),
    "library show": _examples("geko library show final_libs/gfx942_Cijk_Alik_Bljk_BBS_BH.yaml"),
    "library diff": _examples("geko library diff before.yaml after.yaml"),
    "library merge": _examples(
        "geko library merge Logic/asm_full/aquavanjaram/Equality final_libs merged --dry-run"
    ),
    "library trim": _examples("geko library trim libs/*.yaml --out trimmed --repair"),
    "library epilogues": _examples("geko library epilogues final_libs/*.yaml --out with_epilogues"),
    "library prune": _examples("geko library prune logic.yaml measured.parquet --out pruned --tol 0.02"),
    "library create": _examples("geko library create /path/to/hipblaslt final_libs built"),
    "library bench-input": _examples("geko library bench-input final_libs/*.yaml --out benchmarks --verify"),
}
