"""Options that are None unless somebody asks for more."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.unset_options import none_by_default
from torchperf_lint.facts.outlines.outline import outline

CLASS = """
class Agent:
    def __init__(self, {parameters}):
        self.limit = limit{more}

    def train(self, x, bound=None):
        if self.limit is not None and x > self.limit:
            return
        if bound is not None and y > bound:
            return
"""


@pytest.mark.parametrize(
    ("parameters", "more", "decides"),
    [
        ("limit=None", "", False),
        ("limit: float | None = None", "", False),
        ("*, limit=None", "", False),
        ("limit=0.1", "", True),
        ("limit", "", True),
        ("limit=None", "\n        self.limit = limit or 0.1", True),
    ],
)
def test_a_limit_that_nobody_sets_decides_nothing(parameters, more, decides):
    text = CLASS.format(parameters=parameters, more=more)
    made = outline("a.py", text)
    body = Body(ast.parse(text), made, text)
    train = next(number for number, function in enumerate(made.functions) if function.name == "train")
    assert ("x" in body.decisive(train)) == decides
    assert "y" not in body.decisive(train)


def test_parameters_that_are_none_by_default():
    node = ast.parse("def f(a, b=None, *, c=None, d=3, e): pass").body[0]
    assert none_by_default(node) == {"b", "c"}
    assert none_by_default(ast.parse("x = 3").body[0]) == frozenset()
    assert none_by_default(None) == frozenset()
