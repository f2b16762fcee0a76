"""Waits in the loop of one of several optimizers, which come in each of its steps and in few of all."""

import pytest
from builders import Loop

from torchperf_lint.runtime.reading import evidence_of


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


def event(loop, what):
    (found,) = [event for event in evidence_of([loop.record()]).events if event.what == what]
    return found


def stages(loop, epochs, lengths, *, fed):
    """A loop for each optimizer, which reads its loss after each step; `lengths`: how many steps each has."""
    for _ in range(epochs):
        for optimizer, length in enumerate(lengths, 1):
            iterator = loop.begin(loader="its") if fed else None
            for _ in range(length):
                if fed:
                    loop.fetch(iterator)
                loop.event(f"copy {optimizer}")
                loop.backward()
                loop.step(optimizer)
                loop.event(f"loss {optimizer}")
            if fed:
                loop.fetch(iterator, got=False)
        loop.event("epoch")


@pytest.mark.parametrize("fed", [False, True])
def test_loops_that_recur_each_epoch_are_told_by_the_steps_of_their_optimizers(loop, fed):
    stages(loop, 5, [8, 8, 24], fed=fed)
    assert event(loop, "copy 1").own_loops == event(loop, "copy 2").own_loops == (40, 40)
    assert event(loop, "copy 3").own_loops == (120, 120)
    assert event(loop, "loss 1").own_loops == (35, 40), "the last of each loop is followed by a step of another"
    assert event(loop, "epoch").own_loops is None


def test_an_optimizer_that_steps_now_and_then_has_no_loop(loop):
    iterator = loop.begin()
    for index in range(60):
        loop.fetch(iterator)
        if index % 10 == 9:
            loop.event("rare")
        loop.backward()
        loop.step(2 if index % 10 == 9 else 1)
        loop.event("each")
    assert loop.record().steps["closed_by"] == [[54, 6], [6, 6]]
    assert event(loop, "rare").own_loops is None


def test_a_line_that_runs_in_few_steps_of_its_loop_has_none_of_them(loop):
    for _ in range(4):
        for optimizer in (1, 2):
            for index in range(10):
                if index % 5 == 0:
                    loop.event(f"logged {optimizer}")
                loop.backward()
                loop.step(optimizer)
    assert [event(loop, f"logged {optimizer}").own_loops for optimizer in (1, 2)] == [None, None]


def test_one_optimizer_has_all_steps(loop):
    stages(loop, 3, [10], fed=False)
    assert event(loop, "copy 1").own_loops is None
    assert all("closed_by" not in count for count in loop.counts().values())


def test_steps_that_turn_out_to_be_some_are_of_their_optimizer(loop):
    """The second optimizer's first steps seem to be part of the first's, until it has stepped four times in a row."""
    stages(loop, 6, [4, 4], fed=False)
    assert loop.record().steps["steps"] == 48
    assert loop.record().steps["closed_by"] == [[24, 6], [24, 6]]
    assert event(loop, "copy 1").own_loops == event(loop, "copy 2").own_loops == (24, 24)
