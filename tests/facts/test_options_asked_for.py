"""Options that are off by default: rare code, unless hot code passes them."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
    def loss_of(model, x, y, mask=None):
        out = model(x)
        if mask is not None:
            out = out[mask]  # <-
        return (out - y).mean()

    def train(model, loader, optimizer, mask=None):
        for x, y in loader:
            loss = {call}
            loss.backward()
            optimizer.step()

    def study(model, x, y):
        return loss_of(model, x, y, x > 0)
"""


@pytest.mark.parametrize(
    ("call", "optional"),
    [
        ("loss_of(model, x, y)", True),
        ("loss_of(model, x, y, None)", True),
        ("loss_of(model, x, y, mask=mask)", True),
        ("loss_of(model, x, y, mask=y > 0)", False),
        ("loss_of(model, x, y, y > 0)", False),
    ],
)
def test_an_option_that_hot_code_passes_is_no_option(call, optional):
    hot = hot_at(CODE.format(call=call))
    assert hot is not None
    assert hot.optional is optional


LEFT_OUT = """
def returns(rewards, turns=None):
    if turns is None:
        turns = rewards.max().item()  # <-
    return rewards[:turns]


def train(loader, model, optimizer, counts):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("call", "hot"),
    [
        ("returns(loss)", True),
        ("returns(loss, counts[0])", False),
        ("returns(loss, turns=counts[0])", False),
        ("returns(loss, turns=None)", True),
        ("returns(loss, counts[0]) + returns(loss)", True),
    ],
)
def test_a_branch_for_calls_without_a_parameter_is_cold_where_all_pass_it(call, hot):
    assert (hot_at(LEFT_OUT.format(call=call)) is not None) is hot
