"""Where something is timed: GPU, clocks and software. The library under test is not part of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from geko.domain.identity import canonical_json, content_id


@dataclass(frozen=True, slots=True)
class Environment:
    """Identity of an environment; the fields are the columns of table ``environment``.

    Host name, serial, ordinal and temperature are left out on purpose: equal GPUs are one environment.

    Attributes:
        simulated: True when every time under it comes from the simulator's model, never from a GPU.
        gfx: target with features, such as ``"gfx942:sramecc+:xnack-"``.
        device_name: marketing name as the driver prints it.
        pci_id: PCI device id.
        cu_count: compute units.
        partition: compute and memory partition, such as ``"SPX/NPS1"``.
        driver, rocm, hip: versions.
        hipblaslt_version, hipblaslt_git: as hipblaslt-bench prints them.
        clock_policy: performance level or fixed clock.
        env_vars: environment variables that change what the library does.
    """

    simulated: bool
    gfx: str | None = None
    device_name: str | None = None
    pci_id: str | None = None
    cu_count: int | None = None
    partition: str | None = None
    driver: str | None = None
    rocm: str | None = None
    hip: str | None = None
    hipblaslt_version: str | None = None
    hipblaslt_git: str | None = None
    clock_policy: str | None = None
    env_vars: dict[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Canonical JSON of everything in the identity."""
        return canonical_json(asdict(self))

    @property
    def environment_id(self) -> str:
        """Id of the environment, as in column ``environment_id``."""
        return content_id("environment", self.identity)

    @property
    def arch(self) -> str | None:
        """The gfx target without features, such as ``"gfx942"``."""
        return None if self.gfx is None else self.gfx.partition(":")[0]

    def row(self) -> dict[str, Any]:
        """The row of table ``environment``, without ``detail`` and ``first_seen``."""
        columns = asdict(self)
        columns["env_vars"] = canonical_json(self.env_vars)
        return {"environment_id": self.environment_id, **columns, "identity": self.identity}
