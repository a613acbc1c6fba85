"""hipblaslt-bench input files of a run, and what the program printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from geko.fsio import write_text_atomic

if TYPE_CHECKING:
    from geko.warehouse import Warehouse


#: Rows by kind and role of their job, then by name of their problem.
JobRows = dict[tuple[str, str], dict[str, list[str]]]


def yaml_rows(rows: list[str]) -> str:
    """JSON rows as the YAML list of flow mappings that hipblaslt-bench reads."""
    lines = []
    for text in rows:
        pairs = ", ".join(f"{key}: {_scalar(value)}" for key, value in json.loads(text).items())
        lines.append(f"- {{{pairs}}}\n")
    return "".join(lines)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def export_replay(
    warehouse: Warehouse, run_id: str, folder: Path, stem: str, role: str
) -> list[tuple[str, Path]]:
    """Write ``<stem>.yaml``, which hipblaslt-bench can replay, and ``<stem>.out``, what it printed in the run."""
    rows = warehouse.query("export/replay", run_id=run_id)["bench_row"].to_pylist()
    write_text_atomic(folder / f"{stem}.yaml", yaml_rows(rows))
    outputs = warehouse.query("export/outputs", run_id=run_id, kind="baseline", role=role)
    write_text_atomic(folder / f"{stem}.out", "".join(outputs["text"].to_pylist()))
    return [("replay", folder / f"{stem}.yaml"), ("output", folder / f"{stem}.out")]


def job_rows(warehouse: Warehouse, run_id: str) -> JobRows:
    """Bench rows of a run's searches, confirmations, comparisons and checks."""
    rows: JobRows = {}
    for row in warehouse.query("export/job_rows", run_id=run_id).to_pylist():
        of_kind = rows.setdefault((row["kind"], row["role"]), {})
        of_kind.setdefault(row["name"], []).append(row["bench_row"])
    return rows


def export_job_files(
    warehouse: Warehouse, run_id: str, rows: JobRows, folder: Path, kind: str, role: str, suffix: str = ""
) -> list[tuple[str, Path]]:
    """Write one YAML per problem, named after it, and one ``.out`` per program that ran."""
    written = []
    by_name = rows.get((kind, role), {})
    for name, texts in by_name.items():
        path = folder / f"{name}{suffix}.yaml"
        write_text_atomic(path, yaml_rows(list(dict.fromkeys(texts))))
        written.append((f"{kind}-input", path))
    used: dict[str, int] = {}
    for row in warehouse.query("export/outputs", run_id=run_id, kind=kind, role=role).to_pylist():
        number = used[row["name"]] = used.get(row["name"], -1) + 1
        path = folder / f"{row['name']}{suffix}{f'.{number}' if number else ''}.out"
        write_text_atomic(path, row["text"])
        written.append((f"{kind}-output", path))
    return written
