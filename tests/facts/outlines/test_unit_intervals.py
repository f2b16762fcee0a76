"""Intervals that are one step by default hold nothing back, unless they are for people."""

from __future__ import annotations

import pytest
from snippets import hot_at

EARLY = """
    class Weights(nn.Module):
        def __init__(self, {given}):
            super().__init__()
            self.{kept} = {value}
            self.register_buffer("step", torch.tensor(0))

        def forward(self, losses):
            if self.training and self.frozen or {test}:
                return losses.sum()
            return (losses * self.weights).sum()  # <-
"""
GIVEN = {"given": "update_every=1", "kept": "update_every", "value": "update_every"}


def early(test="self.step % self.update_every != 0", **changed):
    return hot_at(EARLY.format(**{**GIVEN, **changed}, test=test))


@pytest.mark.parametrize("changed", [{}, {"given": "update_every=1."}, {"given": "*, update_every: int = 1"}])
def test_what_follows_an_interval_of_one_runs_every_time(changed):
    assert early(**changed) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"given": "update_every=2"},
        {"given": "update_every"},
        {"given": "update_every=True"},
        {"value": "update_every * 10"},
        {"test": "self.step % self.other_every != 0"},
        {"test": "self.step % self.update_every != 0 or self.step % 100 != 0"},
        {
            "given": "log_every=1",
            "kept": "log_every",
            "value": "log_every",
            "test": "self.step % self.log_every != 0",
        },
    ],
)
def test_other_intervals_hold_it_back(changed):
    assert early(**changed) is None


def test_a_block_under_such_an_interval_runs_every_time():
    block = """
        class Weights(nn.Module):
            def __init__(self, update_every={default}):
                super().__init__()
                self.update_every = update_every

            def forward(self, losses):
                if self.step % self.update_every == 0:
                    self.weights = losses.detach()  # <-
                return losses.sum()
    """
    assert hot_at(block.format(default=1)) is not None
    assert hot_at(block.format(default=8)) is None
