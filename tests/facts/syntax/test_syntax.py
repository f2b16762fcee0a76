"""The children of a node: what Python's own walk gives, without contexts and operators."""

import ast
import dataclasses
import inspect
import typing

import pytest

from torchperf_lint.facts.syntax.syntax import children_of, names_of

MATCHING = """\
match command:
    case {"go": [x, *rest], **others} if x:
        pass
    case Point(0, y=None) | True:
        pass
    case "a" | 1.5 as found:
        pass
"""
OTHERS = """\
from .. import a as b
async def f(a, /, b=1, *c, d, e=2, **g) -> int:
    global x
    async with a as b, c:
        await d
    async for i in g:
        yield {**a, "k": 1}, [*b], f"{a!r:>{w}}"
    try:
        del a[1:2:3]
    except* E as e:
        raise X from e
    else:
        lambda p, *, q=1: (yield from p)
class C(B, metaclass=M):
    y: int = (z := 3)
"""
SOURCES = {"ast": ast, "dataclasses": dataclasses, "typing": typing}


@pytest.mark.parametrize("text", [MATCHING, OTHERS, *map(inspect.getsource, SOURCES.values())])
def test_children_are_the_nodes_of_all_fields(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = ast.parse(text.replace("except*", "except"))  # before Python 3.11
    contexts = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop
    for node in ast.walk(tree):
        assert children_of(node) == [c for c in ast.iter_child_nodes(node) if not isinstance(c, contexts)]


@pytest.mark.parametrize("text", [MATCHING, *map(inspect.getsource, SOURCES.values())])
def test_names_are_those_that_are_read_and_bound(text):
    tree = ast.parse(text)
    assert names_of(tree) == {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_names_of_several_parts_together():
    assert names_of(*ast.parse("x.grad[i] = f(y=z)\nx += 1").body) == {"x", "i", "f", "z"}
    assert names_of() == set()
