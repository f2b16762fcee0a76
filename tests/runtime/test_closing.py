"""Which optimizer's step closes a step of the run: one of a GAN's two, each of two that take turns."""

import pytest
from builders import Loop

from torchperf_lint.runtime.closing import Closing
from torchperf_lint.runtime.scope import Scope

LEAD = {name: object() for name in "xyz"}


def steps(turns, closing=None):
    """How many `A`, `Bx`, ... close: the optimizer, and what its step begins with, where that is known."""
    closing, number = closing or Closing(), 0
    for optimizer, *lead in turns:
        closing.leads = LEAD[lead[0]] if lead else None
        if closing.closes(ord(optimizer)):
            number += 1 + len(closing.settled())
    return number


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ("A B " * 12, 12),
        ("A B B " * 12, 12),
        ("A " * 5 + "B ", 5),
        (("A " * 5 + "B ") * 4, 20),
        (("A " + "B " * 5) * 4, 4),
        ("A A B B " * 6, 12),  # as many steps of an actor as of its critic, whenever it learns
        ("A A B C B C " * 6, 12),
        ("Ax By Cz " * 12, 12),
        ("Ax Bx " * 12, 12),  # both begin in one helper
        ("Ax By By " * 12, 12),
    ],
)
def test_optimizers_that_step_in_one_turn_of_a_loop_make_one_step(turns, expected):
    assert steps(turns.split()) == expected


@pytest.mark.parametrize(
    "turns",
    [
        ("A " * 7 + "B " * 6) * 2,
        "A " * 12 + "B " * 4,
        "A " * 100 + "B " * 100,
        ("A " * 7 + "B " * 6 + "C " * 9) * 3,
        "A Bx Bx Ax " + "Bx Bx Ax " * 3,
        "Ax Bx Bx Bx " * 4 + "Ax ",
    ],
)
def test_optimizers_that_take_turns_make_a_step_each(turns):
    assert steps(turns.split()) == len(turns.split())


@pytest.mark.parametrize(
    ("optimizers", "expected"),
    [
        (["A", "B", "A"], 3),  # `if index % 2`
        (["AB", "AB", "AB"], 3),
        (["AB", "B", "AB"], 3),
        (["BA", "A", "BA", "B"], 4),
        (["A", "BA", "BA"], 3),
        (["AA", "BA"], 3),
        (["ABB", "ABB"], 2),
    ],
)
def test_where_a_loader_feeds_them_its_batches_tell(optimizers, expected):
    closing, scope, number = Closing(), Scope(lambda: True), 0
    for turn, stepping in enumerate(optimizers):
        scope.turn = turn
        number += sum(closing.closes(ord(optimizer), scope) for optimizer in stepping)
    assert number == expected


def test_two_loaders_in_one_turn_make_no_second_step():
    closing, scopes, number = Closing(), [Scope(lambda: True, loader) for loader in ("a", "b")], 0
    for turn in range(5):
        for optimizer, scope in enumerate(scopes):
            scope.turn = turn
            number += closing.closes(optimizer, scope)
    assert number == 5


def test_a_second_stage_over_a_loader_of_its_own():
    closing, number = Closing(), 0
    for optimizer in (1, 2):
        scope = Scope(lambda: True)
        for scope.turn in range(5):
            number += closing.closes(optimizer, scope)
        scope.ended = True
    assert number == 10


@pytest.mark.parametrize("flush", [False, True])
def test_what_comes_in_each_turn_of_the_one_and_the_other_comes_in_each_step(tmp_path, monkeypatch, flush):
    loop = Loop(tmp_path, monkeypatch, warmup=2)
    for _ in range(2):
        for optimizer, times in ((1, 7), (2, 6)):
            for index in range(times):
                loop.event("each")
                if index == 1:
                    loop.event("once")
                loop.backward()
                if flush:
                    loop.recorder.flush()
                loop.step(optimizer)
    assert loop.record().steps["steps"] == 26
    assert {what: count["train_steps"] for what, count in loop.counts().items()} == {"each": 26, "once": 4}


def test_what_comes_in_each_turn_of_a_loop_with_two_branches_comes_in_each_step(tmp_path, monkeypatch):
    loop = Loop(tmp_path, monkeypatch, warmup=2)
    for index in range(12):
        loop.timeline.closing.leads = LEAD["x"] if index else None
        loop.event("upload")
        if index % 5 == 0:
            loop.event("log")
        loop.backward()
        loop.step(1 if index % 3 == 0 else 2)
    assert loop.record().steps["steps"] == 12
    assert {what: count["train_steps"] for what, count in loop.counts().items()} == {"upload": 12, "log": 3}
