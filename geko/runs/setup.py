"""What a run stands on: the hipBLASLt root, the devices with their environment, the reference library."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.identity import canonical_json, content_id
from geko.errors import InputError, ToolError
from geko.hipblaslt import HipblasltRoot, find_root, is_built_library, library_path
from geko.log import logger

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.library.build import Build
    from geko.runners.pool import Slot
    from geko.runs.options import RunOptions, SimulateOptions
    from geko.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Library:
    """A library under test.

    Attributes:
        library_id: row of table ``library``.
        match_table: its MatchTable.yaml, which leads from an index to a logic file.
        libpath: value for HIPBLASLT_TENSILE_LIBPATH; None for the stock library.
        logic_root: where its logic files lie.
    """

    library_id: str
    match_table: Path | None
    libpath: str | None
    logic_root: Path | None


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a run takes place.

    Attributes:
        root: hipBLASLt root.
        simulated: True on stand-ins.
        environment_id: row of table ``environment``; all devices share it.
        arch: gfx target of the devices.
        slots: the devices.
        reference: library that everything is compared with.
    """

    root: HipblasltRoot
    simulated: bool
    environment_id: str
    arch: str
    slots: tuple[Slot, ...]
    reference: Library


def simulated_root(options: SimulateOptions) -> Path:
    """Make the stand-ins in the user's cache folder, one folder per setting."""
    from geko.simulator import example_library, make_root

    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "geko" / "simulated"
    base.mkdir(parents=True, exist_ok=True)
    logic = (options.library or example_library()).resolve()
    key = content_id(
        "simulated-root", [options.arch, options.seed, options.noise, options.n_devices, str(logic)]
    )
    return make_root(
        base / key[:13], arch=options.arch, logic_dir=logic, seed=options.seed, noise=options.noise,
        devices=options.n_devices,
    )  # fmt: skip


def prepare_ground(
    warehouse: Warehouse, options: RunOptions, workdir: Path | None, anchor: Path | None
) -> Ground:
    """Find the root, probe the devices, know the reference library; all of it goes into the warehouse.

    Raises:
        MissingFileError: no hipBLASLt root, or not built.
        ToolError: a device doesn't answer, or the devices differ.
    """
    from geko.runners.pool import Slot
    from geko.runners.probe import count_devices, probe, store

    if options.simulate is not None:
        root = HipblasltRoot(simulated_root(options.simulate))
    else:
        root = find_root(options.hipblaslt, anchor=anchor, built=True)
    root.require_bench()
    ordinals = list(options.devices) if options.devices is not None else list(range(count_devices(root)))
    if options.simulate is not None and options.devices is None:
        ordinals = ordinals[: min(2, os.cpu_count() or 1)]
    devices = probe(root, ordinals)
    environments = {device.environment.environment_id: device.environment for device in devices}
    if len(environments) > 1:
        groups = "; ".join(
            f"{device.ordinal}: {device.environment.device_name} {device.environment.gfx} {device.environment.cu_count} CUs"
            for device in devices
        )
        raise ToolError(
            f"the devices differ, and times of different GPUs can't be compared; choose equal ones with --devices ({groups})"
        )
    store(warehouse, devices)
    environment = devices[0].environment
    store_peaks(warehouse)
    arch = environment.arch or "unknown"
    reference = _reference(warehouse, root, arch, options, workdir)
    slots = tuple(Slot(device.ordinal, device.device_id) for device in devices)
    return Ground(root, environment.simulated, environment.environment_id, arch, slots, reference)


def store_peaks(warehouse: Warehouse) -> None:
    """Bring table ``arch_peak`` up to date with the arch table: a time that beats the peak is no time."""
    import pyarrow as pa

    from geko.domain.arch import fastest_product, get_arch, supported_archs
    from geko.domain.dtypes import BY_COMPUTE, BY_TOKEN
    from geko.warehouse import Statement

    rows: dict[tuple[str, str, str], float] = {}
    for name in supported_archs():
        product = fastest_product(name)
        target = get_arch(name).target
        if product is None:
            continue
        for token in BY_TOKEN:
            for compute in BY_COMPUTE:
                peak = product.peak(token, None, compute)
                if peak is not None:
                    rows[target, token, compute] = max(peak * 1e3, rows.get((target, token, compute), 0.0))
    table = pa.table(
        {
            "arch": [key[0] for key in rows],
            "a_type": [key[1] for key in rows],
            "compute_type": [key[2] for key in rows],
            "peak_gflops": pa.array(list(rows.values()), pa.float64()),
        }
    )
    warehouse.apply(Statement("run/put_arch_peaks", inputs={"peaks": table}), repeatable=True)


def _reference(
    warehouse: Warehouse, root: HipblasltRoot, arch: str, options: RunOptions, workdir: Path | None
) -> Library:
    if options.custom_lib_dir is not None:
        if options.custom_lib_src is not None:
            logger.warning("both --custom-lib-src and --custom-lib-dir are given; the built library is used")
        if not is_built_library(options.custom_lib_dir):
            raise InputError(
                "is no built library: it holds no TensileLibrary*.dat; build it with --custom-lib-src LOGIC_DIR",
                path=options.custom_lib_dir,
            )
        custom = library_path(options.custom_lib_dir)
        table = table_beside(options.custom_lib_dir)
        return know_library(warehouse, custom, table, arch, "external", None, str(custom))
    if options.custom_lib_src is not None:
        build = _reference_build(warehouse, root, options.custom_lib_src, workdir or Path.cwd())
        return know_library(
            warehouse,
            build.code_dir,
            build.match_table,
            arch,
            "external",
            options.custom_lib_src,
            str(build.code_dir),
        )
    folder = root.stock_library(arch)
    if folder is None:
        raise ToolError(
            f"no built kernels for {arch} below {root.release}; build hipBLASLt with --architecture {arch}"
        )
    # Logic paths in the table are those of the machine that built it; the checkout has the same files.
    logic = next((d for d in (root.path / "library", root.path / "tensilelite") if d.is_dir()), root.path)
    return know_library(warehouse, folder, root.match_table, arch, "stock", logic, None)


def _reference_build(warehouse: Warehouse, root: HipblasltRoot, logic_dir: Path, workdir: Path) -> Build:
    """Build a reference library, unless an earlier build of the same logic by the same tool is still there."""
    from geko.library.build import built, create

    target = workdir / "ref_build"
    places = [target, *map(Path, warehouse.query("run/built_places", origin="external")["path"].to_pylist())]
    for place in dict.fromkeys(places):
        for folder in (place, *place.parents[:3]):
            build = built(folder, logic_dir)
            if build is not None and build.hipblaslt == root.path.resolve():
                logger.info("reference library: the build in %s is of the same logic and used again", folder)
                return build
    return create(root.path, logic_dir, target)


def table_beside(folder: Path) -> Path | None:
    """MatchTable.yaml in or beside a built library; None without one."""
    places = (
        folder / "MatchTable.yaml",
        folder.parent / "MatchTable.yaml",
        folder / "library" / "MatchTable.yaml",
    )
    return next((path for path in places if path.is_file()), None)


def know_library(
    warehouse: Warehouse,
    folder: Path,
    match_table: Path | None,
    arch: str,
    origin: str,
    logic_root: Path | None,
    libpath: str | None,
) -> Library:
    """Put a built library and its index table into the warehouse.

    The identity is the content of its ``TensileLibrary*`` files and of the MatchTable less its folders (those are of the
    machine that built it), with names and sizes of its code objects.
    """
    import pyarrow as pa

    from geko.warehouse import Statement

    digest = _built_digest(folder, match_table)
    library_id = content_id("library", digest)  # as built_library_id
    now = warehouse.now()
    row: dict[str, Any] = {
        "library_id": library_id, "kind": "built", "name": folder.name, "arch": arch, "origin": origin,
        "content_sha256": digest, "path": str(folder), "detail": canonical_json({}),
    }  # fmt: skip
    steps = [Statement("ingest/put_library", {"now": now}, {"rows": pa.Table.from_pylist([row])})]
    if (
        match_table is not None
        and not warehouse.query("run/library_known", library_id=library_id)["known"][0].as_py()
    ):
        from geko.library.match_table import load_match_table

        table = load_match_table(match_table)
        n = table.num_rows
        rows = pa.table(
            {
                "library_id": pa.array([library_id] * n, pa.string()),
                "solution_index": table["solution_index"],
                "logic_file": table["file_name"],
                "library_type": pa.array(_library_types(table), pa.string()),
                "local_index": table["local_index"],
            }
        )
        steps.append(Statement("ingest/put_library_solution", {}, {"rows": rows}))
    warehouse.apply(*steps, repeatable=True)
    return Library(library_id, match_table, libpath, logic_root)


def _library_types(table: pa.Table) -> list[str]:
    """Library type of each entry: the folder of its logic file, such as ``Equality``."""
    return [Path(text).parent.name for text in table["logic_file"].to_pylist()]


def built_library_id(folder: Path, match_table: Path | None) -> str:
    """Id of a built library, as `know_library` gives it."""
    return content_id("library", _built_digest(folder, match_table))


def _built_digest(folder: Path, match_table: Path | None) -> str:
    total = hashlib.sha256()
    for path in sorted(item for item in folder.rglob("*") if item.is_file()):
        name = path.relative_to(folder).as_posix()
        total.update(f"{name}\0{path.stat().st_size}\0".encode())
        if path.name.startswith("TensileLibrary"):
            with path.open("rb") as handle:
                total.update(hashlib.file_digest(handle, "sha256").digest())
    if match_table is not None:
        from geko.library.match_table import load_match_table

        table = load_match_table(match_table)
        entries = zip(
            table["solution_index"].to_pylist(),
            _library_types(table),
            table["file_name"].to_pylist(),
            table["local_index"].to_pylist(),
            strict=True,
        )
        total.update("\n".join(f"{i}|{kind}|{name}|{local}" for i, kind, name, local in entries).encode())
    return total.hexdigest()
