"""Tuning configs of a run: made by the generator, kept as rows, and read back from the folder as people left it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.domain.identity import content_id
from geko.domain.problem import PROBLEM_FIELDS, Problem
from geko.errors import InputError
from geko.fsio import write_text_atomic
from geko.log import logger

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.config_generator.config_generator import Report
    from geko.config_generator.read_config import ConfigFacts
    from geko.runs.tune_requests import Wanted
    from geko.warehouse import Step, Warehouse

#: Folder of the configs in the working directory.
FOLDER = "optimizations"
#: States of a config that is tuned.
LIVE = ("generated", "edited", "added")
_NAME = re.compile(r"[\w.+-]+", re.ASCII)
#: Configs stored in one transaction.
_BATCH = 100


@dataclass(frozen=True, slots=True)
class FolderState:
    """What lies in ``optimizations/``, compared with what was generated.

    Attributes:
        rows: rows of ``run_config`` less the run.
        archs: architectures of the configs that are tuned.
    """

    rows: list[dict[str, Any]]
    archs: list[str]

    def count(self, *states: str) -> int:
        """How many configs are in these states."""
        return sum(row["state"] in states for row in self.rows)

    def gone(self) -> int:
        """How many files were removed: a changed file isn't one, though its former text is a removed row."""
        there = {row["file_name"] for row in self.rows if row["state"] != "removed"}
        return sum(row["file_name"] not in there for row in self.rows)


def config_id(text: str) -> str:
    """Id of a config: its text decides."""
    return content_id("tuning_config", text)


def record_generated(warehouse: Warehouse, run_id: str, report: Report, wanted: Wanted) -> None:
    """Store what the generator made: configs, their problems, and what became of each size.

    Args:
        warehouse: where to.
        run_id: the run.
        report: of :func:`geko.config_generator.config_generator.run`.
        wanted: what was asked for, with the sizes that never came to the generator.
    """
    from geko.config_generator.read_config import read_head
    from geko.warehouse import Append, Statement

    by_config: dict[tuple[str, tuple[int, int, int, int]], str] = {}
    run_rows: list[dict[str, Any]] = []
    for start in range(0, len(report.configs), _BATCH):
        batch = []
        for config in report.configs[start : start + _BATCH]:
            text = Path(config.path).read_text(encoding="utf-8")
            facts = read_head(text, config.sizes, config.tiles, config.kernels, _dialect(text), config.arch)
            name = Path(config.path).name
            batch.append((config.stem, text, facts, config.search_space, config.rules))
            run_rows.append(
                {"config_id": config_id(text), "file_name": name, "state": "generated", "reason": None}
            )
            for size, problem in zip(config.sizes, facts.problems(), strict=True):
                by_config[config.stem, size] = problem.problem_id
        warehouse.apply(*_config_steps(warehouse, batch, "generated"), repeatable=True)
    sizes = [*report.sizes, *wanted.dropped]
    size_rows = [
        {
            "run_id": run_id, "seq": seq, "problem_id": by_config.get((row.config, (row.m, row.n, row.batch, row.k))),
            "gemm": row.gemm, "m": row.m, "n": row.n, "batch": row.batch, "k": row.k, "state": row.status,
            "reason": row.reason, "n_tiles": row.tiles, "n_kernels": row.kernels, "config_name": row.config or None,
        }
        for seq, row in enumerate(sizes)
    ]  # fmt: skip
    warehouse.apply(
        Statement("tune/clear_run_sizes", {"run_id": run_id}),
        *([Append("run_size", _typed(size_rows, _size_types()))] if size_rows else []),
        *_run_config_steps(run_id, run_rows),
        repeatable=True,
    )


def read_folder(
    warehouse: Warehouse, run_id: str, folder: Path, before: Sequence[Mapping[str, Any]]
) -> FolderState:
    """Take the configs of a folder as they stand; files are read and never written.

    Args:
        warehouse: where unknown texts become rows.
        run_id: the run whose rows of ``run_config`` are set.
        folder: ``optimizations/``.
        before: the rows of the run that generated the configs: what was there then.

    Raises:
        InputError: no file can be tuned.
    """
    generated = {row["file_name"]: row["config_id"] for row in before if row["state"] == "generated"}
    texts: dict[str, str] = {}
    refused: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            texts[path.name] = path.read_text(encoding="utf-8")
        except OSError as error:
            refused[path.name] = f"it can't be read: {error.strerror}"
        except UnicodeDecodeError as error:
            refused[path.name] = f"it can't be read: {error}"
    for path in sorted(folder.glob("*.yml")):
        refused[path.name] = "configs end in .yaml: rename it"
    ids = {name: config_id(text) for name, text in texts.items()}
    archs = _known(warehouse, ids.values())
    unknown: list[tuple[str, str, ConfigFacts, str | None, str | None]] = []
    for name, text in texts.items():
        if not _NAME.fullmatch(Path(name).stem):
            refused[name] = (
                "its name may hold letters, digits and . + - _ only: jobs and folders are called after it"
            )
            continue
        if ids[name] in archs:
            continue
        facts = _facts(text, folder / name, refused)
        if facts is not None:
            unknown.append((Path(name).stem, text, facts, None, None))
            archs[ids[name]] = facts.arch
    for start in range(0, len(unknown), _BATCH):
        warehouse.apply(*_config_steps(warehouse, unknown[start : start + _BATCH], "file"), repeatable=True)
    rows: list[dict[str, Any]] = []
    for name in sorted({*texts, *refused}):
        own = ids.get(name) or config_id(name)
        if name in refused:
            logger.warning("%s is left out: %s", folder / name, refused[name])
            rows.append({"config_id": own, "file_name": name, "state": "refused", "reason": refused[name]})
            continue
        state = "generated" if generated.get(name) == own else "edited" if name in generated else "added"
        rows.append({"config_id": own, "file_name": name, "state": state, "reason": None})
    for name, old in generated.items():
        if ids.get(name) != old:
            reason = (
                "its file holds another text now"
                if name in texts or name in refused
                else "its file was removed"
            )
            rows.append({"config_id": old, "file_name": name, "state": "removed", "reason": reason})
    warehouse.apply(*_run_config_steps(run_id, rows), repeatable=True)
    live = [row for row in rows if row["state"] in LIVE]
    same: dict[str, list[str]] = {}
    for row in live:
        same.setdefault(row["config_id"], []).append(row["file_name"])
    for names in same.values():
        if len(names) > 1:
            logger.info(
                "%s hold the same config: they are one job, under the name of the first", " and ".join(names)
            )
    if not live:
        first = next(iter(refused.values()), "it holds no tuning config")
        raise InputError(f"nothing to tune: {first}; write configs with `geko configure`", path=folder)
    return FolderState(rows, sorted({archs[row["config_id"]] for row in live}))


def restore_folder(warehouse: Warehouse, run_id: str, folder: Path) -> int:
    """Write the configs of a run again where there is no such folder; returns how many were written."""
    if folder.is_dir():
        return 0
    rows = warehouse.query("tune/config_texts", run_id=run_id).to_pylist()
    for row in rows:
        write_text_atomic(folder / row["file_name"], row["yaml"])
    return len(rows)


def _facts(text: str, path: Path, refused: dict[str, str]) -> ConfigFacts | None:
    from geko.config_generator.read_config import read_config

    try:
        return read_config(text, path)
    except InputError as error:
        rest = str(error).removeprefix(f"{path}:").lstrip()
        refused[path.name] = rest if error.line is None else f"line {rest}"
        return None


def _known(warehouse: Warehouse, ids: Iterable[str]) -> dict[str, str]:
    """Architecture of the configs that are rows already."""
    import pyarrow as pa

    wanted = pa.table({"config_id": pa.array(sorted(set(ids)), pa.string())})
    rows = warehouse.query("tune/known_configs", {"wanted": wanted}).to_pylist()
    return {str(row["config_id"]): str(row["arch"]) for row in rows}


def _dialect(text: str) -> str | None:
    if "TileProcessingStrategy:" in text:
        return "strategy"
    return "streamk" if "StreamK:" in text else None


def _config_steps(
    warehouse: Warehouse,
    configs: Sequence[tuple[str, str, ConfigFacts, str | None, str | None]],
    origin: str,
) -> list[Step]:
    import pyarrow as pa

    from geko.warehouse import Statement

    rows, links = [], []
    problems: dict[str, Problem] = {}
    protocols: dict[str, dict[str, Any]] = {}
    for name, text, facts, space, rules in configs:
        own = config_id(text)
        protocols.setdefault(facts.protocol.protocol_id, facts.protocol.row())
        rows.append(
            {
                "config_id": own, "name": name, "origin": origin, "backend": facts.backend, "arch": facts.arch,
                "gemm": facts.gemm.name, "dialect": facts.dialect, "search_space": space, "rules": rules,
                "protocol_id": facts.protocol.protocol_id, "n_sizes": len(facts.sizes), "n_tiles": facts.tiles,
                "n_kernels": facts.kernels, "yaml": text,
            }
        )  # fmt: skip
        for seq, problem in enumerate(facts.problems()):
            problems.setdefault(problem.problem_id, problem)
            links.append({"config_id": own, "problem_id": problem.problem_id, "seq": seq})
    problem_rows = [
        {"problem_id": key, **{name: getattr(problem, name) for name in PROBLEM_FIELDS}}
        for key, problem in problems.items()
    ]
    return [
        Statement("ingest/put_problem", {}, {"rows": _typed(problem_rows, _problem_types())}),
        Statement("ingest/put_protocol", {}, {"rows": pa.Table.from_pylist(list(protocols.values()))}),
        Statement("tune/put_configs", {"now": warehouse.now()}, {"rows": _typed(rows, _config_types())}),
        Statement("tune/put_config_problems", {}, {"rows": pa.Table.from_pylist(links)}),
    ]


def _run_config_steps(run_id: str, rows: Sequence[Mapping[str, Any]]) -> list[Step]:
    from geko.warehouse import Append, Statement

    steps: list[Step] = [Statement("tune/clear_run_configs", {"run_id": run_id})]
    if rows:
        table = _typed([{"run_id": run_id, **row} for row in rows], _run_config_types())
        steps.append(Append("run_config", table))
    return steps


def _typed(rows: Sequence[Mapping[str, Any]], types: Mapping[str, Any]) -> pa.Table:
    """Rows as a table whose columns have a type even where all their values are null."""
    import pyarrow as pa

    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()})


def _run_config_types() -> dict[str, Any]:
    import pyarrow as pa

    return dict.fromkeys(("run_id", "config_id", "file_name", "state", "reason"), pa.string())


def _config_types() -> dict[str, Any]:
    import pyarrow as pa

    texts = (
        "config_id",
        "name",
        "origin",
        "backend",
        "arch",
        "gemm",
        "dialect",
        "search_space",
        "rules",
        "protocol_id",
    )
    return {
        **dict.fromkeys(texts, pa.string()),
        "n_sizes": pa.int32(), "n_tiles": pa.int32(), "n_kernels": pa.decimal128(38, 0), "yaml": pa.string(),
    }  # fmt: skip


def _size_types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "run_id": pa.string(), "seq": pa.int32(), "problem_id": pa.string(), "gemm": pa.string(), "m": pa.int64(),
        "n": pa.int64(), "batch": pa.int64(), "k": pa.int64(), "state": pa.string(), "reason": pa.string(),
        "n_tiles": pa.int32(), "n_kernels": pa.decimal128(38, 0), "config_name": pa.string(),
    }  # fmt: skip


def _problem_types() -> dict[str, Any]:
    import pyarrow as pa

    example = Problem("N", "N", 1, 1, 1, 1, "f32_r", "f32_r", "f32_r", "f32_r", "f32_r")
    types: dict[str, Any] = {"problem_id": pa.string()}
    for name in PROBLEM_FIELDS:
        value = getattr(example, name)
        if name in ("lda", "ldb", "ldc", "ldd") or name.startswith("stride_"):
            types[name] = pa.int64()
        elif isinstance(value, bool):
            types[name] = pa.bool_()
        elif isinstance(value, int):
            types[name] = pa.int32() if name.startswith("scale_") else pa.int64()
        else:
            types[name] = pa.string()
    return types
