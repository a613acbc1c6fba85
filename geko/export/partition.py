"""Library logic of a partition of a chip: its header names the number of CUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geko.errors import InputError

if TYPE_CHECKING:
    from geko.library.model import Library, LibraryCollection
    from geko.warehouse import Warehouse


def mark_partitions(warehouse: Warehouse, run_id: str, collection: LibraryCollection) -> None:
    """Write the CU count of a run's devices into each library, where they are a partition; in place."""
    cus = partition_cus(warehouse, run_id)
    if cus is not None:
        for library in collection:
            mark_partition(library, cus)


def partition_cus(warehouse: Warehouse, run_id: str) -> int | None:
    """CUs of a run's devices where they are a part of the chip, or a smaller model; None on the full one.

    Library logic of such a device names the count, and hipBLASLt then uses it on devices with as many CUs alone. Tensilelite
    writes it for gfx942 only (from rocminfo or the variable CU, unless it is 304), though it reads it for every target.
    """
    from geko.domain.arch import get_arch

    chip = warehouse.query("tune/chip", run_id=run_id).to_pylist()
    if not chip or chip[0]["cu_count"] is None:
        return None
    try:
        full = get_arch(chip[0]["target"])
    except InputError:
        return None
    # rocminfo counts the CUs of gfx1250 otherwise than the table, whose unit is the work-group processor.
    counted = full.family in ("gfx942", "gfx950") and int(chip[0]["cu_count"]) != full.cus
    return int(chip[0]["cu_count"]) if counted else None


def mark_partition(library: Library, cus: int) -> None:
    """Write a CU count into the header of a library, in the form of its layout; in place."""
    if isinstance(library.data, dict):
        library.set("CUCount", cus)
    else:
        library.set("ArchitectureName", {"Architecture": library.architecture, "CUCount": cus})
