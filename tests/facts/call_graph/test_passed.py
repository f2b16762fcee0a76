"""Which argument of a call a parameter gets."""

from __future__ import annotations

import ast

import pytest
from snippets import value_of

from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.outlines.outline import outline


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


def test_what_is_given_by_name_only_is_known() -> None:
    source = "def use(*, scale):\n    return scale + 1\n\ndef run():\n    use(scale=torch.ones(3, device='cuda'))\n"
    assert value_of(source, "scale").device == "device"


def test_what_another_call_hands_through_says_nothing_of_this_one():
    code = """
    def twice(value):
        return value if isinstance(value, tuple) else (value,) * 2

    def spread(logits: torch.Tensor, span):
        a = twice(logits)
        start, end = twice(span)
        return a, start
    """
    assert value_of(code, "start").kind == "unknown"
    assert value_of(code.replace("twice(span)", "twice(logits)"), "start").kind == "tensor"
