"""Rows that a loop takes one by one as batches of one."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.element_loops.single_rows import SingleRows


def rows(code):
    """The tensor of which the argument of `f` is a row, as written; None for none."""
    tree = ast.parse(code)
    loop = next(n for n in ast.walk(tree) if isinstance(n, ast.For | ast.ListComp))
    call = next(n for n in ast.walk(loop) if isinstance(n, ast.Call) and ast.unparse(n.func) == "f")
    found = SingleRows(loop).rows_of(call.args[0])
    return found and ast.unparse(found)


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(len(x)): f(x[i : i + 1])",
        "for i in range(0, n): f(x[i : 1 + i])",
        "for i in tqdm(range(n)): f(x[i][None])",
        "[f(x[i].unsqueeze(0)) for i in range(n)]",
        "for row in x: f(row[None, ...])",
        "for i, row in enumerate(x): f(row.to(device).unsqueeze(0).float())",
        "for i, row in enumerate(x): f(x[i : i + 1])",
        "for y, row in zip(ys, x): f(torch.unsqueeze(row, 0))",
        "for row in x:\n    one = row.cuda()\n    batch = one[None]\n    f(batch)",
    ],
)
def test_one_row(code):
    assert rows(code) == "x"


@pytest.mark.parametrize(
    "code",
    [
        "for row in x: f(row)",
        "for i in range(n): f(x[i])",
        "for i in range(0, n, 4): f(x[i : i + 4])",
        "for i in range(0, n, k): f(x[i : i + 1])",
        "for i in range(1, n): f(x[i : i + 1])",
        "for i in range(n): f(x[: i + 1])",
        "for i in range(n): f(x[i - 1 : i])",
        "for row in x: f(row.unsqueeze(1))",
        "for row in x: f(row[:, None])",
        "for row in x: f(row[()])",
        "for row in x: f(y.unsqueeze(0))",
        "for row in x:\n    one = row[None]\n    one = one + 1\n    f(one)",
    ],
)
def test_no_row(code):
    assert rows(code) is None
