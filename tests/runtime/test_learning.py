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


def one_batch(loop, event, loader, times=1):
    """`next(iter(loader))`: the iterator is gone before its batch is used."""
    iterator = loop.begin(loader=loader)
    loop.fetch(iterator)
    del iterator
    gc.collect()
    loop.event(event)
    for _ in range(times):
        loop.backward()


@pytest.mark.parametrize("flush", [False, True])
def test_one_step_after_a_batch_of_each_of_several_loaders(loop, flush):
    for _ in range(12):
        loop.zero_grad()
        for task in range(3):
            one_batch(loop, f"task {task}", f"loader {task}")
            if flush:
                loop.record()
        loop.step()
    assert loop.turns() == {f"task {task}": (12, 12, 0) for task in range(3)}
    assert batches(loop) == (36, 0)


@pytest.mark.parametrize("flush", [False, True])
def test_one_step_after_whole_passes_over_several_loaders(loop, flush):
    for _ in range(6):
        loop.zero_grad()
        for client in range(3):
            attack(loop, 4, f"client {client}", event="summed")
            gc.collect()
            if flush:
                loop.record()
        loop.step()
    assert loop.turns()["summed"] == (72, 72, 0)
    assert batches(loop) == (72, 0)


@pytest.mark.parametrize("zeroed", [(), (2,)])
def test_gradients_of_another_optimizer_are_thrown_away(loop, zeroed):
    """Several models, whose optimizers step after all of them: one's zero_grad() is not about the others."""
    loop.scopes.owned |= {1: frozenset({1, 2}), 2: frozenset({3})}
    for _ in range(4):
        loop.zero_grad(1, 2)
        one_batch(loop, "first", "loader 1")
        loop.zero_grad(3, *zeroed)
        one_batch(loop, "second", "loader 2")
        loop.step(optimizer=1)
        loop.step(optimizer=2)
    assert loop.turns() == {"first": (4, 4, 0), "second": (4, 4, 0)}


def test_gradients_of_parts_of_what_an_optimizer_steps_on_are_thrown_away(loop):
    loop.scopes.owned[1] = frozenset({1, 2, 3})
    for parts in ([(1, 2)], [(1,), (2, 3)]):
        attack(loop, 3, f"after {len(parts)}", event=f"after {len(parts)}")
        for part in parts:
            loop.zero_grad(*part)
        epoch(loop, 4)
    assert loop.turns() == {"after 1": (3, 3, 0), "trained": (8, 8, 0), "after 2": (3, 0, 3)}


@pytest.mark.parametrize("flush", [False, True])
def test_gradients_that_are_thrown_away_in_the_training_loop(loop, flush):
    """A loader made anew for each epoch, gradients over 8 batches, set to zero before each epoch of 5."""
    for index in range(4):
        loop.zero_grad()
        iterator = loop.begin(loader=f"train {index}", made=1)
        for number in range(5):
            loop.fetch(iterator)
            loop.event("summed")
            loop.backward()
            if (index * 5 + number + 1) % 8 == 0:
                loop.step()
        loop.fetch(iterator, got=False)
        if flush:
            loop.record()
    assert loop.turns()["summed"] == (20, 20, 0)
    assert batches(loop) == (20, 0)


@pytest.mark.parametrize("first", [0, 1])
def test_no_step_after_some_of_whole_passes(loop, first):
    for index in range(5):
        loop.zero_grad()
        attack(loop, 5, "train", event="summed")
        gc.collect()
        if index >= first:
            loop.step()
    assert loop.turns()["summed"] == (25, 25, 0)


def test_training_under_attack(loop):
    """The attack's gradients are thrown away, and the step is on those that follow for the same batch."""
    iterator = loop.begin(loader="train")
    for _ in range(4):
        loop.fetch(iterator)
        loop.event("attacked")
        loop.backward()
        loop.zero_grad()
        loop.backward()
        loop.step()
    for _ in range(4):
        one_batch(loop, "one", "batches")
        loop.zero_grad()
        loop.backward()
        loop.step()
    assert loop.turns() == {"attacked": (4, 4, 0), "one": (4, 4, 0)}


@pytest.mark.parametrize("zeroes", [False, True])
@pytest.mark.parametrize("size", [2, 4])
def test_evaluation_with_gradients_where_training_has_no_loader(loop, size, zeroes):
    for _ in range(4):
        for _ in range(10):
            if zeroes:
                loop.zero_grad()
            loop.event("trained")
            loop.backward()
            loop.step()
        attack(loop, size, event="attacked")
        gc.collect()
    assert loop.turns() == {"trained": (40, 40, 0), "attacked": (4 * size, 0, 4 * size)}


@pytest.mark.parametrize("left", [False, True])
def test_evaluation_with_gradients_before_a_batch_is_used(loop, left):
    iterator = loop.begin(loader="train")
    for number in range(20):
        loop.fetch(iterator)
        loop.event("fetched")
        if number % 5 == 1:
            test = loop.begin(loader="test")
            for _ in range(3):
                loop.fetch(test)
                loop.event("attacked")
                loop.backward()
            if not left:
                loop.fetch(test, got=False)
            del test
            gc.collect()
        loop.event("used")
        loop.zero_grad()
        loop.backward()
        loop.step()
    assert loop.turns() == {"fetched": (20, 20, 0), "attacked": (12, 0, 12), "used": (20, 20, 0)}
    assert batches(loop) == (20, 12)
