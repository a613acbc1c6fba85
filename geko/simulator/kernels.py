"""From fork parameters to kernels: which combinations build, what they are called, and how library logic
describes them.

Which combinations are refused is the model of :mod:`geko.candidates.validity`. What tensilelite derives from
the parameters (macro tile, work group, vector widths, LDS) is worked out here as far as the time model and the
names need it; every other field comes from a solution of the stock library.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.domain.dtypes import BY_TOKEN, MX_SCALE_ENUM, from_letter
from geko.domain.gemm import hipblaslt_types
from geko.domain.kernel_name import is_kernel_token, parse_token
from geko.errors import InputError
from geko.simulator.devices import TYPES, Device
from geko.simulator.library import SOLUTION_FIELDS, type_fields

TEMPLATE = "tensilelite/simulated-solution.json"
_WAVE = 64
#: What tensilelite takes where a config says nothing.
_DEFAULTS: dict[str, Any] = {
    "GlobalSplitU": 1,
    "GlobalSplitUAlgorithm": "MultipleBuffer",
    "GlobalReadVectorWidthA": -1,
    "GlobalReadVectorWidthB": -1,
    "VectorWidthA": -1,
    "VectorWidthB": -1,
    "StoreVectorWidth": -1,
    "1LDSBuffer": -1,
    "PrefetchGlobalRead": 1,
    "WorkGroupMapping": 8,
    "WorkGroupMappingXCC": 1,
    "StaggerU": 32,
    "DirectToVgprA": False,
    "DirectToVgprB": False,
    "SourceSwap": False,
}
#: Parameters that the rules of validity look at, one by one.
_JUDGED = (
    "DepthU", "GlobalReadVectorWidthA", "GlobalReadVectorWidthB", "VectorWidthA", "VectorWidthB", "DirectToVgprA",
    "DirectToVgprB", "WaveSeparateGlobalReadA", "WaveSeparateGlobalReadB", "ClusterLocalRead", "1LDSBuffer",
)  # fmt: skip
#: Tokens that every name has, in Tensile's spelling.
_ALWAYS = (
    "1LDSBuffer", "GlobalReadVectorWidthA", "GlobalReadVectorWidthB", "GlobalSplitU", "MIWaveTile", "PrefetchGlobalRead",
    "StaggerU", "StoreVectorWidth", "VectorWidthA", "VectorWidthB", "WorkGroup", "WorkGroupMapping",
    "WorkGroupMappingXCC",
)  # fmt: skip
# They stand in the part of the name before the tokens.
_IN_HEAD = frozenset({"MatrixInstruction", "DepthU", "KernelLanguage"})


@dataclass(frozen=True, slots=True)
class GemmKind:
    """A problem type of a config.

    Attributes:
        head: first part of its kernels' names; also the name of its folders and files.
        data, dest, compute: Tensile letters.
        tokens: hipBLASLt types of A, B, C and compute.
        layout: transposes of A and B.
        logic: problem type as library logic writes it.
    """

    head: str
    data: str
    dest: str
    compute: str
    tokens: tuple[str, str, str, str]
    layout: str
    logic: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that builds.

    Attributes:
        name: solution name, with the run-time tokens; ``kernel_name`` without them.
        condensed: what the time model reads, see :mod:`geko.simulator.library`.
        parameters: those of the config, and what follows from them.
        genes: choice per axis.
    """

    name: str
    kernel_name: str
    condensed: Mapping[str, Any]
    parameters: Mapping[str, Any]
    genes: tuple[int, ...] = ()


@dataclass(slots=True)
class Workshop:
    """Makes kernels of one problem type on one GPU.

    Attributes:
        device: the GPU.
        kind: the problem type.
        template: a solution of library logic that gives the fields nobody asked for.
        varied: parameters that differ between the kernels of the config; they appear in names.
    """

    device: Device
    kind: GemmKind
    template: Mapping[str, Any]
    varied: Sequence[str] = ()
    _known: dict[str, Kernel | None] = field(default_factory=dict)

    def build(self, choices: Sequence[tuple[tuple[int, ...], Mapping[str, Any]]]) -> list[Kernel | None]:
        """Kernels of parameter sets; None where tensilelite would refuse one.

        Args:
            choices: genes and parameters of each.
        """
        derived = [self._derive(parameters) for _, parameters in choices]
        valid = self._judge([item for item in derived if item is not None])
        verdicts = iter(valid)
        out: list[Kernel | None] = []
        for (genes, _), item in zip(choices, derived, strict=True):
            if item is None or not next(verdicts):
                out.append(None)
                continue
            out.append(self._kernel(genes, item))
        return out

    def _derive(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """Parameters with what follows from them; None where that is impossible."""
        solution = {**_DEFAULTS, **given}
        instruction = solution.get("MatrixInstruction")
        depth = solution.get("DepthU")
        if (
            not isinstance(instruction, list)
            or len(instruction) != 9
            or not isinstance(depth, int)
            or depth < 1
        ):
            return None
        im, in_, ik, ib, bm, wtm, wtn, wgm, wgn = instruction
        if min(instruction) < 1 or ib % bm:
            return None
        group = solution.get("WorkGroup")
        split = (
            int(group[2])
            if isinstance(group, list) and len(group) == 3
            else int(solution.get("LocalSplitU", 1))
        )
        waves = wgm * wgn
        mt0, mt1 = im * bm * wtm * wgm, in_ * (ib // bm) * wtn * wgn
        size = _bytes(self.kind.tokens[0])
        solution |= {
            "MatrixInstruction": [im, in_, ik, ib],
            "MacroTile0": mt0,
            "MacroTile1": mt1,
            "MIWaveTile": [wtm, wtn],
            "MIWaveGroup": [wgm, wgn],
            "LocalSplitU": split,
            "WorkGroup": [wgm * im * bm, max(1, waves * _WAVE // (wgm * im * bm)), split],
            "WavefrontSize": _WAVE,
            "StreamK": _stream_k(solution),
            "_threads": waves * _WAVE * split,
            "_columns": {
                "im": im, "in": in_, "ik": ik, "ib": ib, "wtm": wtm, "wtn": wtn, "wgm": wgm, "wgn": wgn, "lsu": split,
                "mt0": mt0, "mt1": mt1, "waves": waves, "threads": waves * _WAVE * split,
            },
        }  # fmt: skip
        solution["_columns"] |= {name: int(solution[name]) for name in _JUDGED if name in solution}
        for side, tile, wave_tile, major in (
            ("A", mt0, wtm, self.kind.layout[0] == "N"),
            ("B", mt1, wtn, self.kind.layout[1] != "N"),
        ):
            width = self._load_width(
                solution[f"GlobalReadVectorWidth{side}"], tile, depth, solution, size, major
            )
            if width is None:
                return None
            solution[f"GlobalReadVectorWidth{side}"] = width
            solution[f"VectorWidth{side}"] = _vector_width(solution[f"VectorWidth{side}"], wave_tile, size)
        store = int(solution["StoreVectorWidth"])
        solution["StoreVectorWidth"] = store if store > 0 else solution["VectorWidthA"]
        self._place(solution, mt0, mt1, depth, size)
        return solution if solution["LdsNumBytes"] <= self.device.lds_bytes else None

    @staticmethod
    def _load_width(
        wanted: Any, tile: int, depth: int, solution: Mapping[str, Any], size: float, major: bool
    ) -> int | None:
        """Width of global loads in elements: the one asked for, or the widest that splits evenly (-1)."""
        contiguous = tile if major else depth
        widths = [int(wanted)] if int(wanted) > 0 else [16, 8, 4, 2, 1]
        for width in widths:
            fits = width * size <= 16 and contiguous % width == 0
            if fits and tile * depth % (width * solution["_threads"]) == 0:
                return width
        return 1 if int(wanted) <= 0 and tile * depth % solution["_threads"] == 0 else None

    def _place(self, solution: dict[str, Any], mt0: int, mt1: int, depth: int, size: float) -> None:
        """LDS: one buffer, or two when asked for or when -1 finds room for both."""
        rows = 0.0
        for side, tile in (("A", mt0), ("B", mt1)):
            if not solution[f"DirectToVgpr{side}"]:
                rows += tile * depth * size * 1.03
        one = math.ceil(rows)
        two = 2 ** math.ceil(math.log2(max(one, 1))) + one
        buffers = int(solution["1LDSBuffer"])
        if buffers == -1:
            buffers = 0 if two <= self.device.lds_bytes and solution["PrefetchGlobalRead"] > 1 else 1
        solution["1LDSBuffer"] = buffers
        solution["LdsNumBytes"] = two if buffers == 0 else one
        if solution["GlobalSplitU"] > 1:
            solution["_WorkspaceSizePerElemC"] = 4

    def _judge(self, solutions: Sequence[Mapping[str, Any]]) -> list[bool]:
        if not solutions:
            return []
        import polars as pl

        from geko.candidates.validity import KernelFacts, drop_invalid

        facts = KernelFacts(
            data_type=self.kind.data,
            element_bytes=_bytes(self.kind.tokens[0]),
            layout=self.kind.layout.replace("C", "T"),
            lds_bytes=self.device.lds_bytes,
            compute_type=self.kind.compute,
        )
        # A rule needs its column in all rows: one that some kernels don't have decides nothing.
        shared = set.intersection(*(set(item["_columns"]) for item in solutions))
        names = [name for name in solutions[0]["_columns"] if name in shared]
        frame = pl.DataFrame({name: [item["_columns"][name] for item in solutions] for name in names})
        frame = frame.with_row_index("_row")
        kept = drop_invalid(facts, frame)["_row"].to_list()
        valid = [False] * len(solutions)
        for row in kept:
            valid[row] = True
        return valid

    def _kernel(self, genes: tuple[int, ...], solution: dict[str, Any]) -> Kernel:
        solution = {key: value for key, value in solution.items() if key not in ("_columns", "_threads")}
        tile = f"MT{solution['MacroTile0']}x{solution['MacroTile1']}x{solution['DepthU']}"
        instruction = solution["MatrixInstruction"]
        start = f"{self.kind.head}_{tile}_MI{instruction[0]}x{instruction[1]}x1"
        names = sorted({*_ALWAYS, *self.varied} - _IN_HEAD, key=_short)
        tokens = ["SN", *(_token(name, solution[name]) for name in names if name in solution)]
        known = [text for text in tokens if _names_kernel(text)]
        name, kernel_name = "_".join([start, *tokens]), "_".join([start, *known])
        return Kernel(name, kernel_name, self._condensed(solution), solution, genes)

    def _condensed(self, solution: Mapping[str, Any]) -> dict[str, Any]:
        """As :func:`geko.simulator.library.condense` reduces it once it stands in a library: equal keys, equal
        times."""
        content = {
            key: solution.get(key, self.template.get(key, default))
            for key, default in SOLUTION_FIELDS.items()
        }
        names = ("SolutionIndex", "SolutionNameMin", "KernelNameMin")
        kind = type_fields(self.kind.logic)
        text = json.dumps([{k: v for k, v in content.items() if k not in names}, kind], sort_keys=True)
        return {**content, "key": hashlib.sha256(text.encode()).hexdigest()[:16], "index": 0}

    def logic_solution(self, kernel: Kernel, index: int) -> dict[str, Any]:
        """A kernel as library logic writes it, fields in order of name."""
        names = {"SolutionIndex": index, "SolutionNameMin": kernel.name, "KernelNameMin": kernel.kernel_name}
        if "BaseName" in self.template:
            names["BaseName"] = kernel.kernel_name
        solution = {
            **self.template, **kernel.parameters, **names, "KernelLanguage": "Assembly", "ISA": _isa(self.device.arch),
            "ProblemType": dict(self.kind.logic),
        }  # fmt: skip
        return {key: solution[key] for key in sorted(solution)}


def gemm_kind(given: Mapping[str, Any], template: Mapping[str, Any]) -> GemmKind:
    """The problem type of a config.

    Args:
        given: as the config writes it.
        template: problem type of library logic that gives the fields nobody asked for.

    Raises:
        InputError: types that hipBLASLt has no names for.
    """
    letters = [str(given.get(key) or "").upper() for key in ("DataType", "DestDataType", "ComputeDataType")]
    data, dest, compute = letters[0], letters[1] or letters[0], letters[2] or letters[1] or letters[0]
    tokens = hipblaslt_types(data, dest, compute)
    if str(given.get("F32XdlMathOp") or "").upper() == "X":
        tokens = (*tokens[:3], "xf32_r")
    strange = sorted({token for token in tokens[:3] if token not in TYPES})
    if strange:
        raise InputError("the time model has no such data type", value=", ".join(strange))
    trans_a, trans_b = bool(given.get("TransposeA")), bool(given.get("TransposeB"))
    conjugate = [bool(given.get(f"ComplexConjugate{side}")) for side in "AB"]
    bias = sorted(
        {_number(from_letter(str(letter).upper())) for letter in given.get("BiasDataTypeList") or []}
        or {0, _number(tokens[2])}
    )
    use_bias = int(given.get("UseBias") or 0)
    activation = bool(given.get("Activation"))
    blocks = {
        side: (int(given[f"MXBlock{side}"]), str(given.get(f"DataTypeMXS{side}") or "E8"))
        for side in "AB"
        if given.get(f"MXBlock{side}")
    }
    head = "_".join(
        part
        for part in (
            f"Cijk_{'Alik' if trans_a else 'Ailk'}{'C' if conjugate[0] else ''}"
            f"_{'Bjlk' if trans_b else 'Bljk'}{'C' if conjugate[1] else ''}",
            data + (dest + compute if (dest, compute) != (data, data) else ""),
            *(f"MX{side}{scale}B{block}" for side, (block, scale) in blocks.items()),
            "BH" if given.get("HighPrecisionAccumulate", data != compute) else "B",
            "Bias" if use_bias else "",
            "HAS" if activation else "",
            "SAV" if given.get("UseScaleAlphaVec") else "",
            "UserArgs",
        )
        if part
    )
    logic = {
        **template,
        **{
            key: value
            for key, value in given.items()
            if key in template and not str(key).endswith("DataType")
        },
        "DataType": _number(tokens[0]),
        "DataTypeA": _number(tokens[0]),
        "DataTypeB": _number(tokens[1]),
        "DestDataType": _number(tokens[2]),
        "ComputeDataType": 0 if "xf32" in tokens[3] else _number(tokens[3]),
        "F32XdlMathOp": 10 if "xf32" in tokens[3] else 0,
        "TransposeA": trans_a,
        "TransposeB": trans_b,
        "BiasDataTypeList": bias if use_bias else [],
        "UseBias": use_bias,
        "Activation": activation,
        "ActivationType": str(given.get("ActivationType") or "none"),
        "UseScaleAlphaVec": int(given.get("UseScaleAlphaVec") or 0),
        "IndexAssignmentsA": [3, 0, 2] if trans_a else [0, 3, 2],
        "IndexAssignmentsB": [1, 3, 2] if trans_b else [3, 1, 2],
        "IndexUnrollA": 0 if trans_a else 1,
        "IndexUnrollB": 1 if trans_b else 0,
        "TLUA": not trans_a,
        "TLUB": trans_b,
        **{f"MXBlock{side}": block for side, (block, _) in blocks.items()},
        **{f"DataTypeMXS{side}": MX_SCALE_ENUM[scale] for side, (_, scale) in blocks.items()},
    }
    if blocks:
        logic["UseScaleAB"] = ""  # its place is taken by the blocks' scales
    return GemmKind(
        head, data, dest, compute, tokens, ("T" if trans_a else "N") + ("T" if trans_b else "N"), logic
    )


def load_template(root: Path) -> dict[str, Any]:
    """Problem type and solution that fill in the fields of tuned kernels: ``{"ProblemType", "Solution"}``."""
    content: dict[str, Any] = json.loads((root / TEMPLATE).read_text(encoding="utf-8"))
    return content


def template_of(logic: Sequence[Any]) -> str:
    """Text of the template file, from list-form library logic."""
    solution = {key: value for key, value in logic[5][0].items() if key != "ProblemType"}
    content = {"simulated": True, "ProblemType": logic[4], "Solution": solution}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _number(token: str) -> int:
    dtype = BY_TOKEN.get(token)
    if dtype is None or not dtype.enum:
        raise InputError("no Tensile type number", value=token)
    return dtype.enum[0]


def _bytes(token: str) -> float:
    return BY_TOKEN[token].bits / 8 if token in BY_TOKEN else 4.0


def _stream_k(solution: Mapping[str, Any]) -> int:
    strategy = solution.get("TileProcessingStrategy")
    if strategy is not None:
        return 3 if strategy == "StreamK" else 0
    return int(solution.get("StreamK") or 0)


def _vector_width(wanted: Any, wave_tile: int, size: float) -> int:
    if int(wanted) > 0:
        return int(wanted)
    width = 1
    while width * 2 * size <= 16 and wave_tile % (width * 2) == 0:
        width *= 2
    return width


def _isa(arch: str) -> list[int]:
    number = arch.removeprefix("gfx")
    return [int(number[:-2]), int(number[-2]), int(number[-1], 16)]


def _short(name: str) -> str:
    """Tensile's abbreviation of a parameter: its capitals."""
    return "".join(letter for letter in name if letter.isupper())


def _token(name: str, value: Any) -> str:
    if isinstance(value, bool):
        text = str(int(value))
    elif isinstance(value, int):
        text = f"n{-value}" if value < 0 else str(value)
    elif isinstance(value, float):
        text = str(value).replace(".", "p").replace("-", "n")
    elif isinstance(value, (list, tuple)):
        text = "_".join(_token("", item) for item in value)
    else:
        text = _short(str(value)) or str(value).upper()
    return f"{_short(name)}{text}"


def _names_kernel(text: str) -> bool:
    token = parse_token(text.partition("_")[0])
    return is_kernel_token(token.key, token.value)
