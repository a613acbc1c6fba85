"""MatchTable.yaml: which logic file and which solution in it a global solution index means.

TensileCreateLibrary writes one beside a build: a mapping ``index: [logic file, local index]``, the entries
wrapped over one or two lines. The indices of two builds of the same files may differ, so a table belongs to
one build.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from geko.errors import InputError
from geko.library import logic_yaml

# One entry on one line; the path holds nothing that YAML could read in another way.
_ENTRY = (
    r"^(?P<index>[0-9]{1,18}): "
    r"""\[(?P<file>[^\n,\[\]{}'"#&*!|>%@`:?-][^\n,\[\]{}'"#:]*), """
    r"*(?P<local>[0-9]{1,18})\] *$"
)

SCHEMA = pa.schema(
    [
        pa.field("solution_index", pa.int64(), nullable=False),
        pa.field("logic_file", pa.string(), nullable=False),
        pa.field("file_name", pa.string(), nullable=False),
        pa.field("local_index", pa.int64(), nullable=False),
    ]
)


#: Tables read lately, by the hash of their content: a run asks for the same one again and again.
_read: OrderedDict[bytes, pa.Table] = OrderedDict()
_READ_LIMIT = 8


def load_match_table(path: str | Path) -> pa.Table:
    """Read a MatchTable.yaml; one that was read before, under whatever name, is only hashed.

    Args:
        path: the file.

    Returns:
        One row an entry, in the file's order: ``solution_index`` (global, int64), ``logic_file`` (the path as
        written), ``file_name`` (its last part), ``local_index`` (position in that file, int64).

    Raises:
        MissingFileError: no such file.
        InputError: an entry is not ``index: [path, index]``, or an index stands twice.
    """
    data = logic_yaml.read_bytes(path)
    digest = hashlib.sha256(data).digest()
    table = _read.get(digest)
    if table is None:
        table = _table(data, path)
    _read[digest] = table
    _read.move_to_end(digest)
    while len(_read) > _READ_LIMIT:
        _read.popitem(last=False)
    return table


def _table(data: bytes, path: str | Path) -> pa.Table:
    text = logic_yaml.decode(data, path)
    entries = _read_usual(text)
    if entries is None:
        entries = _read_any(text, path)
    index, files, local = entries
    counts = pc.value_counts(index)
    if len(counts) != len(index):
        twice = next(row["values"] for row in counts.to_pylist() if row["counts"] > 1)
        raise InputError("the solution index stands twice in the table", path=path, value=twice)
    logic = files.dictionary_encode()
    names = pa.array([Path(file).name for file in logic.dictionary.to_pylist()], pa.string())
    return pa.Table.from_arrays([index, files, names.take(logic.indices), local], schema=SCHEMA)


def _read_usual(text: str) -> tuple[pa.Array, pa.Array, pa.Array] | None:
    """Entries of a table in the form that TensileCreateLibrary writes; None when it has another form."""
    body = text.removeprefix("---\n").rstrip("\n ").removesuffix("\n...")
    lines = body.replace(",\n  ", ", ").split("\n")
    parts = pc.extract_regex(pa.array(lines, pa.string()), _ENTRY)
    if parts.null_count:
        return None
    index, files, local = (pc.struct_field(parts, name) for name in ("index", "file", "local"))
    if (
        pc.any(pc.match_substring_regex(index, "^0.")).as_py()
        or pc.any(pc.match_substring_regex(local, "^0.")).as_py()
    ):
        return None  # 017 is 15 in YAML 1.1
    return index.cast(pa.int64()), files, local.cast(pa.int64())


def _read_any(text: str, path: str | Path) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Entries of a table whose layout is not the usual one (quoted paths, other line breaks, block lists)."""
    table = logic_yaml.loads(text, name=path)
    if table is None:
        table = {}
    if not isinstance(table, dict):
        raise InputError(
            "a MatchTable is a mapping of solution index to [logic file, index in it]", path=path
        )
    indices, files, locals_ = [], [], []
    for index, entry in table.items():
        match entry:
            case [str(file), int(local)] if type(index) is int and type(local) is int:
                indices.append(index)
                files.append(file)
                locals_.append(local)
            case _:
                line = next(
                    (n for n, row in enumerate(text.splitlines(), 1) if row.startswith(f"{index}:")), None
                )
                raise InputError(
                    f"entry {index!r} is not 'index: [logic file, index in it]'",
                    path=path,
                    line=line,
                    value=entry,
                )
    return pa.array(indices, pa.int64()), pa.array(files, pa.string()), pa.array(locals_, pa.int64())
