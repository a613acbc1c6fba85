"""Faults that the stand-ins show on demand, so that every failure path can be tested without a GPU.

A list of rules comes from ``GEKO_SIM_FAULTS`` (the text itself, or ``@file``) or, when that is unset, from
``faults.txt`` or ``faults.json`` in the root. Text form: rules separated by ``;`` or line ends, each
``kind[:key=value,key=value]``; JSON form: a list of ``{"kind": …, key: value}``. See docs/simulator.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from geko.errors import InputError
from geko.simulator.problem import scalar

#: Kinds that end or distort a benchmark row.
ROW_KINDS = frozenset(
    {
        "crash",
        "hang",
        "wrong",
        "no_solution",
        "memory_fault",
        "garbage",
        "truncate",
        "slow",
        "exit",
        "lost_device",
        "build_failed",
    }
)
#: Kinds that end the process.
DEADLY = frozenset({"crash", "hang", "memory_fault", "exit", "lost_device"})
#: Keys that say what happens; every other key must match the row.
_EFFECTS = frozenset(
    {"signal", "factor", "seconds", "code", "times", "nth", "after", "tool", "device", "value"}
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule.

    Attributes:
        kind: what happens, one of :data:`ROW_KINDS`.
        tool: program it applies to (``hipblaslt-bench`` unless given).
        device: only on this physical device.
        times: only at the first ``times`` matches, counted over all processes in the state folder.
        nth: only at the ``nth`` match (1-based), counted the same way.
        after: candidates of the row that are still printed before it strikes.
        signal, factor, seconds, code: details of single kinds.
        value: what ``wrong`` prints as norm_error.
        match: argument -> value that a row must have, such as ``{"M": 4096}``; ``kernel`` is a part of the
            solution name and ``row`` the 0-based position in the batch.
    """

    kind: str
    tool: str = "hipblaslt-bench"
    device: int | None = None
    times: int | None = None
    nth: int | None = None
    after: int | None = None
    signal: str = "SEGV"
    factor: float = 10.0
    seconds: float | None = None
    code: int = 1
    value: str = "0.732051"
    match: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """File-name-safe id of the rule, for its counter."""
        text = json.dumps(
            [self.kind, self.tool, self.device, self.times, self.nth, dict(self.match)], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def parse(text: str) -> list[Fault]:
    """Parse rules in text or JSON form.

    Raises:
        InputError: an unknown kind, or a key without a value.
    """
    stripped = text.strip()
    if stripped.startswith(("[", "{")):
        content = json.loads(stripped)
        return [_fault(dict(rule)) for rule in (content if isinstance(content, list) else [content])]
    rules = []
    for part in stripped.replace("\n", ";").split(";"):
        if not part.strip() or part.strip().startswith("#"):
            continue
        kind, _, rest = part.strip().partition(":")
        rule: dict[str, Any] = {"kind": kind.strip()}
        for item in rest.split(",") if rest.strip() else []:
            key, equals, value = item.partition("=")
            if not equals:
                raise InputError("a fault's key needs a value, as in crash:M=4096", value=item)
            rule[key.strip()] = scalar(value.strip())
        rules.append(_fault(rule))
    return rules


def _fault(rule: dict[str, Any]) -> Fault:
    kind = str(rule.pop("kind", "")).replace("-", "_")
    if kind not in ROW_KINDS:
        raise InputError(f"unknown fault; known are {', '.join(sorted(ROW_KINDS))}", value=kind)
    effects = {key: rule.pop(key) for key in list(rule) if key in _EFFECTS}
    aliases = {"m": "M", "n": "N", "k": "K", "batch": "batch_count"}
    for key in ("signal", "value", "tool"):
        if key in effects:
            effects[key] = str(effects[key])
    return Fault(kind=kind, **effects, match={aliases.get(key, key): value for key, value in rule.items()})


def load(root: Path) -> list[Fault]:
    """Rules in force for a process of this root."""
    text = os.environ.get("GEKO_SIM_FAULTS")
    if text is not None:
        return parse(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    for name in ("faults.txt", "faults.json"):
        if (root / name).is_file():
            return parse((root / name).read_text(encoding="utf-8"))
    return []


class Faults:
    """The rules of one process and where their counters lie."""

    def __init__(self, root: Path, tool: str, device: int | None = None) -> None:
        self.rules = [f for f in load(root) if f.tool == tool and f.device in (None, device)]
        self.state = Path(os.environ.get("GEKO_SIM_STATE") or root / "state")

    def strike(
        self, given: Mapping[str, Any], *, kinds: frozenset[str] = ROW_KINDS, needs: str | None = None
    ) -> Fault | None:
        """The first rule that matches ``given`` and is due, counting the match.

        Args:
            given: what is about to happen.
            kinds: only rules of these kinds.
            needs: only rules that name this key.
        """
        for rule in self.rules:
            wanted = rule.kind in kinds and (needs is None or needs in rule.match)
            if wanted and self._matches(rule, given) and self._due(rule):
                return rule
        return None

    @staticmethod
    def _matches(rule: Fault, given: Mapping[str, Any]) -> bool:
        for key, wanted in rule.match.items():
            if key == "kernel":
                if str(wanted) not in str(given.get("kernel", "")):
                    return False
            elif str(given.get(key)) != str(wanted):
                return False
        return True

    def _due(self, rule: Fault) -> bool:
        if rule.times is None and rule.nth is None:
            return True
        count = self._count(rule)
        if rule.nth is not None:
            return count == rule.nth
        return count <= (rule.times or 0)

    def _count(self, rule: Fault) -> int:
        """Number of this match over all processes: files made with O_EXCL can't be counted twice."""
        self.state.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            try:
                os.close(os.open(self.state / f"{rule.name}.{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return number
            except FileExistsError:
                number += 1


def die(rule: Fault) -> NoReturn:
    """Carry out a fault that ends the process; what was printed so far is flushed first."""
    sys.stdout.flush()
    if rule.kind == "hang":
        sys.stderr.flush()
        time.sleep(rule.seconds if rule.seconds is not None else 86400.0)
        sys.exit(1)
    if rule.kind == "memory_fault":
        sys.stderr.write(
            ":0:rocdevice.cpp            :2984: Callback: Queue 0x7f0000000000 aborting with error : "
            "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the "
            "largest legal address. code: 0x29\n"
        )
        sys.stderr.flush()
        _raise_signal("ABRT")
    if rule.kind == "lost_device":
        sys.stderr.write("hipErrorNoDevice: no ROCm-capable device is detected\n")
        sys.stderr.flush()
        sys.exit(rule.code)
    if rule.kind == "exit":
        sys.stderr.flush()
        sys.exit(rule.code)
    _raise_signal(rule.signal)


def _raise_signal(name: str) -> NoReturn:
    number = getattr(signal, f"SIG{name.removeprefix('SIG')}")
    signal.signal(number, signal.SIG_DFL)
    # A core file of the interpreter would only take space.
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)
    time.sleep(5)
    sys.exit(128 + number)
