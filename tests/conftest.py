"""Options, markers and fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

# A shell's background jobs ignore Ctrl-C, and so would every program that a test starts from there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).parent))

from search_support import searched, simulated_cache  # noqa: E402

__all__ = ["searched", "simulated_cache"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("geko")
    group.addoption("--hipblaslt-path", default=None, help="hipBLASLt checkout for integration tests")
    group.addoption(
        "--config", dest="geko_config", default=None, help="generator config for integration tests"
    )
    group.addoption("--workload", default=None, help="workload log for integration tests")
    group.addoption(
        "--hw", default="gfx950", help="architecture used by configure / optimize integration tests"
    )
    group.addoption("--skip-slow", action="store_true", help="skip tests marked slow")
    group.addoption("--skip-geko-bin", action="store_true", help="skip subprocess tests of bin/geko")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Note every SQL statement that the tests and their processes execute, for the test that looks at all of them."""
    if "GEKO_TRACE_SQL" not in os.environ:
        handle, path = tempfile.mkstemp(prefix="geko-statements-", suffix=".txt")
        os.close(handle)
        os.environ["GEKO_TRACE_SQL"] = path
        config.add_cleanup(lambda: Path(path).unlink(missing_ok=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for option, marker in (("--skip-slow", "slow"), ("--skip-geko-bin", "geko_bin")):
        if config.getoption(option):
            for item in items:
                if marker in item.keywords:
                    item.add_marker(pytest.mark.skip(reason=f"{option} given"))
    last = [item for item in items if "whole_suite" in item.keywords]
    if last and not _is_whole_suite(config, items):
        for item in last:
            item.add_marker(pytest.mark.skip(reason="only some tests are run"))
    items[:] = [item for item in items if item not in last] + last


def _is_whole_suite(config: pytest.Config, items: list[pytest.Item]) -> bool:
    option = config.option
    if option.keyword or option.markexpr or option.skip_slow or option.skip_geko_bin or option.collectonly:
        return False
    return {item.path for item in items} == set((ROOT / "tests").rglob("test_*.py"))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs, outputs and libraries that lies beside the checkout."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip(f"no folder of real data at {path}")
    return path


@pytest.fixture(scope="session")
def example_library(repo_root: Path) -> Path:
    """The example library: ``Equality/*.yaml`` and ``MatchTable.yaml``."""
    return repo_root / "examples" / "library"
