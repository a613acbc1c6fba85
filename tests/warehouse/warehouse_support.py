"""A warehouse as its owner and as a client, with a clock that only moves when told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from geko.domain.environment import Environment
from geko.domain.identity import content_id
from geko.domain.problem import Problem
from geko.domain.protocol import Protocol
from geko.warehouse import Append, Warehouse
from geko.warehouse import queue as jobs

ENVIRONMENT = Environment(simulated=True, gfx="gfx942:sramecc+:xnack-", cu_count=304)
PROTOCOL = Protocol(harness="hipblaslt-bench", role="baseline")
DEVICES = tuple(content_id("device", {"host": "h", "ordinal": nr}) for nr in range(3))
RUN = content_id("run", "one")


class FakeClock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Bench:
    """A warehouse under test and what its tests need.

    Attributes:
        wh: the object under test, owner or client.
        other: another object on the same file, always served by the owner.
    """

    wh: Warehouse
    other: Warehouse
    clock: FakeClock
    path: Path

    def value(self, text: str) -> object:
        """The one value of a query."""
        return self.wh.sql(text).read_all().column(0)[0].as_py()

    def rows(self, text: str) -> list[dict[str, object]]:
        return self.wh.sql(text).read_all().to_pylist()

    def enqueue(self, n: int, **columns: object) -> jobs.EnqueueResult:
        """Queue ``n`` jobs named job-0 … with costs 0 … n-1 seconds."""
        return jobs.enqueue(self.wh, RUN, job_table(n, **columns))

    def claim(self, device: int = 0, **options: object) -> list[jobs.Claim]:
        return jobs.claim(self.wh, f"runner-{device}", DEVICES[device], **options)  # type: ignore[arg-type]

    def finish(
        self, claim: jobs.Claim, outcome: str = "ok", device: int = 0, n_rows: int = 0, **fields: object
    ) -> str:
        """Complete one claim; returns the answer."""
        measured = measurement_rows(n_rows, outcome) if n_rows else None
        result = jobs.JobResult(
            claim.job_id,
            claim.attempt,
            claim.token,
            f"runner-{device}",
            DEVICES[device],
            outcome,
            measurements=measured,
            **fields,  # type: ignore[arg-type]
        )
        return jobs.complete(self.wh, [result])[0]

    def state(self, nr: int) -> str:
        return str(self.value(f"SELECT state FROM job WHERE job_id = '{job_id(nr)}'"))


def job_id(nr: int) -> str:
    return content_id("job", f"job-{nr}")


def problem(nr: int = 0) -> Problem:
    return Problem("N", "T", 64 + nr, 64, 1, 64, "bf16_r", "bf16_r", "bf16_r", "bf16_r", "f32_r")


def job_table(n: int, first: int = 0, **columns: object) -> pa.Table:
    base: dict[str, object] = {
        "job_id": [job_id(first + nr) for nr in range(n)],
        "kind": ["baseline"] * n,
        "batch_key": ["b"] * n,
        "problem_id": [problem().problem_id] * n,
        "protocol_id": [PROTOCOL.protocol_id] * n,
        "environment_id": [ENVIRONMENT.environment_id] * n,
        "timeout_s": [60.0] * n,
        "cost_s": [float(nr) for nr in range(n)],
        "spec": [f'{{"nr":{first + nr}}}' for nr in range(n)],
    }
    for name, value in columns.items():
        base[name] = value if isinstance(value, list) else [value] * n
    if "max_attempts" in base:
        base["max_attempts"] = pa.array(base["max_attempts"], pa.int32())
    return pa.table(base)


def measurement_rows(n: int, outcome: str = "ok") -> pa.Table:
    return pa.table(
        {
            "outcome": [outcome] * n,
            "us": [10.0 + nr for nr in range(n)],
            "rank": pa.array(range(n), pa.int32()),
            "extra": ['{"a":1}'] * n,
            "arm": pa.nulls(n),
        }
    )


def device_rows(now: datetime) -> pa.Table:
    n = len(DEVICES)
    return pa.table(
        {
            "device_id": list(DEVICES),
            "environment_id": [ENVIRONMENT.environment_id] * n,
            "host": ["h"] * n,
            "ordinal": pa.array(range(n), pa.int32()),
            "last_seen": [now] * n,
        }
    )


def store_basics(wh: Warehouse) -> None:
    """The environment, protocol, problem and devices that jobs refer to."""
    now = wh.now()
    wh.apply(
        Append("environment", pa.Table.from_pylist([{**ENVIRONMENT.row(), "first_seen": now}])),
        Append("protocol", pa.Table.from_pylist([PROTOCOL.row()])),
        Append(
            "problem",
            pa.Table.from_pylist(
                [
                    {"problem_id": problem().problem_id}
                    | {name: getattr(problem(), name) for name in problem().__dataclass_fields__}
                ]
            ),
        ),
        Append("device", device_rows(now)),
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new warehouse, made once: copying is faster than migrating."""
    path = tmp_path_factory.mktemp("template") / "new.duckdb"
    Warehouse.open(path).close()
    return path


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock, template: Path) -> Iterator[Callable[..., Warehouse]]:
    """Opens warehouses that are closed at the end, clients first."""
    opened: list[Warehouse] = []

    def opener(name: str = "w.duckdb", **options: object) -> Warehouse:
        options.setdefault("clock", clock)
        if not (tmp_path / name).exists():
            shutil.copyfile(template, tmp_path / name)
        wh = Warehouse.open(tmp_path / name, **options)  # type: ignore[arg-type]
        opened.append(wh)
        return wh

    yield opener
    for wh in reversed(opened):
        wh.close()


@pytest.fixture(params=["owner", "client"])
def bench(
    request: pytest.FixtureRequest, make: Callable[..., Warehouse], clock: FakeClock, tmp_path: Path
) -> Bench:
    """The same tests over the owner's object and a client's."""
    owner, client = make(), make()
    store_basics(owner)
    tested, other = (owner, client) if request.param == "owner" else (client, owner)
    assert owner.is_owner
    assert not client.is_owner
    return Bench(tested, other, clock, tmp_path / "w.duckdb")
