"""Winners in the files that libraries and frameworks read at run time, without a rebuild.

`export_override` writes hipBLASLt's tuning file (``HIPBLASLT_TUNING_OVERRIDE_FILE``), `export_tunableop` a PyTorch TunableOp
table. Both name solutions by their index in the library that was measured, so they serve that build only. Which winner a
target can't apply, and why, is said by the statements ``export/override_legacy``, ``export/override_versioned`` and
``export/tunableop_rows``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geko.errors import InputError, UsageError
from geko.export.record import record_files
from geko.fsio import require_file, write_text_atomic

if TYPE_CHECKING:
    from geko.warehouse import Warehouse

ROWS = ("legacy", "versioned")
#: PyTorch checks these, each must be equal to its own.
_VALIDATORS = ("PT_VERSION", "ROCM_VERSION", "HIPBLASLT_VERSION", "GCN_ARCH_NAME", "ROCBLAS_VERSION")


@dataclass(frozen=True)
class Deployed:
    """What an export wrote.

    Attributes:
        path: the file; None where no winner could be written.
        n_written: winners in it.
        refused: the winners that are not in it: ``gemm`` and ``refusal``, the reason as a sentence.
        assumed: what rows say although no log told it, with the number of such rows; a call that differs gets no match.
    """

    path: Path | None
    n_written: int
    refused: list[dict[str, str]]
    assumed: list[str] = field(default_factory=list)


def export_override(
    warehouse: Warehouse, run_id: str, out: Path, *, rows: str = "legacy", allow_simulated: bool = False
) -> Deployed:
    """Write a tuning file for ``HIPBLASLT_TUNING_OVERRIDE_FILE``.

    Args:
        warehouse: where the run is.
        run_id: the run.
        out: the file, or a folder for ``tuning_override.txt``.
        rows: ``"legacy"`` (keyed on sizes and types, any release reads them) or ``"versioned"`` (the whole key, releases of
            2026 on).
        allow_simulated: write simulated winners too; file name and a line of the file say so.

    Raises:
        UsageError: the winners are simulated, or the run has none.
    """
    if rows not in ROWS:
        raise UsageError(f"--rows {rows}: known are {', '.join(ROWS)}")
    run = _run(warehouse, run_id, allow_simulated)
    found = warehouse.query(f"export/override_{rows}", run_id=run_id).to_pylist()
    good, refused = _parted(found, run)
    assumed = _assumed([row.pop("assumed", []) for row in good])
    lines = [f"Git Version: {run['hipblaslt_git'] or 'unknown'}"]
    if run["simulated"]:
        lines.append("Simulated: the times below are simulated, not measured")
    # Readers skip what is no header and no row.
    lines += [f"# Assumed, as no log tells it: {line}" for line in assumed]
    for row in good:
        lines += [f"    {','.join(row)}", f"    {','.join(_text(value) for value in row.values())}"]
    done = _written(warehouse, run, out, "tuning_override.txt", "override", lines, good, refused)
    return replace(done, assumed=assumed)


def _assumed(of_rows: list[list[str]]) -> list[str]:
    """What rows assume, rows that assume the same together."""
    counts = Counter(name for names in of_rows for name in names)
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    return [
        f"{', '.join(sorted(names))} ({count} of {len(of_rows)} rows)"
        for count, names in sorted(by_count.items(), reverse=True)
    ]


def export_tunableop(
    warehouse: Warehouse,
    run_id: str,
    out: Path,
    *,
    validators: Mapping[str, str] | None = None,
    allow_simulated: bool = False,
) -> Deployed:
    """Write a PyTorch TunableOp table (``PYTORCH_TUNABLEOP_FILENAME``).

    PyTorch refuses a table unless every validator equals its own. What is known of the measured build is filled in; the
    versions of PyTorch and rocBLAS must be given, best by `read_validators` from a table that the target wrote itself.

    Args:
        warehouse: where the run is.
        run_id: the run.
        out: the file, or a folder for ``tunableop_results.csv``.
        validators: values by name; they must not contradict the measured build.
        allow_simulated: write simulated winners too; such a table carries a validator that no PyTorch accepts.

    Raises:
        UsageError: the winners are simulated, the run has none, or a validator is missing or names another build.
    """
    run = _run(warehouse, run_id, allow_simulated)
    good, refused = _parted(warehouse.query("export/tunableop_rows", run_id=run_id).to_pylist(), run)
    lines = [f"Validator,{name},{value}" for name, value in _validators(run, validators or {}).items()]
    lines += [",".join((row["operator"], row["params"], row["solution"], _text(row["ms"]))) for row in good]
    return _written(warehouse, run, out, "tunableop_results.csv", "tunableop", lines, good, refused)


def read_validators(path: str | Path) -> dict[str, str]:
    """The validators of a TunableOp table, in its order.

    Args:
        path: a table that the target PyTorch wrote, tuned or untuned with validators.

    Raises:
        InputError: it has none.
    """
    require_file(path)
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    cells = [line.split(",", 2) for line in lines if line.startswith("Validator,")]
    found = {cell[1].strip(): cell[2].strip() for cell in cells if len(cell) == 3}
    if not found:
        raise InputError(
            "no Validator lines; give a TunableOp results file that the target PyTorch wrote", path=path
        )
    return found


def validators_of(words: Iterable[str]) -> dict[str, str]:
    """Validators of ``NAME=VALUE`` words.

    Raises:
        UsageError: a word has no ``=``.
    """
    parts = [word.partition("=") for word in words]
    for name, sign, value in parts:
        if not (sign and name and value):
            raise UsageError(
                f"--validator {name}{sign}{value}: NAME=VALUE is needed, such as PT_VERSION=2.9.1"
            )
    return {name: value for name, _, value in parts}


def _validators(run: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    git = (run["hipblaslt_git"] or "").split("-")[0]
    version = run["hipblaslt_version"]
    measured = {
        "HIPBLASLT_VERSION": f"{version}-{git}" if version and git else None,
        "GCN_ARCH_NAME": run["gfx"],
    }
    for name, value in measured.items():
        told = given.get(name)
        if value and told and told.removesuffix("-dirty") != value:
            raise UsageError(
                f"validator {name} is {told}, but the winners were measured with {value}; "
                "a solution index is valid in that build only"
            )
    known = {name: value for name, value in measured.items() if value}
    if "HIP_VERSION" not in given and run["rocm"]:
        known["ROCM_VERSION"] = run["rocm"]
    merged = {**known, **given}
    needed = [
        name
        for name in _VALIDATORS
        if name not in merged and not (name == "ROCM_VERSION" and "HIP_VERSION" in merged)
    ]
    if needed:
        raise UsageError(
            f"validators {', '.join(needed)} are not known: give --validators FILE (a TunableOp table that the target "
            f"PyTorch wrote) or --validator {needed[0]}=…"
        )
    first = [name for name in _VALIDATORS if name in merged]
    ordered = {name: merged[name] for name in [*first, *(name for name in merged if name not in first)]}
    return ordered | ({"GEKO_SIMULATED": "true"} if run["simulated"] else {})


def _run(warehouse: Warehouse, run_id: str, allow_simulated: bool) -> dict[str, Any]:
    run: dict[str, Any] = warehouse.query("export/run", run_id=run_id).to_pylist()[0]
    if run["simulated"] and not allow_simulated:
        raise UsageError(
            f"run {run_id[:8]} is simulated: its winners would be deployed without ever having run on a GPU; "
            "--allow-simulated writes them all the same, marked"
        )
    return run


def _parted(
    rows: list[dict[str, Any]], run: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The rows that can be written, without their first two columns, and those that can't."""
    if not rows:
        raise UsageError(f"run {run['run_id'][:8]} kept no kernel: there is nothing to deploy")
    good = [{key: row[key] for key in list(row)[2:]} for row in rows if row["refusal"] is None]
    refused = [{"gemm": row["gemm"], "refusal": row["refusal"]} for row in rows if row["refusal"] is not None]
    return good, refused


def _written(
    warehouse: Warehouse, run: Mapping[str, Any], out: Path, name: str, kind: str, lines: list[str],
    good: list[dict[str, Any]], refused: list[dict[str, str]],
) -> Deployed:  # fmt: skip
    if not good:
        return Deployed(None, 0, refused)
    path = out.absolute()
    if path.is_dir() or not path.suffix:
        path = path / name
    if run["simulated"] and ".simulated" not in path.suffixes:
        path = path.with_suffix(f".simulated{path.suffix}")
    write_text_atomic(path, "\n".join(lines) + "\n")
    record_files(warehouse, run["run_id"], run["simulated"], [(kind, path)])
    return Deployed(path, len(good), refused)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
