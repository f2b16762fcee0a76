"""What each name gets where one of several values is spread: `a, b, c, d = x, *pair, y`."""

from __future__ import annotations

import ast

import pytest
from snippets import value_of

from torchperf_lint.facts.syntax.syntax import side_by_side


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a, b = x, y", ["x", "y"]),
        ("a, b, c, d = x, *pair, y", ["x", "pair[0]", "pair[1]", "y"]),
        ("a, b = *pair,", ["pair[0]", "pair[1]"]),
        ("a, b = x, y, *none", ["x", "y"]),
        ("a, b = pair", None),
        ("a, b, c = *pair, *more", None),
        ("a, *b = x, y, z", None),
        ("a = x, y", None),
    ],
)
def test_targets_side_by_side(written, expected):
    (statement,) = ast.parse(written).body
    assert isinstance(statement, ast.Assign)
    target = statement.targets[0]
    found = side_by_side(target, statement.value) if isinstance(target, ast.Tuple) else None
    assert (None if found is None else [ast.unparse(part) for part in found]) == expected


def test_options_of_a_group_beside_a_gradient_are_no_tensors():
    code = """
        class Adam(torch.optim.Optimizer):
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        grad, lr, decay, beta1, beta2 = p.grad, group["lr"], group["weight_decay"], *group["betas"]
                        print(grad, decay)
    """
    assert value_of(code, "grad").kind == "tensor"
    assert value_of(code, "decay").kind != "tensor"
