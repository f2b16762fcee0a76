"""What happens is counted in the loop it belongs to: in how many training steps and in how many evaluation batches."""

import gc

import pytest
from builders import Iterator, Loop

from torchperf_lint.runtime.scopes import Scopes


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


def batches(loop):
    steps = loop.record().steps
    return steps["train_batches"], steps["eval_batches"]


def test_plain_loop_events_in_each_place(loop):
    loop.event("before")
    iterator = loop.begin()
    for _ in range(20):
        loop.fetch(iterator)
        loop.event("forward")
        loop.event("forward")
        loop.backward()
        loop.event("gradients")
        loop.step()
        loop.event("after")
    loop.fetch(iterator, got=False)
    loop.event("end")
    assert loop.turns() == {
        "before": (1, 0, 0),
        "forward": (40, 20, 0),
        "gradients": (20, 20, 0),
        "after": (20, 20, 0),
        "end": (1, 0, 0),
    }


def test_an_event_in_one_step_of_ten(loop):
    iterator = loop.begin()
    for index in range(100):
        loop.train(iterator, 1)
        if index % 10 == 9:
            for _ in range(7):
                loop.event("log")
    assert loop.turns()["log"] == (70, 10, 0)


def test_epochs_with_evaluation_between(loop):
    for _ in range(3):
        iterator = loop.begin()
        loop.train(iterator, 8, event="train")
        loop.fetch(iterator, got=False)
        loop.event("between")
        loop.evaluate(4, event="eval")
        loop.event("checkpoint")
    turns = loop.turns()
    assert turns["train"] == (24, 24, 0)
    assert turns["eval"] == (12, 0, 12)
    assert turns["between"] == turns["checkpoint"] == (3, 0, 0)
    assert batches(loop) == (24, 12)


def test_evaluation_in_the_middle_of_an_epoch(loop):
    iterator = loop.begin()
    for _ in range(4):
        loop.train(iterator, 5, event="train")
        loop.evaluate(3, event="eval")
    turns = loop.turns()
    assert (turns["train"], turns["eval"]) == ((20, 20, 0), (12, 0, 12))


@pytest.mark.parametrize("flush", [False, True])
def test_evaluation_left_early(loop, flush):
    iterator = loop.begin()
    for _ in range(4):
        loop.train(iterator, 5, event="train")
        loop.evaluate(3, event="eval", before_stop=False)
        if flush:
            loop.recorder.flush()
    turns = loop.turns()
    assert (turns["train"], turns["eval"]) == ((20, 20, 0), (12, 0, 12))
    assert batches(loop) == (20, 12)


def test_a_batch_that_is_fetched_to_be_dropped_is_none_of_evaluation(loop):
    """`for i, batch in enumerate(loader): if i == 3: break`, every few steps, and then a checkpoint."""
    train = loop.begin()
    for _ in range(3):
        loop.train(train, 4, "upload")
        iterator = loop.evaluate(3, "metric", before_stop=False)
        loop.fetch(iterator)
        del iterator
        loop.event("checkpoint")
    assert loop.turns() == {"upload": (12, 12, 0), "metric": (9, 0, 9), "checkpoint": (3, 2, 0)}
    assert loop.record().steps["eval_batches"] == 9
    assert loop.counts()["metric"]["eval_of"] == 9


@pytest.mark.parametrize("every", [1, 2])
def test_a_last_batch_that_is_used_is_one_of_evaluation(loop, every):
    """Left at the end of the loop's body, or with events that not every batch has."""
    loop.train(loop.begin(), 4, "upload")
    iterator = loop.begin()
    for number in range(1, 6):
        loop.fetch(iterator)
        if number % every == 0 or every == 1:
            loop.event("metric")
    del iterator
    assert loop.record().steps["eval_batches"] == 5


def test_evaluation_left_early_whose_iterator_lives_on(loop):
    """Persistent workers: the loader keeps its iterator."""
    iterator, kept = loop.begin(), Iterator()
    for _ in range(4):
        loop.train(iterator, 5, event="train")
        evaluated = loop.begin(iterator=kept)
        for _ in range(3):
            loop.fetch(evaluated)
            loop.event("eval")
    loop.train(iterator, 5, event="train")
    turns = loop.turns()
    assert turns["train"] == (25, 25, 0)
    assert batches(loop)[0] == 25
    loop.begin(iterator=kept)
    turns = loop.turns()
    assert turns["eval"] == (12, 0, 12)
    assert batches(loop) == (25, 12)


def test_a_check_before_training_that_is_left_early(loop):
    """Lightning's sanity check."""
    kept = loop.begin()
    for _ in range(2):
        loop.fetch(kept)
        loop.event("check")
    loop.train(loop.begin(), 10, event="train")
    del kept
    gc.collect()
    turns = loop.turns()
    assert (turns["train"], turns["check"]) == ((10, 10, 0), (2, 0, 2))


def test_a_data_set_read_through_for_statistics_then_trained(loop):
    loop.evaluate(5, event="mean")
    loop.train(loop.begin(), 10, event="train")
    assert loop.turns() == {"mean": (5, 0, 5), "train": (10, 10, 0)}


def test_two_loaders_zipped(loop):
    a, b = loop.begin(), loop.begin()
    for _ in range(10):
        loop.fetch(a)
        loop.event("first")
        loop.fetch(b)
        loop.event("both")
        loop.backward()
        loop.step()
    assert loop.turns() == {"first": (10, 10, 0), "both": (10, 10, 0)}
    assert batches(loop) == (20, 0)


def test_a_second_loader_that_joins_now_and_then(loop):
    a, b = loop.begin(), loop.begin()
    for index in range(20):
        loop.fetch(a)
        if index % 5 == 0:
            loop.fetch(b)
            loop.event("rehearsal")
        loop.backward()
        loop.step()
    assert loop.turns()["rehearsal"] == (4, 4, 0)
    assert batches(loop) == (24, 0)


def test_nested_loaders_both_train(loop):
    outer = loop.begin()
    for _ in range(5):
        loop.fetch(outer)
        loop.event("outer")
        inner = loop.begin()
        loop.train(inner, 4, event="inner")
        loop.fetch(inner, got=False)
    loop.fetch(outer, got=False)
    assert loop.turns() == {"outer": (5, 5, 0), "inner": (20, 20, 0)}
    assert batches(loop) == (25, 0)


def test_batches_fetched_first_then_their_backwards(loop):
    """Gradient accumulation of HF's Trainer: events of the four forward passes share one turn."""
    iterator = loop.begin()
    for _ in range(6):
        for _ in range(4):
            loop.fetch(iterator)
        for _ in range(4):
            loop.event("forward")
            loop.backward()
        loop.step()
    assert loop.turns()["forward"] == (24, 6, 0)
    assert batches(loop) == (24, 0)


def test_a_loader_that_looks_one_batch_ahead(loop):
    """accelerate's: it has ended before its last batch is trained on."""
    for _ in range(3):
        iterator = loop.begin()
        loop.fetch(iterator)
        for index in range(8):
            loop.fetch(iterator, got=index < 7)
            loop.backward()
            loop.event("after backward")
            loop.step()
        loop.evaluate(2, event="eval")
    turns = loop.turns()
    assert turns["after backward"][0] == 24
    assert (
        turns["after backward"][1] >= 21
    )  # a turn is the batch fetched last; the last two batches of a pass share one
    assert turns["eval"] == (6, 0, 6)
    assert batches(loop) == (24, 6)
    assert loop.scopes.root.training is False


def test_training_from_tensors_beside_evaluation_by_loader(loop):
    for _ in range(5):
        for _ in range(4):
            loop.event("train")
            loop.backward()
            loop.step()
        loop.evaluate(3, event="eval")
    turns = loop.turns()
    assert (turns["train"], turns["eval"]) == ((20, 20, 0), (15, 0, 15))
    assert batches(loop) == (0, 15)


def test_training_from_tensors_after_evaluation_left_early(loop):
    for _ in range(5):
        loop.evaluate(3, event="eval", before_stop=False)
        for _ in range(4):
            loop.backward()
            loop.step()
            loop.event("train")
    turns = loop.turns()
    assert turns["eval"] == (15, 0, 15)
    assert turns["train"][1] >= 15
    assert batches(loop) == (0, 15)


def test_how_much_came_in_training_and_how_much_in_evaluation(loop):
    """A data set copies its samples: eight to a training batch, two to an evaluation batch."""

    def copies(times):
        for _ in range(times):
            loop.event("copy")

    for _ in range(4):
        iterator = loop.begin()
        for _ in range(3):
            loop.fetch(iterator, inside=lambda: copies(8))
            loop.backward()
            loop.step()
        loop.fetch(iterator, got=False, inside=lambda: None)
        iterator = loop.begin()
        for _ in range(12):
            loop.fetch(iterator, inside=lambda: copies(2))
        loop.fetch(iterator, got=False, inside=lambda: None)
    figures = loop.counts()["copy"]
    assert loop.turns()["copy"] == (192, 12, 48)
    assert (figures["trained"], figures["evaluated"], figures.get("before", 0)) == (96, 96, 0)
    assert (figures["train_steps"], figures["eval_of"]) == (12, 48)


def test_an_evaluation_pass_is_counted_where_something_happened_in_it(loop):
    for what, batches_of in (("first", 20), ("second", 3)):
        iterator = loop.begin()
        for _ in range(batches_of):
            loop.fetch(iterator)
            loop.event(what)
        loop.fetch(iterator, got=False)
    figures = loop.counts()
    assert [figures[what]["eval_of"] for what in ("first", "second")] == [20, 3]


def test_several_steps_to_a_batch_and_several_batches_to_a_step(loop):
    iterator = loop.begin()
    for _ in range(6):
        loop.fetch(iterator)
        for _ in range(2):
            loop.event("two steps a batch")
            loop.backward()
            loop.step()
    loop.fetch(iterator, got=False)
    assert (loop.turns()["two steps a batch"], loop.counts()["two steps a batch"]["train_steps"]) == ((12, 6, 0), 12)


@pytest.mark.parametrize("flush", [False, True])
def test_what_sets_up_a_model_is_no_answer_of_it(loop, flush):
    for _ in range(7):
        loop.event("move")
    for _ in range(5):
        if flush:
            loop.record()
        loop.scopes.answers()
        loop.event("read")
    assert (loop.turns()["move"], loop.turns()["read"]) == ((7, 0, 0), (5, 0, 5))
    for _ in range(3):
        loop.event("upload")
        loop.backward()
        loop.step()
    assert loop.turns()["upload"] == (3, 3, 0)
    assert loop.turns()["read"][2] == 0
    assert loop.counts()["read"]["before"] == 5


def test_training_from_tensors_after_a_buffer_was_filled(loop):
    """Reinforcement learning: a policy is asked before anything is learnt, and between steps."""
    for _ in range(50):
        loop.scopes.answers()
        loop.event("act")
    for _ in range(8):
        loop.event("act")
        loop.event("learn")
        loop.backward()
        loop.step()
    turns = loop.turns()
    assert turns["learn"] == (8, 8, 0)
    assert turns["act"] == (58, 8, 0)
    figures = loop.counts()["act"]
    # The last call before it learns belongs to its first step.
    assert (figures["trained"], figures.get("evaluated", 0), figures["before"]) == (9, 0, 49)


@pytest.mark.parametrize("flush", [False, True])
def test_a_model_called_once_before_its_first_backward_pass_trains(loop, flush):
    for index in range(8):
        loop.event("upload")
        if index == 0:
            loop.scopes.answers()
        loop.event("forward")
        if index == 0 and flush:
            loop.record()
        loop.backward()
        loop.step()
    assert (loop.turns()["upload"], loop.turns()["forward"]) == ((8, 8, 0), (8, 8, 0))
    assert [loop.counts()[what]["trained"] for what in ("upload", "forward")] == [8, 8]
    assert [loop.counts()[what]["train_steps"] for what in ("upload", "forward")] == [8, 8]


def test_a_flush_before_training_is_known_drops_nothing(loop):
    for _ in range(5):
        loop.event("read")
        loop.record()
        loop.backward()
        loop.step()
        loop.record()
    assert loop.turns()["read"] == (5, 5, 0)
    assert [loop.counts()["read"][name] for name in ("trained", "train_steps")] == [5, 5]


@pytest.mark.parametrize("flush", [False, True])
def test_calls_before_a_loader_trains_are_no_evaluation(loop, flush):
    for _ in range(3):
        loop.scopes.answers()
        loop.event("read")
    if flush:
        loop.record()
    loop.train(loop.begin(), 20, event="train")
    loop.evaluate(10, event="read")
    loop.scopes.answers()
    loop.event("read")
    assert loop.turns()["train"] == (20, 20, 0)
    figures = loop.counts()["read"]
    assert (figures["before"], figures["evaluated"] >= 10, figures["eval_of"] >= 10) == (3, True, True)


def test_steps_after_several_calls_are_counted_from_the_first(loop):
    for _ in range(3):
        loop.scopes.answers()
        loop.event("act")
    for _ in range(5):
        loop.event("act")
        loop.backward()
        loop.step()
    assert (loop.turns()["act"], loop.counts()["act"]["train_steps"]) == ((8, 5, 0), 5)


def test_a_new_iterator_for_every_step(loop):
    """`next(iter(loader))`: the iterator is gone before its batch is used."""
    for _ in range(20):
        loop.fetch(loop.begin())
        loop.event("copy")
        loop.backward()
        loop.step()
    assert loop.turns()["copy"] == (20, 20, 0)
    assert batches(loop) == (20, 0)


def test_one_batch_trained_on_again_and_again(loop):
    loop.fetch(loop.begin())
    for _ in range(20):
        loop.backward()
        loop.step()
        loop.event("item")
    assert loop.turns()["item"][1] >= 18
    assert batches(loop) == (1, 0)
    assert loop.phases()["backward"] == pytest.approx(18.0, abs=1.1)


def test_no_backward_but_an_optimizer(loop):
    """`torch.autograd.grad` or torch.func: gradients come without `backward()`."""
    iterator = loop.begin()
    for _ in range(10):
        loop.fetch(iterator)
        loop.event("item")
        loop.step(before=0.5)
    assert loop.turns()["item"] == (10, 10, 0)
    assert batches(loop) == (10, 0)


def test_inference_alone_is_evaluation(loop):
    loop.evaluate(20, event="cpu")
    assert loop.turns()["cpu"] == (20, 0, 20)
    assert batches(loop) == (0, 20)


def test_persistent_workers_same_iterator_each_epoch(loop):
    iterator = Iterator()
    for _ in range(4):
        loop.begin(iterator=iterator)
        loop.train(iterator, 5, event="train")
        loop.fetch(iterator, got=False)
    assert loop.turns()["train"] == (20, 20, 0)
    assert batches(loop) == (20, 0)


def test_the_same_iterator_evaluates_after_it_has_trained(loop):
    iterator = Iterator()
    loop.begin(iterator=iterator)
    loop.train(iterator, 5)
    loop.fetch(iterator, got=False)
    loop.begin(iterator=iterator)
    for _ in range(3):
        loop.fetch(iterator)
        loop.event("eval")
    loop.fetch(iterator, got=False)
    assert loop.turns()["eval"] == (3, 0, 3)
    assert batches(loop) == (5, 3)


def test_an_address_that_is_used_again(loop):
    trained = loop.begin()
    loop.train(trained, 5)
    number = id(trained)
    scopes = loop.scopes
    scope = scopes._open[number]
    del trained
    gc.collect()
    other = Iterator()
    scopes._open = {id(other): scope}  # as if `other` lay where the iterator that died was
    for _ in range(3):
        loop.fetch(other)
        loop.event("eval")
    loop.fetch(other, got=False)
    assert scopes.of(other) is not scope
    assert loop.turns()["eval"] == (3, 0, 3)
    assert batches(loop) == (5, 3)


def test_evaluation_that_has_not_ended_is_not_counted_yet(loop):
    iterator = loop.begin()
    for _ in range(5):
        loop.fetch(iterator)
        loop.event("maybe")
    assert batches(loop) == (0, 0)
    assert loop.turns()["maybe"] == (5, 0, 0)
    loop.backward()
    assert batches(loop) == (5, 0)
    assert loop.turns()["maybe"] == (5, 5, 0)


def test_turns_are_handed_over_once(loop):
    iterator = loop.begin()
    for _ in range(10):
        loop.train(iterator, 2, event="train")
        loop.recorder.flush()
        loop.recorder.flush()
    assert loop.turns()["train"] == (20, 20, 0)


def test_restart_forgets_everything(loop):
    loop.train(loop.begin(), 5)
    loop.scopes.restart()
    assert (loop.scopes.train.batches, loop.scopes.current is loop.scopes.root, loop.scopes.steady) == (0, True, False)


def test_many_passes_leave_nothing_behind(loop):
    for _ in range(300):
        loop.evaluate(1, before_stop=False)
        loop.recorder.flush()
    assert len(loop.scopes._open) + len(loop.scopes._over) < 5


def test_a_pass_ends_in_the_order_of_marks_though_its_iterator_is_long_gone():
    """Marks may be set later than what they mark: an iterator that died meanwhile was alive when its batch was used."""
    scopes = Scopes()
    put_off = []
    scopes.later = lambda *call: put_off.append(call)
    iterator = Iterator()
    scope = scopes.begins(iterator)
    put_off += [(scopes.fetched, scope), (scopes.trains,)] * 2
    del iterator
    gc.collect()
    assert scope.alive() is None
    for function, *args in put_off:
        function(*args)
    assert scope.training
    assert scope.gone
    assert list(scopes.settle()) == []
    assert (scopes.train.batches, scopes.evaluation.batches) == (2, 0)


@pytest.mark.parametrize(("called", "batches_seen"), [(False, (0, 4)), (True, (0, 5))])
def test_a_batch_drawn_for_its_shape_before_there_is_a_model_is_none_of_evaluation(loop, called, batches_seen):
    """`shape = next(iter(loader))[0].shape`; where a model is called with it, it is one."""
    drawn = loop.begin()
    loop.fetch(drawn)
    del drawn
    loop.event("set-up")
    if called:
        loop.scopes.calls()
    iterator = loop.begin()
    for _ in range(4):
        loop.fetch(iterator)
        loop.scopes.calls()
        loop.event("upload")
    loop.fetch(iterator, got=False)
    assert batches(loop) == batches_seen
    assert loop.turns() == {"set-up": (1, 0, int(called)), "upload": (4, 0, 4)}


@pytest.mark.parametrize("flush", [False, True])
def test_a_batch_drawn_for_a_step_is_training_though_no_model_has_been_called_before(loop, flush):
    for _ in range(4):
        loop.fetch(loop.begin())
        loop.event("upload")
        if flush:
            loop.record()
        loop.backward()
        loop.step()
    assert batches(loop) == (4, 0)
    assert loop.turns() == {"upload": (4, 4, 0)}


def look_ahead(loop, batches, turn, made=None, ahead=1, kept=True):
    """A pass of a loader that hands a batch out when it has fetched the next; `kept`: its iterator lives on."""
    iterator = loop.begin(made=made)
    for _ in range(min(ahead, batches)):
        loop.fetch(iterator)
    for _ in range(batches - ahead):
        loop.fetch(iterator)
        turn()
    loop.fetch(iterator, got=False)
    if not kept:
        del iterator
        gc.collect()
    for _ in range(min(ahead, batches)):
        turn()


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("ahead", [1, 2])
def test_a_loader_that_looks_ahead_leaves_no_turn_out(loop, ahead, kept, flush):
    def trains():
        loop.event("forward")
        if flush:
            loop.recorder.flush()
        loop.backward()
        loop.event("gradients")
        loop.step()
        loop.event("log")
        loop.event("log")

    for _ in range(2):
        look_ahead(loop, 6, trains, made=1, ahead=ahead, kept=kept)
        loop.event("checkpoint")
    assert loop.turns() == {
        "forward": (12, 12, 0),
        "gradients": (12, 12, 0),
        "log": (24, 12, 0),
        "checkpoint": (2, 0, 0),
    }
    assert [loop.counts()[what]["train_steps"] for what in ("forward", "gradients")] == [12, 12]
    assert loop.counts()["log"]["trained"] == 24


def test_what_comes_in_some_turns_of_a_loader_that_looks_ahead_comes_in_the_last_too(loop):
    number = 0

    def trains():
        nonlocal number
        number += 1
        if number % 4 == 0:
            loop.event("log")
        loop.backward()
        loop.step()

    look_ahead(loop, 12, trains)
    assert loop.turns()["log"] == (3, 3, 0)


@pytest.mark.parametrize("kept", [False, True])
def test_evaluation_by_a_loader_that_looks_ahead(loop, kept):
    loop.train(loop.begin(), 4)
    for batches in (4, 2, 1):
        look_ahead(loop, batches, lambda: loop.event("metric"), made=2, kept=kept)
        loop.event("checkpoint")
        loop.train(loop.begin(), 4)
    assert loop.turns() == {"metric": (7, 0, 7), "checkpoint": (3, 0, 0)}
    assert loop.counts()["metric"]["eval_of"] == 7


def test_what_a_helper_reads_behind_a_loop_is_no_turn_of_it(loop):
    """`total = reduce(loss)` in each turn, in every second, or in the last half, and once more of their mean."""
    for wanted in (lambda _: True, lambda index: index % 2, lambda index: index >= 3):
        iterator = loop.begin()
        for index in range(6):
            loop.fetch(iterator)
            if wanted(index):
                loop.event("reduce")
            loop.backward()
            loop.step()
        loop.fetch(iterator, got=False)
        loop.event("reduce")
    assert loop.turns()["reduce"] == (6 + 3 + 3 + 3, 6 + 3 + 3, 0)


def test_training_without_a_loader_behind_a_pass_is_none_of_it(loop):
    iterator = loop.begin()
    loop.train(iterator, 5, "upload")
    loop.fetch(iterator, got=False)
    del iterator
    gc.collect()
    for _ in range(5):
        loop.backward()
        loop.step()
        loop.event("upload")
    assert loop.turns()["upload"][0] == 10
    assert loop.counts()["upload"]["trained"] >= 5
