"""What stands around an expression: statements, blocks, loops, parts that may not run."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchperf_lint.facts.syntax.enclosing import Enclosing


def around(text, name="HERE"):
    """The code of `f`, and the node called `name` in it."""
    function = ast.parse(dedent(text)).body[0]
    assert isinstance(function, ast.FunctionDef)
    enclosing = Enclosing(function)
    return enclosing, next(n for n in enclosing.parents if isinstance(n, ast.Name) and n.id == name)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = HERE", "a = HERE"),
        ("g(\n  1,\n  HERE,\n )", "g(1, HERE)"),
        ("if HERE:\n  pass", "if HERE:\n    pass"),
        ("if a:\n  b = [HERE for x in y]", "b = [HERE for x in y]"),
        ("for x in HERE:\n  pass", "for x in HERE:\n    pass"),
        ("with g(HERE):\n  pass", "with g(HERE):\n    pass"),
        ("a = f'{HERE}'", "a = f'{HERE}'"),
        ("a = lambda: HERE", "a = lambda: HERE"),
        ("try:\n  pass\nexcept E:\n  raise HERE", "raise HERE"),
    ],
)
def test_statement(body, expected):
    enclosing, node = around("def f():\n" + "\n".join(" " + line for line in body.splitlines()))
    statement = enclosing.statement(node)
    assert statement is not None
    assert ast.unparse(statement) == expected
    assert statement in enclosing.suite(statement)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a = HERE + 1", True),
        ("a = b if HERE else c", True),
        ("a = HERE if b else c", False),
        ("a = HERE and b", True),
        ("a = b and HERE", False),
        ("a = [HERE for x in y]", False),
        ("a = {x: HERE for x in y}", False),
        ("a = sum(HERE for x in y)", False),
        ("g(lambda: HERE)", False),
        ("g(x, y=f'{HERE}')", True),
        ("assert HERE, b", True),
    ],
)
def test_always_evaluated(statement, expected):
    enclosing, node = around(f"def f():\n {statement}")
    assert enclosing.always_evaluated(node) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("HERE", []),
        ("for a in x:\n  HERE", ["a"]),
        ("for a in x:\n  for b in y:\n    HERE", ["b", "a"]),
        ("for a in HERE:\n  pass", []),
        ("for a in x:\n  pass\nelse:\n  HERE", []),
        ("for a in x:\n  g([HERE for b in y])", ["b", "a"]),
        ("g([1 for b in HERE])", []),
        ("g([1 for b in y if HERE])", ["b"]),
        ("g([1 for b in y for c in HERE])", ["b"]),
        ("g([HERE for b in y for c in z])", ["c", "b"]),
        ("while a:\n  HERE", []),
    ],
)
def test_loops(body, expected):
    enclosing, node = around("def f():\n" + "\n".join(" " + line for line in body.splitlines()))
    assert [ast.unparse(loop.target) for loop in enclosing.loops(node)] == expected


def test_nested_functions_are_left_out():
    enclosing = Enclosing(ast.parse("a = 1\ndef f():\n  b = 2\nclass C:\n  c = 3\n"))
    assert {n.id for n in enclosing.parents if isinstance(n, ast.Name)} == {"a"}


def test_suites_are_those_of_the_branch():
    enclosing, node = around("def f():\n if a:\n  b = 1\n  c = HERE\n else:\n  d = 2")
    statement = enclosing.statement(node)
    assert statement is not None
    assert [ast.unparse(s) for s in enclosing.suite(statement)] == ["b = 1", "c = HERE"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("while HERE > 0:\n  pass", True),
        ("while g(lambda: HERE):\n  pass", True),
        ("while a:\n  HERE", False),
        ("while a:\n  pass\nelse:\n  HERE", False),
        ("if HERE:\n  pass", False),
    ],
)
def test_tests_of_whiles(body, expected):
    """A test of a `while` runs as often as its body; the loop itself stands for its test."""
    enclosing, node = around("def f():\n" + "\n".join(" " + line for line in body.splitlines()))
    loop = enclosing.while_tests.get(node)
    assert (loop is not None) is expected
    if loop is not None:
        assert enclosing.while_tests[loop] is loop
