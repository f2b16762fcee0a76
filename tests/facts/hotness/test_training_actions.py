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


TRAINS = """
{decorator}
def update(model, x):
    with {manager}:
        loss = model(x).sum()
        loss.backward()

def eval_step(model, x, optimizer, flag=False):
    loss = model(x).sum()
    {guard}
        loss.backward()
        optimizer.step()
    return loss

{around}
def run(model, data, optimizer):
    loader = DataLoader(data, 4)
    model.eval()
    for x in loader:
        {call}  # <-
"""


@pytest.mark.parametrize(
    ("decorator", "manager", "guard", "around", "call", "kind"),
    [
        ("", "open('x')", "if True:", "", "eval_step(model, x, optimizer)", "step"),  # adapts at test time
        ("", "open('x')", "if flag:", "", "eval_step(model, x, optimizer)", "eval"),
        ("", "torch.enable_grad()", "if flag:", "@torch.no_grad()", "update(model, x)", "step"),
        ("@torch.enable_grad()", "open('x')", "if flag:", "@torch.no_grad()", "update(model, x)", "step"),
        ("", "open('x')", "if flag:", "@torch.no_grad()", "update(model, x)", "eval"),
    ],
)
def test_what_trains_whatever_it_is_called(decorator, manager, guard, around, call, kind):
    given = {"decorator": decorator, "manager": manager, "guard": guard, "around": around, "call": call}
    hot = hot_at(TRAINS.format(**given))
    assert hot is not None
    assert hot.kind == kind
