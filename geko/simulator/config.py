"""``simulator.json`` of a simulated root: what its programs need to know, and the mark of such a root."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from geko.errors import InputError, MissingFileError
from geko.simulator.devices import DEVICES, Device

FILE = "simulator.json"
ROCM_VERSION = "7.0.2"
HIP_VERSION = "7.0.51831-a3e329ad8"
DRIVER_VERSION = "6.14.14"


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a simulated root.

    Attributes:
        root: its path (not part of the file).
        arch: key of :data:`geko.simulator.devices.DEVICES`.
        seed, noise, drift: of the time model; noise is the relative standard deviation of a long measurement.
        devices: number of GPUs.
        digest: content hash of everything the root was made from.
        library: folder of the stock library, below the root.
        yaml_path: folder that PyYAML is imported from, for programs started without site packages.
    """

    root: Path
    arch: str
    seed: int
    noise: float
    drift: float
    devices: int
    digest: str
    yaml_path: str | None

    @property
    def device(self) -> Device:
        """Figures of the GPU."""
        return DEVICES[self.arch]

    @property
    def git(self) -> str:
        """The git version that the programs print: changes with every input of the root."""
        return f"{self.digest[:10]}-simulated"

    @property
    def library(self) -> Path:
        """The stock library's folder."""
        return self.root / "build/release/Tensile/library" / self.device.arch

    @classmethod
    def load(cls, root: Path) -> Config:
        """Read a root's settings.

        Raises:
            MissingFileError: the folder isn't a simulated root.
        """
        path = root / FILE
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise MissingFileError(
                "not a simulated root; make one with geko.simulator.make_root", path=path
            ) from None
        except ValueError:
            raise InputError("damaged; remove the folder and make it again", path=path) from None
        names = ("arch", "seed", "noise", "drift", "devices", "digest", "yaml_path")
        return cls(root=root, **{name: content[name] for name in names})

    def text(self) -> str:
        """Content of the file."""
        content = {key: value for key, value in asdict(self).items() if key != "root"}
        return json.dumps({"simulated": True, **content}, indent=2, sort_keys=True) + "\n"
