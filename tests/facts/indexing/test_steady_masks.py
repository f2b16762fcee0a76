"""Masks over which no data decide."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selections import selections
from torchperf_lint.facts.indexing.steady_masks import is_steady


def steady(mask: str) -> bool:
    """Whether a mask of a module's forward pass is the same at every step."""
    files = texts(f"""
    from torch.autograd import Variable

    class Beams(nn.Module):
        def __init__(self, net: nn.Linear, end):
            super().__init__()
            self.net, self.end = net, end

        def forward(self, x):
            x = self.net(x.cuda())
            picked = Variable(x.argmax(-1))
            mask = {mask}
            return x[mask]
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (selection,) = selections(file)
    return is_steady(selection)


@pytest.mark.parametrize("mask", ["torch.eye(len(x), device=x.device) > 0", "torch.ones_like(x).triu(1).bool()"])
def test_what_follows_from_shapes_is_steady(mask):
    assert steady(mask)


@pytest.mark.parametrize("mask", ["picked.data.eq(self.end)", "picked.eq(self.end)", "x.eq(self.end)", "x > self.end"])
def test_data_compared_with_what_the_module_holds_are_not(mask):
    assert not steady(mask)
