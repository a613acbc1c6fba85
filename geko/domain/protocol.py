"""How something is timed. Two times are comparable only under one protocol, environment and problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from geko.domain.identity import canonical_json, content_id

Role = Literal[
    "baseline",
    "screen",
    "qualify",
    "compare",
    "confirm",
    "verify",
    "probe",
    "import",
    "tune",
    "unlimited",
    "guard",
]


@dataclass(frozen=True, slots=True)
class Protocol:
    """Identity of a measurement protocol; the fields are the columns of table ``protocol``.

    Attributes:
        harness: the program that measures, such as ``"hipblaslt-bench"`` or ``"tensilelite-client"``.
        role: what the measurement is for.
        timer: ``"gpu"`` (events) or ``"cpu"`` (wall clock).
        iteration_rule: ``"duration"`` (iterations fill ``duration_s``), ``"fixed"`` or ``"unknown"``.
        duration_s: seconds of the timed phase, and of the cold phase before it.
        iters, cold_iters: iterations under the fixed rule.
        rotating_mib: size of the rotating buffers in MiB.
        flush: caches are flushed between iterations and the flush's time is subtracted.
        initialization: data pattern, such as ``"trig_float"``.
        statistic: what the printed time is: ``"mean"``, ``"median"``, ``"min"``.
        extra: further settings that change what a time means (candidate selection, skip ratio, rounds, ...).
    """

    harness: str
    role: Role
    timer: str | None = None
    iteration_rule: str | None = None
    duration_s: float | None = None
    iters: int | None = None
    cold_iters: int | None = None
    rotating_mib: int | None = None
    flush: bool | None = None
    initialization: str | None = None
    statistic: str | None = "mean"
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """Canonical JSON of everything in the identity."""
        return canonical_json(asdict(self))

    @property
    def protocol_id(self) -> str:
        """Id of the protocol, as in column ``protocol_id``."""
        return content_id("protocol", self.settings)

    def row(self) -> dict[str, Any]:
        """The row of table ``protocol``."""
        columns = asdict(self)
        del columns["extra"]
        return {"protocol_id": self.protocol_id, **columns, "settings": self.settings}
