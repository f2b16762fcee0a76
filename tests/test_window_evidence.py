"""What a profiler's window changes in verdicts, diagnoses and reports, on records made by hand."""

import json
import math
from dataclasses import replace

import pytest
from runs import GPU, STEADY, copy, finding, report, run, sync, utilisation, waiting

from torchperf_lint import reporters
from torchperf_lint.confirming import happened
from torchperf_lint.device_use import device_use
from torchperf_lint.events import read
from torchperf_lint.model import Outcome
from torchperf_lint.reporters import View
from torchperf_lint.reporters._run_unnamed import Unnamed, said_at
from torchperf_lint.runtime.diagnose import diagnose
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.window import Window, kernels_of

KERNELS = {
    "steps": 8,
    "count": 400,
    "median_us": 40.0,
    "busy_share": 0.5,
    "idle_share": 0.45,
    "copy_share": 0.02,
    "short_share": 0.1,
    "tensor_core_share": 0.25,
    "bubble_ms": 0.0,
    "ms": 160.0,
    "pageable": 16,
    "pageable_ms": 4.0,
}
WINDOW = Window(steps=8, left_out=10, open_ms=80.0, close_ms=40.0)


def windowed(nvml=None, shares=None, events=(), **kernels):
    """A run of 20 ms steps with a window of 8 steps."""
    changes = {"device": GPU, "window": WINDOW, "utilisation": utilisation(cores=8, gpu=nvml)}
    return run(shares=shares, events=tuple(events), state={"kernels": KERNELS | kernels}, **changes)


def codes(evidence):
    said, problems = diagnose(evidence)
    assert problems == ()
    return {diagnosis.code for diagnosis in said}


def only(evidence, code):
    (found,) = [diagnosis for diagnosis in diagnose(evidence).diagnoses if diagnosis.code == code]
    return found


WAITS = {"waiting_for_the_device": 0.4}
SAID = {
    "half idle by the kernels, whatever NVML says": (windowed(0.99), {"TPL900"}),
    "busy by the kernels, whatever NVML says": (windowed(0.3, busy_share=0.97), {"TPL909"}),
    "busy by the kernels, and NVML silent": (windowed(busy_share=0.97), {"TPL909"}),
    "bubbles, though the host is hardly blocked": (windowed(0.3, bubble_ms=32.0), {"TPL903"}),
    "blocked, and no bubble": (windowed(0.3, WAITS), {"TPL900"}),
    "blocked, and 8 % bubbles": (windowed(0.3, WAITS, bubble_ms=12.8), {"TPL900"}),
    "blocked, in a record without bubbles": (windowed(0.3, WAITS, bubble_ms=None), {"TPL903"}),
    "copies while no kernel runs": (windowed(0.3, copy_share=0.3), {"TPL911"}),
    "8 % copies": (windowed(0.3, copy_share=0.08), {"TPL900"}),
    "small kernels": (windowed(0.3, count=4000, median_us=4.0), {"TPL658"}),
    "slow code while the device is busy": (windowed(0.3, {"after_the_step": 0.3}, busy_share=0.95), {"TPL900"}),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name):
    evidence, expected = SAID[name]
    assert codes(evidence) == expected


def test_copies_are_left_to_the_loader_where_that_takes_longer():
    changes = {"device": GPU, "utilisation": utilisation(cores=16), "state": {"kernels": KERNELS | {"copy_share": 0.3}}}
    assert codes(waiting(0.6, **changes)) == {"TPL901"}


def test_which_number_says_how_busy_the_device_was():
    assert (device_use(windowed(0.99)).share, device_use(windowed(0.99)).steps) == (0.5, 8)
    nvml = run(device=GPU, utilisation=utilisation(gpu=0.7))
    assert (device_use(nvml).share, device_use(nvml).steps) == (0.7, None)
    assert device_use(run(device=GPU)) is None
    assert "union of all kernels of 8 profiled steps" in only(windowed(busy_share=0.97), "TPL909").evidence
    assert (
        "25 % of their time is in kernels that name tensor cores" in only(windowed(busy_share=0.97), "TPL909").evidence
    )


def test_lines_by_their_bubbles():
    events = [sync(25, bubble_ms=16.0, blocked_ms=1.0), sync(31, bubble_ms=8.0, blocked_ms=9.0), sync(40)]
    said = only(windowed(bubble_ms=24.0, events=events), "TPL903")
    assert said.title == "the device idles 15 % of the time behind synchronisations of the host"
    assert said.evidence.startswith("3.00 ms a step (upper bound of what removing them saves); in 8 profiled steps")
    assert said.evidence.endswith("longest: train.py:25 (item) 2.00 ms, train.py:31 (item) 1.00 ms")
    assert said.advice.endswith("begin with train.py:25")


def test_copies_by_line_and_pageable_ones():
    said = only(
        windowed(copy_share=0.25, events=[copy(21, copy_ms=4.0), copy(22, "d2h", copy_ms=8.0), copy(23)]), "TPL911"
    )
    assert said.title == "the device copies from or to the host 25 % of the time while no kernel runs"
    assert "2 copies a step, 0.500 ms, use memory that is not pinned" in said.evidence
    assert said.evidence.endswith(
        "longest a step: train.py:22 (to the host) 1.00 ms, train.py:21 (to the device) 0.500 ms"
    )


def test_a_verdicts_price_is_its_bubble():
    """Blocked 4 ms of a step of 20, while the device idles for a tenth of a millisecond: that is the most it costs."""
    event = sync(25, blocked_ms=4.0, bubble_ms=0.8)
    verdict = happened(windowed(events=[event]), (event,), "synchronisation")
    assert verdict.outcome is Outcome.CONFIRMED
    assert verdict.blocked_ms_per_step == pytest.approx(4.0)
    assert verdict.bubble_ms_per_step == pytest.approx(0.1)
    assert verdict.share_of_step == pytest.approx(0.005)


def test_a_bubble_is_a_price_where_nobody_timed_the_wait():
    event = sync(25, bubble_ms=16.0)
    verdict = happened(windowed(events=[event]), (event,), "synchronisation")
    assert (verdict.blocked_ms_per_step, verdict.bubble_ms_per_step) == (None, 2.0)
    assert verdict.share_of_step == pytest.approx(0.1)


def text(made):
    return " ".join(reporters.render_run("full", made, View(width=100)).split())


def test_the_report_says_what_the_window_saw_and_what_it_took():
    said = text(report(windowed(0.9), (finding(25, bubble_ms_per_step=2.0, share_of_step=0.1),)))
    assert "GPU in 8 profiled steps some kernel ran 50 % of the time, 50 kernels a step, the median one 40 us" in said
    assert "profiled: 10 steps, which count in no time, and starting, ending and reading it 120 ms" in said
    assert "bubble: the device idles behind the wait, an upper bound of what removal saves" in said
    assert said_at(Unnamed((sync(25, bubble_ms=16.0),)), windowed()).endswith("the device idles 2.00 ms a step for it")


@pytest.mark.parametrize(("slowed", "told"), [(1.7, True), (1.1, False), (0.5, False), (None, False)])
def test_the_report_says_where_the_profiler_has_left_the_run_slower(slowed, told):
    said = text(report(replace(windowed(0.9), slowed=slowed)))
    assert ("steps after the profiled ones take 1.7 times as long as those before" in said) is told


def test_json_has_the_window_and_each_sites_bubble():
    made = report(windowed(events=[sync(25, bubble_ms=16.0)]))
    told = json.loads(reporters.render_run("json", made, View(width=80)))["runtime"]
    assert told["sites"][0]["bubble_ms"] == 16.0
    assert (told["window"]["steps"], told["window"]["left_out"], told["window"]["open_ms"]) == (8, 10, 80.0)
    assert (told["window"]["kernels"]["busy"], told["window"]["kernels"]["count"]) == (0.5, 400)


def record(path, *records):
    header = {"record": "header", "version": 1, "tool": "0", "cwd": "/p", "argv": ["train.py"], "rank": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *records)), encoding="utf-8")
    return evidence_of([read(str(path))])


SITE = {"record": "site", "id": 3, "path": "train.py", "line": 25, "function": "main", "via": None}
EVENTS = [
    {"record": "event", "id": 1, "kind": "sync", "what": "stream", "site": 3},
    {"record": "event", "id": 2, "kind": "copy", "what": "d2h", "site": 3, "pinned": False, "blocking": True},
    {"record": "event", "id": 3, "kind": "copy", "what": "d2h", "site": 3, "pinned": True, "blocking": True},
    *({"record": "count", "id": number, "n": 50} for number in (1, 2, 3)),
]
STEPS = {"record": "steps", "steps": 120, "warmup": 10, "left_out": 10}
SEEN = {
    "record": "window",
    "steps": 8,
    "left_out": 10,
    "open_ms": 80.0,
    "close_ms": 40.0,
    "sites": [[3, "stream", 8, 4.0, 1.5]],
    "copies": [[3, "d2h", 8, 0.2, 32]],
}


def test_figures_of_sites_are_those_of_their_events(tmp_path):
    run = record(tmp_path / "run.events.jsonl", SITE, *EVENTS, STEPS, SEEN)
    assert run.window == Window(8, 10, None, 80.0, 40.0)
    assert run.window.own_ms == 120.0
    assert [(e.bubble_ms, e.copy_ms) for e in run.events] == [(1.5, None), (1.5, 0.2), (None, None)]
    assert run.bubble_per_step(run.events[:1]) == 1.5 / 8


@pytest.mark.parametrize(
    ("before", "after", "slowed"),
    [(5, 40, math.exp(0.02 * 10)), (3, 40, None), (5, 10, None), (0, 40, None)],
)
def test_steps_after_the_window_are_compared_with_those_before(tmp_path, before, after, slowed):
    undisturbed = [[30, before]] if before else []
    steps = STEPS | {"bucket": 0.02, "histogram": [[30, before], [40, after]], "undisturbed": undisturbed}
    run = record(tmp_path / "run.events.jsonl", steps)
    assert run.slowed == (slowed if slowed is None else pytest.approx(slowed))


def test_steps_under_the_profiler_are_no_steady_ones(tmp_path):
    run = record(tmp_path / "run.events.jsonl", STEPS)
    assert (run.steps, run.left_out, run.steady_steps) == (120, 10, 100)


def test_records_of_before_the_window_are_read_as_they_were(tmp_path):
    old = {name: value for name, value in STEPS.items() if name != "left_out"}
    run = record(tmp_path / "run.events.jsonl", SITE, *EVENTS, old)
    assert (run.window, run.left_out, run.steady_steps) == (None, 0, STEADY + 10)
    assert [e.bubble_ms for e in run.events] == [None] * 3
    assert kernels_of({"kernels": {"steps": 4, "count": 8, "median_us": 2.0, "busy_share": 0.5}}).bubble is None


@pytest.mark.parametrize(
    "state", [{}, {"kernels": 7}, {"kernels": KERNELS | {"steps": 0}}, {"kernels": KERNELS | {"busy_share": None}}]
)
def test_a_window_without_its_figures_is_none(state):
    assert kernels_of(state) is None
