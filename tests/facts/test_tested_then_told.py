"""Reads that say what a test of the same number has found."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.tested_then_told import tells_what_was_tested

STEP = """
def step(norm, other, verbose):
    {}
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("if norm < 1e-8:\n        print(norm.item())", True),
        ("if norm.item() < 1e-8 or other > 3:\n        print('small', norm.item())", True),
        ("if verbose and float(norm) > 10:\n        logger.warning('%s', norm.item())\n        norm = other", True),
        ("if other < 1e-8:\n        print(norm.item())", False),
        ("if norm is not None:\n        print(norm.item())", False),
        ("if norm < 1e-8:\n        pass\n    else:\n        print(norm.item())", False),
        ("if norm < 1e-8:\n        other += norm.item()", False),
        ("print(norm.item())", False),
    ],
)
def test_what_is_told_behind_a_test(code, told):
    site = site_of(STEP.format(code), "norm.item()")
    assert tells_what_was_tested(site, site.receiver) is told
