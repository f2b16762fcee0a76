"""What a test of a parameter asks of it, for its body and for the other way."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.parameter_tests import ANYTHING, UNKNOWN, may_hold, parameter_of, ways

PARAMETERS = ("mode", "size", "fast")


@pytest.mark.parametrize(
    ("test", "body", "otherwise"),
    [
        ("mode == 'a'", "mode == 'a'", "mode != 'a'"),
        ("size is None", "size is None", "size is not None"),
        ("not fast", "not fast", "fast"),
        ("mode in ('a', 'b')", "mode in ('a', 'b')", "mode not in ('a', 'b')"),
        ("x.any() and size is None", "size is None", ""),
        ("x.any() or fast", "", "not fast"),
        ("not (mode == 'a' and x)", "", "mode == 'a'"),
        ("mode == size", "", ""),
        ("mode.startswith('a')", "mode.startswith('a')", "not mode.startswith('a')"),
        ("mode.startswith(size)", "", ""),
        ("x == 'a'", "", ""),
        ("0 < size < 3", "", ""),
    ],
)
def test_ways(test: str, body: str, otherwise: str):
    assert ways(ast.parse(test, mode="eval").body, PARAMETERS) == (body, otherwise)


@pytest.mark.parametrize(
    ("way", "value", "holds"),
    [
        ("mode == 'a'", "a", True),
        ("mode == 'a'", "b", False),
        ("mode != 'a'", "a", False),
        ("mode == 'a'", UNKNOWN, True),
        ("size is None", UNKNOWN, False),
        ("size is not None", UNKNOWN, True),
        ("size is None", None, True),
        ("fast", False, False),
        ("not fast", False, True),
        ("not fast", UNKNOWN, True),
        ("mode.startswith('a')", "ab", True),
        ("not mode.startswith('a')", "ab", False),
        ("not mode.endswith('a')", "ab", True),
        ("size is None", ANYTHING, True),
        ("mode in ('a', 'b')", "c", False),
        ("mode not in ('a', 'b')", "c", True),
    ],
)
def test_may_hold(way: str, value: object, holds: bool):
    assert may_hold(way, value) is holds


def test_the_parameter_of_a_way():
    assert parameter_of("mode not in ('a', 'b')") == "mode"
    assert parameter_of("not fast") == "fast"
