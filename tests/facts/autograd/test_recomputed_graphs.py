"""Graphs that a function computes anew, differentiates and leaves behind."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.recomputed_graphs import retained_after_recomputing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

LAYER = """\
class Layer(nn.Module):
    def backward_pass(self, y, dy):
        with {switch}:
            {leaf}
            out = self.f(y)
            {step}
        {then}
"""
PASS = "out.backward(dy, retain_graph=True)"


def found(leaf="y.requires_grad = True", step=PASS, then="return y.grad", switch="torch.enable_grad()"):
    files = texts(LAYER.format(leaf=leaf, step=step, then=then, switch=switch))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return len(list(retained_after_recomputing(file)))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"step": "torch.autograd.backward(out, dy, retain_graph=True)"},
        {"leaf": "y.requires_grad_()"},
        {"leaf": "y = y.detach().requires_grad_()"},
        {"step": f"out = self.g(out)\n            {PASS}"},
        {"then": "with torch.no_grad():\n            x = y - out\n            del out\n        return x, y.grad"},
    ],
)
def test_the_block_ends_with_its_pass(parts):
    assert found(**parts) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"leaf": "pass"},  # a graph of the caller may go on above `y`
        {"switch": "torch.autocast('cuda')"},
        {"step": f"{PASS}\n            out.sum().backward()"},
        {"step": f"if dy is not None:\n                {PASS}"},
        {"step": f"for _ in range(2):\n                {PASS}"},
        {"step": "out.backward(dy)"},
        {"step": "dy.backward(out, retain_graph=True)"},
        {"then": "return out"},
        {"then": "out.sum().backward()"},
        {"then": "torch.autograd.grad(y, dy, create_graph=True)"},
    ],
)
def test_what_may_go_through_it_again(parts):
    assert found(**parts) == 0
