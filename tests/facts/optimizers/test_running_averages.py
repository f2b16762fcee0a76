"""Running averages by their form."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.autograd.stores import store_of


def added(statement: str) -> str | None:
    """What a statement adds to its target from turn to turn."""
    store = store_of(ast.parse(statement).body[0])
    return ast.unparse(store.value) if store is not None and store.how == "sum" else None


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("mean = 0.9 * mean + 0.1 * x", "0.1 * x"),
        ("mean = x * 0.1 + mean * 0.9", "x * 0.1"),
        ("self.avg = self.avg * self.m + val * (1 - self.m)", "val * (1 - self.m)"),
        ("self.avg = (1.0 - m) * self.avg + m * val", "m * val"),
        ("means[k] = m * means[k] + (1 - m) * x", "(1 - m) * x"),
    ],
)
def test_averages(statement, expected):
    assert added(statement) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "x = x * scale + shift",
        "x = x * 2 + y * 3",
        "mean = 0.9 * other + 0.1 * x",
        "mean = 0.9 * mean + 0.2 * x",
        "mean = m * mean + (1 - n) * x",
        "mean = m * mean - (1 - m) * x",
        "mean = mean * (1 - m)",
        "h = z * h + (2 - z) * n",
    ],
)
def test_others(statement):
    assert added(statement) is None
