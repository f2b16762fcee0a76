"""Phases add up, and the time between two marks has the right name, whatever the loop looks like."""

import math
import threading

import pytest
from builders import Iterator, Loop

from torchperf_lint.runtime.sites import Key


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch)


@pytest.fixture
def warm(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=10)


def plain(loop):
    loop.train(loop.begin(start=2.0), 20)


def epochs_with_evaluation(loop):
    for _ in range(3):
        iterator = loop.begin(start=0.5, before=0.25)
        loop.train(iterator, 8)
        loop.fetch(iterator, got=False)
        loop.evaluate(4)


def zipped(loop):
    a, b = loop.begin(), loop.begin()
    for _ in range(20):
        loop.fetch(a)
        loop.fetch(b, before=0.0625)
        loop.backward()
        loop.step()


def accumulated(loop):
    iterator = loop.begin()
    for _ in range(16):
        for _ in range(4):
            loop.fetch(iterator)
            loop.backward()
        loop.step(before=0.25)


def fetched_first(loop):
    iterator = loop.begin()
    for _ in range(16):
        for _ in range(4):
            loop.fetch(iterator)
        for _ in range(4):
            loop.backward()
        loop.step()


def gan(loop):
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator)
        loop.backward()
        loop.step(1)
        loop.backward()
        loop.step(2)


def lightning(loop):
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator)
        loop.step(before=0.0625, inside=loop.backward)


def lbfgs(loop):
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator)
        loop.step(inside=lambda: [loop.backward() for _ in range(3)])


def no_loader(loop):
    for _ in range(20):
        loop.backward()
        loop.step(before=0.25)


def called(loop):
    for _ in range(20):
        loop.call(0.75)
        loop.backward()
        loop.step(before=0.25)


def inference(loop):
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator, before=0.5)
    loop.fetch(iterator, before=0.5, got=False)


def evaluated_first(loop):
    loop.evaluate(12)
    plain(loop)


def left_early(loop):
    iterator = loop.begin()
    for _ in range(4):
        loop.train(iterator, 5)
        loop.evaluate(3, before_stop=False)


def persistent(loop):
    iterator = Iterator()
    for _ in range(4):
        loop.train(loop.begin(iterator=iterator, start=0.0625), 5)
        loop.fetch(iterator, got=False)


def nested(loop):
    outer = loop.begin()
    for _ in range(5):
        loop.fetch(outer)
        inner = loop.begin()
        loop.train(inner, 4)
        loop.fetch(inner, got=False)
    loop.fetch(outer, got=False)


def looks_ahead(loop):
    """As accelerate's loaders: one batch ahead, so that they end before their last batch is trained on."""
    for _ in range(3):
        iterator = loop.begin()
        loop.fetch(iterator)
        for batch in range(8):
            loop.fetch(iterator, got=batch < 7)
            loop.backward()
            loop.step()


def in_backward(loop):
    """Optimizers that step from gradient hooks."""
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator)
        loop.timeline.backward_begins(None)
        loop.step(1, before=0.25)
        loop.step(2, before=0.25)
        loop._passed(0.25, loop.timeline.backward_ends)


SCENARIOS = {
    # batches trained and evaluated, steps
    plain: (20, 0, 20),
    epochs_with_evaluation: (24, 12, 24),
    zipped: (40, 0, 20),
    accumulated: (64, 0, 16),
    fetched_first: (64, 0, 16),
    gan: (20, 0, 20),
    lightning: (20, 0, 20),
    lbfgs: (20, 0, 20),
    no_loader: (0, 0, 20),
    inference: (0, 20, 0),
    evaluated_first: (20, 12, 20),
    left_early: (20, 12, 20),
    persistent: (20, 0, 20),
    nested: (25, 0, 20),
    looks_ahead: (24, 0, 24),
    in_backward: (20, 0, 20),
}


@pytest.mark.parametrize("warmup", [0, 3, 10])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_phases_add_up_and_batches_and_steps_are_counted(tmp_path, monkeypatch, scenario, warmup):
    loop = Loop(tmp_path, monkeypatch, warmup)
    scenario(loop)
    run = loop.record()
    steps = run.steps
    assert (steps["train_batches"], steps["eval_batches"], steps["steps"]) == SCENARIOS[scenario]
    assert loop.steady_s > 1
    assert loop.recorded_s() == pytest.approx(loop.steady_s, abs=1e-4)
    if warmup == 0 and scenario in (plain, zipped, gan, lightning, lbfgs, accumulated, no_loader):
        assert sum(loop.phases("eval").values()) == 0


def test_names_of_a_plain_step(loop):
    loop.train(loop.begin(start=2.0), 4)
    assert loop.phases() == {
        "loader start": 2.0,
        "data": 1.0,
        "forward": 2.0,
        "backward": 4.0,
        "optimizer": 0.5,
        "gradients": 0.0,
        "after the step": 0.0,
    }


def test_the_start_of_each_pass_belongs_to_training(loop):
    for _ in range(3):
        iterator = loop.begin(start=2.0)
        loop.train(iterator, 2)
        loop.fetch(iterator, wait=0.5, got=False)
    assert loop.phases()["loader start"] == 6.0
    assert loop.phases()["data"] == 3.0


def test_what_follows_the_step_and_what_follows_an_accumulated_backward(loop):
    iterator = loop.begin()
    loop.fetch(iterator)
    loop.backward()
    loop.fetch(iterator, before=0.25)
    loop.backward()
    loop.step(before=0.0625)
    loop.fetch(iterator, before=0.75)
    phases = loop.phases()
    assert (phases["after backward"], phases["gradients"], phases["after the step"]) == (0.25, 0.0625, 0.75)


def test_what_lies_between_a_step_and_the_call_of_a_model_where_no_loader_feeds_training(loop):
    called(loop)
    phases = loop.phases()
    assert phases["between steps"] == 19 * 0.75
    assert phases["forward"] == 20 * 0.5 - 0.5  # before the first mark there is no time


def test_two_optimizers_and_the_calls_before_each(loop):
    for _ in range(20):
        for optimizer in (1, 2):
            loop.call(0.25)
            loop.backward()
            loop.step(optimizer)
    phases = loop.phases()
    assert (phases["between steps"], phases["forward"]) == (39 * 0.25, 39 * 0.5)
    assert loop.timeline.steps == 20


def test_a_call_that_follows_no_step_or_a_batch_is_no_mark(loop):
    loop.backward()
    loop.call(0.25)
    loop.backward()
    loop.step()
    iterator = loop.begin()
    loop.fetch(iterator)
    loop.call(0.25)
    loop.backward()
    assert "between steps" not in loop.phases()


def test_between_two_optimizers(loop):
    iterator = loop.begin()
    loop.fetch(iterator)
    loop.backward()
    loop.step(1)
    loop.step(2, before=0.375)
    assert loop.phases()["between optimizers"] == 0.375


def test_a_closure_runs_inside_of_the_step(loop):
    lightning(loop)
    phases = loop.phases()
    assert (phases["forward"], phases["backward"], phases["optimizer"]) == (20 * 0.5625, 20.0, 20 * 0.125)


def test_optimizers_that_step_within_backward_leave_it_backward(loop):
    in_backward(loop)
    phases = loop.phases()
    assert phases["backward"] + phases["between optimizers"] == 20 * 0.75
    assert phases["optimizer"] == 20 * 0.25


def test_evaluation_has_a_time_of_its_own(loop):
    iterator = loop.begin()
    loop.train(iterator, 3)
    loop.evaluate(4)
    loop.train(iterator, 3)
    evaluation = loop.phases("eval")
    assert evaluation["data"] == 1.0
    assert evaluation["no backward"] == 2.0
    assert loop.phases()["data"] == 1.5


def test_the_warm_up_is_left_out(warm):
    warm.train(warm.begin(start=50.0), 14)
    phases = warm.phases()
    assert (phases["data"], phases["forward"], phases["backward"]) == (1.0, 2.0, 4.0)
    assert "loader start" not in phases


def test_the_warm_up_of_a_run_without_training_is_counted_in_batches(warm):
    iterator = warm.begin()
    for _ in range(13):
        warm.fetch(iterator, wait=0.5)
    warm.fetch(iterator, wait=0.0, got=False)
    assert warm.phases("eval")["data"] == 1.5


def test_batches_evaluated_before_training_do_not_use_up_its_warm_up(warm):
    warm.evaluate(15)
    warm.train(warm.begin(), 9)
    assert sum(warm.phases().values()) == 0
    assert warm.phases("eval")["data"] == 5 * 0.25


def test_histogram_of_step_times(warm):
    iterator = warm.begin()
    warm.train(iterator, 14)
    warm.clock.now += 8.125
    warm.train(iterator, 1)
    steps = warm.record().steps
    assert [count for _, count in steps["histogram"]] == [4, 1]
    quick, slow = (math.exp((index + 0.5) * steps["bucket"]) for index, _ in steps["histogram"])
    assert quick == pytest.approx(1875, rel=0.02)
    assert slow == pytest.approx(10000, rel=0.02)


def test_what_a_process_does_alone_is_kept_where_it_is_compared(warm):
    warm.train(warm.begin(), 15)
    assert warm.record().steps["phases"] == {}


def test_what_a_process_does_alone_is_kept_step_by_step(warm):
    warm.timeline.compared = True
    iterator = warm.begin()
    warm.train(iterator, 12)
    warm.evaluate(4)
    warm.timeline.waited(400.0)
    warm.train(iterator, 2)
    kept = warm.record().steps["phases"]
    times = {phase: [(math.exp((index + 0.5) * 0.02), n) for index, n in rows] for phase, rows in kept.items()}
    assert set(times) == {"data", "forward", "after the step"}
    assert [n for _, n in times["forward"]] == [4]
    assert times["forward"][0][0] == pytest.approx(500, rel=0.02)
    assert times["data"][0] == (pytest.approx(250, rel=0.02), 3)
    assert [n for _, n in times["data"]] == [3, 1]


def test_waits_for_the_device_are_taken_out_of_the_phase(loop):
    iterator = loop.begin()
    loop.fetch(iterator)
    loop.clock.now += 0.5
    loop.timeline.waited(400.0)
    loop.backward()
    phases = loop.phases()
    assert phases["forward"] == pytest.approx(0.6)
    assert phases["waiting for the device"] == pytest.approx(0.4)
    assert loop.recorded_s() == pytest.approx(0.25 + 1.0 + 1.0)


def test_compiling_is_taken_out_of_the_phase_and_beside_waits_never_more_than_there_is(loop):
    iterator = loop.begin()
    loop.fetch(iterator)
    loop.timeline.compiled(300.0)
    loop.timeline.waited(400.0)
    loop.backward(forward=0.5)
    phases = loop.phases()
    assert phases["compiling"] == pytest.approx(0.3)
    assert phases["waiting for the device"] == pytest.approx(0.2)
    assert phases["forward"] == pytest.approx(0.0)
    assert loop.recorded_s() == pytest.approx(0.25 + 0.5 + 1.0)


def test_a_wait_that_was_measured_longer_than_the_segment_does_not_add_time(loop):
    loop.fetch(loop.begin(), wait=0.25)
    loop.timeline.waited(9000.0)
    loop.backward(forward=0.5)
    assert loop.recorded_s() == pytest.approx(0.25 + 0.5 + 1.0)


def test_each_pass_over_nested_data_is_one_wait(loop):
    """A data set that reads another loader within its own fetch."""
    outer, inner = loop.begin(), Iterator()
    for _ in range(3):
        loop.timeline.fetch_begins(None)
        loop.clock.now += 0.25
        loop.begin(iterator=inner, start=0.25)
        loop.fetch(inner, wait=0.25)
        loop.timeline.fetch_ends(None, outer, True)
        loop.backward()
        loop.step()
    assert loop.record().steps["train_batches"] == 3
    assert loop.phases()["data"] == 3 * 0.75
    assert loop.phases().get("loader start", 0.0) == 0.0


def in_thread(action):
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def test_a_loader_read_by_a_background_thread_before_training_begins(loop):
    iterator = Iterator()
    in_thread(lambda: [loop.fetch(iterator) for _ in range(5)])
    for _ in range(20):
        in_thread(lambda: loop.fetch(iterator))
        loop.backward()
        loop.step()
    run = loop.record()
    assert run.steps["steps"] == 20
    assert run.steps["train_batches"] == run.steps["eval_batches"] == 0
    assert set(loop.phases()) == {"forward", "backward", "optimizer", "gradients"}


def test_a_background_thread_is_told_from_the_training_one(loop):
    iterator = loop.begin()
    loop.train(iterator, 2)
    seen = []
    in_thread(lambda: seen.append(loop.timeline.fetch_begins(None)))
    seen.append(loop.timeline.fetch_begins(None))
    assert seen == [False, True]


def test_a_fetch_that_began_before_another_thread_took_over_ends_quietly(loop):
    iterator = Iterator()
    fetching, taken = threading.Event(), threading.Event()

    def read():
        loop.timeline.fetch_begins(None)
        fetching.set()
        taken.wait()
        loop.timeline.fetch_ends(None, iterator, True)

    thread = threading.Thread(target=read)
    thread.start()
    fetching.wait()
    loop.backward()
    loop.step()
    taken.set()
    thread.join()
    loop.train(loop.begin(), 3)
    assert loop.record().steps["steps"] == 4
    assert loop.record().steps["train_batches"] == 3


def test_an_evaluating_thread_beside_training_is_left_out(loop):
    iterator = loop.begin()
    loop.train(iterator, 5)
    in_thread(lambda: loop.evaluate(5))
    loop.train(iterator, 5)
    run = loop.record()
    assert (run.steps["train_batches"], run.steps["eval_batches"]) == (10, 0)


def test_muted_in_the_middle_of_a_fetch(loop):
    iterator = loop.begin()
    loop.timeline.fetch_begins(None)
    loop.recorder.muted = True
    loop.timeline.fetch_ends(None, iterator, True)
    loop.recorder.muted = False
    loop.train(iterator, 3)
    assert loop.record().steps["steps"] == 3


def test_callbacks_at_the_first_mark_and_at_steps(loop):
    first, steps = [], []
    loop.timeline.on_first_mark.append(lambda: first.append(1))
    loop.timeline.on_step.append(steps.append)
    loop.train(loop.begin(), 3)
    assert (first, steps) == ([1], [1, 2, 3])


def test_two_hundred_places_are_told_apart_the_rest_is_summed(loop):
    places = [Key(compile("0", f"f{n}.py", "exec"), 0, None, 0) for n in range(300)]
    loop.timeline.backward_begins(None)
    for key in places:
        loop.clock.now += 0.25
        loop.timeline.step_begins(key)
    time_ = loop.record().time
    rows = time_["outside"] + time_["train"]
    assert len(rows) <= 42
    assert sum(row[3] for row in rows) == pytest.approx(75_000)


def test_an_event_knows_the_first_and_the_last_step_that_it_came_in(loop):
    iterator = loop.begin()
    loop.train(iterator, 5)
    loop.train(iterator, 6, event="item")
    loop.train(iterator, 9)
    (count,) = loop.record().counts.values()
    assert (count["n"], count["train_turns"], count["first"], count["last"]) == (6, 6, 6, 11)


def test_steps_before_a_window_are_kept_apart(warm):
    iterator = warm.begin()
    warm.train(iterator, 15)
    warm.timeline.leave_out()
    warm.train(iterator, 10)
    warm.timeline.take_in()
    warm.train(iterator, 30)
    steps = warm.record().steps
    assert sum(n for _, n in steps["undisturbed"]) == 5
    assert sum(n for _, n in steps["histogram"]) == 5 + 29


def test_nothing_is_written_where_nothing_has_changed(loop):
    loop.train(loop.begin(), 3)
    loop.record()
    assert list(loop.timeline.records()) == []
    loop.backward()
    assert [r["record"] for r in loop.timeline.records()] == ["spans", "steps", "time"]


def test_an_optimizer_that_replaces_the_first(loop):
    iterator = loop.begin()
    loop.train(iterator, 4)
    loop.timeline.closing.gone(1)
    for _ in range(6):
        loop.fetch(iterator)
        loop.backward()
        loop.step(2)
    assert loop.record().steps["steps"] == 10


def test_a_second_optimizer_that_is_gone_changes_nothing(loop):
    gan(loop)
    loop.timeline.closing.gone(2)
    gan(loop)
    assert loop.record().steps["steps"] == 40


def test_a_stage_with_another_optimizer_while_the_first_lives_on(loop):
    for optimizer in (1, 2):
        for _ in range(100):
            loop.fetch(loop.begin())
            loop.backward()
            loop.step(optimizer)
    assert 170 <= loop.record().steps["steps"] <= 200


@pytest.mark.parametrize("ratio", [(5, 1), (1, 5)])
def test_a_gan_with_five_steps_of_one_for_one_of_the_other(loop, ratio):
    for _ in range(20):
        for optimizer, times in enumerate(ratio, 1):
            for _ in range(times):
                loop.backward()
                loop.step(optimizer)
    assert loop.record().steps["steps"] == 20 * ratio[0]
