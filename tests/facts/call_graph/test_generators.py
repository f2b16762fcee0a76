"""Loops of generators, which turn as often as the loop that draws on them."""

from __future__ import annotations

import pytest
from snippets import hot_at

DRAWN = """
def batches(x):
    table = 3
    for i in range(0, len(x), 8):
        noise = torch.randn(3).cuda(){mark}
        yield x[i]

def train(model, x, optimizer):
    for xb in {over}:
        model(xb).backward()
"""


def test_the_loop_of_a_generator_runs_every_step():
    hot = hot_at(DRAWN.format(mark="  # <-", over="batches(x)"))
    assert hot is not None
    assert hot.kind == "step"
    assert "for xb in batches(x)" in hot.because


def test_what_a_generator_does_before_its_loop_runs_once():
    assert (
        hot_at(DRAWN.format(mark="", over="batches(x)").replace("table = 3", "table = torch.zeros(3).cuda()  # <-"))
        is None
    )


def test_a_generator_nobody_trains_on_says_nothing():
    assert hot_at(DRAWN.format(mark="  # <-", over="other(x)")) is None


def test_a_generator_of_an_object_that_was_handed_in_is_known_by_its_name():
    code = """
class Storage:
    def feed_forward(self, n):
        for i in range(n):
            weight = torch.ones(3).cuda()  # <-
            yield self.data[i]

def update(rollouts, model):
    for sample in rollouts.feed_forward(4):
        model(sample).backward()
"""
    assert hot_at(code) is not None


def test_an_object_with_an_iter_of_its_own():
    code = """
class Batches:
    def __iter__(self):
        for i in range(100):
            weight = torch.ones(3).cuda()  # <-
            yield weight

def train(model):
    for sample in Batches():
        model(sample).backward()
"""
    other = code.replace("in Batches()", "in source").replace(
        "def train(model):", "def train(model):\n    source = Batches()"
    )
    assert hot_at(other) is not None


def test_generators_that_draw_on_each_other():
    code = """
def one(x):
    for a in two(x):
        yield a

def two(x):
    for b in one(x):
        print(b)  # <-
        yield b
"""
    assert hot_at(code) is None


TAKEN = """
def batches(loader):
    source = iter(loader)
    while True:
        try:
            x = next(source)
        except StopIteration:
            source = iter(loader)
            x = next(source)
        yield x.cuda()  # <-

def train(model, loader, more):
    source = batches(loader)
    for _ in range(1000):
        {turn}
        model(x).backward()
"""


@pytest.mark.parametrize(
    "turn",
    ["x = next(source)", "x, y = next(source)", "for _ in range(5):\n            x = next(source)"],
)
def test_a_loop_that_takes_the_next_of_a_generator(turn):
    hot = hot_at(TAKEN.replace("{turn}", turn))
    assert hot is not None
    assert hot.kind == "step"
    assert "for _ in range(1000)" in hot.because


@pytest.mark.parametrize(
    "turn",
    [
        "x = next(more)",
        "if step % 100 == 0:\n            x = next(source)",
        "if more:\n            source = more\n        x = next(source)",
    ],
)
def test_what_is_taken_of_something_else_or_now_and_then(turn):
    assert hot_at(TAKEN.replace("{turn}", turn)) is None


def test_a_generator_that_is_asked_once_before_the_loop():
    code = TAKEN.replace("    for _ in", "    x = next(source)\n    for _ in").replace("{turn}", "x = x + 1")
    assert hot_at(code) is None
