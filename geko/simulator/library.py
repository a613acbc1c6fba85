"""Tensile library logic in the condensed form that the stand-ins load in a few milliseconds.

``TensileLibrary_lazy_gfx*.dat`` of the simulator holds one marker line and then JSON. Only the fields that
choose or time a kernel are kept; the names travel with them. The real file of this name is msgpack and holds
far more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geko.errors import InputError

MARKER = "GEKO simulated Tensile library, form 1"

#: Fields of a solution that choose or time a kernel, with the value that an absent field means.
SOLUTION_FIELDS: dict[str, Any] = {
    "MacroTile0": 0,
    "MacroTile1": 0,
    "DepthU": 0,
    "MatrixInstruction": [],
    "MIWaveTile": [1, 1],
    "MIWaveGroup": [1, 1],
    "WorkGroup": [16, 16, 1],
    "WavefrontSize": 64,
    "GlobalSplitU": 1,
    "GlobalSplitUAlgorithm": "MultipleBuffer",
    "LocalSplitU": 1,
    "StreamK": 0,
    "GlobalReadVectorWidthA": 1,
    "GlobalReadVectorWidthB": 1,
    "StoreVectorWidth": 1,
    "LdsNumBytes": 0,
    "1LDSBuffer": 0,
    "PrefetchGlobalRead": 1,
    "DirectToVgprA": False,
    "DirectToVgprB": False,
    "DirectToLds": False,
    "WorkGroupMapping": 8,
    "WorkGroupMappingXCC": 1,
    "StaggerU": 0,
    "SourceSwap": False,
    "AssertFree0ElementMultiple": 1,
    "AssertFree1ElementMultiple": 1,
    "AssertSummationElementMultiple": 1,
    "_WorkspaceSizePerElemC": 0,
    "SolutionIndex": 0,
    "KernelNameMin": "",
    "SolutionNameMin": "",
}

#: Fields of the problem type that decide which problems a table serves.
TYPE_FIELDS: dict[str, Any] = {
    "TransposeA": False,
    "TransposeB": False,
    "DataType": 0,
    "DataTypeA": None,
    "DataTypeB": None,
    "DestDataType": 0,
    "ComputeDataType": 0,
    "F32XdlMathOp": 0,
    "Batched": True,
    "GroupedGemm": False,
    "UseBeta": True,
    "UseBias": 0,
    "BiasDataTypeList": [],
    "BiasSrc": "D",
    "Activation": False,
    "UseScaleAlphaVec": 0,
    "UseScaleAB": "",
    "UseScaleCD": False,
    "UseE": False,
    "Gradient": False,
    "OutputAmaxD": False,
    "SwizzleTensorA": False,
    "SwizzleTensorB": False,
}


#: Further fields of block-scaled types, kept where they are set: a type without is told apart as it always was.
MX_FIELDS = ("MXBlockA", "MXBlockB")


def type_fields(kind: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a problem type that decide which problems it serves."""
    fields = {key: kind.get(key, default) for key, default in TYPE_FIELDS.items()}
    return fields | {key: kind[key] for key in MX_FIELDS if kind.get(key)}


def architecture(logic: Sequence[Any]) -> tuple[str, int | None]:
    """Architecture name and CU count (None where the logic holds for the full GPU) of list-form logic."""
    arch = logic[2]
    if isinstance(arch, Mapping):
        return str(arch.get("Architecture")), arch.get("CUCount")
    return str(arch), None


def condense(logic: Sequence[Any], source: str, first_index: int) -> dict[str, Any]:
    """Reduce list-form library logic to what the stand-ins need.

    Args:
        logic: the 12 elements of the file.
        source: path of the file, kept for messages.
        first_index: global index of its first solution in this build.

    Returns:
        A table with ``problem_type``, ``solutions`` (each with its global ``index`` and content ``key``),
        ``exact`` (``[[M, N, batch, K], local index]``) and ``library_type``; ``cu_count`` where the logic is for a part of
        the chip.
    """
    problem_type = type_fields(logic[4])
    solutions = []
    for local, raw in enumerate(logic[5]):
        solution = {key: raw.get(key, default) for key, default in SOLUTION_FIELDS.items()}
        if not solution["KernelNameMin"]:
            solution["KernelNameMin"] = raw.get("BaseName", solution["SolutionNameMin"])
        content = {
            k: v
            for k, v in solution.items()
            if k not in ("SolutionIndex", "SolutionNameMin", "KernelNameMin")
        }
        text = json.dumps([content, problem_type], sort_keys=True)
        solution["key"] = hashlib.sha256(text.encode()).hexdigest()[:16]
        solution["index"] = first_index + local
        solutions.append(solution)
    position = {int(solution["SolutionIndex"]): local for local, solution in enumerate(solutions)}
    exact = [[list(entry[0][:4]), position[int(entry[1][0])]] for entry in logic[7] or []]
    arch, cus = architecture(logic)
    return {
        "source": source,
        "arch": arch,
        **({"cu_count": cus} if cus is not None else {}),
        "library_type": logic[11] if len(logic) > 11 else "Equality",
        "problem_type": problem_type,
        "solutions": solutions,
        "exact": exact,
    }


def dump_tables(tables: Sequence[Mapping[str, Any]], arch: str) -> bytes:
    """The bytes of a simulated ``TensileLibrary_lazy_<arch>.dat``."""
    body = json.dumps({"simulated": True, "arch": arch, "tables": tables}, separators=(",", ":"))
    return f"{MARKER}\n{body}\n".encode()


def match_table(entries: Iterable[tuple[str, int]]) -> str:
    """``MatchTable.yaml``: global index -> [logic file, index inside it], wrapped as the real tool wraps it.

    PyYAML, which writes the real file, starts a new line once a flow list has passed column 80.
    """
    lines = ["---"]
    for index, (path, local) in enumerate(entries):
        head = f"{index}: [{path},"
        lines.append(f"{head}\n  {local}]" if len(head) > 80 else f"{head} {local}]")
    lines.append("...")
    return "\n".join(lines) + "\n"


class Library:
    """A built library as the bench stand-in sees it.

    Attributes:
        arch: architecture it was built for.
        tables: condensed logic files, see :func:`condense`.
        digest: content hash of the built file.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        marker, _, body = data.partition(b"\n")
        if marker.decode("utf-8", "replace") != MARKER:
            raise InputError("not a library of the simulator's TensileCreateLibrary", path=path)
        content = json.loads(body)
        self.arch: str = content["arch"]
        self.tables: list[dict[str, Any]] = content["tables"]
        self.digest = hashlib.sha256(data).hexdigest()[:16]

    @classmethod
    def load(cls, where: str | Path) -> Library:
        """Load the library below ``where`` (a file, a ``gfx*`` folder or the ``library`` folder above it)."""
        path = Path(where)
        found = [path] if path.is_file() else sorted(path.glob("**/TensileLibrary_lazy_gfx*.dat"))
        if not found:
            raise InputError("no TensileLibrary_lazy_gfx*.dat below this path", path=path)
        return cls(found[0], found[0].read_bytes())

    def by_index(self, index: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The (table, solution) of a global solution index, None when this build has none."""
        for table in self.tables:
            first = table["solutions"][0]["index"] if table["solutions"] else 0
            if first <= index < first + len(table["solutions"]):
                return table, table["solutions"][index - first]
        return None
