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
class Loss(nn.Module):
    def __init__(self, check):
        self.due = check

    def forward(self, x, given=None):
        self.probe(x, given)
        return x.mean()

    def probe(self, x, given):
        if {test}:
            return
        print(x.max().item())  # <-
        {last}

    def start(self):
        {other}
"""


@pytest.mark.parametrize(
    ("test", "last", "other", "often"),
    [
        ("not self.due", "self.due = False", "pass", False),
        ("not self.due", "self.due = False", "self.due = False", False),
        ("not self.due or not given", "self.due = False", "pass", False),
        ("not self.due", "self.due = 0", "pass", True),
        ("not self.due and given", "self.due = False", "pass", True),
        ("not self.due", "self.due = True", "pass", True),
        ("not self.due", "if x.any(): self.due = False", "pass", True),
        ("self.due", "self.due = False", "pass", True),
        ("not self.due", "self.due = False", "self.due = True", True),  # a timer's start and end
    ],
)
def test_a_flag_that_is_taken_down_for_good_lets_nothing_through_again(test, last, other, often):
    assert (hot_at(PROBE.format(test=test, last=last, other=other)) is not None) is often
