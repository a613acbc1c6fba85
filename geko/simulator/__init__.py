"""Stand-ins for a machine without GPU and without hipBLASLt; every time they print is simulated.

The functions are imported on first use: the stand-in programs must start fast and without site packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geko.simulator.root import example_library, is_simulated, load_config, make_root, probe_path

__all__ = ["example_library", "is_simulated", "load_config", "make_root", "probe_path"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from geko.simulator import root

        return getattr(root, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
