"""A hipBLASLt root with a stand-in program, and claims for it."""

from __future__ import annotations

import json
import shutil
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geko.runners.base import RunContext
from geko.warehouse.queue import Claim

HERE = Path(__file__).parent
# Modules that the tests beside this one share.
sys.path.insert(0, str(HERE))


@dataclass
class StandIn:
    """A root whose hipblaslt-bench is the stand-in."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "build/release/clients"

    def rules(self, *rules: dict[str, Any]) -> None:
        for old in self.folder.glob("count-*"):
            old.unlink()
        (self.folder / "rules.json").write_text(json.dumps(list(rules)))

    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make_standin(root: Path) -> StandIn:
    standin = StandIn(root)
    standin.folder.mkdir(parents=True)
    (root / "tensilelite").mkdir()
    shutil.copy(HERE / "bench_standin.py", standin.folder / "program.py")
    program = standin.folder / "hipblaslt-bench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "{standin.folder}/program.py" "$@"\n')
    program.chmod(0o755)
    return standin


@pytest.fixture
def standin(tmp_path: Path) -> StandIn:
    return make_standin(tmp_path / "hipblaslt")


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    return RunContext(
        ordinal=1, device_id=str(uuid.UUID(int=7)), runner="test", workdir=tmp_path / "work", grace_s=0.5
    )


@pytest.fixture
def make_claim(standin: StandIn) -> Callable[..., Claim]:
    def make(
        *rows: dict[str, Any], kind: str = "baseline", timeout_s: float = 30.0, attempt: int = 1, **spec: Any
    ) -> Claim:
        number = uuid.uuid4().hex[:6]
        content = {
            "harness": "hipblaslt-bench",
            "root": str(standin.root),
            "rows": list(rows),
            "problem_ids": [f"p-{item['M']}-{at}" for at, item in enumerate(rows)],
            "arms": [{"name": None, "library_id": "lib-stock", "libpath": None}],
            "rounds": 1,
            "env": {},
            **spec,
        }
        return Claim(
            f"job-{number}", attempt, f"token-{number}", kind, "batch", timeout_s, json.dumps(content)
        )

    return make
