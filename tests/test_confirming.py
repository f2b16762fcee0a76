"""From events at a line to an outcome: how often, in how many steps, and what if nothing was seen."""

import random
from dataclasses import replace

import pytest

from torchperf_lint.confirming import NO_DEVICE, ON_HOST, by_events, copies, happened, priced
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Severity
from torchperf_lint.recorded import Event, LoaderRun, Segment

HERE = Location("train.py", 20, 9, 20, 20)
FINDING = Finding("TPL101", "item-in-hot-loop", HERE, Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")


def event(count=500, train=500, evaluation=0, **more):
    return Event(**{"kind": "sync", "what": "item", "path": "train.py", "line": 20, "count": count,
                    "column": 9, "end_line": 20, "end_column": 20,
                    "train_turns": train, "eval_turns": evaluation, **more})  # fmt: skip


def evidence(*events, **more):
    return Evidence(events=events, **{"steps": 500, "train_batches": 500, "device": "H100", **more})


def judge(run, **more):
    return by_events(FINDING, run, run.at(FINDING.location, "sync"), "synchronisation", **more)


def told(verdict):
    return verdict.outcome.value, verdict.reason


def test_every_step_is_confirmed():
    assert told(judge(evidence(event()))) == ("confirmed", "500 synchronisations in 500 of 500 steps")


@pytest.mark.parametrize(("train", "outcome"), [(249, "refuted"), (250, "confirmed")])
def test_half_of_the_steps_is_the_border(train, outcome):
    assert judge(evidence(event(count=train, train=train))).outcome.value == outcome


def test_once_every_hundred_steps_is_refuted():
    assert told(judge(evidence(event(count=5, train=5)))) == (
        "refuted",
        "5 synchronisations in 5 of 500 steps: not every step",
    )


@pytest.mark.parametrize(
    ("train", "over", "outcome"),
    [(20, 20, "confirmed"), (20, 40, "confirmed"), (20, 41, "refuted"), (9, 9, "refuted"), (20, 0, "refuted")],
)
def test_a_loop_that_is_one_of_several_is_confirmed_by_its_own_steps(train, over, outcome):
    verdict = judge(evidence(event(count=train, train=train, over_steps=over)))
    assert verdict.outcome.value == outcome
    row = f"20 synchronisations in 20 of 500 steps, which lie within {over} in a row: a loop of its own"
    assert outcome == "refuted" or verdict.reason == row


@pytest.mark.parametrize(
    ("devices", "copied", "outcome"),
    [(["cpu"], False, "unobservable"), (["cpu"], True, "refuted"), (["cpu", "cuda"], False, "refuted")],
)
def test_a_script_that_left_its_device_alone_refutes_nothing(devices, copied, outcome):
    elsewhere = (event(kind="copy", what="h2d", line=3, column=1, end_line=3, end_column=9),) if copied else ()
    optimizer = {"class": "SGD", "tensors": 2, "parameters": 2, "devices": devices}
    run = evidence(*elsewhere, lines={"train.py": {20: 3}}, state={"optimizers": [optimizer]})
    verdict = judge(run)
    assert verdict.outcome.value == outcome
    assert (verdict.reason == ON_HOST) == (outcome == "unobservable")


def test_steps_are_said_where_the_record_counts_them():
    """Four batches to a step, or two steps to a batch: the number of steps is what is asked."""
    run = evidence(event(count=48, train=48, train_steps=12), steps=12, train_batches=48)
    assert told(judge(run)) == ("confirmed", "48 synchronisations in 12 of 12 steps")
    run = evidence(event(count=20, train=10, train_steps=20), steps=20, train_batches=20)
    assert told(judge(run)) == ("confirmed", "20 synchronisations in 20 of 20 steps")


@pytest.mark.parametrize(("own", "outcome"), [(3, "confirmed"), (None, "refuted")])
def test_a_loop_of_evaluation_is_judged_by_its_own_batches(own, outcome):
    verdict = judge(evidence(event(count=3, train=0, evaluation=3, eval_of=own), eval_batches=23))
    assert verdict.outcome.value == outcome
    assert f"in 3 of {own or 23} evaluation batches" in verdict.reason


@pytest.mark.parametrize(
    ("count", "calls"), [(4, "4 synchronisations in 4 of 4 calls"), (1, "1 synchronisation in 1 of 4 calls")]
)
def test_evaluation_between_steps_that_reads_no_loader_is_judged_by_its_calls(count, calls):
    verdict = judge(evidence(event(count=count, train=0, evaluation=count), train_batches=0, eval_calls=4))
    assert verdict.reason.startswith(f"{calls} in evaluation mode")
    assert verdict.outcome is (Outcome.CONFIRMED if count == 4 else Outcome.REFUTED)
    assert (verdict.times, verdict.times_per) == ((1.0, "evaluation batch") if count == 4 else (None, None))


@pytest.mark.parametrize(
    ("turns", "own", "outcome"),
    [(1, 1, "unobservable"), (2, 2, "confirmed"), (1, 2, "unobservable"), (1, 3, "refuted")],
)
def test_an_evaluation_of_few_batches_beside_another_one_is_not_refuted_by_it(turns, own, outcome):
    verdict = judge(evidence(event(count=turns, train=0, evaluation=turns, eval_of=own), eval_batches=11))
    assert verdict.outcome.value == outcome
    assert f"in {turns} of {own} evaluation batch" in verdict.reason
    assert verdict.times == (1.0 if outcome == "confirmed" else None)


@pytest.mark.parametrize(("steps", "outcome"), [(0, "confirmed"), (12, "refuted")])
def test_one_evaluation_batch_confirms_nothing_that_few_steps_have(steps, outcome):
    often = event(count=1 + bool(steps), train=bool(steps), evaluation=1, eval_of=1)
    assert judge(evidence(often, steps=steps, train_batches=steps, eval_batches=1)).outcome.value == outcome


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [({}, "confirmed"), ({"returncode": 0}, "confirmed"), ({"returncode": 1}, "unobservable"),
     ({"state": {"raised": "KeyError: 1"}}, "unobservable"), ({"returncode": 1, "backwards": 3}, "confirmed")],
)  # fmt: skip
def test_what_a_run_did_that_fell_short_of_its_first_step_confirms_nothing(ended, outcome):
    """A model is moved to the device, and then the script raises."""
    run = evidence(event(count=252, train=0), steps=0, train_batches=0, **ended)
    assert judge(run).outcome.value == outcome
    ended_early = "252 synchronisations; the run ended before its first step"
    assert (judge(run).reason == ended_early) == (outcome == "unobservable")


def test_of_several_events_the_most_regular_tells():
    often = event(count=10, train=0, evaluation=10, eval_of=10)
    seldom = event(count=1, train=0, evaluation=1, eval_of=1000, what="stream")
    assert judge(evidence(often, seldom, eval_batches=1010)).outcome is Outcome.CONFIRMED


def test_what_follows_the_last_step_makes_no_step_more():
    assert judge(evidence(event(count=504, train=501))).reason == "504 synchronisations in 500 of 500 steps"


def test_a_line_that_did_not_run_is_not_reached_whatever_the_device():
    optimizer = {"class": "SGD", "tensors": 2, "parameters": 2, "devices": ["cpu"]}
    run = evidence(complete=frozenset({"train.py"}), state={"optimizers": [optimizer]})
    assert judge(run).outcome is Outcome.NOT_REACHED


def test_one_event_in_one_step_is_said_in_the_singular():
    run = evidence(event(count=1, train=1), steps=1, train_batches=1)
    assert told(judge(run)) == ("confirmed", "1 synchronisation in 1 of 1 step")


def test_rare_but_in_masses_is_confirmed():
    assert told(judge(evidence(event(count=5000, train=5)))) == ("confirmed", "5000 synchronisations in 5 of 500 steps")


@pytest.mark.parametrize(("count", "outcome"), [(5, "refuted"), (5 * 3 - 1, "refuted"), (5 * 3, "confirmed")])
def test_a_loop_of_its_own_is_confirmed_however_rarely_it_runs(count, outcome):
    """An evaluation over a list of batches, once an epoch: the line does what the finding says each time it runs."""
    verdict = judge(evidence(event(count=count, train=5)))
    assert verdict.outcome.value == outcome
    assert verdict.reason.endswith("many at a time, in a loop of its own") == (outcome == "confirmed")


def test_several_lines_with_one_event_each_are_no_loop():
    """Three copies of one batch, once: the first of them would be refuted, and so are the three."""
    lines = [event(count=5, train=5, line=line, end_line=line) for line in (20, 21, 22)]
    assert judge(evidence(lines[0])).outcome is Outcome.REFUTED
    verdict = happened(evidence(*lines), tuple(lines), "synchronisation")
    assert told(verdict) == ("refuted", "15 synchronisations in 5 of 500 steps: not every step")


@pytest.mark.parametrize(("count", "outcome"), [(2, "refuted"), (3, "refuted"), (400, "confirmed")])
def test_what_came_before_the_first_step_is_of_no_step(count, outcome):
    """A check of the model in half precision, before training; not a replay that fills for hundreds of turns."""
    early = event(count=count, train=0, first_step=1, over_steps=1)
    verdict = judge(evidence(early, steps=4))
    assert verdict.outcome.value == outcome
    assert verdict.reason.endswith(", all before the first step was over: not every step") == (outcome == "refuted")
    in_it = event(count=4, train=4, train_steps=4, first_step=1, over_steps=4)
    assert judge(evidence(early, in_it, steps=4)).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({}, "refuted"),
        ({"train_steps": None}, "confirmed"),
        ({"before": 5}, "confirmed"),
        ({"evaluation": 2}, "confirmed"),
        ({"train": 6, "train_steps": 6}, "confirmed"),
    ],
)
def test_many_in_one_step_are_not_what_a_finding_says_of_every_step(more, outcome):
    """`if n % 50 == 1: for name in names: log(name, loss.item())`, not a rollout that fills a buffer."""
    run = evidence(event(**{"count": 10, "train": 1, "train_steps": 1, **more}), steps=12, train_batches=12)
    finding = replace(FINDING, why_hot="it runs every training step: in the loop `for i in range(12)` (line 12)")
    verdict = by_events(finding, run, run.at(HERE, "sync"), "synchronisation")
    assert verdict.outcome.value == outcome
    assert outcome != "refuted" or verdict.reason == "10 synchronisations in 1 of 12 steps: not every step"
    assert judge(run).outcome.value == "confirmed"


@pytest.mark.parametrize(
    ("calls", "outcome"),
    [((7, 6), "confirmed"), ((13,), "refuted"), ((7, 13), "refuted"), ((), "refuted")],
)
def test_a_loop_of_a_second_optimizer_is_one_of_several_though_it_is_short(calls, outcome):
    run = evidence(event(count=6, train=6, over_steps=6), steps=13, train_batches=0, optimizer_calls=calls)
    finding = replace(FINDING, why_hot="it runs every training step: in the loop `for i in range(6)` (line 12)")
    run = replace(run, events=(replace(run.events[0], train_steps=6),))
    assert by_events(finding, run, run.at(HERE, "sync"), "synchronisation").outcome.value == outcome


@pytest.mark.parametrize(("own", "outcome"), [((28, 32), "confirmed"), (None, "refuted")])
def test_a_loop_of_an_optimizer_that_recurs_is_judged_by_the_steps_of_that(own, outcome):
    one = event(count=32, train=32, train_steps=32, over_steps=80, own_loops=own)
    run = evidence(one, steps=96, train_batches=96, optimizer_calls=(32, 32, 32))
    assert run.every_step([one]) == (outcome == "confirmed")
    verdict = judge(run)
    how = ", 28 of the 32 of its optimizer: a loop of its own" if own else ": not every step"
    assert told(verdict) == (outcome, f"32 synchronisations in 32 of 96 steps{how}")


@pytest.mark.parametrize(
    ("calls", "batches", "outcome"),
    [((30, 30), 0, "confirmed"), ((30,), 0, "refuted"), ((15, 15), 0, "refuted"), ((30, 30), 30, "refuted")],
)
def test_steps_that_seem_to_be_part_of_those_of_another_may_be_a_loop(calls, batches, outcome):
    """`for _ in range(3): step_of(b)`: in one step of three, and in each of its own. A loader's batches would tell."""
    run = evidence(event(count=30, train=10, train_steps=10), steps=30, train_batches=batches, optimizer_calls=calls)
    finding = replace(FINDING, why_hot="it runs every training step: in the loop `for i in range(3)` (line 12)")
    assert by_events(finding, run, run.at(HERE, "sync"), "synchronisation").outcome.value == outcome


@pytest.mark.parametrize(("count", "outcome"), [(2, "unobservable"), (8, "confirmed")])
def test_without_a_step_nothing_is_compared(count, outcome):
    run = evidence(event(count=count, train=0), steps=0, train_batches=0)
    assert told(judge(run)) == (outcome, f"{count} synchronisations, and no step was seen to compare with")


def test_a_script_that_ended_in_its_set_up_confirms_nothing():
    state = {"raised": "KeyError", "raised_at": "train.py:12"}
    run = evidence(event(count=252, train=0), steps=0, train_batches=0, state=state)
    assert judge(run).outcome.value == "unobservable"


def test_every_evaluation_batch_is_confirmed():
    run = evidence(event(count=40, train=0, evaluation=40), eval_batches=40)
    assert told(judge(run)) == ("confirmed", "40 synchronisations in 40 of 40 evaluation batches")


def test_few_evaluation_batches_are_refuted():
    run = evidence(event(count=3, train=0, evaluation=3), eval_batches=40)
    assert told(judge(run)) == ("refuted", "3 synchronisations in 3 of 40 evaluation batches: not every step")


def test_training_and_evaluation():
    run = evidence(event(count=540, train=500, evaluation=40), eval_batches=40)
    reason = "540 synchronisations in 500 of 500 steps and in 40 of 40 evaluation batches"
    assert told(judge(run)) == ("confirmed", reason)


def test_accumulated_gradients_are_counted_in_batches_never_more_than_there_are():
    run = evidence(event(count=200, train=200), steps=50, train_batches=200)
    assert told(judge(run)) == ("confirmed", "200 synchronisations in 200 of 200 training batches")


def test_once_in_each_step_of_four_batches_is_confirmed():
    run = evidence(event(count=50, train=50), steps=50, train_batches=200)
    assert judge(run).outcome is Outcome.CONFIRMED


def test_inference_alone_counts_batches():
    run = evidence(event(count=80, train=0, evaluation=80), steps=0, train_batches=0, eval_batches=80)
    assert told(judge(run)) == ("confirmed", "80 synchronisations in 80 of 80 evaluation batches")


@pytest.mark.parametrize(
    ("more", "unit"),
    [
        ({"returncode": 1}, "batches"),
        ({"returncode": -2}, "batches"),
        ({"returncode": 0}, "evaluation batches"),
        ({"returncode": 1, "steps": 500}, "evaluation batches"),
        ({"returncode": 1, "backwards": 1}, "evaluation batches"),
    ],
)
def test_what_failed_before_it_could_train_is_not_said_to_evaluate(more, unit):
    counts = {"steps": 0, "train_batches": 0, "eval_batches": 4}
    run = evidence(event(count=4, train=0, evaluation=4), **{**counts, **more})
    assert judge(run).reason == f"4 synchronisations in 4 of 4 {unit}"


@pytest.mark.parametrize(("count", "outcome"), [(2, "unobservable"), (3, "confirmed")])
def test_no_loop_was_seen(count, outcome):
    run = evidence(event(count=count, train=0), steps=0, train_batches=0)
    assert judge(run).outcome.value == outcome


def test_no_device():
    run = evidence(event(), device=None)
    assert told(judge(run)) == ("unobservable", NO_DEVICE)
    assert judge(run, needs_device=False).outcome is Outcome.CONFIRMED


def test_the_probe_was_blind():
    run = evidence(unwatched={"host-sync": "no CUDA"}, lines={"train.py": {20: 3}})
    assert told(judge(run, probes=("host-sync",))) == ("unobservable", "host-sync: no CUDA")
    assert judge(run, probes=("transfers",)).outcome is Outcome.REFUTED


def test_what_was_seen_counts_though_the_probe_was_partly_blind():
    run = evidence(event(), unwatched={"host-sync": "lost some"})
    assert judge(run, probes=("host-sync",)).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize(
    ("lines", "complete", "outcome", "reason"),
    [
        ({20: 3}, True, "refuted", "the line ran at least 3 times without a synchronisation"),
        ({20: 2}, True, "unobservable", "the line ran twice, too rarely to judge"),
        ({20: 1}, False, "unobservable", "no probe could tell whether the line ran (needs Python 3.12)"),
        ({19: 3, 21: 3}, True, "not-reached", "the line did not run"),
        ({19: 3}, False, "unobservable", "no probe could tell whether the line ran (needs Python 3.12)"),
        ({}, False, "unobservable", "no probe could tell whether the line ran (needs Python 3.12)"),
        ({}, True, "not-reached", "the line did not run"),
    ],
)
def test_nothing_was_seen(lines, complete, outcome, reason):
    run = evidence(lines={"train.py": lines}, complete=frozenset({"train.py"} if complete else ()))
    assert told(judge(run)) == (outcome, reason)


def test_a_span_of_lines_ran_if_one_of_them_did():
    from dataclasses import replace

    finding = replace(FINDING, location=Location("train.py", 20, 9, 23, 5))
    run = evidence(lines={"train.py": {22: 3}}, complete=frozenset({"train.py"}))
    assert by_events(finding, run, (), "synchronisation").outcome is Outcome.REFUTED


def test_another_event_at_the_line_shows_that_it_ran():
    run = evidence(event(kind="copy", what="h2d", count=7))
    assert told(judge(run)) == ("refuted", "the line ran at least 3 times without a synchronisation")


def test_two_findings_on_one_line_are_told_apart_by_columns():
    left = event(column=9, end_column=20)
    run = evidence(left)
    other = Location("train.py", 20, 24, 20, 35)
    assert run.at(HERE, "sync") == (left,)
    assert run.at(other, "sync") == ()
    assert run.at(Location("train.py", 20, 20, 20, 24), "sync") == ()
    assert run.at(Location("train.py", 20, 1, 20, 60), "sync") == (left,)


def test_an_event_without_columns_counts_for_all_findings_on_its_line():
    run = evidence(event(column=None, end_line=None, end_column=None))
    assert len(run.at(Location("train.py", 20, 24, 20, 35), "sync")) == 1
    assert run.at(Location("train.py", 21, 1, 21, 9), "sync") == ()
    assert run.at(Location("other.py", 20, 9, 20, 20), "sync") == ()


def test_an_event_in_a_package_called_from_the_line():
    run = evidence(event(path="/lib/timm/x.py", line=3, via=("train.py", 20)))
    assert judge(run).outcome is Outcome.CONFIRMED
    assert run.at(Location("train.py", 21, 1, 22, 9), "sync") == ()


def test_an_event_over_several_lines():
    run = evidence(event(line=18, end_line=22, column=9, end_column=6))
    assert run.at(Location("train.py", 18, 5, 22, 6), "sync")
    assert run.at(Location("train.py", 18, 1, 18, 9), "sync") == ()


def test_the_price():
    run = evidence(event(blocked_ms=980.0), segments=(Segment("forward", None, None, 4900.0, 490),), warmup=10)
    verdict = judge(run)
    assert (verdict.blocked_ms_per_step, verdict.share_of_step) == (2.0, pytest.approx(0.2))
    assert verdict.bubble_ms_per_step is None


def test_prices_of_several_events_are_summed():
    run = evidence(
        event(blocked_ms=490.0), event(what="stream", blocked_ms=245.0), event(what="event", blocked_ms=None), warmup=10
    )
    assert judge(run).blocked_ms_per_step == 1.5


def test_no_time_was_measured():
    verdict = judge(evidence(event(blocked_ms=None)))
    assert (verdict.outcome, verdict.blocked_ms_per_step, verdict.share_of_step) == (Outcome.CONFIRMED, None, None)


def test_shorter_than_the_warm_up_has_an_outcome_and_no_price():
    run = evidence(event(count=8, train=8, blocked_ms=None), steps=8, train_batches=8, warmup=10)
    verdict = judge(run)
    assert told(verdict) == ("confirmed", "8 synchronisations in 8 of 8 steps")
    assert (verdict.blocked_ms_per_step, verdict.share_of_step) == (None, None)
    assert priced(run, Outcome.CONFIRMED, "r", 5.0).blocked_ms_per_step is None


def test_no_segments_no_share():
    verdict = judge(evidence(event(blocked_ms=49.0), warmup=10))
    assert (verdict.blocked_ms_per_step, verdict.share_of_step) == (0.1, None)


def test_copies_in_a_direction():
    pinned = event(kind="copy", what="h2d", attributes={"pinned": True})
    run = evidence(pinned, event(kind="copy", what="d2h", attributes={"pinned": True}), event())
    assert copies(run, HERE, "h2d", lambda c: c.attributes["pinned"]) == (pinned,)
    assert copies(run, HERE, "h2d", lambda c: not c.attributes["pinned"]) == ()


def test_ran_is_capped_and_zero_only_where_known():
    run = evidence(event(count=9000))
    assert run.ran(HERE) == 3
    assert run.ran(Location("train.py", 99, 1, 99, 2)) is None


def test_turns_are_those_of_the_most_frequent_event():
    run = evidence()
    assert run.turns((event(train=5, evaluation=9), event(train=7, evaluation=1))) == (7, 9)
    assert run.turns(()) == (0, 0)


def test_loaders_made_within_a_span():
    settings = {"settings": {"num_workers": None}, "batches": 1, "epochs": 1, "steady_batches": 0}
    zeros = dict.fromkeys(("steady_wait_ms", "first_wait_ms", "start_ms", "wait_ms", "cpu_ms"), 0.0)
    made = [
        LoaderRun(path=path, line=line, background=False, worker=None, **settings, **zeros)
        for path, line in (("train.py", 20), ("train.py", 22), ("data.py", 20), (None, None))
    ]
    run = evidence(loaders=tuple(made))
    assert run.loader_at(Location("train.py", 19, 1, 21, 1)) == (made[0],)
    assert made[0].wait_per_batch_ms is None
    assert made[0].workers == 0


def test_nothing_divides_by_zero():
    rng = random.Random(3)
    outcomes = set()
    for _ in range(3000):
        run = Evidence(
            events=tuple(
                event(
                    count=rng.choice([0, 1, 2, 3, 50]),
                    train=rng.choice([0, 1, 50]),
                    evaluation=rng.choice([0, 1, 50]),
                    blocked_ms=rng.choice([None, 0.0, 5.0]),
                )
                for _ in range(rng.choice([0, 1, 2]))
            ),
            steps=rng.choice([0, 1, 50]),
            warmup=rng.choice([0, 10, 50]),
            train_batches=rng.choice([0, 1, 50, 200]),
            eval_batches=rng.choice([0, 1, 50]),
            device=rng.choice([None, "H100"]),
            segments=rng.choice([(), (Segment("x", None, None, 0.0, 1),), (Segment("x", None, None, 9.0, 1),)]),
            lines=rng.choice([{}, {"train.py": {20: 1}}, {"train.py": {20: 3}}]),
            complete=rng.choice([frozenset(), frozenset({"train.py"})]),
        )
        verdict = judge(run, needs_device=rng.choice([True, False]))
        outcomes.add(verdict.outcome)
        assert verdict.reason
        assert verdict.share_of_step is None or verdict.share_of_step >= 0
    assert outcomes == set(Outcome)


def test_where_nothing_trains_a_price_is_one_of_a_batch():
    segments = (
        Segment("data", ("eval.py", 10), ("eval.py", 10), 30.0, 60),
        Segment("forward", ("eval.py", 10), ("eval.py", 20), 90.0, 60),
    )
    seen = event(count=70, train=0, evaluation=70, blocked_ms=12.0)
    run = evidence(seen, steps=0, train_batches=0, eval_batches=70, eval_segments=segments)
    verdict = judge(run)
    assert (verdict.blocked_ms_per_step, verdict.share_of_step) == pytest.approx((0.2, 0.1))
