"""Pruning a library by measurement: build each cluster of similar kernels, time all of them, keep the fewest that cover."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import polars as pl

from geko.devices import parse_devices
from geko.domain.identity import content_id
from geko.errors import InputError, ToolError, UsageError
from geko.fsio import write_text_atomic
from geko.hipblaslt import HipblasltRoot, find_root
from geko.library.bench_input import bench_rows
from geko.library.build import Build, built, create
from geko.library.check import repair as repair_in_place
from geko.library.check import require_sound
from geko.library.edit import renumber
from geko.library.match_table import load_match_table
from geko.library.model import Library, load_library
from geko.library.prune import cluster_keys, prune_measured
from geko.log import logger

_SIZE = ["m", "n", "batch_count", "k"]
#: Seconds that one solution of one size may take, and those of starting the program.
_PER_RUN_S, _START_S = 5.0, 600.0


@dataclass(frozen=True)
class _Cluster:
    """Kernels that are built and timed together.

    Attributes:
        folder: its files: ``lib/``, ``build/``, ``latency.yaml``, ``latency.out``.
        library: its solutions, numbered from 0, and the sizes that use them.
        positions: of these solutions in the whole library.
    """

    folder: Path
    library: Library
    positions: list[int]


def prune_library(
    hipblaslt_path: str | Path,
    lib: Library | str | Path,
    workdir: str | Path,
    cluster: bool = True,
    devices: str | Sequence[int] = (0,),
    tol: float = 0.02,
    scale_tol: bool = True,
    other_keys: Sequence[str] = (),
) -> Library:
    """Cut a library to the fewest solutions that keep its speed on its own sizes.

    Every cluster is built and all its solutions are timed on all its sizes; what was built and timed is reused when the
    call is made again.

    Args:
        hipblaslt_path: hipBLASLt checkout, built with its clients.
        lib: the library, or its file.
        workdir: where clusters are built and timed, in ``<stem>/MT<a>x<b>x<c>/``.
        cluster: treat solutions of equal macro tile and DepthU apart; else all at once.
        devices: GPUs that time; clusters are spread over them.
        tol: efficiency that may be lost, as a fraction.
        scale_tol: let small GEMMs lose more, see :func:`geko.library.prune.gemm_tolerance`.
        other_keys: further parameters that set clusters apart.

    Returns:
        The pruned library; efficiencies as measured (0, unknown, where they were simulated). ``lib`` stays as it is.

    Raises:
        InputError: the library is unsound or has no sizes, or a size could not be timed.
        ToolError: building or timing failed; the outputs stay in ``workdir``.
    """
    root = find_root(hipblaslt_path, built=True)
    library = lib if isinstance(lib, Library) else load_library(lib)
    require_sound(library, allow=("name-missing",))
    if library.has_other_logic:
        raise UsageError(
            f"{library.name} doesn't select by its sizes alone: which of its solutions are needed can't be measured"
        )
    clusters = list(_clusters(library, Path(workdir), cluster, tuple(other_keys)))
    # One after the other: the tool uses all cores by itself.
    builds = [_built(root, item) for item in clusters]
    ordinals: SimpleQueue[int] = SimpleQueue()
    numbers = parse_devices(devices)
    for number in numbers:
        ordinals.put(number)

    def timed(item: tuple[_Cluster, Build]) -> pl.DataFrame:
        ordinal = ordinals.get()
        try:
            return _timed(root, *item, ordinal)
        finally:
            ordinals.put(ordinal)

    order = sorted(zip(clusters, builds, strict=True), key=lambda item: -_runs(item[0]))
    with ThreadPoolExecutor(len(numbers)) as pool:
        measured = pl.concat(list(pool.map(timed, order)))
    pruned = prune_measured(
        library, measured, cluster=cluster, tol=tol, scale_tol=scale_tol, other_keys=tuple(other_keys)
    )
    if root.is_simulated:
        logger.warning("%s was pruned by simulated times; its efficiencies are 0", library.name)
        pruned.sizes = [[size, [index, 0.0]] for size, (index, *_) in pruned.sizes]
    logger.info("%s: %d of %d solutions kept", library.name, len(pruned.solutions), len(library.solutions))
    return pruned


def prune_into(
    hipblaslt_path: str | Path,
    file: str | Path,
    workdir: str | Path,
    output_dir: str | Path,
    *,
    devices: str,
    tol: float,
    repair: bool = False,
) -> str:
    """:func:`prune_library` of a file, written into a folder; what was repaired and done, one line each."""
    library = load_library(file)
    lines = repair_in_place(library) if repair else []
    pruned = prune_library(hipblaslt_path, library, workdir, devices=devices, tol=tol)
    pruned.dump(output_dir)
    return "\n".join(
        [*lines, f"{pruned.name}: {len(library.solutions)} -> {len(pruned.solutions)} solutions"]
    )


def _clusters(
    library: Library, workdir: Path, cluster: bool, other_keys: tuple[str, ...]
) -> Iterator[_Cluster]:
    groups: dict[str, list[int]] = {}
    for position in range(len(library.solutions)):
        solution = library.full_solution(position)
        name = "all"
        if cluster:
            tile = "x".join(str(solution.get(key)) for key in cluster_keys())
            name = "_".join([f"MT{tile}", *(f"{key}{solution.get(key)}" for key in other_keys)])
        groups.setdefault(name, []).append(position)
    for name, positions in sorted(groups.items()):
        part = library.copy()
        sizes = [entry for entry in part.sizes if entry[1][0] in set(positions)]
        if not sizes:
            continue
        part.solutions, part.sizes = renumber(part.solutions, sizes, positions)
        yield _Cluster(workdir / Path(library.name).stem / name, part, positions)


def _built(root: HipblasltRoot, item: _Cluster) -> Build:
    item.library.dump(item.folder / "lib")
    found = built(item.folder / "build", item.folder / "lib")
    return found or create(root.path, item.folder / "lib", item.folder / "build")


def _runs(item: _Cluster) -> int:
    return len(item.library.sizes) * len(item.library.solutions)


def _timed(root: HipblasltRoot, item: _Cluster, build: Build, ordinal: int) -> pl.DataFrame:
    """GFLOP/s of every solution of a cluster on every size of it."""
    from geko.ingest.bench_stdout import parse_bench_text

    if build.match_table is None:
        raise ToolError(f"{build.path} has no MatchTable.yaml: which solution an index means is unknown")
    text = _bench_text(item)
    output, stamp = item.folder / "latency.out", item.folder / "latency.json"
    key = content_id("prune", [(item.folder / "build" / "geko_build.json").read_text(), text, str(root.path)])
    if not (output.is_file() and stamp.is_file() and json.loads(stamp.read_text()) == key):
        write_text_atomic(item.folder / "latency.yaml", text)
        _bench(root, item, build, ordinal)
        write_text_atomic(stamp, json.dumps(key))
    blocks = parse_bench_text(output.read_text(encoding="utf-8", errors="replace")).blocks
    rows = pl.DataFrame(blocks).filter(~pl.col("winner_echo"))
    table = pl.DataFrame(load_match_table(build.match_table)).select(
        "solution_index", cluster_index="local_index"
    )
    positions = pl.DataFrame({"cluster_index": range(len(item.positions)), "local_index": item.positions})
    rows = (
        rows
        .with_columns(pl.col("solution_index").cast(pl.Int64, strict=False))
        .join(table, on="solution_index")
        .join(positions.with_columns(pl.col("cluster_index").cast(pl.Int64)), on="cluster_index")
        .select(*(pl.col(name).cast(pl.Int64) for name in _SIZE), pl.col("local_index").cast(pl.Int64),
                pl.col("gflops").cast(pl.Float64))
    )  # fmt: skip
    sizes = {tuple(entry[0][:4]) for entry in item.library.sizes}
    missing = sorted(sizes - set(rows.select(_SIZE).unique().rows()))
    if missing:
        raise InputError(f"{len(missing)} sizes were not timed", path=output, value=list(missing[0]))
    return rows.filter(pl.struct(_SIZE).is_in([dict(zip(_SIZE, size, strict=True)) for size in sizes]))


def _bench_text(item: _Cluster) -> str:
    from geko.runners.bench_yaml import bench_yaml

    rows: list[dict[str, Any]] = []
    for row in bench_rows(item.library, duration=0.0, flush=False):
        flops = 2.0 * row["M"] * row["N"] * row["batch_count"] * row["K"]
        iters = min(max(int(7e13 / flops), 10), 1000)
        rows.append(
            row
            | {"iters": iters, "cold_iters": int(0.2 * iters), "algo_method": 0, "requested_solution_num": -1}
        )
    return bench_yaml(rows)


def _bench(root: HipblasltRoot, item: _Cluster, build: Build, ordinal: int) -> None:
    from geko.runners.gpu_lock import GpuLock, physical_ordinal
    from geko.runners.hipblaslt_bench import LIBPATH, UNSET
    from geko.runners.process import run_process

    env = {name: value for name, value in os.environ.items() if name not in UNSET}
    env[LIBPATH] = str(build.code_dir)
    # Simulated devices are no GPUs: nobody can be in the way.
    folder = item.folder if root.is_simulated else None
    lock = GpuLock(physical_ordinal(ordinal, env), folder)
    lock.acquire()
    try:
        result = run_process(
            [root.require_bench(), "--yaml", item.folder / "latency.yaml", "--device", str(ordinal)],
            env=env,
            spool_dir=item.folder,
            timeout_s=_START_S + _PER_RUN_S * _runs(item),
            pass_fds=() if lock.fd is None else (lock.fd,),
        )
    finally:
        lock.release()
    write_text_atomic(item.folder / "latency.out", result.output)
    if result.outcome != "ok":
        raise ToolError(f"hipblaslt-bench {result.message}; its output is {item.folder / 'latency.out'}")
