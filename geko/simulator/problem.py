"""Arguments of hipblaslt-bench: defaults, YAML rows, single-shape flags, and which solutions support them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geko.domain.dtypes import SCALE_FORMATS
from geko.errors import InputError
from geko.simulator.devices import TYPES

ALGO_METHODS = {"heuristic": 0, "all": 1, "index": 2}

#: Arguments and defaults of the clients' argument table; other keys are ignored, as the real program does.
DEFAULTS: dict[str, Any] = {
    "function": "matmul",
    "M": 128,
    "N": 128,
    "K": 128,
    "lda": 0,
    "ldb": 0,
    "ldc": 0,
    "ldd": 0,
    "stride_a": 0,
    "stride_b": 0,
    "stride_c": 0,
    "stride_d": 0,
    "alpha": 1.0,
    "beta": 0.0,
    "transA": "N",
    "transB": "N",
    "batch_count": 1,
    "a_type": "f32_r",
    "b_type": "f32_r",
    "c_type": "f32_r",
    "d_type": "f32_r",
    "compute_type": "c_f32_r",
    "scale_type": "invalid",
    "bias_type": "default",
    "aux_type": "invalid",
    "scaleA": 0,
    "scaleB": 0,
    "scaleC": 0,
    "scaleD": 0,
    "scaleE": 0,
    "amaxD": False,
    "swizzle_a": False,
    "swizzle_b": False,
    "activation_type": "none",
    "bias_vector": False,
    "bias_source": "d",
    "scaleAlpha_vector": False,
    "use_e": False,
    "gradient": False,
    "grouped_gemm": 0,
    "iters": 10,
    "cold_iters": 2,
    "initialization": "rand_int",
    "algo_method": 0,
    "requested_solution_num": 1,
    "solution_index": -1,
    "skip_slow_solution_ratio": 0.0,
    "rotating": 0,
    "flush": False,
    "use_gpu_timer": False,
    "print_kernel_info": False,
    "norm_check": 0,
    "norm_check_assert": True,
    "allclose_check": 0,
    "api_method": 0,
    "workspace": 134217728,
    "any_stride": False,
}

_BOOLEANS = {name for name, value in DEFAULTS.items() if isinstance(value, bool)}
_INTEGERS = {name for name, value in DEFAULTS.items() if type(value) is int} - {"algo_method", "api_method"}
_FLOATS = {name for name, value in DEFAULTS.items() if isinstance(value, float)}
_TYPE_KEYS = ("a_type", "b_type", "c_type", "d_type", "compute_type")
_KNOWN_TYPES = {*TYPES, "f32_c", "f64_c", "i64_r"}
_COMPUTE = {
    "f32_r",
    "xf32_r",
    "f64_r",
    "i32_r",
    "f16_r",
    "f32_fast_f16_r",
    "f32_fast_bf16_r",
    "f32_fast_f8_fnuz_r",
}
_SIGNATURE = (
    *("transA", "transB", "M", "N", "K", "batch_count", "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b"),
    *("stride_c", "stride_d", "scaleA", "scaleB", "activation_type", "bias_vector", "bias_type", "use_e"),
    *("gradient", "scaleAlpha_vector", "grouped_gemm"),
)


class Arguments(dict[str, Any]):
    """One benchmark record: every argument of :data:`DEFAULTS`, normalised.

    ``compute_type`` is without ``c_``; leading dimensions and strides are raised to the packed minimum
    unless ``any_stride``.
    """

    @classmethod
    def of(cls, given: Mapping[str, Any], *, device_arch: str, honour_any_stride: bool = False) -> Arguments:
        """Complete a record with defaults.

        Raises:
            InputError: a type token or an enumeration that the clients don't know.
        """
        args = cls(DEFAULTS)
        for key, value in given.items():
            if key in DEFAULTS:
                args[key] = _coerce(key, value)
        args["compute_type"] = str(args["compute_type"]).removeprefix("c_")
        if args["compute_type"] not in _COMPUTE:
            raise InputError(f"Undefined value c_{args['compute_type']}")
        for key in _TYPE_KEYS[:4]:
            if args[key] not in _KNOWN_TYPES:
                raise InputError(f"Undefined value {args[key]}")
        if args["bias_type"] in ("default", "invalid", None):
            args["bias_type"] = args["d_type"]
        if args["aux_type"] in ("default", "invalid", None):
            args["aux_type"] = args["d_type"]
        args["renamed"] = []
        if device_arch.startswith("gfx942"):
            for key in ("a_type", "b_type", "c_type", "d_type"):
                if args[key] in ("f8_r", "bf8_r"):
                    fnuz = args[key].replace("_r", "_fnuz_r")
                    if (args[key], fnuz) not in args["renamed"]:
                        args["renamed"].append((args[key], fnuz))
                    args[key] = fnuz
        args._pack(honour_any_stride and args["any_stride"])
        return args

    def _pack(self, any_stride: bool) -> None:
        m, n, k, batch = self["M"], self["N"], self["K"], self["batch_count"]
        rows = {
            "a": (m, k) if self["transA"] == "N" else (k, m),
            "b": (k, n) if self["transB"] == "N" else (n, k),
            "c": (m, n),
            "d": (m, n),
        }
        for name, (height, width) in rows.items():
            ld, stride = f"ld{name}", f"stride_{name}"
            if not any_stride:
                self[ld] = max(self[ld], height)
                self[stride] = max(self[stride], self[ld] * width)
            elif self[ld] == 0:
                self[ld] = height
        self["batch_count"] = max(1, batch)

    @property
    def flops(self) -> int:
        """2·M·N·K·batch."""
        return 2 * int(self["M"]) * int(self["N"]) * int(self["K"]) * int(self["batch_count"])

    def bytes_of(self, operand: str) -> float:
        """Bytes of the matrices ``"a"``, ``"b"``, ``"c"`` or ``"d"`` over all batches, as allocated."""
        size = TYPES.get(self[f"{operand}_type"], (0, 4.0))[1]
        return float(self[f"stride_{operand}"] * self["batch_count"]) * size

    @property
    def moved_bytes(self) -> float:
        """Bytes that the printed GB/s counts: A, B and D, and C when beta is not 0."""
        return float(sum(self.bytes_of(x) for x in ("abcd" if self["beta"] else "abd")))

    @property
    def signature(self) -> str:
        """Canonical text of what is multiplied, without protocol; keys the model's problem-bound terms."""
        keys = [*_SIGNATURE, *_TYPE_KEYS]
        return "|".join(str(self[key]) for key in keys) + f"|{self['beta'] != 0}"

    @property
    def protocol(self) -> str:
        """Canonical text of how it is timed; keys the measurement noise."""
        keys = ("iters", "cold_iters", "rotating", "flush", "use_gpu_timer", "initialization")
        return "|".join(str(self[key]) for key in keys)


def _coerce(key: str, value: Any) -> Any:
    if key == "algo_method":
        return value if isinstance(value, int) else ALGO_METHODS.get(str(value), 0)
    if key == "api_method":
        return value
    try:
        if key in _BOOLEANS:
            return value if isinstance(value, bool) else bool(int(value))
        if key in _INTEGERS:
            return int(value)
        if key in _FLOATS:
            return float(value)
    except (TypeError, ValueError):
        raise InputError(f"Undefined value {value} of {key}") from None
    return str(value)


def records(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Expand YAML rows as the clients' generator does.

    Lists become the product of their values, unknown keys are ignored, and byte-identical records come once.
    """
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        expanded: list[dict[str, Any]] = [{}]
        for key, value in row.items():
            if key not in DEFAULTS:
                continue
            values = value if isinstance(value, list) else [value]
            expanded = [{**record, key: item} for record in expanded for item in values]
        for record in expanded:
            full = {**DEFAULTS, **{k: _coerce(k, v) for k, v in record.items()}}
            seen.setdefault(json.dumps(full, sort_keys=True), record)
    return list(seen.values())


_ROW = re.compile(r"-\s*\{(.*)\}\s*$")
_ITEM = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*([^,\[\]{}'\"#]*?)\s*(?:,|$)")


def read_rows(path: Path, yaml_path: str | None = None) -> list[dict[str, Any]]:
    """Rows of a bench YAML file.

    The usual form, one flow mapping a line, is read here without a YAML library (which would double the
    start-up time); anything else goes to PyYAML.

    Args:
        path: the file.
        yaml_path: folder to import PyYAML from when it is not on ``sys.path``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", path=path) from None
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped == "---":
            continue
        match = _ROW.match(stripped)
        row = None if match is None else _flow_mapping(match.group(1))
        if row is None:
            return _read_with_yaml(path, text, yaml_path)
        rows.append(row)
    return rows


def _flow_mapping(text: str) -> dict[str, Any] | None:
    row: dict[str, Any] = {}
    position = 0
    while position < len(text):
        match = _ITEM.match(text, position)
        if match is None:
            return None
        row[match.group(1)] = scalar(match.group(2))
        position = match.end()
    return row


def scalar(text: str) -> Any:
    """A plain YAML scalar: boolean, integer, float or text."""
    lowered = text.lower()
    if lowered in ("true", "yes", "on"):
        return True
    if lowered in ("false", "no", "off"):
        return False
    if lowered in ("", "null", "~"):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _read_with_yaml(path: Path, text: str, yaml_path: str | None) -> list[dict[str, Any]]:
    import sys

    if yaml_path is not None and yaml_path not in sys.path:
        sys.path.append(yaml_path)
    import yaml

    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}", path=path) from None
    if isinstance(content, Mapping):
        content = content.get("Tests", [content])
    if not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        raise InputError("must hold a list of mappings", path=path)
    return [dict(row) for row in content]


def type_supports(table: Mapping[str, Any], args: Arguments) -> bool:
    """Whether a table's problem type (transposes, data types, epilogue) serves this problem."""
    kind = table["problem_type"]
    a, b = (TYPES.get(args[key], (-1, 0))[0] for key in ("a_type", "b_type"))
    dest = TYPES.get(args["d_type"], (-1, 0))[0]
    compute = args["compute_type"]
    compute_number = TYPES.get("f32_r" if "fast" in compute or "xf32" in compute else compute, (-1, 0))[0]
    same_types = (
        bool(kind["TransposeA"]) == (args["transA"] != "N")
        and bool(kind["TransposeB"]) == (args["transB"] != "N")
        and _number(kind["DataTypeA"], kind["DataType"]) == a
        and _number(kind["DataTypeB"], kind["DataType"]) == b
        and kind["DestDataType"] == dest
        and kind["ComputeDataType"] == compute_number
        and (kind["F32XdlMathOp"] == 10) == ("xf32" in compute)
    )
    if not same_types or "fast" in compute:
        return False
    bias = TYPES.get(args["bias_type"], (-1, 0))[0]
    scale = {1: "Scalar", 2: "Vector"}.get(max(args["scaleA"], args["scaleB"]), "")
    return bool(
        (not args["bias_vector"] or (bool(kind["UseBias"]) and bias in kind["BiasDataTypeList"]))
        and (args["activation_type"] == "none" or bool(kind["Activation"]))
        and (not args["scaleAlpha_vector"] or bool(kind["UseScaleAlphaVec"]))
        and (scale == "" or kind["UseScaleAB"] == scale)
        and all(kind.get(f"MXBlock{side}", 0) == _mx_block(args[f"scale{side}"]) for side in "AB")
        and (not (args["scaleC"] or args["scaleD"]) or bool(kind["UseScaleCD"]))
        and bool(kind["UseE"]) == bool(args["use_e"])
        and bool(kind["Gradient"]) == bool(args["gradient"])
        and bool(kind["GroupedGemm"]) == bool(args["grouped_gemm"])
        and (args["batch_count"] == 1 or bool(kind["Batched"]))
        and (args["beta"] == 0 or bool(kind["UseBeta"]))
        and bool(kind["SwizzleTensorA"]) == bool(args["swizzle_a"])
        and bool(kind["SwizzleTensorB"]) == bool(args["swizzle_b"])
        and (not args["amaxD"] or bool(kind["OutputAmaxD"]))
    )


def _mx_block(code: int) -> int:
    """Elements along K that share a scale, 0 without block scaling, -1 for a code that nobody knows."""
    scale = SCALE_FORMATS.get(int(code))
    return -1 if scale is None else scale.block or 0


def _number(value: Any, fallback: Any) -> Any:
    return fallback if value is None else value


def workspace_bytes(solution: Mapping[str, Any], args: Arguments) -> int:
    """Workspace that a solution needs: one partial C for each part of a split K (MultipleBuffer)."""
    gsu = int(solution["GlobalSplitU"])
    if solution["StreamK"]:
        # Stream-K keeps at most one partial tile of accumulators for each of its workgroups, here 512.
        return int(solution["MacroTile0"]) * int(solution["MacroTile1"]) * 4 * 512
    if gsu <= 1 or solution["GlobalSplitUAlgorithm"] != "MultipleBuffer":
        return 0
    per_element = int(solution["_WorkspaceSizePerElemC"]) or 4
    return int(args["M"]) * int(args["N"]) * int(args["batch_count"]) * per_element * gsu


def solution_supports(solution: Mapping[str, Any], args: Arguments) -> bool:
    """Whether a solution's own assertions and workspace hold for this problem."""
    return bool(
        args["M"] % max(1, solution["AssertFree0ElementMultiple"]) == 0
        and args["N"] % max(1, solution["AssertFree1ElementMultiple"]) == 0
        and args["K"] % max(1, solution["AssertSummationElementMultiple"]) == 0
        and workspace_bytes(solution, args) <= args["workspace"]
    )


def candidates(tables: Iterable[Mapping[str, Any]], args: Arguments) -> list[dict[str, Any]]:
    """Supported solutions, best guess of the library first.

    Order: the solution of an exact size; then those of the other sizes by Euclidean distance over
    (M, N, batch, K), as Tensile's matching tables do; then the solutions that no size names, by index.
    """
    size = (args["M"], args["N"], args["batch_count"], args["K"])
    ranked: list[tuple[float, int, dict[str, Any]]] = []
    rest: list[dict[str, Any]] = []
    for table in tables:
        if not type_supports(table, args):
            continue
        nearest: dict[int, float] = {}
        for entry, local in table["exact"]:
            distance = math.dist(entry, size)
            nearest[local] = min(distance, nearest.get(local, math.inf))
        for local, solution in enumerate(table["solutions"]):
            if not solution_supports(solution, args):
                continue
            if local in nearest:
                ranked.append((nearest[local], solution["index"], solution))
            else:
                rest.append(solution)
    ranked.sort(key=lambda item: item[:2])
    return [solution for _, _, solution in ranked] + rest
