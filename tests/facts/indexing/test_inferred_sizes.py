"""Sizes that a call reads from the device because nobody says them."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.inferred_sizes import inferred_sizes

CODE = """
import torch_scatter
import torch_geometric.nn as gnn
from torch_scatter import scatter_max
from torch_geometric.utils import degree, scatter, softmax

class Net(nn.Module):
    def forward(self, x, index, sizes, n):
        return {call}

Net().cuda()
"""


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("scatter_max(x, index, dim=0)", ["index"]),
        ("scatter_max(x, index, 0, None, n)", []),
        ("scatter_max(x, index, 0, x.clone())", []),
        ("torch_scatter.scatter_mean(src=x, index=index)", ["index"]),
        ("scatter(x, index)", ["index"]),
        ("scatter(x, index, 0, n)", []),
        ("scatter(x, *sizes)", []),
        ("softmax(x, index, num_nodes=None)", ["index"]),
        ("softmax(x, None, sizes)", []),
        ("degree(index)", ["index"]),
        ("gnn.global_add_pool(x, index)", ["index"]),
        ("gnn.global_add_pool(x, batch=None)", []),
        ("F.one_hot(index)", ["index"]),
        ("F.one_hot(index, num_classes=-1)", ["index"]),
        ("F.one_hot(index, n)", []),
        ("F.one_hot(index.cpu())", []),
        ("F.one_hot(index, index.max() + 1)", ["index"]),
        ("F.one_hot(index, num_classes=max(torch.max(index), n))", ["index"]),
        ("F.one_hot(index, index.amax())", ["index"]),
        ("F.one_hot(index, int(index.max()) + 1)", []),
        ("F.one_hot(index, index.cpu().max() + 1)", []),
        ("F.one_hot(index, index.size(0) + 1)", []),
        ("F.one_hot(index, max(n, len(sizes)))", []),
        ("x.scatter(0, index, 1.0)", []),
    ],
)
def test_whose_largest_element_is_read(call, asked):
    files = texts(CODE.format(call=call))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])

    assert [ast.unparse(found.asked) for found in inferred_sizes(file)] == asked
