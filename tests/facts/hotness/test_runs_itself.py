"""Methods that run the module they belong to, for an input or for another reason."""

from __future__ import annotations

import pytest
from snippets import hot_at

METHOD = """
    class Net(nn.Module):
        def forward(self, x):
            return x

        def {name}(self, {given}):
            y = self(x)
            return y.mean().item()  # <-
"""


@pytest.mark.parametrize(("name", "given"), [("act", "x"), ("predict", "x, temperature"), ("evaluate_actions", "x")])
def test_an_input_is_answered(name, given):
    hot = hot_at(METHOD.format(name=name, given=given))
    assert hot is not None
    assert hot.when.startswith("with every input")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("prune", "threshold"),  # as pykan does, once after training
        ("prune_node", "threshold"),
        ("calibrate", "x"),
        ("refine", "grid"),
        ("evaluate", "dataset"),  # all of it at once
        ("accuracy", "test_dataset"),
        ("score", "val_loader, dataloader"),
    ],
)
def test_what_is_done_once_in_a_while_is_no_answer(name, given):
    assert hot_at(METHOD.format(name=name, given=given)) is None
