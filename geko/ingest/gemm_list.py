"""``--list`` files: tuning YAML of the generator with explicit sizes, and lists of GEMM tuples.

DataType: B                                       - [16032, 109, 1, 16384, B, B, S, T, N]
...                                         or    - [4096, 4096, 1, 4096, F8, B, S, N, N, MX]
Sizes: [[1024, 1024, 1, 1024]]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.gemm import GemmConfig, GemmType
from geko.errors import InputError
from geko.ingest.formats import Parsed
from geko.ingest.inline import config_rows, inline_rows
from geko.ingest.row_tables import parsed_rows

if TYPE_CHECKING:
    from geko.warehouse import Scratch

_GENERATOR = re.compile(rb"^(?:- |\s+)?(?:TRANSA|SIZE_OPTION|Sizes|DestDataType)\s*:", re.MULTILINE)
_TENSILE = re.compile(rb"^(?:GlobalParameters|BenchmarkProblems|LibraryLogic)\s*:", re.MULTILINE)
_TUPLE = re.compile(
    rb"^\s*-?\s*-\s*[\[(]\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*['\"]?[A-Z]", re.MULTILINE
)
_TRANSPOSES_FIRST = re.compile(
    rb"^\s*-\s*[\[(]\s*['\"]?[NTC]['\"]?\s*,\s*['\"]?[NTC]['\"]?\s*,\s*\d+", re.MULTILINE
)
_NEEDED = ("TRANSA", "TRANSB", "DataType", "DestDataType", "ComputeDataType", "Sizes")


_FORMS = (
    "a list holds tuples [M, N, batch, K, DataType, DestDataType, ComputeDataType, transA, transB], or is a generator YAML "
    "with the keys TRANSA, TRANSB, DataType, DestDataType, ComputeDataType and Sizes"
)


def why_no_list(path: Path) -> str:
    """What is wrong with a file that was given as a list of GEMMs and is none."""
    import yaml

    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        content = next((found for found in yaml.safe_load_all(text) if found is not None), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" on line {mark.line + 1}"
        return f"it is no YAML (problem{line}); {_FORMS}"
    if content is None or content == [] or content == {}:
        return f"it is empty; {_FORMS}"
    if isinstance(content, dict):
        keys = ", ".join(map(str, list(content)[:5]))
        return f"none of its keys ({keys}) names GEMMs; {_FORMS}"
    if isinstance(content, list):
        first = content[0]
        kind = "a text" if isinstance(first, str) else f"a {type(first).__name__}"
        return f"its first entry, {str(first)[:60]!r}, is {kind} and no GEMM; {_FORMS}"
    return f"it holds a single {type(content).__name__}; {_FORMS}"


@dataclass(frozen=True, slots=True)
class GemmList:
    """Both forms; several GEMM types in one file are several documents or a list of mappings."""

    kind: str = "gemm-list"
    version: int = 1
    title: str = "list of GEMMs (generator YAML or tuples)"

    def sniff(self, head: bytes, path: Path) -> float:
        """Keys of the generator's YAML, or tuples."""
        if _TUPLE.search(head) or _TRANSPOSES_FIRST.search(head):
            return 0.9
        return 0.85 if _GENERATOR.search(head) and not _TENSILE.search(head) else 0.0

    def parse(self, path: Path, scratch: Scratch) -> Parsed:
        """Read a list; sizes that come twice are one.

        Raises:
            InputError: a list with a generated grid or without sizes, or a wrong value; nothing is read then.
        """
        text = path.read_text(encoding="utf-8", errors="replace")
        rows: dict[tuple[Any, ...], tuple[dict[str, Any], int]] = {}
        archs: list[str] = []
        n_given = 0
        for row, line, arch in read_list(text, path):
            n_given += 1
            rows.setdefault(tuple(row.items()), (row, line))
            if arch and arch not in archs:
                archs.append(arch)
        kept = list(rows.values())
        detail: dict[str, Any] = {"arch": archs} if archs else {}
        if n_given > len(kept):
            detail["n_duplicates"] = n_given - len(kept)
        return parsed_rows(
            [row for row, _ in kept],
            [str(row) for row, _ in kept],
            [line for _, line in kept],
            scratch,
            n_lines=len(text.splitlines()),
            detail=detail,
        )


FORMAT = GemmList()


def read_list(text: str, path: Path) -> list[tuple[dict[str, Any], int, str | None]]:
    """Rows of a list file: fields of a workload row, line, and the architecture that the file names."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = [node for node in yaml.compose_all(text, Loader=loader) if node is not None]
        values = list(yaml.load_all(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        raise InputError(f"not YAML: {getattr(error, 'problem', error)}", path=path, line=line) from error
    result: list[tuple[dict[str, Any], int, str | None]] = []
    for node, value in zip(documents, [value for value in values if value is not None], strict=True):
        items = list(zip(node.value, value, strict=True)) if isinstance(value, list) else [(node, value)]
        for item_node, item in items:
            line = item_node.start_mark.line + 1
            if isinstance(item, dict):
                result += _mapping_rows(item, item_node, path)
            elif isinstance(item, list):
                result += [(row, line, None) for row in _tuple_rows(item, path, line)]
            else:
                raise InputError(
                    "a list holds tuples [M, N, batch, K, ...] or mappings", path=path, line=line, value=item
                )
    if not result:
        raise InputError("the list holds no GEMM: give sizes under Sizes", path=path)
    return result


def _tuple_rows(words: list[Any], path: Path, line: int) -> list[dict[str, Any]]:
    try:
        return inline_rows(words, arch="unknown" if len(words) == 10 else None)
    except ValueError as error:
        message = str(error).removeprefix("--inline: ").replace("--inline takes", "a tuple is")
        raise InputError(message, path=path, line=line, value=words) from error


def _mapping_rows(
    item: dict[str, Any], node: Any, path: Path
) -> list[tuple[dict[str, Any], int, str | None]]:
    line = node.start_mark.line + 1
    option = str(item.get("SIZE_OPTION", 0))
    if option == "1":
        raise InputError(
            "SIZE_OPTION 1 (a generated grid of sizes) can't be ingested: give the file to a run with --list, or "
            "list sizes under Sizes, with SIZE_OPTION 0",
            path=path,
            line=line,
        )
    if option == "2":
        raise InputError(
            "SIZE_OPTION 2 takes the sizes from a workload log: ingest that log itself",
            path=path,
            line=line,
            value=item.get("GEMM_LOG_PATH"),
        )
    if option != "0":
        raise InputError("SIZE_OPTION must be 0 (sizes under Sizes)", path=path, line=line, value=option)
    for name in _NEEDED:
        if item.get(name) is None:
            raise InputError(f"the key {name} is missing", path=path, line=line)
    arch = str(item["ARCH"]) if item.get("ARCH") else None
    sizes = next(value for key, value in node.value if key.value == "Sizes")
    try:
        gemm = GemmType(
            item["TRANSA"],
            item["TRANSB"],
            data_type=str(item["DataType"]),
            dest_data_type=str(item["DestDataType"]),
            compute_data_type=str(item["ComputeDataType"]),
        )
        config = GemmConfig(
            gemm, item["Sizes"], bool(item.get("MX")), item.get("MX_BLOCK"), item.get("MX_SCALE_TYPE")
        )
        rows = config_rows(config, arch)
    except ValueError as error:
        raise InputError(str(error), path=path, line=line) from error
    lines = [size.start_mark.line + 1 for size in sizes.value]
    return [(row, at, arch) for row, at in zip(rows, lines, strict=True)]
