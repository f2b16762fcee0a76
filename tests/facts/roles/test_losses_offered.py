"""Losses that a library computes in methods which nothing in the project calls."""

from __future__ import annotations

import pytest
from snippets import hot_at

LOSS = """
    def {name}(states: torch.Tensor, lanes: torch.Tensor) -> {gives}:
        total = states.square().sum()  # <-
        return total

    class Simulator:
        def compute_wrong_way(self):
            return {name}(self.states, self.lanes)
    """
WRAPPED = """
    class Wrapper:
        def __init__(self, inner: Simulator):
            self.inner = inner

        def compute_wrong_way(self):
            return self.inner.compute_wrong_way()
    """
PROGRAM = """
    if __name__ == "__main__":
        Simulator().compute_wrong_way()
    """
EVALUATES = """
    @torch.no_grad()
    def validate(model: nn.Module, loader):
        for x, y in loader:
            lane_loss(model(x), y)
    """
ONCE = """
    def plot_lanes(states):
        return lane_loss(states, states)
    """


def hot(more="", name="lane_loss", gives="torch.Tensor"):
    return hot_at(LOSS.format(name=name, gives=gives) + more)


@pytest.mark.parametrize("more", ["", WRAPPED])
def test_a_loss_for_whoever_trains(more):
    found = hot(more)
    assert found is not None and found.kind == "step" and found.when.startswith("every training step that asks for it")


@pytest.mark.parametrize(
    "setting",
    [{"more": PROGRAM}, {"more": ONCE}, {"name": "lane_angle"}, {"name": "log_loss"}, {"gives": "float"}],
)
def test_what_a_program_gets_to_or_is_no_loss(setting):
    assert hot(**setting) is None


def test_what_evaluates_says_how_often():
    found = hot(EVALUATES)
    assert found is not None and found.kind == "eval"
