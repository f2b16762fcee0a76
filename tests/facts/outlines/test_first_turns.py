"""Branches that show the first few turns of a loop."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchperf_lint.facts.outlines.first_turns import shows_the_first_few

COUNTED = "seen = 0\nfor x in xs:\n    seen += 1\n    {branch}"


def answer(code):
    body = ast.parse(dedent(code)).body
    branch = next(node for statement in body for node in ast.walk(statement) if isinstance(node, ast.If))
    return shows_the_first_few(branch, body)


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("if seen < 10: print(x)", True),
        ("if seen <= 3 and flag: logger.info(x)", True),
        ("if seen < 5: save_image(x.cpu())", True),
        ("if seen < 10: x = warm(x)", False),
        ("if seen < 10: loss(x).backward(); print(x)", False),
        ("if seen < 5000: print(x)", False),
        ("if seen < limit: print(x)", False),
        ("if seen > 10: print(x)", False),
        ("if other < 10: print(x)", False),
    ],
)
def test_a_branch_in_a_loop_that_counts(branch, expected):
    assert answer(COUNTED.format(branch=branch)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for i, x in enumerate(loader):\n    if i < 4: print(x)", True),
        ("for i, block in enumerate(blocks):\n    if i < 4: print(block)", False),
        ("for e in range(9):\n    for i, x in enumerate(loader):\n        if i < 4: print(x)", False),
        ("for x in xs:\n    n = 0\n    for y in x:\n        n += 1\n        if n < 4: print(y)", False),
        ("n = 0\nn += 1\nif n < 4: print(n)", False),
    ],
)
def test_a_counter_that_begins_again_shows_some_of_each(code, expected):
    assert answer(code) == expected
