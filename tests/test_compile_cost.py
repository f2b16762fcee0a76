"""What compiling took of a whole run, in figures and in the reports."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from runs import report, run

from torchperf_lint.compile_cost import compile_cost, cost_said
from torchperf_lint.compiling import endings
from torchperf_lint.recorded import Event
from torchperf_lint.reporters import View, render_run, run_page

GUARD = {"guard": "self.step == ...", "at": ["model.py", 14]}


def compiled(what, count, total_ms, line=12, turns=0, **attributes):
    attributes = {"last": 40, **attributes}
    times = {"total_ms": total_ms, "train_turns": turns}
    return Event("compile", what, "model.py", line, count, function="forward", attributes=attributes, **times)


def compiling(**changes):
    """Everything in the warm-up of 110 steps."""
    events = (
        compiled("first", 1, 2000.0),
        compiled("first", 1, 500.0, line=30, resumed=True),
        compiled("again", 7, 1400.0, turns=7, **GUARD),
        compiled("again", 1, 100.0, turns=1, line=30, resumed=True),
        compiled("backward", 1, 900.0),
        compiled("limit", 1, 100.0, **GUARD),
        Event("graph-break", "break", "model.py", 30, 2, attributes={"reason": "No `print`."}),
    )
    return run(**{"events": events, "wall_s": 20.0, **changes})


def test_each_compilation_counts_once_from_the_first_line_on():
    cost = compile_cost(compiling())
    assert (cost.count, cost.ms, cost.share) == (12, 5000.0, pytest.approx(0.25))
    assert [(part.what, part.count, part.ms) for part in cost.parts] == [
        ("first", 1, 2000.0),
        ("rest", 1, 500.0),
        ("again", 8, 1500.0),
        ("backward", 1, 900.0),
        ("limit", 1, 100.0),
    ]
    assert sum(part.ms for part in cost.parts) == cost.ms


def test_what_was_compiled_again_is_told_with_its_guard_and_steps():
    said = cost_said(compiling())
    assert said[0].startswith("5000 ms of the run's 20.0 s (25 %), as Dynamo timed 12 compilations: 1 of functions")
    assert (
        said[1]
        == "again 7 times in 7 of 110 steps (1400 ms): `forward` (model.py:12) for `self.step == ...` (model.py:14)"
    )
    assert said[2] == "again once in 1 of 110 steps (100 ms): `forward` (model.py:30)"


def test_a_break_is_told_with_what_compiling_the_rest_took():
    (ending,) = endings(compiling())
    assert ending.rest_ms == 600.0
    assert ending.told() == "model.py:30: No `print`; compiling what follows took 600 ms"


def test_a_torch_that_does_not_say_how_long_has_no_time():
    evidence = compiling()
    untimed = replace(evidence, events=tuple(replace(event, total_ms=None) for event in evidence.events))
    cost = compile_cost(untimed)
    assert (cost.count, cost.ms, cost.share) == (12, None, None)
    assert cost_said(untimed)[0].startswith("12 compilations, of unknown time: 1 of functions for the first time, ")
    assert endings(untimed)[0].rest_ms is None


def test_a_run_whose_length_is_unknown_has_no_share():
    assert compile_cost(compiling(wall_s=None)).share is None
    assert cost_said(compiling(wall_s=None))[0].startswith("5000 ms, as Dynamo timed 12 compilations")


def test_nothing_compiled_says_nothing():
    assert compile_cost(run()) is None
    assert cost_said(run()) == []
    assert "Compiling" not in render_run("full", report(run()), View(width=80))
    assert json.loads(render_run("json", report(run()), View(width=80)))["runtime"]["compiling"] is None


def test_every_report_has_it():
    made = report(compiling())
    text = render_run("full", made, View(width=80))
    assert "Compiling (the whole run, warm-up included)\n  5000 ms of the run's 20.0 s (25 %)" in text
    assert "s 20.0 s (25 %), as Dynamo timed 12 compilations" in run_page(made, View(width=80))
    told = json.loads(render_run("json", made, View(width=80)))["runtime"]["compiling"]
    assert (told["count"], told["ms"], told["share_of_run"]) == (12, 5000.0, 0.25)
    assert told["again"][0] == {
        "function": "forward",
        "path": "model.py",
        "line": 12,
        "guard": "self.step == ...",
        "at": {"path": "model.py", "line": 14},
        "count": 7,
        "train_turns": 7,
        "ms": 1400.0,
    }
