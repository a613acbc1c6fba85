"""Output of hipblaslt-bench as frames, with the columns under the names that the program prints.

from geko.bench.utils import parse_benchmark_output
frame = parse_benchmark_output("model-bench.out")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.constants import GEMM_FIELDS, PERF_FIELDS
from geko.errors import InputError, MissingFileError
from geko.frames import from_frame, to_frame
from geko.log import logger

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.ingest.bench_stdout import BenchOutput

#: Column of the parser -> name in the newest version's header, where the two differ.
_PRINTED = {
    "trans_a": "transA", "trans_b": "transB", "scale_a": "scaleA", "scale_b": "scaleB", "scale_c": "scaleC",
    "scale_d": "scaleD", "amax_d": "amaxD", "split_k": "splitK", "rotating_mib": "rotating_buffer",
    "iters": "hot_iters", "avg_mclk": "avg_MCLK", "median_mclk": "median_MCLK", "gflops": "hipblaslt-Gflops",
    "gbps": "hipblaslt-GB/s", "cpu_gflops": "CPU-Gflops", "cpu_us": "CPU-us", "solution_index": "solutionIdx",
    "solution_name": "solution", "kernel_name": "kernel", "gfx": "gcnArchName", "cu_count": "CUs",
}  # fmt: skip
_RENAMED_FOR_DASHBOARD = {"kernel": "solution_name", "solutionIdx": "solution_index"}
_NOT_FOR_DASHBOARD = frozenset(("lib", "ratio", "error_tuned"))


def parse_benchmark_output(file: str | Path, winner_echo: bool = False) -> Any:
    """Read one output of hipblaslt-bench, of any version.

    Args:
        file: what the program printed; standard error may be mixed in, and the end may be missing.
        winner_echo: keep the rows that are printed again after ``Winner:``.

    Returns:
        A frame (polars, or pandas under ``GEKO_FRAMES=pandas``) with one row per result, its columns under the
        names of the newest version whatever the file's version calls them (``m``, ``avg_MCLK``, ...), ``kernel``,
        ``solution`` and ``solutionIdx`` (text) where they are printed. ``scaleA`` and ``scaleB`` are 0 in versions
        that don't print them.

    Raises:
        MissingFileError: there is no such file.
        InputError: it holds no result, or rows lack a size, a type or a time.
    """
    path = Path(file)
    return to_frame(_read(path, winner_echo))


def parse_benchmark_output_dir(directory: str | Path, suffix: str = "") -> Any:
    """Read all outputs of a directory as one frame.

    Args:
        directory: where they are.
        suffix: of the files' names or of their stems, such as ``_bench`` or ``.out``; YAML files are left out.

    Raises:
        MissingFileError: there is no such directory, or no such file in it.
        InputError: a file is no output of hipblaslt-bench.
    """
    import pyarrow as pa

    folder = Path(directory)
    if not folder.is_dir():
        raise MissingFileError("there is no such directory", path=folder)
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and path.suffix != ".yaml"
        and (path.name.endswith(suffix) or path.stem.endswith(suffix))
    ]
    if not files:
        raise MissingFileError(f"no file here ends in {suffix!r}", path=folder)
    tables = [_read(path, winner_echo=False) for path in files]
    return to_frame(pa.concat_tables(tables, promote_options="permissive"))


def as_dashboard_format(frame: Any) -> Any:
    """A comparison's frame with the tuned library's columns alone, under the names of a performance dashboard.

    Columns of the reference, ``lib``, ``ratio`` and ``error_tuned`` are left out, ``_tuned`` is cut off the others.
    """
    table = from_frame(frame)
    kept = [name for name in table.column_names if "reference" not in name and name not in _NOT_FOR_DASHBOARD]
    names = [name.removesuffix("_tuned") for name in kept]
    return to_frame(
        table.select(kept).rename_columns([_RENAMED_FOR_DASHBOARD.get(name, name) for name in names])
    )


def _read(path: Path, winner_echo: bool) -> pa.Table:
    import pyarrow.compute as pc

    from geko.ingest.bench_stdout import parse_bench_text

    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise MissingFileError("there is no such file", path=path) from error
    out = parse_bench_text(text)
    if not out.blocks.num_rows:
        errors = out.errors
        said = f"; it says: {errors[0].text}" if errors else ""
        raise InputError(
            f"no result of hipblaslt-bench: the file does not have the correct format{said}", path=path
        )
    for event in out.events:
        if event.kind == "truncated":
            logger.warning(f"{path}:{event.line}: a result is cut off and left out")
    table = _table(out)
    if not winner_echo:
        table = table.filter(pc.invert(out.blocks["winner_echo"]))
    for name in (*GEMM_FIELDS, *PERF_FIELDS):
        if name not in table.column_names or table[name].null_count:
            raise InputError(f"the results are not complete: {name} is missing", path=path)
    return table


def _table(out: BenchOutput) -> pa.Table:
    """Printed columns, in the order of the newest version, then those that only this file has."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc

    from geko.ingest.bench_stdout import COLUMNS, column_of

    blocks = out.blocks
    columns: dict[str, pa.ChunkedArray] = {}
    for name in COLUMNS:
        column = blocks[name]
        if column.null_count == len(column):
            continue
        if pa.types.is_boolean(column.type):
            column = pc.cast(column, pa.int64())
        columns[_PRINTED.get(name, name)] = (
            pc.cast(column, pa.string()) if name == "solution_index" else column
        )
    for name in ("scaleA", "scaleB"):
        columns.setdefault(name, pa.chunked_array([pa.repeat(pa.scalar(0, pa.int64()), blocks.num_rows)]))
    extra = pl.Series(blocks["extra"], dtype=pl.String)
    others = dict.fromkeys(name for header in out.headers for name in header if column_of(name) is None)
    for name in others:
        text = extra.str.json_path_match(f'$["{name}"]')
        number = text.cast(pl.Float64, strict=False)
        columns[name] = pa.chunked_array(
            [(number if number.null_count() == text.null_count() else text).to_arrow()]
        )
    return pa.table(columns)
