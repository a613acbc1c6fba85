"""Which input row a printed result belongs to, by what the client echoes and never by position.

Positions don't do: the client prints equal records once, prints nothing for a row without a solution or after
a crash, and outputs of several devices come in the order they finish. fp8 types come back renamed on gfx942.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geko.domain.dtypes import UnknownTypeError, canonical_type, fold_fnuz, normalise_compute

#: hipblaslt-bench YAML keys and their defaults (``hipblaslt_common.yaml`` of the clients); None: derived or
#: unset.
DEFAULTS: dict[str, Any] = {
    "function": "matmul", "M": 128, "N": 128, "K": 128, "batch_count": 1, "transA": "N", "transB": "N",
    "lda": None, "ldb": None, "ldc": None, "ldd": None, "stride_a": None, "stride_b": None, "stride_c": None,
    "stride_d": None, "alpha": 1.0, "beta": 0.0, "a_type": "f32_r", "b_type": "f32_r", "c_type": "f32_r",
    "d_type": "f32_r", "compute_type": "f32_r", "scale_type": None, "bias_type": None, "aux_type": None,
    "scaleA": 0, "scaleB": 0, "scaleC": 0, "scaleD": 0, "scaleE": 0, "amaxD": False, "swizzle_a": False,
    "swizzle_b": False, "scaleAlpha_vector": False, "bias_vector": False, "bias_source": "d", "gradient":
    False, "use_e": False, "activation_type": "none", "grouped_gemm": False, "any_stride": False, "iters":
    10, "cold_iters": 2, "initialization": "rand_int", "algo_method": 0, "requested_solution_num": 1,
    "solution_index": -1, "skip_slow_solution_ratio": 0.0, "rotating": 0, "flush": False, "use_gpu_timer":
    False, "print_kernel_info": False, "norm_check": 0, "allclose_check": 0, "norm_check_assert": True,
    "api_method": 0, "workspace": 134217728, "splitk": None, "wgm": None,
}  # fmt: skip

# What must agree, and what is given up step by step when a version prints it in another way. The later steps
# only match where exactly one row is left that could be meant.
_HARD = (
    "trans_a", "trans_b", "grouped_gemm", "batch_count", "m", "n", "k", "a_type", "b_type", "c_type",
    "d_type", "compute_type", "activation_type", "bias_vector",
)  # fmt: skip
_SCALES = ("scale_a", "scale_b", "scale_c", "scale_d")
_LAYOUT = (
    "alpha", "beta", "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d", "swizzle_a",
    "swizzle_b",
)  # fmt: skip
_TIMING = ("bias_type", "rotating_mib", "flush", "use_gpu_timer")
_STEPS = (
    (*_HARD, *_SCALES, *_LAYOUT, *_TIMING),
    (*_HARD, *_SCALES, *_LAYOUT),
    (*_HARD, *_SCALES),
    _HARD,
)


def match_blocks(blocks: pa.Table, rows: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """Index of the input row that each printed result belongs to.

    All results of one problem (candidates of a dense search, the winner printed again) get the same row. Of
    rows that the client takes for one record only the first is given; :func:`first_equal` says which these
    are. Results of indistinguishable rows are given out in order.

    Args:
        blocks: ``BenchOutput.blocks``.
        rows: hipblaslt-bench YAML rows, in the order they were given to the client.

    Returns:
        One index into ``rows`` per row of ``blocks``; None where no row, or more than one, could be meant.
    """
    groups: list[int] = blocks["group"].to_pylist()
    n_groups = groups[-1] + 1 if groups else 0
    firsts = [groups.index(group) for group in range(n_groups)] if n_groups < 64 else _first_of_each(groups)
    heads = blocks.take(pa.array(firsts, pa.int64())) if firsts else blocks.slice(0, 0)
    printed = _printed_columns(heads)
    kinds: list[int] = heads["header"].to_pylist()
    shown = {kind: _shown(heads, [i for i, k in enumerate(kinds) if k == kind]) for kind in set(kinds)}
    wanted = [echo_of(row) for row in rows]
    first = first_equal(rows)
    row_of: list[int | None] = [None] * n_groups
    _give_named(row_of, rows, wanted, printed, heads["solution_index"].to_pylist(), shown, kinds)
    for step, names in enumerate(_STEPS):
        open_groups = [group for group in range(n_groups) if row_of[group] is None]
        if not open_groups:
            break
        taken = {row for row in row_of if row is not None}
        for kind in sorted({kinds[group] for group in open_groups}):
            present = [name for name in names if name in shown[kind]]
            by_key: dict[tuple[str, ...], list[int]] = {}
            for row, echo in enumerate(wanted):
                if row not in taken:
                    by_key.setdefault(tuple(echo[name] for name in present), []).append(row)
            asked: dict[tuple[str, ...], list[int]] = {}
            for group in open_groups:
                if kinds[group] == kind:
                    asked.setdefault(tuple(printed[name][group] for name in present), []).append(group)
            for key, members in asked.items():
                candidates = by_key.get(key, [])
                distinct = [row for row in candidates if first[row] == row]
                # More results than distinct rows: the client took apart what looks equal here.
                choice = candidates if len(members) > len(distinct) else distinct
                if step and len(choice) != len(members):
                    continue
                _give_out(row_of, members, choice)
    return [row_of[group] for group in groups]


def _give_named(
    row_of: list[int | None],
    rows: Sequence[Mapping[str, Any]],
    wanted: Sequence[Mapping[str, str]],
    printed: Mapping[str, Sequence[str]],
    indices: Sequence[int | None],
    shown: Mapping[int, frozenset[str]],
    kinds: Sequence[int],
) -> None:
    """Give results to rows that name their solution by index: several rows may differ in nothing else."""
    asking = [
        (at, row["solution_index"])
        for at, row in enumerate(rows)
        if row.get("algo_method") in (2, "2", "index") and row.get("solution_index") is not None
    ]
    for group, index in enumerate(indices) if asking else ():
        names = [name for name in _HARD if name in shown[kinds[group]]]
        for at, asked in asking:
            if asked == index and at not in row_of and all(wanted[at][n] == printed[n][group] for n in names):
                row_of[group] = at
                break


def _give_out(row_of: list[int | None], members: list[int], choice: list[int]) -> None:
    """Give rows to results of equal looks: in order, behind the row of the result before where that is
    possible.
    """
    left = list(choice)
    for group in members:
        if not left:
            return
        before = next((row_of[g] for g in range(group - 1, -1, -1) if row_of[g] is not None), None)
        after = [row for row in left if before is None or row > before]
        pick = after[0] if len(left) > len(members) and after else left[0]
        row_of[group] = pick
        left.remove(pick)


def first_equal(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """For each row the index of the first row that the client takes for the same record.

    Its expander fills in defaults, ignores unknown keys such as ``call_count`` and emits equal records once.
    """
    seen: dict[str, int] = {}
    return [seen.setdefault(_record(row), index) for index, row in enumerate(rows)]


def _record(row: Mapping[str, Any]) -> str:
    values = {name: row.get(name, default) for name, default in DEFAULTS.items()}
    for short, name in (("m", "M"), ("n", "N"), ("k", "K")):
        if name not in row and short in row:
            values[name] = row[short]
    return json.dumps({name: _plain(value) for name, value in values.items()}, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def echo_of(row: Mapping[str, Any]) -> dict[str, str]:
    """What the client will print for a YAML row, by column of ``BenchOutput.blocks``, in the form that is
    compared.

    Leading dimensions and strides below the packed ones are raised to them unless ``any_stride`` is set;
    strides of a single matrix and the bias type without a bias vector have no meaning and compare equal.
    """

    def get(name: str) -> Any:
        value = row.get(name)
        return DEFAULTS[name] if value is None else value

    m, n, k = (int(row.get(name, row.get(name.lower(), 128))) for name in "MNK")
    batch = int(get("batch_count"))
    trans_a, trans_b = str(get("transA")).upper(), str(get("transB")).upper()
    any_stride = _truth(get("any_stride"))
    packed = {"a": (m, k) if trans_a == "N" else (k, m), "b": (k, n) if trans_b == "N" else (n, k)}
    packed["c"] = packed["d"] = (m, n)
    echo: dict[str, Any] = {
        "trans_a": trans_a,
        "trans_b": trans_b,
        "batch_count": batch,
        "m": m,
        "n": n,
        "k": k,
    }
    for matrix, (height, width) in packed.items():
        ld = int(row.get(f"ld{matrix}") or 0)
        ld = ld if any_stride and ld else max(ld, height)
        given = row.get(f"stride_{matrix}")
        stride = int(given or 0) if any_stride and given is not None else max(int(given or 0), ld * width)
        echo[f"ld{matrix}"] = ld
        echo[f"stride_{matrix}"] = stride if batch > 1 else ""
        echo[f"{matrix}_type"] = _type(get(f"{matrix}_type"))
    echo["compute_type"] = normalise_compute(str(get("compute_type")))
    bias = _truth(get("bias_vector"))
    bias_type = row.get("bias_type")
    known = bias and bias_type not in (None, "", "default", "invalid")
    echo |= {
        "alpha": _number(get("alpha")),
        "beta": _number(get("beta")),
        "grouped_gemm": int(_truth(get("grouped_gemm"))),
        "activation_type": str(get("activation_type")).lower(),
        "bias_vector": int(bias),
        "bias_type": _type(bias_type) if known else "",
        "swizzle_a": int(_truth(row.get("swizzle_a", row.get("swizzleA", False)))),
        "swizzle_b": int(_truth(row.get("swizzle_b", row.get("swizzleB", False)))),
        "rotating_mib": int(get("rotating")),
        "flush": int(_truth(get("flush"))),
        "use_gpu_timer": int(_truth(get("use_gpu_timer"))),
    }
    echo |= {f"scale_{matrix.lower()}": int(_plain(get(f"scale{matrix}")) or 0) for matrix in "ABCD"}
    return {name: str(value) for name, value in echo.items()}


def _truth(value: Any) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on") if isinstance(value, str) else bool(value)


def _number(value: Any) -> str:
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value)


def _type(value: Any) -> str:
    try:
        return fold_fnuz(canonical_type(str(value)))
    except UnknownTypeError:
        return str(value)


def _first_of_each(groups: list[int]) -> list[int]:
    return [row for row, group in enumerate(groups) if row == 0 or groups[row - 1] != group]


def _shown(heads: pa.Table, rows: list[int]) -> frozenset[str]:
    """Compared columns that a header prints: those with a value in one of its rows."""
    part = heads.take(pa.array(rows, pa.int64()))
    names = dict.fromkeys(name for step in _STEPS for name in step)
    return frozenset(name for name in names if part[name].null_count < part.num_rows)


def _printed_columns(heads: pa.Table) -> dict[str, list[str]]:
    """The compared columns as texts in the form of :func:`echo_of`."""
    columns: dict[str, list[str]] = {}
    single = pc.fill_null(pc.equal(heads["batch_count"], 1), True)
    no_bias = pc.invert(pc.fill_null(heads["bias_vector"], False))
    for name in dict.fromkeys(name for step in _STEPS for name in step):
        column = heads[name]
        if name in ("alpha", "beta"):
            columns[name] = ["" if value is None else _number(value) for value in column.to_pylist()]
            continue
        if pa.types.is_boolean(column.type):
            column = pc.cast(column, pa.int8())
        column = pc.fill_null(pc.cast(column, pa.string()), "")
        if name.startswith("stride_"):
            column = pc.if_else(single, "", column)
        elif name == "bias_type":
            column = pc.if_else(no_bias, "", column)
        elif name == "activation_type":
            column = pc.utf8_lower(column)
        elif name in ("trans_a", "trans_b"):
            column = pc.utf8_upper(column)
        texts: list[str] = column.to_pylist()
        if name.endswith("_type") and name not in ("activation_type", "compute_type"):
            texts = _each_distinct(texts, _type)
        elif name == "compute_type":
            texts = _each_distinct(texts, normalise_compute)
        columns[name] = texts
    return columns


def _each_distinct(texts: Iterable[str], function: Any) -> list[str]:
    known: dict[str, str] = {}
    return [known[text] if text in known else known.setdefault(text, function(text)) for text in texts]
