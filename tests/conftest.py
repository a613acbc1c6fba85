"""Options, markers and fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for option, marker in (("--skip-slow", "slow"), ("--skip-geko-bin", "geko_bin")):
        if config.getoption(option):
            for item in items:
                if marker in item.keywords:
                    item.add_marker(pytest.mark.skip(reason=f"{option} given"))


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
