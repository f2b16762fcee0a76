"""Verdicts on what data sets do for each item: workers run it unseen, the loaders over the data set tell."""

import pytest
from test_verdicts import ITEMS, NOT_RAN, judged, loader, run

from torchperf_lint.model import Outcome
from torchperf_lint.recorded import Segment

HOT = "`Volumes.__getitem__` (line 12) is run by the loader for every sample or batch"
OVER = {"num_workers": 2, "dataset": "Volumes"}
OTHER = {"num_workers": 2, "dataset": "Vol"}
CASES = {
    Outcome.CONFIRMED: run(loaders=(loader(settings=OVER),), device=None),
    Outcome.NOT_REACHED: run(loaders=(loader(settings=OVER, batches=0),)),
    Outcome.UNOBSERVABLE: run(loaders=(loader(settings=OTHER),)),
}


@pytest.mark.parametrize("code", ITEMS)
@pytest.mark.parametrize("outcome", CASES, ids=lambda outcome: outcome.value)
def test_outcome(code, outcome):
    found = judged(code, CASES[outcome], why_hot=HOT)
    assert found.outcome is outcome
    assert found.reason


@pytest.mark.parametrize("code", ITEMS)
def test_what_nobody_ran(code):
    assert judged(code, run(**NOT_RAN), why_hot=HOT).outcome is Outcome.NOT_REACHED
    assert judged(code, run()).outcome is Outcome.UNOBSERVABLE


def test_the_price():
    evidence = run(loaders=(loader(settings=OVER),), segments=(Segment("data", None, None, 9800.0, 1),))
    found = judged("TPL307", evidence, why_hot=HOT)
    assert found.reason == "the data set opens its file for each sample; the loop waited 4 ms for each of 489 batches"
    assert found.share_of_step == pytest.approx(489 * 4 / 9800)


def test_a_run_shorter_than_the_warm_up():
    found = judged("TPL308", run(steps=8, loaders=(loader(settings=OVER, batches=8),)), why_hot=HOT)
    assert (found.outcome, found.blocked_ms_per_step) == (Outcome.CONFIRMED, None)
    assert "too few batches" in found.reason


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("`json.load(file)` reads all of it again for every sample", "reads the whole of a file for each sample"),
        ("`self.data[i]` is fetched 2 times for every sample", "fetches a row more than once for each sample"),
    ],
)
def test_what_is_said_of_files_and_of_rows(message, said):
    found = judged("TPL308", run(loaders=(loader(settings=OVER),)), why_hot=HOT, message=message)
    assert found.reason.startswith(f"the data set {said}")
