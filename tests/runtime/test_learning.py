"""A pass over a loader that computes gradients is training only if an optimizer steps on what its loader gives."""

import gc

import pytest
from builders import Loop


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


def batches(loop):
    steps = loop.record().steps
    return steps["train_batches"], steps["eval_batches"]


def attack(loop, count, loader="test", event="attacked", times=1):
    """Evaluation with backward passes of its own, `times` a batch."""
    iterator = loop.begin(loader=loader)
    for _ in range(count):
        loop.fetch(iterator)
        loop.event(event)
        for _ in range(times):
            loop.backward()
    loop.fetch(iterator, got=False)


def epoch(loop, count, loader="train"):
    iterator = loop.begin(loader=loader)
    loop.train(iterator, count, event="trained")
    loop.fetch(iterator, got=False)


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("loader", [None, "test"])
def test_evaluation_with_gradients_after_each_epoch(loop, flush, loader):
    for _ in range(3):
        epoch(loop, 5)
        attack(loop, 4, loader, times=3)
        if flush:
            loop.record()
    assert loop.turns() == {"trained": (15, 15, 0), "attacked": (12, 0, 12)}
    assert batches(loop) == (15, 12)


@pytest.mark.parametrize("flush", [False, True])
def test_evaluation_with_gradients_within_an_epoch(loop, flush):
    iterator = loop.begin(loader="train")
    for _ in range(4):
        loop.train(iterator, 5, event="trained")
        attack(loop, 3)
        if flush:
            loop.record()
    assert loop.turns() == {"trained": (20, 20, 0), "attacked": (12, 0, 12)}


def test_evaluation_with_gradients_that_is_left_early(loop):
    iterator = loop.begin(loader="train")
    for _ in range(4):
        loop.train(iterator, 5, event="trained")
        evaluated = loop.begin(loader="test")
        for _ in range(2):
            loop.fetch(evaluated)
            loop.event("attacked")
            loop.backward()
        del evaluated
        gc.collect()
    loop.train(iterator, 5, event="trained")
    assert loop.turns() == {"trained": (25, 25, 0), "attacked": (8, 0, 8)}


def test_gradients_outside_of_every_pass_after_training_are_no_step(loop):
    epoch(loop, 5)
    gc.collect()
    for _ in range(6):
        loop.event("saliency")
        loop.backward()
    assert loop.turns()["saliency"] == (6, 0, 0)
    attack(loop, 2, event="saliency")
    assert loop.turns()["saliency"] == (8, 0, 2)


def test_gradients_of_a_whole_pass_are_stepped_on_after_it(loop):
    for _ in range(4):
        attack(loop, 5, "train", event="summed")
        gc.collect()
        loop.step()
    assert loop.turns()["summed"] == (20, 20, 0)
    assert batches(loop) == (20, 0)


def test_gradients_gathered_over_more_than_a_pass(loop):
    for index in range(4):
        iterator = loop.begin(loader="train")
        for number in range(5):
            loop.fetch(iterator)
            loop.event("gathered")
            loop.backward()
            if index % 2 and number == 3:
                loop.step()
        loop.fetch(iterator, got=False)
        loop.record()
    assert loop.turns()["gathered"] == (20, 20, 0)


def test_an_optimizer_that_closes_no_step_learns(loop):
    """A later stage trains with another optimizer, while the first lives on."""
    epoch(loop, 5)
    for _ in range(2):
        iterator = loop.begin(loader="second stage")
        for _ in range(4):
            loop.fetch(iterator)
            loop.event("second")
            loop.backward()
            loop.step(optimizer=2)
        loop.fetch(iterator, got=False)
    assert loop.turns()["second"] == (8, 8, 0)
    assert batches(loop) == (13, 0)


def test_without_any_step_gradients_are_training(loop):
    """Parameters that the script itself updates."""
    attack(loop, 20, event="trained")
    assert loop.turns()["trained"] == (20, 20, 0)
