"""Tables and diffs as Markdown, for pull requests and issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from geko.diff import Diff


def markdown_table(rows: pa.Table) -> str:
    """Rows as a Markdown table; numbers with five digits, to the right; nothing for a table without rows.

    Args:
        rows: the rows.
    """
    if not rows.num_rows:
        return ""
    numeric = [_is_numeric(field.type) for field in rows.schema]
    lines = [
        [_escaped(name) for name in rows.schema.names],
        ["---:" if right else "---" for right in numeric],
        *(
            list(map(_cell, row))
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)
        ),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def diff_markdown(diff: Diff, *, limit: int | None = 50) -> str:
    """A diff as a Markdown document.

    Args:
        diff: the diff.
        limit: at most so many of the changed shapes; None for all.
    """
    import pyarrow.compute as pc

    times = f"{diff.a.times} times"
    parts = [
        f"## Diff ({times})\n\n- A: {diff.a.kind} `{diff.a.id[:8]}` {diff.a.label}\n"
        f"- B: {diff.b.kind} `{diff.b.id[:8]}` {diff.b.label}\n\n`ratio` is time in A / time in B: above 1, B is faster.\n",
        markdown_table(diff.totals),
    ]
    if diff.fields.num_rows:
        parts.append(f"### What differs in the environment\n\n{markdown_table(diff.fields)}")
    changed = diff.shapes.filter(pc.is_in(diff.shapes["class"], pc.cast(["regressed", "improved"], "string")))
    shown = changed if limit is None else changed.slice(0, limit)
    if shown.num_rows:
        names = [
            "type",
            "m",
            "n",
            "batch",
            "k",
            "calls",
            "us_a",
            "us_b",
            "ratio",
            "ratio_low",
            "ratio_high",
            "kernel",
            "class",
        ]
        parts.append(f"### Changed shapes\n\n{markdown_table(shown.select(names))}")
        if shown.num_rows < changed.num_rows:
            parts.append(f"{changed.num_rows - shown.num_rows} more changed shapes are not shown.\n")
    return "\n".join(part for part in parts if part)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else _escaped(str(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
