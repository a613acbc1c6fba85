"""hipblaslt-bench input in YAML: lists of rows, test files with precisions and size tables, sequence files.

The client multiplies out every list in an entry; names such as ``*hpa_half_precision`` come from the file
``hipblaslt_common.yaml`` of the clients, which such files include.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import InputError
from geko.ingest.bench_commands import CLIENT_DEFAULTS
from geko.ingest.formats import Parsed
from geko.ingest.row_tables import parsed_rows

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_SIZED = re.compile(rb"\bM\s*:")
_TYPED = re.compile(rb"\b(?:transA|a_type|precision|function)\s*:")
_LAYERS = re.compile(rb"^Layers\s*:", re.MULTILINE)
_TESTS = re.compile(rb"^Tests\s*:", re.MULTILINE)

_FIELDS = ("a_type", "b_type", "c_type", "d_type", "compute_type", "scale_type")


def _precision(a: str, b: str, c: str, compute: str = "c_f32_r", scale: str = "f32_r") -> dict[str, str]:
    return dict(zip(_FIELDS, (a, b, c, c, compute, scale), strict=True))


def _mixed() -> Iterator[tuple[str, dict[str, str]]]:
    fast = "c_f32_fast_f16_r"
    for infix, fp8 in (("", "f8_r"), ("_fnuz", "f8_fnuz_r")):
        for dst, c_type in (("fp16", "f16_r"), ("fp32", "f32_r"), ("fp8", fp8)):
            yield f"fp8fp16{infix}_precision_dst_{dst}", _precision(fp8, "f16_r", c_type, fast)
            yield f"fp16fp8{infix}_precision_dst_{dst}", _precision("f16_r", fp8, c_type, fast)
    for infix, fp8, bf8 in (("", "f8_r", "bf8_r"), ("_fnuz", "f8_fnuz_r", "bf8_fnuz_r")):
        for dst, c_type in (("fp16", "f16_r"), ("fp32", "f32_r"), ("bf16", "bf16_r")):
            yield f"f8{infix}_precision_dst_{dst}", _precision(fp8, fp8, c_type)
            yield f"bf8f8{infix}_precision_dst_{dst}", _precision(bf8, fp8, c_type)
            yield f"f8bf8{infix}_precision_dst_{dst}", _precision(fp8, bf8, c_type)


#: Types behind the names that test files take from hipblaslt_common.yaml.
PRECISIONS: dict[str, dict[str, str]] = {
    "hpa_half_precision": _precision("f16_r", "f16_r", "f16_r"),
    "hpa_bf16_precision": _precision("bf16_r", "bf16_r", "bf16_r"),
    "single_precision": _precision("f32_r", "f32_r", "f32_r"),
    "double_precision": _precision("f64_r", "f64_r", "f64_r", "c_f64_r", "f64_r"),
    "xf32_precision": _precision("f32_r", "f32_r", "f32_r", "c_xf32_r"),
    "integer8_precisions": _precision("i8_r", "i8_r", "i32_r", "c_i32_r", "i32_r"),
    "hpa_half_fp16dst_precision": _precision("f16_r", "f16_r", "f16_r"),
    "hpa_half_fp32dst_precision": _precision("f16_r", "f16_r", "f32_r"),
    **dict(_mixed()),
}
#: Keys whose lists hold mappings of several fields.
_TABLES = ("matrix_size", "precision", "transA_transB", "alpha_beta", "arguments", "threads_streams")
_MAX_ROWS = 1_000_000
_DEFAULTS = {**CLIENT_DEFAULTS, "M": "128", "N": "128", "K": "128"}


@dataclass(frozen=True, slots=True)
class BenchYaml:
    """Rows of any of the three forms."""

    kind: str = "bench-yaml"
    version: int = 1
    title: str = "hipblaslt-bench YAML (rows, tests or a sequence)"

    def sniff(self, head: bytes, path: Path) -> float:
        """Sizes together with types or transposes, or the sections of test and sequence files."""
        if _LAYERS.search(head) and b"LayerType" in head:
            return 0.9
        if _TESTS.search(head) and _SIZED.search(head):
            return 0.9
        return (
            0.5
            if re.search(rb"^\s*- ", head, re.MULTILINE) and _SIZED.search(head) and _TYPED.search(head)
            else 0.0
        )

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a file.

        Raises:
            InputError: no YAML, a name that no table has, or no list of GEMMs.
        """
        text = path.read_text(encoding="utf-8", errors="replace")
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        rejects: list[tuple[int, int, str, str]] = []
        for entry, line in _entries(text, path):
            try:
                found = list(_expanded(entry))
            except ValueError as error:
                rejects.append((line, 1, str(error), str(entry)))
                continue
            rows += found
            lines += [line] * len(found)
            if len(rows) > _MAX_ROWS:
                raise InputError(
                    f"the lists multiply out to more than {_MAX_ROWS} rows", path=path, line=line
                )
        n_lines = len(text.splitlines())
        texts = [str(row) for row in rows]
        return parsed_rows(rows, texts, lines, scratch, n_lines=n_lines, defaults=_DEFAULTS, rejects=rejects)


FORMAT = BenchYaml()


def _entries(text: str, path: Path) -> list[tuple[dict[str, Any], int]]:
    """The entries with their lines; all scalars are text."""
    import yaml

    # The pure-Python loader: the C parser resolves aliases by itself and fails on those of other files.
    class Loader(yaml.BaseLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                name = self.peek_event().anchor  # type: ignore[no-untyped-call]
                if name not in self.anchors and name in PRECISIONS:
                    event = self.get_event()  # type: ignore[no-untyped-call]
                    items = [
                        (
                            yaml.ScalarNode(_STR, key, event.start_mark),
                            yaml.ScalarNode(_STR, value, event.start_mark),
                        )
                        for key, value in PRECISIONS[name].items()
                    ]
                    return yaml.MappingNode("tag:yaml.org,2002:map", items, event.start_mark)
            return super().compose_node(parent, index)

    result: list[tuple[dict[str, Any], int]] = []
    loader: Any = Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            section = node
            if isinstance(node, yaml.MappingNode):
                sections = {key.value: value for key, value in node.value}
                section = sections.get("Tests", sections.get("Layers"))
            if not isinstance(section, yaml.SequenceNode):
                continue
            for item in section.value:
                value = loader.construct_document(item)
                if isinstance(value, dict):
                    result.append((value, item.start_mark.line + 1))
                else:
                    line = item.start_mark.line + 1
                    raise InputError("an entry is no mapping", path=path, line=line, value=value)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        raise InputError(
            f"can't be read: {getattr(error, 'problem', error)}", path=path, line=line
        ) from error
    finally:
        loader.dispose()
    if not result:
        raise InputError("no list of GEMMs: neither rows nor Tests nor Layers", path=path)
    return result


_STR = "tag:yaml.org,2002:str"


def _expanded(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of an entry's lists."""
    if "LayerType" in entry:
        if entry["LayerType"] == "GEMM":
            yield _layer(entry)
        return
    choices: list[list[dict[str, Any]]] = []
    for key, value in entry.items():
        options = value if isinstance(value, list) else [value]
        if key in _TABLES:
            choices.append(
                [dict(option) if isinstance(option, dict) else {key: option} for option in options]
            )
        elif key == "function":
            choices.append([fields for option in options for fields in _functions(option)])
        elif key in ("transA", "transB") and value == "*":
            choices.append([{key: letter} for letter in "NT"])
        elif value is None or value == "":
            continue
        else:
            choices.append([{key: option} for option in options])
    for combination in itertools.product(*choices):
        row: dict[str, Any] = {}
        for fields in combination:
            row |= fields
        nested = next((key for key, value in row.items() if isinstance(value, (dict, list))), None)
        if nested is not None:
            raise ValueError(f"{nested} must be a value or a list of values")
        yield row


def _functions(option: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(option, dict):
        yield {"function": option}
        return
    for function, precision in option.items():
        for types in precision if isinstance(precision, list) else [precision]:
            yield {"function": function, **(types if isinstance(types, dict) else {"precision": types})}


# Keys of sequence files -> fields.
_LAYER = {
    "Alpha": "alpha", "Beta": "beta", "DataTypeA": "a_type", "DataTypeB": "b_type", "DataTypeC": "c_type",
    "DataTypeD": "d_type", "ComputeType": "compute_type", "BiasType": "bias_type",
    "AlgoIndex": "solution_index",    "ScaleA": "scaleA", "ScaleB": "scaleB", "SwizzleA": "swizzleA",
}  # fmt: skip
_ACTIVATIONS = ("GELU", "RELU", "SWISH", "CLAMP", "SIGMOID")


def _layer(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A GEMM of a sequence file; its Size is [M, N, K, batch]."""
    size = entry.get("Size")
    if not isinstance(size, list) or len(size) not in (3, 4):
        raise ValueError("Size must be [M, N, K, batch]")
    row: dict[str, Any] = dict(zip(("M", "N", "K", "batch_count"), size, strict=False))
    for letter in "AB":
        transposed = str(entry.get(f"Transpose{letter}", "false")).lower()
        row[f"trans{letter}"] = "T" if transposed in ("true", "t", "1") else "N"
    epilogue = str(entry.get("Epilogue", "")).upper().removeprefix("HIPBLASLT_EPILOGUE_")
    row |= {_LAYER.get(key, key): value for key, value in entry.items() if key not in _READ}
    activation = next((name for name in _ACTIVATIONS if name in epilogue), None)
    if activation:
        row["activation_type"] = activation.lower()
    if "BIAS" in epilogue or "BGRAD" in epilogue:
        row["bias_vector"] = "true"
        row["bias_source"] = {"BGRADA": "a", "BGRADB": "b"}.get(epilogue, "d")
    if "AUX" in epilogue:
        row["use_e"] = "true"
    if "BGRAD" in epilogue or epilogue.startswith("DGELU"):
        row["gradient"] = "true"
    if epilogue:
        row["Epilogue"] = entry["Epilogue"]
    return row


_READ = frozenset(("Size", "TransposeA", "TransposeB", "LayerType", "Epilogue"))
