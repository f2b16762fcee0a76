"""Tests of counters in loops that a step runs itself: each step comes to each of their turns."""

from __future__ import annotations

import pytest
from snippets import hot_at

STEP = """
class Model(nn.Module):
    def {name}(self, batch, batch_idx=0):
        for i, part in enumerate(batch):
            if {test}:
                print(part)  # <-
"""


@pytest.mark.parametrize("name", ["training_step", "forward"])
@pytest.mark.parametrize("test", ["i == 1", "i % 2 == 0"])
def test_each_step_comes_there(name, test):
    assert hot_at(STEP.format(name=name, test=test)) is not None


@pytest.mark.parametrize("test", ["batch_idx == 0", "self.step % 10 == 0", "batch_idx % 50 == 0"])
def test_steps_are_counted(test):
    assert hot_at(STEP.format(name="training_step", test=test)) is None
