"""Branches that do more than to choose between values."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import NOT_KNOWN, Spot
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.reads.branches_that_act import acts_on_host


@pytest.mark.parametrize(
    ("branch", "acts"),
    [
        ("best = loss", False),
        ("x.mul_(0.5)", False),
        ("best = loss; torch.save(model, 'best.pt')", True),
        ("model.accepted(x)", True),
        ("return loss", False),
        ("return x, loss", False),
        ("return", True),
        ("return None", True),
        ("best = loss; return best", False),
        ("best = float(loss)", False),
    ],
)
def test_what_a_branch_does(branch, acts):
    files = texts(f"def f(model, x, loss, best):\n    if loss < best:\n        {branch}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (test,) = file.enclosing(1).of_kinds((ast.Compare,))
    assert isinstance(NOT_KNOWN, Hot)
    assert acts_on_host(Spot(file, test, 1, NOT_KNOWN, file.span(test)[0])) is acts
