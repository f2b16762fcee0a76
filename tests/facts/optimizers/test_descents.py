"""The step of plain SGD, and what only looks like it."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.optimizers.descents import descends


def told(turn, over="p in model.parameters()"):
    loop = ast.parse(f"for {over}:\n    {turn}").body[0]
    return descends(loop)


@pytest.mark.parametrize(
    "turn",
    [
        "p -= lr * p.grad",
        "p.data -= p.grad.data * lr / steps",
        "p.data -= group['lr'] * p.grad.detach()",
        "p += -lr * p.grad",
        "p.data += -(self.lr * p.grad)",
        "p.data.add_(p.grad, alpha=-lr)",
        "p.data.add_(-lr, p.grad.data)",
        "p.add_(p.grad, alpha=-1e-3)",
        "p.add_(-0.1 * p.grad)",
        "p.sub_(p.grad, alpha=lr)",
        "p.data.sub_(-lr * -p.grad)",
        "p.data.sub_(p.grad.data.clone() * lr)",
        "if p.grad is not None:\n        p.data.sub_(p.grad * lr)",
    ],
)
def test_against_the_gradient(turn):
    assert told(turn)


@pytest.mark.parametrize(
    "turn",
    [
        "p += lr * p.grad",
        "p.add_(lr * p.grad)",
        "p.add_(p.grad, alpha=lr)",
        "p.data.add_(p.grad.data)",
        "p -= -lr * p.grad",
        "p.sub_(p.grad, alpha=-lr)",
        "p -= lr * p.grad.sign()",
        "p.sub_(lr * torch.sign(p.grad))",
        "p.data.sub_(lr * p.grad / (p.grad.norm() + 1e-8))",
        "p.data.sub_(lr * p.grad + noise)",
        "p -= torch.randn_like(p) * p.grad",
        "p -= p.grad * p.grad",
        "p -= lr / p.grad",
        "p -= lr * q.grad",
        "p -= lr * masks[p] * p.grad",
        "p.sub_(lr)",
        "p *= p.grad",
        "p.mul_(-p.grad)",
        "p -= lr * p.grad\n    show(p)",
    ],
)
def test_something_else(turn):
    assert not told(turn)


@pytest.mark.parametrize("factor", ["m", "rates[n]"])
def test_what_each_turn_has_of_its_own(factor):
    assert not told(f"p -= {factor} * p.grad", "n, p, m in every")
    assert told("p -= lr * p.grad", "n, p, m in every")
