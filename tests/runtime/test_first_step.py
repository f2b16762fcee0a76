"""Without a loader, the first training step has what the next ones show to be a step's."""

import pytest
from builders import Loop


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


def step(loop, first, upload=("upload",), calls=2):
    """A model, then a loss that is a module, too: calls are told until the first backward pass."""
    for what in upload:
        loop.event(what)
    for number in range(calls):
        if first:
            loop.scopes.answers()
        loop.event(f"call {number}")
    loop.backward()
    loop.step()


def figures(loop, what):
    count = loop.counts()[what]
    return count["trained"], count["train_steps"], count["train_turns"], count.get("before", 0)


@pytest.mark.parametrize("flush", [False, True])
def test_a_loss_that_is_a_module_takes_nothing_from_the_first_step(loop, flush):
    loop.event("move")
    for index in range(4):
        step(loop, first=not index)
        if flush:
            loop.record()
    assert figures(loop, "upload") == figures(loop, "call 0") == figures(loop, "call 1") == (4, 4, 4, 0)
    assert loop.turns()["move"] == (1, 0, 0)


def test_a_line_of_the_set_up_that_steps_run_too_gives_the_first_step_no_more_than_others_have(loop):
    for _ in range(64):
        loop.event("to the device")
    for index in range(5):
        step(loop, not index, upload=["to the device"] * 3)
    assert figures(loop, "to the device") == (15, 5, 5, 0)


def test_an_evaluation_before_the_first_step_and_after_it_is_not_of_the_first(loop):
    def evaluate(answers):
        for _ in range(20):
            if answers:
                loop.scopes.answers()
            loop.event("read")

    evaluate(answers=True)
    for index in range(6):
        step(loop, first=not index)
        if index == 0:
            evaluate(answers=False)
    count = loop.counts()["read"]
    assert (count["before"], count["trained"]) == (20, 20)
    assert figures(loop, "upload")[:2] == (6, 6)


def test_a_buffer_that_was_filled_gives_the_first_step_its_share(loop):
    for _ in range(50):
        loop.event("act")
        loop.scopes.answers()
    for index in range(6):
        if index:
            loop.event("act")
        loop.event("learn")
        loop.backward()
        loop.step()
    assert figures(loop, "act") == (6, 6, 6, 48)


def test_after_two_steps_nobody_knows(loop):
    for index in range(2):
        step(loop, first=not index)
    assert figures(loop, "upload")[:2] == (1, 1)


def test_a_loader_that_begins_meanwhile_leaves_it_open(loop):
    step(loop, first=True)
    loop.evaluate(5, event="upload")
    for _ in range(3):
        step(loop, first=False)
    assert figures(loop, "upload")[:2] == (3, 3)
