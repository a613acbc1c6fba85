"""Device lists."""

from __future__ import annotations

from typing import Any

import pytest

from geko.devices import is_all, parse_devices
from geko.errors import UsageError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0", [0]), ("0,1,3", [0, 1, 3]), ("3,0", [3, 0]), ("0-3", [0, 1, 2, 3]), ("4-6,0", [4, 5, 6, 0]),
        (" 2 , 5 ", [2, 5]), ("2..4", [2, 3, 4]), ([2, 1], [2, 1]), ((7,), [7]), (3, [3]), (["0-1", 5], [0, 1, 5]),
        ("12", [12]),
    ],
)  # fmt: skip
def test_lists_keep_their_order(given: Any, expected: list[int]) -> None:
    assert parse_devices(given) == expected


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "empty entry"), ("0,", "empty entry"), ("a", "'a' is no device number"), ("1.5", "no device number"),
        ("-1", "negative"), ([-2], "negative"), ("0,1,0", "device 0 is named twice"), ("0-2,1", "device 1 is named twice"),
        ("3-1", "backwards"), ([], "at least one"), (True, "bool is no list"), ({"0"}, "set is no list"),
        ([None], "None is no device number"), ("all", "not known"), ("²", "no device number"),
    ],
)  # fmt: skip
def test_bad_lists_say_why(given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_devices(given)
    assert caught.value.exit_code == 2


def test_all_needs_a_number() -> None:
    assert parse_devices("all", available=3) == [0, 1, 2]
    assert parse_devices("ALL", available=1) == [0]
    assert is_all("all") and not is_all("0,1") and not is_all([0])
    with pytest.raises(UsageError, match="doctor"):
        parse_devices("all", available=0)


def test_devices_that_are_not_there() -> None:
    with pytest.raises(UsageError, match="no device 8: there are 8 devices, 0 to 7"):
        parse_devices("0,8", available=8)
