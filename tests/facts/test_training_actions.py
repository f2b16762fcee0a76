"""Functions that train when they are asked to, in loops that evaluate."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
def compute(model, x, backward=False):
    loss = model(x).sum()
    if backward:
        loss.backward()
    return loss.detach()

{decorator}
def run(model, data):
    loader = DataLoader(data, 4)
    model.eval()
    with {manager}:
        for x in loader:
            loss = {callee}(model, x)  # <-

eval_step = train_step = compute
"""


@pytest.mark.parametrize(
    ("decorator", "manager", "callee", "kind"),
    [
        ("", "torch.no_grad()", "compute", "eval"),
        ("", "open('log') as log, torch.no_grad()", "compute", "eval"),
        ("@torch.inference_mode()", "open('log')", "compute", "eval"),
        ("", "open('log')", "eval_step", "eval"),
        ("", "open('log')", "train_step", "step"),
        ("", "open('log')", "compute", "step"),
    ],
)
def test_a_loop_that_evaluates_calls_what_may_train(decorator, manager, callee, kind):
    hot = hot_at(CODE.format(decorator=decorator, manager=manager, callee=callee))
    assert hot is not None
    assert hot.kind == kind
