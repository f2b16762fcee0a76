"""Methods called `backward`: which are a step of their own, and which a part of somebody's."""

from __future__ import annotations

import pytest
from snippets import hot_at

HEAD = "class Weighting:\n    def backward(self, {given}):\n        {line}\n        print(self)  # <-\n"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("losses, **kwargs", "loss = (losses * self.scale).sum(); loss.backward()"),
        ("task_losses", "total = sum(task_losses); total.backward()"),
        ("losses", "grads = self.grads_of(losses)"),
    ],
)
def test_making_the_loss_of_a_step_is_a_step(given, line):
    hot = hot_at(HEAD.format(given=given, line=line))
    assert hot is not None
    assert hot.when.startswith("every training step")


@pytest.mark.parametrize(
    ("given", "line"),
    [("loss", "loss.backward()"), ("loss", "self.scaler.scale(loss).backward()"), ("ctx, grad", "total.backward()")],
)
def test_passing_on_what_is_given_is_none(given, line):
    assert hot_at(HEAD.format(given=given, line=line)) is None
