"""Tensors made on the host to index one on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.host_indices import host_indices
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.model import Confidence

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, labels: torch.Tensor, n: int, given: list):
            x = x.cuda()
            order = torch.randperm(x.size(0))
            return {expression}
"""


def indices_of(expression):
    files = texts(CODE.format(expression=expression))
    return list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("expression", "index"),
    [
        ("x[torch.arange(x.size(0)), labels]", "torch.arange(x.size(0))"),
        ("x[order]", "order"),
        ("x[torch.rand(x.size(0)) > 0.5]", "torch.rand(x.size(0)) > 0.5"),
    ],
)
def test_an_index_on_the_host_is_copied(expression, index):
    (found,) = indices_of(expression)
    assert ast.unparse(found.spot.expression) == index
    assert found.fresh.value.confidence is Confidence.LIKELY


@pytest.mark.parametrize(
    ("expression", "index"),
    [("x[[2, 0]]", "[2, 0]"), ("x[:, [n]]", "[n]"), ("x[[len(given)], 0]", "[len(given)]")],
)
def test_a_list_becomes_a_tensor_on_the_host(expression, index):
    (found,) = indices_of(expression)
    assert (ast.unparse(found.spot.expression), found.fresh, found.device) == (index, None, "x.device")


@pytest.mark.parametrize(
    "expression",
    [
        "x[torch.arange(x.size(0), device=x.device)]",
        "x[order[0]]",
        "torch.zeros(3)[order]",
        "torch.zeros(3)[[2, 0]]",
        "x[labels]",
        "x[0]",
        "x[given]",
        "x[[given, n]]",
        "x[[]]",
        "[[0, 1]]",
    ],
)
def test_other_indices_are_left_alone(expression):
    assert indices_of(expression) == []


def test_one_tensor_indexes_several_and_is_made_once():
    assert len(indices_of("x[order] + x[order]")) == 1


KEPT = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = torch.arange(4)
            self.register_buffer("columns", torch.arange(4))

        def forward(self, x: torch.Tensor):
            x, y = x.cuda(), torch.ones(3, device="cuda")
            order = np.random.permutation(len(x))
            single = np.random.permutation(len(x))
            return {expression}
"""


def kept_of(expression):
    files = texts(KEPT.format(expression=expression))
    return [found.source for found in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("x[self.rows], y[self.rows]", ["`self.rows` stayed in host memory"]),
        ("x[self.rows.view(-1)]", ["`self.rows` stayed in host memory"]),
        ("x[self.columns]", []),
        ("x[order], y[order]", ["the array `order` is host memory"]),
        ("x[single]", []),
        ("x[order], self.table[order]", ["the array `order` is host memory"]),
    ],
)
def test_an_index_that_was_there_before(expression, sources):
    assert kept_of(expression) == sources
