"""The first steps after the warm-up are kept as they ran, and no more than that."""

from pathlib import Path

import pytest
from builders import Loop

from torchperf_lint.runtime import sample as sample_module
from torchperf_lint.runtime.sample import MOST, STEPS
from torchperf_lint.spans import sample_of


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch)


@pytest.fixture
def warm(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=10)


def kept(loop):
    return sample_of(loop.record())


def test_each_mark_stands_at_its_time(warm, monkeypatch):
    monkeypatch.setattr(sample_module, "time", lambda: 5_000.0)
    warm.train(warm.begin(), 13)
    found = kept(warm)
    assert [turn.number for turn in found.turns] == [11, 12, 13]
    assert [(s.phase, s.us / 1e6) for s in found.spans[:6]] == [
        ("after the step", 0),
        ("data", 0.25),
        ("forward", 0.5),
        ("backward", 1),
        ("gradients", 0),
        ("optimizer", 0.125),
    ]
    # One after the other, from the end of the warm-up to the last mark.
    ends = [0.0, *(span.start_us + span.us for span in found.spans)]
    assert [span.start_us for span in found.spans] == ends[:-1]
    assert [turn.end_us for turn in found.turns] == [1.875e6 * n for n in (1, 2, 3)]
    assert found.at == 5_000.0 - 3 * 1.875


def test_it_ends_with_its_last_step(warm):
    warm.train(warm.begin(), 10 + STEPS + 30, event="item")
    found = kept(warm)
    assert len(found.turns) == STEPS
    assert found.turns[-1].end_us == max(span.start_us + span.us for span in found.spans)
    assert len(found.spans) == 6 * STEPS
    assert len([i for i in found.instants if i.what == "item"]) == STEPS
    assert warm.recorder.on_event is None


def test_steps_of_many_batches_fill_it_earlier(warm):
    iterator = warm.begin()
    for _ in range(12):
        for _ in range(400):
            warm.fetch(iterator)
            warm.backward()
        warm.step()
    found = kept(warm)
    assert len(found.spans) == MOST
    assert len(found.turns) < 3


def test_events_beyond_the_most_are_left_out(warm):
    warm.train(warm.begin(), 11)
    for _ in range(MOST + 50):
        warm.event("item")
    warm.train(warm.begin(), 2)
    assert len(kept(warm).instants) == MOST


def test_waits_that_were_timed_keep_their_length(warm):
    warm.train(warm.begin(), 10)
    warm.event("early")
    warm.train(warm.begin(), 1)
    warm.event("item", ms=2.5)
    warm.event("copy")
    warm.train(warm.begin(), 1)
    assert [(i.kind, i.what, i.us) for i in kept(warm).instants] == [("sync", "item", 2500), ("sync", "copy", None)]


def test_what_was_written_before_is_added_to(warm):
    iterator = warm.begin()
    for _ in range(20):
        warm.train(iterator, 1, event="item")
        warm.recorder.flush()
    found = kept(warm)
    assert [turn.number for turn in found.turns] == list(range(11, 21))
    assert len(found.spans) == 6 * 10
    text = [line for line in Path(warm.recorder.path).read_text().splitlines() if '"spans"' in line]
    assert len(text) == 10
    assert max(map(len, text)) < 1500


def test_what_was_read_before_training_is_no_part_of_it(warm):
    warm.evaluate(15)
    warm.recorder.flush()
    assert {s.phase for s in kept(warm).spans} <= {"data", "no backward", "loader start", "forward"}
    assert [turn.number for turn in kept(warm).turns][:2] == [11, 12]
    warm.train(warm.begin(), 12)
    found = kept(warm)
    assert [turn.number for turn in found.turns] == [11, 12]
    assert found.spans[0].phase == "after the step" or found.spans[0].start_us == 0
    assert "optimizer" in {s.phase for s in found.spans}


def test_without_a_warm_up_the_first_step_is_whole(loop):
    loop.train(loop.begin(), 2)
    found = kept(loop)
    assert [turn.number for turn in found.turns] == [1, 2]
    assert [s.phase for s in found.spans][:4] == ["loader start", "loader start", "data", "forward"]


def test_another_threads_events_are_not_in_it(warm):
    from threading import Thread

    warm.train(warm.begin(), 11)
    other = Thread(target=warm.event, args=("elsewhere",))
    other.start()
    other.join()
    warm.event("here")
    warm.train(warm.begin(), 1)
    assert [i.what for i in kept(warm).instants] == ["here"]


def test_nothing_is_kept_where_times_mean_nothing(warm):
    warm.timeline.sample.allowed = False
    warm.train(warm.begin(), 15)
    assert kept(warm) is None
    assert warm.record().spans == {}


def test_a_run_within_its_warm_up_keeps_none(warm):
    warm.train(warm.begin(), 9)
    assert kept(warm) is None
