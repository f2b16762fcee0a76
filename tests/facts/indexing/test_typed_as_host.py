"""Indices that a type of old takes to the host."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

NET = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.table = nn.Parameter(torch.empty(n, 8))

        def forward(self, x: torch.Tensor, names: list):
            slot = {made}
            return self.table[{index}]
"""


def told(made="None", index="slot"):
    files = texts(NET.format(made=made, index=index))
    return list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("made", "index"),
    [
        ("None", "(x[:, -1] * 288).type(torch.LongTensor)"),
        ("None", "x[:, -1].type('torch.LongTensor'), 0"),
        ("(x[:, -1] * 288).type(torch.LongTensor)", "slot"),
    ],
)
def test_it_is_copied_down_and_up(made, index):
    (found,) = told(made, index)
    assert ".type(torch.LongTensor)" in found.source
    assert found.instead == "convert it where it is: `.to(torch.long)`"
    assert isinstance(found.spot.expression, ast.Call | ast.Name)


@pytest.mark.parametrize(
    ("made", "index"),
    [
        ("None", "(x[:, -1] * 288).type(torch.cuda.LongTensor)"),
        ("None", "(x[:, -1] * 288).type(torch.long)"),
        ("None", "x[:, -1].long()"),
        ("torch.from_numpy(names).type(torch.LongTensor)", "slot"),
        ("x.type(torch.LongTensor) if names else x.long()", "slot"),
        ("None", "names.index(0)"),
    ],
)
def test_what_stays_or_was_there_before(made, index):
    assert not [one for one in told(made, index) if ".type(" in one.source]
