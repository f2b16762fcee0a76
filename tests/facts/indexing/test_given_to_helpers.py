"""What is handed to a helper of the file."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import REDUCED
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import selections

NET = """\
def spread(points, scale=1):
    return ((points - 1) * scale).square().mean()

def kept(points):
    return points

def renamed(points):
    points = points.sort().values
    return points.sum()

class Net(nn.Module):
    def loss(self, points, *, more=None):
        return points.sum() if more is None else more.sum()

    def forward(self, x: torch.Tensor, mask: torch.Tensor, several: list):
        x, mask = x.cuda(), mask.cuda() > 0
        return {given}
"""


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("spread(x[mask])", REDUCED),
        ("spread(scale=2, points=x[mask])", REDUCED),
        ("self.loss(x[mask])", REDUCED),
        ("self.loss(x, more=x[mask])", None),
        ("kept(x[mask])", None),
        ("renamed(x[mask])", None),
        ("unknown(x[mask])", None),
        ("spread(*several, x[mask])", None),
    ],
)
def test_a_helper_that_reduces_what_it_is_given(given, what):
    files = texts(NET.format(given=given))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (selection,) = [one for one in selections(file) if "mask" in one.key]
    assert purpose(selection) == what
