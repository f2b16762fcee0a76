"""Devices whose default is the host, and names that are moved where only some turns bind them."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, HOST

CLASSES = """
class Inner(nn.Module):
    def __init__(self, width, device="cpu"):
        super().__init__()
        self.device = device

    def forward(self, x):
        return x.to(self.device)

class Outer(nn.Module):
    def __init__(self, width, device="cpu"):
        super().__init__()
        self.inner = Inner(width, {given})

{main}
"""


@pytest.mark.parametrize(
    ("given", "main", "expected"),
    [
        ("device=device", "", ANYWHERE),
        ("device", "net = Outer(8, device=pick())", ANYWHERE),
        (
            "device=device",
            "where = 'cuda' if torch.cuda.is_available() else 'cpu'\nnet = Outer(8, device=where)",
            ANYWHERE,
        ),
        ("device=device", "net = Outer(8)", HOST),
        ("device=torch.device('cpu')", "", HOST),
    ],
)
def test_a_device_that_is_handed_on(given, main, expected):
    found = value_of(CLASSES.format(given=given, main=main), "self.device")
    assert (found.kind, found.device) == ("torch_device", expected)


SOMETIMES = """
def train(ds, model, sampled):
    for data in DataLoader(ds):
        if sampled:
            x, more = data
        else:
            x = data
        if sampled:
            more = more.cuda()
        model(more).mean().backward()
"""
AGAIN = """
def play(model, n):
    state = torch.zeros(3)
    for _ in range(n):
        state = state.cuda()
        model(state).mean().backward()
"""


@pytest.mark.parametrize(
    ("snippet", "call", "expected"), [(SOMETIMES, "more.cuda()", HOST), (AGAIN, "state.cuda()", ANYWHERE)]
)
def test_what_is_moved_is_what_the_turn_has_taken(snippet, call, expected):
    site = site_of(snippet, call)
    assert site.receiver is not None
    assert site.file.value(site.receiver, site).device == expected
