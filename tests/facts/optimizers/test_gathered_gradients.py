"""Loops that add up gradients, or what is computed of them, parameter by parameter."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.optimizers.gathered_gradients import gathers


@pytest.mark.parametrize(
    ("turn", "found"),
    [
        ("fisher[name] += p.grad.data ** 2", True),
        ("fisher[name] += p.grad.pow(2) / n", True),
        ("fisher[name].add_(p.grad.detach().square())", True),
        ("p.kept += p.grad.abs(); p.count += 1", True),
        ("g = p.grad.detach(); kept[name] += g * g", True),
        ("if p.grad is not None: kept[name] += p.grad", True),
        ("kept[name] += (p.grad * p).sum()", False),
        ("kept[name] += p.grad.norm()", False),
        ("kept += p.grad.abs()", False),
        ("p.grad += p.grad ** 2", False),
        ("p.count += 1", False),
        ("p.add_(p.grad, alpha=-rate)", False),
        ("p.data += p.grad", False),
        ("kept[name].mul_(0.9).add_(p.grad)", False),
        ("kept[name] += p.grad; print(name)", False),
        ("kept[name] = p.grad.clone()", False),
        ("p -= 0.1 * p.grad", False),
    ],
)
def test_a_sum_for_each_parameter_of_what_is_computed_of_its_gradient(turn, found):
    loop = ast.parse(f"for name, p in model.named_parameters():\n    {turn}\n").body[0]
    assert isinstance(loop, ast.For)
    assert gathers(loop) is found
