"""What one process does in each step, beside the others: alone, and where it meets them."""

import pytest
from builders import Loop

from torchperf_lint.runtime import pace
from torchperf_lint.runtime.pace import Pace
from torchperf_lint.runtime.reading import evidence_of


def rows(kept):
    return [row for record in kept.records() for row in record["steps"]]


def test_a_collective_is_no_part_of_the_stretch_it_falls_into():
    kept = Pace()
    kept.meets(0.25)
    kept.passes("forward", 1.0)
    kept.passes("backward", 2.0)
    kept.passes(None, 4.0)
    kept.closes(1)
    assert rows(kept) == [[1, 0.0, 750.0, 0.0, 2000.0, 250.0]]


def test_a_collective_is_no_longer_than_the_stretch():
    kept = Pace()
    kept.meets(9.0)
    kept.passes("data", 1.0)
    kept.passes("forward", 1.0)
    kept.closes(1)
    assert rows(kept) == [[1, 0.0, 1000.0, 0.0, 0.0, 1000.0]]


def test_steps_are_thinned_out_the_same_way_whenever_they_are_written():
    once, often = Pace(), Pace()
    written = []
    for step in range(11, 5000):
        for kept in (once, often):
            kept.passes("data", 0.001)
            kept.closes(step)
        written += rows(often)
    assert rows(once) == written
    steps = [row[0] for row in written]
    assert steps[:20] == list(range(11, 31))
    assert len(steps) < 600
    assert all(step % 16 == 0 for step in steps if step > 3000)


def test_what_was_written_is_not_written_again():
    kept = Pace()
    kept.closes(1)
    assert len(rows(kept)) == 1
    assert list(kept.records()) == []


@pytest.fixture
def loop(tmp_path, monkeypatch):
    made = Loop(tmp_path, monkeypatch, warmup=2)
    made.timeline.compared = True
    return made


def test_the_phases_of_a_loop(loop):
    iterator = loop.begin()
    for turn in range(22):
        loop.fetch(iterator, wait=0.25, before=0.125)
        loop.timeline.met(2000.0)
        loop.backward(forward=4.0, backward=1.0)
        loop.step(takes=0.5)
        del turn
    (rank,) = evidence_of([loop.record()]).ranks
    found = {phase: round(ms / 1000, 1) for phase, ms in {**rank.alone_ms, **rank.together_ms}.items()}
    assert found == pytest.approx(
        {"data": 0.25, "forward": 2.0, "after the step": 0.125, "backward": 1.0, "collectives": 2.0}, abs=0.06
    )
    assert set(rank.single_steps) == set(range(3, 23))
    assert rank.single_steps[22] == {
        "data": 250.0,
        "forward": 2000.0,
        "after the step": 125.0,
        "backward": 1000.0,
        "collectives": 2000.0,
    }
    assert tuple(rank.single_steps[22]) == pace.PHASES


def test_another_threads_collectives_are_not_the_loops(loop):
    import threading

    iterator = loop.begin()
    for _ in range(5):
        loop.fetch(iterator)
        thread = threading.Thread(target=loop.timeline.met, args=(100.0,))
        thread.start()
        thread.join()
        loop.backward()
        loop.step()
    (rank,) = evidence_of([loop.record()]).ranks
    assert {ms["collectives"] for ms in rank.single_steps.values()} == {0.0}
