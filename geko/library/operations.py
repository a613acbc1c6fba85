"""Functions on libraries, under the names of the original's ``geko.library.operations``. None changes its
arguments.
"""

from __future__ import annotations

from typing import Any

from geko.library.bench_input import create_bench_input
from geko.library.build import create, is_built, library_content_hash
from geko.library.check import check, repair
from geko.library.combine import extract_solutions, from_dataframe, from_full_dataframe, merge_solutions
from geko.library.edit import add_epilogues, trim
from geko.library.match_table import load_match_table
from geko.library.model import Library, load_collection, load_library
from geko.library.normalize import normalize
from geko.library.prune import prune_measured
from geko.library.rows import entry_rows, solution_rows
from geko.library.solution import solution_identity

__all__ = [
    "add_epilogues",
    "check",
    "create",
    "create_bench_input",
    "entry_rows",
    "extract_solutions",
    "from_dataframe",
    "from_full_dataframe",
    "is_built",
    "library_content_hash",
    "load_collection",
    "load_library",
    "load_match_table",
    "merge_solutions",
    "normalize",
    "prune_library",
    "prune_measured",
    "repair",
    "solution_identity",
    "solution_rows",
    "trim",
]


def prune_library(*args: Any, **options: Any) -> Library:
    """Cut a library to the fewest solutions that keep its speed; see :func:`geko.bench.prune.prune_library`."""
    # Timing needs the programs and parsers of other rooms: they load when something is timed.
    from geko.bench.prune import prune_library as run

    return run(*args, **options)
