"""``geko doctor``."""

from __future__ import annotations

from dataclasses import asdict

import typer

from geko.cli import options as o
from geko.cli.render import render


def doctor(hipblaslt: o.Hipblaslt = None, db: o.Db = None, form: o.Format = o.Form.table) -> None:
    """Look at everything that a run on GPUs needs: what is missing, and how to get it."""
    from geko.cli.main import anchor
    from geko.runners.doctor import doctor as examine

    checks = examine(hipblaslt, db, anchor=anchor())
    render([asdict(check) for check in checks], form, whole=True)
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
