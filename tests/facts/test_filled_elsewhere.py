"""Branches that leave it to other code to keep what their test found missing."""

from __future__ import annotations

import pytest
from snippets import hot_at

ESTIMATOR = """
class Estimator(nn.Module):
    def __init__(self):
        self.losses = None

    def forward(self, x):
        if {test}:
            {call}
        return x + self.losses.sum()

    def search(self, x):
        self.most = x.max().item()  # <-
        self.{kept}
        return x

    def other(self, x):
        self.seen = x
"""


@pytest.mark.parametrize(
    ("test", "call", "kept", "often"),
    [
        ("self.losses is None", "self.search(x)", "losses = x * 0", False),
        ("not hasattr(self, 'losses')", "self.search(x)", "losses = x * 0", False),
        ("self.losses is None", "y = self.search(x)", "losses = x * 0", False),
        ("self.losses is None", "self.search(x)", "others = x * 0", True),
        ("self.losses is None", "self.search(x)", "losses = None", True),
        ("self.training", "self.search(x)", "losses = x * 0", True),
        ("self.losses is not None", "self.search(x)", "losses = x * 0", True),
    ],
)
def test_a_method_keeps_what_its_caller_found_missing(test, call, kept, often):
    hot = hot_at(ESTIMATOR.format(test=test, call=call, kept=kept))
    assert (hot is not None) is often


def test_a_method_of_a_branch_that_is_not_always_called_keeps_nothing():
    call = "y = [self.search(x) for _ in range(3)]"
    assert hot_at(ESTIMATOR.format(test="self.losses is None", call=call, kept="losses = x * 0")) is not None


def test_what_the_function_drops_again_is_made_again():
    code = ESTIMATOR.format(test="self.losses is None", call="self.search(x)", kept="losses = x * 0")
    assert hot_at(code.replace("return x + self.losses.sum()", "self.losses = None")) is not None


LINEAR = """
class Linear(nn.Module):
    def forward(self, x):
        if not hasattr(self, "weight"):
            weight = self.recover()
        {behind}
        return x @ self.weight

    def recover(self):
        return torch.zeros(self.rows).to(self.scales.device)  # <-
"""


@pytest.mark.parametrize(
    ("behind", "often"),
    [
        ("self.weight = weight", False),
        ("if not hasattr(self, 'weight'): self.weight = weight", False),
        ("self.other = weight", True),
        ("self.weight = x", True),
        ("return x @ weight", True),
    ],
)
def test_what_a_branch_makes_is_kept_further_down(behind, often):
    assert (hot_at(LINEAR.format(behind=behind)) is not None) is often


PROBE = """
class Probe(nn.Module):
    def __init__(self):
        self.due = False

    def forward(self, x):
        if not self.due:
            return x
        print(x.max().item())  # <-
        self.due = False
        return x
"""


def test_a_flag_that_is_taken_down_may_be_raised_in_each_step():
    assert hot_at(PROBE) is not None
