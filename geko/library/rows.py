"""A library as rows: its solutions and its sizes, in the shape of the warehouse's tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from geko.domain.identity import canonical_json, content_id
from geko.errors import InputError
from geko.library import logic_yaml
from geko.library.model import Library
from geko.library.problem_type import gemm_types, served
from geko.library.solution import canonical_texts, hot_columns, plain

_I32 = ("mt0", "mt1", "depth_u", "mi_m", "mi_n", "mi_k", "mi_b", "miwt0", "miwt1", "wg0", "wg1", "wg2", "gsu")
_MORE_I32 = (
    *(
        "stream_k",
        "wgm",
        "wgm_xcc",
        "pgr",
        "plr",
        "local_split_u",
        "vwa",
        "vwb",
        "grvwa",
        "grvwb",
        "stagger_u",
    ),
)
SOLUTION_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("logic_file", "library_type")),
        *((name, pa.int64()) for name in ("local_index",)),
        *((name, pa.string()) for name in ("solution_id", "source", "canonical", "name", "kernel_name")),
        *((name, pa.string()) for name in ("gemm_type", "operation", "isa")),
        *((name, pa.int32()) for name in _I32),
        ("gsu_algorithm", pa.string()),
        *((name, pa.int32()) for name in _MORE_I32),
        *((name, pa.bool_()) for name in ("direct_to_lds", "direct_to_vgpr_a", "direct_to_vgpr_b")),
        ("custom_kernel", pa.string()),
    ]
)
_SIZE_COLUMNS = ("m", "n", "batch", "k", "ldd", "ldc", "lda", "ldb")
ENTRY_SCHEMA = pa.schema(
    [
        ("logic_file", pa.string()),
        ("library_type", pa.string()),
        *(
            (name, pa.string())
            for name in ("trans_a", "trans_b", "a_type", "b_type", "c_type", "compute_type")
        ),
        *((name, pa.int64()) for name in _SIZE_COLUMNS),
        ("local_index", pa.int64()),
        ("solution_id", pa.string()),
        ("efficiency", pa.float64()),
    ]
)
#: What a logic file serves, in the shape of table ``logic_header``.
HEADER_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("layout", "library_type", "metric")),
        *(
            (name, pa.string())
            for name in ("trans_a", "trans_b", "a_type", "b_type", "c_type", "compute_type")
        ),
        ("mx_scale_a", pa.int32()),
        ("mx_scale_b", pa.int32()),
        ("swizzle_a", pa.bool_()),
        ("swizzle_b", pa.bool_()),
        ("use_bias", pa.int32()),
        ("bias_types", pa.list_(pa.string())),
        ("bias_sources", pa.list_(pa.string())),
        ("activation", pa.string()),
        ("use_e", pa.bool_()),
        ("gradient", pa.bool_()),
        ("use_scale_ab", pa.string()),
        ("use_scale_cd", pa.bool_()),
        ("scale_alpha_vector", pa.bool_()),
        ("grouped", pa.bool_()),
        ("problem_type", pa.string()),
    ]
)
_NAME = re.compile(r"(C[a-z]+_A[a-z]+_B[a-z]+)_([A-Z0-9]+)")


def solution_ids(library: Library) -> list[str]:
    """Identity of each solution, by position."""
    return [content_id("solution", text) for text in canonical_texts(library)]


def header_row(library: Library) -> pa.Table:
    """What a library serves: layout and types, epilogue, swizzling, block scales.

    Returns:
        One row of :data:`HEADER_SCHEMA`.

    Raises:
        InputError: a data type number that no table knows.
    """
    row = {
        "layout": library.layout,
        "library_type": library.library_type,
        "metric": library.perf_metric,
        **served(library.problem_type, library.architecture),
        "problem_type": canonical_json(plain(library.problem_type)),
    }
    return pa.Table.from_pylist([row], schema=HEADER_SCHEMA)


def solution_rows(library: Library, logic_file: str | None = None) -> pa.Table:
    """One row a solution.

    Args:
        library: the library.
        logic_file: what to call the file; its name when not given.

    Returns:
        :data:`SOLUTION_SCHEMA`: where it stands (logic_file, library_type, local_index), its identity
        (solution_id, source ``parameters``, canonical JSON), names, and the hot columns of table
        ``solution``.
    """
    texts = canonical_texts(library)
    rows: list[dict[str, Any]] = []
    defaults = library.default_solution
    for place, (stored, text) in enumerate(zip(library.solutions, texts, strict=True)):
        solution = {**defaults, **stored} if defaults else stored
        name = solution.get("SolutionNameMin") or solution.get("BaseName")
        kernel = solution.get("KernelNameMin") or solution.get("CustomKernelName") or None
        match = _NAME.match(str(name or kernel or library.name).removeprefix("Custom_"))
        rows.append(
            {
                "local_index": solution.get("SolutionIndex", place),
                "solution_id": content_id("solution", text),
                "source": "parameters",
                "canonical": text,
                "name": name,
                "kernel_name": kernel,
                "gemm_type": match[2] if match else None,
                "operation": match[1] if match else None,
                **hot_columns(solution),
            }
        )
    constant = {"logic_file": logic_file or library.name, "library_type": library.library_type}
    columns = []
    for field in SOLUTION_SCHEMA:
        if field.name in constant:
            columns.append(pa.array([constant[field.name]] * len(rows), field.type))
        else:
            columns.append(pa.array([row[field.name] for row in rows], field.type))
    return pa.Table.from_arrays(columns, schema=SOLUTION_SCHEMA)


def entry_rows(library: Library, logic_file: str | None = None, ids: list[str] | None = None) -> pa.Table:
    """One row a size.

    Args:
        library: the library.
        logic_file: what to call the file; its name when not given.
        ids: identities by position, when they are known already (:func:`solution_ids`).

    Returns:
        :data:`ENTRY_SCHEMA`: types, M, N, batch, K, leading dimensions (null for sizes of 4 numbers), the
        solution and its efficiency as stored (GFLOP/s under DeviceEfficiency, often 0).

    Raises:
        InputError: a size is malformed or points to no solution.
    """
    ids = solution_ids(library) if ids is None else ids
    types = gemm_types(library.problem_type)
    by_index = {own.get("SolutionIndex", place): place for place, own in enumerate(library.solutions)}
    sizes = library.sizes
    count = len(sizes)
    constant = {
        "logic_file": logic_file or library.name,
        "library_type": library.library_type,
        "trans_a": types.trans_a,
        "trans_b": types.trans_b,
        "a_type": types.a_type,
        "b_type": types.b_type,
        "c_type": types.c_type,
        "compute_type": types.compute_type,
    }
    try:
        columns: dict[str, Any] = {name: [value] * count for name, value in constant.items()}
        for place, name in enumerate(_SIZE_COLUMNS):
            columns[name] = [entry[0][place] if len(entry[0]) > place else None for entry in sizes]
        columns["local_index"] = [entry[1][0] for entry in sizes]
        columns["solution_id"] = [ids[by_index[entry[1][0]]] for entry in sizes]
        columns["efficiency"] = [float(entry[1][1]) for entry in sizes]
        return pa.Table.from_pydict(columns, schema=ENTRY_SCHEMA)
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            "ExactLogic holds an entry that is malformed or points to no solution; repair it with --repair",
            path=library.path or library.name,
            value=str(error),
        ) from error


def library_rows(path: str | Path, logic_file: str | None = None) -> tuple[pa.Table, pa.Table]:
    """Solutions and sizes of one logic file.

    Args:
        path: the file.
        logic_file: what to call it in the rows.

    Returns:
        :func:`solution_rows` and :func:`entry_rows`.
    """
    with logic_yaml.no_gc():
        library = read_for_rows(logic_yaml.read_bytes(path), path)
        solutions = solution_rows(library, logic_file)
        return solutions, entry_rows(library, logic_file, solutions.column("solution_id").to_pylist())


def read_for_rows(data: bytes, path: str | Path, reader: logic_yaml.LogicReader | None = None) -> Library:
    """A library to be looked at only: equal lists and mappings in it are one object.

    Args:
        data: content of the file.
        path: of the file, for messages.
        reader: one made with ``share``, that knows the lines of other files.
    """
    reader = logic_yaml.LogicReader(share=True) if reader is None else reader
    return Library(logic_yaml.read_with(reader, data, path), Path(path).name, Path(path))
