"""Factors of what `backward` runs on, which may be numbers."""

from __future__ import annotations

import pytest
from snippets import value_of

STEP = """
def step(batch, config, epoch):
    thing, other = config.of(batch)
    {backward}
    if thing > 0:
        print(epoch)
"""


@pytest.mark.parametrize(
    ("backward", "is_tensor"),
    [
        ("thing.backward()", True),
        ("(thing + other).backward()", True),
        ("(other - thing).backward()", True),
        ("(-thing).backward()", True),
        ("(0.5 * thing).backward()", True),
        ("(thing / other).backward()", True),
        ("(thing * other).backward()", True),
        ("scaler.scale(thing / 4).backward()", True),
        ("(other + thing.mean() * 2).backward()", True),
        ("(thing * other).sum().backward()", True),
        ("(other + thing * config.LOSS.WEIGHT).backward()", True),
        ("(other + thing * jac_loss).backward()", False),
        ("(other + jac_loss * thing).backward()", False),
        ("(other + w_loss * thing).backward()", False),
        ("(other + loss_scale * thing).backward()", True),
        ("(other + 2 * thing * kl).backward()", False),
        ("(other / thing).backward()", False),
        ("(other ** thing).backward()", False),
        ("scaler.scale(loss * thing).backward()", False),
        ("(thing * entropy).mean().backward()", False),
        ("self.manual_backward(loss / thing)", False),
    ],
)
def test_a_term_is_a_tensor_and_a_factor_of_a_loss_may_be_a_number(backward, is_tensor):
    assert (value_of(STEP.format(backward=backward), "thing").kind == "tensor") is is_tensor


@pytest.mark.parametrize("name", ["factor", "w", "lambda_gp", "loss_weight", "alpha", "self.beta", "cfg.gp_weight"])
def test_what_is_called_like_a_weight_is_no_tensor_for_being_a_factor(name):
    text = f"def step(self, x, cfg):\n    ({name} * x).backward()\n    return {name} > 0, x > 1\n"
    assert value_of(text, name).kind != "tensor"
    assert value_of(text, "x").kind == "tensor"


PICKED = """
def attack(self, x, y, rows):
    out = self.predict(x)
    margin = {margin}
    {backward}
    return out
"""


@pytest.mark.parametrize(
    ("margin", "is_tensor"),
    [
        ("out[rows, y] - out[rows, y + 1]", True),
        ("-(1 - out[:, 0].mean())", True),
        ("out[0]", False),
        ("out['logits']", False),
        ("self.norm(out[rows, y])", False),
    ],
)
def test_what_is_picked_for_a_gradient_is_picked_from_a_tensor(margin, is_tensor):
    for backward in ("margin.sum().backward()", "total = margin.sum()\n    total.backward()"):
        assert (value_of(PICKED.format(margin=margin, backward=backward), "out").kind == "tensor") is is_tensor


def test_without_a_gradient_it_may_be_an_array():
    assert value_of(PICKED.format(margin="out[rows, y]", backward="margin = 3"), "out").kind != "tensor"
    again = "margin.sum().backward()\n    out = self.score(x)"
    assert value_of(PICKED.format(margin="out[rows, y]", backward=again), "out").kind != "tensor"
