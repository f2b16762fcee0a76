"""Python's own reductions over tensors, and over what is none."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.taken_apart import taken_apart

NET = """
from torch import max as maximum


class Net(nn.Module):
    def forward(self, x: torch.Tensor, lengths: torch.Tensor, names: list, losses):
        x = x.cuda()
        keep = x > 0
        parts = [x.mean(), x.sum()]
        return {use}
"""


@pytest.mark.parametrize(
    ("use", "method"),
    [
        ("sum(keep)", "sum()"),
        ("max(lengths)", "max()"),
        ("any(x > 3)", "any()"),
        ("sorted(x.flatten())", "sort()"),
        ("min(lengths[keep])", "min()"),
    ],
)
def test_tensors_are_taken_apart(use, method):
    assert [walk.method for walk in found(use)] == [method]


@pytest.mark.parametrize(
    "use",
    [
        "sum(parts)",
        "sum(losses)",
        "max(x.shape)",
        "max(names)",
        "any(part > 3 for part in x)",
        "max(lengths, key=float)",
        "max(lengths.max(), 3)",
        "maximum(x)",
        "x.sum()",
        "max(x.unbind(0))",
        "max(lengths.tolist())",
    ],
)
def test_lists_and_numbers_are_not(use):
    assert not found(use)


def found(use):
    files = texts(NET.format(use=use))
    return list(taken_apart(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
