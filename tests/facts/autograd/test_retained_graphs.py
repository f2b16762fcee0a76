"""Backward passes that keep a graph, and what goes through it again."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.retained_graphs import retained_in_vain
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

TRAIN = """\
def train(net: nn.Module, loader: DataLoader, opt, other):
    before = {before}
    for x in loader:
        loss = net(x.cuda(), before).sum()
        loss.backward(retain_graph=True)
        opt.step()
        {after}
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("None", "pass", 1),
        ("None", "print(loss.item())", 1),
        ("torch.zeros(3).cuda()", "pass", 1),
        ("net(torch.zeros(3).cuda())", "pass", 0),
        ("None", "other(loss)", 0),
        ("None", "loss.mean().backward()", 0),
        ("None", "torch.autograd.grad(loss, x)", 0),
    ],
)
def test_what_goes_through_the_graph_again(before, after, found):
    files = texts(TRAIN.format(before=before, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert len(list(retained_in_vain(file))) == found
