"""Functions of the project that answer with a tensor's truth, by what they compute and not by what they are called."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, EMPTY, REPLACES, consequence
from torchperf_lint.facts.reads.truths import truths

HELPERS = """\
def outliers(y):
    return y < 0
def plain(step, every):
    return step % every == 0
def handed_on(y):
    return contains(y)
def kept(y):
    found = y.sum()
    return found
def compares(y, limit):
    return y.abs().max() > limit
def either(y):
    if y is None:
        return False
    return (y > 3).any() or bool(y.dim())
def of_arrays(y):
    return np.any(y)
def contains(y):
    return outliers(y).any()
"""
LOSS = """\
from b import outliers, plain, handed_on, kept, compares, either, of_arrays, contains
class Loss(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        losses = torch.zeros_like(x)
        if {test}:
            {body}
        return losses
"""


def opened(test, body="x = x + 1"):
    loss = LOSS.format(test=test, body=body.replace("\n", "\n            "))
    files = texts({"a.py": loss, "b.py": HELPERS})
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


def asked(test):
    return [ast.unparse(spot.expression) for spot in truths(opened(test))]


@pytest.mark.parametrize("test", ["contains(y)", "handed_on(y)", "compares(x, 9)", "either(y)"])
def test_a_function_each_of_whose_results_is_a_truth_is_asked(test):
    assert asked(test) == [test]


@pytest.mark.parametrize("test", ["plain(3, 2)", "kept(y)", "of_arrays(y)"])
def test_what_gives_plain_numbers_or_arrays_is_not(test):
    assert asked(test) == []


@pytest.mark.parametrize(
    ("test", "body", "expected"),
    [
        ("contains(y)", "rows = outliers(y)\nlosses[rows] = x[rows].exp()", EMPTY),
        ("(y < 0).any()", "rows = y < 0\nlosses[rows] = x[rows].exp()", EMPTY),
        ("(y < 0).any()", "rows = y < 1\nlosses[rows] = x[rows].exp()", REPLACES),
        ("contains(y)", "rows = outliers(x)\nlosses[rows] = x[rows].exp()", REPLACES),
        ("contains(y)", "rows = outliers(y)\nlosses = self.net(x)", DECIDES),
    ],
)
def test_a_mask_made_anew_after_the_test_selects_as_the_one_that_was_asked(test, body, expected):
    assert [consequence(spot) for spot in truths(opened(test, body))] == [expected]
