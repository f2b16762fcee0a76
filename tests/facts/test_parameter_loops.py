"""Loops that update a model tensor by tensor."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.parameter_loops import BLEND, CHANGE, OPTIMIZER, updates
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile

STEP = """\
def train(model: nn.Module, ema: nn.Module, loader, optimizer, criterion, d):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
"""
OWN = """\
class Own(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            lr = group["lr"]
"""


def _kinds(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [update.kind for update in updates(file)]


@pytest.mark.parametrize(
    ("over", "turn", "expected"),
    [
        ("q, p in zip(ema.parameters(), model.parameters())", "q.mul_(d).add_(p, alpha=1 - d)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.data = d * q.data + (1 - d) * p.data", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.lerp_(p, 0.1)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.sub_((1 - d) * (q - p))", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.data.copy_(p.data)", []),
        ("p in model.parameters()", "p.grad.mul_(d)", [CHANGE]),
        ("p in model.parameters()", "p.grad *= d", [CHANGE]),
        ("p in model.parameters()", "p.data.clamp_(-d, d)", [CHANGE]),
        ("p in model.parameters()", "p.grad.mul_(d / p.grad.norm())", []),
        ("p in model.parameters()", "p.grad = None", []),
        ("p in model.parameters()", "p.requires_grad_(False)", []),
        ("p in model.layers", "p.grad.mul_(d)", []),
    ],
)
def test_in_a_training_loop(over, turn, expected):
    assert _kinds(f"{STEP}        for {over}:\n            {turn}\n") == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("p.mul_(1 - lr).add_(p.grad, alpha=-lr)", [OPTIMIZER]),
        ("p.add_(p.grad, alpha=-lr)", []),
        ("p.mul_(1 - lr).add_(torch.svd(p.grad)[0], alpha=-lr)", []),
        ("p.mul_(1 - lr).add_(p.grad * p.norm(), alpha=-lr)", []),
    ],
)
def test_in_an_optimizer(turn, expected):
    assert _kinds(f'{OWN}            for p in group["params"]:\n                {turn}\n') == expected


def test_lists_already():
    assert (
        _kinds(f"{STEP}        for p in model.parameters():\n            p.grad.mul_(d)\n# torch._foreach_mul_\n") == []
    )
