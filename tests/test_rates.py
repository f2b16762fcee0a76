"""How often an event happens: exactly where the record says how much came in what, by turns where it does not."""

from dataclasses import replace

import pytest

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Related, Severity
from torchperf_lint.rates import EVALUATION, STEP, per_eval_batch, per_step, rate_of, times_of
from torchperf_lint.recorded import Event

STEPS = 12


def event(count, line=9, column=5, kind="sync", **more):
    where = {"path": "train.py", "line": line, "column": column, "end_line": line, "end_column": column + 4}
    return Event(kind, "item", count=count, **where, **more)


def evidence(*events):
    return Evidence(events=events, steps=STEPS, train_batches=STEPS, eval_batches=48, device="H100")


def test_what_comes_in_training_and_in_evaluation_is_counted_in_each():
    """Eight a step, two an evaluation batch, as a data set that copies its samples does."""
    seen = event(192, train_turns=12, eval_turns=48, trained=96, evaluated=96)
    assert (per_step(seen, evidence(seen)), per_eval_batch(seen, evidence(seen))) == (8.0, 2.0)


def test_a_record_that_does_not_say_is_shared_by_turns():
    seen = event(120, train_turns=12, eval_turns=48)
    assert (per_step(seen, evidence(seen)), per_eval_batch(seen, evidence(seen))) == (2.0, 2.0)


@pytest.mark.parametrize(("before", "rate"), [(0, 11 * 50 / 12), (50, 50.0), (101, 11 * 50 / 12), (5000, 11 * 50 / 12)])
def test_a_rollout_before_the_first_step_belongs_to_it_and_the_filling_of_a_buffer_does_not(before, rate):
    seen = event(11 * 50 + before, train_turns=12, trained=11 * 50, before=before)
    assert per_step(seen, evidence(seen)) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("batches", "steps", "first", "turns", "rate"),
    [
        (0, STEPS, 1, 1, None),  # `net.to(device)` before a loop without a loader
        (STEPS, STEPS, 1, 1, 2 / STEPS),  # a loader says what belongs to no step
        (0, STEPS, 3, 1, 2 / STEPS),
        (0, STEPS, 1, 2, 2 / STEPS),
        (0, 1, 1, 1, 2.0),
        (0, STEPS, 0, 1, 2 / STEPS),  # records that do not say
    ],
)
def test_what_comes_before_the_first_step_alone_has_no_rate(batches, steps, first, turns, rate):
    over = {"over_steps": turns, "first_step": first}
    seen = event(2, train_turns=turns, train_steps=turns, trained=2, **over)
    run = replace(evidence(seen), steps=steps, train_batches=batches)
    assert per_step(seen, run) == rate


def test_what_happens_in_neither_has_no_rate():
    seen = event(100)
    assert (per_step(seen, evidence(seen)), per_eval_batch(seen, evidence(seen)), rate_of([seen], evidence(seen))) == (
        None,
        None,
        None,
    )


def test_columns_of_a_line_add_up_and_a_blocking_copy_counts_once():
    """`x, y = x.cuda(), y.cuda()`: two copies, each a wait."""
    seen = [event(12, column=c, kind=k, train_turns=12, trained=12) for c in (5, 12) for k in ("copy", "sync")]
    assert rate_of(seen, evidence(*seen)) == (2.0, STEP)


def test_evaluation_is_said_where_nothing_comes_in_training():
    seen = event(96, eval_turns=48, evaluated=96)
    assert rate_of([seen], evidence(seen)) == (2.0, EVALUATION)


def test_the_places_that_belong_to_a_finding_add_up():
    seen = [event(12, line=line, train_turns=12, trained=12) for line in (9, 10, 30)]
    here, beside = (Location("train.py", line, 5, line, 9) for line in (9, 10))
    words = (Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")
    finding = Finding("TPL119", "several-reads-in-one-step", here, *words, related=(Related(beside, "and this"),))
    assert times_of(finding, evidence(*seen)) == (2.0, STEP)


def test_where_nothing_happens_at_the_place_itself_the_others_tell_nothing():
    seen = event(12, line=30, train_turns=12, trained=12)
    here, loop = Location("train.py", 9, 5, 9, 9), Location("train.py", 30, 5, 30, 9)
    words = (Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")
    finding = Finding("TPL301", "loader-without-workers", here, *words, related=(Related(loop, "iterates it"),))
    assert times_of(finding, evidence(seen)) is None
