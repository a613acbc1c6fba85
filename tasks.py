"""Developer tasks: ``invoke --list``."""

from __future__ import annotations

import shutil
from pathlib import Path

from invoke import Context, task

ROOT = Path(__file__).resolve().parent


@task
def install(c: Context) -> None:
    """Editable install with the development tools."""
    c.run("python -m pip install -e '.[dev]'")


@task(
    help={
        "skip_slow": "skip slow tests",
        "skip_geko_bin": "skip tests of bin/geko",
        "args": "words for pytest",
    }
)
def test(c: Context, skip_slow: bool = False, skip_geko_bin: bool = False, args: str = "") -> None:
    """Run the test suite."""
    words = ["python -m pytest", "--skip-slow" * skip_slow, "--skip-geko-bin" * skip_geko_bin, args]
    c.run(" ".join(word for word in words if word), pty=True)


@task
def lint(c: Context) -> None:
    """Lint and check types."""
    c.run("ruff check .")
    c.run("mypy")


@task(help={"check": "only say what would change"})
def format(c: Context, check: bool = False) -> None:
    """Format the code."""
    c.run("ruff format " + ("--check ." if check else "."))


@task
def docs(c: Context) -> None:
    """Write the commands of docs/cli.md again, after one changed."""
    c.run("python -m geko.cli.reference")


@task
def build(c: Context) -> None:
    """Build the source distribution and the wheel into dist/."""
    c.run("python -m build --outdir dist .")


@task
def clean(_c: Context) -> None:
    """Remove what builds and tests leave behind."""
    for name in (
        "dist",
        "build",
        "htmlcov",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".hypothesis",
    ):
        shutil.rmtree(ROOT / name, ignore_errors=True)
    for pattern in ("coverage.*", ".coverage*", "geko_tests.xml"):
        for path in ROOT.glob(pattern):
            path.unlink()
