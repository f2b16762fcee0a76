"""Functions that a loop inside a step calls."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.sizing import sized

CODE = """
    class Tagger(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            x, ends = x.cuda(), mask.sum(1)
            {calls}

        def cut(self, x, ends, i):
            end = ends[i] - 1
            return x[i, : ends[i]].sum() + x[i, :end].sum()
"""
TRAIN = """
    def cut(x, y):
        return x[: y.sum()].mean()

    def train(model: nn.Module, loader: DataLoader, optimizer):
        for x, y in loader:
            out, y = model(x.cuda()), y.cuda()
            loss = {calls}
            loss.backward()
            optimizer.step()
"""


def several(code, calls):
    files = texts(code.format(calls=calls))
    return {one.several for one in sized(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))}


@pytest.mark.parametrize(
    "calls",
    [
        "return [self.cut(x, ends, i) for i in range(len(x))]",
        "for i in range(len(x)):\n                self.cut(x, ends, i)",
    ],
)
def test_a_loop_of_a_forward_pass_repeats_what_it_calls(calls):
    assert several(CODE, calls) == {True}


@pytest.mark.parametrize(
    "calls",
    [
        "return self.cut(x, ends, 0)",
        "return self.cut(x, ends, 0) + sum(row.sum() for row in x)",
        "for i in range(2):\n                self.cut(x, ends, i)",
        "for layer in self.layers:\n                x = self.cut(x, ends, 0)",
    ],
)
def test_what_runs_once_is_not_repeated(calls):
    assert several(CODE, calls) == {False}


def test_the_step_loop_is_no_loop_inside_the_step():
    assert several(TRAIN, "cut(out, y)") == {False}
    assert several(TRAIN, "sum(cut(row, y) for row in out)") == {True}
