"""Which argument of a call a parameter gets."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outline import outline
from torchperf_lint.facts.passed import argument_for


@pytest.mark.parametrize(
    ("signature", "call", "given"),
    [
        ("x, scale=1.0", "f(a, b)", "b"),
        ("x, scale=1.0", "f(a, scale=b)", "b"),
        ("x, scale=1.0", "f(a)", None),
        ("*x, scale=1.0", "f(a, b)", None),
        ("*x, scale=1.0", "f(a, scale=b)", "b"),
        ("x, *, scale", "f(a, scale=b)", "b"),
        ("x, *, scale=1.0", "f(*a)", None),
    ],
)
def test_what_a_parameter_gets(signature, call, given):
    function = outline("a.py", f"def f({signature}): ...\n").functions[1]
    found = argument_for(ast.parse(call, mode="eval").body, function, "scale")
    assert (found and ast.unparse(found)) == given
