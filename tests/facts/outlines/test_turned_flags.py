"""Flags of an object that a step takes down when it finds them up."""

from __future__ import annotations

import pytest
from snippets import hot_at

AGENT = """
class Agent:
    def __init__(self, net, optimizer):
        self.net, self.optimizer, self.wanted = net, optimizer, True

    def compute_loss(self, batch, skip=False):
        loss = self.net(batch).mean()
        stats = {{}}
        if not skip:
            stats["loss"] = loss.item()  # <-
        return loss, stats

    def update(self, batch):
        {before}
        loss, stats = self.compute_loss(batch, {given})
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        {after}
        {turned}

    def end_epoch(self):
        self.wanted = True

def train(agent, loader):
    for batch in loader:
        agent.update(batch)
"""
TURNED = "self.wanted = False"


@pytest.mark.parametrize(
    ("before", "given", "after", "turned", "often"),
    [
        ("pass", "skip=not self.wanted", "if self.wanted:", f"    {TURNED}", False),
        ("pass", "not self.wanted", "pass", TURNED, False),
        ("skip = not self.wanted", "skip=skip", "if self.wanted:", f"    {TURNED}", False),
        ("pass", "skip=self.wanted", "if self.wanted:", f"    {TURNED}", True),
        ("pass", "skip=not self.wanted", "if not self.wanted:", f"    {TURNED}", True),
        ("pass", "skip=not self.wanted", "if self.wanted:", "    self.stats = stats", True),
        ("self.wanted = True", "skip=not self.wanted", "if self.wanted:", f"    {TURNED}", True),
        ("pass", "skip=not self.wanted", "if len(batch) > 3:", f"    {TURNED}", True),
        ("pass", "skip=not self.wanted", "if self.wanted:", "    self.wanted = len(batch) > 3", True),
        ("pass", "", "if self.wanted:", f"    {TURNED}", True),
    ],
)
def test_what_a_flag_asks_for_that_the_caller_takes_down_is_seldom(before, given, after, turned, often):
    text = AGENT.format(before=before, given=given, after=after, turned=turned)
    assert (hot_at(text) is not None) is often


def test_one_of_two_callers_may_ask_for_it_each_time():
    text = AGENT.format(before="pass", given="skip=not self.wanted", after="if self.wanted:", turned=f"    {TURNED}")
    asks = "        agent.compute_loss(batch)[0].backward()\n"
    assert hot_at(text) is None
    assert hot_at(f"{text}{asks}") is not None


TEST = """
class Model(nn.Module):
    def forward(self, x):
        y = self.layer(x)
        if {test}:
            self.kept = y.mean().item()  # <-
        {after}
        return y
"""


@pytest.mark.parametrize(
    ("test", "after", "often"),
    [
        ("self.wanted", "self.wanted = False", False),
        ("self.wanted", "if self.wanted: self.wanted = False", False),
        ("not self.seen", "self.seen = True", False),
        ("self.wanted", "self.wanted = True", True),
        ("self.wanted", "self.wanted = y.shape[0] > 3", True),
        ("self.wanted", "for row in y: self.wanted = False", True),
        ("wanted", "wanted = False", True),
    ],
)
def test_a_branch_for_a_flag_that_is_taken_down_behind_it_is_seldom(test, after, often):
    assert (hot_at(TEST.format(test=test, after=after)) is not None) is often
