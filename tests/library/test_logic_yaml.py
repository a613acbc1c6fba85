"""The logic reader and writer against PyYAML: same values, same bytes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geko.errors import InputError, MissingFileError
from geko.library import logic_yaml


class _NoAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def pyyaml_load(text: str | bytes) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def pyyaml_dump(value: Any) -> str:
    return yaml.dump(value, Dumper=_NoAliases, default_flow_style=None, sort_keys=False)


def same(a: Any, b: Any) -> bool:
    """Equality that tells True from 1, 1 from 1.0 and one key order from another."""
    return repr(a) == repr(b)


# fmt: off
# ruff: noqa: SIM905
# Scalars on which YAML 1.1, YAML 1.2 and Tensile's own loader differ, and their neighbours.
ODD = [
    *("yes no on off y n Yes NO On true True TRUE false ~ null Null NULL".split()),
    *("1e5 1.5e5 1.0e+05 1.e+3 .5 5. -.5 +.5 .inf -.inf .nan .NaN inf nan 1_000 12_000.5 0_1".split()),
    *("017 08 0o17 0x1F 0b101 0b_ +1 -1 -0 1:30 12:30:00 12:30:00.5 190:20:30.15 - -- -a a- --a".split()),
    *("2024-01-01 2024-1-1 2001-12-14t21:59:43.10-05:00 4.33.0 5.0.0 1.0 = <<".split()),
    *("'yes' \"true\" 'no' '017' '' \"\" '1' 'a: b' \"a\\tb\" 'it''s' \"q\\\"q\" '#x'".split(" ")),
    "Device 0049",
    "a b  c",
    "a#b",
    "a #b",
    "a:b",
    "a: b",
    "x:",
    "[1, 2]",
    "[1e5, 1.0e+5, 017, yes]",
    "[]",
    "{}",
    "{a: yes, b: 1}",
    "[a, [b, c]]",
    "&x 1",
    "!!str 1",
    "|\n      text\n      more",
    ">\n      text\n      more",
    "'two\n      lines'",
    "two\n      lines",
    "[1,\n      2]",
    "'open",
    "[open",
    "@x",
    "%x",
    "é",
    "`x`",
    "?",
    "? x",
    "- x",
    "*a",
]

KEYS = ["Key", "1LDSBuffer", "_x", "yes", "017", "'q k'", "a b", "1", "1.0", "-k", "Key2", "<<"]

# fmt: on


def logic_text(values: list[tuple[str, str]], rows: list[str], *, root: str, pad: int) -> str:
    """A small file of the shape of a logic file, with some values put in."""
    filler = "\n".join(f"    Filler{n}: {n}" for n in range(40))
    entries = "\n".join(f"    {key}: {value}" for key, value in values)
    solution = f"  - First: 1\n{entries}\n{filler}\n    Nested:\n      Inner: [1, 2]\n      Other: x\n"
    table = "".join(f"  - - {row}\n    - [0, 1.5]\n" for row in rows)
    body = (
        f"- 4.33.0\n- - {solution[4:]}{solution}- - {table[4:]}" if rows else f"- - {solution[4:]}{solution}"
    )
    if root == "map":
        body = "Solutions:\n" + textwrap.indent(textwrap.dedent(solution * 2), "") + "Last: 1\n"
    return textwrap.indent(body, " " * pad)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    values=st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(ODD)), max_size=4),
    rows=st.lists(
        st.sampled_from(["[1, 2, 1, 3]", "[1e5, 2]", "[017, .5]", "[1.0e+5, -0]", "[yes, ~]", "x"]),
        max_size=4,
    ),
    root=st.sampled_from(["list", "map"]),
    pad=st.sampled_from([0, 0, 0, 2]),
    start=st.sampled_from(["", "---\n", "# comment\n\n", "%YAML 1.1\n---\n", "--- # x\n"]),
    end=st.sampled_from(["", "...\n", "\n\n", "# end\n", "---\nmore\n"]),
)
def test_values_are_those_of_pyyaml(
    values: list[tuple[str, str]], rows: list[str], root: str, pad: int, start: str, end: str
) -> None:
    text = start + logic_text(values, rows, root=root, pad=pad) + end
    try:
        want = pyyaml_load(text)
    except (yaml.YAMLError, ValueError, TypeError):
        with pytest.raises(InputError):
            logic_yaml.loads(text)
        return
    got = logic_yaml.loads(text)
    assert same(got, want)


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet="ab1.:-#'\"[]{},&*!|>?%@ \n\tye_~\r", max_size=60))
def test_any_text_reads_like_pyyaml(text: str) -> None:
    # Long enough to be cut into entries.
    text = "".join(f"key{n}: {n}\n" for n in range(40)) + text
    try:
        want = pyyaml_load(text)
    except (yaml.YAMLError, ValueError, TypeError):
        with pytest.raises(InputError):
            logic_yaml.loads(text)
        return
    assert same(logic_yaml.loads(text), want)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([text for text in ODD if "\n" not in text]),
    st.text(max_size=12),
    st.text(alphabet="abc XYZ_0159", min_size=60, max_size=200),
)
keys = st.one_of(
    st.sampled_from(["Key", "yes", "1", "", "a b", "017"]), st.text(min_size=1, max_size=8), st.integers()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(values)
def test_dump_is_byte_for_byte_pyyamls(value: Any) -> None:
    assert logic_yaml.dumps(value) == pyyaml_dump(value)


@settings(max_examples=200, deadline=None)
@given(values)
def test_dump_then_load_gives_the_value_back(value: Any) -> None:
    assert same(logic_yaml.loads(logic_yaml.dumps(value)), pyyaml_load(pyyaml_dump(value)))


def test_wide_collections_wrap_where_pyyaml_wraps() -> None:
    value = [
        {
            "Solutions": [
                {"Wide": list(range(n)), "Names": [f"Device {k:04}" for k in range(n)], "N": {"a": []}}
                for n in range(40)
            ],
            "Map": {"Inner": {f"Key{n}": True for n in range(12)}, "Deep": [[[1, 2], [3, 4]], [[], {}]]},
        },
        [[list(range(n)), [n, 0.5]] for n in range(40)],
    ]
    assert logic_yaml.dumps(value) == pyyaml_dump(value)


def test_bool_int_float_and_minus_zero_are_not_confused_by_the_line_cache() -> None:
    value = [{"A": item, "L": [1]} for item in (True, 1, 1.0, 0, False, 0.0, -0.0, "1", "True", None, "null")]
    assert logic_yaml.dumps(value) == pyyaml_dump(value)
    assert same(logic_yaml.loads(logic_yaml.dumps(value)), value)


def test_equal_lines_give_separate_objects() -> None:
    text = logic_text([("MatrixInstruction", "[16, 16, 4, 1]")], [], root="list", pad=0)
    first, second = logic_yaml.loads(text)[0]
    first["MatrixInstruction"].append(99)
    first["Nested"]["Inner"].append(99)
    assert second["MatrixInstruction"] == [16, 16, 4, 1]
    assert second["Nested"]["Inner"] == [1, 2]


def test_one_odd_scalar_does_not_send_the_file_to_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = logic_text(
        [("A", "1e5"), ("B", "!!str 1"), ("C", "|\n      t")], ["[1e5, 2]"] * 3, root="list", pad=0
    )
    reader = logic_yaml.LogicReader()
    sizes: list[int] = []
    document = reader._scalars.document
    monkeypatch.setattr(reader._scalars, "document", lambda text: sizes.append(len(text)) or document(text))
    assert same(reader.loads(text), pyyaml_load(text))
    assert max(sizes) < 100 < len(text) / 10


def test_tensiles_own_rules() -> None:
    text = "A: 'true'\nB: 1e5\nC: ''\nD: on\nE: 017\nF: 12_000\nG:\nH: nan\nI: \"5\"\n"
    text += "J: [yes, 'no', ~]\nK: 1:30\n"
    got = logic_yaml.loads(text, rules="tensile")
    assert same(
        got,
        {
            "A": True, "B": 1e5, "C": "", "D": "on", "E": 17, "F": 12000.0, "G": None, "H": float("nan"),
            "I": 5, "J": [True, False, None], "K": "1:30",
        },
    )  # fmt: skip


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("a: 1\nb: [1, 2\nc: 3\n")
    with pytest.raises(InputError, match=r"bad\.yaml:3: not readable as YAML"):
        logic_yaml.load(path)
    with pytest.raises(MissingFileError):
        logic_yaml.load(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="not UTF-8"):
        logic_yaml.loads(b"a: \xff")
    with pytest.raises(InputError, match="can't be written"):
        logic_yaml.dumps({"a": object()})


def test_dump_writes_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "out.yaml"
    text = logic_yaml.dump([{"a": [1]}], path)
    assert path.read_text() == text == "- a: [1]\n"
    with pytest.raises(InputError):
        logic_yaml.dump([{"a": object()}], path)
    assert path.read_text() == text


def test_real_files_read_and_write_like_pyyaml(shared: Path) -> None:
    files = sorted([*shared.glob("data/library_logic/**/*.yaml"), *shared.glob("example-library/*/*.yaml")])
    assert len(files) > 20
    reader = logic_yaml.LogicReader()
    for path in files:
        data = path.read_bytes()
        want = pyyaml_load(data)
        assert same(logic_yaml.read_with(reader, data, path), want), path
        assert logic_yaml.dumps(want) == pyyaml_dump(want), path
