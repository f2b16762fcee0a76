"""Tests of a mask that decide nothing but whether it is left out."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.reads.dropped_masks import drops_an_empty_mask, makes_a_mask_of_some


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if not mask.any():\n    mask = None", True),
        ("if not torch.any(mask):\n    mask = None", True),
        ("if mask.sum() == 0:\n    mask = None", True),
        ("if not self.mask.any():\n    self.mask = None", True),
        ("mask = mask if mask.any() else None", True),
        ("mask = None if not mask.any() else mask", True),
        ("if mask.any():\n    mask = None", False),
        ("if mask.all():\n    mask = None", False),
        ("if not mask.any():\n    other = None", False),
        ("if not mask.any():\n    mask = None\n    return x", False),
        ("if not mask.any():\n    mask = None\nelse:\n    x = x + 1", False),
        ("if not mask.any():\n    mask = full", False),
        ("mask = None if mask.any() else mask", False),
        ("f(mask if mask.any() else None)", False),
        ("mask = mask if mask.max() > 3 else None", False),
    ],
)
def test_a_mask_is_left_out_where_nothing_is_set(code, expected):
    statement = ast.parse(code).body[0]
    branch = (
        statement if isinstance(statement, ast.If) else next(n for n in ast.walk(statement) if isinstance(n, ast.IfExp))
    )
    assert drops_an_empty_mask(branch, statement) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if ids.eq(pad).any():\n    mask = ids.eq(pad)", True),
        ("if torch.any(ids == pad):\n    mask = ids == pad", True),
        ("if ids.eq(pad).any():\n    other = ids.eq(pad)", False),
        ("if not ids.eq(pad).any():\n    mask = ids.eq(pad)", False),
        ("if ids.eq(pad).all():\n    mask = ids.eq(pad)", False),
        ("if ids.eq(pad).any():\n    mask = ids.eq(end)", False),
        ("if ids.eq(pad).any():\n    mask = ids.eq(pad)\nelse:\n    x = x + 1", False),
    ],
)
def test_a_mask_is_made_only_where_something_is_set(code, expected):
    branch = ast.parse(code).body[0]
    assert isinstance(branch, ast.If)
    before = {"mask": ast.Constant(None)}
    assert makes_a_mask_of_some(branch, lambda name: before.get(name.id, name)) is expected
