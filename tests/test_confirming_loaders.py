"""What a run says of a loader whose batches nobody could follow, of samples taken by index, and of bars of the host."""

import pytest
from test_verdicts import HERE, copy, event, finding, loader, run

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Related
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
