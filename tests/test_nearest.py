"""Which events of a line a finding takes: those of its own expression."""

from dataclasses import replace

import pytest

from torchperf_lint.confirming import copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Severity
from torchperf_lint.recorded import Event
from torchperf_lint.verdict import judged, unfound

STEPS = 12
WHOLE, READ, NAME = (11, 66), (28, 48), (29, 30)


def finding(code, span):
    where = Location("train.py", 13, span[0], 13, span[1])
    return Finding(code, "name", where, Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")


def event(span, kind="sync", what="item", count=STEPS, **more):
    columns = {"column": span[0], "end_line": 13, "end_column": span[1]} if span else {}
    turns = {"count": count, "train_turns": count, "train_steps": count, "trained": count}
    return Event(**{"kind": kind, "what": what, "path": "train.py", "line": 13, **turns, **columns, **more})


UPLOAD = (event(WHOLE, "copy", "h2d", 1, attributes={"blocking": True}), event(WHOLE, what="copy", count=1))


def evidence(*events):
    return Evidence(events=events, steps=STEPS, device="H100")


def reasons(run, *findings):
    return [f"{one.verdict.outcome.value}: {one.verdict.reason}" for one in judged(findings, run)]


def test_a_read_and_the_upload_around_it_are_told_apart():
    run = evidence(event(READ), *UPLOAD)
    assert reasons(run, finding("TPL252", WHOLE), finding("TPL101", READ)) == [
        "refuted: 1 upload in 1 of 12 steps: not every step",
        "confirmed: 12 synchronisations in 12 of 12 steps",
    ]
    assert unfound([finding("TPL252", WHOLE)], run, ("sync", "copy")) == (), "what is within is told with it"


def test_what_is_written_into_a_tensor_is_copied_where_that_stands():
    """`gain[2:4] = torch.tensor(shape)[rows.argmax():]`: the copy is the assignment's."""
    into, made = (5, 9), (11, 27)
    run = evidence(event(into, "copy", "h2d", attributes={"blocking": True}), event(into, what="copy"), event(READ))
    found = finding("TPL252", made)
    assert "confirmed" not in reasons(run, found)[0]
    found = replace(found, happens=(Location("train.py", 13, into[0], 13, into[1]),))
    assert reasons(run, found) == ["confirmed: 12 uploads in 12 of 12 steps"]
    assert unfound([found], run, ("sync", "copy")) == (run.events[2],)


def test_a_copy_to_the_host_does_not_take_the_masks_within_it():
    inner = event((20, 40), what="mask-index", count=2 * STEPS)
    own = event(WHOLE, what="copy", count=8)
    assert reasons(evidence(inner, own), finding("TPL105", WHOLE)) == ["confirmed: 8 synchronisations in 8 of 12 steps"]


@pytest.mark.parametrize("span", [WHOLE, READ, NAME])
def test_where_no_expression_is_a_findings_own_it_takes_what_is_there(span):
    assert reasons(evidence(event(READ)), finding("TPL101", span)) == [
        "confirmed: 12 synchronisations in 12 of 12 steps"
    ]


def test_of_what_is_around_a_place_the_tightest_is_meant():
    run = evidence(event(READ), event(WHOLE, count=5), event((5, 70), count=3))
    assert [one.count for one in run.at(finding("TPL101", NAME), "sync")] == [STEPS]


def test_without_columns_and_in_packages_all_of_the_line_is_meant():
    through = Event("sync", "item", "site-packages/bar.py", 3, 4, via=("train.py", 13), column=1)
    run = evidence(event(None, count=2), event(READ), event(WHOLE), through)
    assert [one.count for one in run.at(finding("TPL101", READ), "sync")] == [2, STEPS, 4]


def test_a_copy_in_the_other_direction_is_no_nearer():
    run = evidence(event(READ, "copy", "d2h"), event((20, 60), "copy", "h2d"))
    assert [one.what for one in copies(run, finding("TPL251", READ), "h2d", lambda copy: True)] == ["h2d"]


def test_at_a_place_that_is_no_finding_all_is_told():
    run = evidence(event(READ), *UPLOAD)
    assert len(run.at(finding("TPL101", READ).location, "sync")) == 2


def test_without_columns_an_upload_is_no_read():
    upload = (event(None, "copy", "h2d", 1, attributes={"blocking": True}), event(None, what="copy", count=1))
    run = evidence(event(None), *upload)
    assert reasons(run, finding("TPL252", WHOLE), finding("TPL101", READ)) == [
        "refuted: 1 upload in 1 of 12 steps: not every step",
        "confirmed: 12 synchronisations in 12 of 12 steps",
    ]
    alone = reasons(evidence(*upload), finding("TPL101", READ))
    assert alone == ["refuted: 1 synchronisation in 1 of 12 steps: not every step"]


def test_without_columns_a_read_may_be_a_copy_to_the_host():
    run = evidence(event(None, "copy", "d2h", 5), event(None, what="copy", count=5), event(None, count=7))
    assert reasons(run, finding("TPL101", READ)) == ["confirmed: 12 synchronisations in 7 of 12 steps"]


def test_a_device_that_does_not_say_what_waits_loses_nothing():
    run = evidence(event(None, what="stream", count=STEPS))
    both = reasons(run, finding("TPL252", WHOLE), finding("TPL101", READ))
    assert [text.split(":")[0] for text in both] == ["confirmed", "confirmed"]


def test_what_is_refuted_hides_nothing_that_happens_every_step():
    """`sim[mask]` with a mask of the host: no wait, and copies that somebody may ask for."""
    pinned = event(READ, "copy", "h2d", attributes={"pinned": True, "blocking": False})
    rare = event(READ, count=1)
    run = evidence(pinned, rare)
    (refuted,) = judged([finding("TPL109", READ)], run)
    assert refuted.verdict.outcome.value == "refuted"
    assert unfound([refuted], run, ("sync", "copy")) == (pinned,), "of the one wait the verdict speaks"
    (refuted,) = judged([finding("TPL202", READ)], run)
    assert unfound([refuted], run, ("sync", "copy")) == (), "such a copy is how it should be"
    blocking = event((5, 70), "copy", "h2d", attributes={"blocking": True})
    run = evidence(rare, blocking)
    (refuted,) = judged([finding("TPL101", READ)], run)
    assert refuted.verdict.outcome.value == "refuted"
    assert unfound([refuted], run, ("sync", "copy")) == (blocking,)
