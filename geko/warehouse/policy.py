"""Numbers of the queue, and the environment variables that set them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from geko.errors import UsageError

# Variable, attribute, least value.
_VARIABLES = (
    ("GEKO_LEASE_S", "lease_s", 1.0),
    ("GEKO_BACKOFF_S", "backoff_s", 0.0),
    ("GEKO_MAX_BACKOFF_S", "max_backoff_s", 0.0),
    ("GEKO_QUARANTINE_AFTER", "quarantine_after", 1.0),
)


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Numbers of the queue; those of the process that owns the file hold.

    Attributes:
        lease_s: seconds a lease lasts without a heartbeat; ``GEKO_LEASE_S``.
        backoff_s: seconds before the second attempt, doubled each time; ``GEKO_BACKOFF_S``.
        max_backoff_s: most seconds between two attempts; ``GEKO_MAX_BACKOFF_S``.
        quarantine_after: hardware-looking failures in a row after which a device gets no more work;
            ``GEKO_QUARANTINE_AFTER``.
        expire_every_s: seconds between looks for expired leases and for processes that are gone.
        seen_every_s: seconds between updates of a runner's ``last_seen``.
    """

    lease_s: float = 60.0
    backoff_s: float = 1.0
    max_backoff_s: float = 60.0
    quarantine_after: int = 5
    expire_every_s: float = 1.0
    seen_every_s: float = 5.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The numbers as environment variables set them.

        Raises:
            UsageError: if one is no number or too small.
        """
        given: dict[str, float] = {}
        for variable, name, least in _VARIABLES:
            text = environment.get(variable)
            if not text:
                continue
            whole = name == "quarantine_after"
            try:
                value = int(text) if whole else float(text)
            except ValueError:
                value = math.nan
            if not (math.isfinite(value) and value >= least):
                kind = "whole number" if whole else "number of seconds"
                raise UsageError(f"{variable} must be a {kind} of at least {least:g}, not {text!r}")
            given[name] = value
        return cls(**given)  # type: ignore[arg-type]
