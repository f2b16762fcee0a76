"""Norms of gradients, put together tensor by tensor."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.norms_one_by_one import norms_one_by_one

STEP = """\
def train(model: nn.Module, loader, optimizer, criterion):
    for step, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
{lines}
        optimizer.step()
"""


def found(lines):
    body = "\n".join(f"        {line}" for line in lines.splitlines())
    files = texts(STEP.format(lines=body))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [file.source(one.iterated) for one in norms_one_by_one(file)]


LOOP = "total = 0\nfor p in model.parameters():\n    {turn}"
STACK = "grads = [p.grad for p in model.parameters() if p.grad is not None]\ntotal = {made}"


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ("total += p.grad.data.norm() ** 2", True),
        ("total += torch.norm(p.grad, 2).square()", True),
        ("total = total + p.grad.pow(2).sum()", True),
        ("if p.grad is not None:\n        g = p.grad\n        total += g.square().sum()\n        kept.append(g)", True),
        ("total += p.grad.norm().item() ** 2", False),
        ("total += float(p.grad.norm())", False),
        ("total += p.norm() ** 2", False),  # of weights, which a loss may want
        ("total += p.numel()", False),
        ("total += p.grad.norm()\n    p.grad.zero_()", False),
        ("total += p.grad.pow(3).sum()", False),
        ("norm = p.grad.norm()", False),
    ],
)
def test_a_loop_that_adds_up(turn, told):
    assert found(LOOP.format(turn=turn)) == (["model.parameters()"] if told else [])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("torch.norm(torch.stack([torch.norm(g.detach(), 2).to(x.device) for g in grads]), 2)", True),
        ("sum([g.pow(2).sum() for g in grads]).sqrt()", True),
        ("[g.norm() for g in grads]", False),
        ("torch.stack([g.mean() for g in grads])", False),
        ("max(g.norm() for g in grads)", False),
        ("torch.stack(torch._foreach_norm(grads)) + torch.stack([g.norm() for g in grads])", False),
    ],
)
def test_norms_in_a_list(made, told):
    assert found(STACK.format(made=made)) == (["grads"] if told else [])


def test_now_and_then():
    lines = "if step % 100 == 0:\n    total = torch.stack([p.grad.norm() for p in model.parameters()])"
    assert found(lines) == []
