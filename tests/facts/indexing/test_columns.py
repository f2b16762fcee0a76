"""Places of a mask that index together."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.indexing.columns import taken_by_columns, taken_by_names
from torchperf_lint.facts.syntax.enclosing import Enclosing


def around(code):
    return Enclosing(ast.parse(code))


@pytest.mark.parametrize(
    ("code", "together"),
    [
        ("x[k[:, 0], k[:, 1]]", True),
        ("x[k[:, 0], k[:, 1], k[:, 2]]", True),
        ("x[k[:, 1], k[:, 0]]", False),
        ("x[k[:, 0], n[:, 1]]", False),
        ("x[k[:, 0], 1]", False),
        ("x[k[:, 0]]", False),
        ("f(k[:, 0], k[:, 1])", False),
    ],
)
def test_columns_of_one_table(code, together):
    whole = around(code)
    column = next(n for n in ast.walk(whole.top) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == "k")
    found = taken_by_columns(whole, column)
    assert (found is not None and ast.unparse(found) == code) is together


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        ("y = x[i, j] + z[i, j]", ["x[i, j]", "z[i, j]"]),
        ("y = x[i, j] + z[i]", None),
        ("y = x[j, i]", None),
        ("y = x[:, i, j]", None),
        ("y = len(i)", None),
    ],
)
def test_names_that_are_used_for_nothing_else(code, taken):
    whole = around(code)
    uses = [n for n in whole.of_kinds((ast.Name,)) if isinstance(n, ast.Name) and n.id in ("i", "j")]
    found = taken_by_names(whole, ["i", "j"], uses)
    assert (found is None) is (taken is None)
    assert [ast.unparse(one) for one in found or ()] == (taken or [])
