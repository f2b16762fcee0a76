"""Numbers that stand in a signature."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.bindings.hints import are_numbers


@pytest.mark.parametrize(
    "written",
    ["3", "-1.0", "(1, 2.5)", "float('inf')", "-float('inf')", "2 ** 31 - 1", "math.inf", "np.pi", "1 / 255", "1e-5"],
)
def test_numbers_that_are_written_out(written):
    assert are_numbers(ast.parse(written, mode="eval").body)


@pytest.mark.parametrize("written", ["None", "'a'", "n", "()", "float(n)", "2 * n", "[1] * 3", "self.inf"])
def test_what_is_something_else(written):
    assert not are_numbers(ast.parse(written, mode="eval").body)
