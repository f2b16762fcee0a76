"""Expressions of the usual kinds are written out without `ast.unparse`, and no differently."""

import ast

import pytest

from torchperf_lint.facts.syntax.expressions_written import as_written

SIDES = (
    "x",
    "self.x",
    "f(x)[0].y",
    "'a'",
    "-1",
    "(a, b)",
    "a + b",
    "a | b",
    "not a",
    "a == b",
    "a or b",
    "a and b",
    "[a, 1.5]",
    "a if b else c",
)
FORMS = (
    "{}",
    "not {}",
    "-({})",
    "({}).y",
    "({})(x)",
    "f({}, k={})",
    "f(*{}, **{})",
    "x[{}]",
    "x[{}, {}]",
    "x[{}:{}]",
    "({}, {})",
    "({},)",
    "[{}, {}]",
    "({}) + ({})",
    "({}) ** ({})",
    "({}) % ({})",
    "({}) | ({})",
    "({}) < ({})",
    "({}) is not ({})",
    "a < ({}) < ({})",
    "({}) and ({})",
    "({}) or ({})",
    "({}) and a == b and ({})",
    "({}) or a == b or not a or ({})",
    "not (not ({}) and ({}))",
    "x[{}:]",
    "x[:{}, {}::2]",
    "x.y[({}) in ({})]",
    "[({}) for each in ({})]",
)
"""Each with one or two of the sides in it."""


@pytest.mark.parametrize("form", FORMS)
def test_any_two_sides_are_written_as_ast_does(form):
    for first in SIDES:
        for second in SIDES:
            node = ast.parse(form.format(first, second), mode="eval").body
            assert as_written(node) == ast.unparse(node)


@pytest.mark.parametrize(
    "text",
    [
        "1e309",
        "1j",
        "u'a'",
        "b'a'",
        "...",
        "None",
        "True",
        "f'{x}'",
        "'a\\n\\'b\\''",
        "1 .real",
        "()",
        "[]",
        "2.5e-3",
        "-0.0",
        "x[:]",
    ],
)
def test_literals_are_written_as_ast_does(text):
    node = ast.parse(text, mode="eval").body
    assert as_written(node) == ast.unparse(node)
