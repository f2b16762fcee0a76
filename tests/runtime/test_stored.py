"""Findings go through the events file and come back the same."""

import json
from dataclasses import replace

import pytest

from torchperf_lint.model import Confidence, Finding, Fix, Location, Outcome, Related, Safety, Severity, Verdict
from torchperf_lint.runtime.stored import restored, stored

HERE = Location("train.py", 3, 5, 3, 9)
FULL = Finding(
    code="TPL101",
    name="item-in-hot-loop",
    location=HERE,
    severity=Severity.WARNING,
    confidence=Confidence.LIKELY,
    message="`loss.item()` wartet &amp; zählt",
    why_tensor="a loss",
    why_hot="the loop at line 1",
    instead="add it up",
    url="https://example.org/#tpl101",
    related=(Related(Location("data.py", 1, 1, 1, 4, cell=2), "made here"),),
    root_cause="loss",
    leads=False,
    happens=(Location("train.py", 3, 1, 3, 3),),
)
BARE = Finding("TPL301", "x-y", HERE, Severity.INFO, Confidence.POSSIBLE, "m", None, None, "i", "u")


MERGED = replace(FULL, merged=(FULL, BARE))


@pytest.mark.parametrize("finding", [FULL, BARE, MERGED])
def test_round_trip(finding):
    assert restored(json.loads(json.dumps(stored(finding)))) == finding


def test_verdict_and_fix_are_left_out():
    judged = replace(FULL, verdict=Verdict(Outcome.CONFIRMED, "x"), fix=Fix(Safety.SAFE, ()))
    assert restored(json.loads(json.dumps(stored(judged)))) == FULL


@pytest.mark.parametrize("name", ["location", "severity", "confidence"])
def test_what_lacks_something_is_refused(name):
    kept = stored(FULL)
    del kept[name]
    with pytest.raises(KeyError):
        restored(kept)
