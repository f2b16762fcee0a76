"""Penalties on all parameters that a loss puts together tensor by tensor."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.penalties import penalties

TRAIN = """\
def train(model: nn.Module, loader, optimizer, criterion, weight, held, critic):
    for x, y in loader:
        loss = criterion(model(x), y)
        {penalty}
        loss.backward()
        optimizer.step()
"""
OVER = "for p in model.parameters():"


def found(text):
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [penalty.squares for penalty in penalties(file)]


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        (f"{OVER} loss = loss + weight * p.norm()", [False]),
        (f"{OVER} loss += weight * torch.norm(p, 2) ** 2", [True]),
        (f"{OVER} loss += p.pow(2).sum()", [True]),
        (f"{OVER} loss += torch.sum(torch.abs(p))", [False]),
        ("for n, p in model.named_parameters(): loss += (p - held[n]).pow(2).sum()", [True]),
        ("for n, p in model.named_parameters(): d = p - held[n]; loss += torch.norm(d)", [False]),
        ("loss = loss + weight * sum(p.pow(2).sum() for p in model.parameters())", [True]),
        ("loss = loss + torch.stack([p.norm() for p in model.parameters()]).sum()", [False]),
        # of gradients, of what is no part of the graph, and what the host reads
        (f"{OVER} loss += p.grad.norm()", []),
        (f"{OVER} loss += p.data.norm()", []),
        (f"{OVER} loss += p.norm().item()", []),
        (f"{OVER} loss += p.detach().norm()", []),
        # what is looked at
        ("norm = torch.stack([p.norm() for p in model.parameters()]).norm()", []),
        (f"{OVER} total_norm = total_norm + p.norm() ** 2", []),
        # of a part of a model; of something else; and what does more
        ("for p in critic.parameters(): loss += p.pow(2).sum()", []),
        ("for g, m in zip(grads, mean_grads): loss += (g - m).pow(2).sum()", []),
        ("for p in held: loss += p.pow(2).sum()", []),
        (f"{OVER} loss += p.mean()", []),
        (f"{OVER} loss += p.norm(); p.clamp_(-1, 1)", []),
        ("seen = max(p.norm() for p in model.parameters())", []),
    ],
)
def test_what_a_turn_adds(penalty, expected):
    assert found(TRAIN.format(penalty=penalty)) == expected


def test_where_nothing_is_trained():
    turn = "total += p.pow(2).sum()"
    assert found(f"@torch.no_grad()\ndef size(model, total):\n    {OVER}\n        {turn}\n    return total\n") == []
    assert found(TRAIN.format(penalty=f"with torch.no_grad():\n            {OVER} {turn}")) == []


def test_few_parameters():
    text = TRAIN.format(penalty="params = [model.a, model.b]\n        for p in params: loss += p.norm()")
    assert found(text) == []
