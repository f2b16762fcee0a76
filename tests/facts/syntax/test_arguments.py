"""What a call passes, as written."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.syntax.arguments import arguments, keyword, literal, unpacks, unpacks_keywords
from torchperf_lint.facts.syntax.literals import UNKNOWN


def call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(n=1)", 1),
        ("f(n=-1)", -1),
        ("f(n='a')", "a"),
        ("f(n=None)", None),
        ("f(n=m)", UNKNOWN),
        ("f(n=-m)", UNKNOWN),
        ("f(n=-'a')", UNKNOWN),
        ("f(m=1)", UNKNOWN),
        ("f(**n)", UNKNOWN),
    ],
)
def test_literals(text, expected):
    found = literal(call(text), "n")
    assert found is expected or found == expected


def test_a_keyword_is_no_argument_by_position():
    assert keyword(call("f(n)"), "n") is None
    assert ast.unparse(keyword(call("f(m, n=x.y)"), "n")) == "x.y"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f()", []), ("f(a, *b, c=d, **e)", ["a", "*b", "d", "e"]), ("f(c=d)", ["d"])],
)
def test_all_that_is_passed(text, expected):
    assert [ast.unparse(given) for given in arguments(call(text))] == expected


@pytest.mark.parametrize(
    ("text", "keywords", "anything"),
    [("f(a, b=c)", False, False), ("f(*a)", False, True), ("f(a, **b)", True, True)],
)
def test_what_nobody_sees(text, keywords, anything):
    assert unpacks_keywords(call(text)) is keywords
    assert unpacks(call(text)) is anything
