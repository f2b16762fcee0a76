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
    one, other = indices_of("x[order] + x[order]")
    assert one.of == other.of


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
        ("x[self.rows], y[self.rows]", ["`self.rows` stayed in host memory"] * 2),
        ("x[self.rows.view(-1)]", ["`self.rows` stayed in host memory"]),
        ("x[self.columns]", []),
        ("x[order], y[order]", ["the array `order` is host memory"] * 2),
        ("x[single]", []),
        ("x[order], self.table[order]", ["the array `order` is host memory"]),
    ],
)
def test_an_index_that_was_there_before(expression, sources):
    assert kept_of(expression) == sources


MADE = """
    class Net(nn.Module):
        def __init__(self, kept, names):
            super().__init__()
            self.kept = list(kept)
            self.seen = []

        def forward(self, x: torch.Tensor, labels: torch.Tensor, parts: dict, n: int, given: list):
            x, y = x.cuda(), torch.ones(3, device="cuda")
            self.seen.append(n)
            picked = torch.randint(0, n, (8,))
            picked[picked >= n - 1] += 1
            flags = torch.zeros(n, dtype=torch.bool)
            flags[given] = True
            mask = np.zeros(n, dtype=bool)
            mask[::2] = True
            mask = torch.from_numpy(mask)
            rows = list(range(n))
            some = np.random.choice(n, size=8)
            return {expression}
"""


def made_of(expression):
    files = texts(MADE.format(expression=expression))
    return [found.source for found in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("x[range(n), labels]", ["`range(n)` becomes a tensor in host memory"]),
        ("x[rows, labels]", ["`range(n)` becomes a tensor in host memory"]),
        ("x[picked]", ["`torch.randint(...)` fills host memory"]),
        ("x[picked.view(-1), 0]", ["`torch.randint(...)` fills host memory"]),
        ("x[flags]", []),
        ("x[mask]", []),
        ("x[mask], y[mask]", ["`mask` is host memory (`torch.from_numpy`, line 23)"] * 2),
        ("x[mask], some[mask]", []),
        ("x[:, self.kept]", ["the list `self.kept` becomes a tensor in host memory"]),
        ("x[:, self.seen]", []),
        ("[t[some] for t in (x, y)]", ["the array `some` is host memory"]),
        ("x[some]", []),
    ],
)
def test_an_index_that_was_made_some_lines_before(expression, sources):
    assert made_of(expression) == sources
