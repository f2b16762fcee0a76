"""What a statement adds."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.bindings.addends import addend


@pytest.mark.parametrize(
    ("statement", "added"),
    [
        ("total += x", "x"),
        ("total = total + x * 2", "x * 2"),
        ("self.total = self.total + x", "x"),
        ("total = x + total", None),
        ("total = other + x", None),
        ("total -= x", None),
        ("total = total - x", None),
        ("total: float = x", None),
        ("total.add_(x)", None),
    ],
)
def test_what_is_added(statement: str, added: str | None):
    found = addend(ast.parse(statement).body[0])
    assert (ast.unparse(found) if found is not None else None) == added
