"""Lay out a simulated hipBLASLt root: a folder that looks built and whose programs are the stand-ins."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from geko.domain.arch import Arch, get_arch
from geko.errors import InputError, MissingFileError
from geko.fsio import file_lock
from geko.library import logic_yaml
from geko.simulator.config import DRIVER_VERSION, FILE, ROCM_VERSION, Config
from geko.simulator.create_cli import condense_folder
from geko.simulator.devices import DEVICES
from geko.simulator.kernels import TEMPLATE, template_of
from geko.simulator.library import dump_tables, match_table
from geko.simulator.probe_cli import TOOLS
from geko.simulator.programs import write_program

LOGIC = "library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full"
BENCH = "build/release/clients/hipblaslt-bench"
CREATE = "tensilelite/Tensile/bin/TensileCreateLibrary"
TENSILE = "tensilelite/Tensile/bin/Tensile"
INVOKE = "bin/invoke"
SCHEDULES = "tensilelite/Tensile/Components/CustomSchedule.py"
MATCH_TABLE = "build/release/device-library/MatchTable.yaml"
_EXAMPLE_TARGET = "gfx942"
_LOGIC_HEAD = re.compile(r"\A((?:---\n)?- \{MinimumRequiredVersion[^\n]*\n)- \w+\n- \w+\n- \[[^\]]*\]\n")
_ISA = re.compile(r"ISA: \[\d+, \d+, \w+\]")
_FORM = 2  # to be raised when the same inputs come to give other times
_LAYOUT = 4  # to be raised when a root gets other files


def example_library() -> Path:
    """Folder of the example library: in the checkout, or in the installed package.

    Raises:
        MissingFileError: neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package.parent / "examples" / "library", package / "_examples" / "library"):
        if (place / "Equality").is_dir():
            return place
    raise MissingFileError(
        "the example library is missing; give logic_dir", path=package / "_examples" / "library"
    )


def make_root(
    dest: str | Path,
    *,
    arch: str = "gfx942",
    logic_dir: str | Path | None = None,
    seed: int = 0,
    noise: float = 0.01,
    drift: float = 0.0,
    devices: int = 8,
) -> Path:
    """Make (or find) a simulated hipBLASLt root.

    Equal arguments and library content give an equal tree, byte for byte, and the second call does nothing;
    with other arguments the tree is made anew and moved into place in one step.

    Args:
        dest: folder to make; must not exist, or be a simulated root.
        arch: ``gfx942``, ``gfx950`` or one of their CU-count variants.
        logic_dir: library logic (``**/*.yaml``) of the stock library; None for the example library, which is carried
            over to ``arch`` where that is another target.
        seed: of the model's residuals and noise: another seed is another machine.
        noise: relative standard deviation of a measurement, 0 to 0.1.
        drift: relative amplitude of slow clock changes, 0 to 0.1.
        devices: number of GPUs, 1 to 64.

    Returns:
        ``dest`` as an absolute path.

    Raises:
        InputError: an unknown architecture, a figure out of range, logic that can't be used for ``arch``, or
            a ``dest`` that holds something else.
    """
    root = Path(dest).absolute()
    if arch not in DEVICES:
        raise InputError(f"can't be simulated; known are {', '.join(DEVICES)}", value=arch)
    for name, value in (("noise", noise), ("drift", drift)):
        if not 0.0 <= value <= 0.1:
            raise InputError(f"{name} must lie in [0, 0.1]", value=value)
    if not 1 <= devices <= 64:
        raise InputError("devices must lie in [1, 64]", value=devices)
    source = Path(logic_dir).absolute() if logic_dir is not None else example_library()
    files = _logic_files(source)
    yaml_path = _yaml_path()
    identity = {
        "form": _FORM,
        "arch": arch,
        "seed": seed,
        "noise": noise,
        "drift": drift,
        "devices": devices,
        "logic": [(str(p.relative_to(source)), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files],
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    # Where Python and the package lie is written into the programs, but is no property of the machine.
    program = f"{_LAYOUT}\0{sys.executable}\0{Path(__file__).resolve().parent}\0{root}\0{yaml_path}"
    stamp = hashlib.sha256(f"{digest}\0{program}".encode()).hexdigest()
    with file_lock(root.parent / f".{root.name}.lock"):
        if root.exists():
            if not (root / FILE).is_file():
                if any(root.iterdir()) if root.is_dir() else True:
                    raise InputError("exists and is not a simulated root; choose another folder", path=root)
            elif (root / ".stamp").is_file() and (root / ".stamp").read_text(encoding="utf-8") == stamp:
                return root
        fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.", dir=root.parent))
        try:
            config = Config(root, arch, seed, noise, drift, devices, digest, yaml_path)
            _fill(fresh, config, source, files)
            (fresh / ".stamp").write_text(stamp, encoding="utf-8")
            fresh.chmod(0o755)
            _swap(fresh, root)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return root


def is_simulated(root: str | Path) -> bool:
    """Whether a hipBLASLt root is one of :func:`make_root`."""
    return (Path(root) / FILE).is_file()


def load_config(root: str | Path) -> Config:
    """Settings of a simulated root."""
    return Config.load(Path(root))


def probe_path(root: str | Path) -> str:
    """Value for ``PATH`` under which the environment probe finds the stand-ins first."""
    return f"{Path(root) / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"


def _logic_files(source: Path) -> list[Path]:
    if not source.is_dir():
        raise MissingFileError("no such folder of library logic", path=source)
    files = sorted(p for p in source.rglob("*.yaml") if p.name != "MatchTable.yaml")
    if not files:
        raise MissingFileError("no library logic (*.yaml) below this folder", path=source)
    return files


def _yaml_path() -> str | None:
    import yaml

    return str(Path(yaml.__file__).resolve().parents[1]) if yaml.__file__ else None


def _swap(fresh: Path, root: Path) -> None:
    """Move a finished tree into place; the old one is put aside first and then removed."""
    if root.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{root.name}.old.", dir=root.parent))
        root.rename(old / "root")
        fresh.rename(root)
        shutil.rmtree(old, ignore_errors=True)
    else:
        fresh.rename(root)


def _fill(tree: Path, config: Config, source: Path, files: list[Path]) -> None:
    logic = tree / LOGIC
    arch = get_arch(config.arch)
    # The example library is of one GPU; under another target its kernels do as a stock library just as well.
    carry = source == example_library() and arch.target != _EXAMPLE_TARGET
    for path in files:
        where = _logic_place(path.relative_to(source), path)
        if carry:
            where = Path(arch.schedule_name, *where.parts[1:-1], _carried_name(where.name, arch))
        (logic / where).parent.mkdir(parents=True, exist_ok=True)
        if carry:
            text = _carried(path.read_text(encoding="utf-8"), arch)
            (logic / where).write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(path, logic / where)
    gfx = config.device.arch
    tables, entries = condense_folder(logic, gfx)
    if not tables:
        raise InputError(f"holds no library logic for {gfx}; give logic_dir or another arch", path=source)
    # Paths as they will be once the tree has been moved into place.
    final = [(str(config.root / Path(path).relative_to(tree)), local) for path, local in entries]
    library = tree / "build/release/Tensile/library" / gfx
    library.mkdir(parents=True)
    (library / f"TensileLibrary_lazy_{gfx}.dat").write_bytes(dump_tables(tables, gfx))
    table_file = tree / MATCH_TABLE
    table_file.parent.mkdir(parents=True)
    table_file.write_text(match_table(final), encoding="utf-8")
    (tree / FILE).write_text(config.text(), encoding="utf-8")
    for place in (BENCH, CREATE, TENSILE, INVOKE):
        write_program(tree / place, config.root, Path(place).name)
    first = logic_yaml.load(logic / str(tables[0]["source"]), rules="tensile")
    (tree / TEMPLATE).write_text(template_of(first), encoding="utf-8")
    for tool in TOOLS:
        write_program(tree / "bin" / tool, config.root, tool)
        write_program(tree / "rocm/bin" / tool, config.root, tool)
    if get_arch(config.arch).cms:
        _write_schedules(tree / SCHEDULES)
    installed = tree / "rocm/.info"
    installed.mkdir()
    (installed / "version").write_text(f"{ROCM_VERSION}\n", encoding="utf-8")
    (installed / "driver").write_text(f"{DRIVER_VERSION}\n", encoding="utf-8")


def _write_schedules(path: Path) -> None:
    """A registry of custom main loop schedules where tensilelite has its own."""
    path.parent.mkdir(parents=True)
    shared = {
        "dtype": "16bit", "DepthU": 64, "PrefetchGlobalRead": 2, "PrefetchLocalRead": 1, "DirectToLds": 1,
        "GlobalReadVectorWidthA": 8, "GlobalReadVectorWidthB": 8, "LocalReadVectorWidth": 8,
        "MatrixInstruction": [16, 16, 32, 1], "MIWaveGroup": [2, 2], "LDSTrInst": False, "TransposeLDS": 1,
        "TransposeA": True, "TransposeB": False,
    }  # fmt: skip
    rows = [
        {"name": f"simulated_{mt0}x{mt1}x64", "MacroTile0": mt0, "MacroTile1": mt1, **shared}
        for mt0, mt1 in ((256, 256), (256, 128), (128, 256))
    ]
    path.write_text(f"def query_cms_kernels():\n    return {rows!r}\n", encoding="utf-8")


def _carried_name(name: str, arch: Arch) -> str:
    return f"{arch.schedule_name}_Cijk{name.split('_Cijk', 1)[1]}"


def _carried(text: str, arch: Arch) -> str:
    """Library logic of the example under another target: schedule, architecture, devices and instruction set."""
    head = f"- {arch.schedule_name}\n- {arch.logic_architecture}\n- [{', '.join(arch.device_names)}]\n"
    text, n = _LOGIC_HEAD.subn(lambda match: match[1] + head, text, count=1)
    if not n:
        raise InputError("logic of the example library doesn't begin as it should", value=text[:80])
    return _ISA.sub(f"ISA: [{', '.join(map(str, arch.isa))}]", text)


def _logic_place(relative: Path, path: Path) -> Path:
    """Place in the logic tree: ``<schedule>/<library type>/<file>``, which is the file name's first word."""
    schedule = path.name.split("_Cijk", 1)[0]
    folder = relative.parent if relative.parent != Path() else Path("Equality")
    return folder / path.name if folder.parts[0] == schedule else Path(schedule) / folder / path.name
