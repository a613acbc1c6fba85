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
    "envs": ("geko.cli.history", "envs", "The environments in which something was timed."),
    "diff": ("geko.cli.history", "diff", "What changed between two environments, libraries or runs."),
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
            app.add_typer(_completed_group(found, name), name=name, short_help=short)
        else:
            app.command(name, short_help=short, epilog=EPILOGS.get(name))(completed(found))
    return app


def _completed_group(group: typer.Typer, name: str) -> typer.Typer:
    """A group of which every command has what all have: ``--db``, ``-v``, and its examples."""
    from geko.cli.common import completed

    again = typer.Typer(
        no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=group.info.help
    )
    for info in group.registered_commands:
        assert info.callback is not None
        own = info.name or info.callback.__name__.replace("_", "-")
        epilog = info.epilog or EPILOGS.get(f"{name} {own}")
        again.command(own, help=info.help, short_help=info.short_help, epilog=epilog)(
            completed(info.callback)
        )
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        group_name = inner.name or inner.typer_instance.info.name
        again.add_typer(_completed_group(inner.typer_instance, f"{name} {group_name}"), name=group_name)
    return again


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


EPILOGS = {
    "search": "Examples:\n\n\b\n"
    "  geko search --workload-log hipblaslt-log-mask64.yaml -d 0-7 --workdir my_search\n"
    "  geko search --workload llama -d 0,1 --keep-thr 1 --up-thr 1.05\n"
    "  geko search --simulate --workload-log examples/workload.yaml --workdir out\n\n"
    "The same command again goes on where it stopped.",
    "bench": "Examples:\n\n\b\n"
    "  geko bench --workload-log hipblaslt-log-mask64.yaml -d 0\n"
    "  geko bench --inline 1024 1024 1 1024 B B S N T -d 0\n"
    "  geko bench --list sizes.yaml -d 0,1 --benchmark-duration 0.2",
    "ingest": "Examples:\n\n\b\n"
    "  geko ingest rank*.yaml --workload llama\n"
    "  geko ingest tune_gemm_results.txt tunableop_results0.csv",
    "sql": "Examples:\n\n\b\n"
    '  geko sql "SELECT class, count(*) FROM selection GROUP BY class"\n'
    '  geko sql --format csv "FROM export_winners" > winners.csv\n'
    "  geko sql < query.sql\n\nTables and views: docs/warehouse.md.",
    "diff": "Examples:\n\n\b\n"
    "  geko db import rocm-7.2.duckdb && geko envs\n"
    "  geko diff c13527bc 53c2ce83 --workload llama\n"
    "  geko diff run:1f3a run:77b0 --format markdown > diff.md",
    "runner": "Example:\n\n\b\n  geko runner --db geko.duckdb -d 2,3",
}
