"""Lists that repeat one number, as an index."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.indexing.repeated_lists import instead_of, repeated_list


@pytest.mark.parametrize(
    ("index", "number"),
    [
        ("[0] * n", 0),
        ("[3] * len(frames)", 3),
        ("[True] * n", None),
        ("[0, 1] * n", None),
        ("[i] * n", None),
        ("n * 2", None),
        ("[0] + [1] * n", None),
        ("[0]", None),
    ],
)
def test_the_number_that_is_repeated(index, number):
    assert repeated_list(ast.parse(index, mode="eval").body) == number


def test_a_slice_takes_the_same_part():
    assert "`2 : 3`" in instead_of(ast.parse("[2] * n", mode="eval").body)
