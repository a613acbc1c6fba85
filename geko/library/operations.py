"""Functions on libraries, under the names of the original's ``geko.library.operations``. None changes its
arguments.
"""

from __future__ import annotations

from geko.library.bench_input import create_bench_input
from geko.library.build import create, is_built, library_content_hash
from geko.library.check import check, repair
from geko.library.combine import extract_solutions, from_dataframe, from_full_dataframe, merge_solutions
from geko.library.edit import add_epilogues, trim
from geko.library.match_table import load_match_table
from geko.library.model import load_collection, load_library
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
    "repair",
    "solution_identity",
    "solution_rows",
    "trim",
]
