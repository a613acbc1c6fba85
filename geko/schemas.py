"""GEMM types, sizes to tune, and the state file of a work directory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geko.domain.gemm import GemmConfig, GemmType, merge_gemm_configs
from geko.errors import InputError, MissingFileError
from geko.fsio import write_text_atomic

__all__ = ["GemmConfig", "GemmType", "RunState", "merge_gemm_configs"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _sha256(path: str | Path) -> str:
    try:
        with Path(path).open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise MissingFileError("input file does not exist", path=path) from error


@dataclass
class RunState:
    """What has been done in a work directory, for which input (``run_state.json``).

    Attributes:
        input_sha256: sha256 of the input file's bytes; decides whether a work directory belongs to an input.
        input_path: where the input lay, for messages only.
        created_at: ISO 8601 time in UTC.
        last_modified: ISO 8601 time in UTC of the last save.
        configured: tuning configurations are written.
        optimized: tuning and analysis are done.
    """

    input_sha256: str
    input_path: str
    created_at: str = field(default_factory=_now)
    last_modified: str = field(default_factory=_now)
    configured: bool = False
    optimized: bool = False

    FILE_NAME = "run_state.json"

    @classmethod
    def create(cls, input_path: str | Path) -> RunState:
        """State of a new work directory for an input file.

        Raises:
            MissingFileError: no such file.
        """
        return cls(_sha256(input_path), str(Path(input_path).resolve()))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RunState:
        """State of a mapping; unknown keys are ignored.

        Raises:
            InputError: a required key is missing.
        """
        known = {item.name for item in fields(cls)}
        try:
            return cls(**{key: value for key, value in data.items() if key in known})
        except TypeError as error:
            raise InputError(f"run state lacks a key: {error}") from error

    @classmethod
    def load(cls, path: str | Path) -> RunState:
        """Read a state file.

        Raises:
            MissingFileError: no such file.
            InputError: the file is no JSON mapping or lacks a required key.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise MissingFileError("run state does not exist", path=path) from error
        except ValueError as error:
            raise InputError(f"run state is not JSON: {error}; remove it to start anew", path=path) from error
        if not isinstance(data, dict):
            raise InputError("run state is not a JSON mapping; remove it to start anew", path=path)
        try:
            return cls.from_dict(data)
        except InputError as error:
            raise InputError(str(error), path=path) from error

    def to_dict(self) -> dict[str, Any]:
        """The keys of the file in their order."""
        return asdict(self)

    def save(self, path: str | Path) -> None:
        """Write the state atomically and set ``last_modified``."""
        self.last_modified = _now()
        write_text_atomic(path, json.dumps(self.to_dict(), indent=4) + "\n")

    def verify(self, input_path: str | Path) -> None:
        """Check that an input is the one this work directory was made for.

        The content decides: the same file may be named by another path or may have been moved.

        Raises:
            MissingFileError: no such file.
            InputError: the contents differ.
        """
        digest = _sha256(input_path)
        if digest == self.input_sha256:
            return
        if str(Path(input_path).resolve()) == self.input_path:
            raise InputError(
                "contents changed since this workdir was made (hash mismatch): use a new workdir",
                path=input_path,
            )
        raise InputError(f"Workdir belongs to input '{self.input_path}'; use a new workdir", path=input_path)
