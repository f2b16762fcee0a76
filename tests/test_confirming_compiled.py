"""Findings about compiled code, beyond the four outcomes that test_verdicts.py has of each."""

from __future__ import annotations

import pytest

from torchperf_lint.compiling_verdicts import compiled_again, graph_ended
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Severity
from torchperf_lint.recorded import Event, Segment

LINE = 20
FINDING = Finding(
    "TPL703", "x-y", Location("m.py", LINE, 9, LINE, 20), Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u"
)
GUARDED = {"guard": "self.step == ...", "at": ["m.py", LINE]}


def compiled(what="first", count=1, line=15, last=25, **attributes):
    attributes = {"last": last, "resumed": False, **attributes}
    return Event("compile", what, "m.py", line, count, function="forward", attributes=attributes, blocked_ms=90.0)


def ended(line, what="break"):
    return Event("graph-break", what, "m.py", line, 1, attributes={"reason": "Failed."})


def run(*events, **more):
    return Evidence(events=events, **{"steps": 40, "warmup": 10, "torch": "2.13.0", **more})


def test_a_break_in_a_package_that_the_line_calls_is_the_lines():
    inside = Event("graph-break", "break", "/lib/x.py", 3, 2, via=("m.py", LINE), attributes={"explanation": "No."})
    found = graph_ended(FINDING, run(compiled(), inside))
    assert (found.outcome, found.reason) == (Outcome.CONFIRMED, "the graph ended here in 2 compilations: No")


def test_behind_another_break_a_line_counts_once_the_rest_is_compiled():
    cut = run(compiled(), ended(18))
    found = graph_ended(FINDING, cut)
    assert (found.outcome, found.reason) == (Outcome.UNOBSERVABLE, "the graph ended before this line, at line 18")
    resumed = run(*cut.events, compiled(line=18, resumed=True))
    assert graph_ended(FINDING, resumed).outcome is Outcome.REFUTED


def test_a_break_before_the_function_is_another_functions():
    assert graph_ended(FINDING, run(compiled(), ended(3))).outcome is Outcome.REFUTED


def test_of_a_function_that_runs_uncompiled_in_part_nothing_is_said():
    found = graph_ended(FINDING, run(compiled(), compiled(line=18, resumed=True), ended(18, "frame")))
    assert (found.outcome, found.reason) == (Outcome.UNOBSERVABLE, "a part of this function runs uncompiled")


@pytest.mark.parametrize("judge", [graph_ended, compiled_again])
def test_what_was_not_compiled_by_itself_cannot_be_told(judge):
    assert judge(FINDING, run(lines={"m.py": {LINE: 3}})).reason == "nothing was compiled in this run"
    # Lines of what is part of another function's graph never run as lines.
    inlined = run(compiled(line=40, last=60), complete=frozenset({"m.py"}))
    assert judge(FINDING, inlined).outcome is Outcome.UNOBSERVABLE
    failed = judge(FINDING, run(compiled("failed", reason="Unsupported context manager.")))
    assert failed.reason == "the function could not be compiled: Unsupported context manager"
    blind = judge(FINDING, run(compiled(), unwatched={"compilation": "no torch.compile"}))
    assert blind.reason == "compilation: no torch.compile"


def test_the_price_of_compiling_again_is_what_it_took_after_the_warm_up():
    evidence = run(compiled(), compiled("again", 30, **GUARDED), segments=(Segment("forward", None, None, 300.0, 30),))
    found = compiled_again(FINDING, evidence)
    assert found.reason == "compiled again 30 times for `self.step == ...`"
    assert (found.blocked_ms_per_step, found.share_of_step) == (pytest.approx(3.0), pytest.approx(0.3))


def test_at_the_limit_it_is_compiled_no_more():
    found = compiled_again(FINDING, run(compiled("again", 7, **GUARDED), compiled("limit", 1, **GUARDED)))
    assert found.outcome is Outcome.CONFIRMED
    assert found.reason.endswith("7 times for `self.step == ...`; then torch compiled it no more")


def test_a_guard_of_another_line_is_another_reason():
    elsewhere = {**GUARDED, "at": ["m.py", LINE + 1]}
    found = compiled_again(FINDING, run(compiled(), compiled("again", 30, **elsewhere)))
    assert (found.outcome, found.reason) == (Outcome.REFUTED, "not compiled again for this value, in 40 steps")


def test_a_torch_that_does_not_say_why_confirms_by_the_function():
    assert compiled_again(FINDING, run(compiled("again", 7))).outcome is Outcome.CONFIRMED
    assert compiled_again(FINDING, run(compiled(), compiled("again", 7, line=30, last=50))).outcome is Outcome.REFUTED


def test_two_steps_are_too_few():
    assert compiled_again(FINDING, run(compiled(), steps=2)).outcome is Outcome.UNOBSERVABLE


def test_how_often_something_was_compiled_is_not_how_often_its_line_ran():
    assert run(compiled(line=LINE), ended(LINE)).ran(FINDING.location) is None
