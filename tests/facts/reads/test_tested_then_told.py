"""Reads that say what a test of the same number has found."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.tested_then_told import tells_what_was_tested

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
        ("if norm > 1e3 and not verbose:\n        other = 3\n        print(norm.item())", True),
        ("if verbose or norm > 5:\n        print(norm.item())", False),
        ("if other == 0 or 3 < other < norm:\n        print(norm.item())", False),
        ("if 3 < other < norm or verbose:\n        print(norm.item())", False),
        ("if norm < 1e-8:\n        norm = other.grad.norm()\n        print(norm.item())", False),
        ("if norm < 1e-8:\n        print('small')\n        norm.mul_(2)\n        print(norm.item())", False),
        ("if norm < 1e-8:\n        for norm in other:\n            pass\n        print(norm.item())", False),
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


def test_a_long_sum_is_compared_without_end():
    terms = " + ".join(["other"] * 900)
    site = site_of(STEP.format(f"if {terms} > norm:\n        print(norm.item())"), "norm.item()")
    assert tells_what_was_tested(site, site.receiver)


@pytest.mark.parametrize("tested", ["norms[other]", "largest(norm)"])
def test_items_and_calls_are_no_names_of_a_number(tested):
    site = site_of(STEP.format(f"if {tested} > 8:\n        print({tested}.item())"), f"{tested}.item()")
    assert not tells_what_was_tested(site, site.receiver)
