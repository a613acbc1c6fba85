"""From a generator YAML, a workload log or plain values to checked requests, one a GEMM problem.

Where the same key is given more than once, the later of these wins: defaults of the architecture, top level
of the file, entry of ``GemmProblems``, environment, ``--set`` and other command-line values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from geko.config_generator.constants import (
    COMPLEX_TYPES,
    MAX_NUM_KERNELS,
    Backend,
    RuleSet,
    SearchSpace,
)
from geko.config_generator.schema import DEAD_KEYS, ENVIRONMENT_KEYS, KEYS, TYPE_KEYS, check_key
from geko.config_generator.sizes import Size, dedupe, grid_sizes
from geko.config_generator.yaml_lines import Located, read_documents
from geko.domain.arch import Arch, get_arch
from geko.domain.dtypes import MX_LETTERS, mx_format
from geko.domain.gemm import GemmConfig, GemmType, merge_gemm_configs
from geko.errors import InputError, MissingFileError
from geko.log import logger

#: Reads a workload log into rows with the columns of hipBLASLt's log.
ReadLog = Callable[[Path], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Settings:
    """Effective settings of one GEMM problem; see ``docs/tuning-configs.md`` for the keys."""

    arch: Arch
    backend: Backend
    search_space: SearchSpace
    rules: RuleSet
    stream_k: bool
    equality: bool
    macrotile_opt: bool
    mt_du: tuple[int, int, int] | None
    one_size_per_config: bool
    cms: bool
    cms_priority: bool
    mi_filter: int
    epilogues: bool
    cluster: int
    validation_profile: int
    max_kernels: int | None
    ignore_non_temporal: bool
    mfma: tuple[int, ...] | None
    cus: int
    xcc: int
    wgm_unit: int
    size_option: int
    build_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One GEMM problem: what to tune, and how. ``sources`` says where each key that isn't a default came
    from."""

    gemm: GemmConfig
    settings: Settings
    sources: Mapping[str, str]

    @property
    def sizes(self) -> list[Size]:
        """Sizes as tuples ``(M, N, B, K)``."""
        return [cast(Size, tuple(size)) for size in self.gemm.sizes]


@dataclass(slots=True)
class _Layer:
    values: dict[str, Any]
    sources: dict[str, str]

    def copy(self) -> _Layer:
        return _Layer(dict(self.values), dict(self.sources))

    def put(self, key: str, value: Any, source: str) -> None:
        self.values[key], self.sources[key] = value, source


def load_requests(
    config: str | Path | Mapping[str, Any] | None = None,
    *,
    arch: str | None = None,
    gemm_log_path: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    rules: RuleSet = "default",
    environ: Mapping[str, str] | None = None,
    read_log: ReadLog | None = None,
) -> list[Request]:
    """Read and check everything that says what to tune.

    Args:
        config: path of a generator YAML, a mapping of its keys, or None for a workload log alone.
        arch: architecture; wins over the file's ARCH.
        gemm_log_path: workload log; forces SIZE_OPTION 2.
        overrides: further keys; they win over everything else.
        rules: ``"original"`` for configs as the first generator wrote them.
        environ: environment to take overrides from, :data:`os.environ` when left out.
        read_log: reader of workload logs; the built-in one when left out.

    Returns:
        One request per GEMM problem, in the order of the input.

    Raises:
        MissingFileError: a file that isn't there.
        InputError: unknown keys, wrong values, missing keys, or settings that don't go together.
    """
    layers = _layers(config)
    forced = {key: check_key(key, value, source="--set") for key, value in (overrides or {}).items()}
    if arch is not None:
        forced["ARCH"] = check_key("ARCH", arch, source="--arch")
    if gemm_log_path is not None:
        forced["GEMM_LOG_PATH"], forced["SIZE_OPTION"] = str(gemm_log_path), 2
    requests: list[Request] = []
    for layer in layers:
        _environment(layer, os.environ if environ is None else environ)
        for key, value in forced.items():
            layer.put(key, value, "command line")
        _eras(layer)
        requests += _requests(layer, rules, read_log or read_workload_log)
    if not requests:
        raise InputError("nothing to tune: the input names no GEMM problem", path=_path(config))
    return requests


def _path(config: object) -> str | None:
    return str(config) if isinstance(config, (str, Path)) else None


def _layers(config: str | Path | Mapping[str, Any] | None) -> list[_Layer]:
    if config is None:
        return [_Layer({}, {})]
    if isinstance(config, Mapping):
        layer = _Layer({}, {})
        problems: list[Mapping[str, Any]] = [{}]
        for key, value in config.items():
            if key == "GemmProblems":
                problems = list(value)
            elif key not in DEAD_KEYS:
                layer.put(key, check_key(key, value), "mapping")
        out = []
        for problem in problems:
            own = layer.copy()
            for key, value in problem.items():
                own.put(key, check_key(key, value), "GemmProblems")
            out.append(own)
        return out
    out = []
    for document in read_documents(config):
        base = _Layer({}, {})
        _check(base, document, config)
        entries = document.values.get("GemmProblems")
        if entries is None:
            out.append(base)
            continue
        for entry in entries:
            own = base.copy()
            _check(own, entry, config)
            out.append(own)
    if not out:
        raise InputError("the file is empty", path=config)
    return out


def _check(layer: _Layer, located: Located, path: str | Path) -> None:
    for key, value in located.values.items():
        line = located.lines[key]
        if key in DEAD_KEYS:
            logger.warning("%s:%d: %s has no effect; remove it", path, line, key)
        elif key != "GemmProblems":
            layer.put(key, check_key(key, value, path=path, line=line), f"{path}:{line}")


def _environment(layer: _Layer, environ: Mapping[str, str]) -> None:
    for key in ENVIRONMENT_KEYS:
        if key not in environ:
            continue
        value = check_key(key, environ[key], source="environment")
        if layer.values.get(key) != value:
            logger.warning("environment variable %s sets %s to %s", key, key, value)
            layer.put(key, value, "environment")


def _eras(layer: _Layer) -> None:
    """Translate the first spelling of keys."""
    values = layer.values
    if "GA" in values:
        backend = "ductile" if values["GA"] else "tensile"
        if values.get("backend", backend) != backend:
            raise InputError(
                f"GA: {values['GA']} and backend: {values['backend']} contradict each other; drop GA"
            )
        layer.put("backend", backend, layer.sources["GA"])
    if "GA_VALIDATION_PROFILE" in values:
        profile = values["GA_VALIDATION_PROFILE"]
        if values.get("DUCTILE_VALIDATION_PROFILE", profile) != profile:
            raise InputError("GA_VALIDATION_PROFILE and DUCTILE_VALIDATION_PROFILE differ; drop the first")
        layer.put("DUCTILE_VALIDATION_PROFILE", profile, layer.sources["GA_VALIDATION_PROFILE"])


def _requests(layer: _Layer, rules: RuleSet, read_log: ReadLog) -> list[Request]:
    values = layer.values
    if "ARCH" not in values:
        raise InputError("No ARCH defined: set ARCH in the config or give --arch")
    option = values.get("SIZE_OPTION", 0)
    arch = get_arch(values["ARCH"])
    if option == 2:
        path = values.get("GEMM_LOG_PATH")
        if not path:
            raise InputError("SIZE_OPTION 2 needs GEMM_LOG_PATH, the workload log")
        if not Path(path).is_file():
            raise MissingFileError("no such workload log", path=path)
        gemms = problems_from_rows(read_log(Path(path)), values, dedupe_sizes=rules == "default")
        if not gemms:
            raise InputError("the workload log holds no GEMM that can be tuned", path=path)
    else:
        missing = [key for key in TYPE_KEYS if key not in values]
        if missing:
            raise InputError(f"missing keys: {', '.join(missing)}", path=layer.sources.get("Sizes"))
        gemm_type = GemmType.from_tensile(*(values[key] for key in TYPE_KEYS))
        if option == 1:
            sizes = grid_sizes(values.get("CUs", arch.cus), values.get("GRID_DENSITY", 4))
        elif "Sizes" in values:
            sizes = values["Sizes"]
        else:
            raise InputError("SIZE_OPTION 0 needs Sizes, a list of [M, N, batch, K]")
        sizes, dropped = dedupe(sizes)
        if dropped:
            logger.info("%d duplicate sizes dropped", dropped)
        gemms = [
            GemmConfig(
                gemm_type,
                [list(size) for size in sizes],
                values.get("MX", False),
                values.get("MX_BLOCK"),
                values.get("MX_SCALE_TYPE"),
            )
        ]
    return [make_request(gemm, values, rules, layer.sources) for gemm in gemms]


def make_request(
    gemm: GemmConfig, values: Mapping[str, Any], rules: RuleSet, sources: Mapping[str, str] | None = None
) -> Request:
    """Combine a GEMM problem with checked key values and the architecture's defaults.

    Raises:
        InputError: settings that don't go together.
    """
    arch = get_arch(values["ARCH"])
    backend = cast(Backend, values.get("backend", "ductile"))
    letters = str(gemm.gemm_type.data_type)
    if gemm.mx and not arch.has_mx:
        raise InputError(f"MX is not supported on ARCH '{arch.name}'")
    space = cast(
        SearchSpace, values.get("search_space") or ("generic" if backend == "ductile" else "heuristic")
    )
    if rules == "default" and gemm.mx and arch.subtile and space != "subtile":
        logger.info(
            "%s: block-scaled kernels of %s are subtile kernels; search_space subtile", gemm.name, arch.name
        )
        space = "subtile"
    if space == "subtile" and not arch.subtile:
        raise InputError(f"search_space subtile exists for gfx950 only, not for {arch.name}")
    if space == "heuristic" and letters in COMPLEX_TYPES:
        raise InputError("search_space heuristic has no complex types: use generic")
    if space == "generic" and backend == "tensile":
        logger.warning(
            "search_space generic is for sampling: benchmarking all of it (backend tensile) will hardly end"
        )
    subtile = space == "subtile"
    option = values.get("SIZE_OPTION", 0)
    macrotile = values.get("MACROTILE_OPT", False)
    if macrotile and option == 1:
        raise InputError("MACROTILE_OPT does not go with SIZE_OPTION 1 (grid)")
    if macrotile and backend != "ductile" and option != 0:
        raise InputError("MACROTILE_OPT with backend tensile needs SIZE_OPTION 0 (list)")
    mt_du = values.get("MT_DU")
    if mt_du is not None and not macrotile:
        logger.warning("MT_DU is ignored without MACROTILE_OPT")
        mt_du = None
    cap = None if space == "generic" else values.get("MAX_NUM_KERNELS_PER_CONFIG", MAX_NUM_KERNELS)
    xcc = values.get("XCC", arch.xcc)
    settings = Settings(
        arch=arch,
        backend=backend,
        search_space=space,
        rules=rules,
        stream_k=subtile or values.get("StreamK", arch.stream_k_default),
        equality=values.get("LIBRARY_TYPE", "OOB") == "Equality",
        macrotile_opt=macrotile,
        mt_du=mt_du,
        one_size_per_config=values.get("ONE_SIZE_PER_CONFIG", True),
        cms=not subtile and arch.cms and values.get("CMS", True),
        cms_priority=not subtile and values.get("CMS_PRIORITY", False),
        mi_filter=values.get("MI_FILTER", 2),
        epilogues=values.get("EPILOGUES", True),
        cluster=values.get("CLUSTER", 0),
        validation_profile=values.get("DUCTILE_VALIDATION_PROFILE", 1),
        max_kernels=cap,
        ignore_non_temporal=values.get("IGNORE_NON_TEMPORAL", False),
        mfma=values.get("MFMA"),
        cus=values.get("CUs", arch.cus),
        xcc=xcc,
        wgm_unit=values.get("WGMUnit", xcc),
        size_option=option,
        build_dir=values.get("BUILD_DIR"),
    )
    return Request(gemm, settings, dict(sources or {}))


def requests_for(
    gemms: Iterable[GemmConfig],
    *,
    arch: str,
    overrides: Mapping[str, Any] | None = None,
    rules: RuleSet = "default",
    environ: Mapping[str, str] | None = None,
) -> list[Request]:
    """Requests for GEMM problems that come from elsewhere than a generator YAML.

    Args:
        gemms: types with sizes.
        arch: architecture.
        overrides: keys that win over defaults and environment.
        rules: as of :func:`load_requests`.
        environ: environment to take overrides from, :data:`os.environ` when left out.

    Raises:
        InputError: unknown keys, wrong values, or settings that don't go together.
    """
    layer = _Layer({}, {})
    _environment(layer, os.environ if environ is None else environ)
    layer.put("ARCH", check_key("ARCH", arch, source="--arch"), "command line")
    for key, value in (overrides or {}).items():
        layer.put(key, check_key(key, value, source="--set"), "command line")
    _eras(layer)
    return [make_request(gemm, layer.values, rules, layer.sources) for gemm in gemms]


def problems_from_rows(
    rows: Iterable[Mapping[str, Any]], values: Mapping[str, Any] | None = None, *, dedupe_sizes: bool = True
) -> list[GemmConfig]:
    """Group log rows by GEMM type and MX format, in order of first appearance (``SIZE_OPTION`` 2).

    Args:
        rows: with ``M N K`` (or lower case), ``batch_count transA transB a_type b_type c_type compute_type
        scaleA
            scaleB``.
        values: MX keys, for rows of F4 and F8 without a format of their own.
        dedupe_sizes: drop sizes that are there already.

    Raises:
        InputError: a column is missing, the scales of A and B differ, or a row contradicts the MX keys.
    """
    values = values or {}
    groups: dict[tuple[Any, ...], tuple[GemmType, tuple[int, str] | None, list[list[int]]]] = {}
    for number, row in enumerate(rows, 1):
        try:
            size = [
                int(row[name] if name in row else row[name.lower()])
                for name in ("M", "N", "batch_count", "K")
            ]
            names = ("transA", "transB", "a_type", "b_type", "c_type", "compute_type")
            types = tuple(str(row[name]) for name in names)
        except KeyError as error:
            raise InputError(f"workload row {number} lacks {error.args[0]}") from None
        scale_a, scale_b = (mx_format(int(row.get(name, 0) or 0)) for name in ("scaleA", "scaleB"))
        if scale_a != scale_b:
            raise InputError(f"workload row {number}: A and B must share one MX format", value=dict(row))
        key = (*types, scale_a)
        if key not in groups:
            groups[key] = (GemmType.from_hipblaslt(*types), scale_a, [])
        groups[key][2].append(size)
    configs = [_log_config(gemm, fmt, sizes, values) for gemm, fmt, sizes in groups.values()]
    return merge_gemm_configs(configs) if dedupe_sizes else configs


def _log_config(
    gemm: GemmType, fmt: tuple[int, str] | None, sizes: list[list[int]], values: Mapping[str, Any]
) -> GemmConfig:
    asked = values.get("MX", False) or values.get("MX_BLOCK") or values.get("MX_SCALE_TYPE")
    if fmt is None:
        if str(gemm.data_type) in MX_LETTERS and (asked or gemm.data_type == "F4"):
            mx = bool(values.get("MX", False) or asked)
            return GemmConfig(gemm, sizes, mx, values.get("MX_BLOCK"), values.get("MX_SCALE_TYPE"))
        return GemmConfig(gemm, sizes)
    config = GemmConfig(gemm, sizes, True, fmt[0], fmt[1])
    if asked:
        wanted = (values.get("MX_BLOCK") or 32, values.get("MX_SCALE_TYPE") or "E8")
        if wanted != config.mx_format:
            raise InputError(
                f"{gemm.name}: the log has MX format {config.mx_format}, the config asks for {wanted}"
            )
    return config


def read_workload_log(path: Path) -> list[dict[str, Any]]:
    """Rows of a hipBLASLt workload log (one flow mapping a line), each distinct line parsed once.

    Raises:
        InputError: a line that is no mapping, with its number.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    seen: dict[str, dict[str, Any]] = {}
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = raw.strip()
        if not text.startswith("- {") or text in seen:
            continue
        try:
            (row,) = yaml.load(text, Loader=loader)
        except (yaml.YAMLError, ValueError) as error:
            raise InputError("not a workload-log entry", path=path, line=number, value=text) from error
        if not row.get("grouped_gemm"):
            seen[text] = row
    return list(seen.values())


def effective(request: Request) -> dict[str, str]:
    """Effective settings as text, each with where it came from; for ``--dry-run`` and the log."""
    names = {"arch": "ARCH", "stream_k": "StreamK", "cus": "CUs", "xcc": "XCC", "wgm_unit": "WGMUnit",
             "equality": "LIBRARY_TYPE", "validation_profile": "DUCTILE_VALIDATION_PROFILE",
             "max_kernels": "MAX_NUM_KERNELS_PER_CONFIG", "build_dir": "BUILD_DIR"}  # fmt: skip
    out = {}
    for field in Settings.__dataclass_fields__:
        key = names.get(field, field if field in KEYS else field.upper())
        value = getattr(request.settings, field)
        shown = value.name if isinstance(value, Arch) else value
        if field == "equality":
            shown = "Equality" if value else "OOB"
        out[key] = f"{shown}  ({request.sources.get(key, 'default')})"
    return out
