"""What a run says of a loader whose batches nobody could follow, of samples taken by index, and of bars of the host."""

import pytest
from test_verdicts import HERE, copy, event, finding, loader, run

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Location, Related
from torchperf_lint.rates import EVALUATION, STEP, times_of
from torchperf_lint.recorded import Begun, Segment
from torchperf_lint.reporters._run_findings import figures
from torchperf_lint.reporters._verdicts import confirmed
from torchperf_lint.verdict import judged

UNPINNED = loader(workers=2, batches=12)
UNKNOWN = {"lines": {}, "complete": frozenset()}
"""Of a Python that does not tell which lines ran."""
ELSEWHERE = {"line": 90, "end_line": 90}


def verdict_of(code, evidence: Evidence, **more):
    (one,) = judged([finding(code, **more)], evidence)
    assert one.verdict is not None
    return str(one.verdict.outcome.value), one.verdict.reason


@pytest.mark.parametrize(
    ("evidence", "outcome", "reason"),
    [
        (run(copy(**ELSEWHERE), loaders=(UNPINNED,), **UNKNOWN), "unobservable", "12 batches that were not pinned"),
        (run(copy(pinned=True, **ELSEWHERE), loaders=(UNPINNED,), **UNKNOWN), "refuted", "no step copied"),
        (run(copy(train_turns=0, count=1, **ELSEWHERE), loaders=(UNPINNED,), **UNKNOWN), "refuted", "no step copied"),
        (run(loaders=(loader(workers=2, batches=0),), **UNKNOWN), "not-reached", "no batch was read"),
        (run(loaders=(loader(workers=2, pinned=True),), **UNKNOWN), "refuted", "pinned memory"),
        (run(copy(**ELSEWHERE), **UNKNOWN), "unobservable", "no probe could tell"),
    ],
)
def test_a_loader_that_gave_batches_has_run_wherever_they_went(evidence, outcome, reason):
    said = verdict_of("TPL302", evidence)
    assert said[0] == outcome
    assert reason in said[1]


def test_what_a_constructor_passes_on_is_no_copy():
    passed = Related(HERE, "what it passes on")
    evidence = run(copy(**ELSEWHERE), loaders=(UNPINNED,), **UNKNOWN)
    assert "which copies move them" in verdict_of("TPL302", evidence, related=(passed,))[1]


BY_INDEX = "`dataset[i]` makes each sample in the loop's own process, while the device waits"


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        ("TPL301", BY_INDEX, "samples it makes itself is not measured"),
        ("TPL120", "`bar.set_description(...)` redraws the progress bar every training step", "redraw of the bar"),
    ],
)
def test_what_claims_no_event_is_not_refuted_by_the_lack_of_one(code, message, reason):
    outcome, said = verdict_of(code, run(), message=message)
    assert outcome == "unobservable"
    assert reason in said
    assert verdict_of(code, run(lines={"train.py": {}}), message=message)[0] == "not-reached"


def test_a_bar_that_reads_the_device_is_still_refuted_and_confirmed_by_waits():
    assert verdict_of("TPL120", run(), message="`bar.set_postfix(...)` reads `loss` from the device")[0] == "refuted"
    redrawn = "`bar.set_postfix(...)` redraws the progress bar"
    assert verdict_of("TPL120", run(event()), message=redrawn)[0] == "confirmed"


def test_a_simulated_run_confirms_a_setting_and_says_that_its_cost_is_open():
    evidence = run(loaders=(loader(batches=12),), simulated=True)
    assert verdict_of("TPL301", evidence) == (
        "confirmed",
        "no workers, seen in 12 batches; what that costs, a simulated run does not tell",
    )


def begun(epochs=500, **more):
    return loader(workers=2, batches=epochs, epochs=epochs, **more)


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ({}, (1.0, STEP)),
        ({"loaders": (begun(1000),)}, (2.0, STEP)),
        ({"steps": 0, "train_batches": 0, "eval_batches": 250}, (2.0, EVALUATION)),
        ({"steps": 0, "train_batches": 0}, None),
    ],
)
def test_passes_for_one_batch_are_counted_by_the_step(changes, times):
    evidence = run(**{"loaders": (begun(),), "device": "simulated", "simulated": True, **changes})
    (one,) = judged([finding("TPL306")], evidence)
    assert one.verdict.outcome.value == "confirmed"
    assert times_of(one, evidence) == times
    assert one.verdict.blocked_ms_per_step is None


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        ([(20, 500, 500)], "confirmed"),
        ([(20, 500, 500), (60, 3, 900)], "confirmed"),
        ([(60, 500, 500)], "not-reached"),
        ([(60, 500, 500), (20, 2, 2)], "not-reached"),
    ],
)
def test_passes_that_begin_elsewhere_confirm_nothing(rows, outcome):
    """The same loader in another function, or in the loop of an evaluation."""
    begins = tuple(Begun(("train.py", line), passes, batches) for line, passes, batches in rows)
    own = loader(workers=2, batches=1400, epochs=503, begun=begins)
    evidence = run(loaders=(own,), device="simulated", simulated=True, lines={"train.py": {}})
    (one,) = judged([finding("TPL306")], evidence)
    assert one.verdict.outcome.value == outcome


def test_what_a_pass_for_one_batch_costs_is_its_wait_for_the_first_batch():
    step = Segment("data", None, None, 490 * 200.0, 490)
    evidence = run(loaders=(begun(start_ms=500 * 40.0, first_wait_ms=500 * 10.0),), segments=(step,))
    (one,) = judged([finding("TPL306")], evidence)
    assert (one.verdict.blocked_ms_per_step, one.verdict.share_of_step) == (50.0, 0.25)


def test_without_prices_a_pass_a_step_comes_before_waits_and_has_its_count():
    evidence = run(event(count=500 * 9), loaders=(begun(),), device="simulated", simulated=True)
    found = judged([finding("TPL101"), finding("TPL306", location=Location("train.py", 40, 9, 40, 20))], evidence)
    assert [one.code for one in confirmed(found, evidence)] == ["TPL306", "TPL101"]
    assert [figures(one, evidence)[0] for one in found] == ["9", "1"]
